"""NORMA: stochastic functional gradients (Dai et al. 2014, Table 2; Kivinen, Smola and Williamson 2004)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis, add_transposed, product
from distkern.common.choices import Choices
from distkern.common.errors import InputError
from distkern.common.parameters import NOT_NEGATIVE, NOTHING, POSITIVE, Parameter, Whole, parameter
from distkern.common.sparse import Rows, SparseRows
from distkern.features import Footprint
from distkern.losses import SUPERVISED, loss_names
from distkern.passes import Derived
from distkern.solvers._pegasos.pieces import Piece
from distkern.solvers._sbmd.stream import batch_stream
from distkern.solvers.base import Measures, Outline, Problem, Steps, Trouble
from distkern.solvers.explicit import (
    AbstractExplicit,
    ExplicitState,
    figures_at,
    held_out_pass,
    measuring_pass,
    zero_figures,
    zero_outlines,
)
from distkern.solvers.hyperparameters import SEARCHED_GAMMA, SEARCHED_NU_OF_STEPS, a_loss, feature_parameters
from distkern.solvers.measuring import Figures, Model
from distkern.solvers.risk import Risk
from distkern.solvers.targets import scaled_risk


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
class NORMAState(ExplicitState):
    """The iterate after a stage.

    Attributes
    ----------
    landmarks : of the kernel itself the rows of the expansion, the oldest first; of Nystroem features theirs
    places : of the kernel itself the places of these rows among all
    step : t
    """

    places: NDArray[np.int64]
    step: int


@dataclass(frozen=True)
class NORMA(AbstractExplicit[NORMAState]):
    """Stochastic gradient descent in the space of the kernel, or of explicit features.

    Minimises nu/2 |f|^2 + mean_i s_i l(f(x_i), y_i). Step t takes a batch of B rows and does

        f <- (1 - gamma_t nu) f - (gamma_t / B) sum_i s_i l'(f(x_i), y_i) k(x_i, .),

    gamma_t = gamma_1 (1 - (t - 1) / T) for the T steps of the run (Zamani and Glineur 2023), a deviation from
    gamma_1 / sqrt(1 + ``step_decay`` (t - 1)) (Kivinen, Smola and Williamson 2004, with 1 for the decay,
    whose steps have fallen before several passes have brought anything). Over explicit features k is their
    product, and w is what changes. A stage is one pass over all rows in random order, and the model is the
    last iterate. With the kernel itself see
    :class:`~distkern.solvers._norma.kernel.KernelNORMA`.

    Raises
    ------
    InputError
        If a number is out of range, or the first step would turn f round: gamma_1 nu > 1.
    """

    nu: float = parameter(1e-4, NOT_NEGATIVE, help="weight of |f|^2 / 2 against the mean loss")
    step_size: float | None = parameter(
        None,
        POSITIVE,
        NOTHING,
        help="gamma_1; none: 2 / the loss's curvature, or 4 where its slope jumps, for k(x, x) <= 1",
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
    searched: ClassVar[Mapping[str, Choices]] = {
        "nu": SEARCHED_NU_OF_STEPS,
        "gamma": replace(SEARCHED_GAMMA, by_default=False),
    }
    choices: ClassVar[Mapping[str, Parameter]] = {
        "loss": a_loss("logistic", partial(loss_names, *SUPERVISED)),
        **feature_parameters("kernel", found=True),
    }
    explosion = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.first_step * self.nu > 1.0:
            raise InputError(
                f"{self.first_step:g} times nu {self.nu:g} exceeds 1: the first step would turn f round",
                where="step_size",
                mend=f"use {1.0 / self.nu:.3g} or less",
            )

    @property
    def first_step(self) -> float:
        """gamma_1: by default a first step of a single row does not overshoot by more than it was off."""
        curvature = self.risk.loss.curvature
        usual = 2.0 / curvature if math.isfinite(curvature) else 4.0
        return usual if self.step_size is None else self.step_size

    def rule(self, problem: Problem) -> FallingSteps:
        """gamma_t."""
        steps_of_stage = sum(-(-rows // self.batch_size) for rows in problem.block_rows)
        return FallingSteps(self.first_step, self.step_decay, self.stages * steps_of_stage)

    def state_type(self) -> type[NORMAState]:
        return NORMAState

    def step_hint(self) -> str:
        return f"step_size={self.first_step / 10:.3g}"

    def mend(self, trouble: Trouble) -> str:
        if trouble is Trouble.UNFINISHED:
            return f"set more stages than {self.stages}"
        return super().mend(trouble)

    def init(self, problem: Problem) -> Steps[NORMAState]:
        begun, risk = yield from self.begun(problem)
        figures = yield from zero_figures(problem, risk)
        state = NORMAState(
            coefficients=np.zeros((self.first_size(problem, begun.landmarks, begun.gamma), risk.n_outputs)),
            places=np.zeros(0, np.int64),
            step=0,
            **vars(begun),
        )
        return state.with_figures(figures)

    def first_size(self, problem: Problem, landmarks: Rows, gamma: float) -> int:
        """Coefficients before the first stage."""
        return self.basis(problem, landmarks, gamma).size

    def stage(self, problem: Problem, state: NORMAState) -> Steps[NORMAState]:
        basis: AbstractBasis = yield Derived("features", partial(self.basis_of, problem, state))
        risk = scaled_risk(self.risk, state.center, state.target_scale)
        # rows are prepared without the coefficients, which may be many
        pieces: Iterator[Piece] = yield self._rows(
            problem, state.stage, Model(basis, np.zeros((0, risk.n_outputs)), risk)
        )
        w, step, rule = state.coefficients.copy(), state.step, self.rule(problem)
        with np.errstate(all="ignore"):
            for piece in pieces:
                for start in range(0, len(piece.weights), self.batch_size):
                    step += 1
                    self._step(risk, piece, slice(start, start + self.batch_size), rule(step), w, basis.dtype)
            model = Model(basis, w, risk)
            norm = 0.5 * self.nu * float(np.einsum("ij,ij->", w, w))
            figures = yield from self.measured(problem, model, norm)
        return state.following(problem, figures, problem.n_rows, coefficients=w, step=step)

    def _step(
        self, risk: Risk, piece: Piece, rows: slice, size: float, w: NDArray[np.float64], dtype: Any
    ) -> None:
        values = piece.values[rows]
        if not isinstance(values, SparseRows):
            # what a worker has sent may lie at odd addresses
            values = np.require(values, requirements=("C", "A"))
        predictions = np.empty(piece.signs[rows].shape, dtype=dtype)
        product(values, w.astype(dtype), predictions)
        slopes = risk.slopes(predictions, piece.signs[rows], piece.weights[rows])
        w *= 1.0 - size * self.nu
        add_transposed(values, (-size / len(predictions) * slopes).astype(dtype), w)

    def measured(self, problem: Problem, model: Model, norm: float) -> Steps[Figures]:
        """The figures of a model."""
        footprint = self.footprint(problem, model.basis.size)
        return (yield from figures_at(problem, model, footprint, norm))

    def finished(self, state: NORMAState) -> bool:
        return state.stage >= self.stages

    def measures(self, state: NORMAState) -> Measures:
        return state.told()

    def passes(self, problem: Problem, footprint: Footprint) -> list[Outline]:
        return [
            *zero_outlines(problem),
            Outline(self._rows(problem, 0, None), self.stages),
            Outline(measuring_pass(problem, None, footprint), self.stages),
            Outline(held_out_pass(problem, None, footprint), self.stages),
        ]

    def _rows(self, problem: Problem, stage: int, operand: Any) -> Any:
        """The pass that shows the rows to the steps."""
        footprint = self.footprint(problem, self.expected_size(problem))
        numbers = self.choice(problem).prepared_numbers(problem, footprint.size)
        visits = problem.visits(problem.n_rows, stage, "shuffled")
        return batch_stream(
            problem, self.risk.n_outputs, footprint, numbers, self.batch_size, visits, operand
        )
