"""Single rows and columns of arrays in this process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import AbstractGroup, Block, Indices


class ArrayGroup(AbstractGroup):
    """Consecutive blocks of an array.

    Dense columns are gathered from the rows. Of sparse rows a transposed copy is made at the first column
    that is asked for; it takes what the rows take.

    Parameters
    ----------
    block : all rows of the group
    block_rows : rows of each of its blocks, in order
    first : number of the first of them
    """

    def __init__(self, block: Block, block_rows: tuple[int, ...], first: int) -> None:
        self._block, self._block_rows, self._first = block, block_rows, first
        self.n_rows, self.n_features = block.features.shape
        self.targets = block.targets

    def rows(self, positions: Indices) -> Rows:
        return self._block.features[positions]

    def columns(self, columns: Indices) -> Rows:
        if isinstance(self._block.features, SparseRows):
            return self._transposed[columns]
        return np.ascontiguousarray(self._block.features.T[columns])

    def blocks(self) -> Iterator[Block]:
        start = 0
        for number, rows in enumerate(self._block_rows):
            yield replace(self._block.take(slice(start, start + rows)), index=self._first + number)
            start += rows

    @cached_property
    def _transposed(self) -> SparseRows:
        features = self._block.features
        assert isinstance(features, SparseRows)
        order = np.argsort(features.indices, kind="stable")
        counts = np.bincount(features.indices, minlength=self.n_features)
        return SparseRows(
            features.data[order], features.row_of_entries[order].astype(np.int32),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), self.n_rows,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_transposed"}


@dataclass(frozen=True)
class OpenGroup:
    """Gives the group itself, which has nothing to be opened."""

    group: ArrayGroup

    def __call__(self) -> ArrayGroup:
        return self.group
