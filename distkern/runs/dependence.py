"""Partial dependence: the mean of what a model says of rows if a column has one value in all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.labels import plain_labels
from distkern.common.sparse import Rows, values_at, with_values
from distkern.common.types import Floats
from distkern.monitor.explanation import Output
from distkern.runs.regression_figures import quantiles_of
from distkern.storage.scaling import Scaling
from distkern.storage.table import Column, Table

#: seconds
_DAY, _MINUTE = 86_400, 60
#: quantiles of a column's values between which partial dependence is measured, as scikit-learn does
_WITHIN = (0.05, 0.95)
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
    encoding: Column | None = None


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
    values : as they are told
    features : (n_values, n_places) that they become, scaled as the rows are
    """

    column: str
    places: tuple[int, ...]
    values: tuple[float | str, ...]
    features: Floats

    @classmethod
    def of(cls, column: InputColumn, rows: Rows, scaling: Scaling, most: int) -> ColumnGrid | None:
        """At most so many values: all of a column of few, else quantiles; the categories that most rows have.

        None for texts, and for a column without values. ``scaling`` is what was done to the rows; norms that
        they were divided by are not undone.
        """
        encoding, places = column.encoding, np.array(column.places)
        if encoding is not None and encoding.encoding == "text":
            return None
        units = Scaling() if scaling.factor is None else scaling.reordered(places)
        own = np.asarray(units.in_own_units(values_at(rows, column.places)), dtype=np.float64)
        values = _spread(own[:, 0], most) if encoding is None else _values(encoding, own, most)
        if not len(values):
            return None
        features = values[:, None]
        if encoding is not None:
            features = np.zeros((len(values), len(places)))
            encoding.encode(values, features, None)
        digits = _DIGITS[rows.dtype.name]
        told = tuple(_told(encoding, value, digits) for value in values.tolist())
        return cls(column.name, column.places, told, units.apply(features, rows.dtype))


def _spread(values: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """The distinct values, or where they are more than ``most`` quantiles of the values."""
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) <= most:
        return distinct
    shares = np.linspace(*_WITHIN, most)
    found = np.unique(np.quantile(values, shares, method="inverted_cdf"))
    if len(found) > most // 2:
        return found
    # mostly one value, as zero is of sparse columns
    return np.union1d(distinct[counts.argmax()], np.quantile(distinct, shares[1:], method="inverted_cdf"))


def _values(column: Column, own: NDArray[np.float64], most: int) -> NDArray[np.float64]:
    """Values of a column of a table as it encodes them, of its features (n, n_places) in their own units."""
    if column.encoding in ("onehot", "target"):
        n_levels = len(column.levels) + column.has_missing
        if column.encoding == "onehot":
            kept = np.argsort(-own[:, :n_levels].sum(axis=0), kind="stable")[:most]
        else:
            order = np.argsort([means[0] for means in column.means], kind="stable")
            kept = order[np.unique(np.linspace(0, n_levels - 1, most).astype(np.intp))]
        return np.where(np.sort(kept) < len(column.levels), np.sort(kept), np.nan)
    if column.flag:
        own = own[own[:, -1] < 0.5]
    if column.encoding == "number":
        known, found = np.asarray(column.values), own[:, 0]
        if len(known):
            # rounding moves stored numbers away from those that there are means for
            found = known[np.abs(found[:, None] - known).argmin(axis=1)]
        return _spread(found, most)
    days, step = own[:, 0], _MINUTE
    if column.encoding == "date":
        step = _MINUTE if column.hours else _DAY
    else:
        # what is missing is in the middle of the circle
        there = np.hypot(own[:, 0], own[:, 1]) > 0.5
        days = np.arctan2(own[there, 0], own[there, 1]) / (2 * np.pi) % 1.0
    return _spread((days * _DAY / step).round(), most) * step


def _told(column: Column | None, value: float, digits: int) -> float | str:
    encoding = "number" if column is None else column.encoding
    if column is not None and encoding in ("onehot", "target"):
        return "missing" if np.isnan(value) else column.levels[int(value)]
    if column is not None and encoding in ("date", "time"):
        moment = str(np.datetime64(round(value), "s"))
        if encoding == "time":
            return moment[11:16]
        return moment[:16].replace("T", " ") if column.hours else moment[:10]
    return float(f"{value:.{digits}g}")


def outputs_of(model: Any) -> tuple[Output, ...]:
    """The outputs that are averaged: each class, of two the second; each of several quantiles."""
    if model.task == "regression":
        levels = quantiles_of(model)
        return levels if len(levels) > 1 else ("",)
    classes = tuple(plain_labels(model.classes_))
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
