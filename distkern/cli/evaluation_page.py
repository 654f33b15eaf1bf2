"""A model's figures on rows with known targets, for the page of ``evaluate --html`` and for the report."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.cli.facts import figure_rows, mistakes
from distkern.core.templates import TEMPLATES
from distkern.core.text import in_percent
from distkern.show.page import (
    Axis,
    Bars,
    Curve,
    HeatMap,
    Html,
    Plot,
    Plots,
    Section,
    heading,
    note,
    page,
    table,
    tiles,
)
from distkern.show.style import STYLES, Style, short_number

if TYPE_CHECKING:
    from distkern.core.choices import Compared
    from distkern.runs.evaluation import Evaluation
    from distkern.runs.ranking import Calibration, RankingFigures

#: classes up to which the matrix is drawn, classes beyond which mistakes are listed, and their number
_MOST_CLASSES, _FEW, _MOST_MISTAKES = 60, 12, 20
#: percent of the colour in a cell with all rows of its class, on which numbers stay readable
SHADE = 55
#: losses below which only this bound is shown large
_LEAST = 1e-4
#: shares of rows predicted as the second class, for which thresholds are listed
_SHARES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def _short(value: float | None) -> str:
    return "-" if value is None else short_number(value)


def _loss(value: float | None) -> str:
    return f"< {_LEAST:g}" if value is not None and 0 < value < _LEAST else _short(value)


def _probability(value: float) -> str:
    """Return a probability with three digits, or as many as distinguish it from 1."""
    if value <= 0.5:
        return f"{value:.3g}"
    decimals = max(3, 1 - math.floor(math.log10(max(1.0 - value, 1e-9))))
    return f"{value:.{decimals}f}".rstrip("0").rstrip(".")


def _in_unit(value: float | None) -> str:
    return f"{value:,.0f}" if value is not None and 1e3 <= abs(value) < 1e9 else _short(value)


#: figure -> its name, its text, and whether it has the unit of the target
_FIGURES: dict[str, tuple[str, Callable[[float | None], str], bool]] = {
    "auc": ("AUC", _short, False),
    "log_loss": ("log loss", _loss, False),
    "r2": ("R\N{SUPERSCRIPT TWO}", _short, False),
    "rmse": ("RMSE", _in_unit, True),
    "mae": ("mean absolute error", _in_unit, True),
    "pinball": ("pinball loss", _in_unit, True),
    "error": ("error", in_percent, False),
    "calibration_error": ("calibration error", _loss, False),
}
#: figures compared with the base rate
_COMPARED = ("log_loss", "auc", "r2", "rmse", "error")


def evaluation_page(title: str, kind: str, measured: Mapping[str, Evaluation], target: str = "") -> str:
    """Return the HTML of a model's evaluation on each split; ``target`` names a real target."""
    rows = ", ".join(f"{found.figures['n']:,} {name} rows" for name, found in measured.items())
    body: list[Section] = [note(f"{kind}, {rows}", "quiet"), tiles(headline(measured, target))]
    return page(title, [*body, worth(measured, target), *evaluation_sections(measured, target)])


def headline(measured: Mapping[str, Evaluation], target: str = "") -> dict[str, str]:
    """Return the figures shown large, of test rows if there are some; those in the target's unit name it."""
    measured = {"test": measured["test"]} if "test" in measured else measured
    return {
        f"{name} {_named(key, target)}": text(evaluation.figures[key])
        for key, (_, text, _) in _FIGURES.items()
        for name, evaluation in measured.items()
        if key in evaluation.figures
    }


def _named(key: str, target: str) -> str:
    word, _, has_unit = _FIGURES[key]
    return f"{word} ({target})" if has_unit and target else word


def worth(
    measured: Mapping[str, Evaluation],
    target: str = "",
    candidates: Sequence[Compared] = (),
    told: float | None = None,
    *,
    is_real: bool = False,
) -> Html:
    """Return a table of the model, the linear machine and the best constant prediction.

    Parameters
    ----------
    candidates : models compared on held-out training rows, the best constant prediction first
    told : the model's loss on held-out training rows; None: that of the chosen candidate
    is_real : whether targets are real numbers, if nothing is measured
    """
    found = next(iter(measured.values()), None)
    is_real = is_real if found is None else "rmse" in found.figures
    names = [name for name in _COMPARED if any(name in one.figures for one in measured.values())]
    chosen = next((one for one in candidates if one.chosen), None)
    if not names and chosen is None:
        return Html("")
    constant = candidates[0].loss if candidates else None
    straight = [one for one in candidates if "linear" in one.name.partition(",")[0] and not one.near]
    # the last one was tried on the most rows
    linear = straight[-1] if straight else None
    held_out = "R\N{SUPERSCRIPT TWO}" if is_real else "log loss"

    def held(loss: float | None) -> list[str]:
        if chosen is None:
            return []
        if not is_real:
            return [_loss(loss)]
        return [_short(None if loss is None or not constant else 1.0 - loss / constant)]

    if told is None and chosen is not None and not chosen.near:
        told = chosen.loss
    rows: list[list[str]] = []
    for split, one in measured.items():
        cells = [_FIGURES[name][1](one.figures.get(name)) for name in names]
        rows.append([f"this model, {split} rows", *cells, *held(told)])
    if chosen is not None and not rows:
        rows.append(["this model", *held(told)])
    if linear is not None and chosen is not None and chosen not in straight:
        rows.append(["linear machine", *["-"] * len(names), *held(linear.loss)])
    always = "always the mean" if is_real else "base rate"
    if measured:
        split, one = next(iter(measured.items()))
        cells = [_FIGURES[name][1](one.base.get(name)) for name in names]
        rows.append([f"{always}, {split} rows", *cells, *held(constant)])
    elif constant is not None:
        rows.append([always, *held(constant)])
    header = ["", *(_named(name, target) for name in names)]
    if chosen is not None:
        header.append(f"{held_out}, held-out training rows")
    # the first split is that of the test rows, if there are any
    return table(header, rows, "numbers named", chosen=0) if rows else Html("")


def evaluation_sections(measured: Mapping[str, Evaluation], target: str = "") -> list[Section]:
    """Return plots, thresholds and classes of each split, and all figures."""
    body: list[Section] = [Plots([*_curves(measured), *_predictions(measured, target)])]
    for name, evaluation in measured.items():
        body += [*_thresholds(name, evaluation), *_classes(name, evaluation)]
    return [*body, heading("All figures"), table(("", *measured), figure_rows(measured))]


def _curves(measured: Mapping[str, Evaluation]) -> list[Plot]:
    """Return ROC, calibration with the rows per bin, and precision-recall curves, where available."""
    ranked = {name: found.ranking for name, found in measured.items() if found.ranking is not None}
    calibrated = {
        name: found.calibration for name, found in measured.items() if found.calibration is not None
    }

    def style(name: str) -> Style:
        return STYLES[name] if len(measured) > 1 else replace(STYLES[name], dash="solid")

    def unit(label: str = "") -> Axis:
        return Axis(label, ends=(-0.03, 1.03))

    def lines(x: Callable[[RankingFigures], Any], y: Callable[[RankingFigures], Any]) -> list[Curve]:
        return [Curve(name, x(ranking), y(ranking), style(name)) for name, ranking in ranked.items()]

    def title(words: str) -> str:
        """Return the title of a plot; it names a single split, and the key several."""
        return f"{words}, {next(iter(measured))} rows" if len(measured) == 1 else words

    plots = []
    if ranked:
        roc = lines(lambda of: [0.0, *of.false_positives], lambda of: [0.0, *of.recall])
        axes = unit("false positive rate"), unit("true positive rate")
        plots.append(Plot(title("ROC curve"), *axes, [*roc, _ideal(0.0, 1.0)], square=True))
    if calibrated:
        curves = []
        for name, calibration in calibrated.items():
            x, y = calibration.curve
            curves.append(Curve(name, x.tolist(), y.tolist(), style(name)))
        labels = next(iter(measured.values())).predicted
        of = f"class {labels[1]}" if len(labels) == 2 else "the predicted class"
        chance = f"predicted probability of {of}"
        axes = unit(chance), unit("observed share of rows")
        plots.append(Plot(title("Calibration"), *axes, [*curves, _ideal(0.0, 1.0)], square=True))
        name, calibration = next(iter(calibrated.items()))
        plots.append(_bins(name, calibration, chance))
    if ranked:
        precision = lines(lambda of: of.recall, lambda of: of.precision)
        # the precision of scores without information
        level = float(next(iter(ranked.values())).precision[-1])
        plots.append(
            Plot(
                title("Precision-recall curve"),
                unit("recall"),
                unit("precision"),
                [*precision, _ideal(level, level)],
                square=True,
            )
        )
    return plots


def _bins(split: str, calibration: Calibration, chance: str) -> Plot:
    counts = calibration.counts.tolist()
    edges = np.linspace(0.0, 1.0, len(counts) + 1).tolist()
    bars = Bars(edges, counts, STYLES[split])
    title = f"{split.capitalize()} rows by probability"
    return Plot(
        title, Axis(chance, ends=(-0.03, 1.03)), Axis("rows", from_zero=True), cells=bars, square=True
    )


def _ideal(*values: float) -> Curve:
    """Return a reference line for curves."""
    return Curve("", (0.0, 1.0), values, STYLES["limit"])


def _predictions(measured: Mapping[str, Evaluation], target: str) -> list[Plot]:
    grids = {
        name: evaluation.predictions
        for name, evaluation in measured.items()
        if evaluation.predictions is not None and evaluation.predictions.counts.size
    }
    edges = {name: [grid.edges(axis).tolist() for axis in (0, 1)] for name, grid in grids.items()}
    # the same for all splits and both axes
    ends = [end for axes in edges.values() for sides in axes for end in (sides[0], sides[-1])]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    margin = 0.03 * (high - low) or 1.0
    plots = []
    for name, grid in grids.items():
        across, up = edges[name]
        cells = HeatMap(across, up, grid.counts.tolist(), STYLES[name])
        within = low - margin, high + margin
        axes = Axis(target or "target", ends=within), Axis(f"predicted {target or 'target'}", ends=within)
        same = Curve("", (low, high), (low, high), STYLES["limit"])
        plots.append(Plot(f"Predicted against true, {name} rows", *axes, [same], cells, square=True))
    return plots


def _classes(split: str, evaluation: Evaluation) -> list[Html]:
    """Return the confusion matrix of few classes, the mistakes of many, and figures per class."""
    counts = evaluation.confusion
    if counts is None:
        return []
    parts = [heading(f"Classes, {split} rows")]
    if max(counts.shape) <= _MOST_CLASSES:
        parts += _matrix(evaluation, STYLES[split].css)
    if max(counts.shape) > _FEW:
        header: Mapping[str, str] = dict.fromkeys(("class", "predicted as", "rows", "share of the class"), "")
        parts += [heading("Most frequent mistakes"), table(header, mistakes(evaluation, _MOST_MISTAKES))]
    rows = _class_rows(evaluation)
    shown = sorted(rows, key=lambda row: row[0])[:_MOST_CLASSES] if len(rows) > _MOST_CLASSES else rows
    header = {
        "class": "",
        "rows": "",
        "recall": "share of the class's rows that are predicted as this class",
        "precision": "share of the rows predicted as this class that belong to it",
        "F1": "2 / (1 / recall + 1 / precision)",
    }
    if len(shown) < len(rows):
        parts.append(note(f"The {len(shown)} classes with the lowest recall of {len(rows):,}.", "quiet"))
    return [*parts, table(header, [row[1:] for row in shown], "numbers named")]


def _thresholds(split: str, evaluation: Evaluation) -> list[Html]:
    """Return figures at thresholds on the probability of the second of two classes.

    The thresholds are 0.5, that of ``--threshold balanced``, and quantiles of the probabilities.
    """
    ranking, chances = evaluation.ranking, evaluation.chances
    if ranking is None or chances is None:
        return []
    label = evaluation.predicted[1]
    marks = {0.5: "0.5"}
    if evaluation.balanced is not None:
        marks[evaluation.balanced] = f"{_probability(evaluation.balanced)}, balanced"
    known = {int(np.abs(ranking.share - share).argmin()): "" for share in _SHARES}
    # the lowest listed probability that reaches the threshold
    known |= {
        place: word for at, word in marks.items() if (place := int(np.count_nonzero(chances >= at)) - 1) >= 0
    }
    negatives, positives = ranking.totals
    rows, marked = [], None
    for number, place in enumerate(sorted(known, reverse=True)):
        recall, missed = float(ranking.recall[place]), 1.0 - float(ranking.recall[place])
        alarms = float(ranking.false_positives[place])
        error = (missed * positives + alarms * negatives) / (positives + negatives)
        figures = (
            float(ranking.share[place]),
            recall,
            float(ranking.precision[place]),
            error,
            (recall + 1.0 - alarms) / 2.0,
        )
        marked = number if "balanced" in known[place] else marked
        rows.append(
            [
                known[place] or _probability(float(chances[place])),
                *(f"{100 * figure:.1f} %" for figure in figures),
            ]
        )
    header = {
        "threshold": f"lowest probability at which class {label} is predicted",
        f"predicted {label}": "share of all rows",
        "recall": f"share of class {label}'s rows that are predicted as {label}",
        "precision": f"share of the rows predicted as {label} that belong to it",
        "error": "share of all rows predicted wrongly",
        "balanced accuracy": "mean of the recalls of both classes",
    }
    words = note(f"Class {label} is predicted if its probability reaches the threshold.", "quiet")
    return [heading(f"Thresholds, {split} rows"), words, table(header, rows, chosen=marked)]


def _matrix(evaluation: Evaluation, colour: str) -> list[Html]:
    """Return counts by true and predicted label, shaded by the square root of their share of the class."""
    counts = evaluation.confusion
    assert counts is not None
    shares = np.sqrt(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
    rows = [
        (str(label), *(_cell(f"{count:,}", colour, share) for count, share in zip(*both, strict=True)))
        for label, *both in zip(evaluation.labels, counts.tolist(), shares.tolist(), strict=True)
    ]
    steps = [_cell(f"{share:.0%}", colour, share**0.5) for share in (0.0, 0.01, 0.1, 0.25, 0.5, 1.0)]
    legend = Html(TEMPLATES.steps("Share of the true class:", steps))
    kind = "matrix dense" if len(evaluation.predicted) > _FEW else "matrix"
    corner = "true\u00a0\N{DOWNWARDS ARROW} predicted\u00a0\N{RIGHTWARDS ARROW}"
    header = (corner, *map(str, evaluation.predicted))
    return [table(header, rows, kind), note(legend, "quiet")]


def _cell(words: str, colour: str, share: float) -> Html:
    """Return a number shaded by a share."""
    return Html(TEMPLATES.cell(words, colour, f"{SHADE * share:.0f}" if share else ""))


def _class_rows(evaluation: Evaluation) -> list[tuple[Any, ...]]:
    """Return recall and the cells of a table, for each class of the split."""
    counts = evaluation.confusion
    assert counts is not None
    rows: list[tuple[Any, ...]] = []
    for place, label in enumerate(evaluation.labels):
        n_rows, correct, predicted = int(counts[place].sum()), 0, 0
        if label in evaluation.predicted:
            column = evaluation.predicted.index(label)
            correct, predicted = int(counts[place, column]), int(counts[:, column].sum())
        recall = correct / n_rows if n_rows else None
        precision = correct / predicted if predicted else None
        f1 = 2 * correct / (n_rows + predicted) if n_rows + predicted else None
        texts = (in_percent(recall), in_percent(precision), in_percent(f1))
        rows.append((-1.0 if recall is None else recall, str(label), f"{n_rows:,}", *texts))
    return rows
