"""Samples of the rows and sums over them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from distkern.core.rng import Purpose, stream
from distkern.core.types import Block
from distkern.maths.features import Footprint
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Problem
from distkern.solvers.measuring import Model, Sums, measure, measure_gradient, pass_cost

_LEAST_BLOCKS = 16
#: least rows sampled from each block
_LEAST_ROWS_PER_BLOCK = 256
#: first indices of the streams of the sample's blocks and of their rows
_BLOCKS, _ROWS = 10, 11


@dataclass(frozen=True)
class RowSample:
    """A sample of at most ``rows_per_block`` of some ``blocks``, drawn by the streams (seed, key, block)."""

    blocks: tuple[int, ...]
    rows_per_block: int
    seed: int
    key: int = _ROWS

    def rows(self, block: Block) -> Block:
        """The sampled rows of a block, in their order."""
        if self.rows_per_block >= block.n_rows:
            return block
        drawn = stream(self.seed, Purpose.SAMPLE, self.key, block.index).permutation(block.n_rows)
        return block.take(np.sort(drawn[: self.rows_per_block]))


class Sampled(Protocol):
    """A rule that selects rows of a block."""

    def rows(self, block: Block) -> Block:
        """The selected rows of a block, in their order."""


def sample_of_every_block(problem: Problem, wanted: int, key: int) -> RowSample:
    """Sample about ``wanted`` rows, equally from all blocks and at least 256 from each."""
    n_blocks = len(problem.block_rows)
    rows = max(_LEAST_ROWS_PER_BLOCK, -(-wanted // n_blocks))
    return RowSample(tuple(range(n_blocks)), rows, problem.seed, key)


def sample_of(problem: Problem, wanted: int, *, every_block: bool = False) -> RowSample:
    """Sample about ``wanted`` rows from 16 random blocks, from more if blocks are small, or from all."""
    order = stream(problem.seed, Purpose.SAMPLE, _BLOCKS).permutation(len(problem.block_rows))
    chosen: list[int] = []
    found = 0
    for block in order:
        if found >= wanted and len(chosen) >= _LEAST_BLOCKS and not every_block:
            break
        chosen.append(int(block))
        found += problem.block_rows[block]
    # blocks with fewer rows than their share leave the rest to the others
    share, left = 1, wanted
    for number, rows in enumerate(sorted(problem.block_rows[block] for block in chosen)):
        share = max(share, -(-left // (len(chosen) - number)))
        left -= min(rows, share)
    return RowSample(tuple(sorted(chosen)), share, problem.seed)


def sampling(name: str, problem: Problem, sample: RowSample, driver_bytes: int = 0) -> Reduce[Block]:
    """The pass that collects a sample on the driver as one block.

    Parameters
    ----------
    driver_bytes : memory of the driver's work on the rows, excluding the rows
    """
    n_rows = min(problem.n_rows, sample.rows_per_block * len(sample.blocks))
    cost = Cost(driver_bytes=driver_bytes).holding(
        task={"rows of a block": (sample.rows_per_block, problem.row_bytes)},
        joined={"rows": (n_rows, problem.row_bytes + problem.beside_bytes)},
    )
    return Reduce(name, _rows_of, _joined, sample, blocks=sample.blocks, cost=cost)


def _rows_of(block: Block, sample: RowSample) -> Block:
    return sample.rows(block)


def _joined(first: Block, second: Block) -> Block:
    return Block.joined([first, second])


@dataclass(frozen=True)
class SampledModel:
    """The operand of passes over a sample, or over all rows if ``sample`` is None."""

    model: Model
    sample: Sampled | None

    def rows(self, block: Block) -> Block:
        """The selected rows of a block."""
        return block if self.sample is None else self.sample.rows(block)


def measure_sampled(block: Block, operand: SampledModel) -> Sums:
    """:func:`~distkern.solvers.measuring.measure` over the sampled rows."""
    return measure(operand.rows(block), operand.model)


def measure_sampled_gradient(block: Block, operand: SampledModel) -> Sums:
    """:func:`~distkern.solvers.measuring.measure_gradient` over the sampled rows."""
    return measure_gradient(operand.rows(block), operand.model)


def sampled_gradient_pass(
    problem: Problem, model: Model | None, footprint: Footprint, sample: RowSample
) -> Reduce[Sums]:
    """The pass that sums losses, errors and the gradient over a sample."""
    cost, rows = pass_cost(problem, footprint, 2), sample.rows_per_block
    share = min(1.0, rows / problem.most_rows)
    return Reduce(
        "gradient of the sample",
        measure_sampled_gradient,
        Sums.add,
        None if model is None else SampledModel(model, sample),
        blocks=sample.blocks,
        cost=replace(cost, operations=share * cost.operations).holding(
            task={"rows of the sample": (rows, problem.row_bytes)}
        ),
    )
