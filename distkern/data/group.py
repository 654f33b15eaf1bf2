"""Random access to rows and columns of stored shards, by small reads of verified files."""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray
from zict import LRU

from distkern.core.errors import CorruptDataError
from distkern.core.processes import limits_of
from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import AbstractGroup, Block, Floats, Indices
from distkern.core.urls import is_url
from distkern.data.feature_major import GroupEntry, make_again, no_columns
from distkern.data.manifest import ShardReader
from distkern.data.store.arrays import CRC_BYTES, crc32c, damaged
from distkern.data.store.places import URLPlace, place_of, read_range, size_of_file

_VERIFIED_AT_ONCE = 2**20
#: size of the windows in which objects of a store are read, and windows kept: reads are mostly sequential
_WINDOW_BYTES, _WINDOWS = 2**16, 256

#: path or URL, size and crc32c of the file of a chunk
ChunkFile: TypeAlias = tuple[str, int, int]


class StoredGroup(AbstractGroup):
    """Reads rows from the shards' own files and columns from the feature-major copy.

    Columns are stored like rows, so both are read in the same way. zarr would decode whole chunks, while a
    row is a few bytes at a known place. The first read from a chunk reads the whole file once and compares
    its checksum with the manifest. Memory does not grow with the number of reads: at most :data:`MOST_OPEN`
    open files in the process, and 16 MiB of objects in a store.

    Every method raises :class:`~distkern.core.errors.CorruptDataError`, which names a file that is missing,
    changed or part of another data set. Threads may share :meth:`rows` and :meth:`columns`.

    Parameters
    ----------
    readers : readers of the group's shards, in order
    number : number of the group
    copy : the group's columns, or None without a feature-major copy
    """

    def __init__(self, readers: tuple[ShardReader, ...], number: int, copy: GroupEntry | None) -> None:
        self._readers, self._number, self._copy = readers, number, copy
        self._files = _CheckedFiles()
        self._rows = _StoredRows(readers, self._files)
        self.n_rows, self.n_features = self._rows.n_rows, readers[0].n_features
        weakref.finalize(self, self._files.close).atexit = False

    @property
    def targets(self) -> NDArray[Any] | None:  # type: ignore[override]
        """Targets (n_rows,) of all shards, read on every call."""
        parts = [targets for reader in self._readers if (targets := reader.targets()) is not None]
        return np.concatenate(parts) if parts else None

    def blocks(self) -> Iterator[Block]:
        for reader in self._readers:
            yield reader()

    def block(self, place: int) -> Block:
        return self._readers[place]()

    def rows(self, positions: Indices) -> Rows:
        """Return the rows at some positions; :class:`IndexError` for one outside the group."""
        wanted = np.asarray(positions)
        _check_range(wanted, self.n_rows, "rows")
        return self._rows.read(wanted)

    def column_bytes(self) -> int | None:
        if self._copy is None or not self._rows.is_sparse:
            return None
        entries = sum(reader.entry.entries or 0 for reader in self._readers)
        return 8 * (entries + self.n_features + 1)

    def columns(self, columns: Indices) -> Rows:
        with self._open_columns(columns) as stored:
            return stored.read(np.asarray(columns))

    def columns_into(self, columns: Indices, places: Sequence[Floats]) -> None:
        with self._open_columns(columns) as stored:
            stored.read_into(np.asarray(columns), places)

    @contextmanager
    def _open_columns(self, columns: Indices) -> Iterator[_StoredRows]:
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
    """Single rows of consecutive shards: of a split, or the blocks of columns of a group.

    Parameters
    ----------
    readers : readers of the shards
    files : reads and checks their files
    """

    def __init__(self, readers: Sequence[ShardReader], files: _CheckedFiles) -> None:
        self._files = files
        self._ends = np.cumsum([reader.entry.rows for reader in readers])
        self._readers = readers
        self.n_rows, self._width = int(self._ends[-1]), readers[0].n_features
        self.is_sparse = readers[0].entry.entries is not None

    def read(self, positions: Indices) -> Rows:
        """Return the rows at some positions."""
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
            self._files.read_into(self._paths[shard][0], row, position * len(row))

    def _sparse(self, positions: Indices) -> SparseRows:
        data, indices, lengths = [], [], [np.zeros(1, np.int64)]
        shards, within = self._located(positions)
        for low, high in _runs(shards, within):
            first, stop = int(within[low]), int(within[high]) + 1
            files = self._paths[int(shards[low])]
            ends = self._files.read(files[-1], np.int64, first, stop - first + 1)
            start, size = int(ends[0]), int(ends[-1] - ends[0])
            if start < 0 or (np.diff(ends) < 0).any():
                raise damaged("sparse rows that overlap", files[-1][0])
            lengths.append(np.diff(ends))
            if size:
                data.append(self._files.read(files[0], np.float32, start, size))
                indices.append(self._files.read(files[1], np.int32, start, size))
        rows = SparseRows(
            np.concatenate([np.empty(0, np.float32), *data]),
            np.concatenate([np.empty(0, np.int32), *indices]),
            np.cumsum(np.concatenate(lengths)),
            self._width,
        )
        try:
            return rows.checked()
        except ValueError as error:
            raise damaged(str(error), self._readers[0].path) from None

    def _located(self, positions: Indices) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the shard of each row, and its position there."""
        shards = np.searchsorted(self._ends, positions, side="right")
        return shards, positions - np.append(0, self._ends)[shards]

    @cached_property
    def _paths(self) -> list[list[ChunkFile]]:
        """Files of each shard: features; for sparse rows data and indices, if there are any, and indptr."""
        return [reader.feature_files() for reader in self._readers]


def _runs(shards: NDArray[np.int64], within: NDArray[np.int64]) -> Iterable[tuple[int, int]]:
    """Return the first and the last of each run of adjacent rows in a shard, which are read at once."""
    if len(shards) < 2:
        return [(0, 0)][: len(shards)]
    breaks = np.flatnonzero((np.diff(within) != 1) | (np.diff(shards) != 0)).tolist()
    return zip([0, *(place + 1 for place in breaks)], [*breaks, len(shards) - 1], strict=True)


def _check_range(wanted: NDArray[Any], size: int, what: str) -> None:
    if len(wanted) and not (wanted.min() >= 0 and wanted.max() < size):
        raise IndexError(f"{what} {wanted.min()} to {wanted.max()} of {size:,}")


class _OpenFile:
    """A local file that closes when its last user drops it.

    Attributes
    ----------
    identity : device, inode, size and modification time, which change if another file takes its place
    """

    def __init__(self, path: str) -> None:
        self._descriptor = -1
        size_of_file(Path(path))
        self.path, self._descriptor = path, os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        status = os.fstat(self._descriptor)
        self.identity = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    def read_into(self, out: NDArray[np.uint8], offset: int) -> None:
        """Fill a contiguous array with the bytes at ``offset``."""
        view, done = out.data, 0
        while done < len(view):
            # one call returns at most 2 GiB
            got = os.preadv(self._descriptor, [view[done:]], offset + done)
            if not got:
                raise damaged(f"the file ends before byte {offset + len(view):,}", self.path)
            done += got

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


#: most open files of this process: at most a quarter of its limit, which sockets and others share
MOST_OPEN = max(4, int(min(256, (limits_of("RLIMIT_NOFILE") or (math.inf, math.inf))[0] // 4)))


class _CheckedFiles:
    """Pieces of files; each file is compared with its checksum before the first piece is returned.

    The most recently used local files of the process stay open. A file that another thread evicts closes
    after its read.
    """

    kept: ClassVar[LRU[tuple[int, str], _OpenFile]] = LRU(MOST_OPEN, {})
    _owners: ClassVar[count[int]] = count()

    def __init__(self) -> None:
        self._owner = next(self._owners)
        #: identities of the checked files; a file that was closed may have been replaced meanwhile
        self._checked: dict[str, tuple[int, ...]] = {}
        self._window = lru_cache(_WINDOWS)(_window)

    def close(self) -> None:
        """Release all open files of this reader."""
        for key in list(self.kept):
            if key[0] == self._owner:
                self.kept.pop(key, None)

    def read(self, file: ChunkFile, dtype: DTypeLike, start: int, count: int) -> NDArray[Any]:
        """Read ``count`` numbers from number ``start`` on."""
        values = np.empty(count, dtype)
        self.read_into(file, values.view(np.uint8), start * values.itemsize)
        return values

    def read_into(self, file: ChunkFile, out: NDArray[np.uint8], offset: int) -> None:
        """Fill a contiguous array with the bytes at ``offset``.

        Raises :class:`CorruptDataError` if the file is missing, unreadable, or changed.
        """
        path = file[0]
        try:
            if is_url(path):
                if path not in self._checked:
                    _check(file, size_of_file(URLPlace(path)), lambda *piece: self._of_object(path, *piece))
                    self._checked[path] = ()
                self._of_object(path, out, offset)
                return
            opened = self.kept.get((self._owner, path))
            if opened is None:
                opened = self.kept[self._owner, path] = _OpenFile(path)
            if self._checked.get(path) != opened.identity:
                _check(file, opened.identity[2], opened.read_into)
                self._checked[path] = opened.identity
            opened.read_into(out, offset)
        except (FileNotFoundError, NotADirectoryError):
            raise damaged("the file is missing", path) from None
        except OSError as error:
            raise damaged(f"the file cannot be read ({error.strerror})", path) from error

    def _of_object(self, url: str, out: NDArray[np.uint8], offset: int) -> None:
        stop = offset + len(out)
        if len(out) >= _WINDOW_BYTES:
            content = read_range(URLPlace(url), offset, stop)
        else:
            first, last = offset // _WINDOW_BYTES, (stop - 1) // _WINDOW_BYTES
            windows = b"".join(self._window(url, number) for number in range(first, last + 1))
            content = windows[offset - first * _WINDOW_BYTES : stop - first * _WINDOW_BYTES]
        if len(content) < len(out):
            raise damaged(f"the file ends before byte {stop:,}", url)
        out[...] = np.frombuffer(content, dtype=np.uint8)


def _window(url: str, number: int) -> bytes:
    return read_range(URLPlace(url), number * _WINDOW_BYTES, (number + 1) * _WINDOW_BYTES)


def _check(file: ChunkFile, found_size: int, read: Callable[[NDArray[np.uint8], int], None]) -> None:
    """Compare a file with its size and checksum; ``read`` fills an array with the bytes at a position."""
    path, size, checksum = file
    if found_size != size:
        raise damaged(f"the chunk has {found_size:,} bytes instead of {size:,}", path)
    end, last = size - CRC_BYTES, np.empty(CRC_BYTES, dtype=np.uint8)
    read(last, end)
    if int.from_bytes(last.tobytes(), "little") != checksum:
        raise damaged("the chunk is not the one that was written", path)
    found, buffer = 0, np.empty(min(_VERIFIED_AT_ONCE, end), dtype=np.uint8)
    for start in range(0, end, _VERIFIED_AT_ONCE):
        piece = buffer[: end - start]
        read(piece, start)
        found = crc32c(piece, found)
    if found != checksum:
        raise damaged("the stored values are damaged (their checksum is wrong)", path)
