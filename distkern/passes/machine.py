"""Costs of passes and sizes of machines, in bytes and operations. Pure arithmetic."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType, ModuleType
from typing import TypeAlias

#: operations in the time of an exponential
EXPONENTIAL = 90.0

#: name of an array -> its shape, and bytes per number last
Shapes: TypeAlias = Mapping[str, Sequence[float]]
_NOTHING: Shapes = MappingProxyType({})


@dataclass(frozen=True)
class Cost:
    """The cost of a pass, for the planner.

    Attributes
    ----------
    workspace_bytes : buffers of a task, besides the block itself
    result_bytes : a task's result (Stream: one prepared row; Each: the stored result)
    process_bytes : loaded once by each working process, besides compiled code
    compiled : whether tasks run compiled loops (Stream: those that prepare rows)
    solves : whether tasks load SciPy's linear algebra, which compiled loops include
    driver_compiled : whether the driver runs compiled loops over results
    driver_library : whether the driver loads the libraries of :data:`LIBRARY_BYTES`
    total_result_bytes : bound on all results together, if they are joined and not summed
    operations : floating-point operations per row; an exponential counts as :data:`EXPONENTIAL`
    driver_bytes : held by the driver during the pass
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
        """Return this cost plus arrays of these shapes.

        Parameters
        ----------
        task, process, driver : arrays of each task, of each working process, of the driver
        result : arrays of a task's result
        joined : arrays of all results together, any part of which a task may return

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
        """Return the bytes of ``n_results`` results; joined results have at most their total."""
        apart = n_results * self.result_bytes
        return apart if self.total_result_bytes is None else min(apart, self.total_result_bytes)


#: cost of a pass that states none
UNKNOWN = Cost()


def bytes_of(arrays: Shapes) -> int:
    """Return the total bytes of arrays of these shapes."""
    return sum(int(prod(shape)) for shape in arrays.values())


MIB = 2**20

#: resident bytes of a Dask worker process that serves a dashboard and has read a small block (92 MiB
#: measured), and the share of the dashboard's pages (Bokeh)
WORKER_BASE_BYTES = 94 * MIB
PAGES_BYTES = 17 * MIB
#: resident bytes of a command's process (115 to 118 MiB measured), of the scheduler in it (14; with its pages
#: 32), and of pandas, SciPy's statistics and scikit-learn's models, which commands load on use (109 measured,
#: with a fit) and programs with scikit-learn at once (198 to 205 in total)
DRIVER_BASE_BYTES = 124 * MIB
SCHEDULER_BYTES = 15 * MIB
LIBRARY_BYTES = 110 * MIB
#: bytes of numba and compiled loops in the driver (50 MiB loaded, up to 110 while compiling), and in a
#: worker, which lacks the libraries that they share with others (125 loaded, 165 while compiling)
COMPILING_BYTES = 100 * MIB
COMPILED_BYTES = 176 * MIB
#: bytes of them that stay in a worker after the pass
LOADED_BYTES = 125 * MIB
#: bytes of SciPy's linear algebra and distances in a worker without compiled loops (24 to 33 MiB measured)
SOLVING_BYTES = 33 * MIB
#: Dask's default share of a worker's limit at which its nanny terminates it
TERMINATED_AT = 0.95
#: most bytes of blocks that a process keeps between passes (and at most a quarter of its memory limit)
CACHE_BYTES = 512 * MIB
#: bytes of a task in the driver's graph and the scheduler's tables
TASK_BYTES = 4096
#: operations in the time of sending a byte to another process, of a message to workers and back, and of
#: waking a thread; fewer than ``AT_ONCE`` run in a worker's event loop
BYTE_SENT, EXCHANGE, THREAD, AT_ONCE = 100, 1.5e8, 5e6, 1e9
#: largest state of Rounds in the driver without a memory limit
RESIDENT_BYTES = 2**30


@dataclass(frozen=True)
class Machine:
    """The processes on which passes run.

    Attributes
    ----------
    kind : "synchronous", "threads", "processes" or "distributed"
    n_workers : concurrent tasks
    memory_limit : bytes per worker process, or None
    same_host : whether the workers share the driver's host
    driver_threads : threads that may prepare rows in the driver's process
    n_processes : worker processes; None: one per task
    most_kept : most bytes of data that each process may keep between passes
    loads_ahead : visits (blocks) that the driver loads ahead
    window_bytes : approximate bytes of prepared rows that a worker sends at once
    has_dashboard : whether worker processes may serve pages
    has_library : whether the driver's process has loaded pandas
    has_solved, has_compiled : whether it has loaded linear algebra and compiled loops before the run
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
    has_solved: bool = False
    has_compiled: bool = False

    @property
    def processes(self) -> int:
        """Number of worker processes."""
        return self.n_workers if self.n_processes is None else self.n_processes

    @property
    def tasks_of_process(self) -> int:
        """Concurrent tasks of a worker process."""
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
        """Bytes of an idle driver process."""
        scheduler = 0 if self.in_process else SCHEDULER_BYTES + (PAGES_BYTES if self.has_dashboard else 0)
        loaded = LIBRARY_BYTES * self.has_library + SOLVING_BYTES * self.has_solved
        return DRIVER_BASE_BYTES + scheduler + loaded

    @property
    def cache_bytes(self) -> int:
        """Bytes of data that each process may keep between passes."""
        return self.most_kept if self.memory_limit is None else min(self.most_kept, self.memory_limit // 4)


def loaded_bytes(cost: Cost) -> int:
    """Return the bytes that a worker loads once for the tasks of a pass."""
    return cost.process_bytes + (COMPILED_BYTES if cost.compiled else SOLVING_BYTES if cost.solves else 0)
