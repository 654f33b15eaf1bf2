"""The base class of executors, their tasks, and the blocks that processes keep.

To add an executor, write a file in ``engine/executors`` with a class that derives from
:class:`AbstractExecutor` and has a ``name``; the contract tests find it.
"""

from __future__ import annotations

import time
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from distkern.core import blas
from distkern.core.processes import new_lock
from distkern.core.types import AbstractSource, Block, Reader
from distkern.passes.machine import Machine

if TYPE_CHECKING:
    from distkern.passes.rounds import AbstractResidents, Lost, Rounds, RoundsPlan, Saved

#: called with the number of finished tasks of a pass
Progress: TypeAlias = Callable[[int], None]
#: results that a task combines
FAN_IN = 8

_lock = new_lock()
_blocks: dict[Reader, Block] = {}
_run = ""
_bytes = 0


@dataclass(frozen=True)
class Timed:
    """A partial result, and the seconds of reading its blocks and of working on them."""

    value: Any
    read_seconds: float
    work_seconds: float


@dataclass(frozen=True)
class Keep:
    """A run, and the bytes of blocks that a process may keep for it."""

    run: str = ""
    budget_bytes: int = 0


def read_block(item: Block | Reader, keep: Keep) -> Block:
    """Return a block: of the graph, kept by an earlier pass, or from its reader.

    A run reads the same blocks in every pass. Blocks are kept until the budget is full and never evicted:
    passes repeat the same order, so the least recently used block is the one needed next. A call for another
    run drops the blocks of the previous one. A kept block is shared and read-only.
    """
    global _run, _bytes
    if isinstance(item, Block):
        return item
    if keep.budget_bytes <= 0:
        return item()
    with _lock:
        if keep.run != _run:
            _blocks.clear()
            _run, _bytes = keep.run, 0
        kept = _blocks.get(item)
    if kept is not None:
        return kept
    block = item()
    size = block.nbytes
    with _lock:
        if keep.run == _run and item not in _blocks and _bytes + size <= keep.budget_bytes:
            block.freeze()
            _blocks[item] = block
            _bytes += size
    return block


def forget() -> None:
    """Drop every block that this process keeps."""
    global _run, _bytes
    with _lock:
        _blocks.clear()
        _run, _bytes = "", 0


def fold(combine: Callable[..., Any], *partials: Timed) -> Timed:
    """Combine partial results from left to right."""
    return folded(combine, list(partials))


def folded(combine: Callable[..., Any], partials: list[Timed]) -> Timed:
    """Combine partial results from left to right; the list is emptied, which frees each result early."""
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


def apply_to_block(function: Callable[[Any], Any], item: Block | Reader) -> Timed:
    """Apply ``function`` to a block's features."""
    blas.pin_worker()
    start = time.perf_counter()
    block = read_block(item, Keep())
    loaded = time.perf_counter()
    value = function(block.features)
    return Timed(value, loaded - start, time.perf_counter() - loaded)


class Shared:
    """An argument shared by many calls, sent once per batch of calls."""

    def __init__(self, value: Any) -> None:
        self.key = f"distkern-shared-{uuid.uuid4().hex}"
        self.value = value


@dataclass(frozen=True)
class Call:
    """``function(*arguments, *blocks)``, with the blocks of ``source`` read where the call runs."""

    function: Callable[..., Timed]
    arguments: tuple[Any, ...]
    source: AbstractSource
    blocks: tuple[int, ...]

    @property
    def reads_graph(self) -> bool:
        """Whether its blocks are results of a lazy graph."""
        return bool(self.blocks) and self.source.is_graph


class AbstractExecutor(ABC):
    """Runs tasks; use it as a context manager."""

    name: ClassVar[str]
    machine: Machine
    #: address of the dashboard, if any
    dashboard: str | None = None

    @classmethod
    @abstractmethod
    def open(cls, *, workers: int | None, memory_limit: int | None, dashboard: bool) -> AbstractExecutor:
        """Open an executor; see :func:`~distkern.engine.executors.open_executor`."""

    @property
    def client(self) -> Any:
        """The client of a distributed scheduler, or None."""
        return None

    @abstractmethod
    def reduced(
        self, name: str, calls: Sequence[Call], combine: Callable[..., Any], progress: Progress
    ) -> Timed:
        """Combine the results of a pass's calls from left to right in runs of 8, then the runs likewise.

        So additions happen in the same order on every executor.
        """

    @abstractmethod
    def ordered(self, calls: Iterator[Call], in_flight: int) -> Iterator[Timed]:
        """Yield the results of the calls in order, with at most ``in_flight`` ahead."""

    @abstractmethod
    def finished(
        self, name: str, calls: Iterator[tuple[int, Call]], in_flight: int
    ) -> Iterator[tuple[int, Timed]]:
        """Yield numbers and results of a pass's calls as they finish, with at most ``in_flight`` running.

        A call runs again if its worker dies.
        """

    @abstractmethod
    def residents(
        self, step: Rounds, plan: RoundsPlan, source: AbstractSource, saved: Saved, lost: Lost
    ) -> AbstractResidents:
        """Open the residents of Rounds, restored from ``saved``; ``lost`` is called for dead workers."""

    @abstractmethod
    def shared_by(self, n_runs: int) -> AbstractExecutor:
        """Return an executor for one of several concurrent runs, with a share of the workers' memory limit.

        Workers that the executor starts itself are divided; running workers are shared.
        """

    def worker_peaks(self) -> dict[str, int]:
        """Return the peak resident bytes of each worker process by address, if there are any."""
        return {}

    def forget_blocks(self) -> None:  # noqa: B027  (only clusters override it)
        """Let the workers drop the blocks kept for a run."""

    def close(self) -> None:  # noqa: B027
        """Stop everything that the executor started."""

    def __enter__(self) -> AbstractExecutor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
