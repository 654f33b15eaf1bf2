"""The workers' part of doubly stochastic gradients: predictions, slopes, partial sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from distkern.core.sparse import Rows
from distkern.core.tiles import scratch
from distkern.core.types import Block, Floats
from distkern.maths.bases.base import multiply, rows_of_tile
from distkern.maths.bases.gram import GatheredGram
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.features.random import footprint_of_random
from distkern.passes import AbstractFollower, Reduce
from distkern.solvers.base import Problem, Steps
from distkern.solvers.measuring import Figures, Model, Sums, measured, pass_cost, sums_and_slopes
from distkern.solvers.risk import Risk
from distkern.solvers.sample import SampledModel, measure_sampled, sample_of_every_block


@dataclass(frozen=True)
class DSGOperand:
    """The operand of every process: the features and the risk."""

    basis: RandomFeatureBasis
    risk: Risk


@dataclass(frozen=True)
class BatchMessage:
    """A message: update the coefficients, then process the rows of a batch.

    Attributes
    ----------
    step : t; a second message with the same t concerns the same batch
    changes : block of features -> its coefficients (block_size, n_outputs), in the dtype of the basis
    scale : s of f = s sum_j z_j A_j
    n_blocks : blocks in use
    wanted : the block whose Z^T G to return, or None
    gram : whether to return its Z^T S Z
    values : whether to return the predictions
    risk : a new risk from this message on, or None
    """

    step: int
    changes: tuple[tuple[int, Floats], ...]
    scale: float
    n_blocks: int
    wanted: int | None
    gram: bool
    values: bool = False
    risk: Risk | None = None


@dataclass(frozen=True)
class BatchSums:
    """Sums over a part of the batch, with G = s dl/df (n_rows, n_outputs).

    Attributes
    ----------
    sums : losses and errors
    slopes : (n_outputs,) sums of G
    squares : sum of the squares of all entries of G
    products : Z^T G (block_size, n_outputs) of the wanted block, or None
    gram : its Z^T S Z (block_size, block_size) in the dtype of the features, or None; weighted by the loss's
        row bounds if it has any
    values : (n_rows, n_outputs + 1), predictions and weights s, or None
    """

    sums: Sums
    slopes: NDArray[np.float64]
    squares: float
    products: NDArray[np.float64] | None
    gram: NDArray[np.float64] | None
    values: NDArray[np.float64] | None = None


def add_parts(parts: tuple[BatchSums, ...]) -> BatchSums:
    """The sums over all parts, from the first to the last."""
    first = parts[0]
    total = replace(first, gram=None if first.gram is None else first.gram.astype(np.float64))
    for part in parts[1:]:
        total = BatchSums(
            Sums.add(total.sums, part.sums),
            total.slopes + part.slopes,
            total.squares + part.squares,
            None if total.products is None or part.products is None else total.products + part.products,
            None if total.gram is None or part.gram is None else total.gram + part.gram.astype(np.float64),
            _joined(total.values, part.values),
        )
    return total


def _joined(
    first: NDArray[np.float64] | None, second: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    return None if first is None or second is None else np.concatenate([first, second])


@dataclass
class _Predicted:
    """Rows of a part of the batch with predictions, slopes, weights, and weights in a Gram matrix."""

    block: Block
    predictions: Floats
    sums: Sums
    slopes: Floats
    weights: NDArray[np.float64] | None
    bends: Floats | None


class Follower(AbstractFollower):
    """Keeps the coefficients of all features, in the dtype of the basis."""

    def __init__(self, operand: DSGOperand) -> None:
        self.operand, self._risk = operand, operand.risk
        self._table = np.zeros((operand.basis.size, operand.risk.n_outputs), dtype=operand.basis.dtype)
        self._predicted: tuple[int, list[_Predicted]] = (-1, [])

    def follow(self, content: BatchMessage) -> None:
        width = self.operand.basis.block_size
        for block, coefficients in content.changes:
            self._table[block * width : (block + 1) * width] = coefficients
        self._risk = content.risk or self._risk

    def answer(self, content: BatchMessage, parts: Iterator[Block]) -> tuple[BatchSums, ...]:
        if self._predicted[0] != content.step:
            # free the rows of the previous batch
            self._predicted = -1, []
            self._predicted = content.step, self._predict(list(parts), content)
        elif content.risk is not None:
            found = [self._predict_block(rows.block, rows.predictions) for rows in self._predicted[1]]
            self._predicted = content.step, found
        return tuple(self._part(rows, content) for rows in self._predicted[1])

    def _predict(self, blocks: list[Block], message: BatchMessage) -> list[_Predicted]:
        basis = self.operand.basis
        totals = predict(basis, [block.features for block in blocks], self._table, message.n_blocks)
        return [
            self._predict_block(block, (message.scale * total).astype(basis.dtype))
            for block, total in zip(blocks, totals, strict=True)
        ]

    def _predict_block(self, block: Block, predictions: Floats) -> _Predicted:
        sums, slopes = sums_and_slopes(self._risk, block, predictions)
        weights = self._risk.weights(block)
        bounds = self._risk.loss.row_bounds(predictions, self._risk.targets(block))
        bends = weights if bounds is None else bounds * (1.0 if weights is None else weights)
        return _Predicted(block, predictions, sums, slopes, weights, bends)

    def _part(self, rows: _Predicted, message: BatchMessage) -> BatchSums:
        basis = self.operand.basis
        products = None
        gram = GatheredGram(basis.block_size) if message.gram else None
        if message.wanted is not None:
            products = np.zeros((basis.block_size, rows.slopes.shape[1]))
            for part, values in tiles(basis, rows.block.features, message.wanted):
                products += values.T @ rows.slopes[part]
                if gram is not None:
                    gram.add(values, None if rows.bends is None else rows.bends[part])
        exact = rows.slopes.astype(np.float64)
        return BatchSums(
            rows.sums,
            exact.sum(axis=0),
            float(np.square(exact).sum()),
            products,
            None if gram is None else gram.total(basis.dtype).astype(basis.dtype),
            _values(rows) if message.values else None,
        )


def _values(rows: _Predicted) -> NDArray[np.float64]:
    weights = np.ones(rows.block.n_rows) if rows.weights is None else rows.weights
    return np.column_stack([rows.predictions.astype(np.float64), weights])


def answer_bytes(basis: RandomFeatureBasis, n_outputs: int, gram: bool) -> int:
    """Bytes of the answer for a part of a batch: sums of a block and optionally its Gram matrix."""
    width = basis.block_size
    return width * (8 * n_outputs + basis.dtype.itemsize * width * gram) + 512


def sums_bytes(basis: RandomFeatureBasis, row_numbers: int, gram: bool) -> int:
    """Bytes of a tile of a block's features and of the Gram matrix summed over tiles, if any."""
    width, itemsize = basis.block_size, basis.dtype.itemsize
    tile = basis.combining_bytes(row_numbers, rows_of_tile(width, itemsize))
    return tile + gram * GatheredGram.bytes_of(width, itemsize)


#: rows to measure, sampled from all blocks: at the end, and between stages
MEASURED_ROWS, WATCHED_ROWS = 2**14, 2**12
#: first index of the streams of drawn rows
_SAMPLE = 2


def tiles(basis: RandomFeatureBasis, rows: Rows, block: int) -> Iterator[tuple[slice, Floats]]:
    """Yield z_block of all rows in tiles, in a buffer that the next tile overwrites."""
    return basis.block_tiles(rows, block, rows_of_tile(basis.block_size, basis.dtype.itemsize))


def predict(
    basis: RandomFeatureBasis, parts: Sequence[Rows], table: Floats, n_blocks: int
) -> list[NDArray[np.float64]]:
    """Return sum_j z_j A_j over the first ``n_blocks`` blocks, (n_rows, n_outputs) for each set of rows.

    A block's frequencies are drawn once for all sets; sums over blocks are in float64.
    """
    width, n_outputs = basis.block_size, table.shape[1]
    totals = [np.zeros((rows.shape[0], n_outputs)) for rows in parts]
    for block in range(n_blocks):
        coefficients = table[block * width : (block + 1) * width]
        for rows, total in zip(parts, totals, strict=True):
            for part, values in tiles(basis, rows, block):
                shares = scratch("dsg shares", (len(values), n_outputs), basis.dtype)
                multiply(values, coefficients, shares)
                total[part] += shares
    return totals


def measuring_pass(
    problem: Problem, operand: SampledModel | None, basis: RandomFeatureBasis, split: str, share: float = 1.0
) -> Reduce[Sums]:
    """The pass that measures ``share`` of a split's rows; its memory is for the largest sample."""
    cost = pass_cost(problem, footprint_of_random(problem, basis), 1)
    drawn = sample_of_every_block(problem, MEASURED_ROWS, _SAMPLE).rows_per_block
    cost = replace(cost, result_bytes=0, operations=share * cost.operations)
    # a fully sampled block is not copied
    copied = drawn if drawn < problem.most_rows else 0
    cost = cost.holding(task={"drawn rows": (copied, problem.row_bytes)})
    name = "held out" if split == "test" else "objective"
    return Reduce(name, measure_sampled, Sums.add, operand, split=split, cost=cost, measures_only=True)


def figures_of(problem: Problem, model: Model, strength: float, *, finished: bool) -> Steps[Figures]:
    """Measure sampled training and held-out rows, in the end all of the latter.

    The objective is the mean loss + strength/2 |A|^2.
    """
    assert isinstance(model.basis, RandomFeatureBasis)
    wanted = MEASURED_ROWS if finished else WATCHED_ROWS
    drawn = SampledModel(model, sample_of_every_block(problem, wanted, _SAMPLE))
    held_out = SampledModel(model, None) if finished else drawn
    a = model.coefficients.astype(np.float64)
    return (
        yield from measured(
            problem,
            measuring_pass(problem, drawn, model.basis, "train"),
            measuring_pass(problem, held_out, model.basis, "test"),
            0.5 * strength * float(np.einsum("ij,ij->", a, a)),
        )
    )
