"""Columns by whose finest interactions a broad machine's errors are explained, where its gradients show none.

A metric of average gradients starts from distances over all columns. What varies over much shorter distances
in a few of them is averaged out there, so its gradients are never seen. Products of narrow kernels of one
column or of two see it in a thousand rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.tiles import apply
from distkern.core.types import Array, Floats
from distkern.maths.kernels.bandwidth import median_width
from distkern.maths.maps.transform import Transform

#: rows that are looked at, and too few to tell
_ROWS, _LEAST_ROWS = 1500, 300
#: most columns, of more of which no pairs are compared; values of a column that may have a fine structure
MOST_COLUMNS, _LEAST_VALUES = 128, 9
#: standard deviation of the narrow kernels, whose columns have 1
_WIDTH = 0.3
#: standard deviations by which a pair must be more than chance, and share of the strongest pair's
_CERTAIN, _SHARE = 6.0, 0.5
#: share that these columns have of the average squared distance of two rows, together
_WEIGHT = 0.95
#: weight of |f|^2 of the broad machine against its squared errors
_RIDGE = 1.0
#: rows whose kernel values are held at a time, and stride of the tiles that estimate the deviation
_TILE, _SPREAD = 32, 4


def interacting_columns(rows: Floats, targets: Array) -> NDArray[np.intp]:
    """Columns, in pairs and alone, whose narrow kernels explain the residuals.

    With r_i the errors of :func:`left_out` and k_j(i, l) = exp(-(z_ij - z_lj)^2 / (2 h^2)), centred, over the
    normal scores z of column j, h = 0.3, a pair (j, m) has the strength

        sum_{i<l} r_i' r_l k_j k_m / sqrt(sum_{i<l} (r_i' r_l k_j k_m)^2),

    which has mean 0 and variance 1 where the signs of the errors are coin tosses: the Hilbert-Schmidt
    independence criterion (Gretton et al. 2005) of errors and columns over its deviation under random signs.
    A pair counts from 6 on, and from half of the strongest. The deviation is estimated from every fourth
    tile of rows i.

    Parameters
    ----------
    rows : (n, d) in random order, of which the first 1,500 are looked at
    targets : (n, k): -1 and +1, or standardised real numbers

    Returns
    -------
    their numbers, in order; none where rows are fewer than 300, columns more than 128, or nothing is left
    """
    some = rows[:_ROWS]
    none = np.empty(0, np.intp)
    if len(some) < _LEAST_ROWS or rows.shape[1] > MOST_COLUMNS:
        return none
    fine = np.flatnonzero([len(np.unique(column)) >= _LEAST_VALUES for column in some.T])
    if not len(fine):
        return none
    scores = Transform.fit("normal", some).apply(some, np.float64).astype(np.float64, copy=False)
    found = strengths(scores[:, fine], left_out(scores, targets[:_ROWS]))
    most = float(found.max())
    if not most >= _CERTAIN:
        return none
    return fine[(found >= max(_CERTAIN, _SHARE * most)).any(axis=0)]


def heavier(variances: Array, columns: NDArray[np.intp]) -> Array:
    """A diagonal metric (d,), its largest entry 1, in which these columns make up 95 % of squared distances.

    Parameters
    ----------
    variances : (d,) of the columns
    """
    metric = np.ones(len(variances))
    own = float(variances[columns].sum())
    others = float(variances.sum()) - own
    if own > 0 and others > 0:
        metric[columns] = max(1.0, _WEIGHT / (1.0 - _WEIGHT) * others / own)
    return np.asarray(metric / metric.max())


def left_out(rows: Array, targets: Array) -> Array:
    """Errors (n, k) on each row of the ridge machine of the others, with exp(-|x - x'| / b), b the root of 2
    times the median distance.

    With A = (K + ridge I)^-1 and centred targets t, they are (A t)_i / A_ii.
    """
    from scipy.linalg import lapack
    from scipy.spatial.distance import cdist

    width = median_width(rows) or 1.0
    matrix = np.exp(cdist(rows, rows) / -width).astype(np.float32)
    # single precision is enough: eigenvalues are between the ridge and the number of rows
    matrix[np.diag_indices(len(rows))] += np.float32(_RIDGE)
    factor, _ = lapack.spotrf(matrix.T, lower=True, overwrite_a=True)
    solved, _ = lapack.spotrs(factor, targets - targets.mean(axis=0), lower=True)
    inverse, _ = lapack.spotri(factor, lower=True, overwrite_c=True)
    return np.asarray(solved / np.diag(inverse)[:, None], dtype=np.float64)


def strengths(scores: Array, errors: Array) -> Array:
    """Strengths (d, d) of pairs of columns, on the diagonal of single ones, see :func:`interacting_columns`.

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
    whole = means.mean(axis=1)[:, None, None]
    explained, spread = np.zeros((n_columns, n_columns)), np.zeros((n_columns, n_columns))
    alone, alone_spread = np.zeros(n_columns), np.zeros(n_columns)
    squares = counted = 0.0
    for number, tile in enumerate(tiles):
        others = slice(tile.start, n_rows)
        values = _narrow(columns[:, others], slice(0, tile.stop - tile.start))
        values -= means[:, tile, None]
        values -= means[:, None, others] - whole
        # each pair of rows once
        products = np.triu(errors[tile] @ errors[others].T, 1).astype(np.float32).ravel()
        flat = values.reshape(n_columns, -1)
        weighted = flat * products
        explained += weighted @ flat.T
        alone += weighted.sum(axis=1)
        own = float(products @ products)
        squares += own
        if number % _SPREAD:
            continue
        counted += own
        apply(np.square, weighted, into=weighted)
        alone_spread += weighted.sum(axis=1)
        spread += weighted @ apply(np.square, flat, into=flat).T
    share = counted / squares if squares > 0.0 else 1.0
    spread, alone_spread = spread / share, alone_spread / share
    explained[np.diag_indices(n_columns)] = alone
    spread[np.diag_indices(n_columns)] = alone_spread
    return np.asarray(explained / np.sqrt(np.maximum(spread, np.finfo(np.float64).tiny)))


def looking_bytes(n_rows: int, n_features: int) -> int:
    """Bytes that :func:`interacting_columns` takes for ``n_rows`` rows."""
    if n_features > MOST_COLUMNS:
        return 0
    n_rows = min(n_rows, _ROWS)
    # two matrices in double precision at a time; or what a tile has three times and more
    machine = 2 * 8 * n_rows**2
    tile = 4 * 4 * n_features * _TILE * n_rows
    return max(machine, tile) + 5 * 8 * n_rows * n_features


def _narrow(columns: NDArray[np.float32], tile: slice) -> NDArray[Any]:
    """exp(-(z_i - z_l)^2 / (2 h^2)) of each column, (d, n_tile, n)."""
    values = columns[:, tile, None] - columns[:, None, :]
    apply(np.square, values, into=values)
    values *= np.float32(-0.5 / _WIDTH**2)
    return apply(np.exp, values, into=values)
