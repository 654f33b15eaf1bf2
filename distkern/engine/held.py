"""Blocks that this process holds, sent to wherever tasks run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from distkern.common.sparse import SparseRows
from distkern.common.types import AbstractSource, Block, Reader
from distkern.passes.execution import AbstractExecutor, Call, Shared, apply_to_block


@dataclass(frozen=True)
class _Held:
    block: Block

    def __call__(self) -> Block:
        return self.block


class HeldBlock(AbstractSource):
    """A source of one block, which travels with whoever reads it."""

    def __init__(self, block: Block) -> None:
        features = block.features
        self._block = block
        self.block_rows = (block.n_rows,)
        self.n_features = int(features.shape[1])
        self.dtype = features.dtype
        self.is_sparse = isinstance(features, SparseRows)
        self.fingerprint = ""

    @property
    def row_numbers(self) -> int:
        features = self._block.features
        if not isinstance(features, SparseRows):
            return self.n_features
        return 2 + -(-2 * features.n_entries // max(self._block.n_rows, 1))

    def reader(self, index: int) -> Reader:
        return _Held(self._block)


def held_in_order(
    blocks: Iterable[Block], function: Callable[[Any], Any], executor: AbstractExecutor
) -> Iterator[Any]:
    """``function`` of the features of blocks that are made as they are needed, in order, a few at a time."""
    shared = Shared(function)
    calls = (Call(apply_to_block, (shared,), HeldBlock(block), (0,)) for block in blocks)
    for timed in executor.ordered(calls, executor.machine.n_workers + 1):
        yield timed.value
