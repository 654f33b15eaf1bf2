"""Compiled loops of the kernels that no matrix product gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from distkern.core.compiled import array_type, compile_loop


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


@cache
def city_block(dtype: np.dtype[Any]) -> Callable[..., None]:
    """out[i, j] = -gamma sum_k |features[i, k] - landmarks[j, k]|, for arrays of this dtype."""
    return compile_loop(_city_block, _arguments(dtype))


@cache
def cauchy_product(dtype: np.dtype[Any]) -> Callable[..., None]:
    """out[i, j] = 1 - prod_k (1 + gamma (features[i, k] - landmarks[j, k])^2), for arrays of this dtype."""
    return compile_loop(_cauchy_product, _arguments(dtype))


def _arguments(dtype: np.dtype[Any]) -> tuple[Any, ...]:
    rows = array_type(dtype, 2)
    return rows, rows, rows.dtype, array_type(dtype, 2, writable=True)
