"""One shard of a data set, read in whichever process needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.sparse import Rows
from distkern.common.types import Block
from distkern.storage.manifest import SOURCE_ROWS, ShardEntry
from distkern.storage.places import place_of

if TYPE_CHECKING:
    from distkern.storage._shard import StoredShard


@dataclass(frozen=True, slots=True)
class ShardReader:
    """Reads one shard; every byte is checked against the checksum in the data set's manifest.

    Calling it gives a :class:`Block`: features (n_rows, n_features) float32, dense or sparse, targets
    (n_rows,) int32 class codes, float64 numbers, or None. Raises :class:`CorruptDataError` naming the file
    that is missing or changed.
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
        folder = place_of(self.path) / self.split
        shard = self._shard
        checksums = self.entry.features_crc32c
        features: Rows
        if isinstance(checksums, int):
            features = shard.array(folder / "features", checksums, "float32", (self.n_features,))
        else:
            entries = self.entry.entries or 0
            features = shard.sparse_rows(folder / "features", checksums, entries, self.n_features)
        return Block(features, self.targets(), None, self.index)

    def targets(self) -> NDArray[Any] | None:
        """The targets alone, as in the block."""
        if self.target_type is None or self.entry.targets_crc32c is None:
            return None
        folder = place_of(self.path) / self.split / "targets"
        return self._shard.array(folder, self.entry.targets_crc32c, self.target_type, ())

    def source_rows(self) -> NDArray[np.int64] | None:
        """(n_rows,) the number of each row in its source, counted from 0 over all its files; None if the data
        set does not know them."""
        if self.entry.source_rows_crc32c is None:
            return None
        folder = place_of(self.path) / self.split / SOURCE_ROWS
        return self._shard.array(folder, self.entry.source_rows_crc32c, "int64", ())

    def feature_files(self) -> list[tuple[str, int, int]]:
        """Path, size and crc32c of the chunk files of the features.

        Dense: one. Sparse: data and indices (neither if the shard has no entries), then indptr.
        """
        from distkern.storage.chunks import CRC_BYTES, chunk_file

        folder = place_of(self.path) / self.split / "features"
        checksums = self.entry.features_crc32c
        if isinstance(checksums, int):
            size = 4 * self.rows_per_shard * self.n_features + CRC_BYTES
            return [(str(chunk_file(folder, self.index, 0)), size, checksums)]
        entries = self.entry.entries or 0
        sizes = {"data": 4 * entries, "indices": 4 * entries, "indptr": 8 * (self.entry.rows + 1)}
        return [
            (str(chunk_file(folder / str(self.index) / name, 0)), size + CRC_BYTES, checksum)
            for (name, size), checksum in zip(sizes.items(), checksums, strict=True)
            if size
        ]

    @property
    def _shard(self) -> StoredShard:
        from distkern.storage._shard import StoredShard

        return StoredShard(self.fingerprint, self.index, self.entry.rows, self.rows_per_shard)
