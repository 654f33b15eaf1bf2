"""Bounds of what an objective is above its minimum, by duality: they hold wherever the minimum is.

For F(w) = nu/2 w' M w + mean_i s_i l(z_i w, y_i), any slopes a_i at which the conjugates l* are finite, and
r = mean_i s_i a_i z_i + nu M (w + d) for any d, weak duality says

    F(w) - min F <= mean_i s_i (l(f_i) + l*(a_i) - a_i f_i) + nu/2 |d - M^-1 r / nu|_M^2.

With a_i = l'(f_i) and d = 0 that is |g|^2 / (2 nu), for the gradient g of F. With a_i = l'(f_i) +
l''(f_i) z_i d for a step d of Newton's method r is what the step leaves of the gradient, and the bound is
about g' H^-1 g / 2: it needs no large nu. A constant function that no norm counts asks for slopes of sum 0,
see :func:`gradient_bound`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from distkern.bases.coordinates import Coordinates
from distkern.common.types import Array, Block, Floats
from distkern.features import Footprint
from distkern.passes import Reduce
from distkern.solvers.base import Problem, Steps
from distkern.solvers.feature_passes import pass_cost
from distkern.solvers.measuring import Model
from distkern.solvers.risk import Risk


def gradient_bound(
    nu: float, gradient: Array, coordinates: Coordinates | None = None, length: float | None = None
) -> float:
    """g . M^-1 g / (2 nu): F is strongly convex. Infinite for nu = 0.

    With a ``length`` the last function is a constant that nu does not count. Its slope g_b is not 0 at w, so
    the slopes a_i = l'(f_i) do not have the sum 0 of dual feasible ones. A step of the constant alone moves
    them there, to a_i = l' - l'' g_b / h with h = mean_i s_i l'', and lowers F by g_b^2 / (2 h); it changes
    the rest of the gradient by g_b times a mean of z. So

        ((|g_w| + length |g_b|)^2 + g_b^2) / (2 nu),

    for nu <= h. In g_b this has second order, exact for the square loss and otherwise an estimate near 0.

    Parameters
    ----------
    length : of that mean of z(x), at most: the root of the mean of |z|^2
    """
    dual = gradient if coordinates is None else coordinates.dual(gradient)
    last = len(gradient) - (length is not None)
    square = float(np.einsum("ij,ij->", gradient[:last], dual[:last]))
    if length is not None:
        constant = float(np.linalg.norm(gradient[last:]))
        square = (math.sqrt(max(square, 0.0)) + length * constant) ** 2 + constant**2
    return 0.5 * square / nu if nu else (math.inf if square else 0.0)


def knows_gaps(risk: Risk) -> bool:
    """Whether the loss has the conjugate that :func:`step_bound` takes."""
    return risk.loss.row_gaps(*np.zeros((3, 1, risk.n_outputs))) is not None


@dataclass(frozen=True)
class Direction:
    """Operand of passes along a direction from a model.

    Attributes
    ----------
    direction : v, (r, k)
    """

    model: Model
    direction: Floats


def step_bound(
    problem: Problem,
    footprint: Footprint,
    coordinates: Coordinates,
    operand: Direction,
    d: Array,
    nu: float,
    decrement: Callable[[Array], float] | None = None,
    left: Array | float = 0.0,
    length: float | None = None,
) -> Steps[float]:
    """The bound at w by a step d, with slopes a_i = l' + l'' z_i d, in one pass.

    Parameters
    ----------
    operand : w and d, coefficients of the functions
    d : in the coordinates
    decrement : g -> g . H^-1 g / 2 for about the Hessian, by which r is measured in place of nu
    left : what the step leaves of the gradient there, g + H d
    length : see :func:`gradient_bound`
    """
    found: Array = yield gap_pass(problem, operand, footprint)
    residual = left + coordinates.gradient(found[:-1]) / problem.n_rows
    metric = coordinates.basis.metric_product(d)
    square = nu * float(np.einsum("ij,ij->", d, metric)) - 2.0 * float(np.einsum("ij,ij->", d, residual))
    rest = gradient_bound(nu, residual, coordinates, length) if decrement is None else decrement(residual)
    return float(found[-1, 0]) / problem.n_rows + 0.5 * square + rest


def gap_pass(problem: Problem, operand: Direction | None, footprint: Footprint) -> Reduce[Array]:
    """The sums over rows for :func:`step_bound`: (r + 1, k), Z' S (the slopes' moves), then the gaps."""
    cost = pass_cost(replace(problem, n_outputs=2 * problem.n_outputs), footprint, 2)
    return Reduce("gap", gaps, operator.add, operand, cost=cost)


def gaps(block: Block, operand: Direction) -> Array:
    """The sums over a block of rows."""
    model, n_outputs, total = operand.model, operand.direction.shape[1], 0.0
    risk = model.risk

    def moved(rows: slice, found: Floats) -> Floats:
        nonlocal total
        own = block.take(rows)
        predictions, changes = np.hsplit(found.astype(np.float64), 2)
        answer = risk.loss.row_gaps(predictions, risk.targets(own).astype(np.float64), changes)
        assert answer is not None, "the loss has a conjugate"
        (each, moves), weights = answer, risk.weights(own)
        total += float(each.sum() if weights is None else each @ weights)
        return (moves if weights is None else moves * weights[:, None]).astype(found.dtype)

    both = np.hstack([model.coefficients, operand.direction])
    gradient = model.basis.gradient(block.features, both, moved, n_outputs)
    return np.vstack([gradient, np.full((1, n_outputs), total)])
