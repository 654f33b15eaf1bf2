"""The curves of a run, as plain numbers, from its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from distkern.dashboard.history import RunHistory
from distkern.monitor.page import Axis, Curve, Plot
from distkern.monitor.style import RUNS, STYLES, Style

#: what stages can be drawn over -> key of their metrics, and label
POSITIONS = {
    "passes": ("passes", "passes over the data"),
    "seconds": ("seconds", "seconds"),
    "stages": ("stage", "stage"),
}
#: facts of a run that are drawn beside its memory
LIMITS = {
    "memory_limit": "limit of a worker",
    "planned_worker_bytes": "planned peak of a worker",
    "planned_driver_bytes": "planned peak of the driver",
}
_ERRORS = {f"{rows}_error": rows for rows in ("train", "validation", "test")}
_PEAKS = {f"{process}_peak_rss_bytes": process for process in ("worker", "driver")}
#: shown elsewhere on the page, or a count without a curve worth drawing
_DRAWN = {"stage", "passes", "seconds", "objective", "peak_rss_bytes", *_ERRORS, *_PEAKS}
#: what is told last of the rest
_KNOWN = (
    "model_size",
    "training_seconds",
    "feature_accesses",
    "feature_accesses_nonzero",
    "rows_read",
    "bytes_read",
)


def colour_of(run: RunHistory) -> str:
    """The run's colour on the page."""
    return RUNS[run.number % len(RUNS)]


def style_of(run: RunHistory, kind: str, runs: Sequence[RunHistory]) -> Style:
    """The style of a kind of curve; where runs are compared, in the run's colour."""
    return STYLES[kind] if len(runs) == 1 else replace(STYLES[kind], colour=colour_of(run))


def plots(runs: Sequence[RunHistory], over: str, quantity: str) -> dict[str, Plot]:
    """The page's figures by their names, over passes, seconds or stages; one has a chosen quantity."""
    key, label = POSITIONS[over]
    x, seconds = Axis(label), Axis("seconds", from_zero=True)
    count, size = Axis(from_zero=True), Axis(binary=True, from_zero=True)
    words = quantity.replace("_", " ")
    squared = {run.squared for run in runs if run.stages}
    of_errors = "Mean squared error" if squared == {True} else "Error in percent"
    if len(squared) > 1:
        of_errors = "Error (in percent, or mean squared)"
    errors = [curve for run in runs for curve in _curves(run, runs, key, _ERRORS, 1 if run.squared else 100)]
    objectives = [curve for run in runs for curve in _curves(run, runs, key, {"objective": "figure"})]
    others = [curve for run in runs for curve in _curves(run, runs, key, {quantity: "figure"})]
    return {
        "objective": Plot("Objective", x, Axis(log=True), objectives),
        "error": Plot(of_errors, x, count, errors),
        "other": Plot(words[:1].upper() + words[1:], x, Axis(), others),
        "memory": Plot("Peak memory", x, size, [curve for run in runs for curve in _memory(run, runs, key)]),
        "rows": Plot("Rows a second", seconds, count, [_rates(run, runs, 0) for run in runs]),
        "bytes": Plot("Bytes a second", seconds, size, [_rates(run, runs, 1) for run in runs]),
    }


def _curves(
    run: RunHistory, runs: Sequence[RunHistory], key: str, kinds: Mapping[str, str], factor: float = 1.0
) -> list[Curve]:
    """Quantities of the stages (key -> kind); stages that lack one, or their position, are left out."""
    curves = []
    for quantity, kind in kinds.items():
        pairs = [(s[key], factor * s[quantity]) for s in run.stages if key in s and quantity in s]
        x, y = tuple(at for at, _ in pairs), tuple(found for _, found in pairs)
        if x:
            label = f"{run.told} {quantity.removesuffix('_peak_rss_bytes').replace('_', ' ')}"
            curves.append(Curve(label, x, y, style_of(run, kind, runs)))
    return curves


def _memory(run: RunHistory, runs: Sequence[RunHistory], key: str) -> list[Curve]:
    """Peaks of the largest worker and of the driver, and what limit and plan allow."""
    # without workers their peak is 0
    curves = [curve for curve in _curves(run, runs, key, _PEAKS) if any(curve.y)]
    places = [stage[key] for stage in run.stages if key in stage]
    for name, label in LIMITS.items():
        limit = run.facts.get(name)
        if isinstance(limit, (int, float)) and limit > 0 and places:
            ends = (min(places), max(places))
            curves.append(Curve(label, ends, (float(limit),) * 2, style_of(run, "limit", runs), label))
    return curves


def _rates(run: RunHistory, runs: Sequence[RunHistory], quantity: int) -> Curve:
    """Rows (0) or bytes (1) a second over the seconds of the run."""
    times, values = run.rates.rates(quantity)
    return Curve(run.told, times, values, replace(style_of(run, "figure", runs), marker=""))


def quantities(runs: Sequence[RunHistory]) -> list[str]:
    """Figures of the stages that can be drawn beside the fixed plots, the solver's own first."""
    names = dict.fromkeys(["model_size", *(name for run in runs for name in run.last if name not in _DRAWN)])
    return [*(name for name in names if name not in _KNOWN), *(name for name in _KNOWN if name in names)]
