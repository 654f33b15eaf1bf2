"""The only module that calls zarr: arrays in chunks of whole rows, each chunk with its crc32c.

It is imported on demand, since loading zarr takes a tenth of a second.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from fsspec.implementations.asyn_wrapper import AsyncFileSystemWrapper
from numpy.typing import DTypeLike, NDArray
from zarr.abc.store import ByteRequest, Store
from zarr.codecs import BytesCodec, Crc32cCodec
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.core.metadata import ArrayV3Metadata
from zarr.storage import FsspecStore, LocalStore, StorePath, WrapperStore

from distkern.core.errors import DistkernError
from distkern.data.store.arrays import CRC_BYTES, chunk_key, damaged
from distkern.data.store.places import Place, size_of_file

#: largest size in bytes of files that are read at once
_AT_ONCE_BYTES = 2**17


def create_group(folder: Path, attributes: Mapping[str, Any] | None = None) -> None:
    """Create a zarr v3 group at ``folder`` unless it exists."""
    zarr.create_group(folder, attributes=dict(attributes or {}), zarr_format=3)


class _LocalStore(LocalStore):
    """Local files; small ones are read in the calling thread.

    Handing a file to another thread takes a third of a millisecond, more than reading a small one.
    """

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        path = self.root / key
        try:
            if prototype is not None and byte_range is None and size_of_file(path) <= _AT_ONCE_BYTES:
                return prototype.buffer.from_bytes(path.read_bytes())
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        return await super().get(key, prototype, byte_range)


class _KnownChunks(WrapperStore[Store]):
    """The store of one array, which keeps the checksums of chunks.

    Attributes
    ----------
    where : place of the array
    checksums : crc32c by key, of written and of expected chunks; any other chunk is refused
    """

    def __init__(self, store: Store, where: Place, checksums: dict[str, int]) -> None:
        super().__init__(store)
        self.where, self.checksums = where, checksums

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        try:
            found = await super().get(key, prototype, byte_range)
        except FileNotFoundError:
            # zarr raises for a missing folder
            found = None
        expected = self.checksums.get(key)
        if expected is None:
            return found
        if found is None:
            raise damaged("the chunk is missing", self.where / key)
        if _checksum(found) != expected:
            raise damaged("the chunk is not the one that was written", self.where / key)
        return found

    async def set(self, key: str, value: Buffer) -> None:
        if key != "zarr.json":
            self.checksums[key] = _checksum(value)
        await super().set(key, value)

    def _with_store(self, store: Store) -> _KnownChunks:
        return type(self)(store, self.where, self.checksums)


def _checksum(chunk: Buffer) -> int:
    """Return the crc32c at the end of a stored chunk."""
    return int.from_bytes(chunk.as_numpy_array()[-CRC_BYTES:].tobytes(), "little")


class RowsWriter:
    """Writes a new array: rows in order or, if their number is known, chunks in any order.

    The codecs are little-endian ``bytes`` and ``crc32c``; without a checksum zarr would read a flipped byte
    as another number. Chunks of zeros are written like any other; the last one is padded with zeros.

    Parameters
    ----------
    folder : folder of the array
    row_shape, dtype : shape of a row; type, numbers or booleans
    rows_per_chunk : rows of a chunk; for rows in order, at most all of them
    n_rows : rows of the array, for :meth:`write`; :meth:`append` does not need it
    """

    def __init__(
        self,
        folder: Path,
        row_shape: tuple[int, ...],
        rows_per_chunk: int,
        dtype: DTypeLike,
        n_rows: int | None = None,
    ) -> None:
        self._folder, self._row_shape = folder, row_shape
        # zarr knows only one of NumPy's equivalent types for uint64
        self._dtype, self._rows_per_chunk = np.dtype(np.dtype(dtype).str), max(1, rows_per_chunk)
        self._checksums: dict[str, int] = {}
        self._array: zarr.Array[Any] | None = None if n_rows is None else self._create(n_rows)
        self._waiting: list[NDArray[Any]] = []
        self._n_waiting = 0

    def _create(self, n_rows: int) -> zarr.Array[Any]:
        return zarr.create_array(
            _KnownChunks(_LocalStore(self._folder), self._folder, self._checksums),
            shape=(n_rows, *self._row_shape),
            chunks=(self._rows_per_chunk, *self._row_shape),
            dtype=self._dtype,
            serializer=BytesCodec(endian="little"),
            compressors=[Crc32cCodec()],
            filters=[],
            fill_value=0,
            zarr_format=3,
            config={"write_empty_chunks": True},
        )

    def write(self, number: int, values: NDArray[Any]) -> int:
        """Write the rows of a chunk; return its crc32c."""
        assert self._array is not None
        start = number * self._rows_per_chunk
        self._array[start : start + len(values)] = values
        return self._checksums[chunk_key(number, self._array.ndim)]

    def append(self, values: NDArray[Any]) -> None:
        """Append rows; an incomplete chunk waits in memory."""
        missing = self._rows_per_chunk - self._n_waiting
        if self._waiting and len(values) >= missing:
            self._put(np.concatenate([*self._waiting, values[:missing]]))
            self._waiting, self._n_waiting, values = [], 0, values[missing:]
        while len(values) >= self._rows_per_chunk:
            self._put(values[: self._rows_per_chunk])
            values = values[self._rows_per_chunk :]
        if len(values):
            self._waiting.append(values.copy())
            self._n_waiting += len(values)

    def finish(self) -> tuple[int, ...]:
        """Write the last chunk; return the crc32c of all chunks."""
        if self._array is None:
            self._rows_per_chunk = min(self._rows_per_chunk, max(1, self._n_waiting))
        if self._waiting:
            self._put(np.concatenate(self._waiting))
        elif self._array is None:
            self._array = self._create(0)
        keys = (chunk_key(number, 1 + len(self._row_shape)) for number in range(len(self._checksums)))
        return tuple(self._checksums[key] for key in keys)

    def _put(self, values: NDArray[Any]) -> None:
        if self._array is None:
            self._array = self._create(len(values))
            self._array[...] = values
        else:
            self._array.append(values)

    @property
    def rows_per_chunk(self) -> int:
        return self._rows_per_chunk

    def describe(self, attributes: Mapping[str, Any]) -> None:
        """Set attributes of the finished array."""
        assert self._array is not None
        self._array.update_attributes(dict(attributes))


def chunks_of(folder: Path) -> Iterator[NDArray[Any]]:
    """Yield the chunks of an array whose checksums are not kept elsewhere."""
    array = zarr.open_array(_LocalStore(folder, read_only=True), mode="r")
    for start in range(0, array.shape[0], array.chunks[0]):
        yield np.asarray(array[start : start + array.chunks[0]])


def _is_whole(array: zarr.Array[Any], number: int) -> bool:
    start = number * array.chunks[0]
    try:
        array[start : start + 1]
    except ValueError:
        return False
    return True


def _check_size(file: Path, size: int) -> None:
    """Raise CorruptDataError unless a chunk's file has this size."""
    try:
        found = size_of_file(file)
    except (FileNotFoundError, NotADirectoryError):
        raise damaged("the chunk is missing", file) from None
    if found != size:
        raise damaged(f"the chunk has {found:,} bytes instead of {size:,}", file)


@lru_cache(maxsize=256)
def _metadata(shape: tuple[int, ...], rows_per_chunk: int, kind: np.dtype[Any]) -> ArrayV3Metadata:
    """Return the description of an array as :class:`RowsWriter` writes it; cached, as it takes as long as
    a read.
    """
    fill_value = np.zeros((), kind).item()
    return ArrayV3Metadata.from_dict(
        {
            "shape": shape,
            "data_type": kind.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": (rows_per_chunk, *shape[1:])}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": [0.0, 0.0] if isinstance(fill_value, complex) else fill_value,
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
            "attributes": {},
            "zarr_format": 3,
            "node_type": "array",
        }
    )


def read_rows(
    folder: Place,
    row_shape: tuple[int, ...],
    rows_per_chunk: int,
    dtype: DTypeLike,
    checksums: Mapping[int, int],
    start: int,
    stop: int,
) -> NDArray[Any]:
    """Read rows ``start : stop`` of an array without trusting its own description.

    Chunks are read whole, about ten at a time. Raises :class:`CorruptDataError`, naming the file of a missing
    or changed chunk.

    Parameters
    ----------
    checksums : chunk number -> crc32c, for all chunks with these rows
    """
    if start >= stop:
        return np.empty((0, *row_shape), dtype)
    shape = (stop, *row_shape)
    metadata = _metadata(shape, rows_per_chunk, np.dtype(dtype))
    expected = {chunk_key(number, len(shape)): checksum for number, checksum in checksums.items()}

    def read(store: Store) -> NDArray[Any]:
        known = StorePath(_KnownChunks(store, folder, expected))
        array = zarr.Array(zarr.AsyncArray(metadata=metadata, store_path=known))
        try:
            return np.asarray(array[start:stop])
        except DistkernError:
            raise
        except ValueError as error:
            # find the chunk, which the codec does not name
            chunks = range(start // rows_per_chunk, -(-stop // rows_per_chunk))
            wrong = next((number for number in chunks if not _is_whole(array, number)), chunks.start)
            file = folder / chunk_key(wrong, len(shape))
            raise damaged("the stored values are damaged (their checksum is wrong)", file) from error

    if isinstance(folder, Path):
        try:
            # before allocating the rows, as a damaged description may claim any number
            size = rows_per_chunk * math.prod(row_shape) * np.dtype(dtype).itemsize + CRC_BYTES
            for number in range(start // rows_per_chunk, -(-stop // rows_per_chunk)):
                _check_size(folder / chunk_key(number, len(shape)), size)
            return read(_LocalStore(folder, read_only=True))
        except OSError as error:
            file = error.filename or str(folder)
            raise damaged(f"the chunk cannot be read ({error.strerror})", file) from error
    # local folders do without this import
    from distkern.data.store._file_systems import ask

    # zarr's own access to URLs leaves sessions open
    return ask(
        folder.url,
        lambda system, path: read(
            FsspecStore(AsyncFileSystemWrapper(system, True), path=path, read_only=True)
        ),
    )
