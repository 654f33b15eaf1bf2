"""Partial dependence: the mean of what a model says of rows if a column has one value in all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from distkern.core.names import plain_labels
from distkern.core.sparse import Rows, values_at, with_values
from distkern.core.types import Floats
from distkern.data.columns.base import AbstractColumn, shown_number, spread
from distkern.data.scaling import Scaling
from distkern.data.table import Table
from distkern.show.explanation import Output

if TYPE_CHECKING:
    # workers import this file, and no scikit-learn
    from distkern.model.value import FittedModel

#: quantiles of a column that are kept
_RUG = 50
#: significant digits that are told of numbers
_DIGITS = {"float32": 6, "float64": 17}


@dataclass(frozen=True)
class InputColumn:
    """An input column of a model.

    Attributes
    ----------
    places : of the features that it has become
    number : its position among the columns of X
    encoding : how, if it is of a table
    """

    name: str
    places: tuple[int, ...]
    number: int
    encoding: AbstractColumn | None = None


def input_columns(table: Table | None, names: Sequence[str] | None, n_features: int) -> list[InputColumn]:
    """The columns of a table that have become features, or the features where there is none."""
    if table is None:
        named = names or [f"column {place + 1}" for place in range(n_features)]
        return [InputColumn(str(name), (place,), place) for place, name in enumerate(named)]
    found, first = [], 0
    for number, column in enumerate(table.columns):
        last = first + len(column.features)
        if last > first:
            found.append(InputColumn(column.name, tuple(range(first, last)), number, column))
        first = last
    return found


@dataclass(frozen=True)
class ColumnGrid:
    """Values that a column is given.

    Attributes
    ----------
    places : of its features
    values, rug : as they are told; the rug is of numbers and dates
    kind : see :class:`~distkern.show.explanation.Dependence`
    features : (n_values, n_places) that they become, scaled as the rows are
    """

    column: str
    places: tuple[int, ...]
    values: tuple[float | str, ...]
    features: Floats
    kind: Literal["number", "category", "date", "time"]
    rug: tuple[float | str, ...]

    @classmethod
    def of(cls, column: InputColumn, rows: Rows, scaling: Scaling, most: int) -> ColumnGrid | None:
        """At most so many values: all of a column of few, else quantiles; the categories that most rows have.

        None for texts, and for a column without values. ``scaling`` is what was done to the rows; norms that
        they were divided by are not undone.
        """
        encoding, places = column.encoding, np.array(column.places)
        units = Scaling() if scaling.factor is None else scaling.reordered(places)
        own = np.asarray(units.in_own_units(values_at(rows, column.places)), dtype=np.float64)
        values, rug = (
            spread(own[:, 0], n) if encoding is None else encoding.grid(own, n) for n in (most, _RUG)
        )
        if not len(values):
            return None
        features = values[:, None]
        if encoding is not None:
            features = np.zeros((len(values), len(places)))
            encoding.encode(values, features)
        digits = _DIGITS[rows.dtype.name]
        kind = "number" if encoding is None else encoding.axis
        shown = shown_number if encoding is None else encoding.shown
        told, strokes = (tuple(shown(value, digits) for value in some.tolist()) for some in (values, rug))
        is_drawn = kind in ("number", "date")
        scaled = units.apply(features, rows.dtype)
        return cls(column.name, column.places, told, scaled, kind, strokes if is_drawn else ())


def outputs_of(model: FittedModel) -> tuple[Output, ...]:
    """The outputs that are averaged: each class, of two the second; each of several quantiles."""
    if model.task == "regression":
        levels = model.levels
        return levels if len(levels) > 1 else ("",)
    classes = tuple(plain_labels(np.asarray(model.classes)))
    return classes[1:] if len(classes) == 2 else classes


def averages(
    grid: ColumnGrid, rows: Rows, predict: Callable[[Any], NDArray[Any]], n_outputs: int
) -> tuple[tuple[float, ...], ...]:
    """(n_outputs, n_values) means over the rows if the column has each of the values.

    ``predict`` gives (n,) or (n, n_said) numbers of rows, whose last ``n_outputs`` are averaged.
    """
    means = []
    for features in grid.features:
        said = predict(with_values(rows, grid.places, features))
        means.append(said.reshape(len(said), -1).mean(axis=0, dtype=np.float64)[-n_outputs:])
    return tuple(map(tuple, np.array(means).T.tolist()))
