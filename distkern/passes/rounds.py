"""Rounds: state that stays with groups of rows, and exchanges of messages with its holders."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, TypeAlias

from numpy.typing import NDArray

from distkern.core.types import AbstractSource, ArrayGroup, Block, GroupOpener, groups_of
from distkern.passes.base import Extent, Pass, PassPlan, Site, UnderWay, Watch
from distkern.passes.machine import (
    AT_ONCE,
    EXCHANGE,
    MIB,
    RESIDENT_BYTES,
    THREAD,
    UNKNOWN,
    Cost,
    Machine,
    loaded_bytes,
)

#: bytes of :attr:`Rounds.kept_blocks` in a process, besides the block in use
KEPT_BLOCKS_BYTES = 64 * MIB
_REPORT_SECONDS = 0.1

#: group -> its arrays; reading one may fetch it from a checkpoint
Saved: TypeAlias = Mapping[int, dict[str, NDArray[Any]]]

#: called with the address of a lost worker
Lost: TypeAlias = Callable[[str], None]


class AbstractResident(ABC):
    """The state of some groups of rows in a process, from round to round.

    It must be a pure function of its operand and its messages, in order, so that replaying them rebuilds it.
    Its answer must be the combination, in order, of the answers for each group alone, so that the assignment
    of groups to processes does not matter. Several residents may run in threads of one process. Messages and
    answers may be shared with the solver, so nobody may change one after sending or receiving it.
    """

    @abstractmethod
    def answer(self, message: Any) -> Any:
        """Process a message of the solver and answer it."""

    def replay(self, message: Any) -> None:
        """Process a message again to rebuild the state; override it if the answer itself is expensive."""
        self.answer(message)

    @abstractmethod
    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        """Return the arrays from which :attr:`Rounds.open` restores a group; read before the next message."""


@dataclass(frozen=True)
class RoundsPlan(PassPlan):
    """The assignment of groups to processes; ``rows`` have state, ``tasks`` are processes.

    Attributes
    ----------
    partitions : the groups of each resident, contiguous; answers are combined in this order
    on_workers : whether residents live in worker processes, else in the driver
    state_bytes : bytes of the state, in a worker or in the driver
    at_once : whether answers are so cheap that a worker computes them in its event loop
    """

    partitions: tuple[tuple[int, ...], ...]
    on_workers: bool
    state_bytes: int
    at_once: bool = False
    counts_blocks_of_driver: ClassVar[bool] = True

    @property
    def state_bytes_on(self) -> tuple[int, int]:
        return (self.state_bytes, 0) if self.on_workers else (0, self.state_bytes)


@dataclass(frozen=True)
class Rounds(Pass):
    """Rounds over state that stays with its groups of rows.

    Each :class:`~distkern.passes.Message` that the solver yields next is a round; the solver is sent the
    combined answer of all residents. The state lives until the run ends: later ``Rounds`` of the same name
    continue with it (ignoring their ``open``, ``operand`` and ``split``), and a resumed run restores it from
    the checkpoint. Messages since the last checkpoint are kept, to be replayed if a worker dies.

    Attributes
    ----------
    name : shown to users, and key of the state
    open : module-level function of (group number -> opener, operand, group number -> saved arrays) that
        returns an :class:`AbstractResident`; the last mapping is read on demand, is empty for a new run, and
        may have other groups too; the resident may keep its arrays
    combine : associative function of the answers of earlier and later groups
    n_rounds : messages expected until the next pass, for progress
    state_bytes_per_row : resident memory of the state
    message_bytes : bytes of a message, if large: the driver keeps messages while the state is on workers
    kept_blocks : most blocks that a process keeps as read, within ``KEPT_BLOCKS_BYTES`` plus one block
    cost : cost of a process, with answers as results and operations per row and round
    """

    name: str
    open: Callable[[Mapping[int, GroupOpener], Any, Saved], AbstractResident]
    combine: Callable[[Any, Any], Any]
    operand: Any = None
    split: str = "train"
    n_rounds: int = 1
    state_bytes_per_row: float = 16.0
    message_bytes: int = 0
    kept_blocks: int = 0
    cost: Cost = UNKNOWN
    reads_rows: ClassVar[bool] = False
    unit: ClassVar[str] = "rounds"

    def work(self, block_rows: Sequence[int]) -> float:
        return self.n_rounds * self.cost.operations * sum(block_rows)

    def plan(self, extent: Extent, machine: Machine) -> RoundsPlan:
        """Keep the state in the driver's process if it fits and is not slower, else on the workers.

        A round over n rows with a operations per row costs n a in the driver, and n a / workers plus the
        exchange of a message on the workers. The state fits within a quarter of the memory limit, or 1 GiB
        without a limit. Executors without a cluster, "processes" too, always keep it in their own process;
        "threads" divides it among threads if the work of each is worth waking it.

        >>> extent = Extent(block_rows=(1000,) * 16, row_bytes=400)
        >>> step = Rounds("rounds", dict, max, cost=Cost(operations=100))
        >>> step.plan(extent, Machine("distributed", 2)).mode
        'rounds in the driver'
        >>> slow = Rounds("rounds", dict, max, cost=Cost(operations=50_000))
        >>> plan = slow.plan(extent, Machine("distributed", 2))
        >>> plan.mode, plan.partitions
        ('rounds on 2 workers', ((0, 1, 2, 3), (4, 5, 6, 7)))
        """
        groups = groups_of(extent.block_rows)
        rows = [sum(extent.block_rows[block] for block in group) for group in groups]
        n_rows = sum(rows)
        operations = n_rows * self.cost.operations
        all_bytes = int(n_rows * self.state_bytes_per_row)
        on_workers = machine.kind == "distributed" and not extent.in_memory
        if on_workers and extent.readable_by_driver and machine.same_host:
            limit = RESIDENT_BYTES if machine.memory_limit is None else machine.memory_limit // 4
            shared = operations / min(machine.processes, len(groups)) + EXCHANGE
            on_workers = all_bytes > limit or shared < operations
        if on_workers:
            n_residents = machine.processes
        else:
            threaded = machine.kind == "threads" and operations / machine.n_workers > THREAD
            n_residents = machine.n_workers if threaded else 1
        partitions = _contiguous(rows, n_residents)
        largest = max(sum(rows[group] for group in partition) for partition in partitions)
        # a second copy of a group's arrays while they are saved or restored, and the block being read
        copied = int(max(rows) * self.state_bytes_per_row) + extent.largest_block_bytes
        block_bytes = extent.largest_block_bytes
        kept = min(KEPT_BLOCKS_BYTES + block_bytes, self.kept_blocks * block_bytes) if self.kept_blocks else 0
        raw = min(kept, largest * extent.row_bytes)
        answers = 2 * len(partitions) * self.cost.result_bytes
        driver, worker = extent.kept_bytes(machine) + copied + answers, 0
        if on_workers:
            state = int(largest * self.state_bytes_per_row) + self.cost.workspace_bytes + raw
            worker = loaded_bytes(self.cost) + state + copied + 2 * self.cost.result_bytes
            mode = f"rounds on {len(partitions)} worker{'s' if len(partitions) > 1 else ''}"
            driver += self.n_rounds * self.message_bytes
        else:
            state = len(partitions) * (self.cost.workspace_bytes + raw) + all_bytes
            driver += self.cost.process_bytes + state
            mode = "rounds in the driver"
            if len(partitions) > 1:
                mode = f"rounds in {len(partitions)} threads of the driver"
        return RoundsPlan.of(
            self,
            extent,
            machine,
            len(partitions),
            n_rows,
            worker=worker,
            driver=driver,
            works_here=not on_workers,
            mode=mode,
            partitions=partitions,
            on_workers=on_workers,
            state_bytes=state,
            at_once=largest * self.cost.operations < AT_ONCE,
        )

    def run(self, site: Site) -> Exchanging:
        assert site.residents is not None, "Rounds belong to a run"
        plan, residents = site.residents.opened(self, site)
        return Exchanging(residents, site.watch(self, plan, self.n_rounds))

    def alone(self, rows: Block, residents: dict[str, AbstractResident]) -> Alone:
        if self.name not in residents:
            group = ArrayGroup(rows, slice(None), (rows.n_rows,), 0)
            residents[self.name] = self.open({0: lambda: group}, self.operand, {})
        return Alone(residents[self.name])

    def held_bytes(self, n_rows: int) -> int:
        return self.cost.result_bytes + int(self.state_bytes_per_row * n_rows)


def _contiguous(rows: list[int], n_partitions: int) -> tuple[tuple[int, ...], ...]:
    """Divide consecutive groups into at most ``n_partitions`` runs of about equal rows."""
    n_partitions = min(n_partitions, len(rows))
    total, done = sum(rows), 0
    partitions: list[list[int]] = [[]]
    for group, count in enumerate(rows):
        partitions[-1].append(group)
        done += count
        left = len(rows) - group - 1
        wanted = n_partitions - len(partitions)
        # a run ends at its share of the rows, or when the other runs need all remaining groups
        if wanted and (done * n_partitions >= total * len(partitions) or left == wanted):
            partitions.append([])
    return tuple(tuple(partition) for partition in partitions)


class AbstractResidents(ABC):
    """All residents of one :class:`Rounds`."""

    @abstractmethod
    def exchange(self, message: Any) -> Any:
        """Send a message to all residents and combine their answers in the order of the groups."""

    @abstractmethod
    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        """Return the current arrays of a group."""

    @abstractmethod
    def checkpointed(self, saved: Saved) -> None:
        """Note that the current state is saved, for restoring lost state."""

    @abstractmethod
    def close(self) -> None:
        """Release the state."""


class LocalResidents(AbstractResidents):
    """Residents in this process: one answers in the calling thread, each other in its own thread."""

    def __init__(self, step: Rounds, plan: RoundsPlan, source: AbstractSource, saved: Saved) -> None:
        self._combine = step.combine
        self._residents: list[AbstractResident] = []
        self._resident_of: dict[int, AbstractResident] = {}
        for groups in plan.partitions:
            openers = {group: source.group(group) for group in groups}
            resident = step.open(openers, step.operand, saved)
            self._residents.append(resident)
            self._resident_of.update(dict.fromkeys(groups, resident))
        others = len(self._residents) - 1
        self._threads = ThreadPoolExecutor(others, "distkern-round") if others else None

    def exchange(self, message: Any) -> Any:
        first, *others = self._residents
        if self._threads is None:
            return first.answer(message)
        futures = [self._threads.submit(resident.answer, message) for resident in others]
        answers = [first.answer(message), *(future.result() for future in futures)]
        return reduce(self._combine, answers)

    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        return self._resident_of[group].saved(group)

    def checkpointed(self, saved: Saved) -> None:
        """Do nothing: this state is lost only with the driver."""

    def close(self) -> None:
        if self._threads is not None:
            self._threads.shutdown(wait=True)
        self._residents.clear()
        self._resident_of.clear()


class RunResidents:
    """The residents of a run by the name of their Rounds, opened on first use and kept until the run ends.

    Parameters
    ----------
    restored : saved states of the checkpoint that the run resumes from
    lost : called with the address of a lost worker
    """

    def __init__(self, restored: Mapping[str, Saved], lost: Lost) -> None:
        self._restored, self._lost = dict(restored), lost
        self._opened: dict[str, tuple[RoundsPlan, AbstractResidents, int]] = {}

    def opened(self, step: Rounds, site: Site) -> tuple[RoundsPlan, AbstractResidents]:
        """Return the plan of the first Rounds of this name, and their residents."""
        if step.name not in self._opened:
            plan = step.plan(site.extent, site.executor.machine)
            saved = self._restored.get(step.name, {})
            residents = site.executor.residents(step, plan, site.source, saved, self._lost)
            self._opened[step.name] = plan, residents, len(site.source.groups)
        plan, residents, _ = self._opened[step.name]
        return plan, residents

    def groups(self) -> dict[str, Iterator[tuple[int, dict[str, NDArray[Any]]]]]:
        """Return the groups of every state with their arrays, fetched on demand, for a checkpoint."""
        return {name: self._groups_of(name) for name in sorted(self._restored.keys() | self._opened.keys())}

    def _groups_of(self, name: str) -> Iterator[tuple[int, dict[str, NDArray[Any]]]]:
        if name in self._opened:
            _, residents, n_groups = self._opened[name]
            for group in range(n_groups):
                yield group, residents.saved(group)
            return
        # a resumed run has not reached these rounds yet
        yield from self._restored[name].items()

    def checkpointed(self, saved: Mapping[str, Saved]) -> None:
        """Note that the current states are saved in a checkpoint."""
        self._restored = dict(saved)
        for name, (_, residents, _) in self._opened.items():
            residents.checkpointed(saved.get(name, {}))

    def close(self) -> None:
        """Release all states."""
        for _, residents, _ in self._opened.values():
            residents.close()
        self._opened.clear()


class Exchanging(UnderWay):
    """The timed rounds of one pass: ``driver`` seconds between exchanges, ``wait`` seconds in exchanges."""

    def __init__(self, residents: AbstractResidents, watch: Watch) -> None:
        self._residents, self._watch = residents, watch
        self._driver = self._wait = 0.0
        self._left = self._reported = time.perf_counter()
        self._rounds = 0

    def exchange(self, message: Any) -> Any:
        asked = time.perf_counter()
        answer = self._residents.exchange(message)
        answered = time.perf_counter()
        self._driver += asked - self._left
        self._wait += answered - asked
        self._left = answered
        self._rounds += 1
        if answered - self._reported >= _REPORT_SECONDS:
            self._reported = answered
            self._watch.progress(self._rounds)
        return answer

    def end(self) -> None:
        self._driver += time.perf_counter() - self._left
        self._watch.progress(self._rounds)
        self._watch.finish({"driver": self._driver, "wait": self._wait})

    def close(self) -> None:
        """Do nothing: no work runs between messages."""


class Alone(UnderWay):
    """The rounds of one resident with all rows, in this process."""

    def __init__(self, resident: AbstractResident) -> None:
        self._resident = resident

    def exchange(self, message: Any) -> Any:
        return self._resident.answer(message)

    def end(self) -> None:
        """Report nothing."""

    def close(self) -> None:
        """Do nothing: no work runs between messages."""
