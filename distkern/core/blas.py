"""One BLAS thread per process: products then have the same bits everywhere and workers do not compete."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np  # noqa: F401  (its BLAS must be loaded before it can be limited)
import threadpoolctl

_lock = threading.Lock()
_pinned = False
_depth = 0


def pin_worker() -> None:
    """Limit this process to one BLAS thread, for good (called at the start of every task on a worker)."""
    global _pinned
    if _pinned or _depth > 0:
        return
    with _lock:
        threadpoolctl.threadpool_limits(1)
        _pinned = True


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit this process to one BLAS thread while the context is open, then restore what was set before.

    Must be entered by the thread that drives a fit, never inside a task: the limit is process-wide.
    """
    global _depth
    with threadpoolctl.threadpool_limits(1):
        _depth += 1
        try:
            yield
        finally:
            _depth -= 1
