"""The only place that allocates and writes arrays of tiles, and so depends on the array library.

Bases, kernels, samplers and solvers say what to compute and into which array; this module reuses the memory
of tiles and writes the results.

Each thread keeps its memory between tiles: under Dask's nanny the allocator returns every temporary above 64
KiB to the system at once, so a loop that allocates per tile spends half its time in page faults.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

_local = threading.local()
#: numbers of a strip, which fit a processor's cache
_STRIP = 2**15


def scratch(name: str, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Return an uninitialised array; the next call with the same name, dtype and thread reuses its memory."""
    kept: dict[tuple[str, str], NDArray[Any]] = _local.__dict__.setdefault("kept", {})
    kind = np.dtype(dtype)
    size = math.prod(shape)
    key = (name, kind.str)
    flat = kept.get(key)
    if flat is None or flat.size < size:
        # drop the smaller array first, so that both never coexist
        flat = None
        kept.pop(key, None)
        flat = kept[key] = np.empty(size, dtype=kind)
    return flat[:size].reshape(shape)


def release() -> None:
    """Release this thread's memory."""
    _local.__dict__.clear()


def apply(function: Callable[..., Any], *arguments: Any, into: NDArray[Any], **options: Any) -> NDArray[Any]:
    """Compute into = function(*arguments), elementwise or along an axis; ``into`` may be an argument."""
    function(*arguments, out=into, **options)
    return into


def exponential(values: NDArray[Any]) -> NDArray[Any]:
    """Compute exp(values) in place, with :func:`not_vanishing`."""
    np.exp(values, out=values)
    return not_vanishing(values)


def not_vanishing(values: NDArray[Any]) -> NDArray[Any]:
    """Raise kernel values, in place, to at least the root of the smallest normal number.

    That is 1e-19 in single precision. Products of smaller numbers are subnormal, and processors multiply
    subnormal numbers a hundred times slower.
    """
    # rounded up, so that its square is not below the smallest normal number
    np.maximum(values, 1.001 * math.sqrt(np.finfo(values.dtype).tiny), out=values)
    return values


def matmul(left: NDArray[Any], right: NDArray[Any], into: NDArray[Any]) -> NDArray[Any]:
    """Compute into = left @ right."""
    return np.matmul(left, right, out=into)


def squared_lengths(rows: NDArray[Any], into: NDArray[Any]) -> NDArray[Any]:
    """Compute into = |x|^2 of each row."""
    np.einsum("ij,ij->i", rows, rows, out=into)
    return into


def greatest(values: NDArray[Any], into: NDArray[np.intp]) -> NDArray[np.intp]:
    """Compute into = the column of each row's largest value."""
    return np.argmax(values, axis=1, out=into)


def copied(values: NDArray[Any], into: NDArray[Any]) -> NDArray[Any]:
    """Copy values to ``into``, in its precision."""
    np.copyto(into, values, casting="same_kind")
    return into


def raised(values: NDArray[Any], power: int) -> NDArray[Any]:
    """Compute values (n, m) = values^power in place, by repeated squaring of some rows at a time."""
    step = max(1, _STRIP // max(1, values.shape[1]))
    for start in range(0, len(values) if power > 1 else 0, step):
        strip = values[start : start + step]
        square, left = scratch("squares", strip.shape, strip.dtype), power
        square[:] = strip
        # for odd powers the strip is the first factor
        if not left % 2:
            strip[:] = 1.0
        while left := left // 2:
            np.square(square, out=square)
            if left % 2:
                np.multiply(strip, square, out=strip)
    return values


def aligned(*arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return the arrays C-contiguous and aligned, as compiled loops need them; received buffers may be
    neither.
    """
    return tuple(
        array
        if array.flags.c_contiguous and array.flags.aligned
        else np.require(array, requirements=("C", "A"))
        for array in arrays
    )
