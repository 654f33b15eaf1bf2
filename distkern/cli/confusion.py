"""Confusion matrices and frequent mistakes in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from distkern.core.names import written
from distkern.core.text import in_percent

if TYPE_CHECKING:
    from rich.console import RenderableType

    from distkern.runs.evaluation import Evaluation

#: classes whose matrix is printed; of more, the most frequent mistakes
MOST_CLASSES = 12
MOST_MISTAKES = 8
_WIDTH = 80
#: letters of a label, at most
_LABEL = 10


def confusion_lines(evaluation: Evaluation, split: str) -> Iterator[RenderableType]:
    """A matrix for few classes, a table of mistakes for many, nothing for real targets."""
    from distkern.cli.tables import table

    counts = evaluation.confusion
    if counts is None:
        return
    if max(counts.shape) > MOST_CLASSES:
        found = mistakes(evaluation, MOST_MISTAKES)
        if found:
            yield f"most frequent mistakes, {split} rows"
            yield table(("class", "taken for", "rows", "of the class"), found, text=(0, 1))
        return
    yield f"{split} rows: true class down, predicted class across"
    rows, columns = (
        [_shortened(written(label)) for label in labels]
        for labels in (evaluation.labels, evaluation.predicted)
    )
    cells = [[f"{count:,}" if count else "." for count in row] for row in counts.tolist()]
    if _width(rows, columns, cells) > _WIDTH:
        cells = [[_brief(count) if count else "." for count in row] for row in counts.tolist()]
    over = _width(rows, columns, cells) - _WIDTH
    if over > 0:
        room = max(len(_brief(int(counts.max()))), max(map(len, columns)) - -(-over // len(columns)))
        columns = [label[:room] for label in columns]
        over = max(_width(rows, columns, cells) - _WIDTH, 0)
        rows = [_shortened(label, _LABEL - over) for label in rows]
    yield table(("", *columns), ([label, *row] for label, row in zip(rows, cells, strict=True)))


def mistakes(evaluation: Evaluation, most: int) -> list[tuple[str, str, str, str]]:
    """The most frequent mistakes: true and predicted label, rows, and their share of the class."""
    assert evaluation.confusion is not None
    wrong = evaluation.confusion.copy()
    for row, label in enumerate(evaluation.labels):
        if label in evaluation.predicted:
            wrong[row, evaluation.predicted.index(label)] = 0
    totals = evaluation.confusion.sum(axis=1)
    order = np.argsort(-wrong, axis=None, kind="stable")[:most]
    places = zip(*np.unravel_index(order, wrong.shape), strict=True)
    return [
        (
            written(evaluation.labels[row]),
            written(evaluation.predicted[column]),
            f"{wrong[row, column]:,}",
            in_percent(wrong[row, column] / totals[row]),
        )
        for row, column in places
        if wrong[row, column]
    ]


def _width(rows: list[str], columns: list[str], cells: list[list[str]]) -> int:
    """Width of the printed table in characters."""
    widths = [max(len(name), *(len(row[place]) for row in cells)) + 2 for place, name in enumerate(columns)]
    return max(map(len, rows)) + 2 + sum(widths)


def _shortened(label: str, most: int = _LABEL) -> str:
    return label if len(label) <= most else f"{label[: most - 1]}…"


def _brief(count: int) -> str:
    """At most five letters: ``_brief(12345) == "12k"``."""
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= limit:
            return f"{count / limit:.1f}{letter}" if count < 10 * limit else f"{count / limit:.0f}{letter}"
    return str(count)
