"""The template of solvers over landmarks: their passes, and the ball that holds the optimum.

A stage is a sequential loop over sampled rows with occasional projections on the ball, then a pass over all
rows.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.compiled import argument_types, compile_loop, parameters_type
from distkern.core.parameters import POSITIVE, parameter
from distkern.core.tiles import aligned, scratch
from distkern.core.types import Block, Floats
from distkern.maths.bases.base import STRIP_NUMBERS, AbstractBasis, multiply
from distkern.maths.features import Footprint
from distkern.maths.features.landmarks import (
    DEFAULT_LANDMARKS,
    AbstractLandmarkFeatures,
    footprint_of_landmarks,
)
from distkern.maths.losses import margin_loss
from distkern.maths.losses.base import AbstractElementwiseLoss
from distkern.passes import Cost, Reduce, Stream
from distkern.solvers.base import Problem, Trouble, piece_rows
from distkern.solvers.measuring import Model, State, Sums, held_out, sums_and_slopes
from distkern.solvers.risk import Risk
from distkern.solvers.streamed import AbstractLoop, AbstractStreamed


class AbstractSteps(AbstractLoop):
    """The steps of a stage over landmarks, which keep w in a ball."""

    def __init__(self, solver: Any, basis: AbstractBasis) -> None:
        self._ball: BallProjection = solver.ball(basis)

    def consume(self, piece: KernelPiece) -> None:
        self.step(piece)
        if self._ball.due(len(piece)):
            self.project()

    @abstractmethod
    def step(self, piece: KernelPiece) -> None:
        """Make the steps over a piece."""

    @abstractmethod
    def project(self) -> None:
        """Move w into the ball."""


@dataclass(frozen=True)
class AbstractCoresetSolver(AbstractStreamed[State]):
    """Template of solvers over the kernels at landmarks, for one output or one-vs-rest.

    Minimises f(w) = sum over outputs of 1/2 |w|^2 + (lam/m) sum_i s_i l(<w, phi(x_i)>, y_i), (3) of
    Tan et al. 2019, by its gradients alpha_i = lam s_i dl/df: lambda inside, once (its Algorithm 1; (4)-(7)
    differ). Besides the hooks of :mod:`~distkern.solvers.streamed`, a solver may give columns to multiply
    kernel rows with (:meth:`columns`).
    """

    regularises_all = True
    #: number of landmarks if neither it nor a diameter is given
    usual_landmarks: ClassVar[int] = DEFAULT_LANDMARKS
    #: width of :meth:`columns` per output
    columns_per_output: ClassVar[int] = 0

    if TYPE_CHECKING:
        features: AbstractLandmarkFeatures
        #: whether w is kept in the ball that holds the optimum
        projection: bool | str

    lam: float = parameter(
        1024.0,
        POSITIVE,
        help="weight of the losses against 1/2 |w|^2 (the papers' lambda): larger fits closer",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        margin_loss(self.risk.loss)

    def columns(self, state: Any) -> Floats:
        """The matrix to multiply kernel rows with, (r, columns_per_output * k)."""
        return np.zeros((len(state.landmarks), 0))

    @property
    def margin_loss(self) -> AbstractElementwiseLoss:
        """l."""
        return margin_loss(self.risk.loss)

    @property
    def strength(self) -> float:
        return self.lam

    def regulariser(self, model: Model) -> float:
        return float(0.5 * model.basis.squared_norms(model.coefficients).sum())

    def smoothness(self, problem: Problem) -> float:
        """L = 1 + lam max_i s_i l'': the smoothness of the steepest term."""
        return 1.0 + float(self.lam) * problem.max_relative_weight * self.risk.loss.curvature

    @property
    def radius(self) -> float:
        """Radius of a ball that holds each output's optimum: sqrt(2 lam max(-z l')), or sqrt(2 lam l(0)) with
        an offset, when f at w = 0 is at most lam l(0).
        """
        loss = self.margin_loss
        bound = float(loss.value(0.0, 1.0, loss.parameters)) if loss.has_probabilities else loss.norm_bound
        return math.sqrt(2.0 * bound * self.lam)

    def ball(self, basis: AbstractBasis) -> BallProjection:
        """The ball in which a stage keeps w."""
        return BallProjection(basis, self.radius if self.projection else math.inf)

    def hint(self, trouble: Trouble) -> str:
        if trouble is Trouble.UNFINISHED:
            return f"{super().hint(trouble)}, or a smaller lam than {self.lam:g}"
        if trouble is Trouble.DIVERGED:
            steps = f", or a smaller step_size ({self.step_hint()})" if hasattr(self, "step_size") else ""
            return f"set a smaller lam than {self.lam:g}, a smaller gamma, more n_landmarks{steps}"
        return (
            f"set a larger lam than {self.lam:g}, give --set class_weight=balanced or another gamma, or use "
            "SVRG, which follows the exact gradient"
        )

    # -- passes

    def footprint(self, problem: Problem, size: int) -> Footprint:
        return footprint_of_landmarks(problem, self.features.kernel, size)

    def first_pass(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
        return self.measuring(problem, model, footprint)

    def measuring(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
        cost = pass_cost(problem, footprint)
        return Reduce("snapshot", snapshot, Sums.add, model, cost=cost)

    def held_out(self, problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
        return held_out(model, pass_cost(problem, footprint))

    def prepared(self, model: Model, state: Any) -> PieceOperand:
        return PieceOperand(model.basis, model.risk, self.columns(state))

    def stage_pass(
        self, problem: Problem, footprint: Footprint, stage: int, operand: Any
    ) -> Stream[KernelPiece]:
        rows = piece_rows(footprint.size, problem.dtype.itemsize)
        visits = problem.visits(self.rows_streamed(problem), stage, self.order)
        size, itemsize = footprint.size, problem.dtype.itemsize
        n_columns = self.columns_per_output * problem.n_outputs
        cost = replace(
            pass_cost(problem, footprint),
            result_bytes=0,
            operations=footprint.operations + 2.0 * size * n_columns,
            driver_compiled=True,
        ).holding(
            result={
                "kernel values, products and signs": (size + n_columns + problem.n_outputs, itemsize),
                "others": (2, 8),
            }
        )
        return Stream("inner loop", visits, prepare_piece, operand, piece_rows=rows, cost=cost)


class BallProjection:
    """Projection of each output's w on the ball that holds the optimum, every ``32 r`` steps or more.

    ``applied`` counts the projections that moved w. An infinite radius costs nothing.

    The radius is sqrt(2 lam max(-z l')): sqrt(2 lam) for the hinge, sqrt(lam) for ODM and squared hinge,
    whose optima have |w|^2 <= lam / 2; fixed points of coreset gradients were up to 1.31 times as large
    (measured). The paper (Tan et al. 2019, Theorem 1) projects after each step: for the squared hinge on
    radius lam, which cuts off solutions when lam < 1/2, and for ODM on the larger radius sqrt(lam (1 + mu
    q^2)), q = (1 + theta) / (1 - theta). The norm costs O(r^2 d), too much for each step.
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
        """Factors (n_outputs,), 1 inside the ball, that scale coefficients (r, n_outputs) into it."""
        self._steps = 0
        if math.isinf(self.radius):
            return np.ones(coefficients.shape[1])
        norms = np.sqrt(self._basis.squared_norms(coefficients, exact=False))
        factors: NDArray[np.float64] = self.radius / np.maximum(norms, self.radius)
        self.applied += int(np.count_nonzero(factors < 1.0))
        return factors


def snapshot(block: Block, model: Model) -> Sums:
    """Return one block's share of the objective and of its full gradient.

    The gradient is (7) of Tan et al. 2019 without lambda: (r, n_outputs) sums of s_i dl/df at the
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


def pass_cost(problem: Problem, footprint: Footprint) -> Cost:
    """Cost of a pass that evaluates the landmarks' kernels at all rows."""
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
    nearest : (n,) nearest landmark of each row; empty if not needed
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
        """The arrays of some rows in the layout of compiled loops."""
        arrays = (self.values, self.nearest, self.products, self.signs, self.weights)
        return aligned(*(array[rows] for array in arrays))


@dataclass(frozen=True)
class PieceOperand:
    """Operand of :func:`prepare_piece`, which multiplies kernel rows with ``columns`` (r, n_columns)."""

    basis: AbstractBasis
    risk: Risk
    columns: Floats
    finds_nearest: bool = True


def prepare_piece(block: Block, operand: PieceOperand) -> KernelPiece:
    """Prepare the kernel rows, nearest landmarks, products, targets and weights of a piece."""
    basis, risk = operand.basis, operand.risk
    columns = operand.columns.astype(basis.dtype)
    values = np.empty((block.n_rows, basis.size), dtype=basis.dtype)
    nearest = np.empty(block.n_rows if operand.finds_nearest else 0, dtype=np.intp)
    products = np.empty((block.n_rows, columns.shape[1]), dtype=basis.dtype)
    for tile in basis.tiles(block.features, values, nearest if operand.finds_nearest else None):
        multiply(tile.values, columns, products[tile.rows])
    signs = risk.targets(block).astype(basis.dtype, copy=False)
    return KernelPiece(values, nearest, products, signs, risk.all_weights(block))


def compiled_steps(
    function: Callable[..., Any],
    w: Any,
    rule: str,
    loss: AbstractElementwiseLoss,
    dtype: np.dtype[Any],
    **types: Any,
) -> Callable[..., None]:
    """Compile a loop over the rows of a piece for a loss and a dtype.

    It takes the arrays of a :class:`KernelPiece`, an iterate of type ``w``, arguments of the types in
    ``rule``, which may name those in ``types``, and the loss's parameters.
    """
    names = {"x": dtype, "p": np.intp, "w": w, "parameters": parameters_type(len(loss.parameters)), **types}
    arguments = argument_types(f"x[:, :] p[:] x[:, :] x[:, :] f8[:] w {rule} parameters", **names)
    return compile_loop(function, arguments, helpers={"derivative": type(loss).derivative})
