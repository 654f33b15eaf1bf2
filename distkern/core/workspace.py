"""Buffers that are kept between tiles, one set per thread.

Dask's nanny makes the allocator return every temporary above 64 KiB to the system at once, so a tile loop
that allocates is page-faulted anew for each tile and runs at half speed; these buffers do not.
"""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_local = threading.local()


def buffer(name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An uninitialised array; the next call with the same name, dtype and thread reuses its memory."""
    kept: dict[tuple[str, str], NDArray[Any]] = _local.__dict__.setdefault("kept", {})
    kind = np.dtype(dtype)
    size = math.prod(shape)
    key = (name, kind.str)
    flat = kept.get(key)
    if flat is None or flat.size < size:
        flat = kept[key] = np.empty(size, dtype=kind)
    return flat[:size].reshape(shape)


def release() -> None:
    """Forget this thread's buffers."""
    _local.__dict__.clear()
