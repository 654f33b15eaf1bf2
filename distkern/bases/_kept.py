"""Blocks of random features that a process keeps, so as not to make them anew for every few rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from zict import LRU

from distkern.kernels.features import AbstractFeatureBlock

#: bytes of blocks that a process keeps
KEPT_BYTES = 32 * 2**20

#: a block that is larger than all of it is not kept
blocks: LRU[Hashable, AbstractFeatureBlock] = LRU(KEPT_BYTES, {}, weight=lambda _, block: block.nbytes)


def kept(key: Hashable, make: Callable[[], AbstractFeatureBlock]) -> AbstractFeatureBlock:
    """The block of this key, made if it is not among those used last."""
    block = blocks.get(key)
    if block is None:
        # two threads may make the same block: they make the same one
        block = blocks[key] = make()
    return block
