"""Columns whose fine interactions explain the errors of a machine over all columns.

A metric of average gradients starts from distances over all columns. Variation over much shorter distances in
a few columns averages out, so its gradients stay invisible. Products of narrow kernels of one or two columns
detect it in a thousand rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.tiles import apply
from distkern.core.types import Array, Floats
from distkern.maths.kernels.bandwidth import median_width
from distkern.maths.maps.transform import Transform

#: most and least rows
_ROWS, _LEAST_ROWS = 1500, 300
#: most columns whose pairs are compared; fewest distinct values of a column with fine structure
MOST_COLUMNS, _LEAST_VALUES = 128, 9
#: standard deviation of the narrow kernels, for columns with standard deviation 1
_WIDTH = 0.3
#: least strength of a pair, in standard deviations, and as a share of the largest strength
_CERTAIN, _SHARE = 6.0, 0.5
#: share of the interacting columns in the average squared distance of two rows
_WEIGHT = 0.95
#: weight of |f|^2 of the wide machine against its squared errors
_RIDGE = 1.0
#: rows of a tile of kernel values, and stride of the tiles that estimate the deviation
_TILE, _SPREAD = 32, 4


def interacting_columns(rows: Floats, targets: Array) -> NDArray[np.intp]:
    """Find the columns, in pairs and alone, whose narrow kernels explain the residuals.

    With r_i the errors of :func:`leave_one_out_errors` and k_j(i, l) = exp(-(z_ij - z_lj)^2 / (2 h^2)),
    centred, over the normal scores z of column j, h = 0.3, the strength of a pair (j, m) is

        sum_{i<l} r_i' r_l k_j k_m / sqrt(sum_{i<l} (r_i' r_l k_j k_m)^2),

    which has mean 0 and variance 1 if the signs of the errors are random: the Hilbert-Schmidt independence
    criterion (Gretton et al. 2005) of errors and columns over its deviation under random signs. A pair is
    found if its strength is at least 6 and at least half of the largest. Every fourth tile of rows i
    estimates the deviation.

    Parameters
    ----------
    rows : (n, d) in random order; the first 1,500 are used
    targets : (n, k): -1 and +1, or standardised real numbers

    Returns
    -------
    column numbers in order; empty for fewer than 300 rows or more than 128 columns
    """
    rows = rows[:_ROWS]
    none = np.empty(0, np.intp)
    if len(rows) < _LEAST_ROWS or rows.shape[1] > MOST_COLUMNS:
        return none
    fine = np.flatnonzero([len(np.unique(column)) >= _LEAST_VALUES for column in rows.T])
    if not len(fine):
        return none
    scores = Transform.fit("normal", rows).apply(rows, np.float64).astype(np.float64, copy=False)
    values = strengths(scores[:, fine], leave_one_out_errors(scores, targets[:_ROWS]))
    largest = float(values.max())
    if not largest >= _CERTAIN:
        return none
    return fine[(values >= max(_CERTAIN, _SHARE * largest)).any(axis=0)]


def emphasising_metric(variances: Array, columns: NDArray[np.intp]) -> Array:
    """Return a diagonal metric (d,) in which the given columns make up 95 % of squared distances.

    Parameters
    ----------
    variances : (d,) of the columns
    """
    metric = np.ones(len(variances))
    variance = float(variances[columns].sum())
    rest = float(variances.sum()) - variance
    if variance > 0 and rest > 0:
        metric[columns] = max(1.0, _WEIGHT / (1.0 - _WEIGHT) * rest / variance)
    return np.asarray(metric / metric.max())


def leave_one_out_errors(rows: Array, targets: Array) -> Array:
    """Return leave-one-out errors (n, k) of the ridge machine with kernel exp(-|x - x'| / b).

    With A = (K + ridge I)^-1 and centred targets t, they are (A t)_i / A_ii. The width b is sqrt(2) times the
    median distance.
    """
    from scipy.linalg import lapack
    from scipy.spatial.distance import cdist

    width = median_width(rows) or 1.0
    matrix = np.exp(cdist(rows, rows) / -width).astype(np.float32)
    # single precision suffices, since the eigenvalues lie between the ridge and the number of rows
    matrix[np.diag_indices(len(rows))] += np.float32(_RIDGE)
    factor, _ = lapack.spotrf(matrix.T, lower=True, overwrite_a=True)
    solved, _ = lapack.spotrs(factor, targets - targets.mean(axis=0), lower=True)
    inverse, _ = lapack.spotri(factor, lower=True, overwrite_c=True)
    return np.asarray(solved / np.diag(inverse)[:, None], dtype=np.float64)


def strengths(scores: Array, errors: Array) -> Array:
    """Return the strengths (d, d) of pairs, with single columns on the diagonal.

    The formula is in :func:`interacting_columns`.

    Parameters
    ----------
    scores : (n, d)
    errors : (n, k)
    """
    columns = np.ascontiguousarray(scores.T, dtype=np.float32)
    errors = errors - errors.mean(axis=0)
    n_columns, n_rows = columns.shape
    tiles = [slice(start, min(start + _TILE, n_rows)) for start in range(0, n_rows, _TILE)]
    means = np.concatenate([_narrow(columns, tile).mean(axis=2) for tile in tiles], axis=1)
    total_means = means.mean(axis=1)[:, None, None]
    explained, spread = np.zeros((n_columns, n_columns)), np.zeros((n_columns, n_columns))
    alone, alone_spread = np.zeros(n_columns), np.zeros(n_columns)
    squares = sampled = 0.0
    for number, tile in enumerate(tiles):
        others = slice(tile.start, n_rows)
        values = _narrow(columns[:, others], slice(0, tile.stop - tile.start))
        values -= means[:, tile, None]
        values -= means[:, None, others] - total_means
        # each pair of rows once
        products = np.triu(errors[tile] @ errors[others].T, 1).astype(np.float32).ravel()
        flat = values.reshape(n_columns, -1)
        weighted = flat * products
        explained += weighted @ flat.T
        alone += weighted.sum(axis=1)
        tile_squares = float(products @ products)
        squares += tile_squares
        if number % _SPREAD:
            continue
        sampled += tile_squares
        apply(np.square, weighted, into=weighted)
        alone_spread += weighted.sum(axis=1)
        spread += weighted @ apply(np.square, flat, into=flat).T
    share = sampled / squares if squares > 0.0 else 1.0
    spread, alone_spread = spread / share, alone_spread / share
    explained[np.diag_indices(n_columns)] = alone
    spread[np.diag_indices(n_columns)] = alone_spread
    return np.asarray(explained / np.sqrt(np.maximum(spread, np.finfo(np.float64).tiny)))


def interaction_bytes(n_rows: int, n_features: int) -> int:
    """Return the bytes that :func:`interacting_columns` needs for ``n_rows`` rows."""
    if n_features > MOST_COLUMNS:
        return 0
    n_rows = min(n_rows, _ROWS)
    # two matrices in double precision at a time; or a tile and its temporaries
    machine = 2 * 8 * n_rows**2
    tile = 4 * 4 * n_features * _TILE * n_rows
    return max(machine, tile) + 5 * 8 * n_rows * n_features


def _narrow(columns: NDArray[np.float32], tile: slice) -> NDArray[Any]:
    """Return exp(-(z_i - z_l)^2 / (2 h^2)) for each column, (d, n_tile, n)."""
    values = columns[:, tile, None] - columns[:, None, :]
    apply(np.square, values, into=values)
    values *= np.float32(-0.5 / _WIDTH**2)
    return apply(np.exp, values, into=values)
