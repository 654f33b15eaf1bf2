"""What the machine can do at most: the lines that everything else is drawn against."""

from __future__ import annotations

import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import threadpoolctl

from workflows.records import Record

_SIZE = 1536
_NUMBERS = 2**22
_BYTES = 2**28
_REPEATS = 5


def limits(folder: Path) -> Record:
    """Measure one thread: products, exponentials, copies, and reading a file in ``folder``.

    Returns
    -------
    sgemm_flops, syrk_flops : operations a second of float32 products, and of Z' Z, of which half is computed
    exp_numbers : float32 exponentials a second
    copy_bytes, read_bytes, cached_read_bytes : bytes a second; ``read_bytes`` with the file's pages dropped
        first, where the system lets that be done
    """
    with threadpoolctl.threadpool_limits(1):
        return _limits(folder)


def _limits(folder: Path) -> Record:
    generator = np.random.default_rng(0)
    left = generator.random((_SIZE, _SIZE), dtype=np.float32)
    right, product = left.T.copy(), np.empty_like(left)
    numbers = -generator.random(_NUMBERS, dtype=np.float32)
    values = np.empty_like(numbers)
    source, target = np.ones(_BYTES // 8), np.empty(_BYTES // 8)
    found = {
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "sgemm_flops": 2.0 * _SIZE**3 / _best(lambda: np.matmul(left, right, out=product)),
        "syrk_flops": 1.0 * _SIZE**3 / _best(lambda: np.matmul(left.T, left, out=product)),
        "exp_numbers": _NUMBERS / _best(lambda: np.exp(numbers, out=values)),
        "copy_bytes": _BYTES / _best(lambda: np.copyto(target, source)),
    }
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        file.write(source.tobytes())
        file.flush()
        os.fsync(file.fileno())
        found["cached_read_bytes"] = _BYTES / _best(lambda: _read(file.name))
        found["read_bytes"] = _BYTES / min(_cold_read(file.name) for _ in range(3))
    return found


def _best(run: Callable[[], object]) -> float:
    run()
    seconds = []
    for _ in range(_REPEATS):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _read(name: str) -> None:
    with open(name, "rb", buffering=0) as file:
        while file.read(2**22):
            pass


def _cold_read(name: str) -> float:
    with open(name, "rb") as file:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    start = time.perf_counter()
    _read(name)
    return time.perf_counter() - start
