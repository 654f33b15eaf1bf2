"""Kernel widths from the data: the rules ``gamma="scale"`` and ``gamma="median"``."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError, unknown_name
from distkern.core.rng import Purpose, stream
from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import Array
from distkern.maths.kernels.base import AbstractKernel, AbstractScaledKernel

#: rules for ``gamma``
RULES = ("median", "scale")

#: number, mean and sum of squared differences from the mean, (3,)
Moments: TypeAlias = Array

#: entries converted to float64 at a time
STRIP_ENTRIES = 2**17
#: rows up to which all pairs are used
_ALL_PAIRS_ROWS = 64


def gamma_by_rule(rule: str, kernel: type[AbstractKernel], sample: Rows) -> float:
    """Return gamma for a sample of rows (n_sample, n_features) in any order, see :func:`gamma_from_width`.

    Raises
    ------
    InputError
        If the rule is unknown, or the kernel has no gamma.
    """
    name, _ = parse_rule(rule)
    width = median_width(sample) if name == "median" else scale_width(moments(sample), sample.shape[1])
    return gamma_from_width(rule, kernel, width, sample.shape[1])


def gamma_from_width(rule: str, kernel: type[AbstractKernel], width: float, n_features: int) -> float:
    """Return the gamma of a kernel for a width computed by a rule.

    "scale": width^2 = n_features * variance of all entries, scikit-learn's rule, so gamma = 1 / (d var) for
    the Gaussian kernel. "median": width = sqrt(2) * median distance, as in Dai et al. 2014, Section 8, so
    gamma = 1 / (2 median^2). A rule may be followed by a divisor of the width: "median/4". Data without
    spread get width 1.

    Raises
    ------
    InputError
        If the rule is unknown, the kernel has no gamma, or the width is not finite.
    """
    if not issubclass(kernel, AbstractScaledKernel):
        raise InputError(f"kernel {kernel.name} has no gamma", where="gamma", hint="leave gamma out")
    _, divisor = parse_rule(rule)
    if not math.isfinite(width):
        raise InputError("the spread of the features overflows", where="X", hint="scale the features")
    return kernel.gamma_from_width((width if width > 0 else 1.0) / divisor, n_features)


def width_from_gamma(kernel: type[AbstractScaledKernel], gamma: float, n_features: int) -> float:
    """Return the width of a gamma; the two are related by a power law.

    >>> from distkern.maths.kernels.euclidean import Gaussian
    >>> width_from_gamma(Gaussian, 4.0, 10)
    0.5
    """
    at_1, at_2 = (kernel.gamma_from_width(width, n_features) for width in (1.0, 2.0))
    return float((at_1 / gamma) ** (1.0 / math.log2(at_1 / at_2)))


def moments(rows: Rows, weights: NDArray[Any] | None = None) -> Moments:
    """Return the number, mean and sum of squared deviations of all entries of (weighted) rows, (3,)."""
    row_entries = rows.n_entries / max(len(rows), 1) if isinstance(rows, SparseRows) else rows.shape[1]
    n_strip = max(1, int(STRIP_ENTRIES // max(row_entries, 1)))
    total: Moments = np.zeros(3)
    for start in range(0, len(rows), n_strip):
        part = slice(start, start + n_strip)
        total = merged_moments(total, _moments(rows[part], None if weights is None else weights[part]))
    return total


def _moments(rows: Rows, weights: NDArray[Any] | None) -> Moments:
    factors = np.ones(len(rows)) if weights is None else np.asarray(weights, dtype=np.float64)
    count, n_features = float(factors.sum()), rows.shape[1]
    if count * n_features == 0:
        return np.zeros(3)
    if isinstance(rows, SparseRows):
        values, factors = rows.data.astype(np.float64), factors[rows.row_of_entries]
        mean = float(factors @ values) / (count * n_features)
        zeros = count * n_features - factors.sum()
        return np.array([count * n_features, mean, factors @ np.square(values - mean) + zeros * mean**2])
    # relative to one entry, so that equal entries have a sum of exactly 0
    exact = rows.astype(np.float64)
    pivot = exact[0, 0]
    exact -= pivot
    shift = float(factors @ exact.sum(axis=1)) / (count * n_features)
    exact -= shift
    return np.array([count * n_features, pivot + shift, factors @ np.einsum("ij,ij->i", exact, exact)])


def merged_moments(first: Moments, second: Moments) -> Moments:
    """Merge the moments of two sets of entries (Chan, Golub and LeVeque 1979)."""
    count = first[0] + second[0]
    if count == 0:
        return first
    step = (second[1] - first[1]) * (second[0] / count)
    mean = first[1] + step
    return np.array([count, mean, first[2] + second[2] + step * (second[1] - first[1]) * first[0]])


def scale_width(moments: Moments, n_features: int) -> float:
    """Return sqrt(n_features * variance) for the moments of the entries."""
    return float(np.sqrt(n_features * (moments[2] / moments[0]))) if moments[0] else 0.0


def median_width(sample: Rows) -> float:
    """Return sqrt(2) * median distance of random pairs of rows, or of all pairs of up to 64 rows.

    If the median is 0, use the median of the nonzero distances.
    """
    n_rows = len(sample)
    if n_rows <= _ALL_PAIRS_ROWS:
        left, right = np.triu_indices(n_rows, 1)
    else:
        # neighbours in a sorted sample are closer than random pairs
        order = stream(0, Purpose.SAMPLE).permutation(n_rows)
        left, right = order[: n_rows // 2], order[n_rows // 2 : n_rows // 2 * 2]
    n_strip = max(1, STRIP_ENTRIES // max(sample.shape[1], 1))
    parts = [np.empty(0)]
    for start in range(0, len(left), n_strip):
        part = slice(start, start + n_strip)
        pair = (sample[rows[part]].astype(np.float64) for rows in (left, right))
        parts.append(_paired_distances(*pair))
    distances = np.concatenate(parts)
    if not distances.any():
        return 0.0
    return math.sqrt(2.0) * float(np.median(distances) or np.median(distances[distances > 0]))


def parse_rule(rule: str) -> tuple[str, float]:
    """Split a rule such as ``"median/4"`` into its name in :data:`RULES` and divisor, 1 if there is none.

    Raises
    ------
    InputError
        If the rule is unknown, or the divisor is not a positive number.
    """
    name, slash, number = rule.partition("/")
    if name not in RULES:
        raise unknown_name("rule for gamma", name, RULES)
    try:
        divisor = float(number) if slash else 1.0
    except ValueError:
        divisor = math.nan
    if not (math.isfinite(divisor) and divisor > 0):
        raise InputError(f"{number!r} is not a positive number", where="gamma", hint="try 'median/4'")
    return name, divisor


def _paired_distances(left: Rows, right: Rows) -> Array:
    """Return |x_i - y_i| for each pair of rows."""
    if isinstance(left, SparseRows) and isinstance(right, SparseRows):
        rows = np.concatenate([left.row_of_entries, right.row_of_entries])
        places = rows * left.n_features + np.concatenate([left.indices, right.indices])
        _, first, inverse = np.unique(places, return_index=True, return_inverse=True)
        differences = np.bincount(inverse, np.concatenate([left.data, -right.data]))
        return np.asarray(np.sqrt(np.bincount(rows[first], np.square(differences), minlength=len(left))))
    differences = np.asarray(left) - np.asarray(right)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", differences, differences)))
