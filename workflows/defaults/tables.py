"""Tables of the report: scores and seconds of every algorithm with default settings, and weak results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from workflows.defaults.methods import (
    AUTO,
    EXACT_PEERS,
    LINEAR,
    LINEAR_PEER,
    PEERS,
    Source,
    algorithms,
    losses,
    methods,
)
from workflows.records import Record, Records
from workflows.report import Section, Table, spread

#: points of accuracy, or hundredths of R2, that are allowed to be missing: of the chosen one to the best
#: peer, of any algorithm to the better SVC, or to the linear peer where it is linear
CHOSEN_MARGIN, MARGIN = 0.3, 2.0

Found = dict[str, dict[str, list[Record]]]


def sections(records: Records, sources: Sequence[Source], reasons: Path | None) -> list[Section]:
    """All of the report."""
    found = {source.name: _of(records, source) for source in sources}
    told: dict[str, str] = {} if reasons is None else json.loads(reasons.read_text())
    return [
        (_scores(found, sources), ()),
        (_behind(found, sources), ()),
        (_why(found, sources, told), ()),
        (_seconds(found, sources), ()),
        (_losses(records, sources), ()),
    ]


def _of(records: Records, source: Source) -> dict[str, list[Record]]:
    """Records of the seeds that did not fail, by method."""
    found = {}
    for method in methods(source):
        prefix = f"scores/{source.name}/{method.replace(', ', '-')}"
        seeds = [one for _, one in records.under(prefix) if "failed" not in one]
        if seeds:
            found[method] = seeds
    return found


def _scores(found: Found, sources: Sequence[Source]) -> Table:
    words = (
        "Accuracy on test rows in %, or 100 R2 for regression: means and standard deviations of the "
        "finished seeds. For regression SVC stands for SVR and LR for Ridge. Both use default "
        "settings; SVC is also fitted to standardised columns and targets. HGB is "
        "HistGradientBoosting. `auto` is the choice of the package: machines in cells for all dense "
        "rows here, which are not listed again."
    )
    return Table("Scores", words, _header(sources), _rows(found, sources, "score", 100.0))


def _seconds(found: Found, sources: Sequence[Source]) -> Table:
    words = "Means over the seeds, including automatic choices."
    return Table("CPU seconds of the fit", words, _header(sources), _rows(found, sources, "cpu_seconds", 1.0))


def _header(sources: Sequence[Source]) -> tuple[str, ...]:
    return ("method", *(source.name for source in sources))


def _rows(found: Found, sources: Sequence[Source], name: str, scale: float) -> list[tuple[str, ...]]:
    order = dict.fromkeys([*PEERS, AUTO])
    for real in (False, True):
        order |= dict.fromkeys(algorithms(is_real=real))
    rows = []
    for method in order:
        cells = [
            spread([scale * one[name] for one in found[source.name].get(method, [])])
            if method in found[source.name]
            else ""
            for source in sources
        ]
        if any(cells):
            rows.append((f"**{method}**" if method == AUTO else method, *cells))
    return rows


def mean(seeds: Sequence[Record]) -> float:
    """Mean of the scores, in points."""
    return 100.0 * float(np.mean([one["score"] for one in seeds]))


def behind(found: Mapping[str, Sequence[Record]]) -> dict[str, tuple[str, float]]:
    """Methods farther behind on a data set than allowed: behind what, by how many points."""
    scores = {method: mean(seeds) for method, seeds in found.items()}
    exact = [method for method in EXACT_PEERS if method in scores]
    peers = [method for method in PEERS if method in scores and method != LINEAR_PEER]
    late = {}
    for method, score in scores.items():
        if method in PEERS:
            continue
        if method == AUTO:
            rivals, margin = peers, CHOSEN_MARGIN
        elif method in LINEAR:
            rivals, margin = [one for one in (LINEAR_PEER,) if one in scores], MARGIN
        else:
            rivals, margin = exact, MARGIN
        best = max(rivals, key=scores.__getitem__, default=None)
        if best is not None and score < scores[best] - margin:
            late[method] = best, scores[best] - score
    return late


def _behind(found: Found, sources: Sequence[Source]) -> Table:
    rows = [
        (source.name, method, rival, f"{points:.1f}")
        for source in sources
        for method, (rival, points) in behind(found[source.name]).items()
    ]
    words = (
        f"`auto` should be at most {CHOSEN_MARGIN:g} points behind the best of SVC (or SVR) and "
        f"HGB, the others at most {MARGIN:g} behind the better SVC, and linear ones (Pegasos, "
        "SIMBA) as much behind logistic regression. Methods that are farther behind:"
    )
    return Table("What is behind", words, ("data", "method", "behind", "points"), rows)


def _why(found: Found, sources: Sequence[Source], reasons: Mapping[str, str]) -> Table:
    late = {(source.name, method) for source in sources for method in behind(found[source.name])}
    known = {name for data, method in late for name in (method, f"{data}/{method}")}
    rows = [(name, why) for name, why in reasons.items() if name in known]
    return Table("Why", "Findings on methods that are behind.", ("method", "what was found"), rows)


def _losses(records: Records, sources: Sequence[Source]) -> Table:
    real = [source for source in sources if source.is_real][:1]
    rows, names = [], []
    for source in real:
        for method in algorithms(is_real=True):
            own = {loss: records.get(f"losses/{source.name}/{method}/{loss}") for loss in losses(method)}
            known = {loss: one for loss, one in own.items() if one is not None}
            if known:
                rows.append((method, known))
                names += [loss for loss in known if loss not in names]
    cells = [
        (method, *("" if loss not in known else f"{known[loss].get('score', np.nan):.3f}" for loss in names))
        for method, known in rows
    ]
    words = (
        f"R2 on the test rows of {real[0].name if real else ''}, one seed, with columns and targets "
        "in the units of the file, without scaling. Losses that estimate the median score lower in "
        "R2, since the median of skewed prices differs from their mean."
    )
    return Table("Every loss of every regressor", words, ("method", *names), cells)
