"""Blocks of random features that a process keeps, for all of its threads."""

from __future__ import annotations

import threading
from typing import TypeAlias

from zict import LRU

from distkern.kernels.base import AbstractKernel
from distkern.kernels.features import AbstractFeatureBlock
from distkern.samplers import Draws

#: what a block is a function of: kernel, draws, dtype
Key: TypeAlias = tuple[AbstractKernel, Draws, str]


class KeptBlocks:
    """The blocks of at most ``n_bytes`` that were used last, but for those of a basis that has more.

    Passes go over the blocks of a basis in turns, and the one that was used longest ago is needed next. Where
    there is no room, the block that was kept last gives way to another of its basis, and the oldest to one of
    another. A block larger than ``n_bytes`` is not kept.
    """

    def __init__(self, n_bytes: int) -> None:
        self.n_bytes = n_bytes
        self._lock = threading.Lock()
        self._blocks: LRU[Key, AbstractFeatureBlock] = LRU(n_bytes, {}, weight=lambda _, block: block.nbytes)
        self._newest: Key | None = None

    def get(self, key: Key) -> AbstractFeatureBlock | None:
        """The block, if it is kept."""
        with self._lock:
            return self._blocks.get(key)

    def keep(self, key: Key, block: AbstractFeatureBlock) -> None:
        """Keep a block."""
        with self._lock:
            oldest = next(iter(self._blocks.order), None)
            is_full = self.nbytes + block.nbytes > self.n_bytes
            if is_full and oldest is not None and _basis_of(oldest) == _basis_of(key):
                assert self._newest is not None
                self._blocks.pop(self._newest, None)
            self._blocks[key] = block
            self._newest = key

    def clear(self) -> None:
        """Keep none of them any more."""
        with self._lock:
            self._blocks.clear()
            self._newest = None

    @property
    def nbytes(self) -> int:
        """Bytes of all blocks that are kept."""
        return int(self._blocks.total_weight)

    def __len__(self) -> int:
        return len(self._blocks)


def _basis_of(key: Key) -> tuple[object, ...]:
    kernel, draws, dtype = key
    return kernel, draws.sampler, draws.seed, draws.n_input, dtype
