"""The sequential scan of the online coverage, compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from distkern.core.compiled import array_type, compile_loop


def _scan(rows: Any, landmarks: Any, n_landmarks: int, order: Any, squared_radius: float, limit: int) -> int:
    for i in range(rows.shape[0]):
        found = -1
        for position in range(n_landmarks):
            number = order[position]
            total = 0.0
            for k in range(rows.shape[1]):
                difference = np.float64(rows[i, k]) - np.float64(landmarks[number, k])
                total += difference * difference
                if total > squared_radius:
                    break
            if total <= squared_radius:
                found = position
                break
        if found >= 0:
            number = order[found]
        else:
            if n_landmarks == limit:
                return limit + 1
            number = found = n_landmarks
            for k in range(rows.shape[1]):
                landmarks[number, k] = rows[i, k]
            n_landmarks += 1
        for later in range(found, 0, -1):
            order[later] = order[later - 1]
        order[0] = number
    return n_landmarks


def _sparse_scan(
    data: Any, indices: Any, indptr: Any,
    landmark_data: Any, landmark_indices: Any, landmark_indptr: Any, norms: Any, row: Any,
    n_landmarks: int, order: Any, squared_radius: float, limit: int,
) -> int:  # fmt: skip
    for i in range(len(indptr) - 1):
        norm = 0.0
        for entry in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[entry])
            row[indices[entry]] = value
            norm += value * value
        found = -1
        for position in range(n_landmarks):
            number = order[position]
            product = 0.0
            for entry in range(landmark_indptr[number], landmark_indptr[number + 1]):
                product += np.float64(landmark_data[entry]) * row[landmark_indices[entry]]
            if norm + norms[number] - 2.0 * product <= squared_radius:
                found = position
                break
        for entry in range(indptr[i], indptr[i + 1]):
            row[indices[entry]] = 0.0
        if found >= 0:
            number = order[found]
        else:
            if n_landmarks == limit:
                return limit + 1
            number = found = n_landmarks
            start = landmark_indptr[n_landmarks]
            for entry in range(indptr[i], indptr[i + 1]):
                landmark_data[start] = data[entry]
                landmark_indices[start] = indices[entry]
                start += 1
            norms[n_landmarks] = norm
            n_landmarks += 1
            landmark_indptr[n_landmarks] = start
        for later in range(found, 0, -1):
            order[later] = order[later - 1]
        order[0] = number
    return n_landmarks


@cache
def scan(dtype: np.dtype[Any]) -> Callable[..., int]:
    """The scan for these rows, a function of rows, landmarks, n_landmarks, order, squared_radius and limit.

    It appends to ``landmarks`` every row farther than the radius from all of them so far (distances in
    float64, summed from the first feature to the last) and returns the new number of landmarks, at most
    ``limit`` + 1. ``order`` holds the landmarks' numbers, most recently useful first: a neighbour of the
    last row is tried first, which changes the time and not the result.
    """
    import numba

    arguments = (
        array_type(dtype, 2), array_type(dtype, 2, writable=True), numba.int64,
        array_type(np.int64, 1, writable=True), numba.float64, numba.int64,
    )  # fmt: skip
    return compile_loop(_scan, arguments, exact=True)


@cache
def sparse_scan(dtype: np.dtype[Any]) -> Callable[..., int]:
    """The scan for sparse rows of this dtype: a function of the rows' data, indices and indptr, of the
    landmarks' data, indices, indptr and squared norms, which it appends to, of ``row`` (n_features,), zeros,
    of n_landmarks, order, squared_radius and limit as for :func:`scan`.

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
