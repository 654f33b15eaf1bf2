"""What runs inside a task: module-level functions, so that any process can load them."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from distkern.common import blas
from distkern.common.stores import Store
from distkern.common.types import Block, Reader
from distkern.engine.cache import read_through
from distkern.passes import Visit, pieces


@dataclass(frozen=True)
class Timed:
    """A partial result and the seconds it took to read its blocks and to work on them."""

    value: Any
    read_seconds: float
    work_seconds: float


@dataclass(frozen=True)
class Keep:
    """Which run reads, and how many bytes of blocks a process may keep for it."""

    run: str = ""
    budget_bytes: int = 0


def read_block(item: Block | Reader, keep: Keep) -> Block:
    """A block: as the graph made it, as an earlier pass left it, or from its reader."""
    return item if isinstance(item, Block) else read_through(item, keep.run, keep.budget_bytes)


def reduce_group(
    function: Callable[..., Any],
    combine: Callable[..., Any],
    keep: Keep,
    operand: Any,
    *items: Block | Reader,
) -> Timed:
    """Map the blocks of a group one after the other and fold the results."""
    blas.pin_worker()
    read = work = 0.0
    total: Any = None
    for position, item in enumerate(items):
        start = time.perf_counter()
        block = read_block(item, keep)
        loaded = time.perf_counter()
        value = function(block, operand)
        total = value if position == 0 else combine(total, value)
        read += loaded - start
        work += time.perf_counter() - loaded
    return Timed(total, read, work)


def fold(combine: Callable[..., Any], *partials: Timed) -> Timed:
    """Combine partial results from left to right."""
    return folded(combine, list(partials))


def folded(combine: Callable[..., Any], partials: list[Timed]) -> Timed:
    """Combine partial results from left to right; the list is emptied, so that each is freed in time."""
    partials.reverse()
    total = partials.pop()
    while partials:
        partial = partials.pop()
        total = Timed(
            combine(total.value, partial.value),
            total.read_seconds + partial.read_seconds,
            total.work_seconds + partial.work_seconds,
        )
    return total


def load_visit(visit: Visit, keep: Keep, item: Block | Reader) -> Timed:
    """The rows of a visit, in its order."""
    start = time.perf_counter()
    block = read_block(item, keep)
    return Timed(block.take(visit.rows(block.n_rows)), time.perf_counter() - start, 0.0)


def prepare_window(
    prepare: Callable[..., Any],
    operand: Any,
    piece_rows: int,
    first: int,
    stop: int,
    visit: Visit,
    keep: Keep,
    item: Block | Reader,
) -> Timed:
    """Pieces ``first`` .. ``stop`` - 1 of a visit, prepared."""
    blas.pin_worker()
    loaded = load_visit(visit, keep, item)
    start = time.perf_counter()
    window = loaded.value.take(slice(first * piece_rows, stop * piece_rows))
    prepared = [prepare(piece, operand) for piece in pieces(window, piece_rows)]
    return Timed(prepared, loaded.read_seconds, time.perf_counter() - start)


@dataclass(frozen=True)
class Unstored:
    """A result that its worker could not put into the store."""

    result: Any


def each_task(
    function: Callable[..., Any],
    operand: Any,
    store: Store,
    record_bytes: int,
    keep: Keep,
    number: int,
    given: Any,
    *items: Block | Reader,
) -> Timed:
    """Task ``number`` of an Each: its record, with its result stored; or the result, :class:`Unstored`."""
    blas.pin_worker()
    read = 0.0

    def blocks() -> Iterator[Block]:
        nonlocal read
        for item in items:
            asked = time.perf_counter()
            block = read_block(item, keep)
            read += time.perf_counter() - asked
            yield block

    start = time.perf_counter()
    result = function(given, blocks(), operand)
    if store.is_here():
        value = put_result(store, number, result, record_bytes)
    else:
        value = Unstored(result)
    return Timed(value, read, time.perf_counter() - start - read)


def put_result(store: Store, number: int, result: Any, record_bytes: int) -> Any:
    """Store a result; its record, which must be small: all of them are held by the driver."""
    record = store.put(number, result)
    size = len(pickle.dumps(record, protocol=5))
    if size > record_bytes:
        raise ValueError(f"the record of task {number} takes {size} bytes instead of {record_bytes}")
    return record


def apply_to_block(function: Callable[[Any], Any], item: Block | Reader) -> Timed:
    """``function`` of a block's features."""
    blas.pin_worker()
    start = time.perf_counter()
    block = read_block(item, Keep())
    loaded = time.perf_counter()
    value = function(block.features)
    return Timed(value, loaded - start, time.perf_counter() - loaded)


def peak_resident_bytes() -> int:
    """Peak resident memory of this process (VmHWM where there is /proc; maxrss is inherited at spawn)."""
    try:
        with open("/proc/self/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    import resource
    import sys

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
