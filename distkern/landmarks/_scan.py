"""The sequential scan of the online coverage, compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from distkern.core.compiled import array_type, compile_loop


def _scan(rows: Any, cores: Any, n_cores: int, order: Any, squared_radius: float, limit: int) -> int:
    for i in range(rows.shape[0]):
        found = -1
        for position in range(n_cores):
            number = order[position]
            total = 0.0
            for k in range(rows.shape[1]):
                difference = np.float64(rows[i, k]) - np.float64(cores[number, k])
                total += difference * difference
                if total > squared_radius:
                    break
            if total <= squared_radius:
                found = position
                break
        if found >= 0:
            number = order[found]
        else:
            if n_cores == limit:
                return limit + 1
            number = found = n_cores
            for k in range(rows.shape[1]):
                cores[number, k] = rows[i, k]
            n_cores += 1
        for later in range(found, 0, -1):
            order[later] = order[later - 1]
        order[0] = number
    return n_cores


def _sparse_scan(
    data: Any, indices: Any, indptr: Any, core_data: Any, core_indices: Any, core_indptr: Any, norms: Any,
    row: Any, n_cores: int, order: Any, squared_radius: float, limit: int,
) -> int:  # fmt: skip
    for i in range(len(indptr) - 1):
        norm = 0.0
        for entry in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[entry])
            row[indices[entry]] = value
            norm += value * value
        found = -1
        for position in range(n_cores):
            number = order[position]
            product = 0.0
            for entry in range(core_indptr[number], core_indptr[number + 1]):
                product += np.float64(core_data[entry]) * row[core_indices[entry]]
            if norm + norms[number] - 2.0 * product <= squared_radius:
                found = position
                break
        for entry in range(indptr[i], indptr[i + 1]):
            row[indices[entry]] = 0.0
        if found >= 0:
            number = order[found]
        else:
            if n_cores == limit:
                return limit + 1
            number = found = n_cores
            start = core_indptr[n_cores]
            for entry in range(indptr[i], indptr[i + 1]):
                core_data[start] = data[entry]
                core_indices[start] = indices[entry]
                start += 1
            norms[n_cores] = norm
            n_cores += 1
            core_indptr[n_cores] = start
        for later in range(found, 0, -1):
            order[later] = order[later - 1]
        order[0] = number
    return n_cores


@cache
def scan(dtype: np.dtype[Any]) -> Callable[..., int]:
    """The scan for rows of this dtype, a function of (rows, cores, n_cores, order, squared_radius, limit).

    It appends to ``cores`` every row farther than the radius from all cores so far (distances in float64,
    summed from the first feature to the last) and returns the new number of cores, at most ``limit`` + 1.
    ``order`` holds the cores' numbers, most recently useful first: a neighbour of the last row is tried
    first, which changes the time and not the result.
    """
    import numba

    arguments = (
        array_type(dtype, 2), array_type(dtype, 2, writable=True), numba.int64,
        array_type(np.int64, 1, writable=True), numba.float64, numba.int64,
    )  # fmt: skip
    return compile_loop(_scan, arguments, exact=True)


@cache
def sparse_scan(dtype: np.dtype[Any]) -> Callable[..., int]:
    """The scan for sparse rows of this dtype: a function of the rows' data, indices and indptr, of the cores'
    data, indices, indptr and squared norms, which it appends to, of ``row`` (n_features,), zeros, of n_cores,
    order, squared_radius and limit as for :func:`scan`.

    Distances are |x|^2 + |c|^2 - 2 x c, each a float64 sum in the order of the columns: exactly 0 for equal
    rows.
    """
    import numba

    numbers, columns, ends = (array_type(kind, 1) for kind in (dtype, np.int32, np.int64))
    exact, written = array_type(np.float64, 1, writable=True), array_type(np.int64, 1, writable=True)
    arguments = (
        numbers, columns, ends, array_type(dtype, 1, writable=True), array_type(np.int32, 1, writable=True),
        written, exact, exact, numba.int64, written, numba.float64, numba.int64,
    )  # fmt: skip
    return compile_loop(_sparse_scan, arguments, exact=True)
