"""A linear trend of real targets, around which kernel machines learn the rest (universal kriging).

The machines of small cells say nothing about directions in which a cell is narrow, and far from their rows
they predict a constant. A trend over all rows says both (Cressie 1993, section 3.4, estimates both
together; here the trend comes first).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.core.ridge import raised_factor
from distkern.core.tiles import apply
from distkern.core.types import Array, Floats

#: weight of the squared slopes of standardised columns against the sum of the squared errors
_RIDGE = 1.0
#: share of a column's mean square up to which its variance is rounding
_ROUNDING = 1e-12
#: numbers of which a trend is computed at a time
_TILE = 2**17
#: share of a column's range by which the trend goes on beyond its ends
_BEYOND = 0.25


@dataclass(frozen=True)
class TrendSums:
    """Weighted moments of rows and their targets, and the ranges of the columns, inf and -inf without rows.

    Attributes
    ----------
    weight : sum of w
    means : (d + 1,) of the columns, then of the targets
    products : (d + 1, d + 1) sum of w (z - means)(z - means)', z = (x, y)
    low, high : (d,)
    """

    weight: float
    means: Array
    products: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, rows: Floats, targets: Array, weights: Array) -> TrendSums:
        """Return the sums of rows (n, d) with targets (n,) and weights (n,), of which some are positive."""
        known = weights > 0
        values = np.column_stack([rows, targets]).astype(np.float64)[known]
        weights, weight = weights[known], float(weights.sum())
        means = weights @ values / (weight or 1.0)
        apart = (values - means) * np.sqrt(weights)[:, None]
        columns = values[:, :-1]
        low, high = columns.min(axis=0, initial=np.inf), columns.max(axis=0, initial=-np.inf)
        return cls(weight, means, apart.T @ apart, low, high)

    @staticmethod
    def add(first: TrendSums, second: TrendSums) -> TrendSums:
        """Return the sums over the rows of both (Chan et al. 1979)."""
        if not (first.weight and second.weight):
            return first if first.weight else second
        weight, apart = first.weight + second.weight, second.means - first.means
        share = second.weight / weight
        return TrendSums(
            weight,
            first.means + share * apart,
            first.products + second.products + first.weight * share * np.outer(apart, apart),
            np.minimum(first.low, second.low),
            np.maximum(first.high, second.high),
        )


@dataclass(frozen=True)
class LinearTrend:
    """t(x) = slopes' (clip(x, low, high) - means), which is 0 on average over the training rows.

    Attributes
    ----------
    slopes, means : (d,); targets are in their own unit
    low, high : (d,) a quarter of a column's range beyond its ends in the training rows
    """

    slopes: Array
    means: Array
    low: Array
    high: Array

    @classmethod
    def fit(cls, sums: TrendSums) -> LinearTrend:
        """Return the trend that minimises sum_i w_i (y_i - mean - t(x_i))^2 + |v|^2.

        v are the slopes along standardised columns in units of the targets' standard deviation. A column that
        is constant has slope 0.
        """
        spreads = np.sqrt(np.maximum(np.diag(sums.products) / sums.weight, 0.0))
        spreads[spreads**2 <= _ROUNDING * sums.means**2] = 0.0
        factors = apply(np.divide, 1.0, spreads, into=np.zeros(len(spreads)), where=spreads > 0)
        scaled = sums.products * factors * factors[:, None]
        from scipy.linalg import cho_solve

        factor = raised_factor(np.asfortranarray(scaled[:-1, :-1]), _RIDGE)
        slopes = cho_solve(factor, scaled[:-1, -1], check_finite=False) * factors[:-1] * spreads[-1]
        beyond = _BEYOND * (sums.high - sums.low)
        return cls(slopes, sums.means[:-1], sums.low - beyond, sums.high + beyond)

    @classmethod
    def of(cls, rows: Floats, targets: Array, weights: Array) -> LinearTrend:
        """Return the trend of rows (n, d) with targets (n,) and weights (n,)."""
        return cls.fit(TrendSums.of(rows, targets, weights))

    def at(self, rows: Floats) -> Array:
        """Return t (n,) at rows (n, d), computed in float64, some rows at a time."""
        found: Array = np.empty(len(rows))
        step = max(1, _TILE // max(rows.shape[1], 1))
        for start in range(0, len(rows), step):
            within = np.clip(rows[start : start + step].astype(np.float64), self.low, self.high)
            found[start : start + step] = (within - self.means) @ self.slopes
        return found

    def to_array(self) -> Array:
        """Return an array (4, d), the rows of which are the arguments of the class."""
        return np.stack([self.slopes, self.means, self.low, self.high])
