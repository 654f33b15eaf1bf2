"""The C library's allocator: large arrays are given back when they are freed."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

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
