"""The memory of a process, which one is meant, and locks that a fork frees."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

from distkern.core.errors import InputError, MemoryBudgetError

_locks: WeakSet[threading.Lock] = WeakSet()


def new_lock() -> threading.Lock:
    """A lock that is free in a forked child, whichever thread of the parent held it."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


def _free_locks() -> None:
    for lock in _locks:
        lock._at_fork_reinit()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_locks)


def birth(pid: int) -> str:
    """When a process of this machine started, in ticks since the machine did; empty where not known."""
    try:
        # the name of the program, in brackets, may hold anything
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def started() -> float:
    """When this process started, in seconds since 1970; now where that is not known."""
    try:
        ticks, uptime = float(birth(os.getpid())), Path("/proc/uptime").read_text(encoding="ascii").split()[0]
    except (OSError, ValueError):
        return time.time()
    return time.time() - max(float(uptime) - ticks / os.sysconf("SC_CLK_TCK"), 0.0)


def is_running(pid: int, born: str = "") -> bool:
    """Whether the process with this number, and this :func:`birth` if it is given, runs on this machine."""
    try:
        # signal 0 asks whether there is such a process
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    now = birth(pid)
    return not born or not now or born == now


#: address space of a thread: its stack, the C library's arena, the buffers of two BLAS libraries
_THREAD_BYTES = 136 * 2**20
#: address space that any run takes beside its threads
_RUN_BYTES = 192 * 2**20
#: limits of open files below it are lower than any system's own
_FEW_FILES = 256


def address_space() -> tuple[int, int] | None:
    """The limit on this process's address space (``ulimit -v``) and its bytes in use, or None."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit == resource.RLIM_INFINITY:
            return None
        return limit, int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except (ImportError, OSError, ValueError):
        return None


def require_address_space(n_threads: int) -> None:
    """Refuse to start ``n_threads`` threads where ``ulimit -v`` leaves them too little address space.

    Compiled libraries that cannot map their buffers end the process, or try for ever.

    Raises
    ------
    MemoryBudgetError
        Naming the limit.
    """
    space = address_space()
    needed = _RUN_BYTES + n_threads * _THREAD_BYTES
    if space is not None and space[0] - space[1] < needed:
        limit, used = (round(number / 2**20) for number in space)
        raise MemoryBudgetError(
            f"the address space of a process is limited to {limit} MiB, of which {used} MiB are in use and "
            f"{needed // 2**20} MiB more are needed",
            where="ulimit -v",
            hint="raise the limit (ulimit -v unlimited), and limit memory with --memory-limit instead",
        )


def require_files(number: int) -> None:
    """Raise the soft limit on open files (``ulimit -n``) so that ``number`` more can be opened.

    Raises
    ------
    InputError
        Naming the limit, if the hard limit is lower.
    """
    try:
        import resource

        needed = len(os.listdir("/proc/self/fd")) + number
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    except (ImportError, OSError):
        return
    if soft == resource.RLIM_INFINITY or needed <= soft:
        return
    if hard != resource.RLIM_INFINITY and needed > hard:
        raise InputError(
            f"a process may open {hard} files and connections, and {needed} are needed",
            where="ulimit -n",
            hint=f"raise the limit (ulimit -n {max(1024, needed)}), or use fewer --workers",
        )
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))


def _open_files() -> int | None:
    """The hard limit on the files that a process has open, or None."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    except (ImportError, OSError):
        return None
    return None if limit == resource.RLIM_INFINITY else limit


def exceeded_limit(error: BaseException) -> str:
    """What to do about a system limit (``ulimit``) that may have caused an error, or an empty text."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many files are open: raise the limit (ulimit -n 1024)"
    space = address_space()
    if space is not None:
        limited = f"the address space of a process is limited to {space[0] // 2**20} MiB"
        return f"{limited}, which may be the cause: raise the limit (ulimit -v unlimited)"
    if (files := _open_files()) is not None and files < _FEW_FILES:
        return f"a process may open {files} files, which may be the cause: raise the limit (ulimit -n 1024)"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return "raise the limit on processes and threads (ulimit -u), or use fewer --workers"
    if isinstance(error, MemoryError):
        return "give --memory-limit, so that the run is planned to fit into memory"
    return ""


#: mallopt's names of its thresholds (malloc.h), and what they are set to
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_TRIM_BYTES, _MMAP_BYTES = 4 * 2**20, 3 * 2**20


def return_large_arrays() -> None:
    """From here on, have arrays above 3 MiB mapped one by one, so that freeing one gives its memory back.

    glibc raises that threshold to the size of whatever was freed last, up to 32 MiB; blocks and pieces then
    come from a heap whose holes fit nothing, and a process that streams them grows for several stages
    to half as much again as it ever held at once. Pieces of kernel rows, of 1 to 3 MiB, stay with the heap:
    mapping them took a quarter of a run's seconds. Does nothing under another C library, or where the user
    has set the threshold (``MALLOC_MMAP_THRESHOLD_``).
    """
    if "MALLOC_MMAP_THRESHOLD_" in os.environ:
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)
    mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)


def trim() -> None:
    """Give back what the allocator keeps of freed memory, between the objects that live on as well."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def peak_resident_bytes(pid: int | None = None) -> int:
    """Peak resident memory of this process, or of another one of this machine as long as it is there.

    It is VmHWM where there is /proc, as maxrss is inherited at spawn.
    """
    with suppress(OSError), open(f"/proc/{pid or 'self'}/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
