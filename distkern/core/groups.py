"""A group of blocks that are read whole: what every source can give, single columns apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import Rows, stacked
from distkern.core.types import AbstractGroup, Block, Indices, Reader


@dataclass(frozen=True)
class BlocksOpener:
    """Opens a :class:`BlocksGroup` in any process.

    Attributes
    ----------
    readers, block_rows : of the blocks of the group, in order
    n_features : columns
    """

    readers: tuple[Reader, ...]
    block_rows: tuple[int, ...]
    n_features: int

    def __call__(self) -> BlocksGroup:
        return BlocksGroup(self.readers, self.block_rows, self.n_features)


class BlocksGroup(AbstractGroup):
    """Reads the whole block for any of its rows, and keeps the last one."""

    def __init__(self, readers: tuple[Reader, ...], block_rows: tuple[int, ...], n_features: int) -> None:
        self.n_features = n_features
        self.n_rows = sum(block_rows)
        self._readers = readers
        self._ends = np.cumsum(block_rows)
        self._last: tuple[int, Block] | None = None

    @cached_property
    def targets(self) -> NDArray[Any] | None:  # type: ignore[override]
        """(n_rows,) of all blocks, read when first asked for."""
        parts = [block.targets for block in self.blocks() if block.targets is not None]
        return np.concatenate(parts) if parts else None

    def rows(self, positions: Indices) -> Rows:
        places = np.searchsorted(self._ends, positions, side="right")
        parts = []
        for place, position in zip(places.tolist(), np.asarray(positions).tolist(), strict=True):
            start = int(self._ends[place - 1]) if place else 0
            features = self.block(place).features
            parts.append(features[position - start : position - start + 1])
        return stacked(parts)

    def columns(self, columns: Indices) -> Rows:
        raise InputError(
            "single columns can be read of arrays and of data sets with a feature-major copy only",
            where="the data", mend="shard it with `distkern shard ... --columns`",
        )  # fmt: skip

    def block(self, place: int) -> Block:
        if self._last is None or self._last[0] != place:
            self._last = place, self._readers[place]()
        return self._last[1]

    def blocks(self) -> Iterator[Block]:
        for reader in self._readers:
            yield reader()
