"""A model over blocks of random features: evaluating it, and measuring it in a pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import multiply
from distkern.bases.random_features import RandomFeatureBasis
from distkern.core.rng import Purpose, stream
from distkern.core.sparse import Rows
from distkern.core.types import Block, Floats
from distkern.core.workspace import buffer
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Problem, Steps
from distkern.solvers.risk import Risk, split_errors

_TILE_BYTES = 512 * 1024
_SAMPLE = 2


def tiles(basis: RandomFeatureBasis, rows: Rows, block: int) -> Iterator[tuple[slice, Floats]]:
    """z_block of all rows, a tile at a time, in a buffer that the next tile overwrites."""
    width = basis.block_size
    tile_rows = min(max(_TILE_BYTES // (width * basis.dtype.itemsize), 128), 1024)
    for start in range(0, rows.shape[0], tile_rows):
        part = slice(start, min(start + tile_rows, rows.shape[0]))
        values = buffer("dsg tile", (part.stop - part.start, width), basis.dtype)
        basis.fill_block(rows[part], block, values)
        yield part, values


def predict(
    basis: RandomFeatureBasis, parts: Sequence[Rows], table: Floats, n_blocks: int
) -> list[NDArray[np.float64]]:
    """sum_j z_j A_j over the first ``n_blocks`` blocks, (n_rows, n_outputs) for each of several sets of rows.

    A block's frequencies are made once for all of them; the sums over blocks are in float64.
    """
    width, n_outputs = basis.block_size, table.shape[1]
    totals = [np.zeros((rows.shape[0], n_outputs)) for rows in parts]
    for block in range(n_blocks):
        coefficients = table[block * width : (block + 1) * width]
        for rows, total in zip(parts, totals, strict=True):
            for part, values in tiles(basis, rows, block):
                shares = buffer("dsg shares", (len(values), n_outputs), basis.dtype)
                multiply(values, coefficients, shares)
                total[part] += shares
    return totals


@dataclass(frozen=True)
class FeatureModel:
    """The operand of measuring passes.

    Attributes
    ----------
    basis : of blocks each normalised by itself
    coefficients : (n_blocks * block_size, n_outputs) of the blocks in use, in the dtype of the basis
    risk : what is measured
    rows_per_block : rows drawn of each block of data, None for all
    seed : of the draw
    """

    basis: RandomFeatureBasis
    coefficients: Floats
    risk: Risk
    rows_per_block: int | None = None
    seed: int = 0

    @property
    def n_blocks(self) -> int:
        """Blocks of features in use."""
        return int(len(self.coefficients) // self.basis.block_size)


@dataclass(frozen=True)
class Sums:
    """Over rows: of s_i l_i, of errors (see :meth:`Risk.errors`), and the number of rows."""

    losses: float
    errors: NDArray[np.float64]
    n_rows: int

    @staticmethod
    def add(first: Sums, second: Sums) -> Sums:
        """The sums over the rows of both."""
        return Sums(first.losses + second.losses, first.errors + second.errors, first.n_rows + second.n_rows)


def measure(block: Block, model: FeatureModel) -> Sums:
    """The sums over a block, or over a sample of its rows."""
    if model.rows_per_block is not None and model.rows_per_block < block.n_rows:
        drawn = stream(model.seed, Purpose.SAMPLE, _SAMPLE, block.index).permutation(block.n_rows)
        block = block.take(np.sort(drawn[: model.rows_per_block]))
    (totals,) = predict(model.basis, [block.features], model.coefficients, model.n_blocks)
    predictions = totals.astype(model.basis.dtype)
    risk = model.risk
    losses = risk.values(predictions, risk.targets(block), risk.weights(block)).sum()
    return Sums(float(losses), risk.errors(predictions, block), block.n_rows)


def measuring_pass(
    problem: Problem,
    model: FeatureModel | None,
    n_features: int,
    split: str,
    share: float,
    process_bytes: int,
) -> Reduce[Sums]:
    """Objective and errors on a split, of ``share`` of its rows."""
    itemsize = problem.dtype.itemsize
    cost = Cost(
        workspace_bytes=2 * _TILE_BYTES + (1024 * (problem.row_numbers + 64) + 2 * n_features) * itemsize,
        flops_per_row=2.0 * share * n_features * (problem.row_numbers + 2),
        entries_per_row=share * n_features,
        process_bytes=process_bytes,
    )
    name = "held out" if split == "test" else "objective"
    return Reduce(name, measure, Sums.add, model, split=split, cost=cost, measures_only=True)


@dataclass(frozen=True)
class FeatureFigures:
    """Objective and errors of a model; ``absolute_errors`` (2,) of training and held-out rows, or NaN."""

    objective: float
    train_error: float
    test_error: float | None
    absolute_errors: NDArray[np.float64]


def measured(
    problem: Problem, model: FeatureModel, strength: float, *, all_held_out: bool
) -> Steps[FeatureFigures]:
    """One pass over the training rows (a sample of them) and one over the held-out rows, if there are any.

    The objective is the mean loss + strength/2 |A|^2.
    """
    size, process_bytes = len(model.coefficients), model.basis.process_bytes
    train: Sums = yield measuring_pass(problem, model, size, "train", 1.0, process_bytes)
    test_errors = None
    if problem.has_test:
        held_out = replace(model, rows_per_block=None) if all_held_out else model
        test: Sums = yield measuring_pass(problem, held_out, size, "test", 1.0, process_bytes)
        test_errors = test.errors / test.n_rows
    a = model.coefficients.astype(np.float64)
    objective = train.losses / train.n_rows + 0.5 * strength * float(np.einsum("ij,ij->", a, a))
    return FeatureFigures(objective, *split_errors(train.errors / train.n_rows, test_errors))
