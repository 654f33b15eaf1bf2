"""Points of the plane counted in cells: bounded memory, whatever their range and the order they come in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

#: cells in each direction, at most
MOST_CELLS = 64
#: of what is counted
GRID_BYTES = 8 * MOST_CELLS**2
#: the largest coordinate is at most 2 to the power of this times the side of a cell
_DIGITS = 40
#: of a side, where all coordinates are 0
_LEAST = -1100


@dataclass(frozen=True)
class Grid:
    """Points counted in cells [i 2^a, (i + 1) 2^a) x [j 2^b, (j + 1) 2^b).

    a and b are the smallest for which no more than 64 cells in each direction hold all points. So they
    depend on the smallest and the largest coordinates alone, and grids add up in any order to the same one.

    Attributes
    ----------
    exponents : a, b
    first : i and j of the first row and column
    counts : (rows, columns), none of points without any
    """

    exponents: tuple[int, int]
    first: tuple[int, int]
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, across: NDArray[np.float64], up: NDArray[np.float64]) -> Self:
        """The grid of points with coordinates (n,) and (n,); points that are not finite are left out."""
        known = np.isfinite(across) & np.isfinite(up)
        if not known.any():
            return cls((_LEAST, _LEAST), (0, 0), np.zeros((0, 0), dtype=np.int64))
        exponents, first, places = [], [], []
        for values in (across[known], up[known]):
            exponent = _exponent(float(values.min()), float(values.max()))
            cells = np.floor(np.ldexp(values, -exponent)).astype(np.int64)
            exponents.append(exponent)
            first.append(int(cells.min()))
            places.append(cells - first[-1])
        shape = int(places[0].max()) + 1, int(places[1].max()) + 1
        counts = np.bincount(np.ravel_multi_index((places[0], places[1]), shape), minlength=math.prod(shape))
        return cls((exponents[0], exponents[1]), (first[0], first[1]), counts.reshape(shape))

    @classmethod
    def add(cls, one: Self, other: Self) -> Self:
        """The grid of the points of both grids."""
        if not one.counts.size or not other.counts.size:
            return one if one.counts.size else other
        exponents, first, shape = [], [], []
        for axis in (0, 1):
            exponent = max(one.exponents[axis], other.exponents[axis])
            while True:
                ends = [grid._ends(axis, exponent) for grid in (one, other)]
                low, high = min(low for low, _ in ends), max(high for _, high in ends)
                if high - low < MOST_CELLS:
                    break
                exponent += 1
            exponents.append(exponent)
            first.append(low)
            shape.append(high - low + 1)
        counts = np.zeros(shape, dtype=np.int64)
        for grid in (one, other):
            places = [grid._cells(axis, exponents[axis]) - first[axis] for axis in (0, 1)]
            np.add.at(counts, np.ix_(*places), grid.counts)
        return cls((exponents[0], exponents[1]), (first[0], first[1]), counts)

    def _ends(self, axis: int, exponent: int) -> tuple[int, int]:
        """The first and the last cell, were they of this size."""
        shift = exponent - self.exponents[axis]
        return self.first[axis] >> shift, (self.first[axis] + self.counts.shape[axis] - 1) >> shift

    def _cells(self, axis: int, exponent: int) -> NDArray[np.int64]:
        cells = self.first[axis] + np.arange(self.counts.shape[axis], dtype=np.int64)
        return cells >> min(exponent - self.exponents[axis], 63)

    def edges(self, axis: int) -> NDArray[np.float64]:
        """Where the cells of a direction begin, and the last one ends."""
        cells = self.first[axis] + np.arange(self.counts.shape[axis] + 1)
        return np.ldexp(cells.astype(np.float64), self.exponents[axis])


def _exponent(low: float, high: float) -> int:
    """The smallest exponent of a side by which at most 64 cells hold all between two numbers."""
    largest = max(abs(low), abs(high))
    exponent = _LEAST if largest == 0 else math.frexp(largest)[1] - _DIGITS
    if high > low:
        # one less than the range alone asks for, as far as the halves of the largest double go
        exponent = max(exponent, math.frexp(high / MOST_CELLS - low / MOST_CELLS)[1] - 1)
    while _cell(high, exponent) - _cell(low, exponent) >= MOST_CELLS:
        exponent += 1
    return exponent


def _cell(value: float, exponent: int) -> int:
    return math.floor(math.ldexp(value, -exponent))
