"""The full gradient over landmarks, the objective and the errors, in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import multiply
from distkern.bases.landmarks import LandmarkBasis
from distkern.core.sparse import COMPILED_BYTES, comparing_bytes
from distkern.core.types import Block, Floats
from distkern.core.workspace import buffer
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Problem, Steps
from distkern.solvers.objective import Objective

#: predictions that are worked on at once
_STRIP = 2**14


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
        for tile in model.basis.tiles(strip.features, nearest=nearest):
            multiply(tile.values, coefficients, predictions[tile.rows])
        signs, weights = objective.signs(strip), objective.weights(strip)
        alpha = objective.alpha(predictions, signs, weights)
        for output in range(outputs):
            gradient[:, output] += np.bincount(nearest, weights=alpha[:, output], minlength=size)
        losses += objective.losses(predictions, signs, weights)
        mistakes += objective.mistakes(predictions, strip)
    return Snapshot(gradient, losses, mistakes, block.n_rows)


def _strips(block: Block, basis: LandmarkBasis, n_outputs: int) -> Iterator[Block]:
    """Runs of whole tiles with at most 2^14 predictions.

    One call for many tiles, since the calls took as long as the arithmetic; temporaries stay below 64 KiB,
    from where on the allocator of a worker under a nanny maps them anew each time.
    """
    rows = basis.tile_rows * max(1, _STRIP // (n_outputs * basis.tile_rows))
    for start in range(0, block.n_rows, rows):
        yield block.take(slice(start, start + rows))


def measure(block: Block, model: Model) -> Snapshot:
    """Like :func:`snapshot` without the gradient, for held-out rows."""
    predictions = model.basis.combine(block.features, model.coefficients)
    mistakes = model.objective.mistakes(predictions, block)
    return Snapshot(np.zeros((0, 0)), np.zeros(0), mistakes, block.n_rows)


def snapshot_pass(problem: Problem, model: Model | None, size: int) -> Reduce[Snapshot]:
    """The full gradient and the training error, in one pass."""
    return Reduce("snapshot", snapshot, Snapshot.add, model, cost=pass_cost(problem, size))


def held_out_pass(problem: Problem, model: Model | None, size: int) -> Reduce[Snapshot]:
    """The error on the test split."""
    return Reduce(
        "held out",
        measure,
        Snapshot.add,
        model,
        split="test",
        cost=pass_cost(problem, size),
        measures_only=True,
    )


def pass_cost(problem: Problem, size: int) -> Cost:
    """Of a pass that evaluates ``size`` kernels at every row."""
    itemsize, outputs = problem.dtype.itemsize, problem.n_outputs
    tile_rows = int(np.clip(512 * 1024 // (size * itemsize), 128, 1024))
    return Cost(
        workspace_bytes=tile_rows * (2 * size + problem.row_numbers + 2) * itemsize
        + _STRIP * 64
        + 2 * size * problem.row_numbers * itemsize
        + (0 if problem.sparse_numbers is None else comparing_bytes(problem.n_features))
        + size * outputs * 16,
        result_bytes=size * outputs * 8,
        flops_per_row=2.0 * size * (problem.row_numbers + 2 + outputs),
        entries_per_row=float(size),
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
