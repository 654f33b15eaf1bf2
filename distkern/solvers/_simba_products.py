"""Products and squares of rows as they are, dense and sparse ones with the same bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.compiled import array_type, compile_loop
from distkern.core.sparse import Rows, SparseRows


def _dense_products(rows, coefficients, values):  # type: ignore[no-untyped-def]
    for row in range(rows.shape[0]):
        for column in range(rows.shape[1]):
            number = rows[row, column]
            for lane in range(values.shape[1]):
                values[row, lane] += number * coefficients[column, lane]


def _sparse_products(data, indices, indptr, coefficients, values):  # type: ignore[no-untyped-def]
    for row in range(values.shape[0]):
        for entry in range(indptr[row], indptr[row + 1]):
            number = data[entry]
            for lane in range(values.shape[1]):
                values[row, lane] += number * coefficients[indices[entry], lane]


def _dense_squares(rows, squares):  # type: ignore[no-untyped-def]
    for row in range(rows.shape[0]):
        total = 0.0
        for column in range(rows.shape[1]):
            total += np.float64(rows[row, column]) * np.float64(rows[row, column])
        squares[row] = total


def _sparse_squares(data, indptr, squares):  # type: ignore[no-untyped-def]
    for row in range(squares.shape[0]):
        total = 0.0
        for entry in range(indptr[row], indptr[row + 1]):
            total += np.float64(data[entry]) * np.float64(data[entry])
        squares[row] = total


def products(rows: Rows, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
    """X coef, (n_rows, n_lanes), every number added up in the order of the columns."""
    values = np.zeros((rows.shape[0], coefficients.shape[1]))
    if isinstance(rows, SparseRows):
        _loop("sparse products", rows.data.dtype)(
            *_parts(rows), np.ascontiguousarray(coefficients), values
        )  # fmt: skip
    else:
        dense = np.ascontiguousarray(rows)
        _loop("dense products", dense.dtype)(dense, np.ascontiguousarray(coefficients), values)
    return values


def squares(rows: Rows) -> NDArray[np.float64]:
    """(n_rows,) squared norms, added up in the order of the columns."""
    found = np.empty(rows.shape[0])
    if isinstance(rows, SparseRows):
        data, _, indptr = _parts(rows)
        _loop("sparse squares", data.dtype)(data, indptr, found)
    else:
        dense = np.ascontiguousarray(rows)
        _loop("dense squares", dense.dtype)(dense, found)
    return found


def _parts(rows: SparseRows) -> tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int64]]:
    return (
        np.ascontiguousarray(rows.data), np.ascontiguousarray(rows.indices, dtype=np.int32),
        np.ascontiguousarray(rows.indptr, dtype=np.int64),
    )  # fmt: skip


@cache
def _loop(name: str, dtype: np.dtype[Any]) -> Callable[..., None]:
    data, indices, indptr = array_type(dtype, 1), array_type(np.int32, 1), array_type(np.int64, 1)
    rows, coefficients = array_type(dtype, 2), array_type(np.float64, 2)
    values, found = (array_type(np.float64, n, writable=True) for n in (2, 1))
    loops: dict[str, tuple[Callable[..., None], tuple[Any, ...]]] = {
        "dense products": (_dense_products, (rows, coefficients, values)),
        "sparse products": (_sparse_products, (data, indices, indptr, coefficients, values)),
        "dense squares": (_dense_squares, (rows, found)),
        "sparse squares": (_sparse_squares, (data, indptr, found)),
    }
    function, arguments = loops[name]
    return compile_loop(function, arguments, exact=True)
