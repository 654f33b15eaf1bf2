"""Newton's method by products with the Hessian, each of which is a pass, where matrices do not fit."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.bases.base import AbstractBasis
from distkern.bases.coordinates import Coordinates, holds_most
from distkern.bases.linear import LinearBasis
from distkern.common.types import Array, Block, Floats
from distkern.features import Footprint
from distkern.passes import Derived, Reduce, bytes_of
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.descent import Descent, Point, low_enough, point_of
from distkern.solvers.explicit import gradient_pass, held_out_pass, pass_cost
from distkern.solvers.gram import Solve, factorised
from distkern.solvers.measuring import Model, Sums
from distkern.solvers.risk import Risk
from distkern.solvers.sample import sample_of, sampling

if TYPE_CHECKING:
    from distkern.solvers.newton import Newton, NewtonState


#: most products of a stage
MOST_PRODUCTS = 40
#: usual products of a stage, for the plan
_PRODUCTS = 8
#: (r, k) arrays that the driver holds
_VECTORS = 12
#: share of what conjugate gradients have gained that they may leave
_LEFT = 0.5
#: products before that is asked, but for steps that gain this share of the tolerance
_LEAST_PRODUCTS, _NOTHING = 4, 0.01


class ByProducts:
    """The stages of Newton's method that take truncated steps by conjugate gradients.

    A product H v = Z' (s l'' Z v) / n + nu v is a pass (with all blocks of softmax), and a last pass tries
    the step. The preconditioner is the Hessian of q rows, see :class:`Sampled`. They stop after about two
    thirds of the quadratic's decrease, for the square loss at the tolerance. The memory is r k numbers and
    (k + 2) q^2.
    """

    def __init__(self, solver: Newton) -> None:
        self._solver = solver

    def is_stuck(self, state: NewtonState) -> bool:
        """Whether the last stage has found no step."""
        return state.stage > 0 and state.steps == 0

    def descent(
        self, problem: Problem, state: NewtonState, model: Model, footprint: Footprint
    ) -> Steps[tuple[Descent, Array, dict[str, Any]]]:
        plain = Coordinates(model.basis)

        def measure(at: Array) -> Steps[Point]:
            sums: Sums = yield gradient_pass(problem, replace(model, coefficients=at), footprint)
            return point_of(self._solver.nu, plain, at, sums, sums.mean_gradient)

        exact = self._solver.basis(replace(problem, dtype=np.dtype(np.float64)), state.landmarks, state.gamma)
        rows = rows_of(problem, footprint.size, self._solver.risk.n_outputs, self._solver.memory_limit)
        sampled: Sampled = yield Derived("preconditioner", partial(sampled_rows, problem, exact, rows))
        start = Point(state.coefficients, state.objective, state.gradient, None)
        solve = sampled.inverse(state.coefficients, model.risk, self._solver.nu)
        found = yield from truncated_step(
            problem, footprint, model, start, measure, solve, nu=self._solver.nu, tolerance=self._solver.tol
        )
        return found, found.point.at, {"sampled": False, "damping": 0.0}

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        """The passes of a run after the first."""
        solver = self._solver
        return product_outlines(problem, footprint, solver.risk, solver.stages, solver.memory_limit)


@dataclass(frozen=True)
class Direction:
    """Operand of a product.

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
    """The product over a block of rows."""
    model, n_outputs = operand.model, operand.direction.shape[1]
    # the curvature of a quadratic does not depend on the model
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
        return sums / problem.n_rows + nu * model.basis.metric_product(direction)

    found = yield from conjugate_gradients(
        product,
        start.gradient,
        solve,
        value=start.value,
        share=0.0 if is_quadratic else _LEFT,
        tolerance=tolerance,
        most=MOST_PRODUCTS,
        together=model.risk.loss.target_kind == "classes",
    )
    after = yield from low_enough(measure, start, found.step)
    if after is None:
        return Descent(start, found.gained, 0, found.products)
    return Descent(after, found.left if is_quadratic else found.gained, found.products, found.products)


@dataclass(frozen=True)
class Solved:
    """Where conjugate gradients have led.

    Attributes
    ----------
    step : (r, k)
    gained : what the parabola is lower by there
    left : about what its minimum is lower than that
    products : made
    """

    step: Array
    gained: float
    left: float
    products: int


def conjugate_gradients(
    product: Callable[[Array], Steps[Array]],
    gradient: Array,
    solve: Solve,
    *,
    value: float,
    share: float,
    tolerance: float,
    most: int,
    together: bool,
) -> Steps[Solved]:
    """Towards the minimum of value + g . d + d . H d / 2, each step a product with H.

    The steps are those of Hestenes and Stiefel (1952). The minimum is near when j times what the j-th step
    has gained is at most ``share`` of what all have (Nash and Sofer 1990), or ``tolerance`` times the value,
    from the fourth on: where H is ill-conditioned, the first ones may gain little and be far from it.

    Parameters
    ----------
    product : H p, (r, k)
    gradient : g, (r, k)
    solve : P^-1, about H^-1
    value : of the parabola at 0
    most : products
    together : H mixes the outputs; else each of them has steps of its own
    """
    axes = "ij,ij->" if together else "ij,ij->j"
    step, residual = np.zeros_like(gradient), -gradient
    towards = solve(residual)
    direction, slope = towards, np.einsum(axes, residual, towards)
    gained, left = 0.0, float(0.5 * np.sum(slope))
    for number in range(1, most + 1):
        bent = yield from product(direction)
        bend = np.einsum(axes, direction, bent)
        length = slope / np.where(bend > 0, bend, np.inf)
        step = step + length * direction
        before, residual = residual, residual - length * bent
        last = 0.5 * float(np.sum(length * slope))
        gained, left = gained + last, number * last
        enough = max(share * gained, tolerance * (value - gained)) if number >= _LEAST_PRODUCTS else 0.0
        if not left > max(enough, _NOTHING * tolerance * (value - gained)):
            break
        towards = solve(residual)
        # the change of the residual beside it makes up for products that are rounded
        turn = np.einsum(axes, residual - before, towards) / np.where(slope > 0, slope, np.inf)
        slope = np.einsum(axes, residual, towards)
        direction = towards + turn * direction
    return Solved(step, gained, left, number)


#: most sampled rows, and rows for each root of the number of rows, so that their products take about a pass
_MOST_ROWS, _ROWS_PER_ROOT = 4096, 10
_ROWS_PER_FUNCTION, _LEAST_ROWS = 4, 1024
#: share of the memory limit that matrices of the rows may take, and bytes where there is no limit
_SHARE, _BYTES = 0.1, 2**29
#: numbers of the functions' coefficients that are multiplied at once
_PANEL_NUMBERS, _PANEL_ROWS = 2**20, 256
#: this factor times the mean of l'' |z|^2 / n_rows is added for directions that the sample does not show
_DAMPING = 0.03


def rows_of(problem: Problem, size: int, n_outputs: int, limit: int | None) -> int:
    """q, bounded by the number of rows and by the memory of q x q products with a factor for each output.

    Four times as many rows as functions show all directions; how much they bend a few functions in units far
    apart, some hundred do not show.
    """
    left = _BYTES if limit is None else int(limit * _SHARE)
    fitting = int((left / (8 * (n_outputs + 2))) ** 0.5)
    wanted = int(_ROWS_PER_ROOT * problem.n_rows**0.5)
    enough = max(_ROWS_PER_FUNCTION * size, _LEAST_ROWS)
    return max(min(_MOST_ROWS, wanted, problem.n_rows, enough, fitting), 1)


def preconditioner_bytes(problem: Problem, footprint: Footprint, n_outputs: int, n_rows: int) -> int:
    """Bytes of the preconditioner: its rows, their products and factors, and the functions being made."""
    panel = _panel(footprint.size)
    # bytes of the functions that are made at a time
    tile = footprint.row_bytes - 2 * (footprint.size - footprint.block_size) * problem.dtype.itemsize
    return bytes_of(
        {
            "products and factors": (n_outputs + 2, n_rows, n_rows, 8),
            "rows, also in double precision": (n_rows, problem.row_bytes + 8 * problem.row_numbers),
            "a panel of products, and vectors": (n_rows, panel + 4 * n_outputs, 8),
            "coefficients of a panel, and vectors": (footprint.size, 2 * panel + 4 * n_outputs, 8),
            "a tile in double precision": (2, footprint.tile_rows, tile),
            "the basis in double precision": (2, footprint.operand_bytes),
        }
    )


def _panel(size: int) -> int:
    return int(np.clip(_PANEL_NUMBERS // size, 1, _PANEL_ROWS))


def sampled_pass(problem: Problem, n_rows: int) -> Reduce[Block]:
    """The pass that draws about ``n_rows`` rows."""
    return sampling("rows of the preconditioner", problem, sample_of(problem, n_rows))


@dataclass(frozen=True)
class Sampled:
    """Some rows and the products Z Z' of their functions, (q, q).

    Attributes
    ----------
    basis : in double precision
    units : (r, 1) of linear columns that are far apart, by which Z is divided here; else (1, 1)
    """

    rows: Block
    basis: AbstractBasis
    products: Array
    units: Array

    def inverse(self, coefficients: Array, risk: Risk, nu: float) -> Solve:
        """g -> P^-1 g with P_j = Z' diag(s l_jj'') Z / q + (nu + damping) I, of each output j, at a model.

        By Woodbury's formula: for A = diag(s l_jj'' / q)^(1/2) and m = nu + damping

            P^-1 g = (g - Z' A (m I + A Z Z' A)^-1 A Z g) / m,

        whose products with Z make the functions of the rows anew. With units D it is that of Z D^-1, between
        D^-1 and D^-1: m D^2 is added instead of m I.
        """
        features, basis = self.rows.features, self.basis
        predictions = basis.combine(features, coefficients)
        bends = risk.curvatures(predictions, risk.targets(self.rows), risk.weights(self.rows))
        roots = np.sqrt(bends / len(bends))
        squares = np.square(roots) * self.products.diagonal()[:, None]
        shifts = nu + _DAMPING * squares.sum(axis=0) / len(roots)
        shifts = np.maximum(shifts, np.finfo(float).tiny)
        factors, is_shared = [], risk.loss.target_kind == "classes"
        for root, shift in zip(roots.T, shifts, strict=True):
            inner = np.asfortranarray(self.products * root[:, None] * root)
            factors.append(factorised(inner, shift))

        def solve(right: Array) -> Array:
            from scipy.linalg import cho_solve

            right = right / self.units
            along = roots * basis.combine(features, right / self.units)
            for output, factor in enumerate(factors):
                along[:, output] = cho_solve((factor, True), along[:, output])
            found: Array = (
                (right - basis.transposed(features, roots * along) / self.units) / shifts / self.units
            )
            # what all outputs share changes no loss of classes, and is 0 at the minimum
            if is_shared:
                found -= found.mean(axis=1, keepdims=True)
            return found

        return solve


def sampled_rows(problem: Problem, basis: AbstractBasis, n_rows: int) -> Steps[Sampled]:
    """Draw the rows, in one pass, and multiply their functions.

    Parameters
    ----------
    basis : in double precision
    """
    drawn: Block = yield sampled_pass(problem, n_rows)
    rows = replace(drawn, features=drawn.features.astype(basis.dtype))
    found, panel, units = rows.n_rows, _panel(basis.size), np.ones((1, 1))
    if isinstance(basis, LinearBasis):
        squares = basis.column_squares(rows.features)[:, None] / found
        if holds_most(_DAMPING * float(squares.sum()) / found, squares):
            units = np.sqrt(np.where(squares > 0, squares, squares.mean()))
    products = np.empty((found, found))
    for start in range(0, found, panel):
        own = slice(start, min(start + panel, found))
        columns = basis.transposed(rows.features[own], np.eye(own.stop - start))
        products[:, own] = basis.combine(rows.features, columns / np.square(units))
    return Sampled(rows, basis, 0.5 * (products + products.T), units)
