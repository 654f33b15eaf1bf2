"""The metric in which cells measure distances: the average gradient outer product of a ridge machine."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from distkern.common.tiles import scratch
from distkern.common.types import Floats
from distkern.solvers._cells.ridge import solve_ridge

Array = NDArray[np.float64]
MetricKind: TypeAlias = Literal["none", "diagonal", "full", "mixed"]
METRICS: tuple[MetricKind, ...] = get_args(MetricKind)

#: rows that a metric is learned from; its last round may be from more
METRIC_ROWS, MORE_METRIC_ROWS = 4000, 9216
#: share of the identity in a mixed metric
_MIXED = 0.1
#: multiplications that the gradients of one round may take: fewer rows' gradients are averaged where they
#: would be more
_MULTIPLICATIONS = 2e10
#: rows that are compared with all others at a time
_STRIP = 256


def gradient_sum(rows: Floats, targets: Array, metric: Array, ridge: float) -> Array:
    """sum_i g_i g_i' (d, d) of the gradients of one machine on a sample, in the metric that was there before.

    With M = L L', D_ij = |L'(x_i - x_j)|, b its median, K = exp(-D / b) and a = (K + ridge I)^-1 t, the
    gradient of f = sum_j a_j k(., x_j) at x_i is sum_j a_j K_ij / (b D_ij) M (x_j - x_i) over the x_j that
    are elsewhere: the average gradient outer product of recursive feature machines (Radhakrishnan et al.
    2024; xRFM, arXiv 2508.10053).

    Distances are found in double precision; what follows is in single, and the sum in double. One matrix of
    all pairs is kept, which is factorised in place; distances are found again for the gradients.

    Parameters
    ----------
    rows : (n, d), in random order; they are centred here, because rounding would else make K indefinite
    targets : (n, k): -1 and +1, or standardised real numbers
    metric : M (d, d), symmetric, positive semidefinite
    ridge : added to the diagonal of K, > 0
    """
    exact = rows.astype(np.float64)
    exact -= exact.mean(axis=0)
    distances = _Distances(exact @ root(metric))
    width = distances.median()
    kernel: Floats = scratch("factor", (len(rows), len(rows)), np.float32)
    for start in range(0, len(rows), _STRIP):
        strip = slice(start, start + _STRIP)
        kernel[strip] = np.exp(distances.of(strip) / np.float32(-width))
    coefficients = solve_ridge(kernel, targets, np.full(len(rows), 1.0 / ridge), np.float32, overwrite=True)
    n_outputs = targets.shape[1]
    work = len(rows) * max(exact.shape[1], 8) * n_outputs
    n_gradients = int(min(len(rows), max(_MULTIPLICATIONS // work, 64)))
    total = np.zeros_like(metric)
    points = exact.astype(np.float32)
    for start in range(0, n_gradients, _STRIP):
        strip = slice(start, min(start + _STRIP, n_gradients))
        apart = distances.of(strip)
        slopes = np.exp(apart / np.float32(-width))
        # rows that lie on each other have no direction
        apart[apart <= 1e-6 * width] = np.inf
        slopes /= apart
        for output in range(n_outputs):
            pulls = slopes * coefficients[:, output].astype(np.float32)
            gradients = pulls @ points - pulls.sum(axis=1, keepdims=True) * points[strip]
            gradients = gradients.astype(np.float64) @ metric / width
            total += gradients.T @ gradients
    return total


def metric_of(total: Array, kind: MetricKind) -> Array:
    """M from summed outer products, scaled so that its trace is d (full, mixed) or its largest entry 1.

    "diagonal" keeps the diagonal alone, "mixed" adds a tenth of the identity. Where all gradients are 0 the
    identity is left.
    """
    n_features = len(total)
    identity = np.eye(n_features)
    trace = float(np.trace(total))
    if kind == "none" or not trace > 0:
        return identity
    if kind == "diagonal":
        diagonal = np.diagonal(total)
        return np.diag(diagonal / diagonal.max())
    full = total * (n_features / trace)
    return full if kind == "full" else (full + _MIXED * identity) / (1.0 + _MIXED)


def learn_metric(
    rows: Floats, targets: Array, kind: MetricKind, *, ridge: float = 0.1, rounds: int = 1
) -> Array:
    """M (d, d) of one sample after some rounds, the identity before the first.

    The last round is over all rows, those before it over the first 4,000.
    """
    metric = np.eye(rows.shape[1])
    for number in range(1, (rounds if kind != "none" else 0) + 1):
        most = len(rows) if number == rounds else METRIC_ROWS
        metric = metric_of(gradient_sum(rows[:most], targets[:most], metric, ridge), kind)
    return metric


def root(metric: Array) -> Array:
    """L (d, d) with M = L L', for rows x L whose Euclidean distances are those of the metric."""
    if not np.any(metric - np.diag(np.diagonal(metric))):
        return np.diag(np.sqrt(np.diagonal(metric)))
    values, vectors = np.linalg.eigh(metric)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


class _Distances:
    """Euclidean distances of all pairs of centred rows, in single precision, found in double."""

    def __init__(self, rows: Array) -> None:
        self._rows, self._squares = rows, np.einsum("ij,ij->i", rows, rows)

    def of(self, strip: slice) -> Floats:
        """Of some rows from all, (n_some, n)."""
        products = self._rows[strip] @ self._rows.T
        products *= -2.0
        products += self._squares
        products += self._squares[strip, None]
        found = np.sqrt(np.maximum(products, 0.0)).astype(np.float32)
        own = np.arange(len(found))
        found[own, own + strip.start] = 0.0
        return found

    def median(self) -> float:
        """Of pairs (i, n/2 + i) of rows in random order; of those that are not 0 if most are, 1 if all."""
        half = len(self._rows) // 2
        apart = self._rows[:half] - self._rows[half : 2 * half]
        found = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        if not found.any():
            return 1.0
        return float(np.median(found) or np.median(found[found > 0]))
