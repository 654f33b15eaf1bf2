"""Named arrays in one folder: models and checkpoints."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.storage import chunks
from distkern.storage.atomic import staged_folder
from distkern.storage.description import Description
from distkern.storage.places import Location, Place, absolute, is_whole

_AGAIN = "make them again or restore them from a copy"
_DESCRIPTION = Description("distkern-arrays", "stored arrays", 2, 2, _AGAIN)
_CHUNK_BYTES = 64 * 2**20
#: of an array: the name of a folder in the same folder
_NAME = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True, slots=True)
class Layout:
    """Type and shape of an array of numbers or booleans."""

    dtype: str
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        is_number = re.fullmatch(r"[|<][biufc]\d{1,2}", self.dtype)
        # numpy refuses more, even if there are no rows
        fits = math.prod(max(1, size) for size in self.shape) < 2**59
        if not is_number or not fits or min(self.shape, default=0) < 0:
            raise ValueError(f"no array has type {self.dtype!r} and shape {self.shape}")
        try:
            np.dtype(self.dtype)
        except TypeError as error:
            raise ValueError(str(error)) from None

    @classmethod
    def of(cls, values: NDArray[Any]) -> Layout:
        return cls(values.dtype.newbyteorder("<").str, values.shape)

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * np.dtype(self.dtype).itemsize


@dataclass(frozen=True, slots=True)
class StoredArray(Layout):
    """An array in chunks of whole rows, with the checksum of each; the last chunk is filled up with zeros."""

    rows_per_chunk: int
    crc32c: tuple[int, ...]

    def __post_init__(self) -> None:
        Layout.__post_init__(self)
        if self.rows_per_chunk < 1 or len(self.crc32c) != _n_chunks(self.shape, self.rows_per_chunk):
            raise ValueError(f"{len(self.crc32c)} chunks of {self.rows_per_chunk} rows for {self.shape}")

    @property
    def chunk_bytes(self) -> int:
        """Without the checksum."""
        rows = (self.rows_per_chunk, *self.shape[1:]) if self.shape else ()
        return math.prod(rows) * np.dtype(self.dtype).itemsize


def _n_chunks(shape: tuple[int, ...], rows_per_chunk: int) -> int:
    if not math.prod(shape):
        return 0
    return -(-shape[0] // rows_per_chunk) if shape else 1


@dataclass(frozen=True, slots=True)
class StoredArrays:
    """What a folder of arrays says it holds, in order."""

    arrays: dict[str, StoredArray]

    def __post_init__(self) -> None:
        for name in self.arrays:
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not the name of an array")


def save_arrays(
    path: Location, arrays: Mapping[str, NDArray[Any]] | Iterable[tuple[str, NDArray[Any]]]
) -> str:
    """Write arrays (numbers or booleans, any shape) as a zarr v3 group that appears whole or not at all.

    What is at ``path`` is replaced. Every chunk is checksummed. Pairs of name and array are taken and written
    one after the other, so they need not be in memory together. Returns their fingerprint, for
    :func:`load_arrays`.

    Raises
    ------
    InputError
        If the disk is full or the place cannot be written.
    """
    with staged_folder(path) as staged:
        stored = {}
        for name, values in arrays.items() if isinstance(arrays, Mapping) else arrays:
            stored[name] = asdict(_save(staged.path / name, values))
            # the next array may be made before this name is bound to it
            del values
        content = _DESCRIPTION.seal({"arrays": stored})
        chunks.create_group(staged.path, content)
        staged.commit()
    fingerprint: str = content["fingerprint"]
    return fingerprint


def _save(folder: Path, values: NDArray[Any]) -> StoredArray:
    shape = values.shape
    row_bytes = values.nbytes // shape[0] if values.ndim and shape[0] else 0
    first = max(1, _CHUNK_BYTES // row_bytes) if row_bytes else 1
    rows_per_chunk = max(1, min(first, shape[0])) if shape else 1
    layout = Layout.of(values)
    array = chunks.RowChunks(folder, shape, rows_per_chunk, values.dtype)
    checksums = tuple(
        array.write(number, values[number * rows_per_chunk :][:rows_per_chunk] if shape else values)
        for number in range(_n_chunks(shape, rows_per_chunk))
    )
    return StoredArray(layout.dtype, shape, rows_per_chunk, checksums)


def _read(folder: Place) -> tuple[dict[str, StoredArray], str]:
    """What is in the folder, and its fingerprint."""
    if not is_whole(folder):
        raise InputError("there are no stored arrays", where=str(folder), mend="check the path")
    where = str(folder / "zarr.json")
    try:
        content = _DESCRIPTION.parse((folder / "zarr.json").read_bytes(), where).get("attributes")
    except OSError as error:
        raise _DESCRIPTION.damaged(f"it cannot be read: {error.strerror}", where) from None
    if not isinstance(content, dict):
        raise _DESCRIPTION.damaged("it has no attributes", where)
    fingerprint = _DESCRIPTION.unseal(content, where)
    return _DESCRIPTION.read(StoredArrays, content, where).arrays, fingerprint


def array_names(path: Location) -> list[str]:
    """The names of what :func:`save_arrays` wrote, in its order; raises as :func:`load_arrays`."""
    return [*_read(absolute(path))[0]]


def load_arrays(
    path: Location, names: Iterable[str] | None = None, *, fingerprint: str | None = None
) -> dict[str, NDArray[Any]]:
    """Read what :func:`save_arrays` wrote, or the arrays of the given names.

    ``fingerprint`` is what :func:`save_arrays` returned, where they must be these arrays and no others.

    Raises
    ------
    InputError
        If there is no such folder, or another version wrote it.
    CorruptDataError
        If anything in it is missing or changed, or they are other arrays.
    """
    folder = absolute(path)
    stored, found = _read(folder)
    if fingerprint is not None and found != fingerprint:
        raise chunks.damaged("these arrays are not those that were written with the rest", folder)
    wanted = [*stored] if names is None else [*names]
    missing = next((name for name in wanted if name not in stored), None)
    if missing is not None:
        raise chunks.damaged(f"there is no array {missing!r}", folder)
    return {name: _load(folder / name, stored[name]) for name in wanted}


def _load(folder: Place, stored: StoredArray) -> NDArray[Any]:
    size = stored.chunk_bytes
    values, content = None, np.empty(0, np.uint8)
    for number, checksum in enumerate(stored.crc32c):
        file = chunks.chunk_file(folder, *chunks.index_of_rows(number, len(stored.shape)))
        chunk = chunks.verified_chunk(file, checksum, size + chunks.CRC_BYTES)
        if len(stored.crc32c) == 1:
            return chunk[: stored.n_bytes].view(stored.dtype).reshape(stored.shape)
        if values is None:
            # only now: an edited description may speak of more than there is
            values = np.empty(stored.shape, stored.dtype)
            content = values.reshape(-1).view(np.uint8)
        content[number * size :][:size] = chunk[: len(content) - number * size]
    return np.empty(stored.shape, stored.dtype) if values is None else values
