"""Where tasks run: the base class of executors, their tasks, and the blocks that their processes keep.

To add an executor, write a file in ``engine/executors`` with a class that derives from
:class:`AbstractExecutor` and gives itself a ``name``; the contract tests pick it up.
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

#: called as tasks of a pass finish, with the number that have finished
Progress: TypeAlias = Callable[[int], None]
#: results that a task combines
FAN_IN = 8

_lock = new_lock()
_blocks: dict[Reader, Block] = {}
_run = ""
_bytes = 0


@dataclass(frozen=True)
class Timed:
    """A partial result and the seconds it took to read its blocks and to work on them."""

    value: Any
    read_seconds: float
    work_seconds: float


@dataclass(frozen=True)
class Keep:
    """A run, and how many bytes of blocks a process may keep for it."""

    run: str = ""
    budget_bytes: int = 0


def read_block(item: Block | Reader, keep: Keep) -> Block:
    """A block: as the graph made it, as an earlier pass left it, or from its reader.

    A run reads the same blocks in every pass. What fits into the budget is kept from the first pass on and
    nothing is ever evicted, as ``zict.LRU`` would: the passes go over the data in turns, and the block that
    was used longest ago is the one needed next. A call for another run forgets the blocks of the one before.
    A kept block is shared: nobody may write to it.
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


def apply_to_block(function: Callable[[Any], Any], item: Block | Reader) -> Timed:
    """``function`` of a block's features."""
    blas.pin_worker()
    start = time.perf_counter()
    block = read_block(item, Keep())
    loaded = time.perf_counter()
    value = function(block.features)
    return Timed(value, loaded - start, time.perf_counter() - loaded)


class Shared:
    """An argument that many calls have in common and that should travel once for each batch of calls."""

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
    #: address of a dashboard to watch, if there is one
    dashboard: str | None = None

    @classmethod
    @abstractmethod
    def open(cls, *, workers: int | None, memory_limit: int | None, dashboard: bool) -> AbstractExecutor:
        """One of this kind, with the arguments of :func:`~distkern.engine.executors.open_executor`."""

    @property
    def client(self) -> Any:
        """The client of a distributed scheduler, if that is where tasks run."""
        return None

    @abstractmethod
    def reduced(
        self, name: str, calls: Sequence[Call], combine: Callable[..., Any], progress: Progress
    ) -> Timed:
        """The results of the calls of a pass, combined from left to right in runs of 8, and these runs again:
        the same additions in the same order everywhere."""

    @abstractmethod
    def ordered(self, calls: Iterator[Call], in_flight: int) -> Iterator[Timed]:
        """The results of the calls, strictly in order, with at most ``in_flight`` under way."""

    @abstractmethod
    def finished(
        self, name: str, calls: Iterator[tuple[int, Call]], in_flight: int
    ) -> Iterator[tuple[int, Timed]]:
        """The numbers and results of the numbered calls of a pass, as each finishes.

        At most ``in_flight`` are under way. A call runs again if its worker dies.
        """

    @abstractmethod
    def residents(
        self, step: Rounds, plan: RoundsPlan, source: AbstractSource, saved: Saved, lost: Lost
    ) -> AbstractResidents:
        """The residents of Rounds as planned, restored from ``saved``; ``lost`` hears of dead workers."""

    @abstractmethod
    def shared_by(self, n_runs: int) -> AbstractExecutor:
        """An executor for one of several runs at a time, each with a share of the workers' memory limit.

        Running workers stay the same; workers that an executor starts itself are divided.
        """

    def worker_peaks(self) -> dict[str, int]:
        """Peak resident bytes of each worker process, by address; empty when tasks run in this process."""
        return {}

    def forget_blocks(self) -> None:  # noqa: B027  (most executors have nothing to tell)
        """Tell the workers that a run is over, so that they drop the blocks that they kept."""

    def close(self) -> None:  # noqa: B027
        """Release what the executor started itself."""

    def __enter__(self) -> AbstractExecutor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
