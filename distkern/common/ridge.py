"""The square loss on a whole kernel matrix: one Cholesky factorisation for all outputs."""

from __future__ import annotations

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.errors import DistkernError
from distkern.common.tiles import copied, scratch
from distkern.common.types import Floats

Array = NDArray[np.float64]


def solve_ridge(
    kernel: Floats, targets: Array, costs: Array, dtype: DTypeLike = np.float64, *, overwrite: bool = False
) -> Array:
    """a with (K + diag(1 / c)) a = y, the minimum of 1/2 a' K a + sum_i c_i / 2 (y_i - (K a)_i)^2.

    In float64 whatever the kernel's precision, unless said: the matrix is as badly conditioned as c_i m.

    Parameters
    ----------
    kernel : (m, m) symmetric, positive semidefinite
    targets : (m, k), all outputs at once
    costs : (m,) c_i > 0
    dtype : of the factorisation
    overwrite : factorise ``kernel`` in place, which is of that dtype

    Returns
    -------
    (m, k) float64

    Raises
    ------
    DistkernError
        If the matrix is not positive definite in that precision.
    """
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    matrix = kernel if overwrite else copied(kernel, into=scratch("factor", kernel.shape, dtype))
    matrix[np.diag_indices(len(matrix))] += 1.0 / costs
    try:
        # symmetric, and LAPACK's order is the other one
        factor = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError as error:
        raise DistkernError(
            f"the kernel matrix of {len(matrix)} rows is not positive definite at C = {costs.max():g}: "
            "use a smaller C"
        ) from error
    return np.asarray(cho_solve(factor, targets.astype(dtype), check_finite=False), dtype=np.float64)
