"""What a process does in a step of doubly stochastic gradients: predictions, slopes, partial sums."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zict import LRU

from distkern.bases.gram import GatheredGram
from distkern.bases.random_features import RandomFeatureBasis
from distkern.core.types import AbstractGroup, Block, Floats, GroupOpener
from distkern.passes import AbstractResident
from distkern.solvers._dsg.batches import Batches, Draw
from distkern.solvers._dsg.model import predict, tiles
from distkern.solvers.measuring import Sums, sums_and_slopes
from distkern.solvers.risk import Risk

#: blocks of rows that a process keeps, beside the one in use
CACHE_BYTES = 64 * 2**20


@dataclass(frozen=True)
class Operand:
    """What every process knows: the features, the risk, and how batches are drawn."""

    basis: RandomFeatureBasis
    risk: Risk
    batches: Batches


@dataclass(frozen=True)
class Ask:
    """One message: bring the coefficients up to date, then look at a batch.

    Attributes
    ----------
    step : t; a second message of the same t asks more of the same batch
    changes : block of features -> its coefficients (block_size, n_outputs), in the dtype of the basis
    scale : s of f = s sum_j z_j A_j
    n_blocks : blocks in use
    draws : the parts of the batch
    candidates : blocks of which Z^T G is wanted
    gram : Z^T S Z of the first candidate is wanted
    """

    step: int
    changes: tuple[tuple[int, Floats], ...]
    scale: float
    n_blocks: int
    draws: tuple[Draw, ...]
    candidates: tuple[int, ...]
    gram: bool


@dataclass(frozen=True)
class Part:
    """Sums over a part of the batch, with G = s dl/df (n_rows, n_outputs).

    Attributes
    ----------
    sums : losses and errors
    slopes : (n_outputs,) of G
    squares : of the squares of all entries of G
    columns : candidate -> Z^T G (block_size, n_outputs)
    gram : Z^T S Z (block_size, block_size) of the first candidate in the dtype of the features, or None
    """

    sums: Sums
    slopes: NDArray[np.float64]
    squares: float
    columns: dict[int, NDArray[np.float64]]
    gram: NDArray[np.float64] | None


def join(first: tuple[Part, ...], second: tuple[Part, ...]) -> tuple[Part, ...]:
    """Parts of earlier and of later groups: the solver adds them up, so the order of sums never changes."""
    return first + second


def add_parts(parts: tuple[Part, ...]) -> Part:
    """The sums over all parts, from the first to the last."""
    first = parts[0]
    total = replace(first, gram=None if first.gram is None else first.gram.astype(np.float64))
    for part in parts[1:]:
        total = Part(
            Sums.add(total.sums, part.sums), total.slopes + part.slopes, total.squares + part.squares,
            {block: columns + part.columns[block] for block, columns in total.columns.items()},
            None if total.gram is None or part.gram is None else total.gram + part.gram.astype(np.float64),
        )  # fmt: skip
    return total


@dataclass
class _Look:
    """Rows of a part of the batch with their slopes and weights."""

    block: Block
    sums: Sums
    slopes: Floats
    weights: NDArray[np.float64] | None


@dataclass
class BatchResident(AbstractResident):
    """Keeps the coefficients of all features, in the dtype of the basis, and a few blocks of rows."""

    openers: Mapping[int, GroupOpener]
    operand: Operand
    _open: dict[int, AbstractGroup] = field(default_factory=dict)
    _blocks: LRU[tuple[int, int], Block] = field(
        default_factory=lambda: LRU(CACHE_BYTES, {}, weight=lambda _, block: block.features.nbytes)
    )
    _looks: tuple[int, list[_Look]] = (-1, [])

    def __post_init__(self) -> None:
        basis = self.operand.basis
        self._table = np.zeros((basis.size, self.operand.risk.n_outputs), dtype=basis.dtype)

    def answer(self, message: Ask) -> tuple[Part, ...]:
        self.replay(message)
        own = [draw for draw in message.draws if draw.group in self.openers]
        if self._looks[0] != message.step:
            self._looks = message.step, self._look(own, message)
        return tuple(self._part(look, message) for look in self._looks[1])

    def replay(self, message: Ask) -> None:
        width = self.operand.basis.block_size
        for block, coefficients in message.changes:
            self._table[block * width : (block + 1) * width] = coefficients

    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        """Nothing: the first message of a stage carries all coefficients."""
        return {}

    def _look(self, draws: list[Draw], message: Ask) -> list[_Look]:
        basis, risk = self.operand.basis, self.operand.risk
        blocks = [self._rows(draw) for draw in draws]
        totals = predict(basis, [block.features for block in blocks], self._table, message.n_blocks)
        looks = []
        for block, total in zip(blocks, totals, strict=True):
            predictions = (message.scale * total).astype(basis.dtype)
            sums, slopes = sums_and_slopes(risk, block, predictions)
            looks.append(_Look(block, sums, slopes, risk.weights(block)))
        return looks

    def _part(self, look: _Look, message: Ask) -> Part:
        basis = self.operand.basis
        columns: dict[int, NDArray[np.float64]] = {}
        gram = GatheredGram(basis.block_size) if message.gram else None
        for number, candidate in enumerate(message.candidates):
            total = np.zeros((basis.block_size, look.slopes.shape[1]))
            for part, values in tiles(basis, look.block.features, candidate):
                total += values.T @ look.slopes[part]
                if gram is not None and number == 0:
                    gram.add(values, None if look.weights is None else look.weights[part])
            columns[candidate] = total
        exact = look.slopes.astype(np.float64)
        return Part(
            look.sums, exact.sum(axis=0), float(np.square(exact).sum()),
            columns, None if gram is None else gram.total(basis.dtype).astype(basis.dtype),
        )  # fmt: skip

    def _rows(self, draw: Draw) -> Block:
        taken = [
            self._block(draw.group, place).take(rows) for place, rows in self.operand.batches.pieces(draw)
        ]
        return joined(taken)

    def _block(self, group: int, place: int) -> Block:
        block = self._blocks.get((group, place))
        if block is None:
            if group not in self._open:
                self._open[group] = self.openers[group]()
            block = self._open[group].block(place)
            # the last one is kept however large it is
            self._blocks.n = max(CACHE_BYTES, block.features.nbytes)
            self._blocks[group, place] = block
        return block


def open_batches(
    openers: Mapping[int, GroupOpener], operand: Operand, saved: Mapping[int, dict[str, NDArray[Any]]]
) -> BatchResident:
    """The resident of some groups, as :attr:`~distkern.passes.Rounds.open` wants it."""
    return BatchResident(openers, operand)


def joined(blocks: list[Block]) -> Block:
    """The rows of several blocks, one after the other."""
    if len(blocks) == 1:
        return blocks[0]
    from distkern.core.sparse import stacked

    first = blocks[0]
    return Block(
        stacked([block.features for block in blocks]),
        None if first.targets is None else np.concatenate([block.targets for block in blocks]),
        None if first.weights is None else np.concatenate([block.weights for block in blocks]),
    )
