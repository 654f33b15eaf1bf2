"""The planner: a pass, the layout of the data and a machine in; tasks, bytes and modes out.

Pure: it imports neither dask nor zarr and reads nothing. What it decides for a Reduce (which blocks share a
task, in which order results are combined) depends on the data alone, so that results have the same bits on
every machine; what it decides for a Stream (who prepares the rows) changes the time and not the bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from distkern.core.types import AbstractSource
from distkern.engine.budget import (
    DRIVER_BASE_BYTES,
    ENTRIES_PER_SECOND,
    FLOPS_PER_SECOND,
    MIB,
    TASK_BYTES,
    WIRE_BYTES_PER_SECOND,
    WORKER_BASE_BYTES,
    Machine,
)
from distkern.engine.tasks import Keep
from distkern.passes import Reduce, Stream

_TASK_BYTES_READ = 16 * MIB
_LEAST_TASKS = 16
_WINDOW_BYTES = 32 * MIB
FAN_IN = 8
#: visits (blocks) that are loaded ahead of the one being consumed
LOADS_AHEAD = 2


@dataclass(frozen=True)
class Extent:
    """The blocks a pass may read: rows of each and bytes of a row."""

    block_rows: tuple[int, ...]
    row_bytes: int
    readable_by_driver: bool = True
    cacheable: bool = False
    run: str = ""

    @classmethod
    def of(cls, source: AbstractSource, run: str = "") -> Extent:
        return cls(
            source.block_rows, source.row_bytes, not source.is_graph,
            cacheable=bool(run) and not (source.is_graph or source.in_memory), run=run,
        )  # fmt: skip

    def keep(self, machine: Machine) -> Keep:
        """What a process may keep of these blocks between passes."""
        return Keep(self.run, machine.cache_bytes) if self.cacheable else Keep()

    def kept_bytes(self, machine: Machine) -> int:
        """What a process is expected to keep."""
        return min(sum(self.block_rows) * self.row_bytes, machine.cache_bytes) if self.cacheable else 0

    @property
    def largest_block_bytes(self) -> int:
        return max(self.block_rows) * self.row_bytes


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
    """

    name: str
    tasks: int
    rows: int
    bytes_read: int
    mode: str
    worker_bytes: int
    driver_bytes: int
    keep: Keep


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


def plan_reduce(step: Reduce[Any], extent: Extent, machine: Machine) -> ReducePlan:
    """Blocks are grouped until a task reads 16 MiB, but not so far that fewer than 16 tasks remain.

    >>> extent = Extent(block_rows=(1000,) * 40, row_bytes=1000)
    >>> plan = plan_reduce(Reduce("count", len, max), extent, Machine("synchronous", 1))
    >>> plan.tasks, plan.groups[0], plan.bytes_read
    (20, (0, 1), 40000000)
    """
    blocks = step.blocks if step.blocks is not None else tuple(range(len(extent.block_rows)))
    rows = sum(extent.block_rows[block] for block in blocks)
    per_task = max(1, min(
        _TASK_BYTES_READ * len(blocks) // max(rows * extent.row_bytes, 1), len(blocks) // _LEAST_TASKS
    ))  # fmt: skip
    groups = tuple(blocks[start : start + per_task] for start in range(0, len(blocks), per_task))
    task_bytes = (
        2 * extent.largest_block_bytes + step.cost.workspace_bytes + (FAN_IN + 1) * step.cost.result_bytes
    )
    kept = extent.kept_bytes(machine)
    driver = DRIVER_BASE_BYTES + kept + len(groups) * TASK_BYTES + 2 * step.cost.result_bytes
    worker = WORKER_BASE_BYTES + step.cost.process_bytes + kept + task_bytes
    if machine.in_process:
        driver, worker = driver + machine.n_workers * task_bytes, 0
    return ReducePlan(
        step.name,
        len(groups),
        rows,
        rows * extent.row_bytes,
        "workers",
        worker,
        driver,
        extent.keep(machine),
        groups=groups,
    )


def plan_stream(step: Stream[Any], extent: Extent, machine: Machine) -> StreamPlan:
    """Choose the cheaper way to feed the sequential loop.

    Seconds of a row, with P = preparing, S = the sequential step, p and s the bytes of a prepared and of a
    raw row: workers prepare: max(P / workers, p / wire + S); the driver prepares: max(P / threads, S) + s /
    wire,
    without the last term when it reads the rows itself, as it does where the workers are on its own host.
    Kernel rows win when there are many features against landmarks, or many workers against one driver.
    """
    cost, visits = step.cost, step.visits
    prepare_seconds = cost.flops_per_row / FLOPS_PER_SECOND + cost.entries_per_row / ENTRIES_PER_SECOND
    threads = machine.driver_threads if machine.kind != "synchronous" else 0
    driver_reads = extent.readable_by_driver and machine.same_host
    wire = 0.0 if driver_reads else extent.row_bytes / WIRE_BYTES_PER_SECOND
    by_driver = max(prepare_seconds / max(threads, 1), cost.driver_seconds_per_row) + wire
    by_workers = max(
        prepare_seconds / machine.n_workers,
        cost.result_bytes / WIRE_BYTES_PER_SECOND + cost.driver_seconds_per_row,
    )
    workers_prepare = not machine.in_process and by_workers < by_driver
    load = "workers" if workers_prepare or not driver_reads else "driver"
    prepare = "workers" if workers_prepare else "driver"
    piece_bytes = step.piece_rows * cost.result_bytes
    per_window = max(1, _WINDOW_BYTES // max(piece_bytes, 1))
    # a visit's rows and their permuted copy
    visit_bytes = 2 * extent.largest_block_bytes
    ahead = machine.n_workers + 1 if load == "workers" else LOADS_AHEAD
    pieces_in_driver = (2 * threads + 2) * piece_bytes
    kept = extent.kept_bytes(machine)
    worker = WORKER_BASE_BYTES + kept + 2 * visit_bytes
    driver = DRIVER_BASE_BYTES + kept + cost.workspace_bytes * max(threads, 1) + pieces_in_driver
    if prepare == "workers":
        worker += cost.process_bytes + cost.workspace_bytes + 3 * per_window * piece_bytes
        driver += (ahead + 2) * per_window * piece_bytes
    else:
        driver += (ahead + 2) * visit_bytes
    if machine.in_process or load == "driver":
        worker = 0 if machine.in_process else WORKER_BASE_BYTES + kept
    mode = {
        ("driver", "driver"): "driver reads and prepares",
        ("workers", "driver"): "workers send raw rows",
        ("workers", "workers"): "workers send prepared rows",
    }[load, prepare]
    return StreamPlan(
        step.name, len(visits), step.n_rows, step.n_rows * extent.row_bytes, mode, worker, driver,
        extent.keep(machine), load=load, prepare=prepare, threads=threads, pieces_per_window=per_window,
        ahead=ahead,
    )  # fmt: skip
