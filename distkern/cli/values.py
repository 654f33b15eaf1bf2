"""Schedulers in the notation of command lines and job files."""

from __future__ import annotations

import re

from distkern.core.errors import InputError

#: schedulers that are known without importing Dask
_LOCAL = ("synchronous", "threads", "processes", "local")
_ADDRESS = re.compile(r"(tcp|tls)://\S+:\d+")


def check_scheduler(name: str) -> str:
    """Return the name; :class:`InputError` unless it names a scheduler or an address of one."""
    if name in _LOCAL or _ADDRESS.fullmatch(name):
        return name
    # others are looked for where that takes a moment
    from distkern.engine.executors import EXECUTORS

    known = list(EXECUTORS)
    if name not in known:
        raise InputError(
            f"unknown scheduler {name!r}",
            hint=f"use one of {', '.join(known)}, or tcp://HOST:PORT or tls://HOST:PORT",
        )
    return name


def check_workers(scheduler: str | None, workers: int | None, where: str = "--workers") -> None:
    """Refuse a number of workers, given at ``where``, if the scheduler determines it."""
    if workers is None or scheduler is None:
        return
    if "://" in scheduler:
        what, hint = "has the workers that were started for it", "start more with `dask worker ADDRESS`"
    elif scheduler == "synchronous" and workers > 1:
        what, hint = "works in one thread", "use --scheduler threads, or give no number of workers"
    else:
        return
    raise InputError(f"scheduler {scheduler!r} {what}", where=where, hint=hint)
