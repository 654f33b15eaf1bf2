"""Products and squares of rows as they are, dense and sparse ones with the same bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.compiled import aligned, argument_types, compile_loop
from distkern.common.sparse import Rows, SparseRows


def _dense_products(rows, coefficients, values):  # type: ignore[no-untyped-def]
    # four rows at once, because each of their sums waits for its last addition
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
    """X coef, (n_rows, n_lanes), every number added up in the order of the columns."""
    values = np.empty((rows.shape[0], coefficients.shape[1]))
    if isinstance(rows, SparseRows):
        arrays = aligned(rows.data, rows.indices, rows.indptr, coefficients.T)
        _loop("sparse products", rows.dtype)(*arrays, values)
    else:
        _loop("dense products", rows.dtype)(*aligned(rows, coefficients.T), values)
    return values


def exact_squares(rows: Rows) -> NDArray[np.float64]:
    """(n_rows,) squared norms, added up in the order of the columns."""
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
