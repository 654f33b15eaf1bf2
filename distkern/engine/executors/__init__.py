"""Executors: where the planned tasks of a pass run. Dask is imported here and in engine/dask only."""

from __future__ import annotations

import sys

from distkern.passes.execution import AbstractExecutor

__all__ = ["AbstractExecutor", "available_cores", "executor_names", "open_executor"]


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
    memory_limit : bytes for each worker process; None: no limit, or that of the workers that run already
    dashboard : start Dask's dashboard with a local cluster

    Raises
    ------
    InputError
        If the name is unknown, the scheduler does not answer, or a worker has other packages.
    """
    from distkern.common.errors import unknown_name
    from distkern.common.registry import lookup
    from distkern.engine.executors import local

    # whoever has a client has imported distributed, which takes half a second
    if scheduler is None and "distributed" in sys.modules:
        from distkern.engine.executors import cluster

        client = cluster.active_client()
        if client is not None:
            return cluster.ClusterExecutor(client, owned=False, memory_limit=memory_limit)
    if scheduler is None:
        scheduler = local.configured_scheduler()
    if "://" in scheduler:
        from distkern.engine.executors import cluster

        return cluster.connect(scheduler, memory_limit=memory_limit)
    kind = lookup(__name__, AbstractExecutor, scheduler)  # type: ignore[type-abstract]
    if kind is None:
        raise unknown_name("scheduler", scheduler, [*executor_names(), "tcp://ADDRESS", "tls://ADDRESS"])
    return kind.open(workers=workers, memory_limit=memory_limit, dashboard=dashboard)


def executor_names() -> list[str]:
    """The names that :func:`open_executor` knows, beside addresses."""
    from distkern.common.registry import members

    return list(members(__name__, AbstractExecutor))  # type: ignore[type-abstract]
