"""The stages of a run in the report: choice of the model, plots and a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from distkern.core.choices import Compared
from distkern.core.text import SQUARED, error_name, in_bytes, in_error, in_number, in_time, is_before
from distkern.show.metrics import FIELDS
from distkern.show.page import Axis, Curve, Html, Plot, Plots, heading, joined, note, table, text
from distkern.show.style import STYLES, short_number

#: rows of the table; of more stages, the first, the last and some between are shown
MOST_ROWS = 60
#: columns that fit a page in ordinary type
MOST_WIDE_COLUMNS = 12
#: number of stages up to which the x axis counts stages instead of seconds
_FEW = 3
#: solver-specific figures with a plot
MOST_OWN = 6
_PLAIN, _SIZE = Axis(), Axis(kind="bytes", from_zero=True)

Metrics: TypeAlias = Mapping[str, Any]
Cell: TypeAlias = Callable[[Any], str]

#: training rows, test rows, rows held out for choosing
_ERRORS = (("train", "train_error"), ("test", "test_error"), ("validation", "validation_error"))
#: figures of real targets besides the errors above
FIGURES_OF_TARGETS = tuple(f"{split}_{figure}" for figure in ("mae", "r2") for split in ("train", "test"))
#: keys with their own plot or column, or of no interest
_COMMON = {
    *FIELDS,
    "validation_error",
    "training_seconds",
    "driver_peak_rss_bytes",
    "worker_peak_rss_bytes",
    "change",
    *FIGURES_OF_TARGETS,
    "train_rmse",
    "test_rmse",
    "ended",
    "warnings",
}


def choice_sections(history: Sequence[Metrics]) -> list[Html]:
    """Return the notes on the chosen model, and the held-out loss of each candidate."""
    last = history[-1] if history else {}
    notes = [note(line) for line in last.get("notes", ())]
    compared = [Compared(**facts) for facts in last.get("candidates", ())]
    if not compared:
        return [heading("Chosen model"), *notes] if notes else []
    header = {
        "candidate": "",
        "rows": "training rows of its trial",
        "functions": "basis functions of its trial",
        "loss": "mean loss on held-out rows",
    }
    sizes = [
        [None if size is None else f"{size:,}" for size in (one.n_rows, one.n_functions)] for one in compared
    ]
    names = [f"{one.name}{', near some rows' * one.near}" for one in compared]
    losses = [f"{one.loss:.4g}" for one in compared]
    tried = [(name, *size, loss) for name, size, loss in zip(names, sizes, losses, strict=True)]
    chosen = next((place for place, one in enumerate(compared) if one.chosen), None)
    comparable = note(
        "The best candidate of each step, in the order of the search. Steps with more training rows, or near "
        "some rows, also hold out other rows, so their losses are not comparable with earlier ones.",
        "quiet",
    )
    return [heading("Chosen model"), *notes, table(header, tried, "numbers named", chosen=chosen), comparable]


def stage_plots(history: Sequence[Metrics]) -> Plots:
    """Plot objective, errors, peak memory and solver-specific figures.

    The x axis counts rounds if the solver reports them, else passes. If passes do not grow, since rounds over
    resident rows read nothing, it is seconds, or stages if there are few.
    """
    passes = [float(metrics["passes"]) for metrics in history]
    if _varies(history, "rounds"):
        label, x = "rounds", [float(metrics["rounds"]) for metrics in history]
    elif len(passes) > 2 and passes[-1] == passes[1]:
        # of few stages, the last does the work that others prepare
        key, label = ("seconds", "seconds") if len(passes) > _FEW else ("stage", "stages")
        x = [float(metrics[key]) for metrics in history]
    else:
        label, x = "passes over the data", passes

    def plot(title: str, curves: Sequence[tuple[str, str, Sequence[Any]]], axis: Axis = _PLAIN) -> None:
        drawn = [Curve(name, x, values, STYLES[style]) for name, style, values in curves]
        if any(value is not None for curve in drawn for value in curve.y):
            kind: Any = "whole" if label == "stages" else "number"
            plots.append(Plot(title, Axis(label, kind, within=(min(x), max(x))), axis, drawn))

    plots: list[Plot] = []
    squared = squared_errors(history)
    shares = next((str(metrics["error"]) for metrics in history if "error" in metrics), "error")
    of_errors = "Root mean squared error" if squared else f"{shares.capitalize()} in percent"
    errors = {key: [_drawn_error(metrics, key, squared) for metrics in history] for _, key in _ERRORS}
    plot("Objective", [("objective", "figure", _column(history, "objective"))], Axis(kind="log"))
    plot(
        of_errors,
        [(name, name, errors[key]) for name, key in _ERRORS if {*errors[key]} - {None}],
        Axis(kind="log" if squared else "number"),
    )
    if len(history) > 1:
        own = [key for key in ("model_size", *own_figures(history)) if key != label and _varies(history, key)]
        for key in own[:MOST_OWN]:
            values = _column(history, key)
            counts = all(value is None or value == round(value) for value in values)
            axis = Axis(kind="whole") if counts else _PLAIN
            plot(_words(key).capitalize(), [(_words(key), "figure", values)], axis)
        keys = {name: f"{name}_peak_rss_bytes" for name in ("worker", "driver")}
        peaks = [(name, name, peaks_so_far(history, key)) for name, key in keys.items()]
        plot("Peak memory", [one for one in peaks if {*one[2]} - {None}], _SIZE)
    return Plots(plots)


def own_figures(history: Sequence[Metrics]) -> list[str]:
    """Return the names of solver-specific figures, in order of first appearance."""
    names = {
        name: None
        for metrics in history
        for name, value in metrics.items()
        if name not in _COMMON and isinstance(value, (int, float)) and not isinstance(value, bool)
    }
    return list(names)


def _varies(history: Sequence[Metrics], key: str) -> bool:
    return len({metrics.get(key) for metrics in history} - {None}) > 1


def _words(key: str) -> str:
    return key.replace("_", " ")


def gap_ratios(objectives: Sequence[float | None]) -> list[float | None]:
    """Return the factor by which each stage reduced the distance to the run's best objective.

    (F_s - F_best) / (F_(s-1) - F_best); None for the first stage, from the best stage on, and where a value
    is missing. The optimum is unknown, so late ratios are too small.
    """
    known = [value for value in objectives if value is not None]
    best = min(known, default=0.0)
    ratios: list[float | None] = [None] * len(objectives)
    for stage in range(1, len(objectives)):
        before, after = objectives[stage - 1], objectives[stage]
        if before is None or after is None:
            continue
        if after == best or before == best:
            break
        ratios[stage] = (after - best) / (before - best)
    return ratios


def stage_table(history: Sequence[Metrics]) -> Html:
    """Return a table of the stages without empty columns; constant figures are listed below."""
    own = ["model_size", *own_figures(history)]
    constant = {
        key: next(value for value in _column(history, key) if value is not None)
        for key in own
        if not _varies(history, key) and any(value is not None for value in _column(history, key))
    }
    error = error_name(history[-1])
    objectives = _column(history, "objective")
    # a direct solver has nothing to show
    ratios = gap_ratios(objectives) if len({*objectives} - {None}) > 2 else [None] * len(history)
    columns: list[tuple[str, Sequence[Any], Cell]] = [
        ("stage", _column(history, "stage"), str),
        ("passes", _column(history, "passes"), in_number),
        ("time", _column(history, "seconds"), in_time),
        ("objective", _column(history, "objective"), in_number),
        ("gap ratio", ratios, lambda ratio: in_number(round(ratio, 4))),
        ("change", _column(history, "change"), lambda change: f"{change:.3g}"),
        *((f"{name} {error}", *_errors(history, key)) for name, key in _ERRORS),
        *((_words(key), _column(history, key), _target_text(key)) for key in FIGURES_OF_TARGETS),
        *((_words(key), _column(history, key), _own_text(key)) for key in own if key not in constant),
        ("read", _column(history, "bytes_read"), in_bytes),
        ("worker", peaks_so_far(history, "worker_peak_rss_bytes"), in_bytes),
        ("driver", peaks_so_far(history, "driver_peak_rss_bytes", "peak_rss_bytes"), in_bytes),
    ]
    columns = [column for column in columns if any(value is not None for value in column[1])]
    places = _places(len(history))
    rows = [
        ["-" if values[place] is None else cell(values[place]) for _, values, cell in columns]
        for place in places
    ]
    dense = "numbers dense" if len(columns) > MOST_WIDE_COLUMNS else "numbers"
    shown = table([name for name, _, _ in columns], rows, dense)
    names = {name for name, _, _ in columns}
    same = ", ".join(f"{_words(key)} {_own_text(key)(value)}" for key, value in constant.items())
    return joined(shown, _notes(names, len(places), len(history), same))


def _drawn_error(metrics: Metrics, key: str, squared: bool) -> float | None:
    value = None if is_before(metrics) else metrics.get(key)
    if value is None:
        return None
    return math.sqrt(value) if squared else 100.0 * value


def _column(history: Sequence[Metrics], key: str) -> list[Any]:
    return [metrics.get(key) for metrics in history]


def peaks_so_far(history: Sequence[Metrics], *keys: str) -> list[float | None]:
    """Return the running maximum over stages of the first key of ``keys`` in each, None before the first.

    A resumed run has new processes, whose own peaks start again.
    """
    largest: float | None = None
    peaks: list[float | None] = []
    for metrics in history:
        value = next((metrics[key] for key in keys if metrics.get(key)), None)
        if value is not None:
            largest = value if largest is None else max(largest, value)
        peaks.append(largest)
    return peaks


def _errors(history: Sequence[Metrics], key: str) -> tuple[list[Any], Cell]:
    return [m if m.get(key) is not None else None for m in history], lambda metrics: in_error(metrics, key)


def squared_errors(history: Sequence[Metrics]) -> bool:
    """Return whether errors are mean squares instead of shares of rows."""
    return any(metrics.get("error") == SQUARED for metrics in history)


def _places(count: int) -> list[int]:
    if count <= MOST_ROWS:
        return list(range(count))
    return sorted({round(row * (count - 1) / (MOST_ROWS - 1)) for row in range(MOST_ROWS)})


def _own_text(key: str) -> Cell:
    return (lambda count: f"{count:,.0f}") if key in ("model_size", "rounds") else short_number


def _target_text(key: str) -> Cell:
    # digits of R2 beyond the fourth are noise, and + 0.0 removes the sign of zero
    return (lambda share: in_number(round(share, 4) + 0.0)) if key.endswith("_r2") else in_number


def _notes(names: set[str], shown: int, count: int, same: str) -> Html:
    notes = [f"At every stage: {text(same)}."] if same else []
    if shown < count:
        notes.append(f"{shown} of {count:,} stages; <code>metrics.jsonl</code> has all.")
    if "gap ratio" in names:
        notes.append(
            "Gap ratio: (F<sub>s</sub> - F<sub>best</sub>)/(F<sub>s-1</sub> - F<sub>best</sub>), the share "
            "of the distance to this run's best objective that remains after a stage; it tends to a constant "
            "below 1 if convergence is linear."
        )
    if "change" in names:
        notes.append(
            "Change: |w<sub>s</sub> - w<sub>s-1</sub>| / |w<sub>s</sub>|, which the solver compares with "
            "<code>tol</code>."
        )
    of = {"worker": "any worker", "driver": "the driver"}
    held = " and of ".join(meaning for name, meaning in of.items() if name in names)
    if held:
        notes.append(
            f"{', '.join(name.capitalize() for name in of if name in names)}: peak resident memory so far of "
            f"{held}."
        )
    return note(Html(" ".join(notes)), "quiet")
