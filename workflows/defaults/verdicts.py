"""The report of :mod:`workflows.defaults.beside`: losses, costs, and reported scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workflows.averages import text
from workflows.defaults.fits import kept_at
from workflows.defaults.scores import Difference, auc_lost, paired
from workflows.defaults.systems import LABELS
from workflows.records import Record, Records
from workflows.report import Section, Table

#: what the summary asks for: most per cent behind a peer, and multiple of its CPU seconds
_BEHIND, _MOST_CPU = 10.0, 4.0
#: largest accepted errors of a reported score, of a mean probability and of calibration, and rows to judge it
_REPORTED, _SHARE, _CALIBRATION, _ENOUGH_ROWS = 0.15, 0.05, 0.02, 2000
#: most spread of the loss over random states
_SPREAD = 0.03
_CERTAIN = 2.0

Runs = dict[str, Record]


@dataclass(frozen=True)
class Compared:
    """A set beside a peer, of the runs for which neither failed.

    Attributes
    ----------
    runs : names of seeds (and of other random states), records by it of ours and theirs
    differences : of the loss, the error and the AUC, by how much ours is worse; none if ours failed
    """

    name: str
    ours: Runs
    theirs: Runs
    differences: Mapping[str, Difference]

    @property
    def failed(self) -> bool:
        """Whether all fits of ours did."""
        return not self.differences

    @property
    def steps(self) -> float:
        """How much larger our loss is, in units of two standard errors: above 1 it is worse."""
        if self.failed:
            return float("inf")
        loss = self.differences["loss"]
        size = _CERTAIN * loss.error
        return loss.mean / size if size else float(np.sign(loss.mean)) * float("inf") if loss.mean else 0.0

    @property
    def percent(self) -> float:
        """How much larger our loss is, in per cent of theirs."""
        theirs = _mean(self.theirs, "loss")
        if self.failed:
            return float("inf")
        return 100.0 * self.differences["loss"].mean / theirs if theirs else 0.0

    @property
    def ratio(self) -> float:
        """Our CPU seconds, as a multiple of theirs."""
        if self.failed:
            return float("inf")
        return _mean(self.ours, "cpu_seconds") / max(_mean(self.theirs, "cpu_seconds"), 1e-9)


def _mean(runs: Runs, name: str) -> float:
    return float(np.mean([one[name] for one in runs.values()]))


@dataclass(frozen=True)
class Measured:
    """What a folder has of some seeds.

    Attributes
    ----------
    work : where the losses of each test row are
    seeds : of the rows; None: all that there are
    """

    records: Records
    work: Path
    seeds: Sequence[int] | None = None

    def runs(self, name: str, who: str) -> Runs:
        """Records of a set and a system that did not fail, by the name of the run."""
        return {run: one for run, one in self._every(name, who).items() if "failed" not in one}

    def has_failed(self, name: str, who: str) -> bool:
        """Whether there are fits and none did well."""
        return bool(self._every(name, who)) and not self.runs(name, who)

    def _every(self, name: str, who: str) -> Runs:
        every = ((key.split("/"), one) for key, one in self.records.under(name))
        return {run: one for (run, mine), one in every if mine == who and self._is_asked(run)}

    def _is_asked(self, run: str) -> bool:
        return self.seeds is None or int(run.partition("-")[0]) in self.seeds


def compared(there: Measured, names: Sequence[str], ours: str, theirs: str) -> list[Compared]:
    """Return comparable sets, losses first, without sets on which only the peer failed."""
    found = []
    for name in names:
        mine, other = there.runs(name, ours), there.runs(name, theirs)
        both = [run for run in mine if run in other and mine[run]["train_rows"] == other[run]["train_rows"]]
        runs = [{run: of[run] for run in both} for of in (mine, other)]
        if both:
            found.append(Compared(name, *runs, _differences(there.work, name, both, ours, theirs)))
        elif other and there.has_failed(name, ours):
            found.append(Compared(name, {}, other, {}))
    return sorted(found, key=lambda one: (-one.steps, one.name))


def _differences(work: Path, name: str, runs: Sequence[str], ours: str, theirs: str) -> dict[str, Difference]:
    kept = [[np.load(kept_at(work, name, run, who)) for run in runs] for who in (ours, theirs)]

    def of(what: str) -> list[list[np.ndarray]]:
        return [[one[what].astype(float) for one in side] for side in kept]

    rows = [one["row"] for one in kept[0]]
    if "squared" in kept[0][0]:
        return {"loss": paired(*of("squared"), rows)}
    differences = {"loss": paired(*of("loss"), rows), "error": paired(*of("wrong"), rows)}
    if all("score" in one for side in kept for one in side):
        differences["AUC"] = auc_lost(*of("score"), [one["positive"] for one in kept[0]])
    return differences


def sections(there: Measured, names: Sequence[str], ours: str, peers: Sequence[str]) -> list[Section]:
    """All of the report but what failed.

    Parameters
    ----------
    ours, peers : as records are named; the first peer is the one whose differences order the sets
    """
    beside = {peer: compared(there, names, ours, peer) for peer in peers}
    beside = {peer: found for peer, found in beside.items() if found}
    mine = {name: there.runs(name, ours) for name in names}
    mine = {name: runs for name, runs in mine.items() if runs}
    tables = [_summary(beside, mine), *(_verdicts(peer, found) for peer, found in beside.items())]
    tables += [_truth(mine), _chosen(mine), _scores(there, names, [ours, *peers])]
    return [(table, ()) for table in tables]


def _name(who: str) -> str:
    return LABELS.get(who, who)


# -- what it must show


def _summary(beside: Mapping[str, Sequence[Compared]], mine: Mapping[str, Runs]) -> Table:
    rows: list[tuple[str, ...]] = []
    for peer, found in beside.items():
        label = _name(peer)
        rows += [
            _counted(f"not worse than {label} by two standard errors", found, lambda one: one.steps <= 1.0),
            _counted(
                f"not behind {label} by more than {_BEHIND:g} % of the loss",
                found,
                lambda one: one.percent <= _BEHIND,
            ),
            _counted(f"better than {label} by two standard errors", found, lambda one: one.steps < -1.0),
            *_costs(label, [one for one in found if not one.failed]),
        ]
    return Table(
        "Summary",
        "The loss is log loss, or squared error for real targets. A set counts as worse if every fit of "
        "distkern failed, and is left out if every fit of the peer failed. CPU seconds cover the fit with "
        "its search, without imports and compilation.",
        ("what", "sets", "share", "not"),
        [*rows, *_truths(mine), *_spreads(mine)],
    )


def _counted(
    what: str, items: Sequence[Any], reached: Callable[[Any], bool], name: Callable[[Any], str] | None = None
) -> tuple[str, ...]:
    """``k of n``, the share, and the names of the others."""
    others = [name(one) if name else one.name for one in items if not reached(one)]
    n = len(items)
    share = f"{100.0 * (n - len(others)) / n:.0f} %" if n else ""
    shown = others if len(others) <= n / 2 or n < 10 else [f"{len(others)} sets"]
    return what, f"{n - len(others)} of {n}", share, ", ".join(shown)


def _costs(label: str, found: Sequence[Compared]) -> list[tuple[str, ...]]:
    if not found:
        return []
    ours, theirs = (
        sum(_mean(runs, "cpu_seconds") for runs in side)
        for side in ([one.ours for one in found], [one.theirs for one in found])
    )
    ratios = [one.ratio for one in found]
    total = f"total: {ours:,.0f} s, {label} {theirs:,.0f} s, ratio {ours / max(theirs, 1e-9):.2f}"
    worst = max(found, key=lambda one: one.ratio)
    return [
        _counted(f"at most {label}'s CPU seconds ({total})", found, lambda one: one.ratio <= 1.0),
        _counted(
            f"at most {_MOST_CPU:g} times {label}'s (median {np.median(ratios):.2f}, most {worst.ratio:.1f} "
            f"on {worst.name})",
            found,
            lambda one: one.ratio <= _MOST_CPU,
        ),
    ]


# -- whether reported scores hold on test rows


@dataclass(frozen=True)
class Truth:
    """Reported and measured scores of our runs of a set, means over the runs.

    Attributes
    ----------
    reported, reported_by : loss that the fits report for held-out rows, and its source
    measured, error : loss on test rows, and the standard error of its difference from the reported one
    share_off, share_error : largest relative error of a class's mean probability, and its standard error
    """

    name: str
    reported: float | None
    measured: float
    error: float
    calibration: float | None
    share_off: float | None
    share_error: float | None
    rows: int
    reported_by: str

    @classmethod
    def of(cls, name: str, runs: Runs) -> Truth:
        """Of all runs, the errors as if all had one test set."""
        every = list(runs.values())
        errors = [float(np.hypot(one["loss_error"], one.get("told_error") or 0.0)) for one in every]
        off = [pair for pair in map(_share_off, every) if pair is not None]
        is_reported = all(one.get("told") is not None for one in every)
        return cls(
            name,
            _mean(runs, "told") if is_reported else None,
            _mean(runs, "loss"),
            float(np.sqrt(np.mean(np.square(errors)))),
            _mean(runs, "calibration") if all("calibration" in one for one in every) else None,
            float(np.mean([one for one, _ in off])) if off else None,
            float(np.mean([error for _, error in off])) if off else None,
            int(_mean(runs, "test_rows")),
            "/".join(dict.fromkeys(str(one.get("told_by", "")) for one in every)),
        )

    @property
    def off(self) -> float:
        """Return the measured loss minus the reported one, as a share of the measured."""
        assert self.reported is not None
        return (self.measured - self.reported) / self.measured if self.measured else 0.0

    @property
    def deviations(self) -> float:
        """The same difference in standard errors; 0 where all losses are equal."""
        assert self.reported is not None
        return (self.measured - self.reported) / self.error if self.error else 0.0

    @property
    def is_true(self) -> bool:
        """Within two standard errors."""
        return self.reported is not None and abs(self.measured - self.reported) <= _CERTAIN * self.error


def _share_off(one: Record) -> tuple[float, float] | None:
    """Return the largest relative error of a class's mean probability, and its standard error.

    Classes with too few test rows to judge are left out.
    """
    found = [
        (mean / share - 1.0, error / share)
        for share, mean, error in one.get("classes", ())
        if share > 0 and error / share <= _SHARE / _CERTAIN
    ]
    return max(found, key=lambda pair: abs(pair[0])) if found else None


def _truths(mine: Mapping[str, Runs]) -> list[tuple[str, ...]]:
    every = [Truth.of(name, runs) for name, runs in mine.items()]
    reported = [one for one in every if one.reported is not None]
    sure = [one for one in every if one.calibration is not None and one.rows >= _ENOUGH_ROWS]
    shares = [one for one in every if one.share_off is not None]
    return [
        _counted(
            "held-out score within two standard errors of the test loss", reported, lambda one: one.is_true
        ),
        _counted(
            f"held-out score within {100 * _REPORTED:g} % of the test loss",
            reported,
            lambda one: abs(one.off) <= _REPORTED,
        ),
        _counted(
            f"calibration error at most {_CALIBRATION:g}, sets with {_ENOUGH_ROWS:,} or more test rows",
            sure,
            lambda one: one.calibration <= _CALIBRATION,
        ),
        _counted(
            f"mean probability of every class within {100 * _SHARE:g} % of its share, with enough test rows",
            shares,
            lambda one: abs(one.share_off) <= _SHARE,
        ),
    ]


def _truth(mine: Mapping[str, Runs]) -> Table:
    every = [Truth.of(name, runs) for name, runs in mine.items()]
    every.sort(key=lambda one: -abs(one.deviations) if one.reported is not None else 1.0)
    rows = [
        (
            one.name,
            "" if one.reported is None else f"{one.reported:.4g}",
            f"{one.measured:.4g} ± {one.error:.2g}",
            "" if one.reported is None else f"{100 * one.off:+.1f} %",
            "" if one.reported is None else f"{one.deviations / _CERTAIN:+.2f}",
            "" if one.calibration is None else f"{one.calibration:.4f}",
            "" if one.share_off is None else f"{100 * one.share_off:+.1f} ± {100 * one.share_error:.1f} %",
            f"{one.rows:,}",
            one.reported_by,
        )
        for one in every
    ]
    words = (
        "The loss that a fit reports for held-out rows, and the loss on test rows with its standard error "
        "(combined with that of the held-out score, if known). Difference: test minus held-out loss, in per "
        "cent of the test loss and in units of two standard errors. Calibration: error of the largest "
        "probability in ten bins. Probability: relative error of the mean probability of a class, for the "
        "class where it is largest, among classes with enough test rows."
    )
    losses = ("held-out loss", "test loss", "difference", "2 SE")
    header = ("set", *losses, "calibration", "probability", "test rows", "source")
    return Table("Held-out and test losses", words, header, rows)


# -- how steady it is


def _spreads(mine: Mapping[str, Runs]) -> list[tuple[str, ...]]:
    """Of sets with several random states on the same rows."""
    found = [(name, wide) for name, runs in mine.items() if (wide := _spread(runs)) is not None]
    if not found:
        return []
    return [
        _counted(
            f"spread of the loss over random states at most {100 * _SPREAD:g} % (range over "
            f"mean; median {100 * np.median([wide for _, wide in found]):.1f} %)",
            found,
            lambda pair: pair[1] <= _SPREAD,
            lambda pair: f"{pair[0]} {100 * pair[1]:.0f} %",
        )
    ]


def _spread(runs: Runs) -> float | None:
    by_seed: dict[str, list[float]] = {}
    for run, one in runs.items():
        by_seed.setdefault(run.partition("-")[0], []).append(one["loss"])
    wide = [np.ptp(losses) / np.mean(losses) for losses in by_seed.values() if len(losses) > 1]
    return float(np.mean(wide)) if wide else None


# -- every set


def _verdicts(peer: str, found: Sequence[Compared]) -> Table:
    label, rows = _name(peer), []
    for one in found:
        if one.failed:
            rows.append((one.name, "failed", *("" for _ in range(9))))
            continue
        some = next(iter(one.ours.values()))
        word = "**worse**" if one.steps > 1.0 else "better" if one.steps < -1.0 else "as good"
        cells = [_difference(one.differences.get(name), name) for name in ("error", "AUC")]
        seconds = [f"{_mean(runs, 'cpu_seconds'):.1f}" for runs in (one.ours, one.theirs)]
        pair = [f"{_mean(runs, 'loss'):.4g}" for runs in (one.ours, one.theirs)]
        shape = f"{some['train_rows']:,} x {some['columns']}"
        shown = (f"{one.steps:+.2f}", f"{one.percent:+.1f} %", " / ".join(pair), *cells)
        rows.append(
            (one.name, word, *shown, " / ".join(seconds), f"{one.ratio:.2f}", shape, str(len(one.ours)))
        )
    words = (
        f"distkern and {label}, the largest deficits first. 2 SE: distkern's loss minus {label}'s, in "
        "units of two standard errors of the paired differences on test rows; above 1 distkern is worse, "
        f"below -1 better. Percentages are relative to {label}'s loss. Error and AUC: differences with "
        "standard errors (DeLong's for AUC). Standard errors cover the test rows, not the choice of training "
        "rows."
    )
    losses = ("2 SE", "difference", "losses", "error", "AUC")
    header = ("set", "verdict", *losses, "CPU s", "ratio", "rows", "runs")
    return Table(f"Compared with {label}", words, header, rows)


def _difference(found: Difference | None, name: str) -> str:
    if found is None:
        return ""
    # of the AUC it is kept by how much theirs is larger
    mean = 0.0 - found.mean if name == "AUC" else found.mean
    bold = "**" if found.verdict == "worse" else ""
    return f"{bold}{mean:+.2g} ± {found.error:.1g}{bold}"


def _chosen(mine: Mapping[str, Runs]) -> Table:
    rows = []
    for name, runs in mine.items():
        every = list(runs.values())
        below = _mean(runs, "loss") / max(_mean(runs, "constant"), 1e-300)
        spent = [f"{_mean(runs, f'{kind}_seconds'):.1f}" for kind in ("cpu", "import", "compile")]
        spread = _spread(runs)
        rows.append(
            (
                name,
                ", ".join(dict.fromkeys(one.get("chosen", "") for one in every)),
                "; ".join(dict.fromkeys(one.get("because", "") for one in every)),
                f"{below:.3f}",
                *spent,
                "" if spread is None else f"{100 * spread:.1f} %",
                ", ".join(dict.fromkeys(name for one in every for name in one.get("remedied", ()))),
            )
        )
    words = (
        "The chosen algorithm and the reason; its loss divided by that of the best constant prediction "
        "(class shares or mean of the training rows; above 1 is worse than no model); CPU seconds of the "
        "fit, of imports and of numba's compiler; spread of the loss over random states. Refused columns mix "
        "numbers and words; they became categories, as the message advises."
    )
    seconds = ("fit s", "import s", "compile s")
    header = ("set", "chosen", "reason", "loss / constant", *seconds, "spread", "refused columns")
    return Table("What was chosen", words, header, rows)


_SCORES = ("log loss", "AUC", "error", "calibration", "RMSE", "cpu_seconds", "predict_seconds")


def _scores(there: Measured, names: Sequence[str], systems: Sequence[str]) -> Table:
    rows = []
    for name in names:
        for who in systems:
            runs = list(there.runs(name, who).values())
            if runs:
                cells = [text([one[score] for one in runs if score in one]) for score in _SCORES]
                rows.append((name, _name(who), *cells))
    words = "Means and standard deviations over the seeds."
    header = ("set", "model", *_SCORES[:-2], "CPU s", "predict CPU s")
    return Table("Scores", words, header, rows)
