"""Reads inner chunks of the arrays that :mod:`distkern.storage._sharded` describes, each one checked."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.errors import CorruptDataError
from distkern.storage import chunks
from distkern.storage._descriptors import AnyFile, OpenFiles
from distkern.storage._sharded import Layout
from distkern.storage.places import Place


class ShardedReader:
    """Single inner chunks of an array, each a small read.

    The checksums of the inner chunks of every open file are kept, 4 bytes for each.

    Parameters
    ----------
    files : shared with the other arrays of a group
    folder : of the array
    n_dimensions : of the array
    layout : of the array
    checksums : of the table of checksums of each file, as the manifest has them
    mend : what the user can do about a damaged file
    """

    def __init__(
        self,
        files: OpenFiles,
        folder: Place,
        n_dimensions: int,
        layout: Layout,
        checksums: tuple[int, ...],
        mend: str,
    ) -> None:
        self._files = files
        places = (chunks.index_of_rows(file, n_dimensions) for file in range(layout.n_files))
        self._paths = [str(chunks.chunk_file(folder, *place)) for place in places]
        self._layout = layout
        self._checksums = checksums
        self._mend = mend
        if len(checksums) != layout.n_files:
            raise CorruptDataError(
                f"{layout.n_files} files where the manifest has {len(checksums)}",
                where=str(folder),
                mend=mend,
            )

    def read_into(self, chunk: int, out: NDArray[np.uint8]) -> None:
        """Fill ``out`` with inner chunk number ``chunk``.

        Raises
        ------
        CorruptDataError
            If its file is missing, changed or of other data.
        """
        number, place = divmod(chunk, self._layout.per_file)
        file, table = self._open(number)
        offset = place * self._layout.stride
        file.read_into(out, offset)
        stored = int.from_bytes(file.read(chunks.CRC_BYTES, offset + self._layout.chunk_bytes), "little")
        if not chunks.crc32c(out) == stored == table[place]:
            raise self._damaged("the stored values are damaged (their checksum is wrong)", file)

    def values(self, start: int, stop: int, dtype: DTypeLike) -> NDArray[Any]:
        """Values ``start : stop`` of a one-dimensional array; raises as :meth:`read_into`."""
        kind = np.dtype(dtype)
        size = self._layout.chunk_bytes // kind.itemsize
        first, end = start // size, -(-stop // size)
        parts = []
        chunk = first
        while chunk < end:
            number, place = divmod(chunk, self._layout.per_file)
            count = min(end - chunk, self._layout.per_file - place)
            parts.append(self._run(number, place, count))
            chunk += count
        if not parts:
            return np.empty(0, dtype=kind)
        # the copy leaves the checksums between the inner chunks out
        whole = np.concatenate(parts).reshape(-1).view(kind)
        return whole[start - first * size : stop - first * size]

    def _run(self, number: int, place: int, count: int) -> NDArray[np.uint8]:
        """(count, chunk_bytes) inner chunks of one file."""
        layout = self._layout
        file, table = self._open(number)
        read = np.frombuffer(file.read(count * layout.stride, place * layout.stride), np.uint8)
        stored = read.reshape(count, layout.stride)
        found = stored[:, : layout.chunk_bytes]
        wanted = table[place : place + count]
        right = np.array_equal(stored[:, layout.chunk_bytes :], wanted.view(np.uint8).reshape(count, -1))
        if not right or any(
            chunks.crc32c(row) != one for row, one in zip(found, wanted.tolist(), strict=True)
        ):
            raise self._damaged("the stored values are damaged (their checksum is wrong)", file)
        return found

    def _open(self, number: int) -> tuple[AnyFile, NDArray[Any]]:
        file = self._files.get(self._paths[number])
        if file.table is None:
            file.table = self._table(file, number)
        return file, file.table

    def _table(self, file: AnyFile, number: int) -> NDArray[Any]:
        layout = self._layout
        expected = layout.file_bytes(number)
        if file.size != expected:
            raise self._damaged(f"the file has {file.size:,} bytes instead of {expected:,}", file)
        tail = file.read(layout.tail_bytes(number), layout.tail_offset(number))
        end = layout.chunks_of(number) * chunks.CRC_BYTES
        table = np.frombuffer(tail[:end], dtype="<u4")
        if tail[end:] != layout.index_of(number):
            raise self._damaged("the index of the inner chunks is damaged", file)
        # a whole file of other data has a right index and right checksums, but not these
        if chunks.crc32c(table.view(np.uint8)) != self._checksums[number]:
            raise self._damaged("the file is not the one that was written", file)
        return table

    def _damaged(self, what: str, file: AnyFile) -> CorruptDataError:
        return CorruptDataError(what, where=file.path, mend=self._mend)
