"""The metric of cells: the average gradient outer product of a ridge machine."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

import numpy as np

from distkern.core.ridge import TILE, SymmetricTiles, iterating_bytes, solve_ridge_iteratively, tiled_numbers
from distkern.core.tiles import apply, matmul, scratch
from distkern.core.types import Array, Floats

#: "interactions" is a diagonal that starts from :func:`~distkern.maths.maps.interactions.interacting_columns`
MetricKind: TypeAlias = Literal["none", "diagonal", "full", "interactions"]
#: in the order of their numbers in saved models
METRICS: tuple[MetricKind, ...] = get_args(MetricKind)

#: training rows of a metric; its last round may have more
METRIC_ROWS, MORE_METRIC_ROWS = 4000, 9216
#: most multiplications for the gradients of one round, which limits the rows whose gradients are averaged
_MULTIPLICATIONS = 2e10
#: numbers of a row for all outputs that are summed together, unless those of one output are more
_COLUMNS = 512


def gradient_sum(
    rows: Floats, targets: Array, metric: Array, ridge: float, *, is_diagonal: bool = False
) -> Array:
    """Return sum_i g_i g_i' (d, d) over the gradients of a ridge machine, in the current metric.

    With M = L L', D_ij = |L'(x_i - x_j)|, b its median, K = exp(-D / b) and a = (K + ridge I)^-1 t, the
    gradient of f = sum_j a_j k(., x_j) at x_i is sum_j a_j K_ij / (b D_ij) M (x_j - x_i) over the x_j that
    differ from x_i: the average gradient outer product of recursive feature machines (Radhakrishnan et al.
    2024; Beaglehole et al. 2025).

    Distances are computed in double precision, the rest in single, and the sum in double. Each pair is
    compared and stored once.

    Parameters
    ----------
    rows : (n, d), in random order; they are centred first, or rounding could make K indefinite
    targets : (n, k): -1 and +1, or standardised real numbers
    metric : M (d, d), symmetric, positive semidefinite, or its diagonal (d,)
    ridge : added to the diagonal of K, > 0
    is_diagonal : whether to return only the diagonal of the sum, (d,)
    """
    exact = rows.astype(np.float64)
    exact -= exact.mean(axis=0)
    distances = _Distances(times(exact, root(metric)))
    n_features = rows.shape[1]
    # the column of ones sums the weights of pairs
    points = np.ones((len(rows), n_features + 1), np.float32)
    points[:, :-1] = exact
    del exact
    width = distances.median()
    kernel = SymmetricTiles(len(rows), np.float32)
    tiles = [slice(start, start + TILE) for start in range(0, len(rows), TILE)]
    for number, tile in enumerate(tiles):
        for place in range(number, len(tiles)):
            between = distances.of(tile, tiles[place])
            kernel.tile(number, place)[:] = distances.similarities(between, width)
    coefficients = solve_ridge_iteratively(kernel, targets, ridge)
    n_outputs = targets.shape[1]
    n_gradients = count_gradients(len(rows), n_features, n_outputs)
    # the strips of the rows with gradients have all their pairs, each once
    for number in range(-(-n_gradients // TILE)):
        for place in range(number, len(tiles)):
            _to_slopes(kernel.tile(number, place))
    at_once = max(1, _COLUMNS // (n_features + 1))
    total = np.zeros(n_features if is_diagonal else (n_features, n_features))
    for number, start in enumerate(range(0, n_gradients, TILE)):
        tile = slice(start, min(start + TILE, n_gradients))
        pulled: Floats = scratch("pulled", (tile.stop - start, n_outputs, n_features + 1), np.float32)
        pulled[:] = 0.0
        for place, others in enumerate(tiles):
            slopes = kernel.tile(number, place)[: tile.stop - start]
            # one product serves several outputs
            for first in range(0, n_outputs, at_once):
                some = slice(first, min(first + at_once, n_outputs))
                shape = slopes.shape[1], some.stop - first, n_features + 1
                weighted = scratch("weighted", shape, np.float32)
                apply(np.multiply, points[others, None], coefficients[others, some, None], into=weighted)
                pulled[:, some] += (slopes @ weighted.reshape(len(weighted), -1)).reshape(-1, *shape[1:])
        for output in range(n_outputs):
            pulls = pulled[:, output, :-1] - pulled[:, output, -1:] * points[tile, :-1]
            gradients = times(pulls.astype(np.float64), metric) / width**2
            total += np.einsum("ij,ij->j", gradients, gradients) if is_diagonal else gradients.T @ gradients
    return total


def _to_slopes(values: Floats) -> None:
    """Replace K by K b / D, with D recovered from K = exp(-D / b), and by 0 for coinciding rows."""
    slopes: Floats = scratch("slopes", values.shape, values.dtype)
    with np.errstate(divide="ignore"):
        apply(np.log, values, into=slopes)
    # the gradient has no direction between coinciding rows
    slopes[slopes >= -1e-6] = -np.inf
    apply(np.divide, values, slopes, into=values)
    apply(np.negative, values, into=values)


def count_gradients(n_rows: int, n_features: int, n_outputs: int) -> int:
    """Return the number of leading rows whose gradients are averaged."""
    work = n_rows * max(n_features, 8) * n_outputs
    return int(min(n_rows, max(_MULTIPLICATIONS // work, 64)))


def metric_of(total: Array, kind: MetricKind) -> Array:
    """Return M from summed outer products, scaled to trace d (full) or largest entry 1 (diagonal).

    A diagonal is (d,), like its sum. If all gradients are 0, M is the identity, as a diagonal.
    """
    n_features = len(total)
    trace = float(total.sum() if total.ndim == 1 else np.trace(total))
    if kind == "none" or not trace > 0:
        return np.ones(n_features)
    if kind == "full":
        return np.asarray(total * (n_features / trace))
    return np.asarray(total / total.max())


def learn_metric(
    rows: Floats,
    targets: Array,
    kind: MetricKind,
    *,
    ridge: float = 0.1,
    rounds: int = 1,
    start: Array | None = None,
) -> Array:
    """Learn the metric M (d, d), or its diagonal (d,), from a sample in some rounds.

    The last round uses all rows, earlier rounds the first half.

    Parameters
    ----------
    start : the initial diagonal; None for the identity
    """
    metric = np.ones(rows.shape[1]) if start is None else start
    is_diagonal = kind != "full"
    for number in range(1, (rounds if kind != "none" else 0) + 1):
        n_rows = len(rows) if number == rounds else (len(rows) + 1) // 2
        total = gradient_sum(rows[:n_rows], targets[:n_rows], metric, ridge, is_diagonal=is_diagonal)
        metric = metric_of(total, kind)
    return metric


def root(metric: Array) -> Array:
    """Return L (d, d) with M = L L', so that rows x L have Euclidean distances equal to the metric's.

    For a diagonal M (d,), L is a diagonal (d,) too.
    """
    if metric.ndim == 1:
        return np.sqrt(metric)
    values, vectors = np.linalg.eigh(metric)
    vectors *= np.sqrt(np.maximum(values, 0.0))
    return np.asarray(vectors)


def times(rows: Floats, matrix: Floats) -> Floats:
    """Return rows (n, d) times a matrix (d, d) or a diagonal (d,)."""
    return rows * matrix if matrix.ndim == 1 else rows @ matrix


def learning_bytes(n_rows: int, n_features: int, n_outputs: int, kind: MetricKind) -> int:
    """Return the bytes of :func:`learn_metric` on rows in double precision, and of :func:`root`."""
    if kind == "none":
        return 0
    rows, pairs = 8 * n_rows * n_features, 4 * tiled_numbers(n_rows)
    square = 8 * n_features**2 if kind == "full" else 0
    # M, a copy, twice as much workspace, and the eigenvectors; the memory of pairs is kept
    rooted = rows + pairs + 5 * square
    # distances in double precision and their temporaries, and the gradient sums of each output
    weighted = 4 * TILE * max(_COLUMNS, n_features + 1)
    tile = TILE * (32 * TILE + (4 * n_outputs + 40) * (n_features + 1)) + 2 * weighted
    # mapped rows, and centred ones in single precision; M, the sum, and its next term; solving reuses the
    # memory of the previous round's tiles
    kept = TILE * (24 * TILE + 4 * n_outputs * (n_features + 1)) + weighted
    solved = kept + iterating_bytes(n_rows, n_outputs)
    summed = rows + rows // 2 + 4 * n_rows + pairs + max(tile, solved) + 8 * n_rows * n_outputs + 3 * square
    return max(rooted, summed, 2 * rows + rows // 2 + square)


class _Distances:
    """Euclidean distances of all pairs of centred rows, computed in double precision and stored in single."""

    def __init__(self, rows: Floats) -> None:
        self._rows, self._squares = rows, np.einsum("ij,ij->i", rows, rows)

    def of(self, tile: slice, others: slice) -> Floats:
        """Return distances between the rows of two slices, (n_tile, n_others)."""
        shape = len(self._squares[tile]), len(self._squares[others])
        products = scratch("products", shape, np.float64)
        matmul(-2.0 * self._rows[tile], self._rows[others].T, into=products)
        products += self._squares[others]
        products += self._squares[tile, None]
        apply(np.maximum, products, 0.0, into=products)
        distances: Floats = scratch("distances", products.shape, np.float32)
        apply(np.sqrt, products, into=distances, casting="same_kind")
        if tile.start == others.start:
            np.fill_diagonal(distances, 0.0)
        return distances

    @staticmethod
    def similarities(distances: Floats, width: float) -> Floats:
        """Return exp(-D / b)."""
        values: Floats = scratch("similarities", distances.shape, distances.dtype)
        apply(np.multiply, distances, np.float32(-1.0 / width), into=values)
        return apply(np.exp, values, into=values)

    def median(self) -> float:
        """Return the median distance of the pairs (i, n/2 + i) of rows in random order.

        If the median is 0, return the median of the nonzero distances, or 1 if there are none.
        """
        half = len(self._rows) // 2
        differences = self._rows[:half] - self._rows[half : 2 * half]
        distances = np.sqrt(np.einsum("ij,ij->i", differences, differences))
        if not distances.any():
            return 1.0
        return float(np.median(distances) or np.median(distances[distances > 0]))
