"""Sizes and schedulers in the notation of command lines and job files."""

from __future__ import annotations

import re

from distkern.common.errors import InputError

_UNITS = {"": 1, "b": 1}
_UNITS |= {
    prefix + ending: base**power
    for power, prefix in enumerate("kmgt", start=1)
    for ending, base in (("ib", 1024), ("i", 1024), ("b", 1000), ("", 1000))
}
#: fewer bytes without a unit are a mistake
_LEAST = 2**20
_SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-zA-Z]*)\s*")
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


def parse_bytes(text: str) -> int:
    """Parse a number of bytes such as ``"512MiB"``, ``"1.5 GB"`` or ``"1048576"``.

    Raises
    ------
    InputError
        If it is not a positive number with a known unit, or has no unit and is below 1 MiB.
    """
    match = _SIZE.fullmatch(text)
    unit = match[2].lower() if match else None
    size = int(float(match[1]) * _UNITS[unit]) if match and unit in _UNITS else 0
    if size < 1:
        raise InputError(f"{text!r} is not a size in bytes", hint="write for instance 512MiB or 2GB")
    if not unit and size < _LEAST:
        raise InputError(
            f"{text!r} is {size:,} bytes, as it has no unit", hint=f"write for instance {text}GiB"
        )
    return size
