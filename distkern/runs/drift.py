"""Drift: how far new rows lie outside the ranges of a model's training rows, by column."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from distkern.core.sparse import SparseRows
from distkern.core.types import AbstractSource, Array, Block
from distkern.data.spreads import TILE_BYTES, Spreads
from distkern.model.value import FittedModel
from distkern.passes import Cost, Reduce

#: tolerance as a share of a column's range; single precision has about 7 digits
_ROUNDING = 1e-6
#: name of the rows that the pass reads
NEW_ROWS = "new rows"


@dataclass(frozen=True)
class Drift:
    """Rows whose numbers lie outside the ranges of a model's training rows.

    Attributes
    ----------
    n_rows : number of new rows
    outside : (n_features,) number of rows outside the range, by column; NaN if the range is unknown
    low, high : (n_features,) smallest and largest number of the new rows
    known_low, known_high : (n_features,) ranges of the previous rows; empty if unknown
    names : names of the columns, or None
    """

    n_rows: int
    outside: Array
    low: Array
    high: Array
    known_low: Array
    known_high: Array
    names: tuple[str, ...] | None = None

    @property
    def is_known(self) -> bool:
        return len(self.known_low) > 0

    @property
    def shares(self) -> Array:
        return self.outside / self.n_rows

    @property
    def widened(self) -> tuple[Array, Array]:
        """Ranges of the previous and the new rows together; empty if the previous ranges are unknown."""
        if not self.is_known:
            return self.known_low, self.known_high
        return np.minimum(self.known_low, self.low), np.maximum(self.known_high, self.high)

    @property
    def facts(self) -> dict[str, Any]:
        """What a model stores: the ten columns with the largest shares, and how many have any."""
        if not self.is_known:
            return {"drift": None}
        keys = ("column", "outside", "low", "high", "new_low", "new_high")
        most = [dict(zip(keys, row, strict=True)) for row in self.most]
        return {"drift": {"columns": int(np.count_nonzero(self.outside)), "most": most}}

    @property
    def most(self) -> list[tuple[str | float, ...]]:
        """Return the ten columns with the largest positive shares: name, share, previous range, new range."""
        shares = np.nan_to_num(self.shares)
        order = [one for one in np.argsort(-shares, kind="stable").tolist() if shares[one] > 0]
        return [
            (
                f"column {place + 1}" if self.names is None else self.names[place],
                float(shares[place]),
                *(float(own[place]) for own in (self.known_low, self.known_high, self.low, self.high)),
            )
            for place in order[:10]
        ]


@dataclass(frozen=True)
class _Sums:
    """Number of rows, numbers outside the bounds by column, and ranges, in the units of the model."""

    n_rows: int
    outside: Array
    low: Array
    high: Array

    @staticmethod
    def add(first: _Sums, second: _Sums) -> _Sums:
        return _Sums(
            first.n_rows + second.n_rows,
            first.outside + second.outside,
            np.minimum(first.low, second.low),
            np.maximum(first.high, second.high),
        )


def drift_pass(model: FittedModel, source: AbstractSource, low: Array, high: Array) -> Reduce[_Sums]:
    """Return the pass that :func:`drift_of` evaluates.

    Parameters
    ----------
    source : rows with the model's features and scaling, before its map
    low, high : ranges of the previous rows in their own units, see
        :class:`~distkern.model.parts.SavedForUpdate`
    """
    width = source.n_features
    bounds = np.full((2, width), np.nan)
    if len(low):
        # known ranges may be in double precision and the new rows in single precision
        single = np.finfo(np.float32).eps * np.maximum(np.abs(low), np.abs(high))
        beyond = _ROUNDING * (high - low) + single
        bounds = np.stack([_scaled(model, low - beyond), _scaled(model, high + beyond)])
    cost = Cost().holding(
        task={"tiles": (4, TILE_BYTES), "sums": (8, width, 8)}, result={"sums": (3, width, 8)}
    )
    return Reduce("drift", _sums_of, _Sums.add, bounds, NEW_ROWS, cost=cost)


def drift_of(model: FittedModel, sums: _Sums, low: Array, high: Array) -> Drift:
    """Return the drift from the pass's result, in the units of the columns."""
    outside = sums.outside if len(low) else np.full(len(sums.outside), np.nan)
    names, table = model.columns.names, model.columns.table
    if table is not None:
        names = table.features
        # training rows have the means of other rows, so that their ranges differ
        outside = np.where(table.are_of_values, 0.0 * outside, outside)
    found = tuple(map(str, names)) if names is not None and len(names) == len(outside) else None
    new = _in_own_units(model, sums.low), _in_own_units(model, sums.high)
    return Drift(sums.n_rows, outside, *new, low, high, found)


def _sums_of(block: Block, bounds: Array) -> _Sums:
    rows, width = block.features, block.features.shape[1]
    low, high = bounds
    spreads = Spreads.of(rows, None)
    if isinstance(rows, SparseRows):
        values = rows.data.astype(np.float64)
        beyond = (values < low[rows.indices]) | (values > high[rows.indices])
        outside = np.bincount(rows.indices[beyond], minlength=width).astype(np.float64)
    else:
        outside = np.zeros(width)
        step = max(1, TILE_BYTES // max(1, 8 * width))
        for start in range(0, len(rows), step):
            tile = rows[start : start + step]
            outside += np.count_nonzero((tile < low) | (tile > high), axis=0)
    return _Sums(block.n_rows, outside, spreads.low, spreads.high)


def _scaled(model: FittedModel, values: Array) -> Array:
    own = model.columns.scaling
    return values if own is None else np.asarray(own.apply_rows(values[None], np.float64))[0]


def _in_own_units(model: FittedModel, values: Array) -> Array:
    own = model.columns.scaling
    return values if own is None else np.asarray(own.in_own_units(values[None]), dtype=np.float64)[0]
