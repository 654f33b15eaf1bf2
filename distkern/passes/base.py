"""What every kind of pass is: a value, with a plan that is pure arithmetic and a way to run it.

A plan follows from a pass, the layout of the data and a machine; nothing is read for it. What it decides for
a Reduce (which blocks share a task, in which order results are combined) depends on the data alone, so that
results have the same bits on every machine; what it decides for a Stream (who prepares the rows) and for
Rounds (who holds the state) changes the time and not the bits.

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
    """The blocks a pass may read: rows of each and bytes of a row."""

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
        """The run and the bytes of these blocks that a process may keep between passes."""
        return Keep(self.run, machine.cache_bytes) if self.cacheable else Keep()

    def kept_bytes(self, machine: Machine) -> int:
        """Bytes that a process is expected to keep between passes."""
        return min(self.all_bytes, machine.cache_bytes) if self.cacheable else 0

    def block_bytes(self, machine: Machine) -> int:
        """Bytes of reading and holding a block, beside kept ones.

        A block is read in one piece, checked, and copied out of what was read; a source of arrays gathers it.
        Where all blocks are kept, the one in use is among them.
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
    """What a pass will take.

    Attributes
    ----------
    name : of the pass
    tasks : tasks that read data
    rows, bytes_read : over the whole pass; blocks that a process kept from an earlier pass count as well
    mode : who does what, in words
    worker_bytes, driver_bytes : predicted peaks of resident memory
    compiles : the driver's process runs compiled loops
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
    #: whether ``driver_bytes`` has the blocks that the driver keeps
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
        """The plan of a pass whose own bytes are ``worker`` and ``driver``, of work in the driver's process
        or not, with what each process takes for itself, for reading and for compiled loops."""
        compiles = step.cost.driver_compiled or (works_here and step.cost.compiled)
        worker += machine.worker_base_bytes + extent.reader_bytes + extent.kept_bytes(machine)
        driver += machine.driver_base_bytes + extent.reader_bytes + step.cost.driver_bytes
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
        """Bytes of state that stay after the pass: in a worker, in the driver."""
        return 0, 0

    @property
    def driver_reads(self) -> bool:
        """Whether the driver reads blocks, beside workers that may be on its host."""
        return False


class Watch(Protocol):
    """A listener to the progress of a pass."""

    def progress(self, tasks_done: int) -> None:
        """Report the number of finished tasks (visits, rounds)."""

    def finish(self, split_seconds: dict[str, float]) -> None:
        """The pass is over; where its seconds went."""


@dataclass(frozen=True)
class Site:
    """Where a pass is run.

    Attributes
    ----------
    residents : of the run; None for a pass that belongs to none
    watch : tells of a pass, its plan and the number of its tasks that it begins
    """

    source: AbstractSource
    extent: Extent
    executor: AbstractExecutor
    residents: RunResidents | None
    watch: Callable[[Pass, PassPlan, int], Watch]


class UnderWay(ABC):
    """A pass that goes on while its solver computes."""

    def exchange(self, message: Any) -> Any:
        """The answer to a message."""
        raise RuntimeError("these rounds are over: yield another Rounds before a Message")

    @abstractmethod
    def end(self) -> None:
        """The solver goes on to another pass."""

    @abstractmethod
    def close(self) -> None:
        """Stop the running work."""


class Pass(ABC):
    """A pass over the rows of a split.

    Attributes
    ----------
    name : for people
    operand : sent once to every worker (the model, usually)
    split : which split of the data, "train" or "test"
    reads_rows : its plan counts the rows that are read; else the solver counts what it looks at
    measures_only : training could do without it: its time is reported separately (``training_seconds``)
    """

    name: str
    operand: Any
    split: str
    cost: Cost
    reads_rows: ClassVar[bool] = True
    measures_only: bool = False
    #: what its tasks are called; None: rows, if it reads any
    unit: ClassVar[str | None] = None

    @abstractmethod
    def work(self, block_rows: Sequence[int]) -> float:
        """Operations on blocks with ``block_rows`` rows."""

    @abstractmethod
    def plan(self, extent: Extent, machine: Machine) -> PassPlan:
        """The memory that the pass takes, and who does what."""

    @abstractmethod
    def run(self, site: Site) -> Any:
        """The result for the solver, or :class:`UnderWay`."""

    def alone(self, rows: Block, residents: dict[str, AbstractResident]) -> Any:
        """The result over the only block of a split, in this process without an executor.

        ``residents``: of the Rounds of the run, by name; the result of Rounds is theirs.
        """
        raise TypeError(f"{self.name} is not for a process alone")

    def held_bytes(self, n_rows: int) -> int:
        """Bytes of results and of state of rows in a process that makes the whole pass alone."""
        return 2 * self.cost.result_bytes

    def changed(self, **fields: Any) -> Self:
        """This pass with other values of some fields."""
        return replace(self, **fields)  # type: ignore[type-var]


@dataclass(frozen=True)
class Outline:
    """A pass that a run will make, with nothing in it yet, and how often, for ``distkern plan``.

    ``is_before`` says that it is made before those listed after it that load compiled loops or a library.
    """

    step: Pass
    times: float = 1.0
    is_before: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """A round of the :class:`~distkern.passes.Rounds` that were yielded last, with no other pass since."""

    content: Any


@dataclass(frozen=True)
class Derived:
    """What a solver makes of its state once in a run, and is too large for checkpoints: a factorisation, say.

    The result sent to the solver is what ``make`` returns, whose passes run the first time that the name is
    yielded in a run; later it is sent what was made then. So it must be a function of what no stage changes.
    A resumed run makes it again.
    """

    name: str
    make: Callable[[], Generator[Any, Any, Any]]


def completed(steps: Generator[Any, Any, Any], execute: Callable[[Any], Any], derived: dict[str, Any]) -> Any:
    """Execute the passes that ``steps`` yields and send it their results, until it returns.

    Parameters
    ----------
    execute : gives the result of a pass, or what is :class:`UnderWay`
    derived : what was made of each :class:`Derived` of the run, by name
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
        # what it has set for the thread it sets back here, and not wherever it is collected
        steps.close()


def working_bytes(cost: Cost, extent: Extent, machine: Machine, task_bytes: int) -> tuple[int, int]:
    """Bytes of tasks in a worker, and in the driver's process where they run there."""
    worker = loaded_bytes(cost) + machine.tasks_of_process * task_bytes
    here = extent.kept_bytes(machine) + machine.n_workers * task_bytes + cost.process_bytes
    return worker, here if machine.in_process else 0
