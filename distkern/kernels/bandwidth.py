"""Widths of a kernel from the data: the rules behind ``gamma="scale"`` and ``gamma="median"``."""

from __future__ import annotations

import numpy as np

from distkern.core.errors import unknown_name
from distkern.core.types import Floats
from distkern.kernels.base import AbstractKernel

#: the rules that ``gamma`` may name
RULES = ("median", "scale")


def gamma_by_rule(rule: str, kernel: type[AbstractKernel], sample: Floats) -> float:
    """gamma for a sample of rows (n_sample, n_features).

    "scale": width^2 = n_features * variance of all entries, scikit-learn's rule, so gamma = 1 / (d var) for
    the Gaussian kernel. "median": width = sqrt(2) * median distance, the median trick of dsg.txt (Section 8),
    so gamma = 1 / (2 median^2). Data without any spread get width 1.
    """
    exact = sample.astype(np.float64)
    if rule == "scale":
        width = float(np.sqrt(exact.shape[1] * exact.var()))
    elif rule == "median":
        half = len(exact) // 2
        pairs = exact[: 2 * half : 2] - exact[1 : 2 * half : 2]
        distances = np.sqrt(np.einsum("ij,ij->i", pairs, pairs))
        width = float(np.sqrt(2.0) * np.median(distances)) if half else 0.0
    else:
        raise unknown_name("rule for gamma", rule, RULES)
    return kernel.gamma_from_width(width if width > 0 else 1.0, exact.shape[1])
