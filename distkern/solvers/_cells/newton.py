"""Newton's method for the dual of a kernel machine whose matrix is ill-conditioned.

Its systems are factorised in half the memory of a square.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.core.tiles import apply, scratch
from distkern.core.types import Array, Floats
from distkern.maths.losses.conjugate import RowConjugates

#: first, least and largest weight of the proximal term, as shares of the mean diagonal of K
_FIRST, _LEAST, _MOST = 1e-2, 1e-3, 1.0
#: steps that a proximal problem may take before it is made easier, and few enough to make it harder
_MANY, _FEW = 12, 3
#: what a step must promise to gain of a' K a, in units of the kernel's rounding
_NO_GAIN = 10.0
_BISECTIONS = 25
#: of the kernel, copied at a time
TILE_ROWS = 64


@dataclass(frozen=True)
class _Proximal:
    """min_a 1/2 a' K a + sum_i (c_i l)*(-a_i) + weight / 2 |a - center|^2, by its gradient in f = K a."""

    rows: RowConjugates
    center: Array
    weight: float

    def pulls(self, values: Array) -> Array:
        return self.rows.targets - values + self.weight * self.center

    def best(self, pulls: Array) -> Array:
        """The a_i that suit given predictions, (n,)."""
        rows = self.rows
        up = np.minimum(_divided(pulls - rows.flat, rows.rising + self.weight), rows.above)
        down = np.maximum(_divided(pulls + rows.flat, rows.falling + self.weight), -rows.below)
        return np.where(pulls > rows.flat, up, np.where(pulls < -rows.flat, down, 0.0))


def newton(
    kernel: Floats, rows: RowConjugates, dual: Array, values: Array, tolerance: float, n_steps: int
) -> int:
    """Minimise over all coordinates together; changes ``dual`` (m,), returns the steps it took.

    Proximal problems, one after the other (Rockafellar 1976), each by Newton steps on the gradient of its
    dual, whose Moreau envelope has one, with an exact search along the line (Li, Sun and Toh 2018). Where
    every row's conjugate bends, as that of the squared hinge does, the weight is 0 and one problem is all
    (Chapelle 2007), unless rounding makes it stall. The matrix is that of the coordinates inside their
    bounds, with the proximal weight on its diagonal, so it takes m^2 / 2 numbers at most, beside the kernel.
    It ends when a proximal step changes no gradient by more than the tolerance. Products are in the kernel's
    precision.

    Parameters
    ----------
    kernel : (m, m)
    dual, values : (m,) a within its bounds and K a
    tolerance : as of :func:`distkern.solvers._cells.dual.solve_dual`
    n_steps : at most
    """
    diagonal = float(np.diagonal(kernel).mean())
    no_gain = _NO_GAIN * float(np.finfo(kernel.dtype).eps)
    share, since, free_dual = 0.0 if rows.bends else _FIRST, 0, dual.copy()
    for step in range(n_steps):
        problem = _Proximal(rows, dual, share * diagonal)
        change = _direction(kernel, problem, free_dual, values)
        moved = product(kernel, change).astype(np.float64)
        slope = float(moved @ (free_dual - problem.best(problem.pulls(values))))
        if slope < 0:
            length = _along(problem, free_dual, change, values, moved)
            free_dual = free_dual + length * change
            values = values + length * moved
        since += 1
        if slope > -no_gain * float(free_dual @ values) or since > _MANY:
            feasible = np.clip(free_dual, -rows.below, rows.above)
            furthest = problem.weight * float(np.abs(feasible - dual).max())
            dual[:] = feasible
            if furthest <= 0.5 * tolerance and since <= _MANY:
                return step + 1
            if since > _MANY:
                share = min(max(3.0 * share, _LEAST), _MOST)
            elif since <= _FEW:
                share = max(share / 3.0, _LEAST)
            free_dual, values, since = feasible, product(kernel, feasible).astype(np.float64), 0
    return n_steps


def _divided(slopes: Array, curves: Array) -> Array:
    """0 where nothing bends, on sides that have no room (:attr:`RowConjugates.bends`)."""
    return apply(np.divide, slopes, curves, into=np.zeros_like(slopes), where=curves > 0)


def product(kernel: Floats, vector: Array) -> Floats:
    """K v (m,) in K's precision, of which only rows are read where v is not 0."""
    numbers = np.flatnonzero(vector)
    exact = vector.astype(kernel.dtype)
    if 2 * len(numbers) > len(vector):
        return kernel @ exact
    total = np.zeros(len(vector), dtype=kernel.dtype)
    for start in range(0, len(numbers), TILE_ROWS):
        some = numbers[start : start + TILE_ROWS]
        tile = scratch("product", (len(some), len(vector)), kernel.dtype)
        total += exact[some] @ kernel.take(some, axis=0, out=tile, mode="clip")
    return total


def _direction(kernel: Floats, problem: _Proximal, dual: Array, values: Array) -> Array:
    """To the solution if all coordinates stayed on the pieces on which the predictions put them."""
    rows, pulls = problem.rows, problem.pulls(values)
    target = problem.best(pulls)
    up, down = pulls > rows.flat, pulls < -rows.flat
    free = np.flatnonzero((up & (target < rows.above)) | (down & (target > -rows.below)))
    if not len(free):
        return target - dual
    target[free] = 0.0
    known = product(kernel, target)[free].astype(np.float64)
    curves = np.where(up, rows.rising, rows.falling)[free] + problem.weight
    flats = np.where(up[free], rows.flat, -rows.flat)
    wanted = rows.targets[free] - flats + problem.weight * problem.center[free] - known
    found = solve_packed(kernel, free, curves, wanted)
    # where rounding has made it indefinite, a step along the gradient is still one downwards
    target[free] = problem.best(pulls)[free] if found is None else found
    return target - dual


def _along(problem: _Proximal, dual: Array, change: Array, values: Array, moved: Array) -> float:
    """Where on [0, 1] the slope of the objective along the line is 0, by bisection."""

    def slope(length: float) -> float:
        best = problem.best(problem.pulls(values + length * moved))
        return float(moved @ (dual + length * change - best))

    if slope(1.0) <= 0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return 0.5 * (low + high)


def solve_packed(kernel: Floats, chosen: NDArray[np.intp], added: Floats, wanted: Floats) -> Floats | None:
    """a with (K[chosen, chosen] + diag(added)) a = wanted, and None if rounding made that indefinite.

    By Cholesky's factorisation in rectangular full packed format (Gustavson et al. 2010): the lower triangle
    in columns of equal length, the second half of which lies transposed where the first has nothing.

    Parameters
    ----------
    kernel : K (m, m), symmetric
    chosen : (n,) of its rows and columns, in ascending order, at least one
    added, wanted : (n,)
    """
    from scipy.linalg.lapack import get_lapack_funcs

    n_rows = len(chosen)
    even = 1 - n_rows % 2
    n_first = (n_rows + 1) // 2
    packed = scratch("packed", (n_first, n_rows + even), kernel.dtype)
    for place, column in enumerate(packed):
        first = place + even
        row = n_first + place - 1 + even
        column[first:] = kernel[chosen[place], chosen[place:]]
        column[first] += added[place]
        if first:
            column[:first] = kernel[chosen[row], chosen[n_first : row + 1]]
            column[first - 1] += added[row]
    factorise, solve = get_lapack_funcs(("pftrf", "pftrs"), (packed,))
    factor, failed = factorise(n_rows, packed.reshape(-1), transr="N", uplo="L", overwrite_a=True)
    if failed:
        return None
    found: Floats = solve(n_rows, factor, wanted.astype(kernel.dtype), transr="N", uplo="L")[0]
    return found.reshape(wanted.shape)
