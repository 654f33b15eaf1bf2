"""The report of :mod:`workflows.defaults.beside`: scores of both, what is worse, and at what cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from workflows.averages import text
from workflows.defaults.fits import OURS, THEIRS, WHO, kept_at
from workflows.defaults.scores import Difference, auc_lost, paired
from workflows.records import Record, Records
from workflows.report import Section, Table

_SCORES = ("log loss", "AUC", "error", "calibration", "RMSE", "cpu_seconds")
#: of which there are verdicts
_LOSS, _ERROR, _AUC = "loss", "error", "AUC"


@dataclass(frozen=True)
class Compared:
    """A set, of the seeds for which neither fit failed; or one of which ours failed with every seed.

    Attributes
    ----------
    seeds : records by who
    differences : by how much ours is worse; empty where ours failed
    """

    name: str
    seeds: dict[str, list[Record]]
    differences: dict[str, Difference]

    @property
    def ratio(self) -> float:
        """CPU seconds of ours, as a multiple of theirs."""
        if not self.differences:
            return np.inf
        mine, other = (np.mean([one["cpu_seconds"] for one in self.seeds[who]]) for who in WHO)
        return float(mine / other)

    @property
    def is_cheap(self) -> bool:
        """Whether ours takes at most their CPU seconds."""
        return self.ratio <= 1.0

    def is_good(self, names: Sequence[str] = (_LOSS, _ERROR, _AUC)) -> bool:
        """Whether ours is not worse in any of these."""
        return bool(self.differences) and not any(
            self.differences[name].verdict == "worse" for name in names if name in self.differences
        )


def compared(records: Records, out: Path, names: Sequence[str]) -> list[Compared]:
    """Sets that can be; not those of which there is too little yet, or of which only theirs failed."""
    found = []
    for name in names:
        of = {who: _well(records, name, who) for who in WHO}
        both = sorted(of[OURS].keys() & of[THEIRS].keys())
        if both:
            seeds = {who: [of[who][seed] for seed in both] for who in WHO}
            found.append(Compared(name, seeds, _differences(out, name, both)))
        elif of[THEIRS] and not of[OURS] and any(key.endswith(OURS) for key, _ in records.under(name)):
            found.append(Compared(name, {who: [] for who in WHO}, {}))
    return found


def _well(records: Records, name: str, who: str) -> dict[int, Record]:
    """Records that did not fail, by seed."""
    every = ((key.split("/"), one) for key, one in records.under(name))
    return {int(seed): one for (seed, mine), one in every if mine == who and "failed" not in one}


def _differences(out: Path, name: str, seeds: Sequence[int]) -> dict[str, Difference]:
    kept = {who: [np.load(kept_at(out, name, seed, who)) for seed in seeds] for who in WHO}

    def of(what: str) -> tuple[list[np.ndarray], list[np.ndarray]]:
        mine, other = ([one[what].astype(float) for one in kept[who]] for who in WHO)
        return mine, other

    first = kept[OURS][0]
    if "squared" in first:
        return {_LOSS: paired(*of("squared"))}
    differences = {_LOSS: paired(*of("loss")), _ERROR: paired(*of("wrong"))}
    if "score" in first:
        differences[_AUC] = auc_lost(*of("score"), first["positive"])
    return differences


def sections(records: Records, out: Path, names: Sequence[str]) -> list[Section]:
    """All of the report but what failed."""
    found = compared(records, out, names)
    return [(_totals(found), ()), (_verdicts(found), ()), (_scores(records, names), ())]


def _totals(found: Sequence[Compared]) -> Table:
    with_it = {
        name: [one for one in found if name in one.differences or not one.differences]
        for name in (_LOSS, _ERROR, _AUC)
    }
    rows = [
        (f"not worse in {name}", *_count(sets, partial(Compared.is_good, names=[name])))
        for name, sets in with_it.items()
    ]
    rows.append(("not worse in any of them", *_count(found, Compared.is_good)))
    rows.append((f"in at most {THEIRS}'s CPU seconds", *_count(found, lambda one: one.is_cheap)))
    rows.append(("both", *_count(found, lambda one: one.is_good() and one.is_cheap)))
    words = (
        f"The loss is the log loss, or the squared error of real targets. A set of which every fit of {OURS} "
        f"failed counts as worse; one of which every fit of {THEIRS} did is not compared."
    )
    return Table("Totals", words, ("what", "sets", "not"), rows)


def _count(sets: Sequence[Compared], reached: Callable[[Compared], bool]) -> tuple[str, str]:
    """``k of n``, and the names of the others."""
    others = [one.name for one in sets if not reached(one)]
    return f"{len(sets) - len(others)} of {len(sets)}", ", ".join(others)


def _verdicts(found: Sequence[Compared]) -> Table:
    rows = []
    for one in found:
        cells = [_verdict(name, one.differences.get(name)) for name in (_LOSS, _ERROR, _AUC)]
        chosen = dict.fromkeys(record["chosen"] for record in one.seeds[OURS])
        ratio = f"{one.ratio:.2f}" if one.differences else "failed"
        rows.append((one.name, ", ".join(chosen), *cells, ratio, str(len(one.seeds[OURS]))))
    words = (
        f"{OURS} less {THEIRS}, with the standard error over the test rows: each row's losses, both models', "
        "are subtracted and averaged over the seeds; of the AUC the error is DeLong's. Worse or better is a "
        "difference of more than two standard errors. Errors do not say how much another draw of the "
        "training rows would change; the spread of the scores below does."
    )
    return Table("Verdicts", words, ("set", "chosen", _LOSS, _ERROR, _AUC, "CPU ratio", "seeds"), rows)


def _verdict(name: str, found: Difference | None) -> str:
    if found is None:
        return ""
    # of the AUC it is kept by how much theirs is larger
    mean = -found.mean if name == _AUC else found.mean
    word = "**worse**" if found.verdict == "worse" else found.verdict
    return f"{word}, {mean:+.2g} ± {found.error:.1g}"


def _scores(records: Records, names: Sequence[str]) -> Table:
    rows = []
    for name in names:
        for who in WHO:
            seeds = list(_well(records, name, who).values())
            if seeds:
                cells = [text([one[score] for one in seeds if score in one]) for score in _SCORES]
                rows.append((name, who, *cells))
    words = (
        "Means and standard deviations of the seeds that have ended. Calibration is the expected error of "
        "the largest chance in ten bins; CPU seconds are of the whole fit with its search."
    )
    return Table("Scores", words, ("set", "model", *_SCORES[:-1], "CPU s"), rows)
