"""Where a row lies: its coordinates, and the bucket in which its cell is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.types import Floats
from distkern.maps.mapping import RowMap, map_from_arrays, map_to_arrays
from distkern.maps.transform import Transform
from distkern.solvers._cells.tree import Tree, tree_from_arrays, tree_to_arrays


@dataclass(frozen=True)
class Places:
    """From the features of a row to its coordinates and its bucket.

    Attributes
    ----------
    map : from features to coordinates
    tree : of half spaces over the coordinates
    bucket_of_leaf : (n_leaves,) int32
    """

    map: RowMap
    tree: Tree
    bucket_of_leaf: NDArray[np.int32]

    @property
    def n_features(self) -> int:
        return len(self.map.factors)

    @property
    def n_buckets(self) -> int:
        return int(self.bucket_of_leaf[-1]) + 1

    def rows(self, features: Floats, dtype: DTypeLike = np.float32) -> Floats:
        """The coordinates of rows (n, d)."""
        return self.map.apply(features, dtype)

    def buckets(self, rows: Floats) -> NDArray[np.int32]:
        """The bucket of each row, given in its coordinates."""
        return self.bucket_of_leaf[self.tree.leaves(rows)]

    def sorted_rows(self, rows: Floats) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.bool_]]:
        """Rows by the buckets in which they lie or are neighbours, in order within each, with those buckets,
        and whether they lie there.
        """
        n_rows = max(len(rows), 1)
        # if a row is in several leaves of a bucket, the leaf in which it lies comes first
        found = [
            2 * (int(self.bucket_of_leaf[leaf]) * n_rows + part) + ~lies
            for leaf, part, lies in self.tree.members(rows)
        ]
        marked = np.unique(np.concatenate(found))
        keys, first = np.unique(marked // 2, return_index=True)
        return keys % n_rows, (keys // n_rows).astype(np.int32), marked[first] % 2 == 0


def centred(sample: Floats) -> RowMap:
    """Rows less their mean, and nothing else."""
    mean = sample.mean(axis=0, dtype=np.float64)
    ones = np.ones(len(mean))
    return RowMap(Transform("none", mean, ones), ones, 1.0, sample.var(axis=0, dtype=np.float64))


def places_to_arrays(places: Places) -> dict[str, NDArray[Any]]:
    """The arrays of which :func:`places_from_arrays` makes the same."""
    return {
        **map_to_arrays(places.map),
        **tree_to_arrays(places.tree),
        "bucket_of_leaf": places.bucket_of_leaf,
    }


def places_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Places:
    """From what :func:`places_to_arrays` gave."""
    return Places(map_from_arrays(arrays), tree_from_arrays(arrays), arrays["bucket_of_leaf"])


def grouped(counts: NDArray[np.int64], most: int) -> NDArray[np.int32]:
    """The bucket of each leaf: consecutive leaves, as long as they have at most ``most`` rows together.

    >>> grouped(np.array([3, 3, 5, 9, 0, 2]), 8).tolist()
    [0, 0, 1, 2, 3, 3]
    """
    buckets, filled, bucket = np.empty(len(counts), dtype=np.int32), 0, 0
    for leaf, count in enumerate(counts.tolist()):
        if leaf and filled + count > most:
            bucket, filled = bucket + 1, 0
        buckets[leaf] = bucket
        filled += count
    return buckets
