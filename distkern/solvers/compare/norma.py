"""NORMA: stochastic functional gradients (Dai et al. 2014, Table 2; Kivinen, Smola and Williamson 2004).

Over explicit features z, f = sum_i a_i k(x_i, .) is w, and k(x, y) = z(x) z(y)'. The paper is on the left,
our code, with batches of B rows, on the right:

    f_1 <- 0                                      AbstractExplicit.init
    for t = 1, 2, ...                             NORMASteps.step, of the batches of BatchLoop.consume
        draw a row (x_t, y_t)                     Problem.visits; workers make z(x_t): prepare_piece
        f_t(x_t) <- sum_i a_i k(x_i, x_t)         BatchLoop.slopes: z(x_t) w
        gamma_t <- gamma_1 / sqrt(t)              FallingSteps.__call__
        a_i <- (1 - gamma_t nu) a_i, for i < t    NORMASteps.step: w <- (1 - gamma_t nu) w
        a_t <- -gamma_t l'(f_t(x_t), y_t)         there: w <- w + a_t z(x_t)
        drop a_(t - tau)                          KernelNORMA alone

With the kernel itself see :mod:`~distkern.solvers.compare.kernel_norma`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.choices import Choices
from distkern.core.errors import InputError
from distkern.core.parameters import NOT_NEGATIVE, NOTHING, POSITIVE, Parameter, Whole, parameter
from distkern.core.types import Array
from distkern.maths.bases.base import AbstractBasis, add_transposed
from distkern.maths.features import FEATURES
from distkern.solvers.base import Problem, UpdateRule
from distkern.solvers.explicit import CountingState
from distkern.solvers.hyperparameters import (
    ANY_LOSS,
    GAMMA_ON_DEMAND,
    SEARCHED_NU_OF_STEPS,
    feature_parameters,
)
from distkern.solvers.measuring import Figures
from distkern.solvers.risk import Risk
from distkern.solvers.streamed import AbstractStreamed, BatchLoop, FeaturePiece


@dataclass(frozen=True)
class FallingSteps:
    """gamma_t = first (1 - (t - 1) / last) for t up to last; or first / sqrt(1 + decay (t - 1))."""

    first: float
    decay: float | None
    last: int

    def __call__(self, step: int) -> float:
        if self.decay is None:
            return self.first * (1.0 - (step - 1) / self.last)
        return self.first / math.sqrt(1.0 + self.decay * (step - 1))


@dataclass(frozen=True, kw_only=True)
class NORMAState(CountingState):
    """The iterate after a stage.

    Attributes
    ----------
    landmarks : rows of the expansion, the oldest first, or the landmarks of Nystroem features
    places : positions of the expansion's rows among all rows
    step : t
    """

    places: NDArray[np.int64]
    step: int


class NORMASteps(BatchLoop):
    """Steps on explicit features."""

    def __init__(
        self, solver: NORMA, problem: Problem, state: NORMAState, basis: AbstractBasis, preconditioner: Any
    ) -> None:
        super().__init__(solver, problem, state, basis, preconditioner)
        self._rule, self._step = solver.rule(problem), state.step

    def step(self, batch: FeaturePiece) -> None:
        self._step += 1
        size, dtype = self._rule(self._step), self.narrow.dtype
        values, slopes = self.slopes(batch, self.narrow)
        self.w *= 1.0 - size * self.penalty
        add_transposed(values, (-size / len(slopes) * slopes).astype(dtype), self.w)
        self.narrow = self.w.astype(dtype)

    def solver_state(self) -> dict[str, Any]:
        return {"step": self._step}


@dataclass(frozen=True)
class NORMA(AbstractStreamed[NORMAState]):
    """Stochastic gradient descent in the space of the kernel, or of explicit features.

    Minimises nu/2 |f|^2 + mean_i s_i l(f(x_i), y_i). Step t takes a batch of B rows and does

        f <- (1 - gamma_t nu) f - (gamma_t / B) sum_i s_i l'(f(x_i), y_i) k(x_i, .),

    gamma_t = gamma_1 (1 - (t - 1) / T) for the T steps of the run (Zamani and Glineur 2023). The paper
    (Kivinen, Smola and Williamson 2004) has gamma_1 / sqrt(t), which is ``step_decay`` 1 and falls too early
    for several passes. Over explicit features k is their product, and steps change w. A stage is one pass
    over all rows in random order, and the model is the last iterate. For the kernel itself see
    :class:`~distkern.solvers.compare.kernel_norma.KernelNORMA`.

    Raises
    ------
    InputError
        If a number is out of range, or the first step would reverse the sign of f: gamma_1 nu > 1.
    """

    nu: float = parameter(1e-4, NOT_NEGATIVE, help="weight of |f|^2 / 2 against the mean loss")
    step_size: float | None = parameter(
        None,
        POSITIVE,
        NOTHING,
        help="gamma_1; none: 2 / the loss's curvature, or 4 if its slope jumps, for k(x, x) <= 1",
    )
    step_decay: float | None = parameter(
        None,
        NOT_NEGATIVE,
        NOTHING,
        help="steps fall like 1 / sqrt(1 + step_decay t), 1 is the paper's; none: linearly, to 0 at the end",
    )
    batch_size: int = parameter(1, Whole(), help="B, rows of a step")
    stages: int = parameter(4, Whole(), help="passes over the rows; the model is measured after each")

    name = "norma"
    cost_of_pass = "n r (d + k), r the rows of the expansion so far, by one process after the other"
    memory = "r d + r k numbers in every process; r k over explicit features"
    searched: ClassVar[Mapping[str, Choices]] = {"nu": SEARCHED_NU_OF_STEPS, "gamma": GAMMA_ON_DEMAND}
    choices: ClassVar[Mapping[str, Parameter]] = {"loss": ANY_LOSS, **feature_parameters("kernel", FEATURES)}
    explosion = math.inf
    states, loop_type = NORMAState, NORMASteps
    updates = UpdateRule(False, ("step",))

    @classmethod
    def kind_for(cls, features: Any) -> type[Any]:
        if not features.finds_rows:
            return cls
        from distkern.solvers.compare.kernel_norma import KernelNORMA

        return KernelNORMA

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first_step * self.nu > 1.0:
            raise InputError(
                f"{self.first_step:g} times nu {self.nu:g} exceeds 1: the first step would reverse f",
                where="step_size",
                hint=f"use {1.0 / self.nu:.3g} or less",
            )

    @property
    def first_step(self) -> float:
        """gamma_1 for rows of weight 1: by default 2 / the loss's curvature, or 4 if its slope jumps.

        :meth:`rule` divides the default by the largest weight.
        """
        curvature = self.risk.loss.curvature
        usual = 2.0 / curvature if math.isfinite(curvature) else 4.0
        return usual if self.step_size is None else self.step_size

    def rule(self, problem: Problem) -> FallingSteps:
        """The step sizes gamma_t."""
        steps_of_stage = sum(-(-rows // self.batch_size) for rows in problem.block_rows)
        done = 0 if self.before is None else int(self.before.solver_state["step"])
        most = problem.max_relative_weight if self.step_size is None else 1.0
        return FallingSteps(self.first_step / most, self.step_decay, done + self.stages * steps_of_stage)

    def step_hint(self) -> str:
        return f"step_size={self.first_step / 10:.3g}"

    def at_zero(self, problem: Problem, risk: Risk, w: Array, figures: Figures) -> dict[str, Any]:
        # places of old rows differ from those of the rows read
        n_old = len(w) if self.features.finds_rows else 0
        return {"places": np.arange(-n_old, 0), "step": 0}
