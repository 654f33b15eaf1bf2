"""Executors run the planned tasks of a pass. Dask is imported here and in engine/dask only."""

from __future__ import annotations

import sys

from distkern.core.errors import unknown_name
from distkern.core.registry import Family
from distkern.passes.execution import AbstractExecutor

__all__ = ["EXECUTORS", "AbstractExecutor", "open_executor"]

#: names of schedulers for :func:`open_executor`, besides addresses
EXECUTORS = Family(__name__, AbstractExecutor)  # type: ignore[type-abstract]


def open_executor(
    scheduler: str | None = None,
    *,
    workers: int | None = None,
    memory_limit: int | None = None,
    dashboard: bool = False,
) -> AbstractExecutor:
    """Open an executor for a scheduler.

    Parameters
    ----------
    scheduler : "synchronous", "threads", "processes", "local" (worker processes on this host for the lifetime
        of the executor), the address of a running scheduler (``tcp://...``, ``tls://...``), or None: the
        active distributed client if any, else the scheduler that Dask is configured to use, else "threads"
    workers : concurrent tasks; None: one per core
    memory_limit : bytes per worker process; None: no limit, or that of running workers
    dashboard : start Dask's dashboard with a local cluster

    Raises
    ------
    InputError
        If the name is unknown, the scheduler does not answer, or a worker has other versions of packages.
    """
    from distkern.engine.executors import local

    # without distributed imported, which takes half a second, there is no client
    if scheduler is None and "distributed" in sys.modules:
        from distkern.engine.executors import cluster

        active = cluster.active(memory_limit)
        if active is not None:
            return active
    if scheduler is None:
        scheduler = local.configured_scheduler()
    if "://" in scheduler:
        from distkern.engine.executors import cluster

        return cluster.connect(scheduler, memory_limit=memory_limit)
    kind = EXECUTORS.get(scheduler)
    if kind is None:
        raise unknown_name("scheduler", scheduler, [*EXECUTORS, "tcp://ADDRESS", "tls://ADDRESS"])
    return kind.open(workers=workers, memory_limit=memory_limit, dashboard=dashboard)
