"""The features themselves: the basis of linear models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.compiled import argument_types, compile_loop
from distkern.core.errors import InputError
from distkern.core.sparse import Rows, SparseRows, with_ones, write_dense
from distkern.core.tiles import aligned, scratch
from distkern.core.types import AbstractGroup, Floats
from distkern.maths.bases.base import AbstractBasis, SlopesAt, Tile, add_transposed, multiply

#: numbers of a dense strip and entries of a sparse one
_STRIP_NUMBERS = 2**17
_STRIP_ENTRIES = 2**14
#: rows of a tile of some columns
COLUMN_ROWS = 1024


class LinearBasis(AbstractBasis):
    """phi_k(x) = x_k, optionally with a constant function 1.

    Parameters
    ----------
    n_features : d
    dtype : of the values
    constant : add the function 1; its coefficient is an intercept, which no norm counts
    exact : compute combinations and squares in float64 in the order of the columns, by compiled loops, with
        the same bits for dense and sparse rows
    """

    def __init__(
        self, n_features: int, dtype: DTypeLike = np.float32, *, constant: bool = False, exact: bool = False
    ) -> None:
        self._n_features, self._dtype = int(n_features), np.dtype(dtype)
        self.constant, self.exact = constant, exact
        self.n_constant = int(constant)

    @property
    def size(self) -> int:
        return self._n_features + self.constant

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def tile_rows(self) -> int:
        return min(max(_STRIP_NUMBERS // self._n_features, 8), 1024)

    def fill(self, features: Rows, values: Floats) -> None:
        self._check(features)
        write_dense(features, values[:, : self._n_features])
        values[:, self._n_features :] = 1

    def values(self, features: Rows) -> Rows:
        self._check(features)
        own = features if features.dtype == self.dtype else features.astype(self.dtype)
        return with_ones(own) if self.constant else own

    def combine(self, features: Rows, coefficients: Floats) -> Floats:
        """f = Phi coef, (n_rows, n_outputs) for coefficients (size, n_outputs).

        Sparse rows are never made dense; their sums are float64, in the order of the columns.
        """
        self._check(features)
        own = coefficients[: self._n_features]
        if self.exact:
            exact = exact_products(features, np.asarray(own, dtype=np.float64))
            return exact + coefficients[-1] if self.constant else exact
        values: Floats = np.empty((features.shape[0], coefficients.shape[1]), dtype=self.dtype)
        if isinstance(features, SparseRows):
            columns = np.ascontiguousarray(own.T, dtype=np.float64)
            for rows in self._strips(features):
                strip = features[rows]
                owners = strip.row_of_entries
                for output, column in enumerate(columns):
                    products = column[strip.indices] * strip.data
                    values[rows, output] = np.bincount(owners, products, minlength=len(strip))
        else:
            narrow = np.asarray(own, dtype=self.dtype)
            for rows in self._strips(features):
                multiply(features[rows].astype(self.dtype, copy=False), narrow, values[rows])
        if self.constant:
            values += coefficients[-1].astype(self.dtype)
        return values

    def gradient(
        self, features: Rows, coefficients: Floats, slopes: SlopesAt, n_slopes: int | None = None
    ) -> NDArray[np.float64]:
        self._check(features)
        total = np.zeros((self.size, n_slopes or coefficients.shape[1]))
        # the sums of a strip have the size of the basis
        for rows in self._strips(features, max(_STRIP_ENTRIES, 4 * self.size)):
            strip = features[rows]
            if not isinstance(strip, SparseRows):
                strip = strip.astype(self.dtype, copy=False)
            found = self.combine(strip, coefficients) if len(coefficients) else np.empty(0, self.dtype)
            own = np.asarray(slopes(rows, found), dtype=self.dtype)
            add_transposed(strip, own, total[: self._n_features])
            if self.constant:
                total[-1] += own.sum(axis=0, dtype=np.float64)
        return total

    def column_tiles(self, features: Rows, runs: Sequence[slice]) -> Iterator[tuple[int, Tile]]:
        self._check(features)
        for number, run in enumerate(runs):
            own = slice(run.start, min(run.stop, self._n_features))
            for start in range(0, features.shape[0], COLUMN_ROWS):
                strip = features[start : start + COLUMN_ROWS]
                values: Floats = scratch("linear columns", (strip.shape[0], run.stop - run.start), self.dtype)
                if isinstance(strip, SparseRows):
                    values[...] = 0
                    (inside,) = np.nonzero((strip.indices >= own.start) & (strip.indices < own.stop))
                    places = strip.row_of_entries[inside], strip.indices[inside] - own.start
                    values[places] = strip.data[inside]
                else:
                    values[:, : own.stop - own.start] = strip[:, own]
                if run.stop > self._n_features:
                    values[:, -1] = 1
                yield number, Tile(slice(start, start + len(values)), values)

    def row_squares(self, features: Rows) -> NDArray[np.float64]:
        if self.exact:
            squares = exact_squares(features)
        elif isinstance(features, SparseRows):
            squares = np.square(features.norms())
        else:
            squares = np.einsum("ij,ij->i", features, features, dtype=np.float64)
        return np.asarray(squares + self.constant)

    def norm_squares(self, features: Rows) -> NDArray[np.float64]:
        return self.row_squares(features) - self.n_constant

    def squared_norms(self, coefficients: Floats, *, exact: bool = True) -> NDArray[np.float64]:
        return super().squared_norms(coefficients[: self._n_features], exact=exact)

    def metric_product(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        found = coefficients.copy()
        found[self._n_features :] = 0.0
        return found

    def add_metric(self, matrices: Sequence[NDArray[np.float64]], weight: float) -> None:
        own = np.arange(self._n_features)
        for matrix in matrices:
            matrix[own, own] += weight

    def column_squares(self, features: Rows) -> NDArray[np.float64]:
        """The sum of squares of each function over the rows, (size,)."""
        if isinstance(features, SparseRows):
            squares = np.square(features.data, dtype=np.float64)
            found = np.bincount(features.indices, squares, minlength=self._n_features)
        else:
            found = np.einsum("ij,ij->j", features, features, dtype=np.float64)
        return np.asarray(np.append(found, float(features.shape[0])) if self.constant else found)

    def over(self, group: AbstractGroup) -> AbstractGroup:
        return group

    @property
    def is_compiled(self) -> bool:
        return self.exact

    def workspace_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        # a strip in the other precision; for sparse rows, owners, columns of coefficients and products
        return (
            (n_rows or self.tile_rows) * row_numbers * self.dtype.itemsize
            + 32 * _STRIP_ENTRIES
            + 16 * row_numbers
        )

    def _check(self, features: Rows) -> None:
        if features.shape[1] != self._n_features:
            raise InputError(
                f"X has {features.shape[1]} features, but the basis has {self._n_features}", where="X"
            )

    def _strips(self, features: Rows, entries: int = _STRIP_ENTRIES) -> Iterator[slice]:
        """Strips of rows for products: tiles of dense rows, or sparse rows with about equal entries."""
        start = 0
        while start < features.shape[0]:
            stop = start + self.tile_rows
            if isinstance(features, SparseRows):
                wanted = features.indptr[start] + entries
                stop = max(int(np.searchsorted(features.indptr, wanted, side="right")) - 1, start + 1)
            yield slice(start, min(stop, features.shape[0]))
            start = stop


def _dense_products(rows, coefficients, values):  # type: ignore[no-untyped-def]
    # four rows at once, since each sum waits for its last addition
    whole = rows.shape[0] // 4 * 4
    for lane in range(values.shape[1]):
        own = coefficients[lane]
        for row in range(0, whole, 4):
            first, second, third, fourth = rows[row], rows[row + 1], rows[row + 2], rows[row + 3]
            a = b = c = d = 0.0
            for column in range(rows.shape[1]):
                a += first[column] * own[column]
                b += second[column] * own[column]
                c += third[column] * own[column]
                d += fourth[column] * own[column]
            values[row, lane] = a
            values[row + 1, lane] = b
            values[row + 2, lane] = c
            values[row + 3, lane] = d
        for row in range(whole, rows.shape[0]):
            a = 0.0
            for column in range(rows.shape[1]):
                a += rows[row, column] * own[column]
            values[row, lane] = a


def _sparse_products(data, indices, indptr, coefficients, values):  # type: ignore[no-untyped-def]
    for row in range(values.shape[0]):
        for lane in range(values.shape[1]):
            own = coefficients[lane]
            total = 0.0
            for entry in range(indptr[row], indptr[row + 1]):
                total += data[entry] * own[indices[entry]]
            values[row, lane] = total


def _squares(data, indptr, squares):  # type: ignore[no-untyped-def]
    for row in range(squares.shape[0]):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            total += np.float64(data[entry]) * np.float64(data[entry])
        squares[row] = total


def exact_products(rows: Rows, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    """X coef, (n_rows, n_lanes), with sums in the order of the columns."""
    values = np.empty((rows.shape[0], coefficients.shape[1]))
    if isinstance(rows, SparseRows):
        arrays = aligned(rows.data, rows.indices, rows.indptr, coefficients.T)
        _loop("sparse products", rows.dtype)(*arrays, values)
    else:
        _loop("dense products", rows.dtype)(*aligned(rows, coefficients.T), values)
    return values


def exact_squares(rows: Rows) -> NDArray[np.float64]:
    """Squared norms (n_rows,), summed in the order of the columns."""
    found = np.empty(rows.shape[0])
    if isinstance(rows, SparseRows):
        data, indptr = aligned(rows.data, rows.indptr)
    else:
        (dense,) = aligned(rows)
        data, indptr = dense.reshape(-1), np.arange(len(rows) + 1) * rows.shape[1]
    _loop("squares", data.dtype)(data, indptr, found)
    return found


@cache
def _loop(name: str, dtype: np.dtype[Any]) -> Callable[..., None]:
    loops: dict[str, tuple[Callable[..., None], str]] = {
        "dense products": (_dense_products, "x[:, :] f8[:, :] f8[:, :]!"),
        "sparse products": (_sparse_products, "x[:] i4[:] i8[:] f8[:, :] f8[:, :]!"),
        "squares": (_squares, "x[:] i8[:] f8[:]!"),
    }
    function, text = loops[name]
    return compile_loop(function, argument_types(text, x=dtype), exact=True)
