"""Single rows and columns of some groups, with the last ones cached in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from zict import LRU

from distkern.core.sparse import Rows, SparseRows
from distkern.core.tiles import scratch
from distkern.core.types import AbstractGroup, Floats

#: bytes of cached columns and rows in a process
COLUMN_BYTES = 64 * 2**20
ROW_BYTES = 8 * 2**20
#: overhead of a cache entry in bytes
_ENTRY_BYTES = 500

Key = TypeVar("Key")
Kept = TypeVar("Kept")


def _keep(kept: LRU[Key, Kept], key: Key, value: Kept) -> None:
    """Cache a value, unless it would take more than a quarter of the cache."""
    if 4 * kept.weight(key, value) <= kept.n:
        kept[key] = value


def reading_bytes(n_rows: int, n_columns: int, n_bytes: int) -> int:
    """Most bytes of single rows and columns that a process keeps.

    Parameters
    ----------
    n_rows, n_columns : most rows and columns read
    n_bytes : bytes of all rows
    """
    columns = min(COLUMN_BYTES, 2 * n_bytes + _ENTRY_BYTES * n_columns)
    return columns + min(ROW_BYTES, n_bytes + _ENTRY_BYTES * n_rows)


class GroupColumns(NamedTuple):
    """Columns of consecutive groups.

    Attributes
    ----------
    data : all numbers of dense columns, or the nonzero ones
    places : int32 row of each number, in order within a column; empty for dense columns
    starts : (n_columns + 1,) int64, starts of the columns, and the end of the last sparse one
    dense : whether all numbers are stored
    n_entries : numbers of the columns
    """

    data: Floats
    places: NDArray[np.int32]
    starts: NDArray[np.int64]
    dense: bool
    n_entries: int


_NO_PLACES = np.empty(0, dtype=np.int32)


def no_columns(dtype: np.dtype[Any]) -> GroupColumns:
    """Return no columns."""
    return GroupColumns(np.empty(0, dtype), _NO_PLACES, np.zeros(1, np.int64), False, 0)


class AbstractColumnReader(ABC):
    """Reads columns of consecutive groups as if these were one."""

    @abstractmethod
    def read(self, columns: NDArray[np.int64]) -> GroupColumns:
        """Read the given columns in that order, possibly repeated.

        The result is valid until a reader of this thread reads again.
        """


class DenseColumnReader(AbstractColumnReader):
    """Caches the last columns in its own buffer, if the columns of a round fit.

    Otherwise they are in scratch memory shared by all readers of a thread: for very many rows, separate
    buffers would take as many bytes a row as the weights, or half as many.

    Parameters
    ----------
    groups : their rows are numbered from their offsets on
    offsets : (n_groups + 1,)
    limit_bytes : most bytes of the buffer
    limit_bytes : bytes of the buffer, at most
    dtype : dtype of the numbers
    """

    def __init__(
        self, groups: list[AbstractGroup], offsets: NDArray[np.int64], limit_bytes: int, dtype: np.dtype[Any]
    ) -> None:
        self._groups, self._offsets = groups, offsets.tolist()
        self._n_rows, self._dtype = int(offsets[-1]), dtype
        self._room = min(limit_bytes // (self._n_rows * dtype.itemsize), groups[0].n_features)
        # one buffer instead of an array for each column: where freed memory returns to the system at once, as
        # on Dask's workers, first touching it takes longer than reading the column
        self._buffer: Floats = np.empty((self._room, self._n_rows), dtype=dtype)
        # not zict's LRU, which does not report whose place a new column takes
        self._kept: OrderedDict[int, int] = OrderedDict()

    def read(self, columns: NDArray[np.int64]) -> GroupColumns:
        wanted = columns.tolist()
        distinct = list(dict.fromkeys(wanted))
        if len(distinct) > self._room:
            buffer: Floats = scratch("columns", (len(distinct), self._n_rows), self._dtype)
            self._fetch(distinct, list(buffer))
            slots = {column: slot for slot, column in enumerate(distinct)}
        else:
            self._keep(distinct)
            buffer, slots = self._buffer, self._kept
        starts = np.array([slots[column] * self._n_rows for column in wanted] + [0], dtype=np.int64)
        return GroupColumns(buffer.reshape(-1), _NO_PLACES, starts, True, len(wanted) * self._n_rows)

    def _keep(self, columns: list[int]) -> None:
        """Read missing columns into the buffer."""
        missing: list[int] = []
        slots: list[int] = []
        for column in columns:
            if column in self._kept:
                self._kept.move_to_end(column)
            else:
                missing.append(column)
        for _ in missing:
            free = len(self._kept) + len(slots) < self._room
            slots.append(len(self._kept) + len(slots) if free else self._kept.popitem(last=False)[1])
        if missing:
            self._fetch(missing, [self._buffer[slot] for slot in slots])
        self._kept.update(zip(missing, slots, strict=True))

    def _fetch(self, missing: list[int], places: list[Floats]) -> None:
        numbers = np.array(missing, dtype=np.int64)
        for group, start, stop in zip(self._groups, self._offsets[:-1], self._offsets[1:], strict=True):
            group.columns_into(numbers, [place[start:stop] for place in places])


class SparseColumnReader(AbstractColumnReader):
    """Reads all columns at once if they fit, else caches the last columns.

    Parameters
    ----------
    groups, offsets : as in :class:`DenseColumnReader`
    limit_bytes : most bytes of the cache, including temporary arrays
    """

    def __init__(self, groups: list[AbstractGroup], offsets: NDArray[np.int64], limit_bytes: int) -> None:
        self._groups, self._offsets = groups, offsets.tolist()
        self._kept: LRU[int, GroupColumns] = LRU(
            limit_bytes, {}, weight=lambda _, part: part.data.nbytes + part.places.nbytes + _ENTRY_BYTES
        )
        sizes = [group.column_bytes() for group in groups]
        # the groups' columns and the joined ones exist at the same time
        self._fits = all(size is not None for size in sizes) and 2 * sum(filter(None, sizes)) <= limit_bytes
        self._whole: GroupColumns | None = None

    def read(self, columns: NDArray[np.int64]) -> GroupColumns:
        wanted = columns.tolist()
        if self._fits:
            return self._of_whole(wanted)
        found = {column: self._kept.get(column) for column in wanted}
        missing = [column for column, kept in found.items() if kept is None]
        if missing:
            for column, fresh in zip(missing, self._fetch(missing), strict=True):
                found[column] = fresh
                _keep(self._kept, column, fresh)
        return _joined([part for column in wanted if (part := found[column]) is not None])

    def _of_whole(self, wanted: list[int]) -> GroupColumns:
        if self._whole is None:
            self._whole = self._all()
        whole = self._whole
        bounds = [(int(whole.starts[column]), int(whole.starts[column + 1])) for column in wanted]
        return _joined([_sparse(whole.data[start:stop], whole.places[start:stop]) for start, stop in bounds])

    def _all(self) -> GroupColumns:
        columns = np.arange(self._groups[0].n_features)
        parts = self._parts(columns)
        counts = [np.diff(part.indptr) for part in parts]
        starts = np.concatenate([[0], np.cumsum(np.sum(counts, axis=0))])
        data = np.empty(starts[-1], dtype=parts[0].data.dtype)
        places = np.empty(starts[-1], dtype=np.int32)
        free = starts[:-1].copy()
        for part, count, offset in zip(parts, counts, self._offsets, strict=False):
            targets = np.arange(part.data.size) + np.repeat(free - part.indptr[:-1], count)
            data[targets], places[targets] = part.data, part.indices + np.int32(offset)
            free += count
        return GroupColumns(data, places, starts, False, data.size)

    def _fetch(self, columns: list[int]) -> Iterator[GroupColumns]:
        parts = self._parts(np.array(columns, dtype=np.int64))
        for place in range(len(columns)):
            spans = [slice(part.indptr[place], part.indptr[place + 1]) for part in parts]
            data = np.concatenate([part.data[span] for part, span in zip(parts, spans, strict=True)])
            places = np.concatenate(
                [
                    part.indices[span] + np.int32(offset)
                    for part, span, offset in zip(parts, spans, self._offsets, strict=False)
                ]
            )
            yield _sparse(data, places)

    def _parts(self, columns: NDArray[np.int64]) -> list[SparseRows]:
        return [part for group in self._groups if isinstance(part := group.columns(columns), SparseRows)]


def column_reader(
    groups: list[AbstractGroup], offsets: NDArray[np.int64], limit_bytes: int, dtype: np.dtype[Any]
) -> AbstractColumnReader:
    """Return a reader for the data; raises like :meth:`~distkern.core.types.AbstractGroup.columns`."""
    if isinstance(groups[0].columns(np.zeros(1, dtype=np.int64)), SparseRows):
        return SparseColumnReader(groups, offsets, limit_bytes)
    return DenseColumnReader(groups, offsets, limit_bytes, dtype)


def _sparse(data: Floats, places: NDArray[np.int32]) -> GroupColumns:
    """One sparse column."""
    return GroupColumns(data, places, np.array([0, data.size]), False, data.size)


def _joined(parts: list[GroupColumns]) -> GroupColumns:
    """Concatenate sparse columns."""
    if len(parts) == 1:
        return parts[0]
    starts = np.concatenate([[0], np.cumsum([part.data.size for part in parts])]).astype(np.int64)
    data = np.concatenate([part.data for part in parts])
    return GroupColumns(data, np.concatenate([part.places for part in parts]), starts, False, data.size)


class RowReader:
    """Reads single rows of groups, which are given by number, and caches the last ones."""

    def __init__(self, groups: dict[int, AbstractGroup]) -> None:
        self._groups = groups
        self._kept: LRU[tuple[int, int], Rows] = LRU(
            ROW_BYTES, {}, weight=lambda _, row: row.nbytes + _ENTRY_BYTES
        )

    def read(self, group: int, place: int) -> Rows:
        """One row, (1, n_features)."""
        row = self._kept.get((group, place))
        if row is None:
            row = self._groups[group].rows(np.array([place], dtype=np.int64))
            _keep(self._kept, (group, place), row)
        return row
