"""The one place where arrays of tiles are allocated and written into: what depends on the array library.

Bases, kernels, samplers and solvers say what is computed and into which array; that the memory of a tile is
used again, and how a result gets where it belongs, is known here alone.

Memory is kept between tiles, one set per thread: Dask's nanny makes the allocator return every temporary
above 64 KiB to the system at once, so a tile loop that allocates is page-faulted anew for each tile and runs
at half speed.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_local = threading.local()
#: numbers of a strip, which stay in a processor's cache
_STRIP = 2**15


def scratch(name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """An uninitialised array; the next call with the same name, dtype and thread reuses its memory."""
    kept: dict[tuple[str, str], NDArray[Any]] = _local.__dict__.setdefault("kept", {})
    kind = np.dtype(dtype)
    size = math.prod(shape)
    key = (name, kind.str)
    flat = kept.get(key)
    if flat is None or flat.size < size:
        # what is too small goes first, or both would be there at once
        flat = None
        kept.pop(key, None)
        flat = kept[key] = np.empty(size, dtype=kind)
    return flat[:size].reshape(shape)


def release() -> None:
    """Forget this thread's memory."""
    _local.__dict__.clear()


def apply(function: Callable[..., Any], *arguments: Any, into: NDArray[Any], **options: Any) -> NDArray[Any]:
    """into = function(*arguments), elementwise or along an axis; ``into`` may be one of the arguments."""
    function(*arguments, out=into, **options)
    return into


def matmul(left: NDArray[Any], right: NDArray[Any], into: NDArray[Any]) -> NDArray[Any]:
    """into = left @ right."""
    return np.matmul(left, right, out=into)


def squared_lengths(rows: NDArray[Any], into: NDArray[Any]) -> NDArray[Any]:
    """into = |x|^2 of each row."""
    np.einsum("ij,ij->i", rows, rows, out=into)
    return into


def greatest(values: NDArray[Any], into: NDArray[np.intp]) -> NDArray[np.intp]:
    """into = the column of each row's largest value."""
    return np.argmax(values, axis=1, out=into)


def copied(values: NDArray[Any], into: NDArray[Any]) -> NDArray[Any]:
    """into = values, in the precision of ``into``."""
    np.copyto(into, values, casting="same_kind")
    return into


def raised(values: NDArray[Any], power: int) -> NDArray[Any]:
    """values (n, m) = values^power, a whole number > 0, by squares and products of some rows at a time."""
    step = max(1, _STRIP // max(1, values.shape[1]))
    for start in range(0, len(values) if power > 1 else 0, step):
        strip = values[start : start + step]
        square, left = scratch("squares", strip.shape, strip.dtype), power
        square[:] = strip
        # the first factor is in its place, if it is one
        if not left % 2:
            strip[:] = 1.0
        while left := left // 2:
            np.square(square, out=square)
            if left % 2:
                np.multiply(strip, square, out=strip)
    return values
