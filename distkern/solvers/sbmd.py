"""Stochastic block mirror descent over explicit features (Dai et al. 2014, Table 2; Dang and Lan 2013)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.choices import Choices
from distkern.common.parameters import FLAG, NOT_NEGATIVE, NOTHING, POSITIVE, Parameter, Whole, parameter
from distkern.common.rng import Purpose, stream
from distkern.features import Footprint
from distkern.losses import SUPERVISED, loss_names
from distkern.passes import Derived, Reduce, Stream
from distkern.solvers._pegasos.pieces import Piece, measure_largest
from distkern.solvers._rbcd.blocks import BlockGrams, GramOperand, block_solves, gram_pass, runs_of
from distkern.solvers._sbmd.steps import BlockSteps, Iterates, Rule
from distkern.solvers._sbmd.stream import batch_stream
from distkern.solvers.base import Measures, Outline, Problem, Steps, order_of_rows, rows_of_stage
from distkern.solvers.explicit import (
    AbstractExplicit,
    ExplicitState,
    figures_at,
    held_out_pass,
    measuring_pass,
    pass_cost,
)
from distkern.solvers.gram import Solve
from distkern.solvers.hyperparameters import SEARCHED_GAMMA, SEARCHED_NU, a_loss, feature_parameters
from distkern.solvers.measuring import Model, Sums, measured
from distkern.solvers.risk import Risk
from distkern.solvers.svrg import LEAST_BATCH, is_preconditioned
from distkern.solvers.targets import scaled_risk

#: first index of the stream that draws blocks
_ORDER = 7


@dataclass(frozen=True, kw_only=True)
class SBMDState(ExplicitState):
    """The iterate after a stage, the sum of all so far, and the model.

    Attributes
    ----------
    w, banked, stamps, total, step : see :class:`~distkern.solvers._sbmd.steps.Iterates`
    coefficients : (r, k) of the model
    first_step : gamma_0
    largest : max_i s_i |z(x_i)|^2
    """

    w: NDArray[np.float64]
    banked: NDArray[np.float64]
    stamps: NDArray[np.float64]
    total: float
    step: int
    first_step: float
    largest: float


@dataclass(frozen=True)
class SBMD(AbstractExplicit[SBMDState]):
    """Stochastic block mirror descent over random, Nystroem or linear features, in the Euclidean norm.

    Minimises nu/2 |w|^2 + mean_i s_i l(z(x_i) w, y_i), w (r, k): k outputs share the features. Step t takes a
    batch of B rows and one of b blocks of consecutive coefficients, drawn uniformly, and does

        w_j <- w_j - gamma_t P_j^-1 (Z_j' S l'(Z w) / B + nu w_j),
        gamma_t = gamma_0 / (1 + gamma_0 m t / (2 b)),

    (Dang and Lan 2013, with v' P_j v / 2 for the Bregman distance of a block), which for large t is
    2 b / (m t): b times the steps of strongly convex gradient descent, as a block is met every b steps.

    With ``precondition`` P_j = c Z_j' S Z_j / n + (nu + a_j) I, over all n rows, bounds the Hessian in the
    block, c the loss's curvature. gamma_0 is 1/2, and a_j = gamma_0 c q_j max_i s_i |z(x_i)|^2 / (2 B) keeps
    steps on few rows stable, q_j the block's share of mean_i s_i |z(x_i)|^2; m = nu / (nu + mean_j a_j) is
    the least that the objective is bent by in this metric where the loss is bent by c. Without, P_j = I and
    m = nu, as in the paper, and gamma_0 = 1 / L with L = c max_i s_i |z(x_i)|^2 + nu. For a loss whose slope
    jumps c is taken for 1.

    The model is the average of the iterates, weighted with t^``averaging``, of which a block's share is added
    up when the block is met. Rows are drawn without replacement unless ``order`` is "iid"; a batch ends with
    its block of rows.

    Raises
    ------
    InputError
        If a number is out of range, or ``precondition`` is asked for more than 8192 features.
    """

    nu: float = parameter(1e-6, NOT_NEGATIVE, help="weight of |w|^2 / 2 against the mean loss")
    batch_size: int | None = parameter(
        None,
        Whole(),
        NOTHING,
        help="B, rows of a step; none: 512 or n / 16, if that is less, with a preconditioner, 4 without",
    )
    block_size: int = parameter(512, Whole(), help="coefficients of a step")
    step_size: float | None = parameter(
        None, POSITIVE, NOTHING, help="gamma_0; none: by the loss and the features"
    )
    precondition: bool | None = parameter(
        None,
        FLAG,
        NOTHING,
        help="divide steps by a bound of the block's second derivatives; none: for up to 8192 features, "
        "unless batch_size is below 16",
    )
    stages: int = parameter(20, Whole(), help="the model is measured after each")
    steps_per_stage: int | float | None = rows_of_stage("one pass")
    averaging: int | None = parameter(
        3,
        Whole(0, 8),
        NOTHING,
        help="k: the model is the mean of the iterates weighted with step^k; none: the last iterate",
    )
    order: str = order_of_rows()

    name = "sbmd"
    cost_of_pass = "n r (d + k) for predictions, n c k for gradients in blocks of c"
    memory = "r k numbers, and r c with a preconditioner"
    searched: ClassVar[Mapping[str, Choices]] = {
        "nu": SEARCHED_NU,
        "gamma": replace(SEARCHED_GAMMA, by_default=False),
    }
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("logistic", partial(loss_names, *SUPERVISED)),
        **feature_parameters("random"),
    }
    explosion = math.inf

    def state_type(self) -> type[SBMDState]:
        return SBMDState

    def step_hint(self) -> str:
        return (
            "a tenth of the present one" if self.step_size is None else f"step_size={self.step_size / 10:.3g}"
        )

    def init(self, problem: Problem) -> Steps[SBMDState]:
        begun, risk = yield from self.begun(problem)
        basis = self.basis(problem, begun.landmarks, begun.gamma)
        zero, footprint = np.zeros((basis.size, risk.n_outputs)), self.footprint(problem, basis.size)
        model = Model(basis, zero, risk)
        first, test = _first_pass(problem, model, footprint), held_out_pass(problem, model, footprint)
        figures = yield from measured(problem, first, test, 0.0)
        largest = figures.sums.largest
        smoothness = max(_curvature(risk) * largest + self.nu, np.finfo(float).tiny)
        first_step = 0.5 if self.preconditioned(basis.size) else 1.0 / smoothness
        state = SBMDState(
            w=zero,
            banked=zero,
            stamps=np.zeros(len(runs_of(basis.size, self.block_size))),
            total=0.0,
            step=0,
            coefficients=zero,
            first_step=first_step if self.step_size is None else self.step_size,
            largest=largest,
            **vars(begun),
        )
        return state.with_figures(figures)

    def stage(self, problem: Problem, state: SBMDState) -> Steps[SBMDState]:
        made: tuple[AbstractBasis, list[Solve], float] = yield Derived(
            "blocks", partial(self._blocks, problem, state)
        )
        basis, solves, bend = made
        risk = scaled_risk(self.risk, state.center, state.target_scale)
        footprint, runs = self.footprint(problem, basis.size), runs_of(basis.size, self.block_size)
        # rows are prepared without the coefficients, which may be many
        prepared = Model(basis, np.zeros((0, risk.n_outputs)), risk)
        pieces: Iterator[Piece] = yield self._stream(problem, footprint, state.stage, prepared)
        now = Iterates(state.w.copy(), state.banked.copy(), state.stamps.copy(), state.total, state.step)
        decay = state.first_step * bend / (2.0 * len(runs))
        rule = Rule(state.first_step, decay, self.rows_of_batch(problem, basis.size), self.averaging or 0)
        generator = stream(problem.seed, Purpose.COLUMN_DRAWS, _ORDER, state.stage)
        steps, n_rows = BlockSteps(risk, self.nu, rule, runs, solves, now, generator, basis.dtype), 0
        with np.errstate(all="ignore"):
            for piece in pieces:
                steps.consume(piece)
                n_rows += len(piece.weights)
            w = now.w if self.averaging is None else now.average(runs)
            model = Model(basis, w.copy(), risk)
            norm = 0.5 * self.nu * float(np.einsum("ij,ij->", w, w))
            figures = yield from figures_at(problem, model, footprint, norm)
        return state.following(problem, figures, n_rows, **vars(now) | {"coefficients": model.coefficients})

    def finished(self, state: SBMDState) -> bool:
        return state.stage >= self.stages

    def measures(self, state: SBMDState) -> Measures:
        return state.told()

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        passes = [
            Outline(_first_pass(problem, None, footprint)),
            Outline(self._stream(problem, footprint, 0, None), self.stages),
            Outline(measuring_pass(problem, None, footprint), self.stages),
            Outline(held_out_pass(problem, None, footprint), self.stages + 1),
        ]
        if self.preconditioned(footprint.size):
            passes.append(Outline(gram_pass(problem, footprint, self.block_size, None)))
        return passes

    def preconditioned(self, size: int) -> bool:
        """Whether steps over so many features are preconditioned."""
        has_few_rows = self.precondition is None and (self.batch_size or LEAST_BATCH) < LEAST_BATCH
        return not has_few_rows and is_preconditioned(self.precondition, size)

    def rows_of_batch(self, problem: Problem, size: int) -> int:
        """B."""
        if self.batch_size is not None:
            return self.batch_size
        return min(512, max(LEAST_BATCH, problem.n_rows // 16)) if self.preconditioned(size) else 4

    def rows_of_stage(self, problem: Problem) -> int:
        """Rows that the batches of a stage hold together."""
        rows = 1.0 if self.steps_per_stage is None else self.steps_per_stage
        return max(1, math.ceil(rows * problem.n_rows) if isinstance(rows, float) else rows)

    def _blocks(self, problem: Problem, state: SBMDState) -> Steps[tuple[AbstractBasis, list[Solve], float]]:
        """The features, P_j^-1 of each block, and m."""
        basis = self.basis(problem, state.landmarks, state.gamma)
        if not self.preconditioned(basis.size):
            return basis, [], self.nu
        footprint, risk = self.footprint(problem, basis.size), self.risk
        operand = GramOperand(basis, risk, self.block_size)
        grams: BlockGrams = yield gram_pass(problem, footprint, self.block_size, operand)
        curvature = _curvature(scaled_risk(risk, state.center, state.target_scale))
        norms = np.array([float(np.trace(gram)) for gram in grams.matrices])
        rows = 2.0 * self.rows_of_batch(problem, basis.size)
        damping = (
            state.first_step
            * curvature
            * state.largest
            / rows
            * norms
            / max(norms.sum(), np.finfo(float).tiny)
        )
        solves = block_solves(grams, curvature / problem.n_rows, self.nu + damping, whole=True)
        return basis, solves, self.nu / (self.nu + float(damping.mean()))

    def _stream(
        self, problem: Problem, footprint: Footprint, stage: int, model: Model | None
    ) -> Stream[Piece]:
        numbers = self.choice(problem).prepared_numbers(problem, footprint.size)
        visits = problem.visits(self.rows_of_stage(problem), stage, self.order)
        outputs, batch = self.risk.n_outputs, self.rows_of_batch(problem, footprint.size)
        plain = batch_stream(problem, outputs, footprint, numbers, batch, visits, model)
        if not self.preconditioned(footprint.size):
            return plain
        factors = footprint.size, min(self.block_size, footprint.size), 8
        return replace(plain, cost=plain.cost.holding(driver={"factors of all blocks": factors}))


def _curvature(risk: Risk) -> float:
    """c."""
    return risk.loss.curvature if math.isfinite(risk.loss.curvature) else 1.0


def _first_pass(problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
    """The losses and errors of all rows, and the largest norm."""
    cost = pass_cost(problem, footprint, 4)
    return Reduce("first measure", measure_largest, Sums.add, model, cost=cost)
