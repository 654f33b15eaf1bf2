"""Spread of the columns of some rows, and the scaling that it calls for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import Array, Floats
from distkern.data.scaling import Scaling, ScalingKind, refuse_for_sparse, scaling_of, widen_ranges

#: bytes of rows processed in float64 at a time
TILE_BYTES = 2**20
#: columns are in different units if the ranges of most, or of all, differ by more than these factors
UNEQUAL, UNEQUAL_AT_ALL = 30.0, 1000.0
_MOST = 0.1, 0.9
#: units are far from 1 if some number is larger than this, or all columns are narrower than its inverse
FAR = 100.0
#: for single precision: ratio of numbers to their range that leaves half of the digits; and the bound on
#: numbers, and on the inverse of ranges, for squares that neither overflow nor underflow
_DIGITS, _SQUARED = 2.0**12, 2.0**48


@dataclass(frozen=True)
class Spreads:
    """Range, mean and sum of squares of each column of some rows, including zeros of sparse rows.

    Attributes
    ----------
    n_rows, weight : number and weight of the rows
    low, high : (n_features,) minimum and maximum
    mean, squares : (n_features,) weighted mean and sum of squared differences from it; unused zeros for
        sparse rows
    is_sparse : the scaling must keep zeros
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
        """Return spreads of the columns of rows (n, n_features)."""
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
        # relative to the minimum, so that constant columns sum to exactly 0
        rows -= low
        above = factors @ rows / weight
        rows -= above
        rows *= rows
        return cls(len(rows), weight, low, high, low + above, factors @ rows, False)

    @staticmethod
    def add(first: Spreads, second: Spreads) -> Spreads:
        """Merge the spreads of two sets of rows (Chan, Golub and LeVeque 1979)."""
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
        """Maximum minus minimum (n_features,); for sparse rows the largest absolute value."""
        return np.maximum(self.high, -self.low) if self.is_sparse else self.high - self.low

    def chosen(self) -> ScalingKind:
        """Return the scaling that brings columns to about one unit; "none" if they are.

        "standard" if the range that nine in ten varying columns do not exceed is more than 30 times the one
        that nine in ten reach, or the widest range is more than 1,000 times the narrowest. Otherwise "minmax"
        if a number exceeds 100, no column is wider than 0.01, or one is farther from 0 than it is wide: it
        does not inflate columns that are mostly constant. For sparse rows "maxabs" in all these cases.
        """
        varies = self.ranges > 0
        ranges = self.ranges[varies]
        if not ranges.size:
            return "none"
        # "nearest" avoids rounding by interpolation
        few, most = np.quantile(ranges, _MOST, method="nearest")
        differ = most > UNEQUAL * few or ranges.max() > UNEQUAL_AT_ALL * ranges.min()
        away = np.maximum(self.low, -self.high)[varies] > ranges
        far = self.largest > FAR or ranges.max() < 1.0 / FAR or bool(away.any())
        if not (differ or far):
            return "none"
        return "maxabs" if self.is_sparse else "standard" if differ else "minmax"

    def suit_single(self, kind: ScalingKind) -> bool:
        """Whether single precision (24 bits) separates the rows after this scaling.

        It does not if an uncentred column has numbers more than 2^12 times its range, or if squares of
        unscaled numbers come near the limits of the format.
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
        """The largest absolute value."""
        return max(float(self.high.max()), -float(self.low.min()))

    def scaling(self, kind: ScalingKind) -> Scaling:
        """Return the scaling of the given kind fitted on these rows.

        Raises :class:`InputError` if it would change zeros of sparse rows, or numbers are too large.
        """
        if kind == "none":
            return Scaling()
        if self.is_sparse:
            refuse_for_sparse(kind)
        # normalise weights to mean 1, as a common factor has no meaning
        squares = self.squares * (self.n_rows / self.weight)
        return scaling_of(kind, self.low, self.high, self.mean, squares, self.n_rows)
