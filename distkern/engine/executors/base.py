"""What an executor is: it runs the planned tasks of a pass, somewhere.

To add one, write a file in this folder with a class that derives from :class:`AbstractExecutor` and gives
itself a ``name``; the contract tests pick it up.
"""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from distkern.common.types import AbstractSource
from distkern.engine.budget import Machine
from distkern.engine.plan import ReducePlan, RoundsPlan
from distkern.engine.rounds import AbstractParties, Lost, Saved
from distkern.engine.tasks import Timed
from distkern.passes import Reduce, Rounds

#: called as tasks of a pass finish, with the number that have finished
Progress: TypeAlias = Callable[[int], None]


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
        """One of this kind; see :func:`~distkern.engine.executors.open_executor` for what is given."""

    @property
    def client(self) -> Any:
        """The client of a distributed scheduler, if that is where tasks run."""
        return None

    @abstractmethod
    def reduce(
        self, step: Reduce[Any], plan: ReducePlan, source: AbstractSource, progress: Progress
    ) -> Timed:
        """Run a Reduce as planned: same tasks, same order of combination everywhere."""

    @abstractmethod
    def ordered(self, calls: Iterator[Call], ahead: int) -> Iterator[Timed]:
        """The results of the calls, strictly in order, with at most ``ahead`` under way."""

    @abstractmethod
    def finished(
        self, name: str, calls: Iterator[tuple[int, Call]], ahead: int
    ) -> Iterator[tuple[int, Timed]]:
        """The numbers and results of the numbered calls of a pass, as each finishes.

        At most ``ahead`` are under way. A call that a worker died of, or that died with it, runs again.
        """

    @abstractmethod
    def parties(
        self, step: Rounds, plan: RoundsPlan, source: AbstractSource, saved: Saved, lost: Lost
    ) -> AbstractParties:
        """Open the parties of Rounds as planned, restored from ``saved``; ``lost`` hears of dead workers."""

    @abstractmethod
    def shared_by(self, n_runs: int) -> AbstractExecutor:
        """An executor for one of so many runs at a time, each with a share of the workers' memory limit.

        Workers that run already are the same; those that an executor starts itself are shared out.
        """

    def worker_peaks(self) -> dict[str, int]:
        """Peak resident bytes of each worker process, by address; empty when tasks run in this process."""
        return {}

    def forget_blocks(self) -> None:  # noqa: B027  (most executors have nothing to tell)
        """Tell the workers that a run is over and what they kept of its data can go."""

    def close(self) -> None:  # noqa: B027
        """Release what the executor started itself."""

    def __enter__(self) -> AbstractExecutor:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
