"""Single rows and columns of a group of stored shards, each a few small reads that are checked."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.sparse import Rows, SparseRows
from distkern.common.types import AbstractGroup, Block, Floats, Indices
from distkern.storage import chunks
from distkern.storage._descriptors import AnyFile, Identity, OpenFiles
from distkern.storage._sharded_reader import ShardedReader
from distkern.storage.columns import FOLDER, GroupEntry, make_again, no_columns
from distkern.storage.places import place_of
from distkern.storage.shard_reader import ShardReader

_VERIFIED_AT_ONCE = 2**20


@dataclass(frozen=True, slots=True)
class StoredGroupOpener:
    """Opens a :class:`StoredGroup` in any process.

    Attributes
    ----------
    readers : of the shards of the group, in order
    number : of the group
    copy : the group's columns, or None without a feature-major copy
    """

    readers: tuple[ShardReader, ...]
    number: int
    copy: GroupEntry | None

    def __call__(self) -> StoredGroup:
        return StoredGroup(self)


class StoredGroup(AbstractGroup):
    """Reads rows from the shards' own files and columns from the feature-major copy.

    The first row that is read of a shard makes its files be read whole, once, to compare their checksums with
    the manifest; every inner chunk of a column is checked each time. What is kept does not grow with the
    reads: 4 bytes for each inner chunk of the files that are open (at most
    :data:`distkern.storage._descriptors.MOST_OPEN` in the process), and the targets.

    Everything raises :class:`~distkern.common.errors.CorruptDataError` naming a file that is missing, changed
    or of another data set. :meth:`rows` and :meth:`columns` may be called from several threads.
    """

    def __init__(self, opener: StoredGroupOpener) -> None:
        self._readers = opener.readers
        self._number = opener.number
        self._copy = opener.copy
        self._ends = np.cumsum([reader.entry.rows for reader in opener.readers])
        self.n_rows = int(self._ends[-1])
        self.n_features = opener.readers[0].n_features
        self._is_sparse = opener.readers[0].entry.entries is not None
        self._files = OpenFiles()
        self._verified: dict[str, Identity] = {}
        weakref.finalize(self, self._files.close).atexit = False

    @cached_property
    def targets(self) -> NDArray[Any] | None:  # type: ignore[override]
        """(n_rows,) of all shards, read when first asked for."""
        parts = [targets for reader in self._readers if (targets := reader.targets()) is not None]
        return np.concatenate(parts) if parts else None

    def blocks(self) -> Iterator[Block]:
        for reader in self._readers:
            yield reader()

    def block(self, place: int) -> Block:
        return self._readers[place]()

    def rows(self, positions: Indices) -> Rows:
        """The rows of the given positions; :class:`IndexError` for one that is not in the group."""
        wanted = np.asarray(positions)
        _check_range(wanted, self.n_rows, "rows")
        places = np.searchsorted(self._ends, wanted, side="right")
        pairs = zip(places.tolist(), wanted.tolist(), strict=True)
        located = [
            (place, position - int(self._ends[place - 1]) if place else position) for place, position in pairs
        ]
        return self._sparse_rows(located) if self._is_sparse else self._dense_rows(located)

    def _dense_rows(self, located: list[tuple[int, int]]) -> NDArray[Any]:
        rows = np.empty((len(located), self.n_features), dtype=np.float32)
        stored = rows.view(np.uint8)
        for row, (place, position) in zip(stored, located, strict=True):
            self._files_of(place)[0].read_into(row, position * len(row))
        return rows

    def _sparse_rows(self, located: list[tuple[int, int]]) -> SparseRows:
        data, indices, lengths = [], [], [0]
        for place, position in located:
            files = self._files_of(place)
            start, stop = np.frombuffer(files[-1].read(16, 8 * position), np.int64).tolist()
            lengths.append(stop - start)
            if stop > start:
                data.append(files[0].read(4 * (stop - start), 4 * start))
                indices.append(files[1].read(4 * (stop - start), 4 * start))
        return SparseRows(
            np.frombuffer(b"".join(data), np.float32),
            np.frombuffer(b"".join(indices), np.int32),
            np.cumsum(lengths, dtype=np.int64),
            self.n_features,
        )

    def column_bytes(self) -> int | None:
        if self._copy is None or not self._is_sparse:
            return None
        entries = sum(reader.entry.entries or 0 for reader in self._readers)
        return 8 * (entries + self.n_features + 1)

    def columns(self, columns: Indices) -> Rows:
        wanted = np.asarray(columns)
        _check_range(wanted, self.n_features, "columns")
        arrays = self._arrays
        if "values" in arrays:
            found = np.empty((len(wanted), self.n_rows), dtype=np.float32)
            self.columns_into(wanted, list(found))
            return found
        if len(wanted) > 1 and (np.diff(wanted) == 1).all():
            return self._consecutive_columns(arrays, int(wanted[0]), int(wanted[-1]) + 1)
        data, indices, lengths = [np.empty(0, np.float32)], [np.empty(0, np.int32)], [0]
        for column in wanted.tolist():
            start, stop = arrays["indptr"].values(column, column + 2, np.int64).tolist()
            lengths.append(stop - start)
            data.append(arrays["data"].values(start, stop, np.float32))
            indices.append(arrays["indices"].values(start, stop, np.int32))
        return SparseRows(
            np.concatenate(data), np.concatenate(indices), np.cumsum(lengths, dtype=np.int64), self.n_rows
        )

    def columns_into(self, columns: Indices, places: Sequence[Floats]) -> None:
        for place, column in zip(places, columns.tolist(), strict=True):
            self._arrays["values"].read_into(column, place.view(np.uint8))

    def _consecutive_columns(self, arrays: dict[str, ShardedReader], first: int, end: int) -> SparseRows:
        ends = arrays["indptr"].values(first, end + 1, np.int64)
        start, stop = int(ends[0]), int(ends[-1])
        return SparseRows(
            arrays["data"].values(start, stop, np.float32),
            arrays["indices"].values(start, stop, np.int32),
            ends - start,
            self.n_rows,
        )

    @cached_property
    def _arrays(self) -> dict[str, ShardedReader]:
        folder = place_of(self._readers[0].path)
        if self._copy is None:
            raise no_columns(folder)
        own = folder / FOLDER / str(self._number)
        return {
            name: ShardedReader(
                self._files,
                own if name == "values" else own / name,
                2 if name == "values" else 1,
                layout,
                self._copy.checksums[name],
                make_again(folder),
            )
            for name, layout in self._copy.layouts(self.n_features).items()
        }

    def _files_of(self, place: int) -> list[AnyFile]:
        """The checked files of a shard: features; or data and indices, if there are any, and indptr."""
        return [self._checked(*file) for file in self._shard_files[place]]

    @cached_property
    def _shard_files(self) -> list[list[tuple[str, int, int]]]:
        """Path, size and checksum of the files of every shard."""
        return [reader.feature_files() for reader in self._readers]

    def _checked(self, path: str, size: int, checksum: int) -> AnyFile:
        file = self._files.get(path)
        # by what the file is, because one that was closed may be another when it is opened again
        if self._verified.get(path) != file.identity:
            _verify(file, size, checksum)
            self._verified[path] = file.identity
        return file


def _check_range(wanted: NDArray[Any], size: int, what: str) -> None:
    if len(wanted) and not (wanted.min() >= 0 and wanted.max() < size):
        raise IndexError(f"{what} {wanted.min()} to {wanted.max()} of {size:,}")


def _verify(file: AnyFile, size: int, checksum: int) -> None:
    """Compare a chunk's file with its checksum, a piece in memory at a time."""
    where = file.path
    if file.size != size:
        raise chunks.damaged(f"the chunk has {file.size:,} bytes instead of {size:,}", where)
    end = size - chunks.CRC_BYTES
    stored = int.from_bytes(file.read(chunks.CRC_BYTES, end), "little")
    if stored != checksum:
        raise chunks.damaged("the chunk is not the one that was written", where)
    found = 0
    buffer = np.empty(min(_VERIFIED_AT_ONCE, end), dtype=np.uint8)
    for start in range(0, end, _VERIFIED_AT_ONCE):
        piece = buffer[: min(_VERIFIED_AT_ONCE, end - start)]
        file.read_into(piece, start)
        found = chunks.crc32c(piece, found)
    if found != checksum:
        raise chunks.damaged("the stored values are damaged (their checksum is wrong)", where)
