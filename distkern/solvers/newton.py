"""Newton's method over explicit features, by Gram matrices that are summed in passes over the rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.parameters import NOT_NEGATIVE, Parameter, Whole, parameter
from distkern.common.sparse import Rows
from distkern.losses import curved_loss_names
from distkern.solvers._newton.line import LENGTHS, LineSums, line_pass
from distkern.solvers.base import Measures, Outline, Problem, Steps, Trouble
from distkern.solvers.explicit import AbstractExplicit, held_out_pass
from distkern.solvers.gram import Grams, solved, with_curvatures, with_slopes
from distkern.solvers.hyperparameters import a_loss, feature_parameters
from distkern.solvers.measuring import Model, Sums, figures_of
from distkern.solvers.risk import Risk
from distkern.solvers.targets import figures_of_targets, scaled_risk, target_outline, target_scale

Array = NDArray[np.float64]

#: of what a quadratic function would lose over a step, what the objective has to lose
_DESCENT = 0.1
#: of the objective, what is lost to the rounding of predictions in single precision
_ROUNDING = 1e-7
#: of a pass's result: the half of a matrix of 5,800 functions
_STRIP_BYTES = 128 * 2**20
_STUCK = "no step lowers the objective any more, in the precision of the features: set a larger nu, or tol"


@dataclass(frozen=True)
class NewtonState:
    """A model with the figures at it, and the step from there on.

    Attributes
    ----------
    landmarks : (n_landmarks, n_features), without rows where the features have none
    gamma : of the kernel
    coefficients : (r, k), w
    direction : (r, k), d = -H^-1 g at w
    decrement : -g . d / 2, what the objective would fall by over d if it were quadratic
    converged : the last step was to gain no more than the tolerance
    length : of the last step, in units of its direction; 0 where no length made the objective less
    stage : stages done
    center, target_scale, variances : of real targets, see :class:`~distkern.solvers.targets.TargetScale`
    absolute_errors : (2,) mean absolute errors of training and of held-out rows, NaN for classes
    """

    landmarks: Rows
    gamma: float
    coefficients: Array
    direction: Array
    decrement: float
    converged: bool
    length: float
    stage: int
    objective: float
    train_error: float
    test_error: float | None
    center: Array
    target_scale: float
    variances: Array
    absolute_errors: Array


@dataclass(frozen=True)
class Newton(AbstractExplicit[NewtonState]):
    """Newton's method, damped, over Nystroem, random or linear features.

    Minimises F(w) = nu/2 |w|^2 + mean_i s_i l(z(x_i) w, y_i), w (r, k), by steps w <- w + t d,

        H_j d_j = -g_j,    H_j = Z' diag(s l_jj'') Z / n + nu I,    g_j = Z' (s l_j') / n + nu w_j,

    for each output j, with the generalised second derivative where l' has kinks (Mangasarian 2002; Keerthi
    and DeCoste 2005 for the squared hinge). One pass gives the matrices, the gradient, the objective and the
    errors at w + d, so that a full step that is good enough costs no pass of its own. One that is not, and
    the last one, is measured by a pass that gives the objective at twelve lengths t at once. Products are in
    the precision of the rows, sums in float64, and the driver factorises.

    The square loss takes one step. At w = 0 losses of classes are bent alike for every output and row, and of
    losses of real targets the bound of l'' is taken there, so the first round makes one matrix, later ones
    make k. Of losses whose outputs hang together (softmax) the
    blocks H_j of the Hessian are taken, times k / (k - 1).

    Nystroem features are not made: it works on the kernels k(L, x) themselves, with K_LL in the place of I.
    """

    nu: float = parameter(1e-6, NOT_NEGATIVE, help="weight of |w|^2 / 2 against the mean loss")
    stages: int = parameter(
        20, Whole(), help="at most this many steps; each makes a Gram matrix of all rows for each output"
    )
    tol: float = parameter(
        1e-3,
        NOT_NEGATIVE,
        help="the step that is to lower the objective by no more than this share of it is the last",
    )

    name = "newton"
    cost_of_pass = "n r (d + k r / 2 + k)"
    memory = "(k + 1) r^2 numbers in the driver, k r^2 / 2 in each worker"
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("logistic", curved_loss_names),
        **feature_parameters("nystroem"),
    }

    def __post_init__(self) -> None:
        # refused before any row is read
        self.risk.loss.row_curvatures(*np.zeros((2, 1, self.risk.n_outputs)))

    def state_type(self) -> type[NewtonState]:
        return NewtonState

    def mend(self, trouble: Trouble) -> str:
        if trouble is Trouble.DIVERGED:
            return "set a larger nu"
        return super().mend(trouble)

    def init(self, problem: Problem) -> Steps[NewtonState]:
        landmarks, gamma = yield from self.features.begin(problem.layout)
        basis = self.basis(problem, landmarks, gamma)
        targets = yield from target_scale(problem, self.risk)
        zero = np.zeros((basis.size, self.risk.n_outputs))
        state = NewtonState(
            landmarks=landmarks,
            gamma=gamma,
            coefficients=zero,
            direction=zero,
            decrement=0.0,
            converged=False,
            length=0.0,
            stage=0,
            objective=math.inf,
            train_error=math.nan,
            test_error=None,
            center=targets.center,
            target_scale=targets.scale,
            variances=targets.variances,
            absolute_errors=np.full(2, math.nan),
        )
        found = yield from self._round(problem, basis, state, zero)
        assert found is not None, "any objective is less than infinity"
        return found

    def stage(self, problem: Problem, state: NewtonState) -> Steps[NewtonState]:
        basis = self.basis(problem, state.landmarks, state.gamma)
        after, is_last = replace(state, stage=state.stage + 1, length=1.0), self._is_last(state)
        if not is_last:
            found = yield from self._round(problem, basis, after, state.coefficients + state.direction)
            if found is not None:
                return found
        sums, length = yield from self._search(problem, basis, state)
        after = replace(after, length=length)
        if not length:
            return after
        at = state.coefficients + length * state.direction
        if is_last:
            converged = self.risk.loss.is_quadratic or self._is_small(state)
            return (yield from self._at(problem, basis, replace(after, converged=converged), at, sums))
        found = yield from self._round(problem, basis, replace(after, decrement=0.0), at)
        return replace(after, length=0.0) if found is None else found

    def finished(self, state: NewtonState) -> bool:
        stuck = state.stage > 0 and state.length == 0.0
        return state.stage >= self.stages or state.converged or stuck

    def measures(self, state: NewtonState) -> Measures:
        stuck = state.stage > 0 and state.length == 0.0
        return Measures(
            state.objective,
            state.train_error,
            state.test_error,
            len(state.coefficients),
            {"decrement": state.decrement, "length": state.length, **figures_of_targets(state)},
            converged=state.converged,
            shortfall=_STUCK if stuck else "",
        )

    def outline(self, problem: Problem) -> list[Outline]:
        footprint = self.footprint(problem, self.expected_size(problem))
        steps = 1 if self.risk.loss.is_quadratic else self.stages
        passes = [
            *(Outline(step, times) for step, times in self.features.outline(problem.layout)),
            *target_outline(problem),
            self._grams(problem, 0).outline(problem, footprint),
            Outline(line_pass(problem, None, footprint), 1),
        ]
        if steps > 1:
            later = self._grams(problem, 1).outline(problem, footprint)
            passes.append(replace(later, times=later.times * (steps - 1)))
        if problem.has_test:
            passes.append(Outline(held_out_pass(problem, None, footprint), steps + 1))
        return passes

    # -- its parts

    def _grams(self, problem: Problem, stage: int) -> Grams:
        """The matrices of a round: one for each output, at first one for all, which are bent alike there."""
        weigh, n_matrices = (with_curvatures, self.risk.n_outputs) if stage else (with_slopes, 1)
        return Grams(weigh, n_matrices, strip_bytes=_STRIP_BYTES, name="Newton matrix")

    def _bend(self, stage: int) -> float:
        """What a round's matrices are multiplied by."""
        loss, outputs = self.risk.loss, self.risk.n_outputs
        if stage:
            return loss.coupling(outputs)
        if loss.target_kind == "real":
            # a bound: far targets may not be bent at all
            return loss.curvature
        return loss.coupling(outputs) * float(loss.row_curvatures(*np.zeros((2, 1, outputs)))[0, 0])

    def _is_small(self, state: NewtonState) -> bool:
        return state.decrement <= self.tol * abs(state.objective)

    def _is_last(self, state: NewtonState) -> bool:
        """Whether the step from a state on is the last one, so that no matrix is needed at its end."""
        return state.stage + 1 >= self.stages or self.risk.loss.is_quadratic or self._is_small(state)

    def _round(
        self, problem: Problem, basis: AbstractBasis, state: NewtonState, at: Array
    ) -> Steps[NewtonState | None]:
        """The state at other coefficients, with the step from there; None if too little was gained."""
        risk, footprint = self._scaled(state), self.footprint(problem, basis.size)
        grams, model = self._grams(problem, state.stage), Model(basis, at, risk)
        matrices, sums = yield from grams.matrices(problem, model, footprint)
        metric = basis.metric_product(at)
        value = sums.losses / problem.n_rows + 0.5 * self.nu * float(np.einsum("ij,ij->", at, metric))
        # not so of what is no number
        if not value <= state.objective - _DESCENT * state.decrement + _ROUNDING * abs(state.objective):
            return None
        gradient = sums.mean_gradient + self.nu * metric
        direction = np.empty_like(at)
        for number, matrix in enumerate(matrices):
            matrix *= self._bend(state.stage) / problem.n_rows
            basis.add_metric(matrix, self.nu)
            own = slice(number, number + 1) if len(matrices) > 1 else slice(None)
            direction[:, own] = -solved(matrix, 0.0, overwrite=True)(gradient[:, own])
        if risk.loss.target_kind == "classes":
            # what all outputs share changes no loss, and is 0 at the minimum
            direction -= direction.mean(axis=1, keepdims=True)
        decrement = -0.5 * float(np.einsum("ij,ij->", gradient, direction))
        after = replace(state, direction=direction, decrement=decrement)
        return (yield from self._at(problem, basis, after, at, sums))

    def _search(
        self, problem: Problem, basis: AbstractBasis, state: NewtonState
    ) -> Steps[tuple[Sums, float]]:
        """The best length of a step, with the sums there; 0 if all make the objective larger."""
        model = Model(basis, state.coefficients, self._scaled(state))
        found: LineSums = yield line_pass(
            problem, model, self.footprint(problem, basis.size), state.direction
        )
        values = []
        for length, sums in zip(LENGTHS, found.sums, strict=True):
            regulariser = self._regulariser(basis, state.coefficients + length * state.direction)
            values.append(sums.losses / problem.n_rows + regulariser)
        rounding = _ROUNDING * abs(state.objective)
        best = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
        full = LENGTHS.index(1.0)
        if values[full] <= values[best] + rounding:
            best = full
        enough = values[best] <= state.objective + rounding
        return found.sums[best], LENGTHS[best] if enough else 0.0

    def _at(
        self, problem: Problem, basis: AbstractBasis, state: NewtonState, at: Array, sums: Sums
    ) -> Steps[NewtonState]:
        """The state at coefficients where the sums are known."""
        model, footprint = Model(basis, at, self._scaled(state)), self.footprint(problem, basis.size)
        figures = yield from figures_of(
            problem, sums, held_out_pass(problem, model, footprint), self._regulariser(basis, at)
        )
        return replace(
            state,
            coefficients=at,
            objective=figures.objective,
            train_error=figures.train_error,
            test_error=figures.test_error,
            absolute_errors=figures.absolute_errors,
        )

    def _regulariser(self, basis: AbstractBasis, at: Array) -> float:
        return 0.5 * self.nu * float(np.einsum("ij,ij->", at, basis.metric_product(at)))

    def _scaled(self, state: NewtonState) -> Risk:
        return scaled_risk(self.risk, state.center, state.target_scale)
