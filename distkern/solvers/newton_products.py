"""Newton's method by products with the Hessian, one pass each, for matrices that do not fit into memory."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.types import Array, Block, Floats
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.bases.coordinates import Coordinates, holds_most, spreads
from distkern.maths.bases.linear import LinearBasis
from distkern.maths.features import Footprint
from distkern.passes import Derived, Reduce, bytes_of
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.bounds import (
    Direction,
    FreeConstant,
    gap_pass,
    gradient_bound,
    knows_gaps,
    length_of,
    norms_pass,
    step_bound,
)
from distkern.solvers.descent import Descent, Point, low_enough, point_of
from distkern.solvers.gram import Solve, factorised
from distkern.solvers.measuring import Model, Sums, gradient_pass, held_out_pass, pass_cost
from distkern.solvers.risk import Risk
from distkern.solvers.sample import sample_of, sampling

if TYPE_CHECKING:
    from distkern.solvers.newton import Newton, NewtonState


#: most products of a stage
MOST_PRODUCTS = 40
#: usual products of a stage, for the plan
_PRODUCTS = 8
#: (r, k) arrays held by the driver
_VECTORS = 12
#: remaining decrease at which conjugate gradients stop, as a share of the decrease so far
_LEFT = 0.5
#: products before that test; share of the decrease that is rounding
_LEAST_PRODUCTS, _NOTHING = 4, 1e-15
#: share of the tolerance at which a closed bound stops them
_CLOSED = 0.3


class ByProducts:
    """The stages of Newton's method with truncated conjugate gradient steps.

    A product H v = Z' (s l'' Z v) / n + nu v is a pass (with all blocks of softmax), and a last pass tries
    the step. The preconditioner is the Hessian over q rows, see :class:`SampledProducts`. Conjugate gradients
    stop after about two thirds of the quadratic's decrease; for the square loss and near the minimum they
    stop once |residual|^2 / (2 nu) shows that little is left. The memory is r k numbers and (k + 2) q^2.
    """

    def __init__(self, solver: Newton) -> None:
        self._solver = solver

    def is_stuck(self, state: NewtonState) -> bool:
        """Whether the last stage found no step."""
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
        sampled: SampledProducts = yield Derived(
            "preconditioner", partial(sampled_rows, problem, exact, rows)
        )
        start = Point(state.coefficients, state.objective, state.gradient, None, state.balance)
        solve = sampled.inverse(state.coefficients, model.risk, self._solver.nu)
        found = yield from truncated_step(
            problem,
            footprint,
            model,
            start,
            measure,
            solve,
            nu=self._solver.nu,
            tolerance=self._solver.tol,
            zero=state.zero,
            length=(yield from length_of(problem, model, footprint)),
            before=state.upper,
        )
        return found, found.point.at, {"sampled": False, "damping": 0.0}

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        """The passes of a run after the first."""
        solver = self._solver
        passes = product_outlines(problem, footprint, solver.risk, solver.stages, solver.memory_limit)
        norms = [Outline(norms_pass(problem, None, footprint))] if solver.n_constant else []
        return [*passes, *norms]


def product_pass(problem: Problem, operand: Direction | None, footprint: Footprint) -> Reduce[Array]:
    """The pass that sums Z' (s l'' (Z v)), (r, k), with second derivatives at a model."""
    cost = pass_cost(replace(problem, n_outputs=2 * problem.n_outputs), footprint, 2)
    cost = replace(cost, result_bytes=cost.result_bytes // 2)
    return Reduce("Hessian product", multiplied, operator.add, operand, cost=cost)


def multiplied(block: Block, operand: Direction) -> Array:
    """Return the product over a block of rows."""
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
    """The passes of a run, approximately."""
    if risk.loss.is_quadratic:
        # the second one corrects rounding
        stages = min(stages, 2)
    n_rows = rows_of(problem, footprint.size, risk.n_outputs, limit)
    held = preconditioner_bytes(problem, footprint, risk.n_outputs, n_rows)
    # the model, its gradient, the step and the vectors of conjugate gradients
    held += _VECTORS * 8 * footprint.size * risk.n_outputs + footprint.process_bytes
    footprint = replace(footprint, driver_bytes=footprint.driver_bytes + held)
    drawn = sampled_pass(problem, n_rows)
    cost = replace(drawn.cost, driver_bytes=footprint.driver_bytes, driver_compiled=footprint.is_compiled)
    passes = [
        Outline(replace(drawn, cost=cost)),
        Outline(gradient_pass(problem, None, footprint), 1 + stages),
        Outline(product_pass(problem, None, footprint), stages * _PRODUCTS),
        Outline(held_out_pass(problem, None, footprint), stages),
    ]
    if not risk.loss.is_quadratic and knows_gaps(risk):
        passes.append(Outline(gap_pass(problem, None, footprint), 0.5))
    return passes


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
    zero: float,
    length: float | None = None,
    before: float = math.inf,
) -> Steps[Descent]:
    """Take a step in the direction of truncated conjugate gradients (Dembo and Steihaug 1983).

    Parameters
    ----------
    model : at the start
    start : measured there if it has no gradient
    measure : the objective and the gradient, one pass
    solve : P^-1, approximately the inverse Hessian there
    tolerance : remaining distance to the minimum as a share of zero - F
    zero : objective of the model 0
    length : see :class:`~distkern.solvers.bounds.FreeConstant`; None without a constant
    before : the bound at the start

    Returns
    -------
    the descent, with the number of products as ``steps``, 0 if no point in the direction is lower by more
    than rounding
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
        nu=nu,
        enough=lambda gained: tolerance * (zero - start.value + gained),
        share=0.0 if is_quadratic else _LEFT,
        most=MOST_PRODUCTS,
        together=model.risk.loss.target_kind == "classes",
    )

    def free(point: Point) -> FreeConstant | None:
        loss = model.risk.loss
        return None if length is None else FreeConstant(loss, length, point.balance, point.value)

    after = yield from low_enough(measure, start, found.step)
    if after is None:
        return Descent(start, gradient_bound(nu, start.gradient, free=free(start)), 0, found.products)
    bound, left = gradient_bound(nu, after.gradient, free=free(after)), tolerance * (zero - after.value)
    if bound > left >= found.gained + found.left and knows_gaps(model.risk):
        # a bound at the start, from which the step descended
        plain = Coordinates(model.basis)
        along = Direction(model, found.step)
        of_step = yield from step_bound(
            problem, footprint, plain, along, found.step, nu, left=-found.residual, free=free(start)
        )
        bound = min(bound, max(of_step + after.value - start.value, 0.0))
    is_lower = bound <= max(left, 0.5 * before) or after.is_lower_than(start, problem.dtype)
    is_rounding = found.gained <= left and not is_lower
    return Descent(after, bound, 0 if is_rounding else found.products, found.products)


@dataclass(frozen=True)
class Solved:
    """The result of conjugate gradients.

    Attributes
    ----------
    step : d, (r, k)
    residual : -g - H d, (r, k)
    gained : decrease of the parabola at d
    left : bound of its remaining decrease
    products : products made
    """

    step: Array
    residual: Array
    gained: float
    left: float
    products: int


def conjugate_gradients(
    product: Callable[[Array], Steps[Array]],
    gradient: Array,
    solve: Solve,
    *,
    nu: float,
    enough: Callable[[float], float],
    share: float,
    most: int,
    together: bool,
) -> Steps[Solved]:
    """Approach the minimum of g . d + d . H d / 2, one product with H >= nu I a step.

    The steps follow Hestenes and Stiefel (1952). They end once |residual|^2 / (2 nu), which bounds the
    remaining decrease, is small relative to ``enough``. With a ``share`` they also end, if more than that can
    be gained, once the remaining decrease is about this share of the decrease so far: it is estimated by j
    times the gain of the j-th step (Nash and Sofer 1990) or half the residual's square by P, whichever is
    larger.

    Parameters
    ----------
    product : H p, (r, k)
    gradient : g, (r, k)
    solve : P^-1, approximately H^-1
    enough : acceptable remaining decrease as a function of the decrease so far
    most : most products
    together : H couples the outputs; otherwise each output has its own steps
    """
    axes = "ij,ij->" if together else "ij,ij->j"
    step, residual = np.zeros_like(gradient), -gradient
    towards = solve(residual)
    direction, slope = towards, np.einsum(axes, residual, towards)
    gained, left = 0.0, gradient_bound(nu, residual)
    for number in range(1, most + 1):
        bent = yield from product(direction)
        bend = np.einsum(axes, direction, bent)
        length = slope / np.where(bend > 0, bend, np.inf)
        step = step + length * direction
        before, residual = residual, residual - length * bent
        last = 0.5 * float(np.sum(length * slope))
        gained, left = gained + last, gradient_bound(nu, residual)
        towards = solve(residual)
        # using the change of the residual makes up for rounded products
        turn = np.einsum(axes, residual - before, towards) / np.where(slope > 0, slope, np.inf)
        slope = np.einsum(axes, residual, towards)
        direction = towards + turn * direction
        seems = max(number * last, 0.5 * float(np.sum(slope)))
        is_enough = number >= _LEAST_PRODUCTS and seems <= share * gained and gained + seems > enough(gained)
        if is_enough or left <= _CLOSED * enough(gained) or not seems > _NOTHING * gained:
            break
    return Solved(step, residual, gained, left, number)


#: most sampled rows, and rows per root of the number of rows, so that their products take about one pass
_MOST_ROWS, _ROWS_PER_ROOT = 4096, 10
_ROWS_PER_FUNCTION, _LEAST_ROWS = 4, 1024
#: rows for each function from which the spread of every column is known
_ROWS_OF_ALL = 16
#: share of the memory limit for matrices of the rows, and bytes without a limit
_SHARE, _BYTES = 0.1, 2**29
#: numbers of the functions' coefficients that are multiplied at once
_PANEL_NUMBERS, _PANEL_ROWS = 2**20, 256
#: this factor times the mean of l'' |z|^2 / n_rows is added for directions missing from the sample
_DAMPING = 0.03


def rows_of(problem: Problem, size: int, n_outputs: int, limit: int | None) -> int:
    """q, bounded by the number of rows and by the memory of q x q products with a factor for each output.

    Four times as many rows as functions show all directions; for a few functions with very different units,
    some hundred rows do not show their curvatures.
    """
    left = _BYTES if limit is None else int(limit * _SHARE)
    fitting = int((left / (8 * (n_outputs + 2))) ** 0.5)
    wanted = int(_ROWS_PER_ROOT * problem.n_rows**0.5)
    enough = max(_ROWS_PER_FUNCTION * size, _LEAST_ROWS)
    return max(min(_MOST_ROWS, wanted, problem.n_rows, enough, fitting), 1)


def preconditioner_bytes(problem: Problem, footprint: Footprint, n_outputs: int, n_rows: int) -> int:
    """Bytes of the preconditioner: its rows, their products and factors, and tiles of functions."""
    panel = _panel(footprint.size)
    # bytes of the functions built at a time
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
    """The pass that samples about ``n_rows`` rows."""
    return sampling("rows of the preconditioner", problem, sample_of(problem, n_rows))


@dataclass(frozen=True)
class SampledProducts:
    """Some rows and the products Z Z' of their functions, (q, q).

    Attributes
    ----------
    basis : in double precision
    units : (r, 1) divisors of Z for linear columns if there are few or their units differ much; else (1, 1)
    means : (r, 1) subtracted from linear columns next to a constant one; else (0, 1)
    """

    rows: Block
    basis: AbstractBasis
    products: Array
    units: Array
    means: Array

    def outward(self, own: Array) -> Array:
        """T c: convert coefficients of the centred, scaled functions."""
        return outward(own, self.units, self.means)

    def gradient(self, outer: Array) -> Array:
        """T' g."""
        return (outer - self.means * outer[-1:] if len(self.means) else outer) / self.units

    def inverse(self, coefficients: Array, risk: Risk, nu: float) -> Solve:
        """Return g -> P^-1 g, P_j = Z' diag(s l_jj'') Z / q + (nu + damping) I for each output j, at a model.

        By Woodbury's formula: for A = diag(s l_jj'' / q)^(1/2) and m = nu + damping

            P^-1 g = (g - Z' A (m I + A Z Z' A)^-1 A Z g) / m,

        whose products with Z build the functions of the rows again. With units D and means, it is applied to
        Z T, between T and T', so that m is added to centred columns in their units.
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

            inner = self.gradient(right)
            along = roots * basis.combine(features, self.outward(inner))
            for output, factor in enumerate(factors):
                along[:, output] = cho_solve((factor, True), along[:, output])
            inner = inner - self.gradient(basis.transposed(features, roots * along))
            found = self.outward(inner / shifts)
            # a constant shared by all outputs changes no loss of classes, and is 0 at the minimum
            if is_shared:
                found -= found.mean(axis=1, keepdims=True)
            return found

        return solve


def sampled_rows(problem: Problem, basis: AbstractBasis, n_rows: int) -> Steps[SampledProducts]:
    """Sample the rows in one pass and multiply their functions.

    Parameters
    ----------
    basis : in double precision
    """
    drawn: Block = yield sampled_pass(problem, n_rows)
    rows = replace(drawn, features=drawn.features.astype(basis.dtype))
    found, panel, units, means = rows.n_rows, _panel(basis.size), np.ones((1, 1)), np.zeros((0, 1))
    if isinstance(basis, LinearBasis):
        squares = basis.column_squares(rows.features)[:, None] / found
        if basis.constant:
            sums = basis.transposed(rows.features, np.ones((found, 1))) / found
            squares, means = spreads(squares, sums), sums
            means[-1] = 0.0
        # enough rows show the curvature of every column; fewer do so only if units differ much
        shows_all = found >= _ROWS_OF_ALL * basis.size
        if shows_all or holds_most(_DAMPING * float(squares.sum()) / found, squares):
            units = np.sqrt(np.where(squares > 0, squares, squares.mean()))
    products = np.empty((found, found))
    for start in range(0, found, panel):
        own = slice(start, min(start + panel, found))
        columns = basis.transposed(rows.features[own], np.eye(own.stop - start))
        inner = (columns - means * columns[-1:] if len(means) else columns) / units
        products[:, own] = basis.combine(rows.features, outward(inner, units, means))
    return SampledProducts(rows, basis, 0.5 * (products + products.T), units, means)


def outward(own: Array, units: Array, means: Array) -> Array:
    """Convert coefficients of centred, scaled columns to coefficients of linear functions."""
    found: Array = own / units
    if len(means):
        found[-1] -= (means * found).sum(axis=0)
    return found
