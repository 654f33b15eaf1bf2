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
    """Consecutive blocks of an array whose rows are read in an order of their own.

    Rows and dense columns are gathered when they are asked for. Of sparse rows a transposed copy is made at
    the first column that is asked for; it takes what the rows take.

    Parameters
    ----------
    whole : rows of the array
    order : those of the group among them, in its order
    block_rows : rows of each of its blocks, in order
    first : number of the first of them
    """

    def __init__(self, whole: Block, order: Indices | slice, block_rows: tuple[int, ...], first: int) -> None:
        if isinstance(order, slice):
            whole, order = whole.take(order), np.arange(sum(block_rows))
        self._whole, self._order = whole, order
        self._block_rows, self._first = block_rows, first
        self.n_rows, self.n_features = len(order), whole.features.shape[1]
        self.targets = None if whole.targets is None else whole.targets[order]

    def rows(self, positions: Indices) -> Rows:
        return self._whole.features[self._order[positions]]

    def columns(self, columns: Indices) -> Rows:
        if isinstance(self._whole.features, SparseRows):
            return self._transposed[columns]
        return self._whole.features[self._order, np.asarray(columns)[:, None]]

    def blocks(self) -> Iterator[Block]:
        start = 0
        for number, rows in enumerate(self._block_rows):
            part = self._whole.take(self._order[start : start + rows])
            yield replace(part, index=self._first + number)
            start += rows

    @cached_property
    def _transposed(self) -> SparseRows:
        features = self._whole.features[self._order]
        assert isinstance(features, SparseRows)
        order = np.argsort(features.indices, kind="stable")
        counts = np.bincount(features.indices, minlength=self.n_features)
        return SparseRows(
            features.data[order], features.row_of_entries[order].astype(np.int32),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), self.n_rows,
        )  # fmt: skip

    def __reduce__(self) -> tuple[Any, ...]:
        # another process is sent the rows of the group alone
        return ArrayGroup, (self._whole.take(self._order), slice(None), self._block_rows, self._first)


@dataclass(frozen=True)
class OpenGroup:
    """Gives the group itself, which has nothing to be opened."""

    group: ArrayGroup

    def __call__(self) -> ArrayGroup:
        return self.group
