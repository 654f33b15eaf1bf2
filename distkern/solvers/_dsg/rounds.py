"""What a process does in a step of doubly stochastic gradients: predictions, slopes, partial sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import rows_of_tile
from distkern.bases.gram import GatheredGram
from distkern.bases.random_features import RandomFeatureBasis
from distkern.common.types import Block, Floats
from distkern.passes import AbstractFollower
from distkern.solvers._dsg.model import predict, tiles
from distkern.solvers.measuring import Sums, sums_and_slopes
from distkern.solvers.risk import Risk


@dataclass(frozen=True)
class Operand:
    """What every process knows: the features and the risk."""

    basis: RandomFeatureBasis
    risk: Risk


@dataclass(frozen=True)
class Ask:
    """One message: bring the coefficients up to date, then look at a batch.

    Attributes
    ----------
    step : t; a second message of the same t asks more of the same batch
    changes : block of features -> its coefficients (block_size, n_outputs), in the dtype of the basis
    scale : s of f = s sum_j z_j A_j
    n_blocks : blocks in use
    candidates : blocks of which Z^T G is wanted
    gram : Z^T S Z of the first candidate is wanted
    values : the predictions are wanted
    risk : from this message on, where it is another one
    """

    step: int
    changes: tuple[tuple[int, Floats], ...]
    scale: float
    n_blocks: int
    candidates: tuple[int, ...]
    gram: bool
    values: bool = False
    risk: Risk | None = None


@dataclass(frozen=True)
class Part:
    """Sums over a part of the batch, with G = s dl/df (n_rows, n_outputs).

    Attributes
    ----------
    sums : losses and errors
    slopes : (n_outputs,) of G
    squares : of the squares of all entries of G
    columns : candidate -> Z^T G (block_size, n_outputs)
    gram : Z^T S Z (block_size, block_size) of the first candidate in the dtype of the features, or None; the
        weights are times the bounds of a loss that has some
    values : (n_rows, n_outputs + 1), predictions and weights s, or None
    """

    sums: Sums
    slopes: NDArray[np.float64]
    squares: float
    columns: dict[int, NDArray[np.float64]]
    gram: NDArray[np.float64] | None
    values: NDArray[np.float64] | None = None


def add_parts(parts: tuple[Part, ...]) -> Part:
    """The sums over all parts, from the first to the last."""
    first = parts[0]
    total = replace(first, gram=None if first.gram is None else first.gram.astype(np.float64))
    for part in parts[1:]:
        total = Part(
            Sums.add(total.sums, part.sums),
            total.slopes + part.slopes,
            total.squares + part.squares,
            {block: columns + part.columns[block] for block, columns in total.columns.items()},
            None if total.gram is None or part.gram is None else total.gram + part.gram.astype(np.float64),
            _joined(total.values, part.values),
        )
    return total


def _joined(
    first: NDArray[np.float64] | None, second: NDArray[np.float64] | None
) -> NDArray[np.float64] | None:
    return None if first is None or second is None else np.concatenate([first, second])


@dataclass
class _Look:
    """Rows of a part of the batch with their predictions, slopes and weights, and the weights with which
    they are in a Gram matrix."""

    block: Block
    predictions: Floats
    sums: Sums
    slopes: Floats
    weights: NDArray[np.float64] | None
    bends: Floats | None


class Follower(AbstractFollower):
    """Keeps the coefficients of all features, in the dtype of the basis."""

    def __init__(self, operand: Operand) -> None:
        self.operand, self._risk = operand, operand.risk
        self._table = np.zeros((operand.basis.size, operand.risk.n_outputs), dtype=operand.basis.dtype)
        self._looks: tuple[int, list[_Look]] = (-1, [])

    def follow(self, content: Ask) -> None:
        width = self.operand.basis.block_size
        for block, coefficients in content.changes:
            self._table[block * width : (block + 1) * width] = coefficients
        self._risk = content.risk or self._risk

    def answer(self, content: Ask, parts: Iterator[Block]) -> tuple[Part, ...]:
        if self._looks[0] != content.step:
            # the rows of the batch before go first
            self._looks = -1, []
            self._looks = content.step, self._look(list(parts), content)
        elif content.risk is not None:
            looks = [self._look_at(look.block, look.predictions) for look in self._looks[1]]
            self._looks = content.step, looks
        return tuple(self._part(look, content) for look in self._looks[1])

    def _look(self, blocks: list[Block], message: Ask) -> list[_Look]:
        basis = self.operand.basis
        totals = predict(basis, [block.features for block in blocks], self._table, message.n_blocks)
        return [
            self._look_at(block, (message.scale * total).astype(basis.dtype))
            for block, total in zip(blocks, totals, strict=True)
        ]

    def _look_at(self, block: Block, predictions: Floats) -> _Look:
        sums, slopes = sums_and_slopes(self._risk, block, predictions)
        weights = self._risk.weights(block)
        bounds = self._risk.loss.row_bounds(predictions, self._risk.targets(block))
        bends = weights if bounds is None else bounds * (1.0 if weights is None else weights)
        return _Look(block, predictions, sums, slopes, weights, bends)

    def _part(self, look: _Look, message: Ask) -> Part:
        basis = self.operand.basis
        columns: dict[int, NDArray[np.float64]] = {}
        gram = GatheredGram(basis.block_size) if message.gram else None
        for number, candidate in enumerate(message.candidates):
            total = np.zeros((basis.block_size, look.slopes.shape[1]))
            for part, values in tiles(basis, look.block.features, candidate):
                total += values.T @ look.slopes[part]
                if gram is not None and number == 0:
                    gram.add(values, None if look.bends is None else look.bends[part])
            columns[candidate] = total
        exact = look.slopes.astype(np.float64)
        return Part(
            look.sums,
            exact.sum(axis=0),
            float(np.square(exact).sum()),
            columns,
            None if gram is None else gram.total(basis.dtype).astype(basis.dtype),
            _values(look) if message.values else None,
        )


def _values(look: _Look) -> NDArray[np.float64]:
    weights = np.ones(look.block.n_rows) if look.weights is None else look.weights
    return np.column_stack([look.predictions.astype(np.float64), weights])


def answer_bytes(basis: RandomFeatureBasis, n_outputs: int, n_candidates: int, gram: bool) -> int:
    """Bytes of the answer for a part of a batch: sums of each candidate and perhaps a Gram matrix."""
    width = basis.block_size
    return width * (8 * n_outputs * n_candidates + basis.dtype.itemsize * width * gram) + 512


def sums_bytes(basis: RandomFeatureBasis, row_numbers: int, gram: bool) -> int:
    """Bytes of a tile of a block's features and of the Gram matrix, if any, that is summed over tiles."""
    width, itemsize = basis.block_size, basis.dtype.itemsize
    tile = basis.combining_bytes(row_numbers, rows_of_tile(width, itemsize))
    return tile + gram * GatheredGram.bytes_of(width, itemsize)
