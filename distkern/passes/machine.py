"""Bytes and counts of work: what a pass takes and what a machine offers. Pure arithmetic."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType, ModuleType
from typing import TypeAlias

#: operations that take the time of an exponential
EXPONENTIAL = 90.0

#: name of an array -> its shape, with the bytes of a number last
Shapes: TypeAlias = Mapping[str, Sequence[float]]
_NOTHING: Shapes = MappingProxyType({})


@dataclass(frozen=True)
class Cost:
    """What a pass takes, for the planner.

    Attributes
    ----------
    workspace_bytes : buffers of a task, beside the block itself
    result_bytes : a task's result (for a Stream: of one prepared row; for Each: what it stores)
    process_bytes : what a process that works loads once, beside what every one has and compiled code
    compiled : its tasks run compiled loops (of a Stream, those that prepare rows)
    solves : its tasks load SciPy's linear algebra, which compiled loops count already
    driver_compiled : the driver runs compiled loops over its results
    driver_library : the driver loads the libraries of :data:`LIBRARY_BYTES`
    total_result_bytes : where results are joined and not summed: of all tasks together, at most
    operations : floating-point operations of a row; an exponential counts as :data:`EXPONENTIAL` of them
    driver_bytes : what the driver holds meanwhile
    """

    workspace_bytes: int = 0
    result_bytes: int = 0
    operations: float = 0.0
    process_bytes: int = 0
    driver_bytes: int = 0
    total_result_bytes: int | None = None
    compiled: bool = False
    solves: bool = False
    driver_compiled: bool = False
    driver_library: bool = False

    def holding(
        self,
        *,
        task: Shapes = _NOTHING,
        process: Shapes = _NOTHING,
        result: Shapes = _NOTHING,
        joined: Shapes = _NOTHING,
        driver: Shapes = _NOTHING,
    ) -> Cost:
        """The ledger of memory: what this takes, and arrays of these shapes beside.

        Parameters
        ----------
        task, process, driver : of each task, of each process that works, of the driver
        result : of a task's result
        joined : of the result of all tasks together, of which each may have any part

        >>> Cost(compiled=True).holding(task={"a tile": (100, 8, 4), "sums": (8, 8)}).workspace_bytes
        3264
        """
        total = self.total_result_bytes
        return replace(
            self,
            workspace_bytes=self.workspace_bytes + bytes_of(task),
            process_bytes=self.process_bytes + bytes_of(process),
            result_bytes=self.result_bytes + bytes_of(result) + bytes_of(joined),
            total_result_bytes=(total or 0) + bytes_of(joined) if joined else total,
            driver_bytes=self.driver_bytes + bytes_of(driver),
        )

    def waiting_bytes(self, n_results: int) -> int:
        """Bytes of ``n_results`` results of tasks; of joined results, at most the bytes of all tasks."""
        apart = n_results * self.result_bytes
        return apart if self.total_result_bytes is None else min(apart, self.total_result_bytes)


#: of a pass that states no cost
UNKNOWN = Cost()


def bytes_of(arrays: Shapes) -> int:
    """Bytes of arrays of these shapes, all together."""
    return sum(int(prod(shape)) for shape in arrays.values())


MIB = 2**20

#: resident bytes of a Dask worker process that serves a dashboard and has read a small block (92 measured),
#: and what the pages of the dashboard (bokeh) are of them
WORKER_BASE_BYTES = 94 * MIB
PAGES_BYTES = 17 * MIB
#: resident bytes of a command's process (122 to 130 measured), and of the scheduler in it (14; with its pages
#: 32); what pandas, SciPy's statistics and scikit-learn's models are beside it, which commands load when they
#: use them (109 measured, with a fit), and programs with scikit-learn at once (198 to 205 in all)
DRIVER_BASE_BYTES = 140 * MIB
SCHEDULER_BYTES = 15 * MIB
LIBRARY_BYTES = 110 * MIB
#: what numba and compiled loops add to it (50 loaded; up to 110 while they compile), and to a worker,
#: which has nothing yet of what they share with others (125 loaded, 165 while they compile)
COMPILING_BYTES = 100 * MIB
COMPILED_BYTES = 176 * MIB
#: what of it stays in a worker for the passes that follow
LOADED_BYTES = 125 * MIB
#: what SciPy's linear algebra and distances add to a worker that runs no compiled loops (24 to 33 measured)
SOLVING_BYTES = 33 * MIB
#: share of its limit at which a nanny ends a worker that others have started, as Dask has it
TERMINATED_AT = 0.95
#: blocks that a process keeps between passes, at most (and at most a quarter of its memory limit)
CACHE_BYTES = 512 * MIB
#: bytes of a task in the driver's graph and the scheduler's tables
TASK_BYTES = 4096
#: operations that a byte sent to another process is worth, a message to worker processes and back, and waking
#: up a thread; fewer than ``AT_ONCE`` are not worth leaving a worker's event loop
BYTE_SENT, EXCHANGE, THREAD, AT_ONCE = 100, 1.5e8, 5e6, 1e9
#: state of Rounds that the driver keeps when no memory limit is given
RESIDENT_BYTES = 2**30


@dataclass(frozen=True)
class Machine:
    """Where passes run.

    Attributes
    ----------
    kind : "synchronous", "threads", "processes" or "distributed"
    n_workers : tasks that run at the same time
    memory_limit : bytes for each worker process, or None
    same_host : the workers share the driver's host
    driver_threads : threads that may prepare rows in the driver's process
    n_processes : worker processes; None: one for each task
    most_kept : bytes of the data that each process may keep between passes, beside what the limit allows
    loads_ahead : visits (blocks) that the driver loads ahead of the one being consumed
    window_bytes : of the prepared rows that a worker sends at once, about
    has_dashboard : worker processes serve pages of their own, or may: so do those that run already
    has_library : the driver's process has loaded pandas, and is no command that has not used it
    """

    kind: str
    n_workers: int
    memory_limit: int | None = None
    same_host: bool = True
    driver_threads: int = 1
    n_processes: int | None = None
    most_kept: int = CACHE_BYTES
    loads_ahead: int = 2
    window_bytes: int = 32 * MIB
    has_dashboard: bool = True
    has_library: bool = field(default_factory=lambda: type(sys.modules.get("pandas")) is ModuleType)

    @property
    def processes(self) -> int:
        """Worker processes."""
        return self.n_workers if self.n_processes is None else self.n_processes

    @property
    def tasks_of_process(self) -> int:
        """Tasks that a worker process runs at the same time."""
        return -(-self.n_workers // self.processes)

    @property
    def in_process(self) -> bool:
        """Whether tasks run in the driver's own process."""
        return self.kind in ("synchronous", "threads")

    @property
    def worker_base_bytes(self) -> int:
        """Bytes of an idle worker process."""
        return WORKER_BASE_BYTES - (0 if self.has_dashboard else PAGES_BYTES)

    @property
    def driver_base_bytes(self) -> int:
        """Bytes of an idle driver's process."""
        scheduler = 0 if self.in_process else SCHEDULER_BYTES + (PAGES_BYTES if self.has_dashboard else 0)
        return DRIVER_BASE_BYTES + scheduler + (LIBRARY_BYTES if self.has_library else 0)

    @property
    def cache_bytes(self) -> int:
        """Bytes of the data that each process may keep between passes."""
        return self.most_kept if self.memory_limit is None else min(self.most_kept, self.memory_limit // 4)


def loaded_bytes(cost: Cost) -> int:
    """Bytes that a worker loads once for the tasks of a pass."""
    return cost.process_bytes + (COMPILED_BYTES if cost.compiled else SOLVING_BYTES if cost.solves else 0)
