"""Identity, limits and memory of processes, and locks that are free after a fork."""

from __future__ import annotations

import ctypes
import errno
import math
import os
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

from distkern.core.errors import InputError, MemoryBudgetError

#: seconds after which a command reports that it has started, and between reports of a short one
FIRST_SILENCE, SILENCE = 1.5, 2.0
_locks: WeakSet[threading.Lock] = WeakSet()


def new_lock() -> threading.Lock:
    """Return a lock that is free in a forked child, whichever thread of the parent held it."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


def _free_locks() -> None:
    for lock in _locks:
        lock._at_fork_reinit()  # type: ignore[attr-defined]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_locks)


def birth(pid: int) -> str:
    """Return when a process of this machine started, in clock ticks since boot; empty if unknown."""
    try:
        # the program's name, in brackets, may contain anything
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def started() -> float:
    """Return when this process started, in seconds since 1970; now if unknown."""
    try:
        ticks, uptime = float(birth(os.getpid())), Path("/proc/uptime").read_text(encoding="ascii").split()[0]
    except (OSError, ValueError):
        return time.time()
    return time.time() - max(float(uptime) - ticks / os.sysconf("SC_CLK_TCK"), 0.0)


def memory_bytes() -> int:
    """Return the memory of this machine, or of the container that this process runs in; 0 if unknown."""
    # distributed knows it too, but takes half a second to import
    try:
        physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 0
    with suppress(OSError, ValueError):
        # "max" without a limit
        physical = min(physical, int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return physical


def is_running(pid: int, born: str = "") -> bool:
    """Whether a process with this number, and this :func:`birth` if given, runs on this machine."""
    try:
        # signal 0 only checks that the process exists
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        pass
    now = birth(pid)
    return not born or not now or born == now


#: address space of a thread: its stack, the C library's arena, the buffers of two BLAS libraries
_THREAD_BYTES = 136 * 2**20
#: address space of a run without its threads
_RUN_BYTES = 192 * 2**20
#: limits on open files below this are lower than any system's default
_FEW_FILES = 256


def limits_of(name: str) -> tuple[float, float] | None:
    """Return the soft and the hard limit ``RLIMIT_...``, infinite if unlimited; None where there are none."""
    try:
        import resource
    except ImportError:
        return None
    soft, hard = (
        math.inf if limit == resource.RLIM_INFINITY else limit
        for limit in resource.getrlimit(getattr(resource, name))
    )
    return soft, hard


def address_space() -> tuple[int, int] | None:
    """Return the limit on this process's address space (``ulimit -v``) and its bytes in use; None if
    unlimited.
    """
    limits = limits_of("RLIMIT_AS")
    if limits is None or math.isinf(limits[0]):
        return None
    with suppress(OSError, ValueError):
        used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        return int(limits[0]), used
    return None


def require_address_space(n_threads: int) -> None:
    """Refuse to start ``n_threads`` threads if ``ulimit -v`` leaves too little address space for them.

    Compiled libraries that cannot map their buffers end the process or retry forever. Raises
    :class:`MemoryBudgetError`, naming the limit.
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

    Raises :class:`InputError`, naming the limit, if the hard limit is lower.
    """
    limits = limits_of("RLIMIT_NOFILE")
    try:
        needed = len(os.listdir("/proc/self/fd")) + number
    except OSError:
        return
    if limits is None or needed <= limits[0]:
        return
    hard = limits[1]
    if needed > hard:
        raise InputError(
            f"a process may open {hard} files and connections, and {needed} are needed",
            where="ulimit -n",
            hint=f"raise the limit (ulimit -n {max(1024, needed)}), or use fewer --workers",
        )
    import resource

    with suppress(OSError, ValueError):
        unlimited = resource.RLIM_INFINITY
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, unlimited if math.isinf(hard) else int(hard)))


def exceeded_limit(error: BaseException) -> str:
    """Return the remedy for a system limit (``ulimit``) that may have caused an error, or an empty text."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many files are open: raise the limit (ulimit -n 1024)"
    space = address_space()
    if space is not None:
        limited = f"the address space of a process is limited to {space[0] // 2**20} MiB"
        return f"{limited}, which may be the cause: raise the limit (ulimit -v unlimited)"
    files = limits_of("RLIMIT_NOFILE")
    if files is not None and files[1] < _FEW_FILES:
        cause = f"a process may open {files[1]} files, which may be the cause"
        return f"{cause}: raise the limit (ulimit -n 1024)"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return "raise the limit on processes and threads (ulimit -u), or use fewer --workers"
    if isinstance(error, MemoryError):
        return "give --memory-limit, so that the run is planned to fit in memory"
    return ""


#: mallopt's thresholds (malloc.h) and the values for them
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_TRIM_BYTES, _MMAP_BYTES = 4 * 2**20, 3 * 2**20


def return_large_arrays() -> None:
    """Make the allocator map arrays above 3 MiB one by one from now on, so that freeing one returns its
    memory.

    glibc raises that threshold to the size of the last freed array, up to 32 MiB. Blocks and pieces then come
    from a heap with holes that fit nothing, and a streaming process grows over several stages to 1.5 times
    its largest need. Pieces of kernel rows, of 1 to 3 MiB, stay on the heap: mapping them took a quarter of a
    run's time. Does nothing under other C libraries, or if the user has set ``MALLOC_MMAP_THRESHOLD_``.
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
    """Return freed memory that the allocator keeps, also between live objects."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def peak_resident_bytes(pid: int | None = None) -> int:
    """Return the peak resident memory of this process, or of another live one on this machine.

    VmHWM is preferred where /proc exists, as maxrss is inherited at spawn.
    """
    with suppress(OSError), open(f"/proc/{pid or 'self'}/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
