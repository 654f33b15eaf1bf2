"""Where a row lies: its coordinates, and the bucket in which its cell is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.types import Floats
from distkern.solvers._cells.mapping import CellMap
from distkern.solvers._cells.transform import TRANSFORMS, Transform
from distkern.solvers._cells.tree import Tree


@dataclass(frozen=True)
class Places:
    """From the features of a row to its coordinates and its bucket.

    Attributes
    ----------
    map : from features to coordinates
    tree : of half spaces over the coordinates
    bucket_of_leaf : (n_leaves,) int32
    """

    map: CellMap
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


def centred(sample: Floats) -> CellMap:
    """Rows less their mean, and nothing else."""
    mean = sample.mean(axis=0, dtype=np.float64)
    return CellMap(Transform("none", mean, np.ones(len(mean))), np.ones(len(mean)), 1.0)


def places_to_arrays(places: Places) -> dict[str, NDArray[Any]]:
    """The arrays of which :func:`places_from_arrays` makes the same."""
    transform, tree = places.map.transform, places.tree
    return {
        "transform": np.array([TRANSFORMS.index(transform.kind)]),
        "shift": transform.shift,
        "factor": transform.factor,
        "quantiles": np.empty((0, 0)) if transform.quantiles is None else transform.quantiles,
        "factors": places.map.factors,
        "width": np.array([places.map.width]),
        "directions": tree.directions,
        "thresholds": tree.thresholds,
        "children": tree.children,
        "bucket_of_leaf": places.bucket_of_leaf,
    }


def places_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Places:
    """From what :func:`places_to_arrays` gave."""
    quantiles = arrays["quantiles"] if arrays["quantiles"].size else None
    kind = TRANSFORMS[int(arrays["transform"][0])]
    transform = Transform(kind, arrays["shift"], arrays["factor"], quantiles)
    tree = Tree(arrays["directions"], arrays["thresholds"], arrays["children"])
    mapping = CellMap(transform, arrays["factors"], float(arrays["width"][0]))
    return Places(mapping, tree, arrays["bucket_of_leaf"])


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
