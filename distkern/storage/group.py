"""Single rows and columns of a group of stored shards, each a few small reads of files that are checked."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import CorruptDataError
from distkern.common.sparse import Rows, SparseRows
from distkern.common.types import AbstractGroup, Block, Floats, Indices
from distkern.storage._descriptors import AbstractFile, OpenFiles
from distkern.storage.columns import GroupEntry, make_again, no_columns
from distkern.storage.places import place_of
from distkern.storage.shard_reader import ShardReader


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

    Columns are stored as rows are, so both are read in the same way, and not by zarr: that decodes whole
    chunks, while a row is a few bytes at a known place of one. The first that is read of a chunk makes its
    file be read whole, once, to compare its checksum with the manifest. What is kept does not grow with the
    reads: the targets, and at most :data:`distkern.storage._descriptors.MOST_OPEN` open files in the process.

    Everything raises :class:`~distkern.common.errors.CorruptDataError` naming a file that is missing, changed
    or of another data set. :meth:`rows` and :meth:`columns` may be called from several threads.
    """

    def __init__(self, opener: StoredGroupOpener) -> None:
        self._readers = opener.readers
        self._number = opener.number
        self._copy = opener.copy
        self._files = OpenFiles()
        self._rows = _StoredRows(opener.readers, self._files)
        self.n_rows = self._rows.n_rows
        self.n_features = opener.readers[0].n_features
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
        return self._rows.read(wanted)

    def column_bytes(self) -> int | None:
        if self._copy is None or not self._rows.is_sparse:
            return None
        entries = sum(reader.entry.entries or 0 for reader in self._readers)
        return 8 * (entries + self.n_features + 1)

    def columns(self, columns: Indices) -> Rows:
        with self._of_the_copy(columns) as stored:
            return stored.read(np.asarray(columns))

    def columns_into(self, columns: Indices, places: Sequence[Floats]) -> None:
        with self._of_the_copy(columns) as stored:
            stored.read_into(np.asarray(columns), places)

    @contextmanager
    def _of_the_copy(self, columns: Indices) -> Iterator[_StoredRows]:
        _check_range(np.asarray(columns), self.n_features, "columns")
        try:
            yield self._columns
        except CorruptDataError as error:
            hint = make_again(place_of(self._readers[0].path))
            raise CorruptDataError(error.what, where=error.where, hint=hint) from error

    @cached_property
    def _columns(self) -> _StoredRows:
        folder = place_of(self._readers[0].path)
        if self._copy is None:
            raise no_columns(folder)
        return _StoredRows(self._copy.readers(folder, self._number), self._files)


class _StoredRows:
    """Single rows of consecutive shards, which are those of a split or the blocks of columns of a group.

    Parameters
    ----------
    readers : of the shards
    files : that are open
    """

    def __init__(self, readers: Sequence[ShardReader], files: OpenFiles) -> None:
        self._files = files
        self._ends = np.cumsum([reader.entry.rows for reader in readers])
        self._readers = readers
        self.n_rows, self._width = int(self._ends[-1]), readers[0].n_features
        self.is_sparse = readers[0].entry.entries is not None

    def read(self, positions: Indices) -> Rows:
        """The rows of the given positions."""
        if self.is_sparse:
            return self._sparse(positions)
        rows = np.empty((len(positions), self._width), dtype=np.float32)
        self.read_into(positions, list(rows))
        return rows

    def read_into(self, positions: Indices, places: Sequence[Floats]) -> None:
        """Fill each of ``places``, (width,) float32, with a dense row."""
        shards, within = self._located(positions)
        for shard, position, place in zip(shards.tolist(), within.tolist(), places, strict=True):
            row = place.view(np.uint8)
            self._files_of(shard)[0].read_into(row, position * len(row))

    def _sparse(self, positions: Indices) -> SparseRows:
        data, indices, lengths = [], [], [np.zeros(1, np.int64)]
        shards, within = self._located(positions)
        for low, high in _runs(shards, within):
            first, stop = int(within[low]), int(within[high]) + 1
            files = self._files_of(int(shards[low]))
            ends = np.frombuffer(files[-1].read(8 * (stop - first + 1), 8 * first), np.int64)
            start, size = int(ends[0]), int(ends[-1] - ends[0])
            lengths.append(np.diff(ends))
            if size:
                data.append(files[0].read(4 * size, 4 * start))
                indices.append(files[1].read(4 * size, 4 * start))
        return SparseRows(
            np.frombuffer(b"".join(data), np.float32),
            np.frombuffer(b"".join(indices), np.int32),
            np.cumsum(np.concatenate(lengths)),
            self._width,
        )

    def _located(self, positions: Indices) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The shard of each row, and its position there."""
        shards = np.searchsorted(self._ends, positions, side="right")
        return shards, positions - np.append(0, self._ends)[shards]

    def _files_of(self, shard: int) -> list[AbstractFile]:
        """The checked files of a shard: features; or data and indices, if there are any, and indptr."""
        return [self._files.get(*file) for file in self._paths[shard]]

    @cached_property
    def _paths(self) -> list[list[tuple[str, int, int]]]:
        """Path, size and checksum of the files of every shard."""
        return [reader.feature_files() for reader in self._readers]


def _runs(shards: NDArray[np.int64], within: NDArray[np.int64]) -> Iterable[tuple[int, int]]:
    """Rows that follow each other in a shard, which are read at once: the first and the last of each run."""
    if len(shards) < 2:
        return [(0, 0)][: len(shards)]
    breaks = np.flatnonzero((np.diff(within) != 1) | (np.diff(shards) != 0)).tolist()
    return zip([0, *(place + 1 for place in breaks)], [*breaks, len(shards) - 1], strict=True)


def _check_range(wanted: NDArray[Any], size: int, what: str) -> None:
    if len(wanted) and not (wanted.min() >= 0 and wanted.max() < size):
        raise IndexError(f"{what} {wanted.min()} to {wanted.max()} of {size:,}")
