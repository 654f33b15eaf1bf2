"""Compiled loops of the kernels that no matrix product gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from distkern.common.compiled import argument_types, compile_loop


def _city_block(features: Any, landmarks: Any, gamma: Any, out: Any) -> None:
    for i in range(features.shape[0]):
        for j in range(landmarks.shape[0]):
            total = gamma - gamma  # a zero of the right dtype
            for k in range(features.shape[1]):
                total += abs(features[i, k] - landmarks[j, k])
            out[i, j] = -gamma * total


def _cauchy_product(features: Any, landmarks: Any, gamma: Any, out: Any) -> None:
    one = gamma / gamma
    for i in range(features.shape[0]):
        for j in range(landmarks.shape[0]):
            product = one
            for k in range(features.shape[1]):
                difference = features[i, k] - landmarks[j, k]
                product *= one + gamma * difference * difference
            out[i, j] = one - product


def own(value: float, parameter: float) -> float:
    """Stands for the scores' own, which :func:`distkern.common.compiled.compile_loop` puts in its place."""
    raise NotImplementedError


def shared(row: float, landmark: float, parameter: float) -> float:
    """As :func:`own`."""
    raise NotImplementedError


def _sparse_sums(data, indices, indptr, values, members, starts, constants, parameter, scale, out):  # type: ignore[no-untyped-def]
    size = out.shape[1]
    sums = np.empty(size)
    for i in range(out.shape[0]):
        total = 0.0
        sums[:] = constants
        for entry in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[entry])
            column = indices[entry]
            total += own(value, parameter)
            for position in range(starts[column], starts[column + 1]):
                sums[members[position]] += shared(value, np.float64(values[position]), parameter)
        for j in range(size):
            out[i, j] = -scale * max(total + sums[j], 0.0)


@cache
def sparse_sums(
    dtype: np.dtype[Any], own: Callable[..., float], shared: Callable[..., float]
) -> Callable[..., None]:
    """out[i, j] = -scale max(0, sum of own over row i + constants[j] + sum of shared over common columns).

    The compiled function takes the rows' ``data``, ``indices``, ``indptr``, the landmarks column by column as
    ``values``, ``members`` (which landmark) and ``starts`` (n_features + 1), ``constants`` (r,), the
    parameter of own and shared, the scale, and ``out``. Sums are float64, in the order of the columns.
    """
    text = "x[:] i4[:] i8[:] x[:] i4[:] i4[:] f8[:] f8 f8 x[:, :]!"
    arguments = argument_types(text, x=dtype)
    return compile_loop(_sparse_sums, arguments, helpers={"own": own, "shared": shared}, exact=True)


@cache
def city_block(dtype: np.dtype[Any]) -> Callable[..., None]:
    """out[i, j] = -gamma sum_k |features[i, k] - landmarks[j, k]|, for arrays of this dtype."""
    return compile_loop(_city_block, argument_types("x[:, :] x[:, :] x x[:, :]!", x=dtype))


@cache
def cauchy_product(dtype: np.dtype[Any]) -> Callable[..., None]:
    """out[i, j] = 1 - prod_k (1 + gamma (features[i, k] - landmarks[j, k])^2), for arrays of this dtype."""
    return compile_loop(_cauchy_product, argument_types("x[:, :] x[:, :] x x[:, :]!", x=dtype))
