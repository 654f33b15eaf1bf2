"""Bounds of an objective's distance to its minimum, by duality: they hold at any distance.

For F(w) = nu/2 w' M w + mean_i s_i l(z_i w, y_i), any slopes a_i at which the conjugates l* are finite, and
r = mean_i s_i a_i z_i + nu M (w + d) for any d, weak duality gives

    F(w) - min F <= mean_i s_i (l(f_i) + l*(a_i) - a_i f_i) + nu/2 |d - M^-1 r / nu|_M^2.

With a_i = l'(f_i) and d = 0 this is |g|^2 / (2 nu) for the gradient g of F. With a_i = l'(f_i) + l''(f_i) z_i
d for a Newton step d, r is the part of the gradient that the step leaves, and the bound is about g' H^-1 g /
2, without a large nu. An unregularised constant function requires slopes of mean 0; other slopes are moved
there, see :class:`FreeConstant`.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, replace

import numpy as np

from distkern.core.types import Array, Block, Floats
from distkern.maths.bases.coordinates import Coordinates
from distkern.maths.features import Footprint
from distkern.maths.losses.base import AbstractLoss
from distkern.passes import Derived, Reduce
from distkern.solvers.base import Problem, Steps
from distkern.solvers.measuring import Model, pass_cost
from distkern.solvers.risk import Risk


@dataclass(frozen=True)
class FreeConstant:
    """The terms of bounds if the last function is an unregularised constant.

    Its slope g_b, the mean of s_i a_i, is not 0 at w, but dual feasible slopes have mean 0. The slopes are
    moved to such a'_i (:meth:`~distkern.maths.losses.base.AbstractLoss.balanced`). That raises the first mean
    of the bound by at most ``gap``, and moves the rest of the gradient by

        |mean_i s_i (a'_i - a_i) z_i| <= (mean_i s_i |a'_i - a_i|^2)^(1/2) (mean_i s_i |z_i|^2)^(1/2).

    Both are of first order in g_b, and hold for every g_b.

    Attributes
    ----------
    loss : l
    length : lower bound of the root of the mean of s_i |z_i|^2 without the constant; |z|^2 = z' M^-1 z
    balance : (2, k), :attr:`~distkern.solvers.measuring.Sums.mean_balance` of the slopes
    mean_loss : lower bound of the mean of s_i l(f_i)
    """

    loss: AbstractLoss
    length: float
    balance: Array
    mean_loss: float

    def moved(self, excess: Array) -> tuple[float, float]:
        """Return ``gap`` and the length by which the rest of the gradient moves, given g_b, (k,)."""
        gap, shift = self.loss.balanced(excess, self.balance, self.mean_loss)
        return gap, shift * self.length


def gradient_bound(
    nu: float, gradient: Array, coordinates: Coordinates | None = None, free: FreeConstant | None = None
) -> float:
    """g . M^-1 g / (2 nu), since F is strongly convex; infinite for nu = 0.

    With ``free`` the last function is an unregularised constant, and the bound is

        gap + (|g_w| + shift)^2 / (2 nu).
    """
    dual = gradient if coordinates is None else coordinates.dual(gradient)
    last = len(gradient) - (free is not None)
    square, gap = float(np.einsum("ij,ij->", gradient[:last], dual[:last])), 0.0
    if free is not None:
        gap, shift = free.moved(gradient[-1])
        square = (math.sqrt(max(square, 0.0)) + shift) ** 2
    return gap + (0.5 * square / nu if nu else (math.inf if square else 0.0))


def length_of(problem: Problem, model: Model, footprint: Footprint) -> Steps[float | None]:
    """The length of :class:`FreeConstant`, from a pass made once in a run; None without a constant."""
    if not model.basis.n_constant:
        return None

    def make() -> Steps[float]:
        total: float = yield norms_pass(problem, model, footprint)
        return math.sqrt(total / problem.n_rows)

    found: float = yield Derived("norms of rows", make)
    return found


def norms_pass(problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[float]:
    """The sum over rows of s_i |z_i|^2."""
    return Reduce("norms of rows", _norms, operator.add, model, cost=pass_cost(problem, footprint, 1))


def _norms(block: Block, model: Model) -> float:
    squares, weights = model.basis.norm_squares(block.features), model.risk.weights(block)
    return float(squares.sum() if weights is None else squares @ weights)


def knows_gaps(risk: Risk) -> bool:
    """Whether the loss has the conjugate needed by :func:`step_bound`."""
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
    left: Array | float = 0.0,
    free: FreeConstant | None = None,
) -> Steps[float]:
    """Return the bound at w from a step d, with slopes a_i = l' + l'' z_i d, in one pass.

    Parameters
    ----------
    operand : w and d as coefficients of the functions
    d : in the coordinates
    left : remaining gradient after the step, g + H d
    free : at w, if the last function is an unregularised constant
    """
    found: Array = yield gap_pass(problem, operand, footprint)
    sums, (excess, *balance) = found[:-4], found[-3:] / problem.n_rows
    residual, gap = left + coordinates.gradient(sums) / problem.n_rows, float(found[-4, 0]) / problem.n_rows
    metric, own = nu * coordinates.basis.metric_product(d), None
    if free is not None:
        own = replace(free, balance=np.array(balance))
        residual[-1] = excess
    return gap + gradient_bound(nu, residual - metric, coordinates, own)


def gap_pass(problem: Problem, operand: Direction | None, footprint: Footprint) -> Reduce[Array]:
    """The pass that sums over rows for :func:`step_bound`, (r + 4, k).

    The rows are Z' S (the slopes' moves), then the gaps, the slopes and their balance.
    """
    cost = pass_cost(replace(problem, n_outputs=2 * problem.n_outputs), footprint, 2)
    # logistic losses use SciPy's functions
    return Reduce("gap", gaps, operator.add, operand, cost=replace(cost, solves=True))


def gaps(block: Block, operand: Direction) -> Array:
    """Return the sums over a block of rows."""
    model, n_outputs, total = operand.model, operand.direction.shape[1], 0.0
    risk, balance = model.risk, np.zeros((3, n_outputs))

    def moved(rows: slice, found: Floats) -> Floats:
        nonlocal total, balance
        own = block.take(rows)
        predictions, changes = np.hsplit(found.astype(np.float64), 2)
        targets, weights = risk.targets(own).astype(np.float64), risk.weights(own)
        answer = risk.loss.row_gaps(risk.shifted(predictions), targets, changes)
        assert answer is not None, "the loss has a conjugate"
        each, moves = answer
        total += float(each.sum() if weights is None else each @ weights)
        slopes = risk.slopes(predictions, targets, weights)
        slopes += risk.products(predictions, targets, weights, changes)
        slopes += moves if weights is None else moves * weights[:, None]
        share = risk.balance(predictions, targets, weights, slopes)
        balance = balance + np.vstack([slopes.sum(axis=0), share])
        return (moves if weights is None else moves * weights[:, None]).astype(found.dtype)

    both = np.hstack([model.coefficients, operand.direction])
    gradient = model.basis.gradient(block.features, both, moved, n_outputs)
    return np.vstack([gradient, np.full((1, n_outputs), total), balance])
