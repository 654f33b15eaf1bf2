"""Checksums and paths of chunks, and the error for damaged ones."""

from __future__ import annotations

from typing import Any

import google_crc32c
from numpy.typing import NDArray

from distkern.core.errors import CorruptDataError
from distkern.data.store.places import Place

CRC_BYTES = 4


def crc32c(values: NDArray[Any], start: int = 0) -> int:
    """Return the crc32c of the bytes of a contiguous array, continuing from ``start``."""
    return int(google_crc32c.extend(start, values))


def chunk_key(number: int, n_dimensions: int = 1) -> str:
    """Return the path of a chunk in an array with chunks of whole rows, zarr v3's default."""
    return "/".join(("c", str(number), *["0"] * (n_dimensions - 1)))


def damaged(what: str, where: Place | str) -> CorruptDataError:
    """Return the error for changed stored data."""
    return CorruptDataError(what, where=str(where), hint="recreate it or restore it from a copy")
