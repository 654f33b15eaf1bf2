"""Arrays in this process as sources of rows, and their single rows and columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.held_out import Keys
from distkern.common.rng import Purpose, stream
from distkern.common.sparse import Rows, SparseRows, count_nonzero
from distkern.common.types import AbstractSource, ArrayGroup, Block, GroupOpener, Reader

#: bytes of a block in single precision, and of a number in it
_BLOCK_BYTES, _SINGLE = 4 * 2**20, 4
#: least rows of a block
_LEAST_ROWS = 1024


class ArraySource(AbstractSource):
    """Rows of arrays in this process, in blocks that threads can share out.

    More than one block of rows is put in random order first, as a data set's rows are when it is sharded,
    for a block of sorted rows may hold one class only. The order is an index of 8 bytes a row, drawn from
    the number of rows alone; a block's rows are gathered when it is read.
    """

    in_memory = True

    def __init__(
        self,
        features: Rows,
        targets: NDArray[Any] | None,
        weights: NDArray[np.float64] | None,
        group_keys: Keys | None = None,
    ) -> None:
        self._block = Block(features, targets, weights, group_keys=group_keys)
        self.has_groups = group_keys is not None
        n_rows, self.n_features = features.shape
        self.dtype = features.dtype
        self.is_sparse = isinstance(features, SparseRows)
        self._row_numbers = self.n_features
        if isinstance(features, SparseRows):
            self._row_numbers = 2 + 2 * features.n_entries // max(n_rows, 1)
        # the same rows in a block whatever the precision, which they may be cast to
        size = int(np.clip(_BLOCK_BYTES // (self._row_numbers * _SINGLE), _LEAST_ROWS, 65_536))
        self._starts = list(range(0, n_rows, size))
        self.block_rows = tuple(min(size, n_rows - start) for start in self._starts)
        self.fingerprint = ""
        self._order: NDArray[np.intp] | None = None
        if len(self.block_rows) > 1:
            self._order = stream(0, Purpose.SHUFFLE).permutation(n_rows)
        self._groups: dict[int, ArrayGroup] = {}

    @property
    def row_numbers(self) -> int:
        return self._row_numbers

    @cached_property
    def n_nonzero(self) -> int:
        return count_nonzero(self._block.features)

    def reader(self, index: int) -> Reader:
        return _Part(self._block, self._rows((index,)), index)

    def _rows(self, blocks: tuple[int, ...]) -> NDArray[np.intp] | slice:
        """Where the rows of consecutive blocks are."""
        start, rows = self._starts[blocks[0]], sum(self.block_rows[block] for block in blocks)
        part = slice(start, start + rows)
        return part if self._order is None else self._order[part]

    def group(self, index: int) -> GroupOpener:
        found = self._groups.get(index)
        if found is None:
            blocks = self.groups[index]
            rows = tuple(self.block_rows[block] for block in blocks)
            found = ArrayGroup(self._block, self._rows(blocks), rows, blocks[0])
            # kept, because so is the transposed copy of its sparse rows
            self._groups[index] = found
        return OpenGroup(found)


@dataclass(frozen=True)
class _Part:
    """Gathers some rows of an array when it is called, or when it goes to another process."""

    whole: Block
    rows: NDArray[np.intp] | slice
    index: int

    def __call__(self) -> Block:
        return replace(self.whole.take(self.rows), index=self.index)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Part, (self(), slice(None), self.index)


@dataclass(frozen=True)
class OpenGroup:
    """Gives the group itself, which has nothing to be opened."""

    group: ArrayGroup

    def __call__(self) -> ArrayGroup:
        return self.group
