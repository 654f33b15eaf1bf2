"""The base of all passes: a value, with a plan by pure arithmetic and a way to run it.

A plan follows from a pass, the layout of the data and a machine; no rows are read for it. The plan of a
Reduce (which blocks share a task, in which order results are combined) depends on the data alone, so results
have the same bits on every machine. The plans of a Stream (which process prepares rows) and of Rounds (which
holds the state) change the time and not the bits.

To add a kind, write a file with a frozen dataclass that derives from :class:`Pass`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self

from distkern.core.types import AbstractSource, Block
from distkern.passes.execution import AbstractExecutor, Keep
from distkern.passes.machine import COMPILING_BYTES, Cost, Machine, loaded_bytes

if TYPE_CHECKING:
    from distkern.passes.rounds import AbstractResident, RunResidents


@dataclass(frozen=True)
class Extent:
    """The blocks of a split: rows of each and bytes per row."""

    block_rows: tuple[int, ...]
    row_bytes: int
    readable_by_driver: bool = True
    cacheable: bool = False
    run: str = ""
    in_memory: bool = False
    reader_bytes: int = 0

    @classmethod
    def of(cls, source: AbstractSource, run: str = "") -> Extent:
        return cls(
            source.block_rows,
            source.row_bytes,
            not source.is_graph,
            cacheable=bool(run) and not (source.is_graph or source.in_memory),
            run=run,
            in_memory=source.in_memory,
            reader_bytes=source.reader_bytes,
        )

    def keep(self, machine: Machine) -> Keep:
        """Return the run and the bytes of blocks that a process may keep between passes."""
        return Keep(self.run, machine.cache_bytes) if self.cacheable else Keep()

    def kept_bytes(self, machine: Machine) -> int:
        """Return the bytes that a process is expected to keep between passes."""
        return min(self.all_bytes, machine.cache_bytes) if self.cacheable else 0

    def block_bytes(self, machine: Machine) -> int:
        """Return the bytes of reading and holding a block, besides kept blocks.

        A block is read in one piece, checked and copied; a source of arrays gathers it. If all blocks are
        kept, the current one is among them.
        """
        has_other = (self.in_memory and machine.in_process) or self.kept_bytes(machine) == self.all_bytes
        return self.largest_block_bytes * (1 if has_other else 2)

    @property
    def all_bytes(self) -> int:
        """Bytes of the rows of all blocks."""
        return sum(self.block_rows) * self.row_bytes

    @property
    def largest_block_bytes(self) -> int:
        return max(self.block_rows, default=0) * self.row_bytes


@dataclass(frozen=True)
class PassPlan:
    """The plan of a pass.

    Attributes
    ----------
    name : name of the pass
    tasks : tasks that read data
    rows, bytes_read : over the whole pass, including blocks kept from earlier passes
    mode : description of the division of work
    worker_bytes, driver_bytes : predicted peaks of resident memory
    compiles : whether the driver runs compiled loops
    """

    name: str
    tasks: int
    rows: int
    bytes_read: int
    mode: str
    worker_bytes: int
    driver_bytes: int
    keep: Keep
    compiles: bool
    #: whether ``driver_bytes`` includes the blocks that the driver keeps
    counts_blocks_of_driver: ClassVar[bool] = False

    @classmethod
    def of(
        cls,
        step: Pass,
        extent: Extent,
        machine: Machine,
        tasks: int,
        rows: int,
        *,
        worker: int,
        driver: int,
        works_here: bool,
        mode: str = "workers",
        **own: Any,
    ) -> Self:
        """Return the plan of a pass with its own bytes ``worker`` and ``driver``.

        Adds the bytes of each process itself, of reading and of compiled loops. ``works_here``: whether tasks
        run in the driver's process.
        """
        compiles = step.cost.driver_compiled or (works_here and step.cost.compiled)
        worker += machine.worker_base_bytes + extent.reader_bytes + extent.kept_bytes(machine)
        driver += machine.driver_base_bytes + extent.reader_bytes + step.cost.driver_bytes
        driver += extent.all_bytes if extent.in_memory else 0
        return cls(
            step.name,
            tasks,
            rows,
            rows * extent.row_bytes * step.reads_rows,
            mode,
            0 if machine.in_process else worker,
            driver + compiles * COMPILING_BYTES,
            extent.keep(machine),
            compiles,
            **own,
        )

    @property
    def state_bytes_on(self) -> tuple[int, int]:
        """Bytes of state after the pass: in a worker, in the driver."""
        return 0, 0

    @property
    def driver_reads(self) -> bool:
        """Whether the driver reads blocks."""
        return False


class Watch(Protocol):
    """A listener to the progress of a pass."""

    def progress(self, tasks_done: int) -> None:
        """Report the number of finished tasks (visits, rounds)."""

    def finish(self, split_seconds: dict[str, float]) -> None:
        """Report the end of the pass and the seconds of its parts."""


@dataclass(frozen=True)
class Site:
    """Where a pass runs.

    Attributes
    ----------
    residents : residents of the run; None outside of runs
    watch : reports the start of a pass, given its plan and number of tasks
    """

    source: AbstractSource
    extent: Extent
    executor: AbstractExecutor
    residents: RunResidents | None
    watch: Callable[[Pass, PassPlan, int], Watch]


class UnderWay(ABC):
    """A pass that continues while its solver computes."""

    def exchange(self, message: Any) -> Any:
        """Return the answer to a message."""
        raise RuntimeError("these rounds are over: yield another Rounds before a Message")

    @abstractmethod
    def end(self) -> None:
        """End the pass, since the solver continues with another one."""

    @abstractmethod
    def close(self) -> None:
        """Stop running work."""


class Pass(ABC):
    """A pass over the rows of a split.

    Attributes
    ----------
    name : shown to users
    operand : sent once to every worker, usually the model
    split : "train" or "test"
    reads_rows : whether its plan counts the rows; else the solver does
    measures_only : whether training does not need it; its time is not part of ``training_seconds``
    """

    name: str
    operand: Any
    split: str
    cost: Cost
    reads_rows: ClassVar[bool] = True
    measures_only: bool = False
    #: unit of progress; None: rows, if it reads any
    unit: ClassVar[str | None] = None

    @abstractmethod
    def work(self, block_rows: Sequence[int]) -> float:
        """Return the number of operations on blocks with ``block_rows`` rows."""

    @abstractmethod
    def plan(self, extent: Extent, machine: Machine) -> PassPlan:
        """Return the memory that the pass takes and the division of work."""

    @abstractmethod
    def run(self, site: Site) -> Any:
        """Run the pass; return the result for the solver, or :class:`UnderWay`."""

    def alone(self, rows: Block, residents: dict[str, AbstractResident]) -> Any:
        """Return the result for a split with one block, in this process without an executor.

        ``residents`` holds the residents of Rounds by name.
        """
        raise TypeError(f"{self.name} is not for a process alone")

    def held_bytes(self, n_rows: int) -> int:
        """Return the bytes of results and state in a process that runs the whole pass alone."""
        return 2 * self.cost.result_bytes

    def changed(self, **fields: Any) -> Self:
        """Return this pass with other values of some fields."""
        return replace(self, **fields)  # type: ignore[type-var]


@dataclass(frozen=True)
class Outline:
    """A pass of a future run without content, and how often it runs, for ``distkern plan``.

    ``is_before``: whether it runs before later passes load compiled loops or a library.
    """

    step: Pass
    times: float = 1.0
    is_before: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """A round of the last yielded :class:`~distkern.passes.Rounds`, without other passes since."""

    content: Any


@dataclass(frozen=True)
class Derived:
    """A value computed once per run and too large for checkpoints, for instance a factorisation.

    The solver is sent the result of ``make``, which runs when the name is first yielded; later the same
    result is sent. So it must not depend on anything that stages change. A resumed run computes it again.
    """

    name: str
    make: Callable[[], Generator[Any, Any, Any]]


def completed(steps: Generator[Any, Any, Any], execute: Callable[[Any], Any], derived: dict[str, Any]) -> Any:
    """Execute the passes that ``steps`` yields and send it their results, until it returns.

    Parameters
    ----------
    execute : returns the result of a pass, or :class:`UnderWay`
    derived : results of each :class:`Derived` of the run, by name
    """
    answer: Any = None
    under_way: UnderWay | None = None
    try:
        while True:
            step = steps.send(answer)
            if isinstance(step, Message):
                if under_way is None:
                    raise RuntimeError("these rounds are over: yield another Rounds before a Message")
                answer = under_way.exchange(step.content)
                continue
            if under_way is not None:
                under_way.end()
                under_way = None
            if isinstance(step, Derived):
                if step.name not in derived:
                    derived[step.name] = completed(step.make(), execute, derived)
                answer = derived[step.name]
                continue
            answer = execute(step)
            if isinstance(answer, UnderWay):
                under_way = answer
    except StopIteration as stop:
        if under_way is not None:
            under_way.end()
        return stop.value
    finally:
        if under_way is not None:
            under_way.close()
        # so that it resets the thread's settings here and not when it is collected
        steps.close()


def working_bytes(cost: Cost, extent: Extent, machine: Machine, task_bytes: int) -> tuple[int, int]:
    """Return the bytes of tasks in a worker, and in the driver if they run there."""
    worker = loaded_bytes(cost) + machine.tasks_of_process * task_bytes
    here = extent.kept_bytes(machine) + machine.n_workers * task_bytes + cost.process_bytes
    return worker, here if machine.in_process else 0
