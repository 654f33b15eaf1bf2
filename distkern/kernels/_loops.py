"""Compiled loops of the kernels that no matrix product gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from distkern.common.compiled import argument_types, compile_loop

#: landmarks that are compared with a row at once: with fewer, single precision waits for the additions before
_ACROSS = 128


def _pairs(features: Any, landmarks: Any, gamma: Any, out: Any) -> None:
    n_features = features.shape[1]
    n_fours = n_features // 4 * 4
    # column by column, so that sums of several landmarks grow side by side
    across = np.zeros((n_features, _ACROSS), features.dtype)
    values = np.empty(_ACROSS, features.dtype)
    for start in range(0, landmarks.shape[0], _ACROSS):
        n_landmarks = min(_ACROSS, landmarks.shape[0] - start)
        for j in range(n_landmarks):
            for k in range(n_features):
                across[k, j] = landmarks[start + j, k]
        for i in range(features.shape[0]):
            values[:] = begun(gamma)
            # four columns for each time that the sums are read and written
            for k in range(0, n_fours, 4):
                first, second = features[i, k], features[i, k + 1]
                third, fourth = features[i, k + 2], features[i, k + 3]
                for j in range(_ACROSS):
                    value = continued(values[j], first - across[k, j], gamma)
                    value = continued(value, second - across[k + 1, j], gamma)
                    value = continued(value, third - across[k + 2, j], gamma)
                    values[j] = continued(value, fourth - across[k + 3, j], gamma)
            for k in range(n_fours, n_features):
                value = features[i, k]
                for j in range(_ACROSS):
                    values[j] = continued(values[j], value - across[k, j], gamma)
            for j in range(n_landmarks):
                out[i, start + j] = ended(values[j], gamma)


def begun(gamma: Any) -> Any:
    """Before the first column; stands for a kernel's own, as the other two of these."""
    raise NotImplementedError


def continued(value: Any, difference: Any, gamma: Any) -> Any:
    """With one more column, in which a row and a landmark differ by so much."""
    raise NotImplementedError


def ended(value: Any, gamma: Any) -> Any:
    """After the last column."""
    raise NotImplementedError


def _zero(gamma: Any) -> Any:
    return gamma - gamma


def _plus_distance(value: Any, difference: Any, gamma: Any) -> Any:
    return value + abs(difference)


def _scaled_down(value: Any, gamma: Any) -> Any:
    return -gamma * value


def _one(gamma: Any) -> Any:
    return gamma / gamma


def _times_factor(value: Any, difference: Any, gamma: Any) -> Any:
    return value * (gamma / gamma + gamma * difference * difference)


def _from_one(value: Any, gamma: Any) -> Any:
    return gamma / gamma - value


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
    return _compiled(dtype, begun=_zero, continued=_plus_distance, ended=_scaled_down)


@cache
def cauchy_product(dtype: np.dtype[Any]) -> Callable[..., None]:
    """out[i, j] = 1 - prod_k (1 + gamma (features[i, k] - landmarks[j, k])^2), for arrays of this dtype."""
    return _compiled(dtype, begun=_one, continued=_times_factor, ended=_from_one)


def _compiled(dtype: np.dtype[Any], **helpers: Callable[..., Any]) -> Callable[..., None]:
    return compile_loop(_pairs, argument_types("x[:, :] x[:, :] x x[:, :]!", x=dtype), helpers=helpers)
