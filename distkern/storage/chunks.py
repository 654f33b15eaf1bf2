"""zarr arrays whose every chunk is checksummed, and the files these chunks lie in.

Arrays of chunks of whole rows are written as zarr writes them, but not by it: it takes 19 MiB, time to load,
and milliseconds for every array and chunk, where models and checkpoints have many small ones.
"""

from __future__ import annotations

import json
import math
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any, overload

import google_crc32c
import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.errors import CorruptDataError
from distkern.storage.places import Place, URLPlace

CRC_BYTES = 4


def crc32c(values: NDArray[Any], start: int = 0) -> int:
    """crc32c of the bytes of a contiguous array, or of those before it (``start``) and them."""
    return int(google_crc32c.extend(start, values))


def create_group(folder: Path, attributes: dict[str, Any] | None = None) -> None:
    """A zarr v3 group at ``folder``, which is made where it is missing."""
    _describe(folder, {"attributes": attributes or {}, "zarr_format": 3, "node_type": "group"})


class RowChunks:
    """A new zarr v3 array of chunks of whole rows: little-endian bytes with a crc32c per chunk.

    Without the checksum a flipped byte reads as another value. Chunks of zeros are written like any other:
    one that is not there is one that is lost.

    Parameters
    ----------
    folder : of the array
    shape, dtype : of numbers or booleans
    rows_per_chunk : 1 of an array without rows or without dimensions
    """

    def __init__(self, folder: Path, shape: Sequence[int], rows_per_chunk: int, dtype: DTypeLike) -> None:
        self.folder = folder
        self._dtype = np.dtype(dtype).newbyteorder("<")
        self._chunk = (max(1, rows_per_chunk), *(max(1, size) for size in shape[1:]))[: len(shape)]
        self.describe(shape)

    def describe(self, shape: Sequence[int]) -> None:
        """Say that the array has this shape, of as many dimensions as before."""
        fill_value = np.zeros((), self._dtype).item()
        endian = {"configuration": {"endian": "little"}} if self._dtype.itemsize > 1 else {}
        content = {
            "shape": list(shape),
            "data_type": self._dtype.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(self._chunk)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": [0.0, 0.0] if isinstance(fill_value, complex) else fill_value,
            "codecs": [{"name": "bytes", **endian}, {"name": "crc32c"}],
            "attributes": {},
            "zarr_format": 3,
            "node_type": "array",
            "storage_transformers": [],
        }
        _describe(self.folder, content)

    def write(self, number: int, values: NDArray[Any]) -> int:
        """Write a chunk of rows, filled up with zeros where there are fewer; its crc32c."""
        content = np.ascontiguousarray(values, self._dtype).reshape(-1).view(np.uint8)
        missing = math.prod(self._chunk) * self._dtype.itemsize - len(content)
        zeros = np.zeros(missing, np.uint8)
        checksum = crc32c(zeros, crc32c(content))
        file = chunk_file(self.folder, *index_of_rows(number, len(self._chunk)))
        file.parent.mkdir(parents=True, exist_ok=True)
        # a task that is run again may find the one that was given up still writing
        partial = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        with open(partial, "wb") as opened:
            for part in (content.data, zeros.data, checksum.to_bytes(CRC_BYTES, "little")):
                opened.write(part)
        os.replace(partial, file)
        return checksum


def _describe(folder: Path, content: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "zarr.json").write_text(json.dumps(content, indent=2))


def create_sharded_array(
    folder: Path, shape: Sequence[int], chunks: Sequence[int], shards: Sequence[int], dtype: DTypeLike
) -> None:
    """The description of a new array in zarr's sharding codec, of inner ``chunks`` with a crc32c each."""
    import zarr
    from zarr.codecs import BytesCodec, Crc32cCodec

    zarr.create_array(
        folder,
        shape=tuple(shape),
        chunks=tuple(max(1, size) for size in chunks),
        shards=tuple(max(1, size) for size in shards),
        dtype=np.dtype(dtype),
        serializer=BytesCodec(endian="little"),
        compressors=[Crc32cCodec()],
        filters=[],
        fill_value=0,
        zarr_format=3,
    )


@overload
def chunk_file(array_folder: Path, *index: int) -> Path: ...
@overload
def chunk_file(array_folder: URLPlace, *index: int) -> URLPlace: ...
def chunk_file(array_folder: Place, *index: int) -> Place:
    """The file of a chunk, by zarr v3's default chunk keys."""
    return array_folder / "/".join(("c", *map(str, index)))


def index_of_rows(number: int, n_dimensions: int) -> tuple[int, ...]:
    """Index of chunk ``number`` in an array of ``n_dimensions`` dimensions whose chunks hold whole rows."""
    return (number, *[0] * n_dimensions)[:n_dimensions]


def verified_chunk(file: Place, checksum: int, size: int) -> NDArray[np.uint8]:
    """The bytes of a chunk without its checksum, got with one question.

    Raises
    ------
    CorruptDataError
        If the file is missing, does not have ``size`` bytes, or is not the one with this crc32c.
    """
    try:
        if isinstance(file, Path):
            # a file of another length is not read
            _check_size(file.stat().st_size, size, file)
            content = np.fromfile(file, np.uint8)
        else:
            # a copy, because arrays that are read may be written to
            content = np.frombuffer(bytearray(file.read_bytes()), np.uint8)
    except (FileNotFoundError, NotADirectoryError):
        raise damaged("the chunk is missing", file) from None
    except OSError as error:
        raise damaged(f"the chunk cannot be read ({error.strerror})", file) from error
    _check_size(len(content), size, file)
    if int.from_bytes(content[-CRC_BYTES:], "little") != checksum:
        raise damaged("the chunk is not the one that was written", file)
    values = content[:-CRC_BYTES]
    if crc32c(values) != checksum:
        raise damaged("the stored values are damaged (their checksum is wrong)", file)
    return values


def _check_size(found: int, size: int, file: Place) -> None:
    if found != size:
        raise damaged(f"the chunk has {found} bytes instead of {size}", file)


def damaged(what: str, where: Place | str) -> CorruptDataError:
    """The error for stored data that no longer is what was written."""
    return CorruptDataError(what, where=str(where), mend="make it again or restore it from a copy")
