"""Rows to hold out, and by how much one setting is better on them than another."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.rng import Purpose, stream


def stratified_order(codes: NDArray[Any] | None, n_rows: int, seed: int) -> NDArray[np.intp]:
    """A random order of rows in which every run of rows holds each class in about its share.

    Parameters
    ----------
    codes : (n_rows,) class codes; None: any random order
    """
    generator = stream(seed, Purpose.VALIDATION)
    order = generator.permutation(n_rows)
    if codes is None:
        return order
    keys = np.empty(n_rows)
    for code in np.unique(codes):
        mine = order[codes[order] == code]
        keys[mine] = (np.arange(len(mine)) + generator.random()) / len(mine)
    return np.argsort(keys, kind="stable")


def mean_difference(losses: NDArray[np.float64], others: NDArray[np.float64]) -> tuple[float, float]:
    """Mean of the differences between the losses of the same rows, and its standard error."""
    differences = losses - others
    return float(differences.mean()), float(differences.std() / np.sqrt(len(differences)))
