"""Single rows and columns of some groups, with the few that were read last kept in memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.bases.random_features import RandomFeatureBasis
from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import AbstractGroup, Block, Floats, Indices

#: of the columns and of the rows that a process keeps
COLUMN_BYTES = 64 * 2**20
ROW_BYTES = 8 * 2**20
#: of an entry of a cache, beside its numbers
_ENTRY_BYTES = 500

Kept = TypeVar("Kept")


class LastUsed(Generic[Kept]):
    """What was used last, up to some bytes.

    Parameters
    ----------
    limit_bytes : of all that is kept
    """

    def __init__(self, limit_bytes: int) -> None:
        self._limit, self._bytes = limit_bytes, 0
        self._kept: OrderedDict[Any, tuple[Kept, int]] = OrderedDict()

    def get(self, key: Any) -> Kept | None:
        """What was kept under a key, if it still is."""
        found = self._kept.get(key)
        if found is None:
            return None
        self._kept.move_to_end(key)
        return found[0]

    def put(self, key: Any, value: Kept, n_bytes: int) -> None:
        """Keep a value, unless it would take more than a quarter of the room."""
        size = n_bytes + _ENTRY_BYTES
        if 4 * size > self._limit:
            return
        self._kept[key] = value, size
        self._bytes += size
        while self._bytes > self._limit:
            _, (_, freed) = self._kept.popitem(last=False)
            self._bytes -= freed


@dataclass(frozen=True)
class Columns:
    """Columns of consecutive groups, one after the other.

    Attributes
    ----------
    data : numbers, all of dense columns, or those that are not zero
    places : int32 row of each number; empty for dense columns
    starts : (n_columns + 1,) int64, where each begins
    dense : whether all numbers are there
    """

    data: Floats
    places: NDArray[np.int32]
    starts: NDArray[np.int64]
    dense: bool


_NO_PLACES = np.empty(0, dtype=np.int32)


class ColumnReader:
    """Columns of consecutive groups as if they were one: all are read at once where there is room for them.

    Parameters
    ----------
    groups : with the rows of each numbered from its offset on
    offsets : (n_groups + 1,)
    limit_bytes : of what is kept, and of what making it takes
    """

    def __init__(self, groups: list[AbstractGroup], offsets: NDArray[np.int64], limit_bytes: int) -> None:
        self._groups, self._offsets = groups, offsets.tolist()
        self._kept: LastUsed[Columns] = LastUsed(limit_bytes)
        sizes = [group.column_bytes() for group in groups]
        # the groups' own columns and the joined ones are there at the same time
        self._fits = all(size is not None for size in sizes) and 2 * sum(filter(None, sizes)) <= limit_bytes
        self._whole: Columns | None = None

    def read(self, columns: NDArray[np.int64]) -> Columns:
        """The given columns, in that order; one may come twice."""
        wanted = columns.tolist()
        if self._fits:
            return self._of_whole(wanted)
        found = {column: self._kept.get(column) for column in wanted}
        missing = [column for column, kept in found.items() if kept is None]
        if missing:
            for column, fresh in zip(missing, self._fetch(missing), strict=True):
                found[column] = fresh
                self._kept.put(column, fresh, fresh.data.nbytes + fresh.places.nbytes)
        parts = [part for column in wanted if (part := found[column]) is not None]
        return _joined(parts)

    def _of_whole(self, wanted: list[int]) -> Columns:
        if self._whole is None:
            self._whole = self._all()
        whole = self._whole
        bounds = [(int(whole.starts[column]), int(whole.starts[column + 1])) for column in wanted]
        return _joined([
            Columns(whole.data[start:stop], whole.places[start:stop], np.array([0, stop - start]), False)
            for start, stop in bounds
        ])  # fmt: skip

    def _all(self) -> Columns:
        columns = np.arange(self._groups[0].n_features)
        parts = [part for group in self._groups if isinstance(part := group.columns(columns), SparseRows)]
        counts = [np.diff(part.indptr) for part in parts]
        starts = np.concatenate([[0], np.cumsum(np.sum(counts, axis=0))])
        data = np.empty(starts[-1], dtype=parts[0].data.dtype)
        places = np.empty(starts[-1], dtype=np.int32)
        free = starts[:-1].copy()
        for part, count, offset in zip(parts, counts, self._offsets, strict=False):
            targets = np.arange(part.data.size) + np.repeat(free - part.indptr[:-1], count)
            data[targets], places[targets] = part.data, part.indices + np.int32(offset)
            free += count
        return Columns(data, places, starts, False)

    def _fetch(self, columns: list[int]) -> Iterator[Columns]:
        numbers = np.array(columns, dtype=np.int64)
        parts = [group.columns(numbers) for group in self._groups]
        for place in range(len(columns)):
            sparse = [part for part in parts if isinstance(part, SparseRows)]
            if sparse:
                spans = [slice(part.indptr[place], part.indptr[place + 1]) for part in sparse]
                data = np.concatenate([part.data[span] for part, span in zip(sparse, spans, strict=True)])
                places = np.concatenate([
                    part.indices[span] + np.int32(offset)
                    for part, span, offset in zip(sparse, spans, self._offsets, strict=False)
                ])  # fmt: skip
                yield Columns(data, places, np.array([0, data.size]), False)
            else:
                values = np.concatenate([part[place] for part in parts if not isinstance(part, SparseRows)])
                yield Columns(values, _NO_PLACES, np.array([0, values.size]), True)


def _joined(parts: list[Columns]) -> Columns:
    """Columns one after the other."""
    if len(parts) == 1:
        return parts[0]
    starts = np.concatenate([[0], np.cumsum([part.data.size for part in parts])]).astype(np.int64)
    return Columns(
        np.concatenate([part.data for part in parts]),
        np.concatenate([part.places for part in parts]), starts, parts[0].dense,
    )  # fmt: skip


class RowReader:
    """Single rows of groups.

    Parameters
    ----------
    groups : by number
    """

    def __init__(self, groups: dict[int, AbstractGroup]) -> None:
        self._groups = groups
        self._kept: LastUsed[Rows] = LastUsed(ROW_BYTES)

    def read(self, group: int, place: int) -> Rows:
        """One row, (1, n_features)."""
        row = self._kept.get((group, place))
        if row is None:
            row = self._groups[group].rows(np.array([place], dtype=np.int64))
            self._kept.put((group, place), row, row.nbytes)
        return row


class FeatureGroup(AbstractGroup):
    """The features of a group: columns are made of all its rows, rows are those of the data.

    Parameters
    ----------
    group : of the data
    basis : the features
    """

    def __init__(self, group: AbstractGroup, basis: RandomFeatureBasis) -> None:
        self._group, self._basis = group, basis
        self.n_rows, self.n_features = group.n_rows, basis.size
        self.targets = group.targets

    def rows(self, positions: Indices) -> Rows:
        return self._group.rows(positions)

    def columns(self, columns: Indices) -> Rows:
        values: Floats = np.empty((len(columns), self.n_rows), dtype=self._basis.dtype)
        start = 0
        for block in self._group.blocks():
            values[:, start : start + block.n_rows] = self._basis.columns(block.features, columns)
            start += block.n_rows
        return values

    def blocks(self) -> Iterator[Block]:
        return self._group.blocks()


def with_features(group: AbstractGroup, basis: AbstractBasis | None) -> AbstractGroup:
    """The group itself, or that of its random features."""
    return FeatureGroup(group, basis) if isinstance(basis, RandomFeatureBasis) else group
