"""Arrays in zarr's sharding codec whose inner chunks lie at computable places, and their writers.

A file holds its inner chunks in order, each with its crc32c, then all these crc32c again, one after the
other, then zarr's index of the inner chunks. What stands between the chunks and the index is nothing to zarr;
here it lets a reader that knows the checksum of that table tell every inner chunk of a file from that of
another file, without reading the file whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.storage import chunks

#: a file is about as long as this, and holds at most so many inner chunks
FILE_BYTES = 32 * 2**20
MOST_CHUNKS = 2**14

_INDEX_ENTRY = np.dtype([("offset", "<u8"), ("bytes", "<u8")])
_ABSENT = np.iinfo(np.uint64).max


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the inner chunks of an array are.

    Attributes
    ----------
    n_chunks : inner chunks of the array
    chunk_bytes : of one, without its checksum
    """

    n_chunks: int
    chunk_bytes: int

    @property
    def stride(self) -> int:
        """Bytes from one inner chunk of a file to the next."""
        return self.chunk_bytes + chunks.CRC_BYTES

    @property
    def per_file(self) -> int:
        """Inner chunks of every file but the last, which may have fewer."""
        return max(1, min(self.n_chunks, FILE_BYTES // self.stride, MOST_CHUNKS))

    @property
    def n_files(self) -> int:
        return -(-self.n_chunks // self.per_file)

    def chunks_of(self, file: int) -> int:
        """Inner chunks that a file holds."""
        return min(self.per_file, self.n_chunks - file * self.per_file)

    def index_of(self, file: int) -> bytes:
        """zarr's index of a file, with its checksum."""
        index = np.full(self.per_file, _ABSENT, dtype=_INDEX_ENTRY)
        present = self.chunks_of(file)
        index["offset"][:present] = np.arange(present, dtype=np.uint64) * np.uint64(self.stride)
        index["bytes"][:present] = self.stride
        return index.tobytes() + _number(chunks.crc32c(index.view(np.uint8)))

    def file_bytes(self, file: int) -> int:
        """Size of a file."""
        return self.tail_offset(file) + self.tail_bytes(file)

    def tail_offset(self, file: int) -> int:
        """Where the table of checksums of a file begins."""
        return self.chunks_of(file) * self.stride

    def tail_bytes(self, file: int) -> int:
        """Bytes of the table of checksums and the index."""
        table = self.chunks_of(file) * chunks.CRC_BYTES
        return table + self.per_file * _INDEX_ENTRY.itemsize + chunks.CRC_BYTES

    @property
    def stored_bytes(self) -> int:
        """Size of all files."""
        return sum(self.file_bytes(file) for file in range(self.n_files))


def _number(checksum: int) -> bytes:
    return checksum.to_bytes(chunks.CRC_BYTES, "little")


class PlacedWriter:
    """Writes inner chunks piece by piece: for arrays whose every inner chunk is a row of them.

    Parameters
    ----------
    file : number of a file -> its path
    layout : of the array
    """

    def __init__(self, file: Callable[[int], Path], layout: Layout) -> None:
        self._file = file
        self._layout = layout
        self._checksums = np.zeros(layout.n_chunks, dtype="<u4")

    def write(self, offset: int, pieces: NDArray[Any]) -> None:
        """Write to every inner chunk, from its byte ``offset`` on, the row of ``pieces`` of its number.

        Pieces of a chunk are written in order and without gaps.
        """
        layout = self._layout
        for number in range(layout.n_files):
            path = self._file(number)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            with path.open("r+b") as file:
                for place in range(layout.chunks_of(number)):
                    chunk = number * layout.per_file + place
                    piece = pieces[chunk].view(np.uint8)
                    checksum = chunks.crc32c(piece, int(self._checksums[chunk]))
                    self._checksums[chunk] = checksum
                    file.seek(place * layout.stride + offset)
                    file.write(piece.data)
                    if offset + len(piece) == layout.chunk_bytes:
                        file.write(_number(checksum))

    def close(self) -> tuple[int, ...]:
        """Write what stands at the end of every file; the checksums of the tables of checksums."""
        layout = self._layout
        sealed = []
        for number in range(layout.n_files):
            first = number * layout.per_file
            table = self._checksums[first : first + layout.chunks_of(number)]
            with self._file(number).open("r+b") as file:
                sealed.append(_seal(file, layout, number, table))
        return tuple(sealed)


class AppendingWriter:
    """Writes the values of a one-dimensional array in order; the last inner chunk is padded with zeros.

    Parameters
    ----------
    folder : of the array
    layout, dtype : of the array
    """

    def __init__(self, folder: Path, layout: Layout, dtype: DTypeLike) -> None:
        self._folder = folder
        self._layout = layout
        self._dtype = np.dtype(dtype)
        self._left = np.zeros(0, dtype=np.uint8)
        self._done = 0
        self._table: list[int] = []
        self._sealed: list[int] = []
        self._file: BinaryIO | None = None

    def append(self, values: NDArray[Any]) -> None:
        """Add values to the end."""
        fresh = np.ascontiguousarray(values, dtype=self._dtype).view(np.uint8)
        size = self._layout.chunk_bytes
        if len(self._left):
            missing = size - len(self._left)
            self._left = np.concatenate([self._left, fresh[:missing]])
            fresh = fresh[missing:]
            if len(self._left) < size:
                return
            self._put(self._left)
        whole = len(fresh) // size * size
        for start in range(0, whole, size):
            self._put(fresh[start : start + size])
        self._left = fresh[whole:].copy()

    def close(self) -> tuple[int, ...]:
        """Write the rest; the checksums of the tables of checksums of all files."""
        if len(self._left):
            last = np.zeros(self._layout.chunk_bytes, dtype=np.uint8)
            last[: len(self._left)] = self._left
            self._put(last)
        if self._done != self._layout.n_chunks:
            raise ValueError(f"{self._done} inner chunks where {self._layout.n_chunks} were announced")
        return tuple(self._sealed)

    def _put(self, chunk: NDArray[np.uint8]) -> None:
        layout = self._layout
        number, place = divmod(self._done, layout.per_file)
        if self._file is None:
            path = chunks.chunk_file(self._folder, number)
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = path.open("xb")
        checksum = chunks.crc32c(chunk)
        self._table.append(checksum)
        self._file.write(chunk.data)
        self._file.write(_number(checksum))
        self._done += 1
        if place + 1 == layout.chunks_of(number):
            table = np.array(self._table, dtype="<u4")
            self._sealed.append(_seal(self._file, layout, number, table))
            self._table.clear()
            self.abandon()

    def abandon(self) -> None:
        """Close the file that is being written."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _seal(file: BinaryIO, layout: Layout, number: int, table: NDArray[Any]) -> int:
    stored = table.view(np.uint8)
    file.seek(layout.tail_offset(number))
    file.write(stored.data)
    file.write(layout.index_of(number))
    return chunks.crc32c(stored)
