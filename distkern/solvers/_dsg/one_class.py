"""The one-class machine over random features, exactly, by its dual on the driver."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.bases.gram import COLUMNS, GramSum, column_blocks, fill_columns
from distkern.bases.random_features import RandomFeatureBasis
from distkern.common.sparse import Rows
from distkern.common.types import Block
from distkern.passes import Reduce
from distkern.solvers.base import Problem, Steps
from distkern.solvers.risk import Risk
from distkern.solvers.sample import sample_of, sampling

Array = NDArray[np.float64]

#: rows of the largest dual
MOST_EXACT_ROWS = 2048
#: how far apart f may be at rows where it should be tau, in units of the mean of k over all pairs of rows: of
#: many such rows a share is to be below the threshold, so they are to be farther apart than single precision
_TOLERANCE = 1e-5
#: what a kernel in single precision allows
_LEAST_TOLERANCE = 1e-10


def exact_novelty(
    problem: Problem, risk: Risk, basis: RandomFeatureBasis, nu: float
) -> Steps[tuple[Array, float]]:
    """The minimiser over all features of the basis of mean_i s_i max(0, tau - f(x_i)) - nu tau + nu/2 |f|^2.

    f = sum_i a_i k(x_i, .), where k(x, y) = sum_j z_j(x)' z_j(y) / J over the J blocks, and a minimises
    a' K a / 2 with 0 <= a_i <= s_i / (n nu) and sum_i a_i = 1 (Schoelkopf et al. 2001, (11) to (13)), by
    sequential minimal optimisation (Fan et al. 2005). One pass brings all rows to the driver, which adds K up
    over strips of 512 features, so that no array of all rows and all features exists.

    Returns
    -------
    coefficients : (size, 1), A_j = sum_i a_i z_j(x_i) / J
    gap : between the objective and that of the dual, divided by the latter's size
    """
    rows: Block = yield gathering(problem, basis)
    n_rows, weights = rows.n_rows, risk.weights(rows)
    weights = np.ones(n_rows) if weights is None else weights
    matrix = _kernel_matrix(basis, rows.features)
    # those who ask for the names of algorithms do not wait for it
    from sklearn.svm import OneClassSVM

    tolerance = _TOLERANCE * float(weights @ matrix @ weights) / n_rows**2
    machine = OneClassSVM(kernel="precomputed", nu=nu, tol=max(tolerance, _LEAST_TOLERANCE))
    machine.fit(matrix, sample_weight=weights / (n_rows * nu))
    support, dual = machine.support_, machine.dual_coef_[0]
    scores = matrix[:, support] @ dual
    square = float(dual @ scores[support])
    threshold = best_threshold(scores, weights, nu)[0]
    short = float(weights @ np.maximum(threshold - scores, 0.0)) / n_rows
    gap = (short / nu - threshold + square) / square if square else 0.0
    coefficients = basis.transposed(rows.features[support], dual[:, None]) / basis.n_blocks
    return coefficients, gap


def gathering(problem: Problem, basis: RandomFeatureBasis) -> Reduce[Block]:
    """The pass of :func:`exact_novelty`."""
    n_rows, row_numbers = problem.n_rows, problem.row_numbers
    # K in halves, whole and as the machine keeps it, and a strip of features with what it is made from
    matrices = 32 * n_rows**2 + 3 * COLUMNS * n_rows * basis.dtype.itemsize
    features = basis.process_bytes + basis.combining_bytes(row_numbers)
    rows = 2 * n_rows * problem.row_bytes
    return sampling("rows", problem, sample_of(problem, n_rows), matrices + features + rows)


def best_threshold(scores: Array, weights: Array, share: float) -> tuple[float, float]:
    """The threshold below which rows of ``share`` of the weight lie, at most, and what of the weight of the
    rows at it makes up that share.

    Parameters
    ----------
    scores, weights : (n_rows,)
    """
    wanted, order = share * float(weights.sum()), np.argsort(scores, kind="stable")
    place = int(np.searchsorted(np.cumsum(weights[order]), wanted))
    threshold = float(scores[order[min(place, len(order) - 1)]])
    below, tied = (float(weights[chosen].sum()) for chosen in (scores < threshold, scores == threshold))
    return threshold, max(wanted - below, 0.0) / tied


def _kernel_matrix(basis: RandomFeatureBasis, rows: Rows) -> Array:
    """Z Z' over its mean diagonal, (n_rows, n_rows): a dual's solution does not depend on the unit of k."""
    n_rows = rows.shape[0]
    gram = GramSum(n_rows)
    for own in column_blocks(0, basis.size):
        gram.add(basis.columns(rows, np.arange(own.start, own.stop)))
    matrix = np.empty((n_rows, n_rows))
    fill_columns(matrix, 0, n_rows, gram.parts)
    matrix /= np.trace(matrix) / n_rows or 1.0
    return matrix
