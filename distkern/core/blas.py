"""One BLAS thread per process: products then have the same bits everywhere and workers do not compete."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np  # loads the BLAS that is to be limited
import threadpoolctl

from distkern.core.errors import DistkernError
from distkern.core.processes import address_space, new_lock, require_address_space

#: environment variables that BLAS libraries read when they are loaded
_VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")
_lock = new_lock()
_pinned = False
_depth = 0
_limits: Any = None
_found: tuple[int, threadpoolctl.ThreadpoolController] | None = None
_reserved = False


def pin_worker() -> None:
    """Limit this process to one BLAS thread for its lifetime; every task on a worker starts with this.

    Raises :class:`DistkernError` if the BLAS of this process cannot be limited.
    """
    global _pinned
    if _pinned or _depth > 0:
        return
    _reserve()
    with _lock:
        # SciPy brings its own BLAS, loaded by the first task that needs it
        os.environ.update(dict.fromkeys(_VARIABLES, "1"))
        with _any_thread():
            threadpoolctl.threadpool_limits(1)
        if blas_threads() > 1:
            raise DistkernError(
                "this worker uses several BLAS threads and cannot be limited to one: start "
                f"workers with {'=1 '.join(_VARIABLES)}=1, or with a nanny"
            )
        _pinned = True


def _reserve() -> None:
    """Map BLAS's buffers once per process if ``ulimit -v`` may leave no room for them later.

    OpenBLAS up to 0.3.30 retries such a mapping forever, while SciPy holds the GIL. Raises
    :class:`MemoryBudgetError` without room for them.
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
    """Let this thread set limits, and any other thread afterwards.

    threadpoolctl 3.8 silently ignores OpenBLAS limits from all threads but the first one to set some. Here
    the limit is the process's, and the caller holds the lock.
    """
    release = getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", lambda *, force: None)
    release(force=True)
    try:
        yield
    finally:
        release(force=True)


def _libraries() -> threadpoolctl.ThreadpoolController:
    """Return the BLAS libraries of this process; searched again only after imports, which load them.

    The search reads the memory map of the process, which takes longer than predicting a few rows.
    """
    global _found
    if _found is None or _found[0] != len(sys.modules):
        _found = len(sys.modules), threadpoolctl.ThreadpoolController()
    return _found[1]


def blas_threads() -> int:
    """Return the largest current number of threads among the BLAS libraries of this process."""
    pools = threadpoolctl.threadpool_info()
    return max((pool["num_threads"] for pool in pools if pool["user_api"] == "blas"), default=1)


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit this process to one BLAS thread while any such context is open, then restore the earlier limits.

    Contexts of several threads, such as the fits of a search, share the limit: the first sets it, the last
    lifts it.
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
