"""The square loss on a whole kernel matrix: one Cholesky factorisation for all outputs, or steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import DistkernError
from distkern.common.tiles import copied, scratch
from distkern.common.types import Floats

Array = NDArray[np.float64]

#: rows whose columns precondition, and what is added to the diagonal of their matrix: some may be equal
_CENTRES, _LEAST = 512, 1e-6
#: share of the targets that iterations leave, and how many there are at most
_LEFT, _MOST_ITERATIONS = 3e-3, 100


def solve_ridge(kernel: Floats, targets: Array, costs: Array, *, overwrite: bool = False) -> Array:
    """a with (K + diag(1 / c)) a = y, the minimum of 1/2 a' K a + sum_i c_i / 2 (y_i - (K a)_i)^2.

    In float64 whatever the kernel's precision: the matrix is as badly conditioned as c_i m.

    Parameters
    ----------
    kernel : (m, m) symmetric, positive semidefinite
    targets : (m, k), all outputs at once
    costs : (m,) c_i > 0
    overwrite : factorise ``kernel`` in place, which is float64

    Returns
    -------
    (m, k) float64

    Raises
    ------
    DistkernError
        If the matrix is not positive definite in that precision.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    matrix = kernel if overwrite else copied(kernel, into=scratch("factor", kernel.shape, np.float64))
    matrix[np.diag_indices(len(matrix))] += 1.0 / costs
    try:
        # symmetric, and LAPACK's order is the other one
        factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError as error:
        raise DistkernError(
            f"the kernel matrix of {len(matrix)} rows is not positive definite at C = {costs.max():g}: "
            "use a smaller C"
        ) from error
    return np.asarray(cho_solve(factor, targets.astype(np.float64), check_finite=False))


def solve_ridge_iteratively(kernel: Floats, targets: Array, ridge: float) -> Floats:
    """a with |(K + ridge I) a - y| <= 0.003 |y|, each output, in the precision of the kernel.

    Conjugate gradients, of all outputs at once, with the inverse of K_m K_mm^-1 K_m' + s I as preconditioner,
    where K_m are the columns of the first 512 rows and s is ridge and the mean diagonal of what these leave
    of K. By the identity of Woodbury it is (I - K_m (K_m' K_m + s K_mm)^-1 K_m') / s. Of 9,000 rows 10 to 30
    products with K take a fifth of the time of its factorisation.

    Parameters
    ----------
    kernel : (m, m) symmetric, positive semidefinite, with ones in its diagonal, its rows in random order
    targets : (m, k)
    ridge : > 0

    Returns
    -------
    (m, k)
    """
    from scipy.linalg import cho_factor, cho_solve

    columns = kernel[:, :_CENTRES]
    exact = columns.astype(np.float64)
    own, gram = exact[:_CENTRES].copy(), exact.T @ exact
    del exact
    own[np.diag_indices(len(own))] += _LEAST
    explained = float(np.trace(cho_solve(cho_factor(own), gram))) / len(kernel)
    spread = ridge + max(1.0 - explained, 0.0)
    factor = cho_factor(gram + spread * own, overwrite_a=True)

    def preconditioned(values: Floats) -> Floats:
        inner = cho_solve(factor, (columns.T @ values).astype(np.float64)).astype(values.dtype)
        return np.asarray((values - columns @ inner) / values.dtype.type(spread))

    left = targets.astype(kernel.dtype)
    found = np.zeros_like(left)
    enough = _LEFT**2 * np.square(left).sum(axis=0)
    step = preconditioned(left)
    along, slope = step, (left * step).sum(axis=0)
    for _ in range(_MOST_ITERATIONS):
        if (np.square(left).sum(axis=0) <= enough).all():
            break
        product = kernel @ along
        product += kernel.dtype.type(ridge) * along
        length = _ratio(slope, (along * product).sum(axis=0))
        found += length * along
        left -= length * product
        step = preconditioned(left)
        before, slope = slope, (left * step).sum(axis=0)
        along = step + _ratio(slope, before) * along
    return found


def iterating_bytes(n_rows: int, n_outputs: int) -> int:
    """What :func:`solve_ridge_iteratively` takes beside a kernel in single precision."""
    n_centres = min(n_rows, _CENTRES)
    return max(8 * n_centres * (n_rows + 2 * n_centres), 8 * n_centres**2 + 32 * n_rows * n_outputs)


def _ratio(above: Floats, below: Floats) -> Floats:
    """Their ratio, and 0 for outputs that are done."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)
