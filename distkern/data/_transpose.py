"""Write the feature-major copy group by group, in memory independent of rows and groups."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.data.dataset import Dataset, Split
from distkern.data.feature_major import FILE, ColumnsManifest, GroupEntry
from distkern.data.manifest import ShardEntry
from distkern.data.spool import ParkedFile
from distkern.data.store._zarr import RowsWriter, create_group
from distkern.data.store.atomic import write_text_atomic
from distkern.data.store.places import Place, disk_full, free_bytes
from distkern.data.writer import write_sparse

#: an entry of sparse rows
_ENTRY = np.dtype([("column", np.int32), ("row", np.int32), ("value", np.float32)])
_LOW_BITS = 16
_TILE = 256
#: most entries of a sparse group to sort at a time
_MOST_ENTRIES = 2**22
#: most columns of a sparse block
_MOST_COLUMNS = 2**20
#: most bytes of a block of dense columns, which has at least one column
_BLOCK_BYTES = 8 * 2**20
#: most features of sparse data, as entries per column are counted in memory, 4 bytes each
MOST_FEATURES = 2**25

#: called with the activity, finished rows, finished bytes of features, and total rows
Progress = Callable[[str, int, int, int | None], None]


def write_columns(dataset: Dataset, folder: Path, target: Place, progress: Progress) -> None:
    """Write the copy of the training rows into ``folder``, which must not exist or be empty.

    Memory does not grow with rows: a dense group takes about 64 MiB and a few shards, a sparse one about 150
    MiB, a few shards and 16 bytes per feature. A group is parked on disk, each of its shards sorted by
    columns, and assembled a block of columns at a time. Raises :class:`InputError` if the disk is full, or
    there are too many features; and :class:`CorruptDataError` if a shard is missing or changed.

    Parameters
    ----------
    target : data set or copy to name in error messages
    """
    split = dataset.train
    if dataset.is_sparse and dataset.n_features > MOST_FEATURES:
        raise InputError(
            f"{dataset.n_features:,} features; a feature-major copy holds at most {MOST_FEATURES:,}",
            where=str(target),
            hint="renumber the features without unused ones, or leave out --columns",
        )
    _check_room(split, folder, target)
    create_group(folder)
    groups = []
    done = 0
    n_groups = len(split.groups)
    for number, blocks in enumerate(split.groups):

        def on_shard(rows: int, what: str = f"writing columns, group {number + 1:,} of {n_groups:,}") -> None:
            nonlocal done
            done += rows
            progress(what, done, done * split.row_bytes, split.n_rows)

        transpose = _sparse_group if dataset.is_sparse else _dense_group
        groups.append(transpose(split, blocks, folder / str(number), on_shard))
    manifest = ColumnsManifest(dataset.fingerprint, dataset.n_features, tuple(groups))
    write_text_atomic(folder / FILE, manifest.to_text())


def _check_room(split: Split, folder: Path, target: Place) -> None:
    needed = parked = 0
    for blocks in split.groups:
        rows, entries = sum(split.block_rows[block] for block in blocks), split.entries_of(blocks)
        if split.is_sparse:
            needed += 8 * (entries + split.n_features)
            parked = max(parked, 12 * entries)
        else:
            per_block = _columns_of_a_block(split.n_features, rows)
            needed += 4 * rows * per_block * -(-split.n_features // per_block)
            parked = max(parked, 4 * entries)
    if needed + parked > free_bytes(folder):
        raise disk_full(target, needed + parked)


def _columns_of_a_block(n_features: int, n_rows: int) -> int:
    # spread evenly, as the last block is stored at full size
    n_blocks = -(-n_features // max(1, _BLOCK_BYTES // (4 * n_rows)))
    return -(-n_features // n_blocks)


def _dense_group(
    split: Split, blocks: tuple[int, ...], folder: Path, on_shard: Callable[[int], None]
) -> GroupEntry:
    n_features, sizes = split.n_features, [split.block_rows[block] for block in blocks]
    n_rows = sum(sizes)
    per_block = _columns_of_a_block(n_features, n_rows)
    create_group(folder)
    writer = RowsWriter(folder / "features", (n_rows,), per_block, np.float32, n_features)
    entries = []
    with ParkedFile(folder.with_name(f".{folder.name}.columns")) as parked:
        for block, size in zip(blocks, sizes, strict=True):
            parked.append(_transposed(np.asarray(split.reader(block)().features)))
            on_shard(size)
        for first in range(0, n_features, per_block):
            columns = np.empty((min(per_block, n_features - first), n_rows), dtype=np.float32)
            start = 0
            for size in sizes:
                # a shard is parked as its columns, one after the other
                offset = 4 * (start * n_features + first * size)
                values = parked.read(offset, np.float32, len(columns) * size)
                columns[:, start : start + size] = values.reshape(-1, size)
                start += size
            checksum = writer.write(first // per_block, columns)
            entries.append(ShardEntry(len(columns), checksum, None, None))
    return GroupEntry(n_rows, tuple(entries))


def _transposed(rows: NDArray[Any]) -> NDArray[Any]:
    columns = np.empty(rows.shape[::-1], dtype=np.float32)
    # tiles fit the processor's cache
    for row in range(0, rows.shape[0], _TILE):
        for column in range(0, rows.shape[1], _TILE):
            tile = rows[row : row + _TILE, column : column + _TILE]
            columns[column : column + _TILE, row : row + _TILE] = tile.T
    return columns


def _sparse_group(
    split: Split, blocks: tuple[int, ...], folder: Path, on_shard: Callable[[int], None]
) -> GroupEntry:
    n_rows = 0
    counts = np.zeros(split.n_features, dtype=np.int32)
    create_group(folder)
    create_group(folder / "features")
    groups = []
    with ParkedFile(folder.with_name(f".{folder.name}.entries")) as parked:
        runs = []
        for block in blocks:
            features = split.reader(block)().features
            assert isinstance(features, SparseRows)
            entries = _by_column(features, n_rows)
            columns, _, lengths = _occurring(entries)
            counts[columns] += lengths.astype(np.int32)
            runs.append(_Run(parked, entries))
            n_rows += len(features)
            on_shard(len(features))
            # before the next shard is read
            del features, entries
        for number, (first, stop) in enumerate(_ranges(counts)):
            some = _merged(runs, counts[first:stop], first, stop, n_rows)
            checksums = write_sparse(folder / "features" / str(number), some)
            groups.append(ShardEntry(stop - first, checksums, None, None, some.n_entries))
            on_shard(0)
    return GroupEntry(n_rows, tuple(groups))


def _by_column(features: SparseRows, first_row: int) -> NDArray[Any]:
    """Return the entries (n_entries,) of rows numbered from ``first_row``, sorted by column."""
    rows = features.row_of_entries.astype(np.int32) + np.int32(first_row)
    # NumPy sorts 16-bit numbers in linear time
    order = np.argsort((features.indices & (2**_LOW_BITS - 1)).astype(np.uint16), kind="stable")
    if features.n_features > 2**_LOW_BITS:
        high = (features.indices >> _LOW_BITS).astype(np.uint16)[order]
        order = order[np.argsort(high, kind="stable")]
    entries = np.empty(len(order), dtype=_ENTRY)
    entries["column"] = features.indices[order]
    entries["value"] = features.data[order]
    entries["row"] = rows[order]
    return entries


class _Run:
    """Entries sorted by columns, parked in a file and read back column by column."""

    def __init__(self, parked: ParkedFile, entries: NDArray[Any]) -> None:
        self._parked, self._offset = parked, parked.n_bytes
        self._next, self._n_entries = 0, len(entries)
        parked.append(entries)

    def read(self, stop: int) -> NDArray[Any]:
        """Return the entries before column ``stop`` that have not been read yet."""
        start = self._next
        self._next = bisect_left(range(self._n_entries), stop, start, key=self._column)
        return self._read(start, self._next - start)

    def _column(self, number: int) -> int:
        return int(self._read(number, 1)["column"][0])

    def _read(self, start: int, count: int) -> NDArray[Any]:
        return self._parked.read(self._offset + start * _ENTRY.itemsize, _ENTRY, count)


def _ranges(counts: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Yield ranges (first, stop) of columns with at most :data:`_MOST_ENTRIES` entries, or of one column."""
    first = 0
    while first < len(counts):
        ends = np.cumsum(counts[first : first + _MOST_COLUMNS], dtype=np.int64)
        stop = first + max(1, int(np.searchsorted(ends, _MOST_ENTRIES, side="right")))
        yield first, stop
        first = stop


def _merged(
    runs: Sequence[_Run], counts: NDArray[np.int32], first: int, stop: int, n_rows: int
) -> SparseRows:
    """Return columns ``first : stop`` of all runs as rows, with increasing indices."""
    indptr = np.append(0, np.cumsum(counts, dtype=np.int64))
    data = np.empty(indptr[-1], dtype=np.float32)
    rows = np.empty(indptr[-1], dtype=np.int32)
    following = indptr[:-1].copy()
    for run in runs:
        entries = run.read(stop)
        columns, starts, lengths = _occurring(entries)
        columns -= first
        places = np.repeat(following[columns] - starts, lengths) + np.arange(len(entries))
        data[places], rows[places] = entries["value"], entries["row"]
        following[columns] += lengths
    return SparseRows(data, rows, indptr, n_rows)


def _occurring(entries: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns among sorted entries, the start of each, and its number of entries."""
    starts = np.flatnonzero(np.diff(entries["column"], prepend=-1))
    return entries["column"][starts], starts, np.diff(starts, append=len(entries))
