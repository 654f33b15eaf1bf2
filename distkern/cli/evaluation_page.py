"""The page that ``distkern evaluate --html`` writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.cli.confusion import mistakes
from distkern.cli.evaluate import figure_rows
from distkern.monitor.page import (
    Axis,
    Curve,
    HeatMap,
    Html,
    Plot,
    Plots,
    Section,
    heading,
    joined,
    note,
    page,
    table,
    text,
    tiles,
)
from distkern.monitor.style import STYLES, short_number
from distkern.monitor.text import in_percent

if TYPE_CHECKING:
    from distkern.runs.evaluation import Evaluation
    from distkern.runs.ranking import RankingFigures

#: classes whose matrix is drawn, and mistakes of more than a few that are listed
_MOST_CLASSES, _FEW, _MOST_MISTAKES = 60, 12, 20
_SHADE = 0.75
#: probabilities, some of the borders of bins
_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def _short(value: float | None) -> str:
    return "-" if value is None else short_number(value)


_HEADLINE: dict[str, tuple[str, Callable[[float | None], str]]] = {
    "accuracy": ("accuracy", in_percent),
    "auc": ("area under ROC", _short),
    "log_loss": ("log loss", _short),
    "calibration_error": ("calibration error", _short),
    "rmse": ("rmse", _short),
    "r2": ("R\N{SUPERSCRIPT TWO}", _short),
    "pinball": ("pinball loss", _short),
}


def evaluation_page(title: str, kind: str, measured: Mapping[str, Evaluation]) -> str:
    """Return the HTML of a model's evaluation on each split."""
    rows = ", ".join(f"{found.figures['n']:,} {name} rows" for name, found in measured.items())
    body: list[Section] = [note(f"{kind}, {rows}", "quiet"), tiles(headline(measured))]
    return page(title, [*body, *evaluation_sections(measured, "Figures")])


def headline(measured: Mapping[str, Evaluation]) -> dict[str, str]:
    """The figures shown large, by name."""
    return {
        f"{name} {word}": told(evaluation.figures[key])
        for key, (word, told) in _HEADLINE.items()
        for name, evaluation in measured.items()
        if key in evaluation.figures
    }


def evaluation_sections(measured: Mapping[str, Evaluation], title: str) -> list[Section]:
    """Plots and figures below the heading, then the classes of each split."""
    body: list[Section] = [heading(title), Plots([*_curves(measured), *_residuals(measured)])]
    body.append(table(("", *measured), figure_rows(measured)))
    for name, evaluation in measured.items():
        body += [*_classes(name, evaluation), *_thresholds(name, evaluation)]
    return body


def _curves(measured: Mapping[str, Evaluation]) -> list[Plot]:
    """ROC, precision-recall and calibration curves, if available."""
    ranked = {name: found.ranking for name, found in measured.items() if found.ranking is not None}
    told = {name: found.calibration for name, found in measured.items() if found.calibration is not None}
    unit = Axis(within=(0.0, 1.0))

    def lines(x: Callable[[RankingFigures], Any], y: Callable[[RankingFigures], Any]) -> list[Curve]:
        return [Curve(name, x(ranking), y(ranking), STYLES[name]) for name, ranking in ranked.items()]

    plots = []
    if ranked:
        roc = lines(lambda of: [0.0, *of.false_positives], lambda of: [0.0, *of.recall])
        rate = Axis("false positive rate", within=(0.0, 1.0))
        plots.append(Plot("ROC: true positive rate", rate, unit, [*roc, _ideal(0.0, 1.0)]))
        precision = lines(lambda of: of.recall, lambda of: of.precision)
        # the precision of scores without information
        level = float(next(iter(ranked.values())).precision[-1])
        recall = Axis("recall", within=(0.0, 1.0))
        plots.append(Plot("Precision", recall, unit, [*precision, _ideal(level, level)]))
    if told:
        curves = []
        for name, calibration in told.items():
            x, y = calibration.curve
            curves.append(Curve(name, x.tolist(), y.tolist(), STYLES[name]))
        labels = next(iter(measured.values())).predicted
        of = f"class {labels[1]}" if len(labels) == 2 else "the predicted class"
        chance = Axis(f"probability of {of}, as predicted", within=(0.0, 1.0))
        plots.append(Plot("Calibration: share of rows", chance, unit, [*curves, _ideal(0.0, 1.0)]))
    return plots


def _ideal(*values: float) -> Curve:
    """A reference line for curves."""
    return Curve("", (0.0, 1.0), values, STYLES["limit"])


def _residuals(measured: Mapping[str, Evaluation]) -> list[Plot]:
    grids = {
        name: evaluation.residuals
        for name, evaluation in measured.items()
        if evaluation.residuals is not None and evaluation.residuals.counts.size
    }
    edges = {name: [grid.edges(axis).tolist() for axis in (0, 1)] for name, grid in grids.items()}
    # the same for all splits
    within = [[end for own in edges.values() for end in (own[axis][0], own[axis][-1])] for axis in (0, 1)]
    plots = []
    for name, grid in grids.items():
        across, up = edges[name]
        cells = HeatMap(across, up, grid.counts.tolist(), STYLES[name].colour)
        axes = Axis("prediction", within=tuple(within[0])), Axis(within=tuple(within[1]), from_zero=True)
        zero = Curve("", (min(within[0]), max(within[0])), (0.0, 0.0), STYLES["limit"])
        plots.append(Plot(f"Residual, target - prediction, {name} rows", *axes, [zero], cells))
    return plots


def _classes(split: str, evaluation: Evaluation) -> list[Html]:
    """The confusion matrix of few classes, the mistakes of many, and figures per class."""
    counts = evaluation.confusion
    if counts is None:
        return []
    parts = [heading(f"Classes, {split} rows")]
    if max(counts.shape) <= _MOST_CLASSES:
        parts += _matrix(evaluation, STYLES[split].colour)
    if max(counts.shape) > _FEW:
        header: Mapping[str, str] = dict.fromkeys(("class", "taken for", "rows", "of the class"), "")
        parts += [heading("Most frequent mistakes"), table(header, mistakes(evaluation, _MOST_MISTAKES))]
    rows = _class_rows(evaluation)
    shown = sorted(rows, key=lambda row: row[0])[:_MOST_CLASSES] if len(rows) > _MOST_CLASSES else rows
    header = {
        "class": "",
        "rows": "",
        "recall": "share of the class's rows that are predicted as it",
        "precision": "share of the rows predicted as the class that are in it",
        "F1": "2 / (1 / recall + 1 / precision)",
    }
    if len(shown) < len(rows):
        parts.append(note(f"The {len(shown)} classes with the lowest recall of {len(rows):,}.", "quiet"))
    return [*parts, table(header, [row[1:] for row in shown], "numbers named")]


def _thresholds(split: str, evaluation: Evaluation) -> list[Html]:
    """Figures at a few thresholds of the probability of the second of two classes."""
    told = evaluation.calibration
    if told is None or len(evaluation.predicted) != 2:
        return []
    label = evaluation.predicted[1]
    header = {
        "threshold": f"least probability at which class {label} is predicted",
        "recall": f"share of class {label}'s rows that are predicted as it",
        "precision": f"share of the rows predicted as class {label} that are in it",
        "error": "share of all rows that are predicted wrongly",
        "balanced accuracy": "mean of the recalls of both classes",
    }
    rows = [(f"{at:g}", *map(in_percent, figures)) for at, figures in told.thresholds(_THRESHOLDS).items()]
    words = note(f"Class {label} is predicted if its probability reaches the threshold.", "quiet")
    return [heading(f"Thresholds, {split} rows"), words, table(header, rows)]


def _matrix(evaluation: Evaluation, colour: str) -> list[Html]:
    """Counts by true and predicted label, shaded by the square root of their share of the true class."""
    counts = evaluation.confusion
    assert counts is not None
    shares = np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
    rows = [
        (str(label), *(_cell(f"{count:,}", colour, share) for count, share in zip(*both, strict=True)))
        for label, *both in zip(evaluation.labels, counts.tolist(), shares.tolist(), strict=True)
    ]
    steps = [_cell(f"{share:.0%}", colour, share**0.5) for share in (0.0, 0.01, 0.1, 0.25, 0.5, 1.0)]
    legend = joined("Share of the true class: ", Html('<span class="steps">'), *steps, Html("</span>"))
    kind = "matrix dense" if len(evaluation.predicted) > _FEW else "matrix"
    corner = "true\u00a0\N{DOWNWARDS ARROW} predicted\u00a0\N{RIGHTWARDS ARROW}"
    header = (corner, *map(str, evaluation.predicted))
    return [table(header, rows, kind), note(legend, "quiet")]


def _cell(words: str, colour: str, share: float) -> Html:
    """A number shaded by a share."""
    if share == 0:
        return Html(f'<span class="cell none">{text(words)}</span>')
    shade = f"color-mix(in srgb, {colour} {100 * _SHADE * share:.0f}%, transparent)"
    return Html(f'<span class="cell" style="background:{shade}">{text(words)}</span>')


def _class_rows(evaluation: Evaluation) -> list[tuple[Any, ...]]:
    """Recall and the cells of a table, for each class of the split."""
    counts = evaluation.confusion
    assert counts is not None
    rows: list[tuple[Any, ...]] = []
    for place, label in enumerate(evaluation.labels):
        own, right, said = int(counts[place].sum()), 0, 0
        if label in evaluation.predicted:
            column = evaluation.predicted.index(label)
            right, said = int(counts[place, column]), int(counts[:, column].sum())
        recall = right / own if own else None
        precision = right / said if said else None
        both = 2 * right / (own + said) if own + said else None
        texts = (in_percent(recall), in_percent(precision), in_percent(both))
        rows.append((-1.0 if recall is None else recall, str(label), f"{own:,}", *texts))
    return rows
