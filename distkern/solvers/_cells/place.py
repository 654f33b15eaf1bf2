"""Where a row lies: its coordinates, and the bucket in which its cell is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.types import Floats
from distkern.solvers._cells.tree import Tree

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Places:
    """From the features of a row to its coordinates and its bucket.

    Attributes
    ----------
    shift, factor : (d,): a coordinate is (x - shift) * factor
    tree : of half spaces over the coordinates
    bucket_of_leaf : (n_leaves,) int32
    """

    shift: Array
    factor: Array
    tree: Tree
    bucket_of_leaf: NDArray[np.int32]

    @property
    def n_features(self) -> int:
        return len(self.shift)

    @property
    def n_buckets(self) -> int:
        return int(self.bucket_of_leaf[-1]) + 1

    def rows(self, features: Floats, dtype: DTypeLike = np.float32) -> Floats:
        """The coordinates of rows (n, d), centred in double precision."""
        found: Floats = ((features - self.shift) * self.factor).astype(dtype, copy=False)
        return found

    def buckets(self, rows: Floats) -> NDArray[np.int32]:
        """The bucket of each row, given in its coordinates."""
        return self.bucket_of_leaf[self.tree.leaves(rows)]


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
