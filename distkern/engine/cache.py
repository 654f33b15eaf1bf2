"""Blocks that a process keeps between passes, within a budget: a reader wrapped around a reader.

A run reads the same blocks in every pass. What fits into the budget is kept from the first pass on and
nothing is ever evicted, as ``zict.LRU`` would: the passes go over the data in turns, and the block that was
used longest ago is the one needed next.
"""

from __future__ import annotations

import threading

from distkern.common.types import Block, Reader

_lock = threading.Lock()
_blocks: dict[Reader, Block] = {}
_run = ""
_bytes = 0


def read_through(reader: Reader, run: str, budget_bytes: int) -> Block:
    """The block of ``reader``, kept for later passes of the same ``run`` while it fits the budget.

    A call for another run forgets the blocks of the one before. The block is shared: nobody may write to it.
    """
    global _run, _bytes
    if budget_bytes <= 0:
        return reader()
    with _lock:
        if run != _run:
            _blocks.clear()
            _run, _bytes = run, 0
        kept = _blocks.get(reader)
    if kept is not None:
        return kept
    block = reader()
    size = block.nbytes
    with _lock:
        if run == _run and reader not in _blocks and _bytes + size <= budget_bytes:
            block.freeze()
            _blocks[reader] = block
            _bytes += size
    return block


def forget() -> None:
    """Drop every kept block."""
    global _run, _bytes
    with _lock:
        _blocks.clear()
        _run, _bytes = "", 0
