"""The dual of a kernel machine without intercept, solved on its whole kernel matrix.

minimise 1/2 f' K^-1 f + sum_i c_i l(f_i, y_i) over the predictions f = K a of m rows; its dual is
minimise 1/2 a' K a + sum_i (c_i l)*(-a_i), and a_i = -c_i l'(f_i, y_i) at the solution.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from distkern.core.compiled import array_type, compile_loop
from distkern.core.rng import Purpose, stream
from distkern.core.types import Array, Floats
from distkern.maths.losses.conjugate import AbstractDualLoss, RowConjugates
from distkern.solvers._cells.newton import newton, product

#: sweeps over the coordinates between two checks of their progress, and most sweeps
_SWEEPS, _MOST_SWEEPS = 10, 1000
#: steps of Newton's method at a time, how many it needs as a rule, and where every conjugate bends, and how
#: many multiplications of its factorisations take as long as one of a sweep, which is as fast as memory
_STEPS, _USUAL_STEPS, _FEWER_STEPS, _FASTER = 40, 30, 8, 12.0
#: share of the tolerance below which a gradient is not worth an update
_LEAST = 0.25
#: turns of the sweeps, between which Newton's method has one
_TURNS = 4
#: share of the primal objective that the duality gap may be; where it is more, the tolerance is divided by
#: this, as long as the gap falls by this factor
MOST_GAP, _FINER, _GETS_ON = 0.03, 30.0, 0.5


@dataclass(frozen=True)
class DualSolution:
    """A machine's coefficients, and how near to the optimum they are.

    Attributes
    ----------
    coefficients : a (m,), float64
    values : K a (m,), float64, of these very coefficients
    primal : 1/2 a' K a + sum_i c_i l(f_i, y_i)
    gap : primal minus dual objective, at least as large as what the primal lacks to its minimum
    converged : every coordinate's gradient is within the tolerance, whatever the gap
    work : multiplications, nearly
    left : those that it would take until it has converged, by how the last sweeps got on; no more than
        Newton's method takes
    """

    coefficients: Array
    values: Array
    primal: float
    gap: float
    converged: bool
    work: float
    left: float


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
    """Minimise the dual by coordinate descent with shrinking (Hsieh et al. 2008), all gradients kept.

    Coordinates are visited in random order, each set to its exact minimum; those at a bound or a kink that
    they would not leave are left out until the others are done. Where K is ill-conditioned (wide kernels,
    large costs) single coordinates crawl: where the sweeps that are left, at the rate of the last 20, would
    take longer than :func:`~distkern.solvers._cells.newton.newton`, it moves all of them together. Both are
    counted in multiplications.

    Predictions that are a tolerance off cost C times that, which is little beside |w|^2 for moderate C alone:
    where the duality gap is more than 3 % of the objective, it goes on with a smaller tolerance for as long
    as that halves the gap. Rounding of the kernel bounds what can be had.

    Parameters
    ----------
    kernel : (m, m) symmetric, positive semidefinite
    targets : (m,) real numbers, or -1 and +1
    costs : (m,) c_i > 0
    seed : of the order of the coordinates
    tolerance : largest gradient of a coordinate that is left, in units of predictions
    most_sweeps : limit on sweeps, without steps of Newton's method
    start : coefficients to start from; those beyond their bounds are put there
    """
    n_rows = len(targets)
    conjugates = RowConjugates.of(loss, targets, costs)
    dual = np.zeros(n_rows) if start is None else np.clip(start, -conjugates.below, conjugates.above)
    values = product(kernel, dual) if dual.any() else np.zeros(n_rows, dtype=kernel.dtype)
    generator = stream(seed, Purpose.ROW_ORDER)

    def solved(tolerance: float, before: float) -> DualSolution:
        converged, moves, left = _turns(kernel, conjugates, dual, values, generator, tolerance, most_sweeps)
        predictions = product(kernel, dual).astype(np.float64)
        regulariser = 0.5 * float(dual @ predictions)
        primal = regulariser + float(costs @ loss.value(predictions, targets, loss.parameters))
        gap = primal + regulariser + float(conjugates.values(dual).sum())
        work = before + float(moves) * n_rows
        return DualSolution(dual.copy(), predictions, primal, gap, converged, work, left)

    best = solved(tolerance, 0.0)
    goes_on = best.converged and most_sweeps is None
    while goes_on and best.gap > MOST_GAP * best.primal:
        tolerance /= _FINER
        finer = solved(tolerance, best.work)
        goes_on = finer.gap < _GETS_ON * best.gap
        kept = finer if finer.gap < best.gap else best
        # it was within the tolerance that was asked for
        best = replace(kept, converged=True, work=finer.work, left=0.0)
    return best


def _turns(
    kernel: Floats,
    rows: RowConjugates,
    dual: Array,
    values: Floats,
    generator: Any,
    tolerance: float,
    most_sweeps: int | None,
) -> tuple[bool, int, float]:
    """Sweeps and Newton's method by turns: what :func:`_sweeps` tells, with the steps of both as moves."""
    moves = 0
    for turn in range(_TURNS):
        converged, n_moves, left = _sweeps(kernel, rows, dual, values, generator, tolerance, most_sweeps)
        moves += n_moves
        if converged or turn == _TURNS - 1 or most_sweeps is not None:
            break
        # a factorisation takes a third of the cube
        moves += _newton(kernel, rows, dual, values, tolerance) * len(dual) // 3
    return converged, moves, left


def _sweeps(
    kernel: Floats,
    rows: RowConjugates,
    dual: Array,
    values: Floats,
    generator: Any,
    tolerance: float,
    most: int | None,
) -> tuple[bool, int, float]:
    """Sweeps as long as they get on; whether all coordinates are within the tolerance, how many moved, and
    the multiplications that are left.
    """
    loop, n_rows = descend(kernel.dtype), len(dual)
    everything = np.arange(n_rows, dtype=np.intp)
    active, slack, before, moves, left = everything, np.inf, np.inf, 0, math.inf
    for sweep in range(_MOST_SWEEPS if most is None else most):
        order = generator.permutation(active)
        kept, worst, n_moves = loop(
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
        moves += n_moves
        whole = len(active) == n_rows
        active, slack = order[:kept], max(worst, tolerance)
        if worst <= tolerance or not kept:
            if whole:
                return True, moves, 0.0
            # what was left out may have to move after all
            values[:] = product(kernel, dual)
            active = everything
        elif sweep % _SWEEPS == _SWEEPS - 1:
            left = _left(worst, before, tolerance) * n_moves * n_rows
            if before < math.inf and left > _newton_work(rows, dual):
                break
            before = worst
    return False, moves, min(left, _newton_work(rows, dual))


def _left(worst: float, before: float, tolerance: float) -> float:
    """Sweeps until the largest gradient is the tolerance, at the rate of the last ones."""
    if not worst < before < math.inf:
        return math.inf
    return _SWEEPS * math.log(worst / tolerance) / math.log(before / worst)


def _newton_work(rows: RowConjugates, dual: Array) -> float:
    """Work of Newton's method, in multiplications of a sweep: it factorises what is within its bounds, and
    takes two products of it.
    """
    n_free = float(np.count_nonzero((dual != 0) & (dual < rows.above) & (dual > -rows.below)))
    n_steps = _FEWER_STEPS if rows.bends else _USUAL_STEPS
    return n_steps * (n_free**3 / (3.0 * _FASTER) + 2.0 * n_free * len(dual))


def _newton(kernel: Floats, rows: RowConjugates, dual: Array, values: Floats, tolerance: float) -> int:
    """Newton's steps, undone if they lead upwards, as their unfinished proximal problems may; how many."""
    values[:] = product(kernel, dual)
    start, start_values = dual.copy(), values.copy()
    n_steps = newton(kernel, rows, dual, values.astype(np.float64), tolerance, _STEPS)
    values[:] = product(kernel, dual)
    if _objective(rows, dual, values) > _objective(rows, start, start_values):
        dual[:], values[:] = start, start_values
    return n_steps


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
        # the slope at a = 0, all else as it is, turned around
        pull = targets[i] - (np.float64(values[i]) - square * old)
        if pull > flat:
            new = min((pull - flat) / (square + rising[i]), above[i])
        elif pull < -flat:
            new = max((pull + flat) / (square + falling[i]), -below[i])
        else:
            new = 0.0
        change = new - old
        if change == 0.0:
            # how much the prediction would have to change for the coordinate to move
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
    """Exact minimisation over one dual coordinate after the other.

    The compiled function takes ``kernel`` (m, m), the
    :class:`~distkern.maths.losses.conjugate.RowConjugates` as ``targets``, ``flat``, ``rising``,
    ``falling``, ``above``, ``below``, then ``dual`` (m,) and ``values`` (m,) = K a, both of which it
    changes, ``active``, the coordinates in the order in which they are visited, ``slack`` and ``least``.
    Coordinates that stay where they are and would do so until their prediction changes by more than
    ``slack`` are taken out of ``active``; one whose gradient is no larger than ``least`` is left as it is,
    because moving it takes m times as long as looking at it. It returns how many are left at its front, the
    largest gradient that a coordinate had, and how many moved."""
    import numba

    numbers, written = array_type(np.float64, 1), array_type(np.float64, 1, writable=True)
    arguments = (
        array_type(dtype, 2),
        numbers,
        numba.float64,
        numbers,
        numbers,
        numbers,
        numbers,
        written,
        array_type(dtype, 1, writable=True),
        array_type(np.intp, 1, writable=True),
        numba.float64,
        numba.float64,
    )
    return compile_loop(_descend, arguments)
