"""zarr arrays whose every chunk is checksummed, and the files these chunks lie in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import google_crc32c
import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.errors import CorruptDataError
from distkern.storage.places import Place, URLPlace, read_range, size_of_file

if TYPE_CHECKING:
    # not loaded by who only reads: it takes 19 MiB and a second
    import zarr

Group: TypeAlias = "zarr.Group"
Array: TypeAlias = Any  # zarr.Array is generic over private metadata classes

CRC_BYTES = 4


def crc32c(values: NDArray[Any], start: int = 0) -> int:
    """crc32c of the bytes of a contiguous array, or of those before it (``start``) and them."""
    return int(google_crc32c.extend(start, values))


def create_group(path: Path, attributes: dict[str, Any] | None = None) -> Group:
    """A new zarr v3 group at ``path``."""
    import zarr

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
    from zarr.codecs import BytesCodec, Crc32cCodec

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


@overload
def chunk_file(array_folder: Path, *index: int) -> Path: ...
@overload
def chunk_file(array_folder: URLPlace, *index: int) -> URLPlace: ...
def chunk_file(array_folder: Place, *index: int) -> Place:
    """The file of a chunk, by zarr v3's default chunk keys."""
    return array_folder / "/".join(("c", *map(str, index)))


def stored_checksum(file: Place) -> int:
    """The crc32c that the file of a chunk that was just written ends with, of everything before it."""
    size = size_of_file(file)
    return int.from_bytes(read_range(file, size - CRC_BYTES, size), "little")


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
