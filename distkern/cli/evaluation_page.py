"""The page that ``distkern evaluate --html`` writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.cli.confusion import mistakes
from distkern.cli.evaluate import figure_rows
from distkern.monitor.look import COLOURS, table, tiles
from distkern.monitor.plots import IDEAL, Line, cell_plot, line_plot
from distkern.monitor.report import whole_page
from distkern.monitor.text import in_number, in_percent

if TYPE_CHECKING:
    from distkern.runs.evaluation import Evaluation
    from distkern.runs.grid import Grid
    from distkern.runs.ranking import Ranking

#: numbers of the colours, those of the report's curves
_STYLES = {"train": 0, "test": 1}
#: classes whose matrix is drawn, and mistakes of more than a few that are listed
_MOST_CLASSES, _FEW, _MOST_MISTAKES = 60, 12, 20
_SHADE = 0.75
#: probabilities, some of the borders of bins
_THRESHOLDS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
_RGB = [" ".join(str(part) for part in bytes.fromhex(colour[1:])) for colour in COLOURS]


def evaluation_page(title: str, kind: str, measured: Mapping[str, Evaluation]) -> str:
    """The HTML of what a model of that class makes of each split."""
    rows = ", ".join(f"{found.figures['n']:,} {name} rows" for name, found in measured.items())
    body = [f"<h1>{escape(title)}</h1>", f'<p class="quiet">{escape(kind)}, {rows}</p>']
    body.append(tiles(_headline(measured)))
    return whole_page(escape(title), [*body, *evaluation_parts(measured, "Figures")])


def evaluation_parts(measured: Mapping[str, Evaluation], heading: str) -> list[str]:
    """What is drawn of it, its figures below the heading, and of each split the classes."""
    figures = "".join(_curves(measured) + _residuals(measured))
    shown = table(dict.fromkeys(("", *measured), ""), _escaped(figure_rows(measured)))
    body = [f"<h2>{heading}</h2>", f'<div class="figures">{figures}</div>' if figures else "", shown]
    for name, evaluation in measured.items():
        body += [*_classes(name, evaluation), *_thresholds(name, evaluation)]
    return body


def _escaped(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[escape(cell) for cell in row] for row in rows]


def _headline(measured: Mapping[str, Evaluation]) -> dict[str, str]:
    texts: dict[str, tuple[str, Callable[[float | None], str]]] = {
        "accuracy": ("accuracy", in_percent),
        "auc": ("area under ROC", in_number),
        "rmse": ("rmse", in_number),
        "r2": ("R\N{SUPERSCRIPT TWO}", in_number),
        "pinball": ("pinball loss", in_number),
    }
    return {
        f"{name} {word}": text(evaluation.figures[key])
        for key, (word, text) in texts.items()
        for name, evaluation in measured.items()
        if key in evaluation.figures
    }


def _curves(measured: Mapping[str, Evaluation]) -> list[str]:
    """ROC, precision-recall and calibration, where there are some."""
    ranked = {name: found.ranking for name, found in measured.items() if found.ranking is not None}
    told = {name: found.calibration for name, found in measured.items() if found.calibration is not None}

    def lines(x: Callable[[Ranking], Any], y: Callable[[Ranking], Any]) -> list[Line]:
        return [_line(name, x(ranking), y(ranking)) for name, ranking in ranked.items()]

    plots = []
    if ranked:
        roc = lines(lambda of: [0.0, *of.false_positives], lambda of: [0.0, *of.recall])
        plots.append(
            line_plot("ROC: true positive rate", "false positive rate", (), [*roc, _ideal((0.0, 1.0))])
        )
        precision = lines(lambda of: of.recall, lambda of: of.precision)
        # of scores that say nothing
        level = float(next(iter(ranked.values())).precision[-1])
        plots.append(line_plot("Precision", "recall", (), [*precision, _ideal((level, level))]))
    if told:
        curves = [_line(name, *calibration.curve) for name, calibration in told.items()]
        labels = next(iter(measured.values())).predicted
        of = f"class {labels[1]}" if len(labels) == 2 else "the predicted class"
        label = f"probability of {of}, as predicted"
        plots.append(line_plot("Calibration: share of rows", label, (), [*curves, _ideal((0.0, 1.0))]))
    return plots


def _line(name: str, x: Any, y: Any) -> Line:
    return Line(name, [float(value) for value in y], [float(value) for value in x], _STYLES[name])


def _ideal(values: tuple[float, float]) -> Line:
    return Line("", values, (0.0, 1.0), IDEAL)


def _residuals(measured: Mapping[str, Evaluation]) -> list[str]:
    grids = {
        name: evaluation.residuals
        for name, evaluation in measured.items()
        if evaluation.residuals is not None and evaluation.residuals.counts.size
    }
    plots = []
    for name, grid in grids.items():
        x, y = (grid.edges(axis).tolist() for axis in (0, 1))
        title = f"Residual, target - prediction, {name} rows"
        counts, within = grid.counts.tolist(), (*_ends(grids.values(), 0), *_ends(grids.values(), 1))
        plots.append(cell_plot(title, "prediction", x, y, counts, _STYLES[name], within=within))
    return plots


def _ends(grids: Iterable[Grid], axis: int) -> tuple[float, float]:
    """What the same axis of all has to hold."""
    edges = [grid.edges(axis) for grid in grids]
    return min(float(own[0]) for own in edges), max(float(own[-1]) for own in edges)


def _classes(split: str, evaluation: Evaluation) -> list[str]:
    """The confusion of few enough classes, the mistakes of many, and figures of each."""
    counts = evaluation.confusion
    if counts is None:
        return []
    parts = [f"<h2>Classes, {split} rows</h2>"]
    if max(counts.shape) <= _MOST_CLASSES:
        parts += [_matrix(evaluation, _RGB[_STYLES[split]])]
    if max(counts.shape) > _FEW:
        header = dict.fromkeys(("class", "taken for", "rows", "of the class"), "")
        parts += [
            "<h2>Most frequent mistakes</h2>",
            table(header, _escaped(mistakes(evaluation, _MOST_MISTAKES))),
        ]
    rows = _class_rows(evaluation)
    shown = sorted(rows, key=lambda row: row[0])[:_MOST_CLASSES] if len(rows) > _MOST_CLASSES else rows
    header = {
        "class": "",
        "rows": "",
        "recall": "of the rows of the class, those that are said to be of it",
        "precision": "of the rows that are said to be of the class, those that are",
        "F1": "2 / (1 / recall + 1 / precision)",
    }
    if len(shown) < len(rows):
        parts.append(f'<p class="quiet">The {len(shown)} of {len(rows):,} classes of lowest recall.</p>')
    parts.append(table(header, (row[1:] for row in shown), "named"))
    return parts


def _thresholds(split: str, evaluation: Evaluation) -> list[str]:
    """What a few thresholds of the probability of the second of two classes give."""
    told = evaluation.calibration
    if told is None or len(evaluation.predicted) != 2:
        return []
    label = escape(str(evaluation.predicted[1]))
    header = {
        "threshold": f"probability of class {label} from which on it is predicted",
        "recall": f"of the rows of class {label}, those that are said to be of it",
        "precision": f"of the rows that are said to be of class {label}, those that are",
        "error": "of all rows, those that are taken for the other class",
        "balanced accuracy": "mean of the recalls of both classes",
    }
    rows = [(f"{at:g}", *map(in_percent, figures)) for at, figures in told.thresholds(_THRESHOLDS).items()]
    return [f"<h2>Thresholds, {split} rows</h2>", table(header, rows)]


def _matrix(evaluation: Evaluation, colour: str) -> str:
    """Counts by true and predicted label, shaded by the root of their share of the true class."""
    counts = evaluation.confusion
    assert counts is not None
    shares = np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
    head = "".join(f'<th scope="col">{escape(str(label))}</th>' for label in evaluation.predicted)
    rows = "".join(
        f'<tr><th scope="row">{escape(str(label))}</th>'
        + "".join(
            f'<td style="background:rgb({colour} / {_SHADE * share:.2f})">{_count(count)}</td>'
            for count, share in zip(own, shaded, strict=True)
        )
        + "</tr>"
        for label, own, shaded in zip(evaluation.labels, counts.tolist(), shares.tolist(), strict=True)
    )
    kind = "matrix dense" if len(evaluation.predicted) > _FEW else "matrix"
    return (
        '<p class="quiet">True class down, predicted class across; the stronger a cell, the larger its share '
        f'of the row.</p><div class="scroll"><table class="numbers {kind}"><tr><th></th>{head}</tr>{rows}'
        "</table></div>"
    )


def _count(count: int) -> str:
    return f"{count:,}" if count else ""


def _class_rows(evaluation: Evaluation) -> list[tuple[Any, ...]]:
    """Recall, then the cells of a table, of each class of the split."""
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
        rows.append((-1.0 if recall is None else recall, escape(str(label)), f"{own:,}", *texts))
    return rows
