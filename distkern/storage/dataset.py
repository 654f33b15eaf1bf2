"""A sharded data set, read lazily: one reader per shard, for whichever process needs it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.sparse import Rows
from distkern.core.types import AbstractSource, Block, Reader
from distkern.storage.manifest import Manifest, ShardEntry, read_manifest
from distkern.storage.scaling import Scaling

#: how targets are stored, by task: class codes or numbers
TARGET_TYPES = {"classification": "int32", "regression": "float64"}


class Dataset:
    """A finished data set on disk; nothing but its manifest is read until a shard is.

    Attributes
    ----------
    path : absolute path of its folder
    task : "classification", "regression" or "none"
    train, test : the splits; ``test`` is None if there is none
    classes : (n_classes,) labels in the order of their codes, integers or text; None unless classification
    n_features : columns
    is_sparse : the shards hold :class:`~distkern.core.sparse.SparseRows`
    feature_names : their names, where the input had some
    scaling : what was done to the features
    fingerprint : SHA-256 that changes when any value does
    options : how it was made
    """

    def __init__(self, path: Path, manifest: Manifest, fingerprint: str) -> None:
        self.path = path
        self.task = manifest.task
        self.n_features = manifest.n_features
        self.is_sparse = manifest.is_sparse
        self.feature_names = manifest.feature_names
        self.classes: NDArray[Any] | None = None if manifest.classes is None else np.array(manifest.classes)
        self.scaling: Scaling = manifest.scaling
        self.options = manifest.options
        self.fingerprint = fingerprint
        self.train = Split(self, "train", manifest)
        self.test = Split(self, "test", manifest) if "test" in manifest.splits else None

    @property
    def n_rows(self) -> int:
        """Training rows."""
        return self.train.n_rows

    def __repr__(self) -> str:
        test = "" if self.test is None else f" + {self.test.n_rows:,} test"
        shape = f"{self.n_rows:,}{test} rows x {self.n_features:,} features"
        return f"<Dataset {self.path.name}: {self.task}, {shape}>"


class Split(AbstractSource):
    """The training or the test rows of a data set: float32 features in shards, dense or sparse.

    Attributes
    ----------
    dataset : the data set it belongs to
    name : "train" or "test"
    class_counts : (n_classes,) rows of each class; None unless classification
    n_entries : numbers that are stored
    """

    def __init__(self, dataset: Dataset, name: str, manifest: Manifest) -> None:
        entry = manifest.splits[name]
        self.dataset = dataset
        self.name = name
        self.n_features = manifest.n_features
        self.dtype = np.dtype(np.float32)
        self.is_sparse = manifest.is_sparse
        self.block_rows = tuple(shard.rows for shard in entry.shards)
        self.fingerprint = f"{dataset.fingerprint}/{name}"
        self.class_counts: NDArray[np.int64] | None = None
        if manifest.classes is not None:
            counts = [shard.class_counts for shard in entry.shards]
            self.class_counts = np.array(counts, dtype=np.int64).sum(axis=0)
        self.n_entries = sum(
            shard.rows * self.n_features if shard.entries is None else shard.entries for shard in entry.shards
        )
        self._rows_per_shard = entry.rows_per_shard
        self._shards = entry.shards
        self._target_type = TARGET_TYPES.get(dataset.task)

    @property
    def row_numbers(self) -> int:
        if not self.is_sparse:
            return self.n_features
        return 2 + max(-(-2 * (shard.entries or 0) // shard.rows) for shard in self._shards)

    def reader(self, index: int) -> Reader:
        """A small picklable call that reads shard ``index`` (counted from 0) in any process."""
        return ShardReader(
            str(self.dataset.path),
            self.dataset.fingerprint,
            self.name,
            index,
            self._shards[index],
            self._rows_per_shard,
            self.n_features,
            self._target_type,
        )

    def __repr__(self) -> str:
        return f"<{self.name} rows of {self.dataset!r}, {self.n_blocks:,} shards>"


def open_dataset(path: str | os.PathLike[str]) -> Dataset:
    """Open the data set at ``path``, as ``distkern shard`` makes it.

    Raises
    ------
    InputError
        If there is no data set, it is unfinished, or a newer version wrote it.
    CorruptDataError
        If its manifest is damaged.
    """
    folder = Path(os.path.abspath(os.path.expanduser(path)))
    manifest, fingerprint = read_manifest(folder)
    return Dataset(folder, manifest, fingerprint)


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
        from distkern.storage._shard import StoredShard

        folder = Path(self.path, self.split)
        shard = StoredShard(self.fingerprint, self.index, self.entry.rows, self.rows_per_shard)
        checksums = self.entry.features_crc32c
        features: Rows
        if isinstance(checksums, int):
            features = shard.array(folder / "features", checksums, "float32", (self.n_features,))
        else:
            entries = self.entry.entries or 0
            features = shard.sparse_rows(folder / "features", checksums, entries, self.n_features)
        targets: NDArray[Any] | None = None
        if self.target_type is not None and self.entry.targets_crc32c is not None:
            targets = shard.array(folder / "targets", self.entry.targets_crc32c, self.target_type, ())
        return Block(features, targets, None, self.index)
