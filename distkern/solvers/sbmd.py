"""Stochastic block mirror descent over explicit features (dsg.txt, Table 2; Dang and Lan 2015)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.choices import Choices
from distkern.common.parameters import NOT_NEGATIVE, NOTHING, POSITIVE, Parameter, Whole, parameter
from distkern.common.rng import Purpose, stream
from distkern.features import Footprint
from distkern.losses import SUPERVISED, loss_names
from distkern.passes import Derived, Reduce, Stream
from distkern.solvers._pegasos.pieces import Piece, measure_largest
from distkern.solvers._rbcd.blocks import runs_of
from distkern.solvers._sbmd.steps import BlockSteps, Iterates, Rule
from distkern.solvers._sbmd.stream import batch_stream
from distkern.solvers.base import Measures, Outline, Problem, Steps, order_of_rows, rows_of_stage
from distkern.solvers.explicit import AbstractExplicit, ExplicitState, held_out_pass, pass_cost
from distkern.solvers.hyperparameters import a_loss, feature_parameters
from distkern.solvers.measuring import Model, Sums, measure, measured
from distkern.solvers.targets import figures_of_targets, scaled_risk, target_outline, target_scale

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
    """

    w: NDArray[np.float64]
    banked: NDArray[np.float64]
    stamps: NDArray[np.float64]
    total: float
    step: int
    first_step: float


@dataclass(frozen=True)
class SBMD(AbstractExplicit[SBMDState]):
    """Stochastic block mirror descent over random, Nystroem or linear features, in the Euclidean norm.

    Minimises nu/2 |w|^2 + mean_i s_i l(z(x_i) w, y_i), w (r, k): k outputs share the features. Step t takes a
    batch of B rows and one of b blocks of consecutive coefficients, drawn uniformly, and does

        w_j <- w_j - gamma_t (Z_j' S l'(Z w) / B + nu w_j),    gamma_t = gamma_0 / (1 + gamma_0 nu t / (2 b)),

    (Dang and Lan 2015, with |.|^2 / 2 for the Bregman distance), which for large t is 2 b / (nu t): b times
    the steps of strongly convex gradient descent, as a block is met every b steps. gamma_0 = 1 / L with
    L = curvature max_i s_i |z(x_i)|^2 + nu; for a loss whose slope jumps the curvature is taken for 1. The
    model is the average of the iterates, weighted with t^``averaging``, of which a block's share is added up
    when the block is met. Rows are drawn without replacement unless ``order`` is "iid"; a batch ends with its
    block of rows.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    nu: float = parameter(1e-5, NOT_NEGATIVE, help="weight of |w|^2 / 2 against the mean loss")
    batch_size: int = parameter(4, Whole(), help="B, rows of a step")
    block_size: int = parameter(512, Whole(), help="coefficients of a step")
    step_size: float | None = parameter(
        None, POSITIVE, NOTHING, help="gamma_0; none: by the loss and the features"
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
    memory = "r k numbers"
    searched: ClassVar[Mapping[str, Choices]] = {}
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
        landmarks, gamma = yield from self.features.begin(problem)
        targets = yield from target_scale(problem, self.risk)
        risk = scaled_risk(self.risk, targets.center, targets.scale)
        basis = self.basis(problem, landmarks, gamma)
        zero, footprint = np.zeros((basis.size, risk.n_outputs)), self.footprint(problem, basis.size)
        model = Model(basis, zero, risk)
        figures = yield from measured(
            problem,
            _measuring_pass(problem, model, footprint, first=True),
            held_out_pass(problem, model, footprint),
            0.0,
        )
        curvature = risk.loss.curvature if math.isfinite(risk.loss.curvature) else 1.0
        smoothness = max(curvature * figures.sums.largest + self.nu, np.finfo(float).tiny)
        state = SBMDState(
            landmarks=landmarks,
            gamma=gamma,
            w=zero,
            banked=zero,
            stamps=np.zeros(len(runs_of(basis.size, self.block_size))),
            total=0.0,
            step=0,
            coefficients=zero,
            first_step=1.0 / smoothness if self.step_size is None else self.step_size,
            center=targets.center,
            target_scale=targets.scale,
            variances=targets.variances,
            absolute_errors=figures.absolute_errors,
        )
        return state.with_figures(figures)

    def stage(self, problem: Problem, state: SBMDState) -> Steps[SBMDState]:
        basis: AbstractBasis = yield Derived("features", partial(self.basis_of, problem, state))
        risk = scaled_risk(self.risk, state.center, state.target_scale)
        footprint, runs = self.footprint(problem, basis.size), runs_of(basis.size, self.block_size)
        # rows are prepared without the coefficients, which may be many
        prepared = Model(basis, np.zeros((0, risk.n_outputs)), risk)
        pieces: Iterator[Piece] = yield self._stream(problem, footprint, state.stage, prepared)
        now = Iterates(state.w.copy(), state.banked.copy(), state.stamps.copy(), state.total, state.step)
        decay = state.first_step * self.nu / (2.0 * len(runs))
        rule = Rule(state.first_step, decay, self.batch_size, self.averaging or 0)
        generator = stream(problem.seed, Purpose.COLUMN_DRAWS, _ORDER, state.stage)
        steps, n_rows = BlockSteps(risk, self.nu, rule, runs, now, generator, basis.dtype), 0
        with np.errstate(all="ignore"):
            for piece in pieces:
                steps.consume(piece)
                n_rows += len(piece.weights)
            w = now.w if self.averaging is None else now.average(runs)
            model = Model(basis, w.copy(), risk)
            figures = yield from measured(
                problem,
                _measuring_pass(problem, model, footprint),
                held_out_pass(problem, model, footprint),
                0.5 * self.nu * float(np.einsum("ij,ij->", w, w)),
            )
        return SBMDState(
            **vars(state)
            | vars(now)
            | {
                "coefficients": model.coefficients,
                "stage": state.stage + 1,
                "accesses": state.accesses + n_rows * problem.n_features,
                "accesses_nonzero": state.accesses_nonzero + n_rows * problem.row_accesses,
                "absolute_errors": figures.absolute_errors,
            }
        ).with_figures(figures)

    def finished(self, state: SBMDState) -> bool:
        return state.stage >= self.stages

    def measures(self, state: SBMDState) -> Measures:
        accesses = (state.accesses, state.accesses_nonzero)
        return state.measures(len(state.coefficients), figures_of_targets(state), accesses=accesses)

    def outline(self, problem: Problem) -> list[Outline]:
        footprint = self.footprint(problem, self.expected_size(problem))
        passes = [
            *self.features.outline(problem),
            *target_outline(problem),
            Outline(_measuring_pass(problem, None, footprint, first=True), 1),
            Outline(self._stream(problem, footprint, 0, None), self.stages),
            Outline(_measuring_pass(problem, None, footprint), self.stages),
        ]
        if problem.has_test:
            passes.append(Outline(held_out_pass(problem, None, footprint), self.stages + 1))
        return passes

    def rows_of_stage(self, problem: Problem) -> int:
        """Rows that the batches of a stage hold together."""
        rows = 1.0 if self.steps_per_stage is None else self.steps_per_stage
        return max(1, math.ceil(rows * problem.n_rows) if isinstance(rows, float) else rows)

    def _stream(
        self, problem: Problem, footprint: Footprint, stage: int, model: Model | None
    ) -> Stream[Piece]:
        numbers = self.choice(problem).prepared_numbers(problem, footprint.size)
        visits = problem.visits(self.rows_of_stage(problem), stage, self.order)
        outputs, batch = self.risk.n_outputs, self.batch_size
        return batch_stream(problem, outputs, footprint, numbers, batch, visits, model)


def _measuring_pass(
    problem: Problem, model: Model | None, footprint: Footprint, *, first: bool = False
) -> Reduce[Sums]:
    """The losses and errors of all rows; the ``first`` one finds the largest norm."""
    if first:
        cost = pass_cost(problem, footprint, 4)
        return Reduce("first measure", measure_largest, Sums.add, model, cost=cost)
    return Reduce("measure", measure, Sums.add, model, cost=pass_cost(problem, footprint, 1))
