"""Newton's method over explicit features, by Gram matrices summed in passes (Keerthi and DeCoste 2005).

The paper has the squared hinge and an exact line search; :class:`Newton` defines F, H and g. The paper is on
the left, our code on the right:

    w <- 0                                       AbstractExplicit.init
    repeat:                                      Newton.stage, whose steps are of ByMatrices.descent
        H, g <- Hessian and gradient of F at w   NewtonMatrices.summed, of a sample where that pays (Schedule)
        until F - min F <= tol (F(0) - F)        NewtonMatrices.bound: by duality, at d
        d <- -H^-1 g                             NewtonMatrices.inverse: a Cholesky factor
        t <- argmin of F(w + t d)                descend(): t = 1 unless that is too long
        w <- w + t d                             there, up to 12 steps from one H, which BFGS corrects

If H is too large, :class:`~distkern.solvers.newton_products.ByProducts` solves by conjugate gradients; its
products with H are passes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.common_parameters import MEMORY_LIMIT
from distkern.core.errors import InputError
from distkern.core.parameters import NOT_NEGATIVE, Parameter, Whole, Words, parameter
from distkern.core.sparse import Rows
from distkern.core.types import Array
from distkern.maths.features import GIVEN_FEATURES, Footprint
from distkern.maths.losses import CURVED_LOSSES, SUPERVISED
from distkern.passes import Derived
from distkern.solvers.base import Outline, PreviousModel, Problem, Steps, UpdateRule
from distkern.solvers.bounds import FreeConstant, gradient_bound, length_of
from distkern.solvers.descent import Descent, Point, descend, point_of
from distkern.solvers.explicit import AbstractExplicit, FeatureState
from distkern.solvers.hyperparameters import a_loss, feature_parameters
from distkern.solvers.measuring import Figures, Model, figures_of, held_out_pass, zero_outlines
from distkern.solvers.newton_matrices import PROVING_STEPS, SAMPLE_STEPS, NewtonMatrices, Objective
from distkern.solvers.newton_products import ByProducts
from distkern.solvers.newton_sums import BySums, RowSums
from distkern.solvers.risk import Risk
from distkern.solvers.targets import TargetScale, target_scale

_FEATURES = feature_parameters("nystroem")
#: this factor times the mean of l'' |z|^2 / n_rows is added to a matrix, to shorten steps in directions in
#: which its rows show little curvature
_DAMPING = 0.3
#: factors of the damping after a stage with matrices of all rows, and after one with many shortened steps
_LESS_DAMPING, _MORE_DAMPING = 0.3, 3.0
#: passes per step above which many steps were too long
_MANY = 1.5
#: share of the tolerance at which steps end, and multiple of it up to which steps are not damped
_STEP_TOLERANCE, _NEAR = 0.3, 30.0
#: shares of a diagonal that are added to a matrix if none of its steps lowers the objective
_SMALLEST_SHIFT, _LARGER_SHIFT, _LARGEST_SHIFT = 1e-7, 10.0, 1e-3
_STUCK = "stuck: no step lowers the objective further"
_HINT = "no step is lower in the precision of the features: set a larger nu or tol, or dtype='float64'"


@dataclass(frozen=True)
class NewtonState(FeatureState):
    """A model with the figures at it.

    Attributes
    ----------
    upper : upper bound of the objective's distance to its minimum
    steps : steps of the last stage; conjugate gradient steps if it made no matrix
    sampled : whether the last stage's matrix came from a sample of rows
    damping : added to nu in matrices for steps far from the minimum
    gradient : in the coordinates of the matrices; without rows before the first stage
    balance : (2, k) means for bounds, see :class:`~distkern.solvers.bounds.FreeConstant`, or (2, 0)
    gram, slopes, ones, totals : sums over the rows, if a stage of the square loss made the matrix of all rows
        for up to 2,048 functions, see :class:`~distkern.solvers.newton_sums.RowSums`
    pivots : pivots of the coordinates of these sums
    """

    upper: float
    steps: int
    sampled: bool
    damping: float
    gradient: Array
    balance: Array = field(default_factory=partial(np.zeros, (2, 0)))
    gram: Array = field(default_factory=partial(np.zeros, 0))
    slopes: Array = field(default_factory=partial(np.zeros, 0))
    ones: Array = field(default_factory=partial(np.zeros, 0))
    totals: Array = field(default_factory=partial(np.zeros, 0))
    pivots: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True)
class Newton(AbstractExplicit[NewtonState]):
    """Newton's method over Nystroem, random or linear features.

    Minimises F(w) = nu/2 |w|^2 + mean_i s_i l(z(x_i) w, y_i), w (r, k). In one pass, a stage sums the
    gradient g and, for each output j, the block H_j of the Hessian at its w,

        H_j = Z' diag(s l_jj'') Z / n + nu I,    g_j = Z' (s l_j') / n + nu w_j,

    with the generalised second derivative at kinks of l' (Mangasarian 2002). It factorises H and takes steps
    w <- w - t B g, one pass each, where B is H^-1 corrected by BFGS and t = 1 unless that is too long, see
    :func:`~distkern.solvers.descent.descend`. Steps with the first matrix end near the tolerance, or after 8
    to 12 of them, once they took 1.5 times as long as the next matrix would. With later matrices of all rows,
    or with several outputs, up to 20 steps follow until |g|^2 / (2 nu) is within the tolerance. Products are
    in the precision of the rows, sums in float64.

    Convergence is decided by a bound of F - min F. A stage starts with the undamped Hessian H at w and d =
    -H^-1 g. If g' H^-1 g / 2 is within the tolerance, a pass computes the duality gap at the slopes l' + l''
    z d, see :mod:`~distkern.solvers.bounds`; it holds at any distance from the minimum. For the square loss
    g' H^-1 g / 2 is the distance itself. For losses without a known conjugate (softmax), |g|^2 / (2 nu)
    decides. An unregularised constant requires slopes of mean 0, see
    :class:`~distkern.solvers.bounds.FreeConstant`; a pass sums the norms of rows for that.

    From 4 max(4096, 4 r) rows on, matrices come from a sample S (Erdogdu and Montanari 2015) of max(4096, 4
    r) to n / 4 rows, as many as take half the operations of a pass; for the square loss only with more than
    2,048 functions, if that saves time. They are damped by 0.3 / |S| times the mean of l'' |z|^2 at w = 0. If
    linear columns have such different units that this is a hundred times the curvature of most of them, each
    is damped in its own, see :class:`~distkern.maths.bases.coordinates.ColumnCoordinates`. The first stage
    starts at the minimum over the sample and keeps the BFGS corrections from there. Matrices of all rows are
    damped too, from the second stage on, less in each stage and not at all near the minimum. A sample's
    matrix may overstate H, in some directions by (1 + (r / |S|)^(1/2))^2: once this times g' H^-1 g / 2 is
    within the tolerance, up to 20 steps follow until |g|^2 / (2 nu) over all rows is too. If two stages with
    samples do not meet the tolerance (one for the square loss), later matrices use all rows if that takes
    less than 8 passes.

    If no step along the first matrix of all rows lowers F, rounding in single precision hides its directions
    of least curvature. It is summed again with 1e-7, 1e-6, ... 1e-3 of each diagonal entry added, until a
    step is lower. A matrix whose diagonal grew by more than nu bounds nothing: |g|^2 / (2 nu) decides then.

    The first stage makes one matrix for all outputs: at w = 0 losses of classes have equal curvatures, and
    losses of real targets use the bound of l''. Later stages make k. The square loss has a single Hessian,
    and its step ends at the minimum, up to rounding. For losses that couple their outputs (softmax), the
    blocks H_j are multiplied by k / (k - 1).

    Nystroem features are not built: the solver works on the kernels k(L, x), in the norm of K_LL, and
    orthonormalises as many as single precision requires, see
    :class:`~distkern.maths.bases.coordinates.KernelCoordinates`. It thus keeps directions of the landmarks
    that the features of other solvers drop (eigenvalues below 1e-7 of the largest), and its objective may be
    lower than theirs in the fifth digit. :class:`ByProducts` replaces matrices by products.

    An update for the square loss adds the sums over new rows to the saved sums over all old rows and ends at
    the minimum over both, see :class:`~distkern.solvers.newton_sums.BySums`. For other losses it starts at
    the model, with a matrix for each output, over all rows.
    """

    nu: float = parameter(1e-6, NOT_NEGATIVE, help="weight of |w|^2 / 2 against the mean loss")
    stages: int = parameter(
        10,
        Whole(),
        help="at most this many; each makes a Gram matrix, or one per output, of a sample or of all rows, or "
        "products",
    )
    tol: float = parameter(
        1e-3,
        NOT_NEGATIVE,
        help="stop once the objective is shown to be within this share of f(0) - f of its minimum",
    )
    hessian: str = parameter(
        "auto",
        Words("auto", "matrix", "products"),
        help="matrix: Gram matrices; products: conjugate gradients, one pass a step; auto: products if "
        "matrices exceed memory_limit, or without one if there are more than 8192 features",
        features=tuple(GIVEN_FEATURES.where(lambda kind: not kind.needs_matrix)),
    )
    memory_limit: int | None = parameter(
        MEMORY_LIMIT.default,
        *MEMORY_LIMIT.kinds,
        help="memory of a training process, as '512MiB' or in bytes; in jobs the job's memory_limit",
    )

    name = "newton"
    cost_of_pass = "n r (d + k), of the rows of a matrix r (d + k r / 2 + k)"
    memory = "(2 k + 1) r^2 numbers in the driver, k r^2 / 2 in each worker; r k in both with products"
    in_trials: ClassVar[Mapping[str, Any]] = {"hessian": "matrix", "memory_limit": None}
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("logistic", CURVED_LOSSES.where(SUPERVISED)),
        **_FEATURES,
        # a matrix for this many landmarks takes the time of a few passes
        "n_landmarks": replace(
            _FEATURES["n_landmarks"], default=1024, kinds=(Whole(),), help="at most this many landmarks"
        ),
    }

    states = NewtonState

    def __post_init__(self) -> None:
        # refused before any row is read
        self.risk.loss.row_curvatures(*np.zeros((2, 1, self.risk.n_outputs)))
        super().__post_init__()
        if self.takes_products and self.features.needs_matrix:
            raise InputError(
                f"'products' does not support {self.features.name} features, whose norm needs a matrix",
                where="hessian",
                hint="use hessian='matrix', or features='random'",
            )

    @property
    def identity(self) -> dict[str, Any]:
        # the limit does not affect matrices
        limit = self.memory_limit if self.takes_products else None
        return {"hessian": "products" if self.takes_products else "matrix", "memory_limit": limit}

    @property
    def takes_products(self) -> bool:
        """Whether no matrix is made; the estimator has replaced "auto" by what fits into memory."""
        return self.hessian == "products"

    @property
    def matrices(self) -> NewtonMatrices:
        """How Gram matrices are made and inverted."""
        return NewtonMatrices(self)

    @cached_property
    def sums(self) -> RowSums | None:
        """The saved sums of the updated model, or None."""
        return None if self.before is None else RowSums.kept(self.before.solver_state)

    @property
    def method(self) -> ByMatrices | ByProducts | BySums:
        """How a stage descends: by matrices, by products, or by sums."""
        if self.sums is not None:
            return BySums(self, self.sums)
        return ByProducts(self) if self.takes_products else ByMatrices(self)

    @property
    def updates(self) -> UpdateRule:  # type: ignore[override]
        if self.risk.loss.is_quadratic and not self.takes_products:
            return UpdateRule(False, ("gram", "slopes", "ones", "totals", "pivots"))
        return UpdateRule(alone_with="the square loss without hessian='products'")

    @property
    def at_model(self) -> PreviousModel | None:
        # sums determine the minimum, wherever the run starts
        return self.before if self.sums is None else None

    def begin(self, problem: Problem) -> Steps[tuple[Rows, float, TargetScale]]:
        if self.before is None or self.sums is None:
            return (yield from super().begin(problem))
        earlier = self.sums.targets(self.before.center)
        targets = yield from target_scale(problem, self.risk, earlier)
        return self.before.landmarks.astype(problem.dtype), self.before.gamma, targets

    def regulariser(self, model: Model) -> float:
        return 0.5 * self.nu * float(model.basis.squared_norms(model.coefficients).sum())

    def at_zero(self, problem: Problem, risk: Risk, w: Array, figures: Figures) -> dict[str, Any]:
        kept = {"upper": math.inf, "steps": 0, "sampled": False, "damping": 0.0}
        return {**kept, "gradient": np.zeros((0, risk.n_outputs))}

    def stage(self, problem: Problem, state: NewtonState) -> Steps[NewtonState]:
        model = self.model(problem, state)
        footprint = self.footprint(problem, model.basis.size)
        found, coefficients, own = yield from self.method.descent(problem, state, model, footprint)
        state = replace(
            state,
            upper=found.bound,
            steps=found.steps,
            stage=state.stage + 1,
            gradient=found.point.gradient,
            balance=found.point.balance,
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

    def bound(self, state: NewtonState) -> float:
        return state.upper

    def stopped(self, state: NewtonState) -> str:
        return _STUCK if self.method.is_stuck(state) and not self.converged(state) else ""

    def shortfall(self, state: NewtonState) -> str:
        return _HINT if self.stopped(state) else ""

    def figures(self, state: NewtonState) -> dict[str, float]:
        return {"bound": state.upper, "steps": float(state.steps)}

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        first = zero_outlines(problem)
        if self.at_model is not None:
            first = [Outline(self.measuring(problem, None, footprint)), *first[1:]]
        return [*first, *self.method.passes(problem, footprint)]


class ByMatrices(NewtonMatrices):
    """The stages that factorise Gram matrices."""

    def is_stuck(self, state: NewtonState) -> bool:
        """Whether another stage would start with the same matrix as the last."""
        # the next matrix may use all rows
        if state.stage == 0 or (state.sampled and (state.stage <= 2 or self._risk.loss.is_quadratic)):
            return False
        return state.steps == 0 or self._risk.loss.is_quadratic

    def descent(
        self, problem: Problem, state: NewtonState, model: Model, footprint: Footprint
    ) -> Steps[tuple[Descent, Array, dict[str, Any]]]:
        """The descent, its coefficients, and the solver's own fields of the state."""
        # H, g <- Hessian and gradient of F at w, of a sample where that pays
        risk, coordinates = (
            model.risk,
            (yield Derived("coordinates", partial(self.coordinates, problem, state))),
        )
        objective = Objective(self._nu, problem, model, footprint, coordinates)
        at, place = coordinates.inward(state.coefficients), self.place(state.stage)
        schedule, tol = self.schedule(problem, footprint), self._solver.tol
        is_quadratic = self._risk.loss.is_quadratic
        # a quadratic that a sample did not minimise needs the matrix of all rows
        sample = None if state.stage > 0 and is_quadratic else schedule.sample(place)
        matrices, sums, kept = yield from self.summed(objective, at, place, sample)
        damping = state.damping or _DAMPING * coordinates.trace(matrices[0]) / sums.n_rows
        own = {"sampled": sample is not None, "damping": damping, **kept}
        if sample is None:
            start = point_of(self._nu, coordinates, at, sums, sums.mean_gradient)
        elif state.stage:
            start = Point(at, state.objective, state.gradient, None, state.balance)
        elif place:
            start = yield from objective.point(at)
        # the matrix of a parabola determines everything
        says_all, length = is_quadratic and sample is None, None
        if not says_all:
            length = yield from length_of(problem, model, footprint)

        def free(point: Point) -> FreeConstant | None:
            return None if length is None else FreeConstant(risk.loss, length, point.balance, point.value)

        def bound_at(point: Point) -> float:
            return gradient_bound(self._nu, point.gradient, coordinates, free(point))

        # until F - min F <= tol (F(0) - F), by the undamped H
        is_near, undamped = sample is None and (place == 0 or is_quadratic), None
        asked = False
        if place and not is_quadratic:
            enough = tol * (state.zero - start.value)
            copies = [matrix.copy(order="F") for matrix in matrices]
            undamped = self.metric(objective, copies)
            left = undamped.decrement(start.gradient)
            asked = left * (1.0 if sample is None else schedule.overstated(place)) <= enough
            if sample is None:
                bound = yield from self.bound(objective, start, undamped, enough, free(start))
                if bound <= enough:
                    return Descent(replace(start, sums=None), bound, 0, 0), state.coefficients, own
                is_near = left <= _NEAR * enough
        # d <- -H^-1 g, by the damped H
        shift, diagonal = 0.0, np.zeros((0, 1))
        if not is_near:
            # fewer rows need more damping
            fewer = 1.0 if sample is None else schedule.rows(0) / schedule.rows(place)
            shift, diagonal = coordinates.damping(matrices[0], damping * fewer)
        damped = replace(objective, nu=self._nu + shift, diagonal=diagonal, sample=sample)
        metric = undamped if undamped is not None and is_near else self.metric(damped, matrices)
        if sample is not None and not (state.stage or place):
            zero = point_of(damped.nu, coordinates, at, sums, sums.mean_gradient)
            # keep the corrections from steps on the sample
            of_sample = yield from descend(
                damped.point, zero, metric, SAMPLE_STEPS, _STEP_TOLERANCE * tol, zero.value
            )
            start = yield from objective.point(of_sample.point.at)
        # w <- w + t d, as often as one H is good for; only the gradient over all rows says that the minimum
        # is reached, and steps reduce it at less cost than the next H
        proves = not is_quadratic and (asked or (sample is None and (place > 0 or risk.n_outputs > 1)))
        least = 0.0
        while True:
            found = yield from descend(
                objective.point,
                start,
                metric,
                PROVING_STEPS if proves else schedule.most_steps,
                (1.0 if proves else _STEP_TOLERANCE) * tol,
                state.zero,
                None if undamped is None else undamped.decrement,
                bound_at if proves else None,
            )
            if found.steps or sample is not None or state.stage or least >= _LARGEST_SHIFT:
                break
            # rounding in the matrix hides the directions of least curvature, and steps along them go too far
            least = max(least * _LARGER_SHIFT, _SMALLEST_SHIFT)
            matrices, *_ = yield from self.summed(objective, at, place, sample)
            metric = self.metric(damped, matrices, least)
        if found.passes > _MANY * found.steps:
            damping *= _MORE_DAMPING
        elif sample is None and state.stage:
            # near the minimum it is known which rows have curvature
            damping *= _LESS_DAMPING
        # a shift above nu makes the matrix another parabola's
        is_exact = says_all and metric.shift <= self._nu
        bound = metric.decrement(found.point.gradient) if is_exact else bound_at(found.point)
        if asked and bound > 0.5 * state.upper and not found.point.is_lower_than(start, problem.dtype):
            # what is left is rounding
            found = replace(found, steps=0)
        return (replace(found, bound=bound), coordinates.outward(found.point.at), own | {"damping": damping})
