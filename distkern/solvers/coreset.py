"""The template of solvers that work at landmarks: their parts, their passes, the ball that holds the optimum.

A stage is a sequential loop over sampled rows, which projects on the ball from time to time, and then a
pass over all rows.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import STRIP_NUMBERS, AbstractBasis, multiply
from distkern.bases.landmarks import LandmarkBasis
from distkern.common.compiled import aligned
from distkern.common.sparse import Rows
from distkern.common.tiles import scratch
from distkern.common.types import Block, Floats
from distkern.features import Footprint
from distkern.features.kernel_choice import KernelChoice
from distkern.features.landmarks import footprint_of_landmarks
from distkern.landmarks.base import AbstractLandmarkRule
from distkern.losses import margin_loss
from distkern.losses.base import AbstractElementwiseLoss, AbstractLoss
from distkern.passes import Cost, Derived, Reduce, Stream, Visit
from distkern.solvers.base import Measures, Outline, Problem, Steps, Trouble, piece_rows
from distkern.solvers.measuring import (
    Figures,
    MeasuredState,
    Model,
    Sums,
    held_out,
    measured,
    sums_and_slopes,
)
from distkern.solvers.risk import Risk
from distkern.solvers.searchable import AbstractSearchable, State

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class CoresetState(MeasuredState):
    """w = sum_k coefficients_k phi(c_k).

    Attributes
    ----------
    landmarks : (r, n_features)
    gamma : of the kernel
    coefficients : (r, n_outputs) float64 of the model
    """

    landmarks: Rows
    gamma: float
    coefficients: Array


@dataclass(frozen=True)
class CoresetProblem:
    """The parts that a coreset solver is put together from.

    It minimises f(w) = sum over outputs of 1/2 |w|^2 + (lam/m) sum_i s_i l(<w, phi(x_i)>, y_i), (3) of
    Tan et al. 2019, by its gradients alpha_i = lam s_i dl/df: lambda inside, once (its Algorithm 1; (4)-(7)
    differ).
    """

    loss: AbstractLoss
    lam: float
    kernel: KernelChoice
    landmarks: AbstractLandmarkRule
    class_weights: NDArray[np.float64] | None = None
    mean_weight: float = 1.0

    @property
    def margin_loss(self) -> AbstractElementwiseLoss:
        """l, once it is known to be a loss of the margin."""
        return margin_loss(self.loss)

    def risk(self, problem: Problem) -> Risk:
        """The mean loss for this problem's outputs."""
        return Risk(self.margin_loss, problem.n_outputs, self.class_weights, self.mean_weight)

    def smoothness(self, problem: Problem) -> float:
        """L = 1 + lam max_i s_i l'': the smoothness of the worst single term."""
        return 1.0 + float(self.lam) * problem.max_relative_weight * self.loss.curvature

    @property
    def radius(self) -> float:
        """Radius of a ball that holds each output's optimum: sqrt(2 lam max(-z l'))."""
        return math.sqrt(2.0 * self.margin_loss.norm_bound * self.lam)

    def begin(self, problem: Problem) -> Steps[tuple[Rows, float]]:
        """Choose landmarks and gamma."""
        gamma = yield from self.kernel.choose_gamma(problem)
        landmarks = yield from self.landmarks.choose(problem)
        return landmarks, gamma

    def outline_begin(self, problem: Problem) -> list[Outline]:
        """The passes of :meth:`begin`."""
        return self.kernel.outline(problem) + self.landmarks.outline(problem)

    def hint(self, trouble: Trouble, also: str = "") -> str:
        """What the user can do about an objective that rises, or a model that predicts one class."""
        if trouble is Trouble.DIVERGED:
            return f"set a smaller lam than {self.lam:g}, a smaller gamma, more n_landmarks{also}"
        return (
            f"set a larger lam than {self.lam:g}, class_weight='balanced' or another gamma, or use SVRG, "
            "which follows the gradient itself"
        )

    def expected_size(self, problem: Problem) -> int:
        """r, an upper bound, before any row is read."""
        return self.landmarks.expected_size(problem)


class AbstractSteps(ABC):
    """The steps of a stage over landmarks."""

    @abstractmethod
    def consume(self, piece: KernelPiece) -> None:
        """The steps of a piece."""

    @abstractmethod
    def project(self, ball: BallProjection) -> None:
        """Move w into the ball."""

    @abstractmethod
    def ended(self, ball: BallProjection) -> dict[str, Any]:
        """Fields of the state after the stage, among them the coefficients of the model."""


class AbstractCoresetSolver(AbstractSearchable[State]):
    """A solver whose stages are a sequential loop over sampled rows and then a snapshot.

    Subclasses are frozen dataclasses with the fields below. They say their ``states``, the values of these
    before the first stage (:meth:`at_zero`), the loop (:meth:`steps_from`), its default length
    (:meth:`wanted_steps`) and the columns that kernel rows are multiplied with (:meth:`columns`).

    Attributes
    ----------
    parts : loss, lam, kernel, landmarks
    stages : at most this many
    steps_per_stage : rows if it is an int, passes over the rows if a float, None for the solver's own rule
    order : "shuffled" or "iid"
    projection : whether w is kept in the ball that holds the optimum; solvers may take other words too
    """

    parts: CoresetProblem
    stages: int
    steps_per_stage: int | float | None
    order: str
    projection: bool | str

    #: the dataclass of its states
    states: ClassVar[type[CoresetState]]

    @abstractmethod
    def at_zero(self, w: Array) -> dict[str, Any]:
        """The solver's own fields of the state at w = 0."""

    @abstractmethod
    def steps_from(self, problem: Problem, state: State, model: Model) -> AbstractSteps:
        """The steps of a stage, before the first of them."""

    def after(self, state: Any, figures: Figures, model: Model) -> dict[str, Any]:
        """The solver's own fields that follow from the figures of a stage begun at ``model``."""
        return {}

    def converged(self, state: Any) -> bool:
        """Whether the solver's own tolerance is met."""
        return False

    def figures(self, state: Any) -> dict[str, float]:
        """The solver's own figures."""
        return {}

    @abstractmethod
    def wanted_steps(self, problem: Problem) -> float:
        """Steps of a stage when the user does not say."""

    @abstractmethod
    def columns(self, state: State) -> Floats:
        """What every kernel row is multiplied with before the loop sees it: (r, columns_per_output * k)."""

    @property
    @abstractmethod
    def columns_per_output(self) -> int:
        """Columns of :meth:`columns` for each output."""

    def hint(self, trouble: Trouble) -> str:
        if trouble is Trouble.UNFINISHED:
            return f"{super().hint(trouble)}, or a smaller lam than {self.parts.lam:g}"
        return self.parts.hint(trouble, self.smaller_steps())

    def smaller_steps(self) -> str:
        """A clause on smaller steps for the hint at an objective that rises."""
        return ""

    def steps(self, problem: Problem) -> int:
        """T, the steps of a stage."""
        return problem.rows_of(self.steps_per_stage, self.wanted_steps(problem))

    def model(self, problem: Problem, state: Any, basis: AbstractBasis | None = None) -> Model:
        """The model of a state; ``basis`` is made from its landmarks where None is passed."""
        if basis is None:
            basis = self.basis(state.landmarks, state.gamma)
        return Model(basis, state.coefficients, self.parts.risk(problem))

    # -- what the iterates are combinations of

    def basis(self, landmarks: Rows, gamma: float) -> AbstractBasis:
        """The kernel functions at the landmarks."""
        return LandmarkBasis(self.parts.kernel.with_gamma(gamma), landmarks)

    def footprint(self, problem: Problem, size: int) -> Footprint:
        """Memory and operations of evaluating ``size`` functions."""
        return footprint_of_landmarks(problem, self.parts.kernel, size)

    def gradient_pass(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
        """The full gradient, the objective and the training error."""
        return snapshot_pass(problem, model, footprint)

    def operand(self, model: Model, columns: Floats) -> PieceOperand:
        """Operand of the stream: basis, risk and ``columns`` (r, n_columns)."""
        return PieceOperand(model.basis, model.risk, columns)

    # -- passes

    def ball(self, basis: AbstractBasis) -> BallProjection:
        """The ball in which a stage keeps w."""
        return BallProjection(basis, self.parts.radius if self.projection else math.inf)

    # -- the run

    def state_type(self) -> type[Any]:
        return self.states

    def init(self, problem: Problem) -> Steps[Any]:
        landmarks, gamma = yield from self.parts.begin(problem)
        w = np.zeros((len(landmarks), problem.n_outputs))
        state = self.states(landmarks=landmarks, gamma=gamma, coefficients=w, **self.at_zero(w))
        basis: AbstractBasis = yield Derived("basis", partial(self._made, state))
        return (yield from self._measured(problem, state, self.model(problem, state, basis)))

    def stage(self, problem: Problem, state: Any) -> Steps[Any]:
        basis: AbstractBasis = yield Derived("basis", partial(self._made, state))
        model = self.model(problem, state, basis)
        visits = problem.visits(self.steps(problem), state.stage, self.order)
        operand = self.operand(model, self.columns(state))
        pieces: Iterator[KernelPiece] = yield self._stream(problem, visits, operand, basis.size)
        steps, ball = self.steps_from(problem, state, model), self.ball(basis)
        for piece in pieces:
            steps.consume(piece)
            if ball.due(len(piece)):
                steps.project(ball)
        after = replace(state, stage=state.stage + 1, **steps.ended(ball))
        return (yield from self._measured(problem, after, model))

    def _made(self, state: Any) -> Steps[AbstractBasis]:
        yield from ()
        return self.basis(state.landmarks, state.gamma)

    def _measured(self, problem: Problem, state: Any, before: Model) -> Steps[Any]:
        """The state with the figures of a pass over all rows; ``before`` is the model of its stage."""
        model = self.model(problem, state, before.basis)
        footprint = self.footprint(problem, model.basis.size)
        figures = yield from measured(
            problem,
            self.gradient_pass(problem, model, footprint),
            held_out_pass(problem, model, footprint),
            float(0.5 * model.basis.squared_norms(model.coefficients).sum()),
            self.parts.lam,
        )
        return state.with_figures(figures, **self.after(state, figures, before))

    def finished(self, state: State) -> bool:
        return state.stage >= self.stages or self.converged(state)

    def measures(self, state: Any) -> Measures:
        own: CoresetState = state
        figures, converged = self.figures(state), self.converged(state)
        return own.measures(len(own.landmarks), figures, converged=converged)

    def outline(self, problem: Problem) -> list[Outline]:
        footprint = self.footprint(problem, self.parts.expected_size(problem))
        visits = problem.visits(self.steps(problem), 0, self.order)
        passes = [
            *self.parts.outline_begin(problem),
            Outline(self.gradient_pass(problem, None, footprint), self.stages + 1),
            Outline(self._stream(problem, visits, None, footprint.size), self.stages),
        ]
        if problem.has_test:
            passes.append(Outline(held_out_pass(problem, None, footprint), self.stages + 1))
        return passes

    def _stream(
        self, problem: Problem, visits: tuple[Visit, ...], operand: PieceOperand | None, size: int
    ) -> Stream[KernelPiece]:
        return Stream(
            "inner loop",
            visits,
            prepare_piece,
            operand,
            piece_rows=piece_rows(size, problem.dtype.itemsize),
            cost=stream_cost(
                problem, self.footprint(problem, size), n_columns=self.columns_per_output * problem.n_outputs
            ),
        )


class BallProjection:
    """Projection of each output's w on the ball that holds the optimum, every ``32 r`` steps or more.

    ``applied`` counts how often it moved one. An infinite radius costs nothing.

    The radius is sqrt(2 lam max(-z l')), that is sqrt(2 lam) for the hinge and sqrt(lam) for ODM and squared
    hinge. The optima of these have |w|^2 <= lam / 2, but fixed points of coreset gradients were up to 1.31
    times as large (measured). The paper (Tan et al. 2019, Theorem 1) projects after each step, for the
    squared hinge on radius lam, which cuts off solutions when lam < 1/2, and for ODM on the larger radius
    sqrt(lam (1 + mu q^2)), q = (1 + theta) / (1 - theta). The norm costs O(r^2 d), too much for each step.
    """

    def __init__(self, basis: AbstractBasis, radius: float) -> None:
        self.radius = radius
        self.applied = 0
        self._basis = basis
        self._every = 32 * basis.size if math.isfinite(radius) else math.inf
        self._steps = 0

    def due(self, steps: int) -> bool:
        """Count ``steps`` more steps, and return whether a projection is due."""
        self._steps += steps
        return self._steps >= self._every

    def shrinkage(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """Factors (n_outputs,), 1 inside, that bring coefficients (r, n_outputs) into the ball."""
        self._steps = 0
        if math.isinf(self.radius):
            return np.ones(coefficients.shape[1])
        norms = np.sqrt(self._basis.squared_norms(coefficients, exact=False))
        factors: NDArray[np.float64] = self.radius / np.maximum(norms, self.radius)
        self.applied += int(np.count_nonzero(factors < 1.0))
        return factors


def snapshot(block: Block, model: Model) -> Sums:
    """One block's share of the objective and of its full gradient.

    The gradient is that of Tan et al. 2019, (7), without lambda: (r, n_outputs) sums of s_i dl/df at the
    landmark nearest to x_i.
    """
    basis, risk, sums = model.basis, model.risk, Sums.none(model.risk)
    coefficients = model.coefficients.astype(basis.dtype)
    gradient = np.zeros(coefficients.shape)
    for strip in model.strips(block):
        predictions = scratch("predictions", (strip.n_rows, risk.n_outputs), basis.dtype)
        nearest = scratch("nearest", (strip.n_rows,), np.intp)
        for tile in basis.tiles(strip.features, nearest=nearest):
            multiply(tile.values, coefficients, predictions[tile.rows])
        share, slopes = sums_and_slopes(risk, strip, predictions)
        for output in range(risk.n_outputs):
            gradient[:, output] += np.bincount(nearest, weights=slopes[:, output], minlength=basis.size)
        sums = Sums.add(sums, share)
    return replace(sums, gradient=gradient)


def snapshot_pass(problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
    """The full gradient, the objective and the training error, in one pass."""
    return Reduce("snapshot", snapshot, Sums.add, model, cost=pass_cost(problem, footprint))


def held_out_pass(problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
    """The error on the test split."""
    return held_out(model, pass_cost(problem, footprint))


def pass_cost(problem: Problem, footprint: Footprint) -> Cost:
    """Cost of a pass that evaluates the kernel at the landmarks at every row."""
    size, outputs = footprint.size, problem.n_outputs
    cost = footprint.cost(footprint.operations + 2.0 * size * outputs)
    strip = {"predictions and slopes of a strip": (STRIP_NUMBERS, 64), "sums": (2, size, outputs, 8)}
    return cost.holding(task=strip, result={"gradient": (size, outputs, 8)})


@dataclass(frozen=True)
class KernelPiece:
    """Prepared rows of a stream.

    Attributes
    ----------
    values : (n, r) kernel rows
    nearest : (n,) nearest landmark of each row; empty where it was not asked for
    products : (n, n_columns) values @ operand.columns
    signs : (n, n_outputs), of the values' dtype
    weights : (n,) float64
    """

    values: Floats
    nearest: NDArray[np.intp]
    products: Floats
    signs: Floats
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.weights)

    def loop_arguments(self, rows: slice = slice(None)) -> tuple[NDArray[Any], ...]:
        """The arrays of some rows as compiled loops take them."""
        arrays = (self.values, self.nearest, self.products, self.signs, self.weights)
        return aligned(*(array[rows] for array in arrays))


@dataclass(frozen=True)
class PieceOperand:
    """Operand of :func:`prepare_piece`; every row of values is multiplied with ``columns`` (r, n_columns)."""

    basis: AbstractBasis
    risk: Risk
    columns: Floats
    finds_nearest: bool = True


def prepare_piece(block: Block, operand: PieceOperand) -> KernelPiece:
    """Kernel rows of a piece and what the sequential loop needs beside them."""
    basis, risk = operand.basis, operand.risk
    columns = operand.columns.astype(basis.dtype)
    values = np.empty((block.n_rows, basis.size), dtype=basis.dtype)
    nearest = np.empty(block.n_rows if operand.finds_nearest else 0, dtype=np.intp)
    products = np.empty((block.n_rows, columns.shape[1]), dtype=basis.dtype)
    for tile in basis.tiles(block.features, values, nearest if operand.finds_nearest else None):
        multiply(tile.values, columns, products[tile.rows])
    signs, weights = risk.targets(block).astype(basis.dtype, copy=False), risk.weights(block)
    return KernelPiece(
        values, nearest, products, signs, np.ones(block.n_rows) if weights is None else weights
    )


def stream_cost(problem: Problem, footprint: Footprint, *, n_columns: int) -> Cost:
    """Cost of a stream of kernel rows into a sequential loop that takes O(r) a step for each output."""
    size, itemsize = footprint.size, problem.dtype.itemsize
    cost = replace(
        pass_cost(problem, footprint),
        result_bytes=0,
        operations=footprint.operations + 2.0 * size * n_columns,
        driver_compiled=True,
    )
    numbers = size + n_columns + problem.n_outputs
    return cost.holding(result={"kernel values, products and signs": (numbers, itemsize), "others": (2, 8)})
