"""The full gradient over explicit features, the objective and the errors, in one pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.bases.random_features import RandomFeatureBasis
from distkern.core.types import Block, Floats
from distkern.core.workspace import buffer
from distkern.passes import Cost, Reduce
from distkern.solvers._svrg.features import (
    STRIP_ROWS,
    FeatureMap,
    add_transposed,
    product,
    rows_of_tile,
    tile_is_large,
)
from distkern.solvers.base import Problem, Steps
from distkern.solvers.feature_choice import Footprint
from distkern.solvers.risk import Risk, split_errors


@dataclass(frozen=True)
class LinearModel:
    """The operand of passes: f(x) = z(x) w with coefficients w (r, k), and what is lost by it."""

    features: FeatureMap
    coefficients: Floats
    risk: Risk


@dataclass(frozen=True)
class Sums:
    """Sums over rows at a fixed model.

    Attributes
    ----------
    gradient : (r, k), sum of z(x_i) s_i l'(f_i, y_i)
    losses : of s_i l_i
    errors : see :meth:`~distkern.solvers.risk.Risk.errors`
    largest : the largest s_i |z(x_i)|^2, 0 if it was not asked for
    """

    gradient: NDArray[np.float64]
    losses: float
    errors: NDArray[np.float64]
    n_rows: int
    largest: float

    @staticmethod
    def add(first: Sums, second: Sums) -> Sums:
        """The sums over the rows of both."""
        return Sums(
            first.gradient + second.gradient, first.losses + second.losses, first.errors + second.errors,
            first.n_rows + second.n_rows, max(first.largest, second.largest),
        )  # fmt: skip


def snapshot(block: Block, model: LinearModel) -> Sums:
    """A block's share of the full gradient and of the objective.

    Features are made a tile at a time and used twice; where a tile of all of them would be too large, they
    are made block by block, twice. Nothing of the size of rows times features exists.
    """
    features, risk = model.features, model.risk
    coefficients = model.coefficients.astype(features.dtype)
    gradient, losses, errors = np.zeros(model.coefficients.shape), 0.0, np.zeros(risk.n_errors)

    def at(strip: Block, predictions: Floats) -> Floats:
        nonlocal losses, errors
        targets, weights = risk.targets(strip), risk.weights(strip)
        losses += float(risk.values(predictions, targets, weights).sum())
        errors = errors + risk.errors(predictions, strip)
        return risk.slopes(predictions, targets, weights)

    if features.by_blocks:
        assert isinstance(features.basis, RandomFeatureBasis)
        for strip in _strips(block):
            slopes = at(strip, features.basis.combine(strip.features, coefficients))
            gradient += features.basis.transposed(strip.features, slopes)
    else:
        for rows, values in features.tiles(block.features):
            found = buffer("svrg predictions", (len(values), coefficients.shape[1]), features.dtype)
            product(values, coefficients, found)
            add_transposed(values, at(block.take(rows), found), gradient)
    return Sums(gradient, losses, errors, block.n_rows, 0.0)


def first_snapshot(block: Block, model: LinearModel) -> Sums:
    """:func:`snapshot`, and the largest s_i |z(x_i)|^2."""
    sums, weights = snapshot(block, model), model.risk.weights(block)
    squares = model.features.squared_norms(block.features)
    largest = float((squares if weights is None else squares * weights).max(initial=0.0))
    return Sums(sums.gradient, sums.losses, sums.errors, sums.n_rows, largest)


def measure(block: Block, model: LinearModel) -> Sums:
    """The objective's part and the errors alone, for held-out rows."""
    risk, losses, errors = model.risk, 0.0, np.zeros(model.risk.n_errors)
    coefficients = model.coefficients.astype(model.features.dtype)
    for strip in _strips(block):
        predictions = model.features.predictions(strip.features, coefficients)
        losses += float(risk.values(predictions, risk.targets(strip), risk.weights(strip)).sum())
        errors += risk.errors(predictions, strip)
    return Sums(np.zeros((0, 0)), losses, errors, block.n_rows, 0.0)


def _strips(block: Block) -> Iterator[Block]:
    for start in range(0, block.n_rows, STRIP_ROWS):
        yield block.take(slice(start, start + STRIP_ROWS))


def snapshot_pass(
    problem: Problem, model: LinearModel | None, footprint: Footprint, *, first: bool = False
) -> Reduce[Sums]:
    """The full gradient, the objective and the training error; the ``first`` one finds the largest norm."""
    if first:
        return Reduce(
            "first snapshot", first_snapshot, Sums.add, model, cost=pass_cost(problem, footprint, 4)
        )
    return Reduce("snapshot", snapshot, Sums.add, model, cost=pass_cost(problem, footprint, 2))


def held_out_pass(problem: Problem, model: LinearModel | None, footprint: Footprint) -> Reduce[Sums]:
    """The error on the test split."""
    return Reduce(
        "held out", measure, Sums.add, model, split="test", cost=pass_cost(problem, footprint, 1),
        measures_only=True,
    )  # fmt: skip


def pass_cost(problem: Problem, footprint: Footprint, uses: int) -> Cost:
    """Of a pass in which the features are multiplied or summed ``uses`` times."""
    size, itemsize, outputs = footprint.size, problem.dtype.itemsize, problem.n_outputs
    # where a tile of all features is too large they are made for every use
    times = max(1, uses) if tile_is_large(size, itemsize) else max(1, uses // 2)
    return Cost(
        workspace_bytes=tile_bytes(problem, footprint)
        + STRIP_ROWS * outputs * 48
        + 2 * size * outputs * (8 + itemsize)
        + footprint.operand_bytes,
        result_bytes=size * outputs * 8,
        flops_per_row=times * footprint.flops_per_row + 2.0 * uses * size * outputs,
        entries_per_row=times * footprint.entries_per_row,
        process_bytes=footprint.process_bytes,
    )


def tile_bytes(problem: Problem, footprint: Footprint, tile_rows: int | None = None) -> int:
    """Of a tile of features and of what making it takes: arguments in float64, rows in either precision."""
    itemsize, width = problem.dtype.itemsize, footprint.block_size
    rows = tile_rows or rows_of_tile(footprint.size, itemsize)
    made = footprint.size
    if tile_is_large(footprint.size, itemsize) and footprint.flops_per_row and tile_rows is None:
        made = width
    arguments = 3 * 8 * width if footprint.flops_per_row else 0
    return rows * (2 * made * itemsize + arguments + 12 * problem.row_numbers)


@dataclass(frozen=True)
class Figures:
    """The objective and the errors at a model, with the sums they come from."""

    sums: Sums
    objective: float
    train_error: float
    test_error: float | None
    absolute_errors: NDArray[np.float64]


def measured(
    problem: Problem, model: LinearModel, footprint: Footprint, nu: float, *, first: bool
) -> Steps[Figures]:
    """Make a snapshot, and a pass over the test split if there is one."""
    sums: Sums = yield snapshot_pass(problem, model, footprint, first=first)
    test_errors = None
    if problem.has_test:
        held_out: Sums = yield held_out_pass(problem, model, footprint)
        test_errors = held_out.errors / held_out.n_rows
    w = model.coefficients
    objective = sums.losses / sums.n_rows + 0.5 * nu * float(np.einsum("ij,ij->", w, w))
    return Figures(sums, objective, *split_errors(sums.errors / sums.n_rows, test_errors))
