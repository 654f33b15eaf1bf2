"""Blocks of random features that a process keeps, so as not to make them anew for every few rows."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable

from distkern.kernels.features import AbstractFeatureBlock

#: bytes of blocks that a process keeps
KEPT_BYTES = 32 * 2**20

_lock = threading.Lock()
#: least recently used first, each with its size
_blocks: OrderedDict[Hashable, tuple[AbstractFeatureBlock, int]] = OrderedDict()
_total = [0]


def kept(key: Hashable, make: Callable[[], AbstractFeatureBlock]) -> AbstractFeatureBlock:
    """The block of this key, made if it is not among those used last; of one that is too large, a new one."""
    block = find(key)
    if block is not None:
        return block
    # two threads may make the same block: they make the same one
    block = make()
    size = block.nbytes
    if size <= KEPT_BYTES:
        with _lock:
            if key not in _blocks:
                _blocks[key] = (block, size)
                _total[0] += size
            while _total[0] > KEPT_BYTES:
                _, (_, dropped) = _blocks.popitem(last=False)
                _total[0] -= dropped
    return block


def find(key: Hashable) -> AbstractFeatureBlock | None:
    """The block of this key if it is kept."""
    with _lock:
        if key not in _blocks:
            return None
        _blocks.move_to_end(key)
        return _blocks[key][0]


def forget() -> None:
    """Drop all blocks of this process."""
    with _lock:
        _blocks.clear()
        _total[0] = 0
