"""Processes that are measured: wall and CPU seconds, and the peak of resident memory."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from workflows.orphans import killed_with_this
from workflows.records import Record

ROOT = Path(__file__).parents[1]
_TEXT = 400


def environment(threads: int) -> dict[str, str]:
    """Return the environment of a process with this number of threads; 0 sets no limit."""
    names = ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR", "POLARS_MAX")
    limits = {f"{name}_NUM_THREADS": str(threads) for name in names} if threads else {}
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH")) if part)
    return {**os.environ, **limits, "PYTHONPATH": path}


def run(arguments: Sequence[str], *, threads: int, limit: float | None) -> tuple[Record, str]:
    """Run a process to its end; kill it and its children after ``limit`` seconds or when this one ends.

    Parameters
    ----------
    limit : most seconds; None: no limit

    Returns
    -------
    wall_seconds and cpu_seconds, of it and its children; "failed", a line, where it did not end well
    its output
    """
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        arguments,
        env=environment(threads),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        with killed_with_this(process.pid):
            output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        # its own group: workers that it has started go with it
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return {"failed": f"took more than {limit:g} s"}, ""
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    found: Record = {
        "wall_seconds": time.perf_counter() - start,
        "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    }
    if process.returncode:
        last = (errors.strip().splitlines() or ["no message"])[-1][:_TEXT]
        found = {"failed": f"exit status {process.returncode}: {last}"}
    return found, output


def distkern(*arguments: str, threads: int, limit: float | None) -> tuple[Record, str]:
    """A command of the package, as a user would run it."""
    return run([sys.executable, "-m", "distkern", *arguments], threads=threads, limit=limit)


def peak_bytes() -> int:
    """This process's peak: ``ru_maxrss`` would be its parent's where that was larger at the start."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def peaks() -> Iterator[Record]:
    """The largest resident memory that any process of the command ever has, by the kernel's own count."""
    found: Record = {"worker_peak": 0, "driver_peak": 0}
    done, groups = threading.Event(), set[int]()

    def watch() -> None:
        while not done.wait(1.0):
            for process in Path("/proc").iterdir():
                if process.name.isdigit():
                    with suppress(OSError, ValueError):
                        _look(process, found, groups)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield found
    finally:
        done.set()
        thread.join()


def _look(process: Path, found: Record, groups: set[int]) -> None:
    command = (process / "cmdline").read_bytes()
    # a driver is a child of this process, which has others, and leads a group that its workers stay in
    stat = (process / "stat").read_text().rsplit(")", 1)[1].split()
    parent, group = int(stat[1]), int(stat[2])
    mine = Path("/proc/self").resolve().name
    if parent == int(mine):
        groups.add(group)
        kind = "driver_peak"
    elif group in groups and b"spawn_main" in command:
        kind = "worker_peak"
    else:
        return
    for line in (process / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            found[kind] = max(found[kind], int(line.split()[1]) * 1024)


def question(module: str, asked: Mapping[str, object], *, limit: float, threads: int) -> Record:
    """What ``python -m module '{...}'`` answers in a process of its own: the last line that it prints."""
    found, output = run([sys.executable, "-m", module, json.dumps(asked)], threads=threads, limit=limit)
    if "failed" in found:
        return found
    return {**json.loads(output.splitlines()[-1])}


@contextmanager
def at_most(cpu_seconds: float) -> Iterator[None]:
    """End what takes longer."""

    def over(*_: object) -> None:
        raise TimeoutError(f"took more than {cpu_seconds:g} CPU seconds")

    before = signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)
