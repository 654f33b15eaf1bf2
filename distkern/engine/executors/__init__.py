"""Executors: where the planned tasks of a pass run. Dask is imported here and in engine/dask only."""

from __future__ import annotations

import sys

from distkern.core.registry import Family
from distkern.passes.execution import AbstractExecutor

__all__ = ["EXECUTORS", "AbstractExecutor", "available_cores", "open_executor"]

#: the names that :func:`open_executor` knows, beside addresses
EXECUTORS = Family(__name__, AbstractExecutor)  # type: ignore[type-abstract]


def available_cores() -> int:
    """Cores this process may use."""
    from distkern.engine.executors import local

    return local.available_cores()


def open_executor(
    scheduler: str | None = None,
    *,
    workers: int | None = None,
    memory_limit: int | None = None,
    dashboard: bool = False,
) -> AbstractExecutor:
    """An executor for a scheduler's name.

    Parameters
    ----------
    scheduler : "synchronous", "threads", "processes", "local" (a cluster of worker processes on this host,
        started here and stopped at the end), the address of a running scheduler (``tcp://...``,
        ``tls://...``), or None: the active distributed client if there is one, else what Dask is configured
        to use, else "threads"
    workers : tasks at the same time; None: one for each core
    memory_limit : bytes for each worker process; None: no limit, or the limit of running workers
    dashboard : start Dask's dashboard with a local cluster

    Raises
    ------
    InputError
        If the name is unknown, the scheduler does not answer, or a worker has other packages.
    """
    from distkern.core.errors import unknown_name
    from distkern.engine.executors import local

    # whoever has a client has imported distributed, which takes half a second
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
