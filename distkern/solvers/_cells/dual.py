"""The dual of a kernel machine without an intercept, solved on its whole kernel matrix.

Over the predictions f = K a of m rows, the primal minimises 1/2 f' K^-1 f + sum_i c_i l(f_i, y_i), and the
dual 1/2 a' K a + sum_i (c_i l)*(-a_i). At the solution a_i = -c_i l'(f_i, y_i). The papers (Hsieh et al.
2008; Li, Sun and Toh 2018) are on the left, our code on the right:

    a <- 0, or the solution of another problem      solve_dual(start=...)
    repeat:                                         _sweeps
        for i of A in random order:                 _descend, compiled by descend()
            a_i <- the minimum along coordinate i   there; f <- f + (change of a_i) K_i
            A <- A without i, if a_i is at a bound  there: "active"
                or a kink and would stay there
        until all gradients are small, first over   _sweeps
            A, then over all coordinates
    where sweeps would take longer, all at once:    newton
        a <- argmin of the dual + w/2 |a - center|^2    _Proximal (Rockafellar 1976)
            by Newton's method on the free coordinates  _direction, solve_packed
            with an exact search along the line         _along
    until the duality gap is small                  solve_dual
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.compiled import argument_types, compile_loop
from distkern.core.rng import Purpose, stream
from distkern.core.tiles import apply, scratch
from distkern.core.types import Array, Floats
from distkern.maths.losses.base import AbstractDualLoss, RowConjugates

#: sweeps between two checks of their progress, and most sweeps
_SWEEPS, _MOST_SWEEPS = 10, 1000
#: Newton steps per turn, their usual number, the same if every conjugate bends, and the multiplications of a
#: factorisation in the time of one of a sweep, which is limited by memory
_STEPS, _USUAL_STEPS, _FEWER_STEPS, _FASTER = 40, 30, 8, 12.0
#: share of the tolerance below which a gradient does not justify an update
_LEAST = 0.25
#: turns of sweeps, with Newton steps in between
_TURNS = 4
#: largest duality gap as a share of the primal objective. Above it the tolerance is divided by the second
#: number while that reduces the gap by the third as a factor
MOST_GAP, _FINER, _GETS_ON = 0.03, 30.0, 0.5
#: first, smallest and largest weight of the proximal term, as shares of the mean diagonal of K
_FIRST, _SMALLEST, _LARGEST = 1e-2, 1e-3, 1.0
#: Newton steps after which a proximal problem is made easier, and up to which it is made harder
_MANY, _FEW = 12, 3
#: least expected decrease of a step as a share of a' K a, in units of the kernel's rounding
_NO_GAIN = 10.0
_BISECTIONS = 25
#: rows of the kernel that are summed before the sum is added to the others
_ROWS_OF_A_SUM = 64


@dataclass(frozen=True)
class DualSolution:
    """The coefficients of a machine and their distance from the optimum.

    Attributes
    ----------
    coefficients : a (m,), float64
    values : K a (m,), float64, computed from these coefficients
    primal : 1/2 a' K a + sum_i c_i l(f_i, y_i)
    gap : primal minus dual objective, an upper bound on the distance of the primal from its minimum
    converged : whether every coordinate's gradient is within the tolerance, whatever the gap
    """

    coefficients: Array
    values: Array
    primal: float
    gap: float
    converged: bool


def solve_dual(
    kernel: Floats,
    targets: Array,
    costs: Array,
    loss: AbstractDualLoss,
    *,
    seed: int,
    tolerance: float = 0.05,
    most_sweeps: int | None = None,
    start: Array | None = None,
) -> DualSolution:
    """Minimise the dual by coordinate descent with shrinking (Hsieh et al. 2008), keeping all gradients.

    If K is ill-conditioned (wide kernels, large costs) coordinate descent is slow. When the remaining sweeps,
    extrapolated from the last 20, would take longer than :func:`newton`, it updates all coordinates together.
    Both are measured in multiplications.

    An error of one tolerance in the predictions costs C times as much in the objective, which is small
    compared with |w|^2 only for moderate C. If the duality gap exceeds 3 % of the objective, the solver
    continues with a smaller tolerance while that halves the gap. Rounding of the kernel limits the accuracy.

    Parameters
    ----------
    kernel : (m, m) symmetric, positive semidefinite
    targets : (m,) real numbers, or -1 and +1
    costs : (m,) c_i > 0
    seed : of the order of the coordinates
    tolerance : largest remaining gradient of a coordinate, in units of predictions
    most_sweeps : limit on sweeps, without Newton steps and smaller tolerances
    start : initial coefficients, clipped to their bounds
    """
    conjugates = RowConjugates.of(loss, targets, costs)
    dual = np.zeros(len(targets)) if start is None else np.clip(start, -conjugates.below, conjugates.above)
    values = product(kernel, dual) if dual.any() else np.zeros(len(targets), dtype=kernel.dtype)
    generator = stream(seed, Purpose.ROW_ORDER)

    def solved(tolerance: float) -> DualSolution:
        for turn in range(_TURNS):
            converged = _sweeps(kernel, conjugates, dual, values, generator, tolerance, most_sweeps)
            if converged or turn == _TURNS - 1 or most_sweeps is not None:
                break
            _newton_turn(kernel, conjugates, dual, values, tolerance)
        predictions = product(kernel, dual).astype(np.float64)
        regulariser = 0.5 * float(dual @ predictions)
        primal = regulariser + float(costs @ loss.value(predictions, targets, loss.parameters))
        gap = primal + regulariser + float(conjugates.values(dual).sum())
        return DualSolution(dual.copy(), predictions, primal, gap, converged)

    best = solved(tolerance)
    goes_on = best.converged and most_sweeps is None
    while goes_on and best.gap > MOST_GAP * best.primal:
        tolerance /= _FINER
        finer = solved(tolerance)
        goes_on = finer.gap < _GETS_ON * best.gap
        # the requested tolerance was reached before
        best = replace(finer if finer.gap < best.gap else best, converged=True)
    return best


def _sweeps(
    kernel: Floats,
    rows: RowConjugates,
    dual: Array,
    values: Floats,
    generator: Any,
    tolerance: float,
    most: int | None,
) -> bool:
    """Sweep while that is faster than Newton's method; return whether all gradients are within the
    tolerance.
    """
    loop, n_rows = descend(kernel.dtype), len(dual)
    everything = np.arange(n_rows, dtype=np.intp)
    active, slack, before = everything, np.inf, np.inf
    for sweep in range(_MOST_SWEEPS if most is None else most):
        order = generator.permutation(active)
        n_kept, worst, n_moves = loop(
            kernel,
            rows.targets,
            float(rows.flat),
            rows.rising,
            rows.falling,
            rows.above,
            rows.below,
            dual,
            values,
            order,
            slack,
            _LEAST * tolerance,
        )
        whole = len(active) == n_rows
        active, slack = order[:n_kept], max(worst, tolerance)
        if worst <= tolerance or not n_kept:
            if whole:
                return True
            # coordinates outside the active set may have to move after all
            values[:] = product(kernel, dual)
            active = everything
        elif sweep % _SWEEPS == _SWEEPS - 1:
            left = _sweeps_left(worst, before, tolerance) * n_moves * n_rows
            if before < math.inf and left > _newton_work(rows, dual):
                break
            before = worst
    return False


def _sweeps_left(worst: float, before: float, tolerance: float) -> float:
    """Extrapolate the number of sweeps until the largest gradient equals the tolerance."""
    if not worst < before < math.inf:
        return math.inf
    return _SWEEPS * math.log(worst / tolerance) / math.log(before / worst)


def _newton_work(rows: RowConjugates, dual: Array) -> float:
    """Work of Newton's method in multiplications of a sweep: each step factorises the matrix of the free
    coordinates and takes two products with it.
    """
    n_free = float(np.count_nonzero((dual != 0) & (dual < rows.above) & (dual > -rows.below)))
    n_steps = _FEWER_STEPS if rows.bends else _USUAL_STEPS
    return n_steps * (n_free**3 / (3.0 * _FASTER) + 2.0 * n_free * len(dual))


def _newton_turn(kernel: Floats, rows: RowConjugates, dual: Array, values: Floats, tolerance: float) -> None:
    """Take Newton steps, and undo them if they increase the objective, as an unfinished problem may."""
    values[:] = product(kernel, dual)
    start, start_values = dual.copy(), values.copy()
    newton(kernel, rows, dual, values.astype(np.float64), tolerance, _STEPS)
    values[:] = product(kernel, dual)
    if _objective(rows, dual, values) > _objective(rows, start, start_values):
        dual[:], values[:] = start, start_values


def _objective(rows: RowConjugates, dual: Array, values: Floats) -> float:
    return 0.5 * float(dual @ values) + float(rows.values(dual).sum())


def _descend(
    kernel: Any,
    targets: Any,
    flat: float,
    rising: Any,
    falling: Any,
    above: Any,
    below: Any,
    dual: Any,
    values: Any,
    active: Any,
    slack: float,
    least: float,
) -> tuple[int, float, int]:
    n_kept = 0
    n_updates = 0
    worst = 0.0
    n = values.shape[0]
    for place in range(active.shape[0]):
        i = active[place]
        square = np.float64(kernel[i, i])
        old = dual[i]
        # the negative slope at a_i = 0, the others fixed
        pull = targets[i] - (np.float64(values[i]) - square * old)
        if pull > flat:
            new = min((pull - flat) / (square + rising[i]), above[i])
        elif pull < -flat:
            new = max((pull + flat) / (square + falling[i]), -below[i])
        else:
            new = 0.0
        change = new - old
        if change == 0.0:
            # by how much the prediction would have to change for the coordinate to move
            room = math.inf
            if new == 0.0:
                if above[i] > 0.0:
                    room = flat - pull
                if below[i] > 0.0:
                    room = min(room, flat + pull)
            elif new == above[i]:
                room = pull - flat - (square + rising[i]) * new
            elif new == -below[i]:
                room = -pull - flat + (square + falling[i]) * new
            else:
                room = 0.0
            if room > slack:
                continue
        else:
            curve = rising[i] if new > 0.0 or old > 0.0 else falling[i]
            gradient = abs(change) * (square + curve)
            worst = max(worst, gradient)
            if gradient > least:
                dual[i] = new
                step = values.dtype.type(change)
                for j in range(n):
                    values[j] += step * kernel[i, j]
                n_updates += 1
        active[n_kept] = i
        n_kept += 1
    return n_kept, worst, n_updates


@cache
def descend(dtype: np.dtype[Any]) -> Callable[..., tuple[int, float, int]]:
    """Compile the sweep that minimises exactly over one dual coordinate after the other.

    The compiled function takes ``kernel`` (m, m), the
    :class:`~distkern.maths.losses.base.RowConjugates` as ``targets``, ``flat``, ``rising``,
    ``falling``, ``above`` and ``below``, then ``dual`` (m,) and ``values`` (m,) = K a, which it updates,
    ``active``, the coordinates in visiting order, ``slack`` and ``least``. It removes coordinates from
    ``active`` that do not move and would not until their prediction changes by more than ``slack``. It does
    not move coordinates with a gradient of at most ``least``, since an update takes m times as long as a
    check. It returns the number of coordinates left at the front of ``active``, the largest gradient and the
    number of updates.
    """
    text = "x[:, :] f8[:] f8 f8[:] f8[:] f8[:] f8[:] f8[:]! x[:]! i8[:]! f8 f8"
    return compile_loop(_descend, argument_types(text, x=dtype))


@dataclass(frozen=True)
class _Proximal:
    """min_a 1/2 a' K a + sum_i (c_i l)*(-a_i) + weight / 2 |a - center|^2, by its gradient in f = K a."""

    rows: RowConjugates
    center: Array
    weight: float

    def pulls(self, values: Array) -> Array:
        return self.rows.targets - values + self.weight * self.center

    def best(self, pulls: Array) -> Array:
        """Return the optimal a (n,) for given predictions."""
        rows = self.rows
        up = np.minimum(_divided(pulls - rows.flat, rows.rising + self.weight), rows.above)
        down = np.maximum(_divided(pulls + rows.flat, rows.falling + self.weight), -rows.below)
        return np.where(pulls > rows.flat, up, np.where(pulls < -rows.flat, down, 0.0))


def newton(
    kernel: Floats, rows: RowConjugates, dual: Array, values: Array, tolerance: float, n_steps: int
) -> int:
    """Minimise over all coordinates together; update ``dual`` (m,) and return the number of steps.

    A sequence of proximal problems (Rockafellar 1976), each solved by Newton steps on the gradient of its
    dual, which the Moreau envelope makes differentiable, with an exact line search (Li, Sun and Toh 2018). If
    every row's conjugate bends, as for the squared hinge, the weight is 0 and one problem suffices (Chapelle
    2007) unless rounding makes it stall. The matrix covers the coordinates inside their bounds, with the
    proximal weight on its diagonal, and needs at most m^2 / 2 numbers besides the kernel. The method ends
    when a proximal step changes no gradient by more than the tolerance. Products have the kernel's precision.

    Parameters
    ----------
    kernel : (m, m)
    dual, values : (m,) a within its bounds, and K a
    tolerance : see :func:`solve_dual`
    n_steps : most steps
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
                share = min(max(3.0 * share, _SMALLEST), _LARGEST)
            elif since <= _FEW:
                share = max(share / 3.0, _SMALLEST)
            free_dual, values, since = feasible, product(kernel, feasible).astype(np.float64), 0
    return n_steps


def _divided(slopes: Array, curves: Array) -> Array:
    """Return the ratio, or 0 where nothing bends, on sides without room (:attr:`RowConjugates.bends`)."""
    return apply(np.divide, slopes, curves, into=np.zeros_like(slopes), where=curves > 0)


def product(kernel: Floats, vector: Array) -> Floats:
    """Return K v (m,) for a symmetric K in its precision, reading only the rows with v_i != 0."""
    total = np.zeros(len(vector), dtype=kernel.dtype)
    loop = add_rows(kernel.dtype)
    loop(kernel, vector.astype(kernel.dtype), np.flatnonzero(vector), total)
    return total


def _add_rows(kernel: Any, vector: Any, numbers: Any, total: Any) -> None:
    # sums of a few rows lose fewer digits than a sum of all
    part = np.empty_like(total)
    for start in range(0, numbers.shape[0], _ROWS_OF_A_SUM):
        stop = min(start + _ROWS_OF_A_SUM, numbers.shape[0])
        part[:] = total.dtype.type(0)
        n_fours = (stop - start) // 4 * 4
        # four rows for each load and store of the sums
        for place in range(start, start + n_fours, 4):
            first, second = numbers[place], numbers[place + 1]
            third, fourth = numbers[place + 2], numbers[place + 3]
            for j in range(part.shape[0]):
                part[j] += (
                    vector[first] * kernel[first, j]
                    + vector[second] * kernel[second, j]
                    + vector[third] * kernel[third, j]
                    + vector[fourth] * kernel[fourth, j]
                )
        for place in range(start + n_fours, stop):
            first = numbers[place]
            for j in range(part.shape[0]):
                part[j] += vector[first] * kernel[first, j]
        total += part


@cache
def add_rows(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile total += K v over the rows of K with the given numbers."""
    return compile_loop(_add_rows, argument_types("x[:, :] x[:] i8[:] x[:]!", x=dtype))


def _direction(kernel: Floats, problem: _Proximal, dual: Array, values: Array) -> Array:
    """Return the step to the solution if no coordinate left its piece of the conjugate."""
    rows, pulls = problem.rows, problem.pulls(values)
    target = problem.best(pulls)
    up, down = pulls > rows.flat, pulls < -rows.flat
    free = np.flatnonzero((up & (target < rows.above)) | (down & (target > -rows.below)))
    if not len(free):
        return target - dual
    target[free] = 0.0
    fixed = product(kernel, target)[free].astype(np.float64)
    curves = np.where(up, rows.rising, rows.falling)[free] + problem.weight
    flats = np.where(up[free], rows.flat, -rows.flat)
    right = rows.targets[free] - flats + problem.weight * problem.center[free] - fixed
    solution = solve_packed(kernel, free, curves, right)
    # if rounding made the matrix indefinite, a gradient step still descends
    target[free] = problem.best(pulls)[free] if solution is None else solution
    return target - dual


def _along(problem: _Proximal, dual: Array, change: Array, values: Array, moved: Array) -> float:
    """Return the zero of the slope along the line in [0, 1], by bisection."""

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


def solve_packed(kernel: Floats, chosen: NDArray[np.intp], added: Floats, right: Floats) -> Floats | None:
    """Solve (K[chosen, chosen] + diag(added)) a = right; return None if rounding made the matrix indefinite.

    Uses Cholesky's factorisation in rectangular full packed format (Gustavson et al. 2010): columns of equal
    length store the lower triangle, whose second half is transposed into the unused part of the first.

    Parameters
    ----------
    kernel : K (m, m), symmetric
    chosen : (n,) rows and columns of K, ascending, at least one
    added, right : (n,)
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
    solution: Floats = solve(n_rows, factor, right.astype(kernel.dtype), transr="N", uplo="L")[0]
    return solution.reshape(right.shape)
