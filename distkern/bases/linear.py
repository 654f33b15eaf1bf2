"""The features themselves: the basis of linear models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.bases.base import AbstractBasis, multiply
from distkern.core.errors import InputError
from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import Floats

#: numbers of a dense strip and entries of a sparse one
_STRIP_NUMBERS = 2**17
_STRIP_ENTRIES = 2**14


class LinearBasis(AbstractBasis):
    """phi_k(x) = x_k.

    Parameters
    ----------
    n_features : d
    dtype : of the values
    """

    def __init__(self, n_features: int, dtype: DTypeLike = np.float32) -> None:
        self._size, self._dtype = int(n_features), np.dtype(dtype)

    @property
    def size(self) -> int:
        return self._size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def tile_rows(self) -> int:
        return min(max(_STRIP_NUMBERS // self._size, 8), 1024)

    def fill(self, features: Rows, values: Floats, nearest: NDArray[np.intp] | None = None) -> None:
        self._check(features)
        if isinstance(features, SparseRows):
            values[:] = 0
            values[features.row_of_entries, features.indices] = features.data
        else:
            np.copyto(values, features, casting="same_kind")
        if nearest is not None:
            np.argmax(values, axis=1, out=nearest)

    def combine(self, features: Rows, coefficients: Floats) -> Floats:
        """f = X coef, (n_rows, n_outputs) for coefficients (size, n_outputs).

        Sparse rows are never written out dense; their sums are float64, in the order of the columns.
        """
        self._check(features)
        values: Floats = np.empty((features.shape[0], coefficients.shape[1]), dtype=self.dtype)
        if isinstance(features, SparseRows):
            columns = np.ascontiguousarray(coefficients.T, dtype=np.float64)
            for rows in _strips(features):
                strip = features[rows]
                owners = strip.row_of_entries
                for output, column in enumerate(columns):
                    products = column[strip.indices] * strip.data
                    values[rows, output] = np.bincount(owners, products, minlength=len(strip))
            return values
        narrow = np.asarray(coefficients, dtype=self.dtype)
        for start in range(0, features.shape[0], self.tile_rows):
            rows = slice(start, start + self.tile_rows)
            multiply(features[rows].astype(self.dtype, copy=False), narrow, values[rows])
        return values

    def workspace_bytes(self, row_numbers: int) -> int:
        # a strip in the other precision; of a sparse one owners, columns of coefficients and products
        return self.tile_rows * row_numbers * self.dtype.itemsize + 32 * _STRIP_ENTRIES + 16 * row_numbers

    def _check(self, features: Rows) -> None:
        if features.shape[1] != self._size:
            raise InputError(
                f"X has {features.shape[1]} features, but the basis is of {self._size} features", where="X"
            )


def _strips(features: SparseRows) -> Iterator[slice]:
    """Runs of rows with about 2^14 entries together, at least one row."""
    start = 0
    while start < len(features):
        wanted = features.indptr[start] + _STRIP_ENTRIES
        stop = max(int(np.searchsorted(features.indptr, wanted, side="right")) - 1, start + 1)
        yield slice(start, stop)
        start = stop
