"""Stochastic block mirror descent over explicit features (Dai et al. 2014, Table 2; Dang and Lan 2013).

F(w) = nu/2 |w|^2 + mean_i l(z(x_i) w, y_i) has its coefficients in b blocks, with the Bregman distance V_j in
block j. The paper is on the left, our code, with batches of B rows and V_j(v, w) = (v - w)' P_j (v - w) / 2,
on the right:

    w <- 0                                        AbstractExplicit.init
    for t = 0, 1, ...                             BlockSteps.step, of the batches of BatchLoop.consume
        draw a row i                              Problem.visits; workers make z(x_i): prepare_piece
        draw a block j, each with chance 1 / b    BlockSteps.step
        g <- the gradient in block j at row i     BatchLoop.gradient, and nu w_j
        w_j <- argmin_v gamma_t <g, v>            BlockSteps.step: w_j - gamma_t P_j^-1 g
            + V_j(v, w_j)                             (SBMD.preconditioner)
    return sum_t gamma_t w / sum_t gamma_t        BlockSteps.coefficients: weights t^averaging
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from distkern.core.choices import Choices
from distkern.core.parameters import FLAG, NOT_NEGATIVE, NOTHING, POSITIVE, Parameter, Whole, parameter
from distkern.core.rng import Purpose, stream
from distkern.core.types import Array
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.features import Footprint
from distkern.passes import Reduce, Stream
from distkern.solvers.base import (
    Outline,
    Problem,
    Steps,
    UpdateRule,
    averaged_iterates,
    order_of_rows,
    rows_of_stage,
)
from distkern.solvers.compare._blocks import BlockGrams, GramOperand, block_solves, gram_pass, runs_of
from distkern.solvers.explicit import CountingState
from distkern.solvers.gram import Solve
from distkern.solvers.hyperparameters import ANY_LOSS, GAMMA_ON_DEMAND, SEARCHED_NU, feature_parameters
from distkern.solvers.measuring import Figures, Model, Sums, pass_cost
from distkern.solvers.risk import Risk
from distkern.solvers.streamed import AbstractStreamed, BatchLoop, FeaturePiece, measure_largest
from distkern.solvers.svrg import LEAST_BATCH, is_preconditioned

#: first index of the stream that draws blocks
_ORDER = 7


@dataclass(frozen=True, kw_only=True)
class SBMDState(CountingState):
    """The iterate after a stage, the sum of all iterates so far, and the model.

    Attributes
    ----------
    w : (r, k) after ``step`` steps
    weighted_sum : (r, k), in block j the weighted sum of the iterates up to a total weight of ``stamps[j]``
    stamps : (n_blocks,)
    total : sum of the weights of all iterates
    first_step : gamma_0
    largest : max_i s_i |z(x_i)|^2
    """

    w: Array
    weighted_sum: Array
    stamps: Array
    total: float
    step: int
    first_step: float
    largest: float


class BlockSteps(BatchLoop):
    """The steps of a stage, each in a uniformly drawn block of coefficients.

    Step t has size first / (1 + decay t), iterate t the weight t^power in the average. ``solves`` are the
    maps g -> P_j^-1 g of the blocks, empty if P_j = I.
    """

    def __init__(
        self, solver: SBMD, problem: Problem, state: SBMDState, basis: AbstractBasis, preconditioner: Any
    ) -> None:
        super().__init__(solver, problem, state, basis, preconditioner)
        self._solves, bend = preconditioner
        # state.coefficients is the average, but steps continue from the iterate
        self.w, self.narrow = state.w.copy(), state.w.astype(basis.dtype)
        self._runs = runs_of(basis.size, solver.block_size)
        self._averaging = solver.averaging
        self._first, self._decay = state.first_step, state.first_step * bend / (2.0 * len(self._runs))
        self._draws = stream(problem.seed, Purpose.COLUMN_DRAWS, _ORDER, state.stage)
        self._weighted_sum, self._stamps = state.weighted_sum.copy(), state.stamps.copy()
        self._total, self._step = state.total, state.step

    def step(self, batch: FeaturePiece) -> None:
        block = int(self._draws.integers(len(self._runs)))
        run, w = self._runs[block], self.w
        gradient = self.penalty[run] * w[run] + self.gradient(batch, self.narrow, run)
        # the block has not changed since its last draw
        self._weighted_sum[run] += (self._total - self._stamps[block]) * w[run]
        self._stamps[block] = self._total
        if self._solves:
            gradient = self._solves[block](gradient)
        w[run] -= self._first / (1.0 + self._decay * self._step) * gradient
        self.narrow[run] = w[run]
        self._step += 1
        self._total += float(self._step) ** (self._averaging or 0)

    @property
    def coefficients(self) -> Array:
        """The weighted average of the iterates, or the last one."""
        if self._averaging is None or self._total == 0.0:
            return self.w.copy()
        found = self._weighted_sum.copy()
        for run, stamp in zip(self._runs, self._stamps, strict=True):
            found[run] += (self._total - stamp) * self.w[run]
        return found / self._total

    def solver_state(self) -> dict[str, Any]:
        kept = {"w": self.w, "weighted_sum": self._weighted_sum, "stamps": self._stamps}
        return {**kept, "total": self._total, "step": self._step}


@dataclass(frozen=True)
class SBMD(AbstractStreamed[SBMDState]):
    """Stochastic block mirror descent over random, Nystroem or linear features, in the Euclidean norm.

    Minimises nu/2 |w|^2 + mean_i s_i l(z(x_i) w, y_i), w (r, k) for k outputs. Step t takes a batch of B rows
    and one of b blocks of consecutive coefficients, drawn uniformly, and does

        w_j <- w_j - gamma_t P_j^-1 (Z_j' S l'(Z w) / B + nu w_j),
        gamma_t = gamma_0 / (1 + gamma_0 m t / (2 b)),

    (Dang and Lan 2013, with v' P_j v / 2 for the Bregman distance of a block). For large t, gamma_t is
    2 b / (m t): b times the steps of strongly convex gradient descent, since a block is drawn every b steps.

    With ``precondition``, P_j = c Z_j' S Z_j / n + (nu + a_j) I, over all n rows, bounds the Hessian in the
    block, with c the loss's curvature. gamma_0 is 1/2, and a_j = gamma_0 c q_j max_i s_i |z(x_i)|^2 / (2 B)
    keeps steps on few rows stable, with q_j the block's share of mean_i s_i |z(x_i)|^2; m = nu / (nu + mean_j
    a_j) is the least curvature of the objective in this metric where the loss has curvature c. Without, P_j =
    I and m = nu, as in the paper, and gamma_0 = 1 / L with L = c max_i s_i |z(x_i)|^2 + nu. A loss whose
    slope jumps gets c = 1.

    The model is the average of the iterates, weighted by t^``averaging``; a block's share is added when the
    block is drawn. Rows are drawn without replacement unless ``order`` is "iid"; a batch ends with its block
    of rows.

    Raises
    ------
    InputError
        If a number is out of range, or ``precondition`` is set for more than 8192 features.
    """

    nu: float = parameter(1e-6, NOT_NEGATIVE, help="weight of |w|^2 / 2 against the mean loss")
    batch_size: int | None = parameter(
        None,
        Whole(),
        NOTHING,
        help="B, rows of a step; none: with a preconditioner 512 or n / 16 if that is less, 4 without",
    )
    block_size: int = parameter(512, Whole(), help="coefficients of a step")
    step_size: float | None = parameter(
        None, POSITIVE, NOTHING, help="gamma_0; none: from the loss and the features"
    )
    precondition: bool | None = parameter(
        None,
        FLAG,
        NOTHING,
        help="precondition steps by a bound of the block's second derivatives; none: up to 8192 features, "
        "unless batch_size is below 16",
    )
    stages: int = parameter(20, Whole(), help="number of stages; the model is measured after each")
    steps_per_stage: int | float | None = rows_of_stage("one pass")
    averaging: int | None = averaged_iterates()
    order: str = order_of_rows()

    name = "sbmd"
    cost_of_pass = "n r (d + k) for predictions, n c k for gradients in blocks of c"
    memory = "r k numbers, and r c with a preconditioner"
    searched: ClassVar[Mapping[str, Choices]] = {"nu": SEARCHED_NU, "gamma": GAMMA_ON_DEMAND}
    choices: ClassVar[Mapping[str, Parameter]] = {"loss": ANY_LOSS, **feature_parameters("random")}
    explosion = math.inf
    states, loop_type = SBMDState, BlockSteps
    updates = UpdateRule(False, ("w", "weighted_sum", "stamps", "total", "step", "first_step"))

    def at_zero(self, problem: Problem, risk: Risk, w: Array, figures: Figures) -> dict[str, Any]:
        largest, first_step = figures.sums.largest, self.step_size
        if first_step is None:
            smoothness = max(risk.curvature * largest + self.nu, np.finfo(float).tiny)
            first_step = 0.5 if self.preconditioned(len(w)) else 1.0 / smoothness
        stamps = np.zeros(len(runs_of(len(w), self.block_size)))
        kept = {"w": w, "weighted_sum": w, "stamps": stamps, "total": 0.0, "step": 0}
        return {**kept, "first_step": first_step, "largest": largest}

    def preconditioner(
        self, problem: Problem, state: SBMDState, basis: AbstractBasis
    ) -> Steps[tuple[list[Solve], float]]:
        """Return P_j^-1 of each block, and m."""
        if not self.preconditioned(basis.size):
            return [], self.nu
        operand = GramOperand(basis, self.risk, self.block_size)
        grams: BlockGrams = yield gram_pass(
            problem, self.footprint(problem, basis.size), self.block_size, operand
        )
        curvature = self.risk_of(state).curvature
        norms = np.array([float(np.trace(gram)) for gram in grams.matrices])
        rows = 2.0 * self.rows_of_batch(problem, basis.size)
        damping = state.first_step * curvature * state.largest / rows * norms
        damping /= max(norms.sum(), np.finfo(float).tiny)
        solves = block_solves(grams, curvature / problem.n_rows, self.nu + damping, whole=True)
        return solves, self.nu / (self.nu + float(damping.mean()))

    def preconditioned(self, size: int) -> bool:
        """Whether steps over ``size`` features are preconditioned."""
        has_few_rows = self.precondition is None and (self.batch_size or LEAST_BATCH) < LEAST_BATCH
        return not has_few_rows and is_preconditioned(self.precondition, size - self.n_constant)

    def rows_of_batch(self, problem: Problem, size: int) -> int:
        if self.batch_size is not None:
            return self.batch_size
        return min(512, max(LEAST_BATCH, problem.n_rows // 16)) if self.preconditioned(size) else 4

    def first_pass(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
        cost = pass_cost(problem, footprint, 4)
        return Reduce("first measure", measure_largest, Sums.add, model, cost=cost)

    def stage_pass(
        self, problem: Problem, footprint: Footprint, stage: int, operand: Any
    ) -> Stream[FeaturePiece]:
        plain = super().stage_pass(problem, footprint, stage, operand)
        if not self.preconditioned(footprint.size):
            return plain
        factors = footprint.size, min(self.block_size, footprint.size), 8
        return replace(plain, cost=plain.cost.holding(driver={"factors of all blocks": factors}))

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        passes = super().passes(problem, footprint)
        if self.preconditioned(footprint.size):
            passes.append(Outline(gram_pass(problem, footprint, self.block_size, None)))
        return passes
