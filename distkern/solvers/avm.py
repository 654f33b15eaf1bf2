"""AVM: the approximation vector machine, stochastic gradients moved to landmarks (Le et al. 2017)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.common.choices import Choices
from distkern.common.parameters import FLAG, Parameter, Whole, parameter
from distkern.common.sparse import Rows
from distkern.common.types import Floats
from distkern.losses import margin_loss_names
from distkern.solvers.base import Measures, Problem, Steps, order_of_rows, rows_of_stage
from distkern.solvers.coreset import AbstractCoresetSolver, CoresetProblem, Piece
from distkern.solvers.hyperparameters import CORESET, SEARCHED_GAMMA, SEARCHED_LAM, a_loss
from distkern.solvers.measuring import MeasuredState

#: more than CSVRG's: gradients are moved to them, and a step is cheap
USUAL_LANDMARKS = 2048
_N_LANDMARKS = replace(
    CORESET["n_landmarks"], help=f"at most this many landmarks; none: {USUAL_LANDMARKS}, or by the diameter"
)


@dataclass(frozen=True)
class AVMState(MeasuredState):
    """w_t = u / (t0 + t), and what the average of the later iterates needs.

    Attributes
    ----------
    landmarks, gamma : the basis
    accumulated : (n_outputs, r), u
    early : (n_outputs, r), sum over changes of u of (change * inverse_sum when it was made)
    inverse_sum : sum of 1 / (t0 + t) over the averaged steps so far
    step : t
    coefficients : (r, n_outputs) of the model: the average once it has begun, w_t before
    """

    landmarks: Rows
    gamma: float
    accumulated: NDArray[np.float64]
    early: NDArray[np.float64]
    inverse_sum: float
    step: int
    coefficients: NDArray[np.float64]


@dataclass(frozen=True)
class AVM(AbstractCoresetSolver[AVMState]):
    """Stochastic gradient descent with steps 1/(t0 + t) whose directions are moved to the nearest landmark.

    Minimises the same f as CSVRG: w <- (1 - eta_t) w - eta_t alpha_t phi(c_t), eta_t = 1/(t0 + t). In
    the terms of Le et al. 2017 their lambda is 1/lam. O(1/t).

    Deviations: the landmarks are chosen before the first step rather than on the way; t0 = L for smooth
    losses, so that no step exceeds 1/L, and 0 for the hinge as in the paper; projection as for CSVRG.

    Parameters
    ----------
    parts : loss, lam, kernel, landmarks; the others are described in their declarations
    """

    parts: CoresetProblem
    stages: int = parameter(10, Whole(), help="passes over the rows, measured after each")
    steps_per_stage: int | float | None = rows_of_stage("one pass")
    order: str = order_of_rows()
    projection: bool = parameter(True, FLAG, help="keep w in the ball that holds the optimum")
    average: bool = parameter(
        True, FLAG, help="the model is the mean of the last half of the iterates, not the last"
    )

    name = "avm"
    cost_of_pass = "n r (d + k)"
    memory = "r (d + k) numbers and a tile of kernel values"
    searched: ClassVar[Mapping[str, Choices]] = {"lam": SEARCHED_LAM, "gamma": SEARCHED_GAMMA}
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("hinge", margin_loss_names),
        **CORESET,
        "n_landmarks": _N_LANDMARKS,
    }
    # up to 11 times that of the model 0 it was seen to come back
    explosion = 100.0

    def state_type(self) -> type[AVMState]:
        return AVMState

    def wanted_steps(self, problem: Problem) -> float:
        return float(problem.n_rows)

    @property
    def columns_per_output(self) -> int:
        return 0

    def columns(self, state: AVMState) -> Floats:
        return np.zeros((len(state.landmarks), 0))

    def init(self, problem: Problem) -> Steps[AVMState]:
        landmarks, gamma = yield from self.parts.begin(problem)
        zero = np.zeros((problem.n_outputs, len(landmarks)))
        state = AVMState(landmarks, gamma, zero, zero, 0.0, 0, zero.T)
        return (yield from self.measured(problem, state))[0]

    def stage(self, problem: Problem, state: AVMState) -> Steps[AVMState]:
        from distkern.solvers._loops import Average, avm_loop

        model = self.model(problem, state)
        pieces: Iterator[Piece] = yield self.rows_of_stage(problem, model, state)
        loss, ball = self.parts.margin_loss, self.ball(model.basis)
        loop = avm_loop(loss, model.basis.dtype)
        smoothness = self.parts.smoothness(problem)
        offset = smoothness if math.isfinite(smoothness) else 0.0
        last = self.stages * self.steps(problem)
        tail_start = last // 2 if self.average else last
        rule = (offset, tail_start, float(self.parts.lam), loss.parameters)
        kept = (state.accumulated.copy(), state.early.copy())
        w = Average(*kept, np.array([state.inverse_sum]), np.array([state.step]))
        for piece in pieces:
            loop(*piece.loop_arguments(), w, *rule)
            if ball.due(len(piece)):
                w.add((ball.shrinkage(w.u.T / (offset + w.step)) - 1.0)[:, None] * w.u)
        step, inverse_sum = int(w.step[0]), float(w.inverse_sum[0])
        averaged = step - tail_start
        coefficients = (inverse_sum * w.u - w.early) / averaged if averaged > 0 else w.u / (offset + step)
        after = replace(
            state,
            accumulated=w.u,
            early=w.early,
            inverse_sum=inverse_sum,
            step=step,
            coefficients=np.ascontiguousarray(coefficients.T),
            stage=state.stage + 1,
        )
        return (yield from self.measured(problem, after, model.basis))[0]

    def finished(self, state: AVMState) -> bool:
        return state.stage >= self.stages

    def measures(self, state: AVMState) -> Measures:
        return state.measures(len(state.landmarks), {})
