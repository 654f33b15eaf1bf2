"""AVM: the approximation vector machine, stochastic gradients moved to landmarks (Le et al. 2017).

The paper (its lambda is 1 / lam) is on the left, our code on the right:

    w_0 <- 0                                      AbstractExplicit.init
    for t = 1 .. T:                               AVMSteps.step, by _avm, the loop of avm_loop
        draw a row i                              Problem.visits; workers make k(x_i, C): prepare_piece
        add x_i to the core points if all         before the first step: AbstractExplicit.init, by a rule
            are farther away than the diameter        of landmarks/
        c <- the core point nearest to x_i        prepare_piece
        g <- lambda w_(t-1)                       _avm; w = u / (t0 + t), so that u changes at c alone
            + l'(<w_(t-1), phi(x_i)>, y_i) phi(c)
        w_t <- w_(t-1) - g / (lambda t)           Average.u, in steps 1 / (t0 + t)
        project w_t on a ball around 0            AVMSteps.project, every 32 r steps (BallProjection)
    return a mean of the w_t                      AVMSteps.coefficients: of the last half of them
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distkern.core.choices import Choices
from distkern.core.compiled import derivative, tuple_type
from distkern.core.parameters import FLAG, Parameter, Whole, parameter
from distkern.core.types import Array
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.losses import MARGIN_LOSSES
from distkern.maths.losses.base import AbstractElementwiseLoss
from distkern.solvers.base import Problem, UpdateRule, order_of_rows, rows_of_stage
from distkern.solvers.coreset import AbstractCoresetSolver, AbstractSteps, KernelPiece, compiled_steps
from distkern.solvers.explicit import FeatureState
from distkern.solvers.hyperparameters import CORESET, SEARCHED_GAMMA, SEARCHED_LAM, a_loss
from distkern.solvers.measuring import Figures
from distkern.solvers.risk import Risk
from distkern.solvers.streamed import few_steps

#: default number of landmarks, many because steps are cheap
USUAL_LANDMARKS = 2048
_NEVER = 2**62


@dataclass(frozen=True, kw_only=True)
class AVMState(FeatureState):
    """The iterate w_t = u / (t0 + t), and the terms of the average of later iterates.

    Attributes
    ----------
    accumulated : (n_outputs, r), u
    early : (n_outputs, r), sum over changes of u of (change * inverse_sum at that time)
    inverse_sum : sum of 1 / (t0 + t) over the averaged steps so far
    step : t
    first_averaged : the step after which iterates are averaged, if they are
    coefficients : the average once it has started, w_t before
    """

    accumulated: Array
    early: Array
    inverse_sum: float
    step: int
    first_averaged: int


@dataclass(frozen=True)
class AVM(AbstractCoresetSolver[AVMState]):
    """Stochastic gradient descent with steps 1/(t0 + t) whose directions are moved to the nearest landmark.

    Minimises the same f as CSVRG: w <- (1 - eta_t) w - eta_t alpha_t phi(c_t), eta_t = 1/(t0 + t); Le et al.
    2017 write lambda for 1/lam. Converges at O(1/t).

    Deviations: the landmarks are chosen before the first step; t0 = L for smooth losses, so that no step
    exceeds 1/L, and 0 for the hinge as in the paper; projection as in CSVRG.
    """

    stages: int = parameter(10, Whole(), help="passes over the rows, measured after each")
    steps_per_stage: int | float | None = rows_of_stage(
        "one pass, or more if that is less than lam steps (at most 2^14 of them)"
    )
    order: str = order_of_rows()
    projection: bool = parameter(True, FLAG, help="keep w in the ball that holds the optimum")
    average: bool = parameter(
        True, FLAG, help="the model is the mean of the last half of the iterates, not the last"
    )

    usual_landmarks = USUAL_LANDMARKS
    name = "avm"
    cost_of_pass = "n r (d + k)"
    memory = "r (d + k) numbers and a tile of kernel values"
    searched: ClassVar[Mapping[str, Choices]] = {"lam": SEARCHED_LAM, "gamma": SEARCHED_GAMMA}
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("hinge", MARGIN_LOSSES),
        **CORESET,
        "n_landmarks": replace(
            CORESET["n_landmarks"],
            help=f"at most this many landmarks; none: {USUAL_LANDMARKS}, or by the diameter",
        ),
    }
    # runs recovered from objectives up to 11 times that of the model 0 (measured)
    explosion = 100.0

    @property
    def rows_to_forget(self) -> int:
        return 1 if isinstance(self.lam, str) else few_steps(self.lam)

    states = AVMState
    updates = UpdateRule(False, ("accumulated", "early", "inverse_sum", "step", "first_averaged"))

    def at_zero(self, problem: Problem, risk: Risk, w: Array, figures: Figures) -> dict[str, Any]:
        half = self.stages * self.rows_streamed(problem) // 2
        return {"accumulated": w.T, "early": w.T, "inverse_sum": 0.0, "step": 0, "first_averaged": half}

    def loop(self, problem: Problem, state: AVMState, basis: AbstractBasis, preconditioner: Any) -> AVMSteps:
        return AVMSteps(self, problem, state, basis)


class AVMSteps(AbstractSteps):
    """The steps of a stage of AVM."""

    def __init__(self, solver: AVM, problem: Problem, state: AVMState, basis: AbstractBasis) -> None:
        super().__init__(solver, basis)
        loss, smoothness = solver.margin_loss, solver.smoothness(problem)
        self._loop, center = avm_loop(loss, basis.dtype), solver.risk_of(state).offset
        self._offset = smoothness if math.isfinite(smoothness) else 0.0
        self._tail_start = state.first_averaged if solver.average else _NEVER
        self._rule = (self._offset, self._tail_start, float(solver.lam), center, loss.parameters)
        kept = (np.array(state.accumulated, order="C"), np.array(state.early, order="C"))
        self._w = Average(*kept, np.array([state.inverse_sum]), np.array([state.step]))

    def step(self, piece: KernelPiece) -> None:
        self._loop(*piece.loop_arguments(), self._w, *self._rule)

    def project(self) -> None:
        w = self._w
        w.add((self._ball.shrinkage(w.u.T / (self._offset + w.step)) - 1.0)[:, None] * w.u)

    @cached_property
    def coefficients(self) -> Array:
        w, step, inverse_sum = self._w, int(self._w.step[0]), float(self._w.inverse_sum[0])
        averaged = step - self._tail_start
        found = (inverse_sum * w.u - w.early) / averaged if averaged > 0 else w.u / (self._offset + step)
        return np.ascontiguousarray(found.T)

    def solver_state(self) -> dict[str, Any]:
        w = self._w
        kept: dict[str, Any] = {"accumulated": w.u, "early": w.early}
        kept |= {"inverse_sum": float(w.inverse_sum[0]), "step": int(w.step[0])}
        return {**kept, "first_averaged": self._tail_start}


class Average(NamedTuple):
    """AVM's w = u / (offset + step), with inverse_sum u - early the sum of the averaged iterates.

    Attributes
    ----------
    u, early : (k, r)
    inverse_sum, step : (1,)
    """

    u: Array
    early: Array
    inverse_sum: Array
    step: NDArray[np.int64]

    def add(self, change: Array) -> None:
        """u <- u + change."""
        self.u[...] += change
        self.early[...] += change * self.inverse_sum


def _avm(values, nearest, products, signs, weights, w, offset, tail_start, lam, center, parameters):  # type: ignore[no-untyped-def]
    u, early, inverse_sum, step = w.u, w.early, w.inverse_sum[0], w.step[0]
    size = values.shape[1]
    for t in range(values.shape[0]):
        landmark = nearest[t]
        shrink = 1.0 / max(offset + step, 1.0)
        step += 1
        for j in range(signs.shape[1]):
            dot = 0.0
            for i in range(size):
                dot += values[t, i] * u[j, i]
            prediction = shrink * dot + center[j]
            change = -lam * weights[t] * derivative(prediction, np.float64(signs[t, j]), parameters)
            u[j, landmark] += change
            early[j, landmark] += change * inverse_sum
        if step > tail_start:
            inverse_sum += 1.0 / (offset + step)
    w.inverse_sum[0] = inverse_sum
    w.step[0] = step


@cache
def avm_loop(loss: AbstractElementwiseLoss, dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile the inner loop of :class:`AVM` over the rows of a piece.

    It takes the arrays of a :class:`~distkern.solvers.coreset.KernelPiece`, an :class:`Average` that it
    updates in place, t0, the step after which iterates are averaged, lam, the offset (k,) of predictions and
    the loss's parameters.
    """
    w = tuple_type(Average, "f8[:, :]! f8[:, :]! f8[:]! i8[:]!")
    return compiled_steps(_avm, w, "f8 i8 f8 f8[:]", loss, dtype)
