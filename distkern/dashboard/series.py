"""The curves of a run, as plain numbers, from its history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from distkern.dashboard.history import RunHistory
from distkern.monitor.look import COLOURS

#: what stages can be drawn over: label -> key of their metrics
POSITIONS = {"passes": "passes", "seconds": "seconds", "stages": "stage"}
#: shown elsewhere on the page, or a count without a curve worth drawing
_DRAWN = {
    "stage",
    "passes",
    "seconds",
    "objective",
    "train_error",
    "validation_error",
    "test_error",
    "peak_rss_bytes",
    "driver_peak_rss_bytes",
    "worker_peak_rss_bytes",
}
_ERRORS = (
    ("train_error", "train error", "dashed"),
    ("validation_error", "validation error", "dotted"),
    ("test_error", "held-out error", "solid"),
)


@dataclass(frozen=True)
class Curve:
    """A curve: what it is, its points, colour, dashes ("solid", "dashed", "dotted"), a note at its start."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    colour: str
    dash: str = "solid"
    points: bool = True
    note: str = ""


def colour_of(run: RunHistory) -> str:
    """The run's colour on the page."""
    return COLOURS[run.number % len(COLOURS)]


def stage_curve(
    run: RunHistory, over: str, quantity: str, label: str, dash: str = "solid", factor: float = 1.0
) -> Curve:
    """A quantity of the stages; stages that lack it, or their position, are left out."""
    key = POSITIONS[over]
    pairs = [(s[key], factor * s[quantity]) for s in run.stages if key in s and quantity in s]
    return Curve(
        label,
        tuple(x for x, _ in pairs),
        tuple(y for _, y in pairs),
        colour_of(run),
        dash,
        points=len(pairs) <= 200,
    )


def objective(runs: Sequence[RunHistory], over: str) -> list[Curve]:
    """The objective of each run."""
    return [stage_curve(run, over, "objective", "objective") for run in runs]


def errors(runs: Sequence[RunHistory], over: str) -> list[Curve]:
    """Errors in percent, or mean squared: of training, validation and held-out rows."""
    return [
        curve
        for run in runs
        for key, label, dash in _ERRORS
        if (curve := stage_curve(run, over, key, label, dash, 1 if run.squared else 100)).x
    ]


def error_title(runs: Sequence[RunHistory]) -> str:
    """What the errors of these runs are."""
    kinds = {"mean squared" if run.squared else "in percent" for run in runs if run.stages}
    if kinds == {"mean squared"}:
        return "Mean squared error"
    return "Error in percent" if len(kinds) < 2 else "Error (in percent, or mean squared)"


def memory(runs: Sequence[RunHistory], over: str) -> list[Curve]:
    """Peaks of the largest worker (solid) and the driver (dashed), and what limit and plan allow (dotted)."""
    curves = []
    for run in runs:
        drawn = [
            stage_curve(run, over, "worker_peak_rss_bytes", "largest worker", "solid"),
            stage_curve(run, over, "driver_peak_rss_bytes", "driver", "dashed"),
        ]
        curves += [curve for curve in drawn if any(curve.y)]
        places = [x for curve in drawn for x in curve.x]
        for name, label in LIMITS.items():
            limit = run.facts.get(name)
            if isinstance(limit, (int, float)) and limit > 0 and places:
                ends = (min(places), max(places))
                curves.append(Curve(label, ends, (float(limit),) * 2, colour_of(run), "dotted", False, label))
    return curves


#: facts of a run that are drawn beside its memory
LIMITS = {
    "memory_limit": "limit of a worker",
    "planned_worker_bytes": "planned peak of a worker",
    "planned_driver_bytes": "planned peak of the driver",
}


def rates(runs: Sequence[RunHistory], quantity: int) -> list[Curve]:
    """Rows (0) or bytes (1) a second over the seconds of the run."""
    curves = []
    for run in runs:
        times, values = run.rates.rates(quantity)
        label = ("rows/s", "bytes/s")[quantity]
        curves.append(Curve(label, tuple(times), tuple(values), colour_of(run), points=False))
    return curves


def quantities(runs: Sequence[RunHistory]) -> list[str]:
    """What else can be drawn: the figures of the stages, the solver's own first among equals."""
    names: dict[str, None] = {"model_size": None}
    for run in runs:
        names.update((name, None) for name in run.last if name not in _DRAWN)
    known = [
        "model_size",
        "training_seconds",
        "feature_accesses",
        "feature_accesses_nonzero",
        "rows_read",
        "bytes_read",
    ]
    own = [name for name in names if name not in known]
    return [*own, *(name for name in known if name in names)]
