"""zarr arrays whose every chunk is checksummed, and the files these chunks lie in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

import google_crc32c
import numpy as np
import zarr
from numpy.typing import DTypeLike, NDArray
from zarr.codecs import BytesCodec, Crc32cCodec

from distkern.core.errors import CorruptDataError

Group: TypeAlias = zarr.Group
Array: TypeAlias = Any  # zarr.Array is generic over private metadata classes

CRC_BYTES = 4


def crc32c(values: NDArray[Any], start: int = 0) -> int:
    """crc32c of the bytes of a contiguous array, or of those before it (``start``) and them."""
    return int(google_crc32c.extend(start, values))


def create_group(path: Path, attributes: dict[str, Any] | None = None) -> Group:
    """A new zarr v3 group at ``path``."""
    return zarr.create_group(path, zarr_format=3, attributes=attributes)


def create_array(
    group: Group,
    name: str,
    shape: Sequence[int],
    chunks: Sequence[int],
    dtype: DTypeLike,
    shards: Sequence[int] | None = None,
) -> Array:
    """A new array in ``group``: little-endian bytes with a crc32c per chunk, empty chunks written too.

    Without the checksum a flipped byte reads as another value, and without the empty chunks a chunk of zeros
    could not be told from one that is lost. With ``shards`` the array is in zarr's sharding codec, and
    ``chunks`` are the inner chunks.
    """
    return group.create_array(
        name,
        shape=tuple(shape),
        chunks=tuple(max(1, size) for size in chunks),
        shards=None if shards is None else tuple(max(1, size) for size in shards),
        dtype=np.dtype(dtype),
        serializer=BytesCodec(endian="little"),
        compressors=[Crc32cCodec()],
        filters=[],
        fill_value=0,
        config={"write_empty_chunks": True},
    )


def open_group(path: Path) -> Group:
    """An existing group, to read."""
    return zarr.open_group(path, mode="r", zarr_format=3)


def open_array(path: Path) -> Array:
    """An existing array, to read."""
    return zarr.open_array(path, mode="r", zarr_format=3)


def chunk_file(array_folder: Path, *index: int) -> Path:
    """The file of a chunk, by zarr v3's default chunk keys."""
    return Path(array_folder, "c", *map(str, index))


def stored_checksum(array_folder: Path, *index: int, size: int | None = None) -> int:
    """The crc32c that a chunk's file ends with, which covers everything before it.

    Raises
    ------
    CorruptDataError
        If the file is missing or, where ``size`` is given, does not have that many bytes.
    """
    file = chunk_file(array_folder, *index)
    try:
        with open(file, "rb") as stream:
            end = stream.seek(0, 2)
            if end < CRC_BYTES or (size is not None and end != size):
                raise damaged(f"the chunk has {end} bytes instead of {size or 'its values'}", file)
            stream.seek(end - CRC_BYTES)
            return int.from_bytes(stream.read(CRC_BYTES), "little")
    except (FileNotFoundError, NotADirectoryError):
        raise damaged("the chunk is missing", file) from None
    except OSError as error:
        raise damaged(f"the chunk cannot be read ({error.strerror})", file) from error


def read_block(array: Array, array_folder: Path, *index: int) -> NDArray[Any]:
    """One chunk of an array, cut to the array's shape; a wrong checksum raises :class:`CorruptDataError`."""
    try:
        return np.asarray(array.get_block_selection(index))
    except (ValueError, RuntimeError, OSError) as error:
        raise damaged(
            f"the stored values are damaged ({_reason(error)})", chunk_file(array_folder, *index)
        ) from error


def read_whole(array: Array, array_folder: Path) -> NDArray[Any]:
    """All of an array; a missing chunk or a wrong checksum raises :class:`CorruptDataError`."""
    for index in np.ndindex(*cast("tuple[int, ...]", array.cdata_shape)):
        stored_checksum(array_folder, *index)
    try:
        return np.asarray(array[...])
    except (ValueError, RuntimeError, OSError) as error:
        raise damaged(f"the stored values are damaged ({_reason(error)})", array_folder) from error


def _reason(error: Exception) -> str:
    # zarr's own message shows both checksums as raw bytes
    return "their checksum is wrong" if "checksum" in str(error) else str(error)


def damaged(what: str, where: Path) -> CorruptDataError:
    """The error for stored data that no longer is what was written."""
    return CorruptDataError(what, where=str(where), mend="make it again or restore it from a copy")
