"""Newton's steps from products with the Hessian, each of which is a pass, where matrices do not fit."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from distkern.common.types import Block, Floats
from distkern.features import Footprint
from distkern.passes import Reduce
from distkern.solvers._newton.conjugate import conjugate_gradients
from distkern.solvers._newton.preconditioner import preconditioner_bytes, rows_of, sampled_pass
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.descent import Descent, Point, low_enough
from distkern.solvers.explicit import gradient_pass, held_out_pass, pass_cost
from distkern.solvers.gram import Solve
from distkern.solvers.measuring import Model
from distkern.solvers.risk import Risk

Array = NDArray[np.float64]

#: of a stage, at most
MOST_PRODUCTS = 40
#: of a stage, as a rule
_PRODUCTS = 8
#: (r, k) arrays
_VECTORS = 12
#: of what conjugate gradients have gained, what they may leave
_SHARE = 0.5


@dataclass(frozen=True)
class Direction:
    """The operand of a product.

    Attributes
    ----------
    direction : v, (r, k)
    """

    model: Model
    direction: Floats


def product_pass(problem: Problem, operand: Direction | None, footprint: Footprint) -> Reduce[Array]:
    """Z' (s l'' (Z v)), (r, k), with the second derivatives at a model."""
    cost = pass_cost(replace(problem, n_outputs=2 * problem.n_outputs), footprint, 2)
    cost = replace(cost, result_bytes=cost.result_bytes // 2)
    return Reduce("Hessian product", multiplied, operator.add, operand, cost=cost)


def multiplied(block: Block, operand: Direction) -> Array:
    """A block's share."""
    model, n_outputs = operand.model, operand.direction.shape[1]
    # how a parabola is bent is the same everywhere
    is_quadratic = model.risk.loss.is_quadratic
    both = operand.direction if is_quadratic else np.hstack([model.coefficients, operand.direction])

    def bent(rows: slice, found: Floats) -> Floats:
        own, along = block.take(rows), found[:, -n_outputs:]
        risk, predictions = model.risk, found[:, :n_outputs]
        return risk.products(predictions, risk.targets(own), risk.weights(own), along)

    return model.basis.gradient(block.features, both, bent, n_outputs)


def product_outlines(
    problem: Problem, footprint: Footprint, risk: Risk, stages: int, limit: int | None
) -> list[Outline]:
    """The passes of a run, about."""
    if risk.loss.is_quadratic:
        # the second one makes up for rounding
        stages = min(stages, 2)
    n_rows = rows_of(problem, footprint.size, risk.n_outputs, limit)
    held = preconditioner_bytes(problem, footprint, risk.n_outputs, n_rows)
    # the model, its gradient, the step and what conjugate gradients go by
    held += _VECTORS * 8 * footprint.size * risk.n_outputs + footprint.process_bytes
    footprint = replace(footprint, driver_bytes=footprint.driver_bytes + held)
    drawn = sampled_pass(problem, n_rows)
    cost = replace(drawn.cost, driver_bytes=footprint.driver_bytes, driver_compiled=footprint.is_compiled)
    return [
        Outline(replace(drawn, cost=cost)),
        Outline(gradient_pass(problem, None, footprint), 1 + stages),
        Outline(product_pass(problem, None, footprint), stages * _PRODUCTS),
        Outline(held_out_pass(problem, None, footprint), stages),
    ]


def truncated_step(
    problem: Problem,
    footprint: Footprint,
    model: Model,
    start: Point,
    measure: Callable[[Array], Steps[Point]],
    solve: Solve,
    *,
    nu: float,
    tolerance: float,
) -> Steps[Descent]:
    """Conjugate gradients, which stop early (Dembo and Steihaug 1983), and a step in their direction.

    Parameters
    ----------
    model : at the start
    start : measured there if it has no gradient
    measure : the objective and the gradient, a pass
    solve : P^-1, about the inverse Hessian there

    Returns
    -------
    The ``decrement`` is what the parabola says that the step, or of a loss that is one the next step, lowers
    the objective by; ``steps`` are the products, 0 if nothing in the direction is lower.
    """
    is_quadratic = model.risk.loss.is_quadratic
    if not len(start.gradient):
        start = yield from measure(start.at)

    def product(direction: Array) -> Steps[Array]:
        sums: Array = yield product_pass(problem, Direction(model, direction), footprint)
        return sums / problem.n_rows + nu * direction

    found = yield from conjugate_gradients(
        product,
        start.gradient,
        solve,
        value=start.value,
        share=0.0 if is_quadratic else _SHARE,
        tolerance=tolerance,
        most=MOST_PRODUCTS,
        together=model.risk.loss.target_kind == "classes",
    )
    after = yield from low_enough(measure, start, found.step)
    if after is None:
        return Descent(start, found.gained, 0, found.products)
    return Descent(after, found.left if is_quadratic else found.gained, found.products, found.products)
