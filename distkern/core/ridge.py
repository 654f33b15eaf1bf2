"""Kernel ridge regression on a full kernel matrix: Cholesky factorisation or conjugate gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from distkern.core.errors import DistkernError
from distkern.core.tiles import copied, scratch
from distkern.core.types import Array, Floats

#: columns of the preconditioner, and the jitter on the diagonal of their matrix, as rows may be equal
_CENTRES, _LEAST = 512, 1e-6
#: rows and columns of the tiles of a symmetric matrix
TILE = 256
#: relative residual at which iterations stop, their largest number, and rows up to which a factor is cheaper
_LEFT, _MOST_ITERATIONS, _FEW = 3e-3, 100, 1500
#: fewest rows and most outputs for which a factor in single precision, which halves the work, pays for the
#: refining steps; each step reads the matrix for one output
_LEAST_ROWS, _MOST_OUTPUTS = 600, 3
#: largest eps_32 |K| max c (n_outputs)^2 at which a factor in single precision is tried; and the average
#: reduction of the residual per step below which the steps cost as much as they save
_MOST_CONDITION, _LEAST_RATE = 2.0, 8.0
#: share of the rounding of a matrix's smallest diagonal number that is added to all its numbers
_TINY = 1e-4


def solve_ridge(
    kernel: Floats, targets: Array, costs: Array, *, overwrite: bool = False, tolerance: float = 0.0
) -> Array:
    """Return a with (K + diag(1 / c)) a = y, the minimum of 1/2 a' K a + sum_i c_i / 2 (y_i - (K a)_i)^2.

    The solution is exact to float64's rounding whatever the kernel's precision, as the matrix may be as badly
    conditioned as c_i m. If it is well conditioned in single precision, a factor in single precision, for
    half the work, preconditions conjugate gradients in float64. Raises :class:`DistkernError` if the matrix
    is not positive definite in that precision.

    Parameters
    ----------
    kernel : (m, m) symmetric, positive semidefinite
    targets : (m, k), all outputs at once
    costs : (m,) c_i > 0
    overwrite : ``kernel``, in float64, may be overwritten
    tolerance : relative residual at which the conjugate gradients of each output may stop

    Returns
    -------
    (m, k) float64


    Notes
    -----
    It needs memory for one matrix: float64, or float32 with ``overwrite``.
    """
    added, n_rows, n_outputs = 1.0 / costs, len(kernel), targets.shape[1]
    is_double = kernel.dtype == np.float64
    if is_double and n_rows >= _LEAST_ROWS and 1 <= n_outputs <= _MOST_OUTPUTS:
        memory = scratch("factor", kernel.shape, np.float32 if overwrite else np.float64)
        single = memory.reshape(-1).view(np.float32)[: kernel.size].reshape(kernel.shape)
        found = _refined(kernel, targets, added, single, tolerance)
        if found is not None:
            return found
    matrix = kernel if overwrite else copied(kernel, into=scratch("factor", kernel.shape, np.float64))
    matrix[np.diag_indices(n_rows)] += added
    factor = _factor(matrix)
    if factor is None:
        raise DistkernError(
            f"the kernel matrix of {n_rows} rows is not positive definite at C = {costs.max():g}: "
            "use a smaller C"
        )
    right = targets.astype(np.float64)
    solved = _solved(factor, right[:, 0] if n_outputs == 1 else right)
    return np.asarray(solved.reshape(targets.shape), dtype=np.float64)


class SymmetricTiles:
    """A symmetric matrix A (m, m) as strips of rows that start at the diagonal: half of its numbers.

    The memory belongs to the thread and is reused.

    Attributes
    ----------
    strips : A[start : start + 256, start:] for each start, to be written into
    """

    def __init__(self, n_rows: int, dtype: DTypeLike) -> None:
        self.n_rows = n_rows
        memory = scratch("symmetric tiles", (tiled_numbers(n_rows),), dtype)
        self.strips: list[Floats] = []
        used = 0
        for start in range(0, n_rows, TILE):
            shape = min(TILE, n_rows - start), n_rows - start
            self.strips.append(memory[used : used + shape[0] * shape[1]].reshape(shape))
            used += shape[0] * shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """Return the type of its numbers."""
        return self.strips[0].dtype

    def tile(self, row: int, column: int) -> Floats:
        """Return one tile by its indices; left of the diagonal, a transposed view of its mirror image."""
        if column < row:
            return self.tile(column, row).T
        start = TILE * (column - row)
        return self.strips[row][:, start : start + TILE]

    def columns(self, n_columns: int) -> Floats:
        """Return a copy of the first columns (m, n_columns)."""
        found = np.empty((self.n_rows, n_columns), self.dtype)
        for number in range(-(-n_columns // TILE)):
            start, stop = TILE * number, min(TILE * (number + 1), n_columns)
            found[start:, start:stop] = self.strips[number][: stop - start].T
            for above in range(number):
                part = slice(TILE * above, TILE * (above + 1))
                found[part, start:stop] = self.tile(above, number)[:, : stop - start]
        return found

    def __matmul__(self, values: Floats) -> Floats:
        """Return A times (m, k)."""
        found = np.zeros_like(values)
        for number, strip in enumerate(self.strips):
            start, stop = TILE * number, TILE * (number + 1)
            found[start:stop] += strip @ values[start:]
            if stop < self.n_rows:
                found[stop:] += strip[:, TILE:].T @ values[start:stop]
        return found


def tiled_numbers(n_rows: int) -> int:
    """Return how many numbers :class:`SymmetricTiles` hold."""
    whole, rest = divmod(n_rows, TILE)
    return TILE * (whole * n_rows - TILE * (whole * (whole - 1) // 2)) + rest**2


def solve_ridge_iteratively(kernel: SymmetricTiles, targets: Array, ridge: float) -> Floats:
    """Return a with |(K + ridge I) a - y| <= 0.003 |y| for each output, in the precision of the kernel.

    Conjugate gradients for all outputs at once. The preconditioner is the inverse of K_m K_mm^-1 K_m' + s I,
    where K_m are the columns of the first 512 rows and s is ridge plus the mean diagonal of K - K_m K_mm^-1
    K_m'. By the Woodbury identity it is (I - K_m (K_m' K_m + s K_mm)^-1 K_m') / s. On 9,000 rows its 10 to 30
    products with K take a fifth of the time of a factorisation. Few rows are factorised, which is faster.

    Parameters
    ----------
    kernel : (m, m), positive semidefinite, with unit diagonal and its rows in random order
    targets : (m, k)
    ridge : > 0

    Returns
    -------
    (m, k)
    """
    from scipy.linalg import cho_factor, cho_solve

    if kernel.n_rows <= _FEW:
        matrix = kernel.columns(kernel.n_rows)
        matrix[np.diag_indices(len(matrix))] += kernel.dtype.type(ridge)
        whole = _factor(matrix)
        if whole is not None:
            return _solved(whole, targets.astype(kernel.dtype, order="F"))
    columns = kernel.columns(min(_CENTRES, kernel.n_rows))
    exact = columns.astype(np.float64)
    own, gram = exact[:_CENTRES].copy(), exact.T @ exact
    del exact
    explained = float(np.trace(cho_solve(raised_factor(own, _LEAST), gram))) / kernel.n_rows
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


def raised_factor(matrix: Array, added: float, *, lower: bool = False) -> tuple[Array, bool]:
    """Return SciPy's Cholesky factor of a matrix (m, m) whose diagonal is raised in place.

    It is raised by ``added``, then by ten times as much until the matrix is positive definite: distances
    between rows of very different sizes are mostly rounding, and kernels of them may have negative
    eigenvalues.
    """
    from scipy.linalg import LinAlgError, cho_factor

    while True:
        matrix[np.diag_indices(len(matrix))] += added
        try:
            return cho_factor(matrix, lower=lower, check_finite=False)  # type: ignore[no-any-return]
        except LinAlgError:
            added *= 10.0
            if not np.isfinite(added):
                raise


def iterating_bytes(n_rows: int, n_outputs: int) -> int:
    """Return the bytes that :func:`solve_ridge_iteratively` needs besides a kernel in single precision."""
    n_centres = min(n_rows, _CENTRES)
    steps = max(8 * n_centres * (n_rows + 2 * n_centres), 8 * n_centres**2 + 32 * n_rows * n_outputs)
    steps += 4 * n_centres * n_rows
    return max(steps, 4 * n_rows**2 + 8 * n_rows * n_outputs) if n_rows <= _FEW else steps


def _ratio(above: Floats, below: Floats) -> Floats:
    """Return the ratio, 0 for converged outputs."""
    is_open = below > 0
    return np.asarray(np.where(is_open, above / np.where(is_open, below, 1.0), 0.0), dtype=above.dtype)


def _factor(matrix: Floats) -> Floats | None:
    """Return L with A = L L', in place, or None if A (m, m) is not positive definite.

    A tiny number below its rounding is added to all of A. Kernels of distant rows vanish, and products of
    vanishing numbers are subnormal, which processors multiply a hundred times slower.
    """
    from scipy.linalg import get_lapack_funcs

    least = float(matrix.diagonal().min(initial=np.inf))
    if least > 0.0:
        matrix += matrix.dtype.type(_TINY * np.finfo(matrix.dtype).eps * least)
    # A is symmetric, so its transpose is the same matrix in LAPACK's order
    (factorise,) = get_lapack_funcs(("potrf",), (matrix,))
    factor, failed = factorise(matrix.T, lower=True, overwrite_a=True, clean=False)
    return None if failed else factor


def _solved(factor: Floats, right: Floats) -> Floats:
    """Return x with L L' x = b, for b (m,) or (m, k) in the precision of L."""
    from scipy.linalg import get_blas_funcs, get_lapack_funcs

    if right.ndim > 1:
        (solve,) = get_lapack_funcs(("potrs",), (factor,))
        return np.asarray(solve(factor, right, lower=True)[0])
    # several times faster for a single vector
    (solve,) = get_blas_funcs(("trsv",), (factor,))
    return np.asarray(solve(factor, solve(factor, right, lower=True), lower=True, trans=1))


def _refined(kernel: Floats, targets: Array, added: Array, memory: Floats, tolerance: float) -> Array | None:
    """Return a (m, k) by conjugate gradients with a factor in single precision; None if that does not pay.

    They stop at |y - A a| <= epsilon |K| |a|, about the residual of a factorisation in float64, or at
    ``tolerance`` |y|.
    """
    norm, single = math.sqrt(np.vdot(kernel, kernel)), float(np.finfo(np.float32).eps)
    if not norm * single * targets.shape[1] ** 2 <= _MOST_CONDITION * added.min():
        return None
    copied(kernel, into=memory)[np.diag_indices(len(kernel))] = kernel.diagonal() + added
    factor = _factor(memory)
    if factor is None:
        return None
    found = np.zeros(targets.shape)
    for output, wanted in enumerate(targets.T):
        # so that squares neither overflow nor underflow
        scale = float(np.abs(wanted).max()) or 1.0
        own = wanted / scale
        enough = tolerance * _length(own)
        if not _by_conjugate_gradients(kernel, own, added, factor, norm, enough, found[:, output]):
            return None
        found[:, output] *= scale
    return found


def _by_conjugate_gradients(
    kernel: Floats, wanted: Array, added: Array, factor: Floats, norm: float, enough: float, found: Array
) -> bool:
    """Add the solution to ``found``, which is 0, unless residuals fall too slowly; overwrite ``wanted``."""
    residual, direction, before = wanted, np.zeros(len(wanted)), 1.0
    # the first steps are the smallest
    bound = _LEAST_RATE**2 * _length(wanted)
    while not (length := _length(residual)) <= max(enough, np.finfo(np.float64).eps * norm * _length(found)):
        if not length <= bound:
            return False
        bound /= _LEAST_RATE
        # normalised, so that single precision does not underflow
        step = length * _solved(factor, (residual / length).astype(np.float32)).astype(np.float64)
        product = float(residual @ step)
        direction = step + product / before * direction
        change = kernel @ direction + added * direction
        size = product / float(direction @ change)
        found += size * direction
        residual -= size * change
        before = product
    return True


def _length(vector: Array) -> float:
    return math.sqrt(float(vector @ vector))
