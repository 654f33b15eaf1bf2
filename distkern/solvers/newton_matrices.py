"""The matrices of Newton's method: sums, damping and inverses."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from distkern.core.types import Array
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.bases.coordinates import Coordinates
from distkern.maths.bases.gram import COLUMNS
from distkern.maths.features import Footprint
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.bounds import (
    Direction,
    FreeConstant,
    gap_pass,
    gradient_bound,
    knows_gaps,
    norms_pass,
    step_bound,
)
from distkern.solvers.descent import BoundedMetric, Point, point_of
from distkern.solvers.gram import Grams, Solve, shifted_factor, with_curvatures, with_ones, with_slopes
from distkern.solvers.measuring import Model, Sums, gradient_pass, held_out_pass
from distkern.solvers.newton_sums import RowSums, Schedule, keeps_sums, kept_bytes
from distkern.solvers.sample import RowSample, sampled_gradient_pass

if TYPE_CHECKING:
    from distkern.solvers.newton import Newton, NewtonState

#: most bytes of Gram matrices returned by a pass: half a matrix for 5,800 functions
_STRIP_BYTES = 128 * 2**20
#: a memory limit divided by this bounds a strip
_STRIPS_OF_LIMIT = 64
#: most steps on the sample, and with its matrix near the minimum: the pairs that BFGS keeps
SAMPLE_STEPS, PROVING_STEPS = 8, 20
#: smallest shift of a matrix as a share of its diagonal, by the bytes of a number
_LEAST = {4: 1e-8, 8: 1e-15}


@dataclass(frozen=True)
class Objective:
    """F in the coordinates of the matrices, measured by a pass for each point.

    Attributes
    ----------
    nu : weight of the regulariser, including damping
    model : at any coefficients
    diagonal : (r, 1) weights d_j of an additional sum_j d_j c_j^2 / 2; without rows if there is none
    sample : sample of rows for the losses; None for all
    """

    nu: float
    problem: Problem
    model: Model
    footprint: Footprint
    coordinates: Coordinates
    diagonal: Array = field(default_factory=lambda: np.zeros((0, 1)))
    sample: RowSample | None = None

    def point(self, at: Array) -> Steps[Point]:
        """Value and gradient at coefficients ``at`` (r, k) of the coordinates."""
        model = replace(self.model, coefficients=self.coordinates.outward(at))
        sums: Sums
        if self.sample is None:
            sums = yield gradient_pass(self.problem, model, self.footprint)
        else:
            sums = yield sampled_gradient_pass(self.problem, model, self.footprint, self.sample)
        gradient = self.coordinates.gradient(sums.mean_gradient)
        point = point_of(self.nu, self.coordinates, at, sums, gradient)
        if not len(self.diagonal):
            return point
        value = point.value + 0.5 * float(np.sum(self.diagonal * np.square(at)))
        return replace(point, value=value, gradient=point.gradient + self.diagonal * at)


class NewtonMatrices:
    """The Gram matrices of a stage of Newton's method, their inverses, and bounds derived from them."""

    def __init__(self, solver: Newton) -> None:
        self._solver, self._risk, self._nu = solver, solver.risk, solver.nu

    def bound(
        self, objective: Objective, at: Point, metric: BoundedMetric, enough: float, free: FreeConstant | None
    ) -> Steps[float]:
        """Bound F(w) - min F from above by Newton's step at w with the matrix of all rows."""
        step = -metric.plain(at.gradient)
        bound = gradient_bound(objective.nu, at.gradient, objective.coordinates, free)
        decrement = -0.5 * float(np.vdot(at.gradient, step))
        # blocks of softmax are no Hessian
        if bound <= enough or decrement > enough or not knows_gaps(self._risk):
            return bound
        of_step = yield from step_bound(
            objective.problem,
            objective.footprint,
            objective.coordinates,
            Direction(objective.model, objective.coordinates.outward(step)),
            step,
            objective.nu,
            free=free,
        )
        return min(bound, of_step)

    def summed(
        self, objective: Objective, at: Array, place: int, sample: RowSample | None
    ) -> Steps[tuple[list[Array], Sums, dict[str, Any]]]:
        """Return H - nu I at ``at``, the sums from the same passes, and saved fields of the state."""
        own, risk = objective.coordinates.basis, objective.model.risk
        grams = self.grams(place, own.size, sample)
        of_matrix = replace(objective.footprint, size=own.size)
        matrices, sums = yield from grams.matrices(objective.problem, Model(own, at, risk), of_matrix)
        kept: dict[str, Any] = {}
        if grams.weigh is not with_curvatures:
            if sample is None and not at.any() and keeps_sums(self._solver, own.size):
                found = RowSums.of(matrices[0], sums, risk.n_outputs, risk.mean_weight)
                kept = {**found.fields, "pivots": objective.coordinates.pivots}
            assert sums.gradient is not None
            sums = replace(sums, gradient=np.ascontiguousarray(sums.gradient[:, : risk.n_outputs]))
        for matrix in matrices:
            matrix *= self.bend(place, risk.offset) / sums.n_rows
        return matrices, sums, kept

    def metric(self, damped: Objective, matrices: list[Array], least: float = 0.0) -> BoundedMetric:
        """Return the inverse of the damped matrices; overwrites them.

        Parameters
        ----------
        least : smallest shift of a matrix, as a share of its diagonal
        """
        if len(damped.diagonal):
            for matrix in matrices:
                matrix[np.diag_indices(len(matrix))] += damped.diagonal[:, 0]
        # outputs of one-vs-rest, and quantiles, have separate objectives
        apart = self._risk.loss.target_kind != "classes"
        return BoundedMetric(*self.inverse(damped.coordinates.basis, matrices, damped.nu, least), apart=apart)

    def place(self, stage: int) -> int:
        """The stage, or 0 if one matrix serves all outputs: at w = 0, and in the first of the square loss."""
        at_zero = self._solver.at_model is None or self._risk.loss.is_quadratic
        return stage if at_zero else max(stage, 1)

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        schedule, quadratic = self.schedule(problem, footprint), self._risk.loss.is_quadratic
        sample = schedule.sample(self.place(0))
        stages = min(self._solver.stages, 1 + (sample is not None)) if quadratic else self._solver.stages
        steps = schedule.most_steps + (sample is not None)
        grams = self.grams(self.place(0), footprint.size, sample).outline(problem, footprint)
        if sample is None and keeps_sums(self._solver, footprint.size):
            cost = grams.step.cost.holding(driver={"sums that are kept": (kept_bytes(footprint.size),)})
            grams = replace(grams, step=grams.step.changed(cost=cost))
        passes = [
            grams,
            Outline(gradient_pass(problem, None, footprint), stages * steps),
            Outline(held_out_pass(problem, None, footprint), stages),
        ]
        if self._solver.n_constant and not (quadratic and sample is None):
            passes.append(Outline(norms_pass(problem, None, footprint)))
        if not quadratic and knows_gaps(self._risk):
            # only where a step is within the tolerance
            passes.append(Outline(gap_pass(problem, None, footprint), 0.5))
        if sample is not None:
            passes.append(Outline(sampled_gradient_pass(problem, None, footprint, sample), SAMPLE_STEPS))
        if stages > 1:
            for stage, times in ((1, min(stages - 1, 1)), (2, stages - 2)):
                rest = None if quadratic else schedule.sample(stage)
                later = self.grams(1, footprint.size, rest).outline(problem, footprint)
                cost = later.step.cost
                if not quadratic:
                    held = (self._risk.n_outputs, footprint.size, footprint.size, 8)
                    cost = cost.holding(driver={"matrices that are not damped": held})
                step = later.step.changed(cost=cost)
                passes.append(Outline(step, later.times * times))
        return passes

    def schedule(self, problem: Problem, footprint: Footprint) -> Schedule:
        """Rows of the matrices and the number of steps after each."""
        return Schedule(problem, footprint, self._risk.n_outputs, self._risk.loss.is_quadratic)

    def grams(self, stage: int, size: int, sample: RowSample | None) -> Grams:
        """The matrices of a stage: one for all outputs in the first stage, then one for each."""
        weigh, n_matrices = (with_curvatures, self._risk.n_outputs) if stage else (with_slopes, 1)
        if weigh is with_slopes and self._risk.is_real and keeps_sums(self._solver, size):
            weigh = with_ones
        most = _STRIP_BYTES
        if self._solver.memory_limit is not None:
            # in whole blocks of columns, so that the bits do not depend on the limit
            most = min(
                most, max(self._solver.memory_limit // _STRIPS_OF_LIMIT, COLUMNS * size * n_matrices * 8)
            )
        return Grams(weigh, n_matrices, sample=sample, strip_bytes=most, name="Newton matrix")

    def bend(self, stage: int, offset: Array) -> float:
        """The factor of a stage's matrices: the largest curvature at the offset, or the loss's coupling."""
        loss, outputs = self._risk.loss, self._risk.n_outputs
        if stage:
            return loss.coupling(outputs)
        if loss.target_kind == "real":
            # outlying targets may have no curvature, so use the bound
            return loss.curvature
        return loss.coupling(outputs) * float(loss.row_curvatures(offset[None], np.zeros((1, outputs))).max())

    def inverse(
        self, basis: AbstractBasis, matrices: list[Array], nu: float, least: float = 0.0
    ) -> tuple[Solve, float]:
        """Return g -> H^-1 g, computed in the memory of the matrices, and the largest diagonal shift."""
        basis.add_metric(matrices, nu)
        least = max(least, _LEAST[basis.dtype.itemsize])
        factors, shifts = zip(*(shifted_factor(matrix, 0.0, least) for matrix in matrices), strict=True)

        def solve(right: Array) -> Array:
            from scipy.linalg import cho_solve

            found = np.empty_like(right)
            for number, factor in enumerate(factors):
                own = slice(number, number + 1) if len(factors) > 1 else slice(None)
                found[:, own] = cho_solve((factor, True), right[:, own], check_finite=False)
            if self._risk.loss.target_kind == "classes":
                # a constant added to all outputs changes no loss, and is 0 at the minimum
                found -= found.mean(axis=1, keepdims=True)
            return found

        return solve, max(shifts)

    def coordinates(self, problem: Problem, state: NewtonState) -> Steps[Coordinates]:
        yield from ()
        choice = self._solver.choice(problem)
        return choice.coordinates(choice.basis(problem, state.landmarks, state.gamma))
