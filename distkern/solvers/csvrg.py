"""CSVRG: coreset stochastic variance-reduced gradient (Tan et al. 2019, Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.bases.nystroem import NystroemBasis
from distkern.common.choices import Choices
from distkern.common.parameters import FLAG, NOT_NEGATIVE, NOTHING, Number, Parameter, Whole, Words, parameter
from distkern.common.rng import Purpose, stream
from distkern.common.sparse import Rows
from distkern.common.types import Floats
from distkern.features import Footprint
from distkern.features.nystroem import whitened
from distkern.losses import margin_loss_names
from distkern.passes import Derived, Reduce
from distkern.solvers import explicit
from distkern.solvers.base import Measures, Problem, Steps, order_of_rows, rows_of_stage
from distkern.solvers.coreset import (
    AbstractCoresetSolver,
    BallProjection,
    CoresetProblem,
    Piece,
    PieceOperand,
)
from distkern.solvers.hyperparameters import CORESET, SEARCHED_GAMMA, SEARCHED_LAM, a_loss
from distkern.solvers.measuring import MeasuredState, Model, Sums


@dataclass(frozen=True)
class CSVRGState(MeasuredState):
    """A snapshot w~ = sum_k coefficients_k phi(c_k), with the coreset gradient and the figures at it.

    Attributes
    ----------
    landmarks : (r, n_features)
    gamma : of the kernel
    coefficients : (r, n_outputs) float64, of kernels at the landmarks; with projection="span" of the Nystroem
        features, see :class:`~distkern.bases.nystroem.NystroemBasis`
    gradient : (r, n_outputs), mu: (1/m) sum of alpha~_i at the landmark nearest to x_i, or times z(x_i)
    change : |w_s - w_(s-1)| / |w_s|, the largest over the outputs; infinite before the first stage
    """

    landmarks: Rows
    gamma: float
    coefficients: NDArray[np.float64]
    gradient: NDArray[np.float64]
    change: float
    projections: int


@dataclass(frozen=True)
class CSVRG(AbstractCoresetSolver[CSVRGState]):
    """Variance-reduced stochastic gradients over the span of landmarks.

    Minimises f of :class:`~distkern.solvers.coreset.CoresetProblem`. One stage, from the snapshot w~ with
    mu = (1/m) sum_i alpha~_i p(x_i), does for t = 1 .. T

        w <- (1 - eta) w - eta (alpha_t - alpha~_t) p(x_t) - eta mu,        w = a v + b mu (lazily scaled),

    at O(r) a step, then takes the new snapshot's gradient in one pass. In Algorithm 1 p(x) is phi of the
    landmark nearest to x (``projection=True``), and the fixed point is near the minimum only where the
    landmarks are dense. With ``projection="span"`` p(x) is the projection of phi(x) on the span of all
    landmarks, in orthonormal coordinates the Nystroem features K_CC^(-1/2) k(C, x): then it ends at the
    minimum of f over that span. A row costs r^2 operations more, on the workers. That is not in the paper.

    Deviations from Algorithm 1: lambda is inside alpha once (the paper's (4)-(7) and (9) disagree); radius
    and frequency of the projection are those of :class:`~distkern.solvers.coreset.BallProjection`; rows are
    shuffled within and between blocks (``order="shuffled"``) unless independent draws are asked for.

    Parameters
    ----------
    parts : loss, lam, kernel, landmarks; the others are described in their declarations
    """

    parts: CoresetProblem
    stages: int = parameter(
        5,
        Whole(),
        help="at most this many; each is one pass for the full gradient and one for the inner loop",
    )
    steps_per_stage: int | float | None = rows_of_stage("one pass, up to five where 6 L asks for more")
    step_size: float | None = parameter(
        None,
        Number(0, 1, open=(True, True)),
        NOTHING,
        help="eta; none: 0.5 / L, and 0.02 / max(1, lam) for a loss that is not smooth",
    )
    option: str = parameter(
        "I", Words("I", "II"), help="the next snapshot is the last iterate, or a random one"
    )
    order: str = order_of_rows()
    projection: bool | str = parameter(
        "span",
        Words("span"),
        FLAG,
        help="span: gradients are projected on the span of the landmarks, which takes r^2 operations more of "
        "a row; true: they are moved to the nearest landmark, as in the paper; by both w is kept in the ball "
        "that holds the optimum; false: as true, without the ball",
    )
    tol: float = parameter(
        1e-2, NOT_NEGATIVE, help="stop once w changes by less than this share of itself in a stage"
    )

    name = "csvrg"
    cost_of_pass = "n r (r + d + k) for the full gradient, as much for the inner loop"
    memory = "r (r + d + k) numbers and a tile of features"
    searched: ClassVar[Mapping[str, Choices]] = {"lam": SEARCHED_LAM, "gamma": SEARCHED_GAMMA}
    choices: ClassVar[Mapping[str, Parameter]] = {"loss": a_loss("odm", margin_loss_names), **CORESET}

    def state_type(self) -> type[CSVRGState]:
        return CSVRGState

    def eta(self, problem: Problem) -> float:
        """The step size for this problem."""
        if self.step_size is not None:
            return self.step_size
        smoothness = self.parts.smoothness(problem)
        return 0.5 / smoothness if math.isfinite(smoothness) else 0.02 / max(1.0, self.parts.lam)

    def wanted_steps(self, problem: Problem) -> float:
        """eta T >= 3 for a linear rate, within reason; less than a pass would waste the snapshot."""
        return min(max(problem.n_rows, 3.0 / self.eta(problem)), 5.0 * max(problem.n_rows, 2000))

    @property
    def columns_per_output(self) -> int:
        return 2

    def columns(self, state: CSVRGState) -> Floats:
        return np.concatenate([state.coefficients, state.gradient], axis=1)

    # -- gradients in the span of the landmarks

    @property
    def spans(self) -> bool:
        """Whether gradients are projected on the span of the landmarks."""
        return self.projection == "span"

    def basis(self, landmarks: Rows, gamma: float) -> AbstractBasis:
        if not self.spans:
            return super().basis(landmarks, gamma)
        return NystroemBasis(self.parts.kernel.with_gamma(gamma), landmarks)

    def footprint(self, problem: Problem, size: int) -> Footprint:
        plain = super().footprint(problem, size)
        # the root of the kernel matrix is made of its eigenvectors
        return replace(whitened(plain, problem), driver_bytes=40 * size**2) if self.spans else plain

    def gradient_pass(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
        if self.spans:
            return explicit.gradient_pass(problem, model, footprint, "snapshot")
        return super().gradient_pass(problem, model, footprint)

    def operand(self, model: Model, columns: Floats) -> PieceOperand:
        return replace(super().operand(model, columns), finds_nearest=not self.spans)

    def ball(self, basis: AbstractBasis) -> BallProjection:
        if not self.spans:
            return super().ball(basis)
        # it ends at the minimum, whose norm the bound is of
        return BallProjection(basis, self.parts.radius / math.sqrt(2.0))

    def _made(self, state: CSVRGState) -> Steps[AbstractBasis]:
        yield from ()
        return self.basis(state.landmarks, state.gamma)

    # -- the algorithm

    def init(self, problem: Problem) -> Steps[CSVRGState]:
        landmarks, gamma = yield from self.parts.begin(problem)
        zero = np.zeros((len(landmarks), problem.n_outputs))
        state = CSVRGState(landmarks, gamma, zero, zero, math.inf, 0)
        basis: AbstractBasis = yield Derived("basis", partial(self._made, state))
        return (yield from self._snapshot(problem, state, basis))

    def stage(self, problem: Problem, state: CSVRGState) -> Steps[CSVRGState]:
        from distkern.solvers._loops import Iterate, csvrg_loop

        basis: AbstractBasis = yield Derived("basis", partial(self._made, state))
        model = self.model(problem, state, basis)
        pieces: Iterator[Piece] = yield self.rows_of_stage(problem, model, state)
        loss, ball = self.parts.margin_loss, self.ball(model.basis)
        loop = csvrg_loop(loss, model.basis.dtype)
        rule = (float(self.eta(problem)), float(self.parts.lam), self.spans, loss.parameters)
        v = np.array(state.coefficients.T, dtype=np.float64, order="C")
        w = Iterate(v, np.ones(1), np.zeros(problem.n_outputs))
        drawn, step, chosen = self._drawn_step(problem, state.stage), 0, None
        for piece in pieces:
            cut = min(max(drawn - step, 0), len(piece))
            loop(*piece.loop_arguments(slice(0, cut)), w, *rule)
            if chosen is None and cut < len(piece):
                chosen = w.coefficients(state.gradient)
            loop(*piece.loop_arguments(slice(cut, None)), w, *rule)
            step += len(piece)
            if ball.due(len(piece)):
                w.scale(ball.shrinkage(w.coefficients(state.gradient)))
        coefficients = w.coefficients(state.gradient) if chosen is None else chosen
        coefficients = coefficients * ball.shrinkage(coefficients)
        change = _relative_change(model, coefficients, state.coefficients)
        after = replace(
            state,
            coefficients=coefficients,
            stage=state.stage + 1,
            change=change,
            projections=state.projections + ball.applied,
        )
        return (yield from self._snapshot(problem, after, basis))

    def _drawn_step(self, problem: Problem, stage: int) -> int:
        """t of the iterate that becomes the next snapshot; option I: T."""
        n_steps = self.steps(problem)
        if self.option == "I":
            return n_steps
        return int(stream(problem.seed, Purpose.OPTION_II, stage).integers(n_steps))

    def _snapshot(self, problem: Problem, state: CSVRGState, basis: AbstractBasis) -> Steps[CSVRGState]:
        """The full gradient at the state's w~, and the figures that come with it."""
        filled, figures = yield from self.measured(problem, state, basis)
        return replace(filled, gradient=self.parts.lam * figures.sums.mean_gradient)

    def finished(self, state: CSVRGState) -> bool:
        return state.stage >= self.stages or self._converged(state)

    def _converged(self, state: CSVRGState) -> bool:
        return state.change <= self.tol

    def measures(self, state: CSVRGState) -> Measures:
        extra = {"change": state.change, "projections": float(state.projections)}
        return state.measures(len(state.landmarks), extra, converged=self._converged(state))

    def step_hint(self) -> str:
        return (
            "a tenth of the present one" if self.step_size is None else f"step_size={self.step_size / 10:.3g}"
        )

    def smaller_steps(self) -> str:
        return f", or a smaller step_size ({self.step_hint()})"


def _relative_change(model: Model, new: NDArray[np.float64], old: NDArray[np.float64]) -> float:
    squares = model.basis.squared_norms(np.concatenate([new - old, new], axis=1))
    difference, norm = np.sqrt(squares).reshape(2, -1)
    return float(np.max(difference / np.maximum(norm, np.finfo(float).tiny)))
