"""Bytes and counts of work: what a machine offers and what a pass takes. Pure arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

from distkern.passes.cost import Cost

MIB = 2**20

#: resident bytes of a Dask worker process that serves a dashboard and has read a small block (92 measured),
#: and what the pages of the dashboard (bokeh) are of them
WORKER_BASE_BYTES = 94 * MIB
PAGES_BYTES = 17 * MIB
#: resident bytes of the driver process with scheduler and scikit-learn loaded (206 to 230 measured)
DRIVER_BASE_BYTES = 290 * MIB
#: what numba and compiled loops add to it (50 loaded; up to 110 while they compile), and to a worker,
#: which has nothing yet of what they share with others (125 loaded, 165 while they compile)
COMPILING_BYTES = 100 * MIB
COMPILED_BYTES = 176 * MIB
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
        """What a worker process takes before it does anything."""
        return WORKER_BASE_BYTES - (0 if self.has_dashboard else PAGES_BYTES)

    @property
    def cache_bytes(self) -> int:
        """What each process may keep of the data between passes."""
        return self.most_kept if self.memory_limit is None else min(self.most_kept, self.memory_limit // 4)


def loaded_bytes(cost: Cost) -> int:
    """What a worker loads once for the tasks of a pass."""
    return cost.process_bytes + (COMPILED_BYTES if cost.compiled else 0)
