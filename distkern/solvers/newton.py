"""Newton's method over explicit features, by Gram matrices summed in passes (Keerthi and DeCoste 2005).

The paper has the squared hinge and an exact line search; F, H and g are those of :class:`Newton`. It is at
the left, ours at the right:

    w <- 0                                       AbstractExplicit.init
    repeat:                                      Newton.stage
        H, g <- Hessian and gradient of F at w   Grams.matrices, of a sample where that pays (Schedule)
        d <- -H^-1 g                             ByMatrices.inverse: a Cholesky factor
        t <- argmin of F(w + t d)                descend: t = 1 unless that is too long
        w <- w + t d                             there, up to 12 steps from one H, which BFGS corrects
    until d would lower F by <= tol F            Newton.converged

Where H is too large, :class:`~distkern.solvers.newton_products.ByProducts` solves by conjugate gradients,
whose products with H are passes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.bases.coordinates import Coordinates
from distkern.bases.gram import COLUMNS
from distkern.common.errors import InputError
from distkern.common.parameters import NOT_NEGATIVE, Parameter, Whole, Words, parameter
from distkern.common.sparse import Rows
from distkern.common.types import Array
from distkern.features import GIVEN_FEATURES, Footprint
from distkern.losses import CURVED_LOSSES, SUPERVISED
from distkern.passes import Derived
from distkern.solvers.base import Before, OldRows, Outline, Problem, Steps
from distkern.solvers.descent import BoundedMetric, Descent, Point, descend, point_of
from distkern.solvers.explicit import (
    AbstractExplicit,
    FeatureState,
    gradient_pass,
    held_out_pass,
    sampled_gradient_pass,
)
from distkern.solvers.gram import Grams, Solve, solved, with_curvatures, with_ones, with_slopes
from distkern.solvers.hyperparameters import MEMORY_LIMIT, a_loss, feature_parameters
from distkern.solvers.measuring import Figures, Model, Sums, figures_of, zero_outlines
from distkern.solvers.newton_products import ByProducts
from distkern.solvers.newton_sums import BySums, RowSums, Schedule, keeps_sums, kept_bytes
from distkern.solvers.risk import Risk
from distkern.solvers.sample import RowSample
from distkern.solvers.targets import TargetScale, target_scale

#: most bytes of Gram matrices that one pass returns: half a matrix of 5,800 functions
_STRIP_BYTES = 128 * 2**20
#: at most one part in so many of a memory limit
_STRIPS_OF_LIMIT = 64
#: this factor times the mean of l'' |z|^2 / n_rows is added to a matrix, so that steps are not too long in
#: directions of which its rows show little curvature
_DAMPING = 0.3
#: factors of the damping after a stage with matrices of all rows, and after one with many steps too long
_LESS_DAMPING, _MORE_DAMPING = 0.3, 3.0
#: passes for each step above which many steps were too long
_MANY = 1.5
#: most steps on the sample, and the share of the tolerance at which they end
_SAMPLE_STEPS, _SAMPLE_TOLERANCE = 8, 0.3
#: smallest shift of a matrix as a share of its mean diagonal, by the bytes of a number
_LEAST = {4: 1e-8, 8: 1e-15}
_FEATURES = feature_parameters("nystroem")
_STUCK = "no step lowers the objective any more, in the precision of the features: set a larger nu, or tol"


@dataclass(frozen=True)
class NewtonState(FeatureState):
    """A model with the figures at it.

    Attributes
    ----------
    decrement : decrease of the objective that the next step promises, see
        :class:`~distkern.solvers.descent.Descent`
    steps : of the last stage; those of conjugate gradients where it made no matrix
    sampled : whether the last stage's matrix was made from a sample of rows
    damping : added to nu in matrices that do not bound the Hessian
    gradient : in the coordinates of the matrices; without rows before the first stage
    gram, slopes, ones, totals : sums over the rows, where a stage of the square loss has made the matrix of
        all rows for up to 2,048 functions, see :class:`~distkern.solvers.newton_sums.RowSums`
    pivots : of the coordinates of these sums
    """

    decrement: float
    steps: int
    sampled: bool
    damping: float
    gradient: Array
    gram: Array = field(default_factory=partial(np.zeros, 0))
    slopes: Array = field(default_factory=partial(np.zeros, 0))
    ones: Array = field(default_factory=partial(np.zeros, 0))
    totals: Array = field(default_factory=partial(np.zeros, 0))
    pivots: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True)
class Newton(AbstractExplicit[NewtonState]):
    """Newton's method over Nystroem, random or linear features.

    Minimises F(w) = nu/2 |w|^2 + mean_i s_i l(z(x_i) w, y_i), w (r, k). In one pass, a stage makes the
    gradient g and, for each output j, the block H_j of the Hessian at its w,

        H_j = Z' diag(s l_jj'') Z / n + nu I,    g_j = Z' (s l_j') / n + nu w_j,

    with the generalised second derivative where l' has kinks (Mangasarian 2002). It factorises H and takes
    steps w <- w - t B g, a pass each, where B is H^-1 corrected by BFGS and t = 1 unless that is too long,
    see :func:`~distkern.solvers.descent.descend`. The steps end at the tolerance, or once they have taken
    1.5 times as long as the next matrix would, after 8 to 12 of them. Products are in the precision of the
    rows, sums in float64.

    From 4 max(4096, 4 r) rows on, matrices are made from a sample S (Erdogdu and Montanari 2015) of
    max(4096, 4 r) to n / 4 rows, as many as take half the operations of a pass; for the square loss only
    of more than 2,048 functions, where that saves time. They are damped by 0.3 / |S| times the mean of
    l'' |z|^2 at w = 0; where linear columns have units so far apart that this is a hundred times what most
    of them are bent by, each in its own, see :class:`~distkern.bases.coordinates.ColumnCoordinates`. The
    first stage begins at the minimum on the sample and keeps the BFGS corrections from there. Matrices of
    all rows are damped too, from the second stage on and ever less. For the square loss, a stage with the
    matrix of all rows follows if the tolerance is not met.

    The first stage makes one matrix for all outputs: at w = 0 losses of classes have equal curvatures, and
    losses of real targets take the bound of l''. Later stages make k. The square loss has one Hessian, whose
    step ends at the minimum, up to rounding. Losses that couple their outputs (softmax) take the blocks H_j
    times k / (k - 1).

    Nystroem features are not made: it works on the kernels k(L, x), in the norm of K_LL, and
    orthonormalises as many as single precision asks for, see
    :class:`~distkern.bases.coordinates.KernelCoordinates`. It so keeps directions of the landmarks that the
    features of other solvers leave out, whose eigenvalues are below 1e-7 of the largest, and its objective
    may be lower than theirs in the fifth digit. :class:`ByProducts` replaces matrices by
    products.

    An update for the square loss adds the sums of new rows to those that the first stage has made of all
    rows, and ends at the minimum over old and new ones, see :class:`~distkern.solvers.newton_sums.BySums`.
    For other losses it begins at the model, with a matrix for each output, over all rows.
    """

    nu: float = parameter(1e-6, NOT_NEGATIVE, help="weight of |w|^2 / 2 against the mean loss")
    stages: int = parameter(
        10,
        Whole(),
        help="at most this many; each makes a Gram matrix or one for each output, of a sample or of all "
        "rows, or products",
    )
    tol: float = parameter(
        1e-3, NOT_NEGATIVE, help="stop once a step would lower the objective by no more than this share of it"
    )
    hessian: str = parameter(
        "auto",
        Words("auto", "matrix", "products"),
        help="matrix: Gram matrices; products: conjugate gradients, whose every step is a pass; auto: "
        "products where matrices do not fit memory_limit, or are of more than 8192 features without one",
        features=tuple(GIVEN_FEATURES.where(lambda kind: not kind.needs_matrix)),
    )
    memory_limit: int | None = parameter(
        MEMORY_LIMIT.default,
        *MEMORY_LIMIT.kinds,
        help="bytes of a process that trains; of a job its memory_limit",
    )

    name = "newton"
    cost_of_pass = "n r (d + k), of the rows of a matrix r (d + k r / 2 + k)"
    memory = "(k + 1) r^2 numbers in the driver, k r^2 / 2 in each worker; r k in both with products"
    in_trials: ClassVar[Mapping[str, Any]] = {"hessian": "matrix", "memory_limit": None}
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("logistic", CURVED_LOSSES.where(SUPERVISED)),
        **_FEATURES,
        # a matrix of so many landmarks takes the time of a few passes
        "n_landmarks": replace(
            _FEATURES["n_landmarks"], default=1024, kinds=(Whole(),), help="at most this many landmarks"
        ),
    }

    states = NewtonState
    alone_with = "the square loss without hessian='products'"
    kept = ("gram", "slopes", "ones", "totals", "pivots")

    def __post_init__(self) -> None:
        # refused before any row is read
        self.risk.loss.row_curvatures(*np.zeros((2, 1, self.risk.n_outputs)))
        super().__post_init__()
        if self.takes_products and self.features.needs_matrix:
            raise InputError(
                f"'products' is not for {self.features.name} features, whose norm takes a matrix of them",
                where="hessian",
                hint="use hessian='matrix', or features='random'",
            )

    @property
    def takes_products(self) -> bool:
        """Whether no matrix is made; the estimator has replaced "auto" by what fits the memory."""
        return self.hessian == "products"

    @property
    def matrices(self) -> ByMatrices:
        """How Gram matrices are made and inverted."""
        return ByMatrices(self)

    @cached_property
    def sums(self) -> RowSums | None:
        """Those of the model that is updated, where they were kept."""
        return None if self.before is None else RowSums.kept(self.before.own)

    @property
    def way(self) -> ByMatrices | ByProducts | BySums:
        """How a stage descends: by matrices, by products, or by sums."""
        if self.sums is not None:
            return BySums(self, self.sums)
        return ByProducts(self) if self.takes_products else ByMatrices(self)

    def further(self, state: NewtonState) -> dict[str, Any]:
        kept = super().further(state)
        return kept if len(state.gram) else {name: kept[name] for name in kept if name not in self.kept}

    def asks_for(self, own: Mapping[str, Any], n_new: int, size: int) -> OldRows:
        return OldRows.LEFT if "gram" in own else OldRows.NEEDED

    @property
    def goes_on_alone(self) -> bool:
        return self.risk.loss.is_quadratic and not self.takes_products

    @property
    def at_model(self) -> Before | None:
        # sums say all, wherever it begins
        return self.before if self.sums is None else None

    def begin(self, problem: Problem) -> Steps[tuple[Rows, float, TargetScale]]:
        if self.before is None or self.sums is None:
            return (yield from super().begin(problem))
        earlier = self.sums.targets(self.before.center)
        targets = yield from target_scale(problem, self.risk, earlier)
        return self.before.landmarks.astype(problem.dtype), self.before.gamma, targets

    def at_zero(self, problem: Problem, risk: Risk, w: Array, figures: Figures) -> dict[str, Any]:
        kept = {"decrement": math.nan, "steps": 0, "sampled": False, "damping": 0.0}
        return {**kept, "gradient": np.zeros((0, risk.n_outputs))}

    def stage(self, problem: Problem, state: NewtonState) -> Steps[NewtonState]:
        model = self.model(problem, state)
        footprint = self.footprint(problem, model.basis.size)
        found, coefficients, own = yield from self.way.descent(problem, state, model, footprint)
        state = replace(
            state,
            decrement=found.decrement,
            steps=found.steps,
            stage=state.stage + 1,
            gradient=found.point.gradient,
            **own,
        )
        if found.point.sums is None:
            # no step was taken
            return state
        figures = yield from figures_of(
            problem,
            found.point.sums,
            held_out_pass(problem, replace(model, coefficients=coefficients), footprint),
            found.point.value - found.point.sums.losses / found.point.sums.n_rows,
        )
        return state.with_figures(figures, coefficients=coefficients)

    def finished(self, state: NewtonState) -> bool:
        return super().finished(state) or self.way.is_stuck(state)

    def converged(self, state: NewtonState) -> bool:
        return 0.0 <= state.decrement <= self.tol * abs(state.objective)

    def shortfall(self, state: NewtonState) -> str:
        return _STUCK if self.way.is_stuck(state) and not self.converged(state) else ""

    def figures(self, state: NewtonState) -> dict[str, float]:
        return {"decrement": state.decrement, "steps": float(state.steps)}

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        first = zero_outlines(problem)
        if self.at_model is not None:
            first = [Outline(self.measuring(problem, None, footprint)), *first[1:]]
        return [*first, *self.way.passes(problem, footprint)]


@dataclass(frozen=True)
class Objective:
    """F in the coordinates of the matrices, measured by a pass for each point.

    Attributes
    ----------
    nu : weight of the regulariser, with what damps it
    model : at any coefficients
    diagonal : (r, 1) weights d_j of a further sum_j d_j c_j^2 / 2; without rows where there is none
    sample : of which rows the losses are summed; None for all
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


class ByMatrices:
    """The stages of :class:`Newton` that factorise Gram matrices."""

    def __init__(self, solver: Newton) -> None:
        self._solver, self._risk, self._nu = solver, solver.risk, solver.nu

    def is_stuck(self, state: NewtonState) -> bool:
        """Whether another stage would begin with the same matrix as the last."""
        if state.stage == 0 or (state.sampled and (state.stage == 1 or self._risk.loss.is_quadratic)):
            return False
        return state.steps == 0 or self._risk.loss.is_quadratic

    def descent(
        self, problem: Problem, state: NewtonState, model: Model, footprint: Footprint
    ) -> Steps[tuple[Descent, Array, dict[str, Any]]]:
        """The descent, its coefficients, and other fields of the state."""
        coordinates: Coordinates = yield Derived("coordinates", partial(self.coordinates, problem, state))
        objective = Objective(self._nu, problem, model, footprint, coordinates)
        at, place = coordinates.inward(state.coefficients), self._place(state.stage)
        schedule = self.schedule(problem, footprint)
        # a quadratic that a sample has not minimised takes the matrix of all rows
        again = state.stage > 0 and self._risk.loss.is_quadratic
        sample = None if again else schedule.sample(place)
        matrices, sums, kept = yield from self._matrices(objective, at, place, sample)
        damping = state.damping or _DAMPING * coordinates.trace(matrices[0]) / sums.n_rows
        shift, diagonal = 0.0, np.zeros((0, 1))
        if sample is not None or not (place == 0 or self._risk.loss.is_quadratic):
            # fewer rows ask for more damping
            fewer = 1.0 if sample is None else schedule.rows(0) / schedule.rows(place)
            shift, diagonal = coordinates.damping(matrices[0], damping * fewer)
        damped = replace(objective, nu=self._nu + shift, diagonal=diagonal, sample=sample)
        metric = self._metric(damped, matrices)
        if sample is None:
            start = point_of(self._nu, coordinates, at, sums, sums.mean_gradient)
        elif state.stage:
            start = Point(at, state.objective, state.gradient, None)
        elif place:
            start = yield from objective.point(at)
        else:
            zero = point_of(damped.nu, coordinates, at, sums, sums.mean_gradient)
            # the corrections by steps on the sample are kept for all rows
            tolerance = _SAMPLE_TOLERANCE * self._solver.tol
            of_sample = yield from descend(damped.point, zero, metric, _SAMPLE_STEPS, tolerance)
            start = yield from objective.point(of_sample.point.at)
        found = yield from descend(objective.point, start, metric, schedule.most_steps, self._solver.tol)
        if found.passes > _MANY * found.steps:
            damping *= _MORE_DAMPING
        elif sample is None and state.stage:
            # nearer to the minimum it is known which rows have curvature
            damping *= _LESS_DAMPING
        return (
            found,
            coordinates.outward(found.point.at),
            {"sampled": sample is not None, "damping": damping, **kept},
        )

    def _matrices(
        self, objective: Objective, at: Array, place: int, sample: RowSample | None
    ) -> Steps[tuple[list[Array], Sums, dict[str, Any]]]:
        """H - nu I at ``at``, the sums that were made with it, and fields of the state that are kept."""
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

    def _metric(self, damped: Objective, matrices: list[Array]) -> BoundedMetric:
        """The inverse of the damped matrices, which are overwritten."""
        if len(damped.diagonal):
            for matrix in matrices:
                matrix[np.diag_indices(len(matrix))] += damped.diagonal[:, 0]
        # outputs of one-vs-rest, and quantiles, have separate objectives
        apart = self._risk.loss.target_kind != "classes"
        return BoundedMetric(self.inverse(damped.coordinates.basis, matrices, damped.nu), apart=apart)

    def _place(self, stage: int) -> int:
        """0 where one matrix does for all outputs: at w = 0, and for the square loss in the first stage."""
        at_zero = self._solver.at_model is None or self._risk.loss.is_quadratic
        return stage if at_zero else max(stage, 1)

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        schedule, quadratic = self.schedule(problem, footprint), self._risk.loss.is_quadratic
        sample = schedule.sample(self._place(0))
        stages = min(self._solver.stages, 1 + (sample is not None)) if quadratic else self._solver.stages
        steps = schedule.most_steps + (sample is not None)
        grams = self.grams(self._place(0), footprint.size, sample).outline(problem, footprint)
        if sample is None and keeps_sums(self._solver, footprint.size):
            cost = grams.step.cost.holding(driver={"sums that are kept": (kept_bytes(footprint.size),)})
            grams = replace(grams, step=grams.step.changed(cost=cost))
        passes = [
            grams,
            Outline(gradient_pass(problem, None, footprint), stages * steps),
            Outline(held_out_pass(problem, None, footprint), stages),
        ]
        if sample is not None:
            passes.append(Outline(sampled_gradient_pass(problem, None, footprint, sample), _SAMPLE_STEPS))
        if stages > 1:
            rest = None if quadratic else schedule.sample(1)
            later = self.grams(1, footprint.size, rest).outline(problem, footprint)
            passes.append(replace(later, times=later.times * (stages - 1)))
        return passes

    def schedule(self, problem: Problem, footprint: Footprint) -> Schedule:
        """Rows of the matrices, and the number of steps that follow."""
        return Schedule(problem, footprint, self._risk.n_outputs, self._risk.loss.is_quadratic)

    def grams(self, stage: int, size: int, sample: RowSample | None) -> Grams:
        """The matrices of a stage: one for all outputs in the first stage, then one for each."""
        weigh, n_matrices = (with_curvatures, self._risk.n_outputs) if stage else (with_slopes, 1)
        if weigh is with_slopes and self._risk.is_real and keeps_sums(self._solver, size):
            weigh = with_ones
        most = _STRIP_BYTES
        if self._solver.memory_limit is not None:
            # whole blocks of columns, so that the bits do not depend on the limit
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
            # far targets may have no curvature, so a bound is taken
            return loss.curvature
        return loss.coupling(outputs) * float(loss.row_curvatures(offset[None], np.zeros((1, outputs))).max())

    def inverse(self, basis: AbstractBasis, matrices: list[Array], nu: float) -> Solve:
        """g -> H^-1 g, in the memory of the matrices."""
        basis.add_metric(matrices, nu)
        least = _LEAST[basis.dtype.itemsize]
        solves = [solved(matrix, 0.0, overwrite=True, least=least) for matrix in matrices]

        def solve(right: Array) -> Array:
            found = np.empty_like(right)
            for number, one in enumerate(solves):
                own = slice(number, number + 1) if len(solves) > 1 else slice(None)
                found[:, own] = one(right[:, own])
            if self._risk.loss.target_kind == "classes":
                # a constant added to all outputs changes no loss, and is 0 at the minimum
                found -= found.mean(axis=1, keepdims=True)
            return found

        return solve

    def coordinates(self, problem: Problem, state: NewtonState) -> Steps[Coordinates]:
        yield from ()
        choice = self._solver.choice(problem)
        return choice.coordinates(choice.basis(problem, state.landmarks, state.gamma))
