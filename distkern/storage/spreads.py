"""How far the columns of some rows spread, and whether that asks for another scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.common.sparse import Rows, SparseRows
from distkern.common.types import Array, Floats
from distkern.storage.scaling import Scaling, ScalingKind, refuse_for_sparse, scaling_of, widen_ranges

#: bytes of rows that are looked at in float64 at a time
TILE_BYTES = 2**20
#: ranges of columns that differ by more than this factor are in different units: those of most, and of all
UNEQUAL, UNEQUAL_AT_ALL = 30.0, 1000.0
_MOST = 0.1, 0.9
#: numbers larger than this, or columns all narrower than its inverse, are in units far from 1
FAR = 100.0
#: numbers this many times as large as their range have half of their digits left in single precision, and
#: squares of numbers up to this, or from its inverse on, are numbers of it
_DIGITS, _SQUARED = 2.0**12, 2.0**48


@dataclass(frozen=True)
class Spreads:
    """Range, mean and sum of squares of each column of some rows, zeros of sparse rows included.

    Attributes
    ----------
    n_rows, weight : of the rows
    low, high : (n_features,) the smallest and the largest number
    mean, squares : (n_features,) the mean and the sum of the squared differences from it, rows as they weigh;
        zeros of sparse rows, of which they are not used
    is_sparse : what such rows may be scaled by leaves zeros what they are
    """

    n_rows: int
    weight: float
    low: Array
    high: Array
    mean: Array
    squares: Array
    is_sparse: bool

    @classmethod
    def of(cls, rows: Rows, weights: Floats | None) -> Spreads:
        """Spreads of the columns of rows (n, n_features)."""
        width = rows.shape[1]
        if isinstance(rows, SparseRows):
            low, high = np.zeros(width), np.zeros(width)
            widen_ranges(rows, low, high)
            return cls(len(rows), float(len(rows)), low, high, np.zeros(width), np.zeros(width), True)
        found = None
        step = max(1, TILE_BYTES // max(1, 8 * width))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            tile = cls._of_tile(rows[part].astype(np.float64), None if weights is None else weights[part])
            found = tile if found is None else cls.add(found, tile)
        assert found is not None
        return found

    @classmethod
    def _of_tile(cls, rows: Array, weights: Floats | None) -> Spreads:
        low, high = rows.min(axis=0), rows.max(axis=0)
        factors = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
        weight = float(factors.sum())
        # from a number among them, so that equal ones have a sum of exactly 0
        rows -= low
        above = factors @ rows / weight
        rows -= above
        rows *= rows
        return cls(len(rows), weight, low, high, low + above, factors @ rows, False)

    @staticmethod
    def add(first: Spreads, second: Spreads) -> Spreads:
        """Spreads of the columns of the rows of both, from theirs alone (Chan, Golub and LeVeque 1979)."""
        weight = first.weight + second.weight
        step = (second.mean - first.mean) * (second.weight / weight)
        return Spreads(
            first.n_rows + second.n_rows,
            weight,
            np.minimum(first.low, second.low),
            np.maximum(first.high, second.high),
            first.mean + step,
            first.squares + second.squares + step * (second.mean - first.mean) * first.weight,
            first.is_sparse,
        )

    @property
    def ranges(self) -> Array:
        """(n_features,) the largest number minus the smallest; of sparse rows the largest modulus."""
        return np.maximum(self.high, -self.low) if self.is_sparse else self.high - self.low

    def chosen(self) -> ScalingKind:
        """What brings columns to about one unit, near 1; "none" where they are.

        "standard" where the range that nine in ten columns that vary have at most is more than 30 times the
        one that nine in ten have at least, or the widest of all is more than 1,000 times as wide as the
        narrowest. Otherwise "minmax" where a number is larger than 100, no column is wider than 0.01, or one
        is farther from 0 than it is wide: it does not make more of columns that are mostly constant. Of
        sparse rows "maxabs" in all cases.
        """
        varies = self.ranges > 0
        ranges = self.ranges[varies]
        if not ranges.size:
            return "none"
        # numbers that are there, so that they are not rounded
        few, most = np.quantile(ranges, _MOST, method="nearest")
        differ = most > UNEQUAL * few or ranges.max() > UNEQUAL_AT_ALL * ranges.min()
        away = np.maximum(self.low, -self.high)[varies] > ranges
        far = self.largest > FAR or ranges.max() < 1.0 / FAR or bool(away.any())
        if not (differ or far):
            return "none"
        return "maxabs" if self.is_sparse else "standard" if differ else "minmax"

    def suit_single(self, kind: ScalingKind) -> bool:
        """Whether single precision, of 24 bits, tells the rows apart once they are scaled so.

        Not where a column that is not centred has numbers more than 2^12 times as large as its range, nor
        where squares of what is not scaled come near the ends of what it has numbers for.
        """
        if kind in ("standard", "minmax"):
            return True
        ranges, largest = self.ranges, np.maximum(self.high, -self.low)
        varies = ranges > 0
        tells = bool((largest <= _DIGITS * ranges)[varies].all())
        if kind != "none":
            return tells
        least = float(ranges[varies].min(initial=1.0))
        return tells and self.largest <= _SQUARED and least >= 1.0 / _SQUARED

    @property
    def largest(self) -> float:
        """The largest modulus."""
        return max(float(self.high.max()), -float(self.low.min()))

    def scaling(self, kind: ScalingKind) -> Scaling:
        """The scaling of that kind that is fitted on these rows.

        Raises
        ------
        InputError
            If it would turn zeros of sparse rows into numbers, or numbers are too large.
        """
        if kind == "none":
            return Scaling()
        if self.is_sparse:
            refuse_for_sparse(kind)
        # variances are of weights whose mean is 1: what all are multiplied by says nothing
        squares = self.squares * (self.n_rows / self.weight)
        return scaling_of(kind, self.low, self.high, self.mean, squares, self.n_rows)
