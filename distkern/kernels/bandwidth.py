"""Widths of a kernel from the data: the rules behind ``gamma="scale"`` and ``gamma="median"``."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError, unknown_name
from distkern.core.sparse import Rows, SparseRows
from distkern.kernels.base import AbstractKernel, AbstractScaledKernel

#: the rules that ``gamma`` may name
RULES = ("median", "scale")


def gamma_by_rule(rule: str, kernel: type[AbstractKernel], sample: Rows) -> float:
    """gamma for a sample of rows (n_sample, n_features).

    "scale": width^2 = n_features * variance of all entries, scikit-learn's rule, so gamma = 1 / (d var) for
    the Gaussian kernel. "median": width = sqrt(2) * median distance, the median trick of dsg.txt (Section 8),
    so gamma = 1 / (2 median^2). A rule may be followed by a divisor of the width: "median/4". Data without
    any spread get width 1.

    Raises
    ------
    InputError
        If there is no such rule, or the kernel has no gamma.
    """
    if not issubclass(kernel, AbstractScaledKernel):
        raise InputError(f"kernel {kernel.name} has no gamma", where="gamma", mend="leave gamma out")
    exact = sample.astype(np.float64)
    rule, divisor = parse_rule(rule)
    if rule == "scale":
        width = float(np.sqrt(exact.shape[1] * float(exact.var())))
    else:
        half = len(exact) // 2
        distances = _paired_distances(exact[: 2 * half : 2], exact[1 : 2 * half : 2])
        width = float(np.sqrt(2.0) * np.median(distances)) if half else 0.0
    return kernel.gamma_from_width((width if width > 0 else 1.0) / divisor, exact.shape[1])


def parse_rule(rule: str) -> tuple[str, float]:
    """The rule of :data:`RULES` and the divisor of ``"median/4"`` or the like, 1 if there is none.

    Raises
    ------
    InputError
        If there is no such rule, or the divisor is not a positive number.
    """
    name, slash, number = rule.partition("/")
    if name not in RULES:
        raise unknown_name("rule for gamma", name, RULES)
    try:
        divisor = float(number) if slash else 1.0
    except ValueError:
        divisor = math.nan
    if not (math.isfinite(divisor) and divisor > 0):
        raise InputError(f"{number!r} is not a positive number", where="gamma", mend="write 'median/4', say")
    return name, divisor


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
