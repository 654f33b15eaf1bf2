"""Writes the feature-major copy, group by group, in memory that grows with neither rows nor groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.common.sparse import SparseRows
from distkern.storage import chunks
from distkern.storage._sharded import AppendingWriter, Layout, PlacedWriter
from distkern.storage._spill import ColumnRun, Spill, by_column
from distkern.storage.atomic import disk_full, free_bytes, write_text_atomic
from distkern.storage.columns import (
    ENDS_PER_CHUNK,
    ENTRIES_PER_CHUNK,
    FILE,
    ColumnsManifest,
    GroupEntry,
    dense_layout,
    ends_layout,
    entries_layout,
)
from distkern.storage.dataset import Dataset, Split
from distkern.storage.places import Place

#: rows are transposed in pieces of this size, or of one shard if that is larger
_PIECE_BYTES = 64 * 2**20
_TILE = 256
#: entries of a sparse group that are put in order at a time
_MOST_ENTRIES = 2**22
#: columns whose ends are written at a time
_MOST_ENDS = 2**20
#: entries per column are counted in memory, 4 bytes each
MOST_FEATURES = 2**25

#: called with what is being done, rows done, bytes of features done and rows in all
Progress = Callable[[str, int, int, int | None], None]


def write_columns(dataset: Dataset, folder: Path, target: Place, progress: Progress) -> None:
    """Write the copy of the training rows into ``folder``, which must not exist or be empty.

    Memory does not grow with rows: a dense group takes about 64 MiB and a few shards, a sparse one about
    150 MiB, a few shards and 16 bytes a feature. The entries of a sparse group that has more than fit are
    parked on disk and put in order a range of columns at a time.

    Parameters
    ----------
    target : of the data set or the copy, as error messages name it

    Raises
    ------
    InputError
        If the disk has no room, or there are too many features.
    CorruptDataError
        If a shard is missing or changed.
    """
    split = dataset.train
    if dataset.is_sparse and dataset.n_features > MOST_FEATURES:
        raise InputError(
            f"{dataset.n_features:,} features, where a feature-major copy has room for {MOST_FEATURES:,}",
            where=str(target),
            mend="number the features anew, leaving out those that do not occur, or do without --columns",
        )
    _check_room(split, folder, target)
    chunks.create_group(folder)
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
        rows = sum(split.block_rows[block] for block in blocks)
        if split.is_sparse:
            entries = split.entries_of(blocks)
            needed += 2 * entries_layout(entries).stored_bytes + ends_layout(split.n_features).stored_bytes
            if entries > _MOST_ENTRIES:
                parked = max(parked, 12 * entries)
        else:
            needed += dense_layout(split.n_features, rows).stored_bytes
    if needed + parked > free_bytes(folder):
        raise disk_full(target, needed + parked)


def _dense_group(
    split: Split, blocks: tuple[int, ...], folder: Path, on_shard: Callable[[int], None]
) -> GroupEntry:
    n_rows = sum(split.block_rows[block] for block in blocks)
    layout = dense_layout(split.n_features, n_rows)
    shape = (split.n_features, n_rows)
    chunks.create_sharded_array(folder, shape, (1, n_rows), (layout.per_file, n_rows), np.float32)
    writer = PlacedWriter(lambda file: chunks.chunk_file(folder, file, 0), layout)
    start = 0
    for piece in _pieces(split, blocks):
        size = sum(split.block_rows[block] for block in piece)
        columns = np.empty((split.n_features, size), dtype=np.float32)
        filled = 0
        for block in piece:
            rows = np.asarray(split.reader(block)().features)
            _transpose_into(columns[:, filled : filled + len(rows)], rows)
            filled += len(rows)
            on_shard(len(rows))
            del rows
        writer.write(4 * start, columns)
        start += size
    return GroupEntry(n_rows, None, {"values": writer.close()})


def _pieces(split: Split, blocks: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Consecutive blocks that are transposed together."""
    piece: list[int] = []
    rows = 0
    most = _PIECE_BYTES // (4 * split.n_features)
    for block in blocks:
        if piece and rows + split.block_rows[block] > most:
            yield tuple(piece)
            piece, rows = [], 0
        piece.append(block)
        rows += split.block_rows[block]
    yield tuple(piece)


def _transpose_into(columns: NDArray[Any], rows: NDArray[Any]) -> None:
    # in tiles that fit the processor's cache
    for row in range(0, rows.shape[0], _TILE):
        for column in range(0, rows.shape[1], _TILE):
            tile = rows[row : row + _TILE, column : column + _TILE]
            columns[column : column + _TILE, row : row + _TILE] = tile.T


def _sparse_group(
    split: Split, blocks: tuple[int, ...], folder: Path, on_shard: Callable[[int], None]
) -> GroupEntry:
    n_rows = sum(split.block_rows[block] for block in blocks)
    n_entries = split.entries_of(blocks)
    layouts = GroupEntry(n_rows, n_entries, {}).layouts(split.n_features)
    writers = _make_arrays(folder, layouts, (split.n_features, n_rows), n_entries)
    counts = np.zeros(split.n_features, dtype=np.int32)
    runs: list[ColumnRun] | Spill = []
    try:
        with ExitStack() as stack:
            if n_entries > _MOST_ENTRIES:
                runs = stack.enter_context(Spill(folder.with_name(f".{folder.name}.entries")))
            for block, run in zip(blocks, _runs(split, blocks), strict=True):
                runs.append(run)
                run.count(counts)
                on_shard(split.block_rows[block])
            _write_ends(counts, writers["indptr"])
            # those of a list are in one range
            for first, stop, entries in _ranges(counts):
                parts = runs if isinstance(runs, list) else runs.read(stop)
                _write_merged(parts, entries, counts[first:stop], first, writers)
                on_shard(0)
        checksums = {name: writer.close() for name, writer in writers.items()}
    finally:
        for writer in writers.values():
            writer.abandon()
    return GroupEntry(n_rows, n_entries, checksums)


def _make_arrays(
    folder: Path, layouts: dict[str, Layout], shape: tuple[int, int], n_entries: int
) -> dict[str, AppendingWriter]:
    """The arrays of anndata's csc_matrix layout: rows of a group are its rows, not its columns."""
    attributes = {"encoding-type": "csc_matrix", "encoding-version": "0.1.0", "shape": [shape[1], shape[0]]}
    chunks.create_group(folder, attributes)
    writers = {}
    for name, size, per_chunk, dtype in (
        ("data", n_entries, ENTRIES_PER_CHUNK, np.float32),
        ("indices", n_entries, ENTRIES_PER_CHUNK, np.int32),
        ("indptr", shape[0] + 1, ENDS_PER_CHUNK, np.int64),
    ):
        per_file = layouts[name].per_file * per_chunk
        chunks.create_sharded_array(folder / name, (size,), (per_chunk,), (per_file,), dtype)
        writers[name] = AppendingWriter(folder / name, layouts[name], dtype)
    return writers


def _runs(split: Split, blocks: tuple[int, ...]) -> Iterator[ColumnRun]:
    """The entries of each shard of a group, in the order of their columns."""
    start = 0
    for block in blocks:
        features = split.reader(block)().features
        assert isinstance(features, SparseRows)
        yield by_column(features, start)
        start += len(features)


def _ranges(counts: NDArray[np.int32]) -> Iterator[tuple[int, int, int]]:
    """Consecutive columns with at most :data:`_MOST_ENTRIES` entries, or one: first, stop and entries."""
    first = 0
    while first < len(counts):
        total, stop = 0, first
        while stop < len(counts):
            ends = np.cumsum(counts[stop : stop + _MOST_ENDS], dtype=np.int64) + total
            fitting = int(np.searchsorted(ends, _MOST_ENTRIES, side="right"))
            if fitting:
                total = int(ends[fitting - 1])
            stop += fitting
            if fitting < len(ends):
                break
        if stop == first:
            total, stop = int(counts[first]), first + 1
        yield first, stop, total
        first = stop


def _write_ends(counts: NDArray[np.int32], writer: AppendingWriter) -> None:
    total = 0
    writer.append(np.zeros(1, dtype=np.int64))
    for start in range(0, len(counts), _MOST_ENDS):
        ends = np.cumsum(counts[start : start + _MOST_ENDS], dtype=np.int64) + total
        writer.append(ends)
        total = int(ends[-1])


def _write_merged(
    runs: Iterable[ColumnRun],
    n_entries: int,
    counts: NDArray[np.int32],
    first: int,
    writers: dict[str, AppendingWriter],
) -> None:
    """Put runs, each in the order of its columns from ``first`` on, into one: a column's rows increase."""
    data = np.empty(n_entries, dtype=np.float32)
    rows = np.empty(n_entries, dtype=np.int32)
    following = np.cumsum(counts, dtype=np.int64) - counts
    for run in runs:
        columns, starts, lengths = run.occurring()
        columns = columns - first
        places = np.repeat(following[columns] - starts, lengths) + np.arange(len(run.columns))
        data[places] = run.data
        rows[places] = run.rows
        following[columns] += lengths
    writers["data"].append(data)
    writers["indices"].append(rows)
