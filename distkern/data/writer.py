"""Write the shards of a data set under construction, dense or sparse."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.held_out import Keys
from distkern.core.sparse import Rows, SparseRows, count_nonzero, stacked
from distkern.data.formats.base import CHUNK_BYTES, first_not_finite
from distkern.data.manifest import ShardEntry, SplitEntry
from distkern.data.scaling import Scaling
from distkern.data.spool import RunPiece, Spool
from distkern.data.store.arrays import CRC_BYTES

SHARD_BYTES = 16 * 2**20
SMALLEST_SHARD_BYTES = 2**20
FEWEST_SHARDS = 8

#: anndata's name and version of the layout (its "Sparse arrays" on disk)
SPARSE_TYPE, SPARSE_VERSION = "csr_matrix", "0.1.0"

#: positions of rows in their shard, and the rows
Placed = tuple[NDArray[np.int64] | slice, Rows]


def rows_of_a_shard(n_rows: int, n_features: int) -> int:
    """Return the default number of rows of a shard.

    At most 16 MiB of float32 features: tasks on a cluster read at full speed from about 10 MB on, and a
    worker that holds a few shards stays far below any sensible limit. The number of shards is a multiple of
    8, so that 2, 4 or 8 workers finish together; below 8 MiB it is a power of two that keeps shards at 1 MiB,
    where overhead per task would dominate. Rows are spread evenly, so the last shard is not a small
    remainder.

    ``n_features`` is the number of 4-byte numbers of a row: its features, or :func:`numbers_of_a_row` for
    sparse rows.

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
    """Return the 4-byte numbers of a mean sparse row: value and column per entry, and two for its end."""
    return 2 + -(-2 * n_entries // max(n_rows, 1))


def shard_sizes(n_rows: int, rows_per_shard: int) -> list[int]:
    """Return the rows of each shard, all full but the last."""
    full, rest = divmod(n_rows, rows_per_shard)
    return [rows_per_shard] * full + ([rest] if rest else [])


def stored_bytes(n_rows: int, n_features: int, rows_per_shard: int, record_bytes: int) -> int:
    """Return the bytes of a split's chunks on disk, each stored at full size."""
    n_shards = -(-n_rows // rows_per_shard)
    return n_shards * (rows_per_shard * (4 * n_features + record_bytes) + 3 * CRC_BYTES)


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
    stored: list[str],
    mapping: NDArray[np.int32] | None,
    n_classes: int | None,
    on_shard: Callable[[int, int], None],
    of_table: Callable[[Rows, Keys | None], Rows] | None = None,
    fold_keys: Callable[[NDArray[Any]], Keys | None] | None = None,
) -> SplitEntry:
    """Gather, scale and write every shard of a split; return its entry for the manifest.

    Raises :class:`InputError` if a scaled value does not fit float32.

    Parameters
    ----------
    stored : fields of the spool's records to store, each in its own array
    mapping : class of each provisional code among the targets; None for numbers
    on_shard : called with the rows of each shard and the number of zero rows among them
    of_table : encodes rows of a table, given the keys of their folds
    fold_keys : returns these keys (n,) for n records, or None
    """
    from distkern.data.store._zarr import RowsWriter, create_group

    n_rows = sum(sizes)
    create_group(folder)
    features_array = None
    if is_sparse:
        create_group(folder / "features")
    else:
        features_array = RowsWriter(folder / "features", (n_features,), rows_per_shard, np.float32, n_rows)
    arrays = {
        name: RowsWriter(folder / name, (), rows_per_shard, spool.record[name], n_rows) for name in stored
    }
    entries: list[ShardEntry] = []
    for index, (rows, pieces) in enumerate(zip(sizes, plan, strict=True)):
        records = np.empty(rows, dtype=spool.record)
        placed = _gathered(spool, pieces, records)
        if of_table is not None:
            placed = _encoded(placed, records, n_features, of_table, fold_keys)
        features = scaled_rows(placed, (rows, n_features), scaling, folder.name, is_sparse=is_sparse)
        if mapping is not None:
            records["targets"] = mapping[records["targets"]]
        checksums: int | tuple[int, ...]
        if isinstance(features, SparseRows):
            checksums = write_sparse(folder / "features" / str(index), features)
        else:
            assert features_array is not None
            checksums = features_array.write(index, features)
        written: dict[str, Any] = {"targets_crc32c": None}
        for name, array in arrays.items():
            written[f"{name}_crc32c"] = array.write(index, np.ascontiguousarray(records[name]))
        totals, largest = _weighed(records, n_classes) if "weights" in stored else (None, None)
        counts = None if n_classes is None else np.bincount(records["targets"], minlength=n_classes)
        entries.append(
            ShardEntry(
                rows,
                checksums,
                class_counts=None if counts is None else tuple(counts.tolist()),
                entries=features.n_entries if isinstance(features, SparseRows) else None,
                nonzero=count_nonzero(features),
                weight_totals=totals,
                largest_weights=largest,
                **written,
            )
        )
        on_shard(rows, zero_rows(features))
    return SplitEntry(rows_per_shard, tuple(entries))


def _gathered(spool: Spool, pieces: list[RunPiece], records: NDArray[Any]) -> Iterator[Placed]:
    """Yield the rows of a shard, a piece in memory at a time; fill ``records`` with a piece's before
    yielding it.
    """
    # NumPy copies plain bytes four times as fast as records
    plain = records.view(f"V{records.itemsize}")
    for piece in pieces:
        rows, found = spool.read(piece.run, piece.start, piece.rows)
        plain[piece.positions] = found.view(plain.dtype)
        yield piece.positions, rows


def _encoded(
    placed: Iterable[Placed],
    records: NDArray[Any],
    n_features: int,
    of_table: Callable[[Rows, Keys | None], Rows],
    fold_keys: Callable[[NDArray[Any]], Keys | None] | None,
) -> Iterator[Placed]:
    """Encode the rows of a shard as features, a few at a time, since features take more room than rows.

    Records are filled as their rows are placed.
    """
    step = max(1, CHUNK_BYTES // (8 * n_features))
    for positions, values in placed:
        where = np.arange(*positions.indices(len(records))) if isinstance(positions, slice) else positions
        for start in range(0, len(values), step):
            part = where[start : start + step]
            keys = None if fold_keys is None else fold_keys(records[part])
            yield part, of_table(values[start : start + step], keys)


def scaled_rows(
    parts: Iterable[Placed], shape: tuple[int, int], scaling: Scaling, where: str, *, is_sparse: bool
) -> Rows:
    """Return the rows of a shard at their positions, scaled and in float32.

    Raises :class:`InputError` if a scaled value does not fit float32.

    Parameters
    ----------
    shape : shape of the shard; narrower rows are padded with zeros
    where : name of the rows in errors
    """
    rows: Rows
    if is_sparse:
        places = np.empty(shape[0], dtype=np.int64)
        gathered: list[Rows] = []
        filled = 0
        for positions, part in parts:
            gathered.append(widened(part, shape[1]))
            places[positions] = np.arange(filled, filled + len(part))
            filled += len(part)
        rows = scaling.apply_rows(stacked(gathered))[places]
    else:
        rows = np.empty(shape, dtype=np.float32)
        for positions, part in parts:
            rows[positions] = scaling.apply(np.asarray(widened(part, shape[1])))
    found = first_not_finite(rows)
    if found is not None:
        raise InputError(
            f"a value is too large for 32-bit numbers after scaling ({scaling.kind})",
            where=f"{where} rows, feature {found[1] + 1}",
            hint="give --scale minmax or divide the feature by a constant first",
        )
    return rows


def widened(features: Rows, width: int) -> Rows:
    """Return the rows padded with zero columns to ``width``."""
    if isinstance(features, SparseRows):
        return features.widened(width)
    missing = width - features.shape[1]
    return np.pad(features, ((0, 0), (0, missing))) if missing > 0 else features


def zero_rows(rows: Rows) -> int:
    """Return the number of rows with only zeros."""
    present = np.diff(rows.indptr) if isinstance(rows, SparseRows) else rows.any(axis=1)
    return len(rows) - int(np.count_nonzero(present))


def _weighed(records: NDArray[Any], n_classes: int | None) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return sum and maximum of the weights, per class or for all rows."""
    weights = records["weights"]
    codes = np.zeros(len(weights), dtype=np.intp) if n_classes is None else records["targets"]
    totals = np.bincount(codes, weights=weights, minlength=n_classes or 1)
    largest = np.zeros(n_classes or 1)
    np.maximum.at(largest, codes, weights)
    return tuple(totals.tolist()), tuple(largest.tolist())


def write_sparse(folder: Path, rows: SparseRows) -> tuple[int, ...]:
    """Write rows as a group in anndata's csr_matrix layout; return the crc32c of data, indices and indptr,
    one chunk each, or 0 without values.
    """
    from distkern.data.store._zarr import RowsWriter, create_group

    shape = [len(rows), rows.n_features]
    create_group(folder, {"encoding-type": SPARSE_TYPE, "encoding-version": SPARSE_VERSION, "shape": shape})
    checksums: list[int] = []
    for name in ("data", "indices", "indptr"):
        values = getattr(rows, name)
        writer = RowsWriter(folder / name, (), len(values), values.dtype)
        writer.append(values)
        checksums += writer.finish() or (0,)
    return tuple(checksums)
