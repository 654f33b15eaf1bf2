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
