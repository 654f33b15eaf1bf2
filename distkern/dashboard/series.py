"""The curves of a run, as plain numbers, from its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from distkern.dashboard.history import RunHistory
from distkern.monitor.look import RUNS, STYLES, Style
from distkern.monitor.page import Curve

#: what stages can be drawn over: label -> key of their metrics
POSITIONS = {"passes": "passes", "seconds": "seconds", "stages": "stage"}
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
    """That of a kind of curve; where runs are compared, in the run's colour."""
    return STYLES[kind] if len(runs) == 1 else replace(STYLES[kind], colour=colour_of(run))


def stage_curves(
    runs: Sequence[RunHistory], over: str, kinds: Mapping[str, str], what: str = "", *, percent: bool = False
) -> list[Curve]:
    """Quantities of the stages of each run; stages that lack one, or their position, are left out.

    Parameters
    ----------
    kinds : key of the metrics -> kind of the curve
    what : how the quantities are told under the pointer, after their kinds
    percent : they are shares, unless they are mean squares
    """
    key, curves = POSITIONS[over], []
    for run in runs:
        factor = 100.0 if percent and not run.squared else 1.0
        for quantity, kind in kinds.items():
            pairs = [(s[key], factor * s[quantity]) for s in run.stages if key in s and quantity in s]
            label = f"{run.told} {what if kind == 'figure' else f'{kind} {what}'}".strip()
            x, y = tuple(at for at, _ in pairs), tuple(found for _, found in pairs)
            if x:
                curves.append(Curve(label, x, y, style_of(run, kind, runs)))
    return curves


def objective(runs: Sequence[RunHistory], over: str) -> list[Curve]:
    """The objective of each run."""
    return stage_curves(runs, over, {"objective": "figure"}, "objective")


def errors(runs: Sequence[RunHistory], over: str) -> list[Curve]:
    """Errors in percent, or mean squared: of training, validation and test rows."""
    return stage_curves(runs, over, _ERRORS, "error", percent=True)


def error_title(runs: Sequence[RunHistory]) -> str:
    """What the errors of these runs are."""
    kinds = {"mean squared" if run.squared else "in percent" for run in runs if run.stages}
    if kinds == {"mean squared"}:
        return "Mean squared error"
    return "Error in percent" if len(kinds) < 2 else "Error (in percent, or mean squared)"


def memory(runs: Sequence[RunHistory], over: str) -> list[Curve]:
    """Peaks of the largest worker and of the driver, and what limit and plan allow."""
    # without workers their peak is 0
    curves = [curve for curve in stage_curves(runs, over, _PEAKS) if any(curve.y)]
    for run in runs:
        places = [stage[POSITIONS[over]] for stage in run.stages if POSITIONS[over] in stage]
        for name, label in LIMITS.items():
            limit = run.facts.get(name)
            if isinstance(limit, (int, float)) and limit > 0 and places:
                ends = (min(places), max(places))
                style = style_of(run, "limit", runs)
                curves.append(Curve(label, ends, (float(limit),) * 2, style, label))
    return curves


def rates(runs: Sequence[RunHistory], quantity: int) -> list[Curve]:
    """Rows (0) or bytes (1) a second over the seconds of the run."""
    curves = []
    for run in runs:
        style = replace(style_of(run, "figure", runs), marker="")
        times, values = run.rates.rates(quantity)
        curves.append(Curve(run.told, times, values, style))
    return curves


def quantities(runs: Sequence[RunHistory]) -> list[str]:
    """What else can be drawn: the figures of the stages, the solver's own first."""
    names = dict.fromkeys(["model_size", *(name for run in runs for name in run.last if name not in _DRAWN)])
    return [*(name for name in names if name not in _KNOWN), *(name for name in _KNOWN if name in names)]
