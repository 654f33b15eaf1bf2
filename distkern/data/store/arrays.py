"""Named arrays in one stored array of bytes, for models and checkpoints with many small arrays, and what all
stored arrays share: paths and checksums of chunks, and the error for damaged ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any

import google_crc32c
import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import CorruptDataError, InputError
from distkern.data.store.description import Description
from distkern.data.store.places import Location, Place, absolute, is_whole, read_file

_AGAIN = "make them again or restore them from a copy"
_DESCRIPTION = Description("distkern-arrays", "stored arrays", 3, _AGAIN)
_CHUNK_BYTES = 4 * 2**20
#: every array begins at a multiple of this, so that any type is aligned
_ALIGNMENT = 64
#: bytes read at a time when arrays are only checked
_CHECKED_BYTES = 64 * 2**20
_NAME = re.compile(r"\w[\w.-]*")
#: bytes of a checksum at the end of a chunk
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


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """Type and shape of an array of numbers or booleans."""

    dtype: str
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        is_number = re.fullmatch(r"[|<][biufc]\d{1,2}", self.dtype)
        # NumPy refuses larger shapes, even without rows
        fits = math.prod(max(1, size) for size in self.shape) < 2**59
        if not is_number or not fits or min(self.shape, default=0) < 0:
            raise ValueError(f"no array has type {self.dtype!r} and shape {self.shape}")
        try:
            np.dtype(self.dtype)
        except TypeError as error:
            raise ValueError(str(error)) from None

    @classmethod
    def of(cls, values: NDArray[Any]) -> ArrayLayout:
        return cls(values.dtype.newbyteorder("<").str, values.shape)

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True, slots=True)
class StoredArrays:
    """Description of a folder of arrays: their concatenated bytes, in chunks.

    Attributes
    ----------
    arrays : layouts in order
    chunk_bytes : size of every chunk; the last one is padded with zeros
    crc32c : checksum of every chunk
    """

    arrays: dict[str, ArrayLayout]
    chunk_bytes: int
    crc32c: tuple[int, ...]

    def __post_init__(self) -> None:
        for name in self.arrays:
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not the name of an array")
        n_bytes = max((stop for _, stop in self.spans().values()), default=0)
        if not 0 < self.chunk_bytes <= _CHUNK_BYTES or len(self.crc32c) != -(-n_bytes // self.chunk_bytes):
            raise ValueError(f"{len(self.crc32c)} chunks of {self.chunk_bytes} bytes for {n_bytes}")

    def spans(self) -> dict[str, tuple[int, int]]:
        """Return the begin and end of each array in bytes."""
        spans, stop = {}, 0
        for name, layout in self.arrays.items():
            start = stop + _gap(stop)
            stop = start + layout.n_bytes
            spans[name] = start, stop
        return spans


def _gap(n_bytes: int) -> int:
    """Return the padding between an array that ends at this byte and the next one."""
    return -n_bytes % _ALIGNMENT


def save_arrays(
    path: Location, arrays: Mapping[str, NDArray[Any]] | Iterable[tuple[str, NDArray[Any]]]
) -> str:
    """Write arrays (numbers or booleans, any shape) into one zarr array, atomically.

    Anything at ``path`` is replaced. Every chunk has a checksum. Pairs of name and array are written one
    after the other, so they need not be in memory together. Returns their fingerprint, for
    :func:`load_arrays`. Raises :class:`InputError` if the disk is full or the place cannot be written.
    """
    from distkern.data.store._zarr import RowsWriter
    from distkern.data.store.atomic import staged_folder

    layouts, n_bytes = {}, 0
    with staged_folder(path) as staged:
        writer = RowsWriter(staged.path, (), _CHUNK_BYTES, np.uint8)
        for name, values in arrays.items() if isinstance(arrays, Mapping) else arrays:
            layouts[name] = ArrayLayout.of(values)
            writer.append(np.zeros(_gap(n_bytes), np.uint8))
            writer.append(np.ascontiguousarray(values, layouts[name].dtype).reshape(-1).view(np.uint8))
            n_bytes += _gap(n_bytes) + values.nbytes
            # release this array before the next one is made
            del values
        checksums = writer.finish()
        content = _DESCRIPTION.seal(asdict(StoredArrays(layouts, writer.rows_per_chunk, checksums)))
        writer.describe(content)
        staged.commit()
    fingerprint: str = content["fingerprint"]
    return fingerprint


def _read(folder: Place, fingerprint: str | None = None) -> StoredArrays:
    """Read the description in the folder, which must have this fingerprint."""
    if not is_whole(folder):
        hint = "check the path; if it belongs to a model or data set that was moved, load that again"
        raise InputError("there are no stored arrays", where=str(folder), hint=hint)
    where = str(folder / "zarr.json")
    try:
        content = _DESCRIPTION.parse(read_file(folder / "zarr.json"), where).get("attributes")
    except OSError as error:
        raise _DESCRIPTION.damaged(f"it cannot be read: {error.strerror}", where) from None
    if not isinstance(content, dict):
        raise _DESCRIPTION.damaged("it has no attributes", where)
    found = _DESCRIPTION.unseal(content, where)
    stored = _DESCRIPTION.read(StoredArrays, content, where)
    if fingerprint is not None and found != fingerprint:
        what = "these arrays were not written with the other files"
        hint = "load it again if it was replaced; else recreate it or restore it from a copy"
        raise CorruptDataError(what, where=str(folder), hint=hint)
    return stored


def array_names(path: Location) -> list[str]:
    """Return the names of the stored arrays in order; raises as :func:`load_arrays`."""
    return [*_read(absolute(path)).arrays]


def array_bytes(path: Location, names: Iterable[str] | None = None) -> int:
    """Return the bytes of the arrays that :func:`load_arrays` returns; raises as it does unless a file is
    damaged.
    """
    arrays = _read(absolute(path)).arrays
    wanted = arrays if names is None else {*names}
    return sum(layout.n_bytes for name, layout in arrays.items() if name in wanted)


def load_arrays(
    path: Location,
    names: Iterable[str] | None = None,
    *,
    fingerprint: str | None = None,
    but: str | None = None,
) -> dict[str, NDArray[Any]]:
    """Read the arrays that :func:`save_arrays` wrote, or those with the given names.

    Raises :class:`InputError` if there is no such folder, or another version wrote it; and
    :class:`CorruptDataError` if anything in it is missing or changed, or the fingerprint differs.

    Parameters
    ----------
    fingerprint : the return value of :func:`save_arrays`, to require exactly these arrays
    but : prefix of names to leave out
    """
    folder = absolute(path)
    stored = _read(folder, fingerprint)
    everything = [name for name in stored.arrays if but is None or not name.startswith(but)]
    wanted = everything if names is None else [*names]
    missing = next((name for name in wanted if name not in stored.arrays), None)
    if missing is not None:
        raise damaged(f"there is no array {missing!r}", folder)
    spans, found = stored.spans(), {}
    for is_wanted, run in groupby(stored.arrays, set(wanted).__contains__):
        # adjacent arrays are read at once
        adjacent = [*run] if is_wanted else []
        if adjacent:
            first = spans[adjacent[0]][0]
            content = _bytes(folder, stored, first, spans[adjacent[-1]][1])
            for name in adjacent:
                start, stop = spans[name]
                layout = stored.arrays[name]
                found[name] = content[start - first : stop - first].view(layout.dtype).reshape(layout.shape)
    return {name: found[name] for name in wanted}


def check_arrays(path: Location, *, fingerprint: str | None = None) -> None:
    """Read everything, a piece at a time; raises as :func:`load_arrays`."""
    folder = absolute(path)
    stored = _read(folder, fingerprint)
    stop = max((stop for _, stop in stored.spans().values()), default=0)
    for start in range(0, stop, _CHECKED_BYTES):
        _bytes(folder, stored, start, min(stop, start + _CHECKED_BYTES))


def _bytes(folder: Place, stored: StoredArrays, start: int, stop: int) -> NDArray[np.uint8]:
    from distkern.data.store._zarr import read_rows

    return read_rows(folder, (), stored.chunk_bytes, np.uint8, dict(enumerate(stored.crc32c)), start, stop)
