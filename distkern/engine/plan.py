"""The planner: a pass, the layout of the data and a machine in; tasks, bytes and modes out.

Pure: it imports neither dask nor zarr and reads nothing. What it decides for a Reduce (which blocks share a
task, in which order results are combined) depends on the data alone, so that results have the same bits on
every machine; what it decides for a Stream (who prepares the rows) and for Rounds (who holds the state)
changes the time and not the bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from distkern.common.types import AbstractSource
from distkern.engine.budget import (
    BYTE_SENT,
    COMPILING_BYTES,
    DRIVER_BASE_BYTES,
    MIB,
    TASK_BYTES,
    Machine,
    loaded_bytes,
)
from distkern.engine.tasks import Keep
from distkern.passes import Cost, Each, Pass, Reduce, Rounds, Stream

_TASK_BYTES_READ = 16 * MIB
_LEAST_TASKS = 16
FAN_IN = 8
#: tasks of an Each that are under way, for each worker
_TASKS_AHEAD = 16


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
        """What a process may keep of these blocks between passes."""
        return Keep(self.run, machine.cache_bytes) if self.cacheable else Keep()

    def kept_bytes(self, machine: Machine) -> int:
        """What a process is expected to keep."""
        return min(self.all_bytes, machine.cache_bytes) if self.cacheable else 0

    def block_bytes(self, machine: Machine) -> int:
        """What reading a block and holding it takes, beside what is kept.

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
        driver += DRIVER_BASE_BYTES + extent.reader_bytes + step.cost.driver_bytes
        return cls(
            step.name,
            tasks,
            rows,
            0 if isinstance(step, Rounds) else rows * extent.row_bytes,
            mode,
            0 if machine.in_process else worker,
            driver + compiles * COMPILING_BYTES,
            extent.keep(machine),
            compiles,
            **own,
        )


@dataclass(frozen=True)
class ReducePlan(PassPlan):
    """``groups``: the blocks of each task, in the order in which their results are combined."""

    groups: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class StreamPlan(PassPlan):
    """Who loads a visit's rows and who prepares its pieces.

    Attributes
    ----------
    load : "driver" or "workers"
    prepare : "driver" (threads beside the sequential loop) or "workers"
    threads : threads that prepare in the driver's process; 0 prepares inline
    pieces_per_window : pieces that a worker prepares in one task
    ahead : windows or visits that may be under way before the one being consumed
    """

    load: str
    prepare: str
    threads: int
    pieces_per_window: int
    ahead: int


@dataclass(frozen=True)
class RoundsPlan(PassPlan):
    """Who holds the state of which groups; ``rows`` are those with a state, ``tasks`` the parties.

    Attributes
    ----------
    parties : the groups of each party, a contiguous run; answers are combined in this order
    on_workers : each party lives in a worker process, else all of them in the driver's
    held_bytes : of the state, in a worker or in the driver
    at_once : an answer takes so little that a worker makes it in its event loop, without waking a thread
    """

    parties: tuple[tuple[int, ...], ...]
    on_workers: bool
    held_bytes: int
    at_once: bool = False


@dataclass(frozen=True)
class EachPlan(PassPlan):
    """``order`` of the tasks, by number; ``ahead`` are under way at most."""

    order: tuple[int, ...]
    ahead: int


def plan_reduce(step: Reduce[Any], extent: Extent, machine: Machine) -> ReducePlan:
    """Blocks are grouped until a task reads 16 MiB, but not so far that fewer than 16 tasks remain.

    >>> extent = Extent(block_rows=(1000,) * 40, row_bytes=1000)
    >>> plan = plan_reduce(Reduce("count", len, max), extent, Machine("synchronous", 1))
    >>> plan.tasks, plan.groups[0], plan.bytes_read
    (20, (0, 1), 40000000)
    """
    blocks = step.blocks if step.blocks is not None else tuple(range(len(extent.block_rows)))
    rows = sum(extent.block_rows[block] for block in blocks)
    per_task = max(
        1, min(_TASK_BYTES_READ * len(blocks) // max(rows * extent.row_bytes, 1), len(blocks) // _LEAST_TASKS)
    )
    groups = tuple(blocks[start : start + per_task] for start in range(0, len(blocks), per_task))
    cost = step.cost
    # results that wait for each other, and those that earlier ones were combined to; the driver has the last
    waiting = cost.waiting_bytes(min(FAN_IN, len(groups)))
    earlier = _combined_before(len(groups)) * cost.result_bytes
    # with the sum so far, the next one is made of it before it is freed
    combined = 0 if len(groups) <= FAN_IN and per_task == 1 else cost.waiting_bytes(2)
    combined += -(-earlier // machine.processes)
    # a worker copies all of the last results that it sends to the driver, one of them twice at a time
    last = len(groups)
    while last > FAN_IN:
        last = -(-last // FAN_IN)
    share = -(-last // machine.processes)
    sent = cost.waiting_bytes(share) + cost.waiting_bytes(share + 1)
    worker, here = _working_bytes(cost, extent, machine, extent.block_bytes(machine) + cost.workspace_bytes)
    driver = here + len(groups) * TASK_BYTES + waiting + cost.result_bytes
    if machine.kind == "distributed" and machine.same_host:
        # they come through the scheduler, which is in the driver's process or beside it
        driver += waiting
    return ReducePlan.of(
        step,
        extent,
        machine,
        len(groups),
        rows,
        worker=worker + max(waiting + combined, sent),
        driver=driver + earlier * machine.in_process,
        works_here=machine.in_process,
        groups=groups,
    )


def _working_bytes(cost: Cost, extent: Extent, machine: Machine, task_bytes: int) -> tuple[int, int]:
    """What tasks take in a worker, and in the driver's process where they run there."""
    worker = loaded_bytes(cost) + machine.tasks_of_process * task_bytes
    here = extent.kept_bytes(machine) + machine.n_workers * task_bytes + cost.process_bytes
    return worker, here if machine.in_process else 0


def _combined_before(n_results: int) -> int:
    """Results of earlier runs of 8 that are there when the last run of them is combined: of a run itself, and
    of the runs of runs."""
    found = 0
    while n_results > FAN_IN:
        n_results = -(-n_results // FAN_IN)
        found += min(FAN_IN, n_results)
    return found


def plan_each(step: Each, extent: Extent, machine: Machine) -> EachPlan:
    """The tasks with the most rows begin, so that no long one is left to the end.

    A task that reads holds a block (of a lazy graph, all of its blocks), its workspace and its
    result. The driver holds the records, and where workers may not see the store the results under way.

    >>> extent = Extent(block_rows=(10, 30, 20), row_bytes=1000)
    >>> step = Each("cells", len, range(2), store=None, blocks=((0,), (1, 2)))
    >>> plan = plan_each(step, extent, Machine("synchronous", 1))
    >>> plan.order, plan.rows
    ((1, 0), 60)
    """
    numbers, cost = range(len(step.items)), step.cost
    rows = [sum(extent.block_rows[block] for block in step.blocks_of(number)) for number in numbers]
    held = extent.block_bytes(machine) if any(step.blocks) else 0
    if not extent.readable_by_driver:
        held = max(held, max(rows, default=0) * extent.row_bytes)
    task_bytes = held + cost.workspace_bytes + cost.result_bytes
    ahead = _TASKS_AHEAD * machine.n_workers
    under_way = min(ahead, len(rows))
    worker, here = _working_bytes(cost, extent, machine, task_bytes)
    driver = here + under_way * TASK_BYTES + len(rows) * step.record_bytes
    return EachPlan.of(
        step,
        extent,
        machine,
        len(rows),
        sum(rows),
        worker=worker,
        driver=driver + (0 if machine.same_host else under_way * cost.result_bytes),
        works_here=machine.in_process,
        order=tuple(sorted(numbers, key=lambda number: -rows[number])),
        ahead=ahead,
    )


def plan_stream(step: Stream[Any], extent: Extent, machine: Machine) -> StreamPlan:
    """Choose the cheaper way to feed the sequential loop.

    Operations of a row, with a of preparing it, c for each byte that is sent, p and s bytes of a prepared and
    of a raw row: workers prepare: max(a / workers, c p); the driver prepares: a / threads + c s, without the
    last term when it reads the rows itself, as it does where the workers are on its own host. Kernel rows
    win when there are many features against landmarks, or many workers against one driver.
    """
    cost, visits = step.cost, step.visits
    threads = machine.driver_threads if machine.kind != "synchronous" else 0
    driver_reads = extent.readable_by_driver and machine.same_host
    by_driver = cost.operations / max(threads, 1) + (0 if driver_reads else BYTE_SENT * extent.row_bytes)
    by_workers = max(cost.operations / machine.n_workers, BYTE_SENT * cost.result_bytes)
    workers_prepare = not machine.in_process and by_workers < by_driver
    load = "workers" if workers_prepare or not driver_reads else "driver"
    prepare = "workers" if workers_prepare else "driver"
    piece_bytes = step.piece_rows * cost.result_bytes
    per_window = max(1, machine.window_bytes // max(piece_bytes, 1))
    ahead = machine.n_workers + 1 if load == "workers" else machine.loads_ahead if threads else 0
    reading = extent.block_bytes(machine)
    driver, worker = extent.kept_bytes(machine), 0
    if prepare == "workers":
        # a block, its permuted copy, what is made of that, and what waits to be sent
        task_bytes = reading + extent.largest_block_bytes + cost.workspace_bytes + per_window * piece_bytes
        worker += loaded_bytes(cost) + machine.tasks_of_process * task_bytes + 2 * per_window * piece_bytes
        driver += (ahead + 2) * per_window * piece_bytes
    else:
        # visits that wait are permuted copies of blocks; the pieces of one that is done may still be in use
        waiting = min(ahead + 2, len(visits)) * extent.largest_block_bytes
        pieces_in_driver = (2 * threads + 2) * piece_bytes
        driver += waiting + cost.process_bytes + cost.workspace_bytes * max(threads, 1) + pieces_in_driver
        if load == "driver":
            driver += reading
        else:
            worker += machine.tasks_of_process * (reading + extent.largest_block_bytes)
            worker += 2 * extent.largest_block_bytes
    mode = f"workers send {'prepared' if prepare == 'workers' else 'raw'} rows"
    return StreamPlan.of(
        step,
        extent,
        machine,
        len(visits),
        step.n_rows,
        worker=worker,
        driver=driver,
        works_here=prepare == "driver",
        mode="driver reads and prepares" if load == "driver" else mode,
        load=load,
        prepare=prepare,
        threads=threads,
        pieces_per_window=per_window,
        ahead=ahead,
    )
