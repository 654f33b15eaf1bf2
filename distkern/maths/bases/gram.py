"""Sums Z' S Z over rows: products in the dtype of the values, summed in float64."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.core.tiles import apply, matmul, scratch
from distkern.core.types import Floats

#: rows of a product; with fewer, adding it to the matrix would take most of the time
GRAM_ROWS = 1024
#: columns of a product; at most half of them are computed twice at the diagonal
COLUMNS = 512


def column_blocks(start: int, stop: int) -> list[slice]:
    """Split the columns from ``start`` to ``stop`` - 1 into blocks that are multiplied at once."""
    return [slice(first, min(first + COLUMNS, stop)) for first in range(start, stop, COLUMNS)]


class GramSum:
    """Columns ``start`` to ``stop`` - 1 of Z' S Z, on and below the diagonal.

    Attributes
    ----------
    parts : for each of the :func:`column_blocks`, its columns below and on the diagonal block, (size - first,
        columns) float64
    """

    def __init__(self, size: int, start: int = 0, stop: int | None = None) -> None:
        self._columns = column_blocks(start, size if stop is None else stop)
        self.parts = tuple(np.zeros((size - own.start, own.stop - own.start)) for own in self._columns)

    def add(self, values: Floats, weights: NDArray[np.float64] | None = None) -> None:
        """Add rows (n_rows, size), ideally 1024 at a time, with weights (n_rows,) >= 0, or None for 1."""
        if weights is not None:
            (there,) = np.nonzero(weights)
            scaled: Floats = scratch("weighted rows", (len(there), values.shape[1]), values.dtype)
            roots = np.sqrt(weights[there]).astype(values.dtype)[:, None]
            if len(there) < len(values):
                # in one-vs-rest few rows may count
                values = apply(np.take, values, there, into=scaled, axis=0, mode="clip")
            values = apply(np.multiply, values, roots, into=scaled)
        for own, part in zip(self._columns, self.parts, strict=True):
            share: Floats = scratch("gram share", part.shape, values.dtype)
            # the same array on both sides: half the products
            width = own.stop - own.start
            matmul(values[:, own].T, values[:, own], into=share[:width])
            if len(share) > width:
                matmul(values[:, own.stop :].T, values[:, own], into=share[width:])
            part += share


def fill_columns(matrix: NDArray[np.float64], start: int, stop: int, parts: tuple[Floats, ...]) -> None:
    """Write some columns of a symmetric matrix (size, size) and the mirrored rows."""
    for own, part in zip(column_blocks(start, stop), parts, strict=True):
        matrix[own.start : own.start + len(part), own] = part
        matrix[own, own.start : own.start + len(part)] = part.T


class GatheredGram:
    """Z' S Z of tiles with few rows, which are gathered into larger products."""

    def __init__(self, size: int) -> None:
        self._size, self._sum, self._filled = size, GramSum(size), 0

    @staticmethod
    def bytes_of(size: int, itemsize: int) -> int:
        """Bytes of the sum, its gathered rows, the total, and the total in the dtype of the values."""
        return (16 + 2 * itemsize) * size**2 + GRAM_ROWS * size * itemsize

    def add(self, values: Floats, weights: Floats | None) -> None:
        """Add the rows of a tile (n_rows, size), at most 1024, with weights, or None for 1."""
        if self._filled + len(values) > GRAM_ROWS:
            self._flush(values.dtype)
        rows = self._rows(values.dtype)[self._filled : self._filled + len(values)]
        if weights is None:
            rows[...] = values
        else:
            apply(np.multiply, values, np.sqrt(weights).astype(values.dtype)[:, None], into=rows)
        self._filled += len(values)

    def total(self, dtype: np.dtype[np.floating]) -> NDArray[np.float64]:
        """The matrix (size, size) over tiles in ``dtype``."""
        self._flush(dtype)
        matrix = np.empty((self._size, self._size))
        fill_columns(matrix, 0, self._size, self._sum.parts)
        return matrix

    def _rows(self, dtype: np.dtype[np.floating]) -> Floats:
        return scratch("gram rows", (GRAM_ROWS, self._size), dtype)

    def _flush(self, dtype: np.dtype[np.floating]) -> None:
        if self._filled:
            self._sum.add(self._rows(dtype)[: self._filled])
            self._filled = 0
