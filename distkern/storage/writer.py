"""Writes the shards of a data set under construction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.held_out import Keys
from distkern.common.sparse import Rows, SparseRows, count_nonzero
from distkern.formats.base import CHUNK_BYTES
from distkern.storage import chunks
from distkern.storage._shard import Placed, scaled_rows, write_sparse, zero_rows
from distkern.storage.manifest import SOURCE_ROWS, ShardEntry, SplitEntry
from distkern.storage.scaling import Scaling
from distkern.storage.spool import RunPiece, Spool

SHARD_BYTES = 16 * 2**20
SMALLEST_SHARD_BYTES = 2**20
FEWEST_SHARDS = 8


def rows_of_a_shard(n_rows: int, n_features: int) -> int:
    """How many rows a shard gets by default.

    At most 16 MiB of float32 features: tasks on a cluster read at full speed from about 10 MB on, and a
    worker that holds a few shards stays far below any sensible limit. The number of shards is a multiple of
    8, so that 2, 4 or 8 workers finish together; below 8 MiB it is a power of two that keeps shards at 1 MiB,
    where overhead per task would dominate. Rows are spread evenly: the last shard is not a small remainder.

    ``n_features`` is the numbers of four bytes that a row takes: its features, or what
    :func:`numbers_of_a_row` says of sparse rows.

    >>> rows_of_a_shard(464_809, 54)
    58102
    """
    total = n_rows * 4 * n_features
    n_shards = -(-total // SHARD_BYTES)
    if total >= FEWEST_SHARDS * SMALLEST_SHARD_BYTES:
        n_shards = -(-n_shards // FEWEST_SHARDS) * FEWEST_SHARDS
    else:
        n_shards = 2 ** (max(1, total // SMALLEST_SHARD_BYTES).bit_length() - 1)
    return max(1, -(-n_rows // n_shards))


def numbers_of_a_row(n_rows: int, n_entries: int) -> int:
    """Numbers of four bytes of a mean sparse row: a value and a column for each entry, two for its end."""
    return 2 + -(-2 * n_entries // max(n_rows, 1))


def shard_sizes(n_rows: int, rows_per_shard: int) -> list[int]:
    """Rows of each shard, all full but the last."""
    full, rest = divmod(n_rows, rows_per_shard)
    return [rows_per_shard] * full + ([rest] if rest else [])


def stored_bytes(n_rows: int, n_features: int, rows_per_shard: int, target_bytes: int) -> int:
    """Bytes of a split's chunks on disk: every chunk is stored full."""
    n_shards = -(-n_rows // rows_per_shard)
    return n_shards * (rows_per_shard * (4 * n_features + target_bytes + 8) + 3 * chunks.CRC_BYTES)


def write_split(
    folder: Path,
    spool: Spool,
    plan: Iterable[list[RunPiece]],
    sizes: list[int],
    *,
    n_features: int,
    is_sparse: bool,
    rows_per_shard: int,
    scaling: Scaling,
    target_type: str | None,
    encode: Callable[[NDArray[Any]], NDArray[Any]],
    n_classes: int | None,
    on_shard: Callable[[int, int], None],
    beside: Mapping[str, DTypeLike],
    of_table: Callable[[Rows, Keys | None], Rows] | None = None,
) -> SplitEntry:
    """Gather, scale and write every shard of a split; returns its entry for the manifest.

    ``beside`` names what else is stored of each row: "weights", "group_keys". ``of_table`` makes features of
    rows of a table, with the keys of their groups. ``on_shard`` is called with the rows of each shard and how
    many of them are all zeros.

    Raises
    ------
    InputError
        If a scaled value does not fit float32.
    """
    from distkern.storage._zarr import RowsWriter, create_group

    n_rows = sum(sizes)
    create_group(folder)
    features_array = None
    if is_sparse:
        create_group(folder / "features")
    else:
        features_array = RowsWriter(folder / "features", (n_features,), rows_per_shard, np.float32, n_rows)
    target_array = None
    if target_type is not None:
        target_array = RowsWriter(folder / "targets", (), rows_per_shard, target_type, n_rows)
    beside_arrays = {
        name: RowsWriter(folder / name, (), rows_per_shard, dtype, n_rows) for name, dtype in beside.items()
    }
    numbers_array = RowsWriter(folder / SOURCE_ROWS, (), rows_per_shard, np.int64, n_rows)
    entries: list[ShardEntry] = []
    for index, (rows, pieces) in enumerate(zip(sizes, plan, strict=True)):
        targets = None if target_type is None else np.empty(rows, dtype=target_type)
        numbers = np.empty(rows, dtype=np.int64)
        others: dict[str, NDArray[Any]] = {name: np.empty(rows, dtype) for name, dtype in beside.items()}
        placed = _gathered(
            spool, pieces, n_features, encode, targets, numbers, others, is_table=of_table is not None
        )
        if of_table is not None:
            placed = _encoded(placed, rows, n_features, of_table, others.get("group_keys"))
        features = scaled_rows(placed, (rows, n_features), scaling, folder.name, is_sparse=is_sparse)
        checksums: int | tuple[int, ...]
        if isinstance(features, SparseRows):
            checksums = write_sparse(folder / "features" / str(index), features)
        else:
            assert features_array is not None
            checksums = features_array.write(index, features)
        stored = {name: beside_arrays[name].write(index, values) for name, values in others.items()}
        entries.append(
            ShardEntry(
                rows,
                checksums,
                None if targets is None or target_array is None else target_array.write(index, targets),
                None
                if targets is None or n_classes is None
                else tuple(int(count) for count in np.bincount(targets, minlength=n_classes)),
                features.n_entries if isinstance(features, SparseRows) else None,
                numbers_array.write(index, numbers),
                count_nonzero(features),
                stored.get("weights"),
                *_weighed(targets, others.get("weights"), n_classes),
                stored.get("group_keys"),
            )
        )
        on_shard(rows, zero_rows(features))
    return SplitEntry(rows_per_shard, tuple(entries))


def _gathered(
    spool: Spool,
    pieces: list[RunPiece],
    n_features: int,
    encode: Callable[[NDArray[Any]], NDArray[Any]],
    targets: NDArray[Any] | None,
    numbers: NDArray[np.int64],
    others: Mapping[str, NDArray[Any]],
    *,
    is_table: bool,
) -> Iterator[Placed]:
    """The rows of a shard, a piece in memory at a time; ``targets``, ``numbers``, ``others`` are filled on
    the way, with those of a piece before it."""
    for piece in pieces:
        values, raw_targets = spool.read(piece.run, piece.start, piece.rows)
        numbers[piece.positions] = spool.numbers(piece.run, piece.start, piece.rows)
        if targets is not None and raw_targets is not None:
            targets[piece.positions] = encode(raw_targets)
        if raw_targets is not None:
            for name, found in others.items():
                found[piece.positions] = raw_targets[name]
        yield piece.positions, values if is_table else widened(values, n_features)


def targets_of(beside: NDArray[Any] | None) -> NDArray[Any]:
    """The targets among what a spool keeps beside the features."""
    assert beside is not None
    targets: NDArray[Any] = beside if beside.dtype.names is None else beside["targets"]
    return targets


def _weighed(
    targets: NDArray[Any] | None, weights: NDArray[np.float64] | None, n_classes: int | None
) -> tuple[tuple[float, ...] | None, tuple[float, ...] | None]:
    """The sum of the weights and the largest one, for each class, or for all rows."""
    if weights is None or targets is None:
        return None, None
    codes = np.zeros(len(weights), dtype=np.intp) if n_classes is None else targets
    totals = np.bincount(codes, weights=weights, minlength=n_classes or 1)
    largest = np.zeros(n_classes or 1)
    np.maximum.at(largest, codes, weights)
    return tuple(totals.tolist()), tuple(largest.tolist())


def _encoded(
    placed: Iterable[Placed],
    n_rows: int,
    n_features: int,
    of_table: Callable[[Rows, Keys | None], Rows],
    keys: Keys | None,
) -> Iterator[Placed]:
    """The rows of a shard as features, a few at a time: those take more room than what they are made of."""
    step = max(1, CHUNK_BYTES // (8 * n_features))
    for positions, values in placed:
        where = np.arange(*positions.indices(n_rows)) if isinstance(positions, slice) else positions
        for start in range(0, len(values), step):
            part = where[start : start + step]
            yield part, of_table(values[start : start + step], None if keys is None else keys[part])


def widened(features: Rows, width: int) -> Rows:
    """The rows with columns of zeros added up to ``width``."""
    if isinstance(features, SparseRows):
        return features.widened(width)
    missing = width - features.shape[1]
    return np.pad(features, ((0, 0), (0, missing))) if missing > 0 else features
