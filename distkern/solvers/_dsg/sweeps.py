"""What stays with the rows while coefficients are swept over, block after block of features: predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import multiply
from distkern.bases.gram import GatheredGram
from distkern.bases.random_features import RandomFeatureBasis
from distkern.common.tiles import scratch
from distkern.common.types import Block, Floats, GroupOpener
from distkern.passes import AbstractResident
from distkern.solvers._dsg.model import predict, tiles
from distkern.solvers.risk import Risk

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SweepOperand:
    """What every process knows: the features, of which ``n_blocks`` blocks are in use, and the risk."""

    basis: RandomFeatureBasis
    risk: Risk
    n_blocks: int


@dataclass(frozen=True)
class SweepAsk:
    """One message.

    Attributes
    ----------
    table : all coefficients, to start from; None: predictions are there already
    change : a block of features and what its coefficients change by, in the dtype of the basis
    block : the block whose gradient is wanted, or None
    gram_groups : group -> every so many of its rows go into the block's Gram matrix
    """

    table: Floats | None
    change: tuple[int, Floats] | None
    block: int | None
    gram_groups: dict[int, int]


@dataclass(frozen=True)
class SweepPart:
    """Sums over a group: Z_j^T G (block_size, n_outputs), and Z_j^T S Z_j over ``gram_rows`` of its rows."""

    columns: Array
    gram: Array | None
    gram_rows: int


def total(parts: tuple[SweepPart, ...]) -> SweepPart:
    """The sums over all groups, from the first to the last."""
    columns, gram, rows = np.zeros_like(parts[0].columns), None, 0
    for part in parts:
        columns += part.columns
        if part.gram is not None:
            gram = part.gram if gram is None else gram + part.gram
            rows += part.gram_rows
    return SweepPart(columns, gram, rows)


@dataclass
class SweepResident(AbstractResident):
    """Keeps the predictions of its rows: (n_rows, n_outputs) of each group, in the dtype of the basis."""

    openers: Mapping[int, GroupOpener]
    operand: SweepOperand
    predictions: dict[int, Floats] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._groups = {group: self.openers[group]() for group in sorted(self.openers)}

    def answer(self, message: SweepAsk) -> tuple[SweepPart, ...]:
        if message.table is not None:
            self._start(message.table)
        return tuple(self._visit(group, message) for group in self._groups)

    def replay(self, message: SweepAsk) -> None:
        self.answer(replace(message, block=None))

    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        return {"predictions": self.predictions[group]}

    def _start(self, table: Floats) -> None:
        operand = self.operand
        for group, opened in self._groups.items():
            values = [
                predict(operand.basis, [block.features], table, operand.n_blocks)[0].astype(
                    operand.basis.dtype
                )
                for block in opened.blocks()
            ]
            self.predictions[group] = np.concatenate(values)

    def _visit(self, group: int, message: SweepAsk) -> SweepPart:
        """Bring a group's predictions up to date, then take its sums, in one reading."""
        basis, outputs = self.operand.basis, self.operand.risk.n_outputs
        stride = message.gram_groups.get(group) if message.block is not None else None
        gram = None if stride is None else GatheredGram(basis.block_size)
        columns, gram_rows, done = np.zeros((basis.block_size, outputs)), 0, 0
        for block in self._groups[group].blocks():
            predictions = self.predictions[group][done : done + block.n_rows]
            done += block.n_rows
            if message.change is not None:
                number, change = message.change
                for rows, values in tiles(basis, block.features, number):
                    shares = scratch("dsg shares", (len(values), outputs), basis.dtype)
                    multiply(values, change, shares)
                    predictions[rows] += shares
            if message.block is not None:
                slopes, weights = self._slopes(block, predictions)
                for rows, values in tiles(basis, block.features, message.block):
                    columns += values.T @ slopes[rows]
                    if gram is not None and stride is not None:
                        sampled = values[::stride]
                        gram_rows += len(sampled)
                        gram.add(sampled, None if weights is None else weights[rows][::stride])
        return SweepPart(columns, None if gram is None else gram.total(basis.dtype), gram_rows)

    def _slopes(self, block: Block, predictions: Floats) -> tuple[Floats, Array | None]:
        risk = self.operand.risk
        weights = risk.weights(block)
        return risk.slopes(predictions, risk.targets(block), weights), weights


def open_sweeps(
    openers: Mapping[int, GroupOpener], operand: SweepOperand, saved: Mapping[int, dict[str, NDArray[Any]]]
) -> SweepResident:
    """The resident of some groups, going on from their saved predictions if there are any."""
    # what was saved may be read-only
    return SweepResident(openers, operand, {group: saved[group]["predictions"].copy() for group in saved})
