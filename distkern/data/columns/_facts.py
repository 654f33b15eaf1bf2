"""Facts of the values of a column: collected a few rows at a time, and merged in any order to the same
bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from distkern.core.held_out import stirred_bits

Array = NDArray[np.float64]

#: hashes kept per column of numbers; up to this many distinct values are counted exactly
_KEPT = 1024
#: most distinct values to keep: of any numbers, and of whole ones, which may be ids
MOST_VALUES, MOST_WHOLE = 4096, 32_768
#: bits of a part of :func:`in_parts`
_BITS = 26


def in_parts(values: Array, bound: float, n_parts: int | None = None) -> Iterator[tuple[Array, int]]:
    """Yield integers z_p and exponents e_p with sum_p z_p 2^e_p equal to the finite ``values``.

    The integers are at most 2^26, so sums of 2^27 of them do not depend on the order. ``bound`` bounds the
    values; with ``n_parts`` they are rounded to 2^(-26 n_parts) of the next power of 2.
    """
    exponent = math.frexp(bound)[1]
    while values.any() and n_parts != 0:
        exponent -= _BITS
        whole = np.rint(np.ldexp(values, -exponent))
        yield whole, exponent
        values = values - np.ldexp(whole, exponent)
        n_parts = None if n_parts is None else n_parts - 1


def extremes(rows: Array, signals: Array) -> Array:
    """Keep the rows for which one of ``signals`` (n, k) is smallest or largest."""
    kept: Array = rows[np.unique([signals.argmin(axis=0), signals.argmax(axis=0)])]
    return kept


class Distinct:
    """Counts distinct numbers by their smallest hashes, in bounded memory.

    Exact up to 1,024; beyond that k - 1 over the k-th smallest of hashes in [0, 1), with a standard error of
    1 / sqrt(k).
    """

    def __init__(self) -> None:
        self._smallest = np.zeros(0, dtype=np.uint64)

    def add(self, values: Array) -> None:
        """Add numbers (n,)."""
        self._keep(stirred_bits(values))

    def merge(self, other: Distinct) -> None:
        """Add the numbers of another count."""
        self._keep(other._smallest)

    def _keep(self, hashes: NDArray[np.uint64]) -> None:
        if len(self._smallest) == _KEPT:
            hashes = hashes[hashes < self._smallest[-1]]
        self._smallest = np.unique(np.concatenate([self._smallest, hashes]))[:_KEPT]

    @property
    def count(self) -> int:
        """The estimated number of distinct numbers."""
        if len(self._smallest) < _KEPT:
            return len(self._smallest)
        return round((_KEPT - 1) / (float(self._smallest[-1]) / 2.0**64))


class NumberFacts:
    """Facts of a column of numbers.

    Attributes
    ----------
    n_present : number of rows with a value
    total : their exact sum
    low, high : smallest and largest
    extremes : values for which each of ``signals`` (n, k) is smallest or largest; without signals ``low`` and
        ``high``
    are_whole : all are integers
    values : the distinct ones, sorted; None if there are more than 4,096, or 32,768 whole ones
    """

    def __init__(self, signals: Callable[[Array], Array | None] = lambda values: None) -> None:
        self._signals, self.extremes = signals, np.zeros(0)
        self.n_present, self.total = 0, Fraction(0)
        self.are_whole = True
        self.low, self.high = np.inf, -np.inf
        self.values: Array | None = np.zeros(0)
        self._distinct = Distinct()

    @property
    def distinct(self) -> int | None:
        """The number of distinct values, estimated beyond 1,024; None if they are not counted."""
        return self._distinct.count

    @property
    def mean(self) -> float:
        """The mean of the numbers, correctly rounded; 0 without numbers."""
        return float(self.total / max(self.n_present, 1))

    def add(self, values: Array) -> None:
        """Add the values (n,) of some rows; NaN is missing."""
        there = values[~np.isnan(values)]
        if not there.size:
            return
        self.n_present += there.size
        # a shortcut for columns with two values, which dominate wide tables
        is_high = there == self.high
        n_high = int(np.count_nonzero(is_high))
        if n_high + np.count_nonzero(there == self.low) * (self.low < self.high) == there.size:
            self.total += n_high * Fraction(self.high) + (there.size - n_high) * Fraction(self.low)
            return
        low, high = float(there.min()), float(there.max())
        for whole, exponent in in_parts(there, max(-low, high)):
            self.total += int(whole.sum()) * Fraction(2) ** exponent
        self.low, self.high = min(self.low, low), max(self.high, high)
        self.are_whole = self.are_whole and bool((there == np.floor(there)).all())
        self._distinct.add(there)
        if self.values is not None:
            self._keep(np.union1d(self.values, there))
        self._widen(there)

    def _widen(self, values: Array) -> None:
        if not len(values):
            return
        values = np.append(self.extremes, values)
        signals = self._signals(values)
        self.extremes = np.array([self.low, self.high]) if signals is None else extremes(values, signals)

    def merge(self, other: NumberFacts) -> None:
        """Add the rows of other facts."""
        self.n_present, self.total = self.n_present + other.n_present, self.total + other.total
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        self.are_whole = self.are_whole and other.are_whole
        self._widen(other.extremes)
        self._distinct.merge(other._distinct)
        if self.values is not None:
            self._keep(None if other.values is None else np.union1d(self.values, other.values))

    def _keep(self, values: Array | None) -> None:
        most = MOST_WHOLE if self.are_whole else MOST_VALUES
        self.values = values if values is not None and len(values) <= most else None
