"""One shard of a data set, readable in any process."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import Block
from distkern.data.manifest import SOURCE_ROWS, ShardEntry
from distkern.data.store.arrays import CRC_BYTES, chunk_key, damaged
from distkern.data.store.places import Place, place_of

#: types of the arrays besides features and targets
_TYPES = {"weights": np.float64, "group_keys": np.uint64, SOURCE_ROWS: np.int64}


@dataclass(frozen=True, slots=True)
class ShardReader:
    """Reads one shard and compares every byte with the checksum in the data set's manifest.

    Calling it returns a :class:`Block`: features (n_rows, n_features) float32, dense or sparse, targets
    (n_rows,) int32 class codes, float64 numbers, or None, and weights and group keys, if rows have them.
    Raises :class:`CorruptDataError` naming the missing or changed file.
    """

    path: str
    fingerprint: str
    split: str
    index: int
    entry: ShardEntry
    rows_per_shard: int
    n_features: int
    target_type: str | None

    def __call__(self) -> Block:
        checksums = self.entry.features_crc32c
        features: Rows
        if isinstance(checksums, int):
            features = self._array("features", checksums, np.float32, self.n_features)
        else:
            features = self._sparse_rows(checksums, self.entry.entries or 0)
        return Block(features, self.targets(), self.weights(), self.index, self.group_keys())

    def values(self, name: str) -> NDArray[Any] | None:
        """Return the array (n_rows,) of this name, or None."""
        dtype = self.target_type if name == "targets" else _TYPES[name]
        checksum = getattr(self.entry, f"{name}_crc32c")
        if dtype is None or checksum is None:
            return None
        found = self._array(name, checksum, dtype)
        if name == "targets" and self.entry.class_counts is not None:
            n_classes = len(self.entry.class_counts)
            if not (found.min() >= 0 and found.max() < n_classes):
                raise damaged(f"class codes outside 0 to {n_classes - 1}", self._folder / name)
        return found

    def targets(self) -> NDArray[Any] | None:
        """Return the targets, as in the block."""
        return self.values("targets")

    def weights(self) -> NDArray[np.float64] | None:
        """Return the weights (n_rows,), or None."""
        return self.values("weights")

    def group_keys(self) -> NDArray[np.uint64] | None:
        """Return the group keys (n_rows,), or None."""
        return self.values("group_keys")

    def source_rows(self) -> NDArray[np.int64]:
        """Return the number of each row in its source (n_rows,), counted from 0 over all files."""
        found = self.values(SOURCE_ROWS)
        assert found is not None
        return found

    def feature_files(self) -> list[tuple[str, int, int]]:
        """Return path, size and crc32c of the chunk files of the features.

        Dense: one. Sparse: data and indices (neither if the shard has no entries), then indptr.
        """
        folder, checksums = self._folder / "features", self.entry.features_crc32c
        if isinstance(checksums, int):
            size = 4 * self.rows_per_shard * self.n_features + CRC_BYTES
            return [(str(folder / chunk_key(self.index, 2)), size, checksums)]
        entries = self.entry.entries or 0
        sizes = {"data": 4 * entries, "indices": 4 * entries, "indptr": 8 * (self.entry.rows + 1)}
        return [
            (str(folder / str(self.index) / name / chunk_key(0)), size + CRC_BYTES, checksum)
            for (name, size), checksum in zip(sizes.items(), checksums, strict=True)
            if size
        ]

    @property
    def _folder(self) -> Place:
        return place_of(self.path) / self.split

    def _array(self, name: str, checksum: int, dtype: DTypeLike, *inner: int) -> NDArray[Any]:
        """Return the shard's chunk of an array over all rows."""
        folder, rows = self._folder / name, self.entry.rows
        return _chunk(folder, self.index, checksum, dtype, (self.rows_per_shard, *inner), rows)

    def _sparse_rows(self, checksums: tuple[int, ...], entries: int) -> SparseRows:
        """Return the shard's own group as sparse rows."""
        group = self._folder / "features" / str(self.index)
        expected = (
            ("data", np.float32, entries),
            ("indices", np.int32, entries),
            ("indptr", np.int64, self.entry.rows + 1),
        )
        data, indices, indptr = (
            _chunk(group / name, 0, checksum, dtype, (size,), size)
            for (name, dtype, size), checksum in zip(expected, checksums, strict=True)
        )
        try:
            return SparseRows(data, indices, indptr, self.n_features).checked()
        except ValueError as error:
            raise damaged(str(error), group) from None


def _chunk(
    folder: Place, number: int, checksum: int, dtype: DTypeLike, shape: tuple[int, ...], n_rows: int
) -> NDArray[Any]:
    """Return the first rows of a chunk of this shape."""
    from distkern.data.store._zarr import read_rows

    start = number * shape[0]
    return read_rows(folder, shape[1:], shape[0], dtype, {number: checksum}, start, start + n_rows)
