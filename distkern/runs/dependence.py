"""Partial dependence: the mean prediction over rows with one column set to a value."""

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

#: number of stored quantiles of a column
_RUG = 50
#: significant digits of shown numbers
_DIGITS = {"float32": 6, "float64": 17}


@dataclass(frozen=True)
class InputColumn:
    """An input column of a model.

    Attributes
    ----------
    places : positions of its features
    number : position among the columns of X
    encoding : encoding of a table's column
    """

    name: str
    places: tuple[int, ...]
    number: int
    encoding: AbstractColumn | None = None


def input_columns(table: Table | None, names: Sequence[str] | None, n_features: int) -> list[InputColumn]:
    """Return the columns of a table that have features, or the features themselves without a table."""
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
    """Values at which a column is set.

    Attributes
    ----------
    places : positions of its features
    values, rug : values as shown; the rug is for numbers and dates
    kind : see :class:`~distkern.show.explanation.Dependence`
    features : (n_values, n_places) encoded values, scaled as the rows are
    """

    column: str
    places: tuple[int, ...]
    values: tuple[float | str, ...]
    features: Floats
    kind: Literal["number", "category", "date", "time"]
    rug: tuple[float | str, ...]

    @classmethod
    def of(cls, column: InputColumn, rows: Rows, scaling: Scaling, most: int) -> ColumnGrid | None:
        """Return a grid of at most ``most`` values, or None for texts and for columns without values.

        The values are all distinct ones if there are few, otherwise quantiles, or the most frequent
        categories. ``scaling`` is the scaling of the rows; division by their norms is not undone.
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
        texts, strokes = (tuple(shown(value, digits) for value in some.tolist()) for some in (values, rug))
        is_drawn = kind in ("number", "date")
        scaled = units.apply(features, rows.dtype)
        return cls(column.name, column.places, texts, scaled, kind, strokes if is_drawn else ())


def outputs_of(model: FittedModel) -> tuple[Output, ...]:
    """Return the averaged outputs: each class (the second of two), or each of several quantiles."""
    if model.task == "regression":
        levels = model.levels
        return levels if len(levels) > 1 else ("",)
    classes = tuple(plain_labels(np.asarray(model.classes)))
    return classes[1:] if len(classes) == 2 else classes


def averages(
    grid: ColumnGrid, rows: Rows, predict: Callable[[Any], NDArray[Any]], n_outputs: int
) -> tuple[tuple[float, ...], ...]:
    """Return means over the rows, (n_outputs, n_values), with the column set to each value.

    ``predict`` returns (n,) or (n, n_answers) numbers, of which the last ``n_outputs`` are averaged.
    """
    means = []
    for features in grid.features:
        predicted = predict(with_values(rows, grid.places, features))
        means.append(predicted.reshape(len(predicted), -1).mean(axis=0, dtype=np.float64)[-n_outputs:])
    return tuple(map(tuple, np.array(means).T.tolist()))
