"""One BLAS thread per process: products then have the same bits everywhere and workers do not compete."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np  # its BLAS must be loaded before it can be limited
import threadpoolctl

from distkern.core.errors import DistkernError
from distkern.core.processes import address_space, new_lock, require_address_space

#: what BLAS libraries read when they are loaded
_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
_lock = new_lock()
_pinned = False
_depth = 0
_limits: Any = None
_found: tuple[int, threadpoolctl.ThreadpoolController] | None = None
_reserved = False


def pin_worker() -> None:
    """Limit this process to one BLAS thread, for good (called at the start of every task on a worker).

    Raises
    ------
    DistkernError
        If the BLAS of this process cannot be limited.
    """
    global _pinned
    if _pinned or _depth > 0:
        return
    _reserve()
    with _lock:
        # SciPy has a BLAS of its own, which is loaded by the first task that needs it
        os.environ.update(dict.fromkeys(_VARIABLES, "1"))
        with _any_thread():
            threadpoolctl.threadpool_limits(1)
        if blas_threads() > 1:
            raise DistkernError(
                "this worker computes with several BLAS threads and cannot be limited to one: start "
                f"workers with {'=1 '.join(_VARIABLES)}=1, or with a nanny"
            )
        _pinned = True


def _reserve() -> None:
    """Map BLAS's buffers, once in a process, where ``ulimit -v`` may not leave any for them later.

    OpenBLAS up to 0.3.30 tries for ever to map a buffer, and SciPy holds Python's lock meanwhile.

    Raises
    ------
    MemoryBudgetError
        If there is no room for them.
    """
    global _reserved
    if _reserved or address_space() is None:
        return
    require_address_space(1)
    from scipy.linalg.lapack import dpotrf

    square = np.eye(256)
    dpotrf(square @ square)
    _reserved = True


@contextmanager
def _any_thread() -> Iterator[None]:
    """Let this thread set limits, and after it any other one.

    threadpoolctl 3.8 takes limits of OpenBLAS from the first thread alone that has set one, and passes over
    those of others without a word. Here the limit is the process's, and who sets it has the lock.
    """
    let_go = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", lambda *, force: None)
    let_go(force=True)
    try:
        yield
    finally:
        let_go(force=True)


def _libraries() -> threadpoolctl.ThreadpoolController:
    """The BLAS libraries of this process, looked for again after imports only, which load them.

    To find them all that is mapped into memory is read, which takes longer than to predict a few rows.
    """
    global _found
    if _found is None or _found[0] != len(sys.modules):
        _found = len(sys.modules), threadpoolctl.ThreadpoolController()
    return _found[1]


def blas_threads() -> int:
    """Threads that the BLAS libraries of this process use at present, the most of any."""
    pools = threadpoolctl.threadpool_info()
    return max((pool["num_threads"] for pool in pools if pool["user_api"] == "blas"), default=1)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit this process to one BLAS thread while any such context is open, then restore what was set before.

    The limit is the process's, so contexts of several threads (fits of a search, say) share it: the first
    sets it and the last lifts it.
    """
    global _depth, _limits
    _reserve()
    with _lock:
        if _depth == 0:
            with _any_thread():
                _limits = _libraries().limit(limits=1)
        _depth += 1
    try:
        yield
    finally:
        with _lock:
            _depth -= 1
            if _depth == 0:
                with _any_thread():
                    _limits.restore_original_limits()
