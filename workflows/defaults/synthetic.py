"""Rows whose difficulty is known: skewed columns with a noisy smooth target, and few rows of many columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: of the functions, which are the same for all seeds
_FUNCTION = 11
_SKEWED_COLUMNS, _NOISE = 16, 0.5
_SMALL_COLUMNS, _FACTORS = 20, 6


def skewed(n_rows: int, seed: int) -> tuple[Array, Array]:
    """Columns (n, 16), heavy-tailed in their own units, and targets that are smooth in their quantiles.

    The target is a sum of waves of single normal scores, of products of two and of three, and of noise, whose
    standard deviation is half of the sum's and grows with the first column. Four columns say nothing.
    """
    random, function = np.random.default_rng(seed), np.random.default_rng(_FUNCTION)
    # neighbours are correlated
    z = random.standard_normal((n_rows, _SKEWED_COLUMNS))
    z[:, 1:] = 0.9 * z[:, 1:] + np.sqrt(1 - 0.81) * z[:, :-1]
    told = z[:, : _SKEWED_COLUMNS - 4]
    y = np.zeros(n_rows)
    for size, count in ((1, 8), (2, 10), (3, 4)):
        for _ in range(count):
            columns = function.choice(told.shape[1], size, replace=False)
            waves = np.sin(told[:, columns] * function.uniform(0.5, 1.5, size) + function.uniform(0, 3, size))
            y += function.normal(0, 1.0) * waves.prod(axis=1)
    y /= y.std()
    y += _NOISE * np.exp(0.4 * z[:, 0]) * random.standard_normal(n_rows)
    units = 10.0 ** function.uniform(-2, 4, _SKEWED_COLUMNS)
    X = np.empty_like(z)
    X[:, ::4] = np.exp(1.5 * z[:, ::4])
    X[:, 1::4] = np.sinh(1.2 * z[:, 1::4])
    X[:, 2::4] = np.floor(np.exp(z[:, 2::4] + 1.0))
    X[:, 3::4] = z[:, 3::4]
    return X * units, y


def small(n_rows: int, seed: int) -> tuple[Array, Array]:
    """Columns (n, 20) that six factors correlate, and labels 0 and 1, a quarter of them 1.

    The logit is linear in three factors, with an interaction of two of them and the square of another.
    """
    random, function = np.random.default_rng(seed), np.random.default_rng(_FUNCTION)
    factors = random.standard_normal((n_rows, _FACTORS))
    loadings = function.standard_normal((_FACTORS, _SMALL_COLUMNS)) / np.sqrt(_FACTORS)
    X = factors @ loadings + 0.5 * random.standard_normal((n_rows, _SMALL_COLUMNS))
    logit = factors[:, :3] @ [1.2, -0.8, 0.6] + factors[:, 0] * factors[:, 1] - 0.7 * factors[:, 3] ** 2 - 1.1
    return X, (random.random(n_rows) < 1.0 / (1.0 + np.exp(-logit))).astype(int)
