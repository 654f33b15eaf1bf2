"""Widths of a kernel from the data: the rules behind ``gamma="scale"`` and ``gamma="median"``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import unknown_name
from distkern.core.sparse import Rows, SparseRows
from distkern.kernels.base import AbstractKernel

#: the rules that ``gamma`` may name
RULES = ("median", "scale")


def gamma_by_rule(rule: str, kernel: type[AbstractKernel], sample: Rows) -> float:
    """gamma for a sample of rows (n_sample, n_features).

    "scale": width^2 = n_features * variance of all entries, scikit-learn's rule, so gamma = 1 / (d var) for
    the Gaussian kernel. "median": width = sqrt(2) * median distance, the median trick of dsg.txt (Section 8),
    so gamma = 1 / (2 median^2). Data without any spread get width 1.
    """
    exact = sample.astype(np.float64)
    if rule == "scale":
        width = float(np.sqrt(exact.shape[1] * float(exact.var())))
    elif rule == "median":
        half = len(exact) // 2
        distances = _paired_distances(exact[: 2 * half : 2], exact[1 : 2 * half : 2])
        width = float(np.sqrt(2.0) * np.median(distances)) if half else 0.0
    else:
        raise unknown_name("rule for gamma", rule, RULES)
    return kernel.gamma_from_width(width if width > 0 else 1.0, exact.shape[1])


def _paired_distances(left: Rows, right: Rows) -> NDArray[np.float64]:
    """|x_i - y_i| of each pair of rows."""
    if isinstance(left, SparseRows) and isinstance(right, SparseRows):
        both = np.concatenate([left.row_of_entries, right.row_of_entries])
        places = both * left.n_features + np.concatenate([left.indices, right.indices])
        _, first, inverse = np.unique(places, return_index=True, return_inverse=True)
        differences = np.bincount(inverse, np.concatenate([left.data, -right.data]))
        return np.asarray(np.sqrt(np.bincount(both[first], np.square(differences), minlength=len(left))))
    pairs = np.asarray(left) - np.asarray(right)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", pairs, pairs)))
