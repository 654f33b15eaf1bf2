"""What the solvers over landmarks share: choosing them, the full gradient, measuring."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis, multiply
from distkern.bases.landmarks import LandmarkBasis
from distkern.core.sparse import COMPILED_BYTES, Rows, comparing_bytes
from distkern.core.types import Block, Floats
from distkern.core.workspace import buffer
from distkern.kernels.bandwidth import gamma_by_rule
from distkern.kernels.base import AbstractKernel
from distkern.landmarks.base import AbstractLandmarkRule, Layout, sample_rows
from distkern.losses.base import AbstractLoss
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.objective import Objective


@dataclass(frozen=True)
class KernelChoice:
    """A kernel whose gamma may still have to be read off the data."""

    kind: type[AbstractKernel]
    gamma: float | str
    parameters: dict[str, Any] = field(default_factory=dict)

    def with_gamma(self, gamma: float) -> AbstractKernel:
        """The kernel itself."""
        return self.kind.from_parameters(gamma=gamma, **self.parameters)


@dataclass(frozen=True)
class Snapshot:
    """Sums over rows at a fixed model.

    Attributes
    ----------
    gradient : (r, n_outputs) sums of alpha_i at the landmark nearest to x_i
    losses : (n_outputs,) sums of s_i l_i
    mistakes, n_rows : training error = mistakes / n_rows
    """

    gradient: NDArray[np.float64]
    losses: NDArray[np.float64]
    mistakes: int
    n_rows: int

    @staticmethod
    def add(first: Snapshot, second: Snapshot) -> Snapshot:
        """The sums over the rows of both."""
        return Snapshot(
            first.gradient + second.gradient,
            first.losses + second.losses,
            first.mistakes + second.mistakes,
            first.n_rows + second.n_rows,
        )


@dataclass(frozen=True)
class Model:
    """The operand of passes: basis, coefficients (r, n_outputs) and objective."""

    basis: LandmarkBasis
    coefficients: Floats
    objective: Objective


def snapshot(block: Block, model: Model) -> Snapshot:
    """One block's share of the full gradient of csvrg.txt, equation (7), and of the objective."""
    objective, size, outputs = model.objective, model.basis.size, model.objective.n_outputs
    coefficients = model.coefficients.astype(model.basis.dtype)
    gradient, losses, mistakes = np.zeros((size, outputs)), np.zeros(outputs), 0
    for strip in _strips(block, model.basis, outputs):
        predictions = buffer("predictions", (strip.n_rows, outputs), model.basis.dtype)
        nearest = buffer("nearest", (strip.n_rows,), np.intp)
        for tile in model.basis.tiles(strip.features):
            multiply(tile.values, coefficients, predictions[tile.rows])
            nearest[tile.rows] = tile.nearest
        signs, weights = objective.signs(strip), objective.weights(strip)
        alpha = objective.alpha(predictions, signs, weights)
        for output in range(outputs):
            gradient[:, output] += np.bincount(nearest, weights=alpha[:, output], minlength=size)
        losses += objective.losses(predictions, signs, weights)
        mistakes += objective.mistakes(predictions, strip)
    return Snapshot(gradient, losses, mistakes, block.n_rows)


def _strips(block: Block, basis: LandmarkBasis, n_outputs: int) -> Iterator[Block]:
    """Runs of whole tiles with at most 2^14 predictions.

    One call for many tiles, since the calls took as long as the arithmetic; temporaries stay below 64 KiB, from
    where on the allocator of a worker under a nanny maps them anew each time.
    """
    rows = basis.tile_rows * max(1, 2**14 // (n_outputs * basis.tile_rows))
    for start in range(0, block.n_rows, rows):
        yield block.take(slice(start, start + rows))


def measure(block: Block, model: Model) -> Snapshot:
    """Like :func:`snapshot` without the gradient, for held-out rows."""
    predictions = model.basis.combine(block.features, model.coefficients)
    mistakes = model.objective.mistakes(predictions, block)
    return Snapshot(np.zeros((0, 0)), np.zeros(0), mistakes, block.n_rows)


@dataclass(frozen=True)
class CoresetProblem:
    """The parts that a coreset solver is put together from."""

    loss: AbstractLoss
    lam: float
    kernel: KernelChoice
    landmarks: AbstractLandmarkRule
    class_weights: NDArray[np.float64] | None = None
    mean_weight: float = 1.0

    def objective(self, problem: Problem) -> Objective:
        """f for this problem's outputs."""
        return Objective(self.loss, self.lam, problem.n_outputs, self.class_weights, self.mean_weight)

    def model(self, problem: Problem, landmarks: Rows, gamma: float, coefficients: Floats) -> Model:
        """The operand for a state."""
        basis = LandmarkBasis(self.kernel.with_gamma(gamma), landmarks)
        return Model(basis, coefficients, self.objective(problem))

    def begin(self, problem: Problem) -> Steps[tuple[Rows, float]]:
        """Choose landmarks and gamma."""
        layout = _layout(problem)
        gamma = self.kernel.gamma
        if isinstance(gamma, str):
            sample = yield from sample_rows(layout, 4000)
            gamma = gamma_by_rule(gamma, self.kernel.kind, sample)
        landmarks = yield from self.landmarks.choose(layout)
        return landmarks, float(gamma)

    def outline_begin(self, problem: Problem) -> list[Outline]:
        """The passes of :meth:`begin`."""
        return [Outline(step, times) for step, times in self.landmarks.outline(_layout(problem))]

    def expected_size(self, problem: Problem) -> int:
        """r, an upper bound, before any row is read."""
        return self.landmarks.expected_size(_layout(problem))


def _layout(problem: Problem) -> Layout:
    return Layout(problem.block_rows, problem.n_features, problem.dtype, problem.seed, problem.sparse_numbers)


def snapshot_pass(problem: Problem, model: Model | None, size: int) -> Reduce[Snapshot]:
    """The full gradient and the training error, in one pass."""
    return Reduce("snapshot", snapshot, Snapshot.add, model, cost=pass_cost(problem, size))


def held_out_pass(problem: Problem, model: Model | None, size: int) -> Reduce[Snapshot]:
    """The error on the test split."""
    return Reduce("held out", measure, Snapshot.add, model, split="test", cost=pass_cost(problem, size))


def pass_cost(problem: Problem, size: int) -> Cost:
    """Of a pass that evaluates ``size`` kernels at every row."""
    itemsize, outputs = problem.dtype.itemsize, problem.n_outputs
    tile_rows = int(np.clip(512 * 1024 // (size * itemsize), 128, 1024))
    per_row = outputs * (4 * itemsize + 3 * 8)
    return Cost(
        workspace_bytes=tile_rows * (2 * size + problem.row_numbers + 2) * itemsize
        + max(problem.block_rows) * per_row
        + 2 * size * problem.row_numbers * itemsize
        + (0 if problem.sparse_numbers is None else comparing_bytes(problem.n_features))
        + size * outputs * 16,
        result_bytes=size * outputs * 8,
        flops_per_row=2.0 * size * (problem.row_numbers + 2 + outputs),
        entries_per_row=float(size),
        process_bytes=0 if problem.sparse_numbers is None else COMPILED_BYTES,
    )


def stream_cost(problem: Problem, size: int, *, n_columns: int) -> Cost:
    """Of a stream of kernel rows into a sequential loop that takes O(r) a step for each output."""
    itemsize = problem.dtype.itemsize
    prepared_row = size * itemsize + 8 + (n_columns + problem.n_outputs) * itemsize + 8
    return Cost(
        workspace_bytes=pass_cost(problem, size).workspace_bytes,
        result_bytes=prepared_row,
        flops_per_row=2.0 * size * (problem.row_numbers + 2 + n_columns),
        entries_per_row=float(size),
        # measured: 20 ns a step and output, and 4 multiplications in 1 ns
        driver_seconds_per_row=problem.n_outputs * (20e-9 + size * 0.25e-9),
        process_bytes=0 if problem.sparse_numbers is None else COMPILED_BYTES,
    )


@dataclass(frozen=True)
class Figures:
    """The objective and the errors at a model, with the sums they come from."""

    sums: Snapshot
    objective: float
    train_error: float
    test_error: float | None


def measured(problem: Problem, model: Model) -> Steps[Figures]:
    """Make a snapshot, and a pass over the test split if there is one."""
    sums: Snapshot = yield snapshot_pass(problem, model, model.basis.size)
    test_error = None
    if problem.has_test:
        held_out: Snapshot = yield held_out_pass(problem, model, model.basis.size)
        test_error = held_out.mistakes / held_out.n_rows
    norms = model.basis.squared_norms(model.coefficients)
    risk = model.objective.lam * sums.losses.sum() / sums.n_rows
    return Figures(sums, float(0.5 * norms.sum() + risk), sums.mistakes / sums.n_rows, test_error)


class BallProjection:
    """Projection of each output's w on the ball that holds the optimum, every ``32 r`` steps or more.

    The radius is sqrt(2 lam max(-z l')): sqrt(lam) for ODM and squared hinge, whose optima have
    |w|^2 <= lam / 2, since fixed points of coreset gradients were measured up to 1.31 times that; sqrt(2 lam)
    for hinge. The paper's lam (csvrg.txt, Theorem 1) cuts off solutions when lam < 1/2. The norm costs
    O(r^2 d), so it is not taken at each step.
    """

    def __init__(self, model: Model) -> None:
        objective = model.objective
        self.radius = math.sqrt(2.0 * objective.loss.norm_bound * objective.lam)
        self._basis = model.basis
        self._every = 32 * model.basis.size
        self._steps = 0

    def due(self, steps: int) -> bool:
        """Count ``steps`` more steps; whether a projection is due."""
        self._steps += steps
        return self._steps >= self._every

    def shrinkage(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        """The factors (n_outputs,) that bring (r, n_outputs) coefficients into the ball: 1 inside."""
        self._steps = 0
        norms = np.sqrt(self._basis.squared_norms(coefficients, exact=False))
        factors: NDArray[np.float64] = self.radius / np.maximum(norms, self.radius)
        return factors


@dataclass(frozen=True)
class Piece:
    """Prepared rows of a stream.

    Attributes
    ----------
    values : (n, r) kernel rows
    nearest : (n,) nearest landmark of each row
    products : (n, n_columns) values @ operand.columns
    signs : (n, n_outputs)
    weights : (n,) float64
    """

    values: Floats
    nearest: NDArray[np.intp]
    products: Floats
    signs: Floats
    weights: NDArray[np.float64]

    def aligned(self) -> Piece:
        """The same arrays as compiled loops take them: what a worker has sent may lie at odd addresses."""
        return Piece(
            np.require(self.values, requirements=("C", "A")),
            np.require(self.nearest, np.intp, ("C", "A")),
            np.require(self.products, self.values.dtype, ("C", "A")),
            np.require(self.signs, self.values.dtype, ("C", "A")),
            np.require(self.weights, np.float64, ("C", "A")),
        )


@dataclass(frozen=True)
class PieceOperand:
    """Basis, objective, and the columns (r, n_columns) that every kernel row is multiplied with."""

    basis: AbstractBasis
    objective: Objective
    columns: Floats


def prepare_piece(block: Block, operand: PieceOperand) -> Piece:
    """Kernel rows of a piece and what the sequential loop needs beside them."""
    basis, objective = operand.basis, operand.objective
    columns = operand.columns.astype(basis.dtype)
    values = np.empty((block.n_rows, basis.size), dtype=basis.dtype)
    nearest = np.empty(block.n_rows, dtype=np.intp)
    products = np.empty((block.n_rows, columns.shape[1]), dtype=basis.dtype)
    for tile in basis.tiles(block.features, values):
        nearest[tile.rows] = tile.nearest
        multiply(tile.values, columns, products[tile.rows])
    weights = objective.weights(block)
    return Piece(
        values,
        nearest,
        products,
        objective.signs(block),
        np.ones(block.n_rows) if weights is None else weights,
    )


def piece_rows(size: int, itemsize: int) -> int:
    """Rows of a piece: about 8 MiB of kernel values, whatever the workers."""
    return int(np.clip(2**23 // (size * itemsize), 128, 4096))


def steps_of_stage(steps_per_stage: int | float | None, n_rows: int, wanted: float) -> int:
    """T: an int counts rows, a float counts passes over them, None takes the solver's own rule."""
    if steps_per_stage is None:
        return max(1, int(np.ceil(wanted)))
    if isinstance(steps_per_stage, float):
        return max(1, int(np.ceil(steps_per_stage * n_rows)))
    return int(steps_per_stage)
