"""Transforms of single columns before distances are measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import DTypeLike

from distkern.core.tiles import apply
from distkern.core.types import Array, Floats

TransformKind: TypeAlias = Literal["none", "standard", "normal", "ranks"]
TRANSFORMS: tuple[TransformKind, ...] = get_args(TransformKind)

N_QUANTILES = 500
#: numbers transformed at a time
_TILE = 2**17


@dataclass(frozen=True)
class Transform:
    """x' = (g(x) - shift) * factor for each column.

    g is the identity for "none" (one factor for all columns) and "standard". For "ranks" it is the share of
    smaller values in a sample, interpolated between quantiles. For "normal" it is the normal quantile of this
    share. A column that is constant in the sample becomes 0. Of m columns that stand for one value together
    (their multiplicity), each has the variance 1 / m, not 1, except for "none".

    In columns of target means (multiplicity 0) g is always the identity. A training row has the mean of some
    other rows, a new row that of all: nearly the same number, but not nearly the same rank, since many rows
    of one value lie between.

    Attributes
    ----------
    kind : one of :data:`TRANSFORMS`
    shift, factor : (d,) float64
    quantiles : (n_quantiles, d) float64, NaN for columns where g is the identity; or None
    """

    kind: TransformKind
    shift: Array
    factor: Array
    quantiles: Array | None = None

    @classmethod
    def fit(cls, kind: TransformKind, sample: Floats, multiplicity: Sequence[int] = ()) -> Transform:
        """Fit to a sample of rows (n, d): the moments, or 500 quantiles, of each column.

        ``multiplicity`` has d numbers; empty: all are 1.
        """
        n_features = sample.shape[1]
        quantiles = None
        if kind in ("normal", "ranks"):
            quantiles = _quantiles(sample.astype(np.float64), min(N_QUANTILES, len(sample)))
            if multiplicity:
                quantiles[:, np.equal(multiplicity, 0)] = np.nan
        plain = cls(kind, np.zeros(n_features), np.ones(n_features), quantiles)
        values = plain.apply(sample, np.float64)
        shift = values.mean(axis=0)
        spread = np.sqrt(np.square(values - shift).mean(axis=0))
        # ignore rounding in constant columns
        spread[spread <= 1e-9 * np.abs(shift)] = 0.0
        if kind == "none":
            spread = np.where(spread > 0, np.sqrt(np.square(spread).mean()), 0.0)
        elif multiplicity:
            spread = spread * np.sqrt(np.maximum(multiplicity, 1))
        factor = apply(np.divide, 1.0, spread, into=np.zeros(n_features), where=spread > 0)
        return cls(kind, shift, factor, quantiles)

    def apply(self, rows: Floats, out_dtype: DTypeLike = np.float32) -> Floats:
        """Return transformed rows, (n, d) in ``out_dtype``, computed in float64."""
        out: Floats = np.empty(rows.shape, dtype=out_dtype)
        step = max(1, _TILE // max(rows.shape[1], 1))
        for start in range(0, len(rows), step):
            values = rows[start : start + step].astype(np.float64)
            if self.quantiles is not None:
                self._to_levels(values)
            out[start : start + step] = (values - self.shift) * self.factor
        return out

    def _to_levels(self, values: Array) -> None:
        """Apply g to values (n, d) in place."""
        levels, rising, falling = self._tables
        for number, column in enumerate(values.T):
            if np.isnan(rising[number, 0]):
                continue
            # a tied value gets the mean of its lowest and highest share
            low = np.interp(column, rising[number], levels)
            high = 1.0 - np.interp(-column, falling[number], levels)
            column[:] = 0.5 * (low + high)
            if self.kind == "normal":
                from scipy.special import ndtri

                end = 0.5 / len(levels)
                column[:] = ndtri(np.clip(column, end, 1.0 - end))

    @cached_property
    def _tables(self) -> tuple[Array, Array, Array]:
        """Shares, and the quantiles of each column and of its negative, a row for each column."""
        assert self.quantiles is not None
        rising = np.ascontiguousarray(self.quantiles.T)
        return np.linspace(0.0, 1.0, rising.shape[1]), rising, np.ascontiguousarray(-rising[:, ::-1])

    def __getstate__(self) -> dict[str, Any]:
        # recomputed from the quantiles
        return {name: value for name, value in vars(self).items() if name != "_tables"}


def _quantiles(rows: Array, n_levels: int) -> Array:
    """Return quantiles (n_levels, d) of each column, bitwise equal to NumPy's.

    Sorting takes a tenth of the time of NumPy's partitions.
    """
    columns = np.sort(np.ascontiguousarray(rows.T), axis=1)
    places = np.linspace(0.0, 1.0, n_levels) * (len(rows) - 1)
    below = np.floor(places).astype(np.intp)
    low, high, share = columns[:, below], columns[:, np.minimum(below + 1, len(rows) - 1)], places - below
    step = high - low
    # interpolate from the nearer value, as NumPy does
    quantiles = np.where(share < 0.5, low + step * share, high - step * (1.0 - share))
    return np.ascontiguousarray(quantiles.T)
