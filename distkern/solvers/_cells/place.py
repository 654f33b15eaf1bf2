"""Where a row lies: its coordinates, and the bucket in which its cell is; the passes that look there.

They draw a sample of the rows, count how many lie in each leaf, and move them to their buckets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.rng import Purpose, stream
from distkern.core.sparse import converted
from distkern.core.stores import indexed
from distkern.core.types import Block, Floats
from distkern.maths.maps.mapping import RowMap, map_from_arrays, map_to_arrays
from distkern.maths.maps.transform import Transform
from distkern.solvers._cells.tree import Tree, tree_from_arrays, tree_to_arrays
from distkern.solvers.measuring import Sums, sums_and_slopes
from distkern.solvers.risk import Risk


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
        return int(self.bucket_of_leaf.max()) + 1

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


def centred(sample: Floats, weights: NDArray[np.float64]) -> RowMap:
    """Rows less their mean, and nothing else."""
    shares = weights / weights.sum()
    mean = shares @ sample
    ones = np.ones(len(mean))
    return RowMap(Transform("none", mean, ones), ones, 1.0, shares @ np.square(sample - mean))


def places_to_arrays(places: Places) -> dict[str, NDArray[Any]]:
    """The arrays of which :func:`places_from_arrays` makes the same."""
    return {
        **map_to_arrays(places.map),
        **tree_to_arrays(places.tree),
        "bucket_of_leaf": places.bucket_of_leaf,
    }


def places_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Places:
    """Return the places of what :func:`places_to_arrays` gave.

    Raises
    ------
    KeyError
        If an array is missing.
    ValueError
        If they do not fit together.
    """
    mapping, tree = map_from_arrays(arrays), tree_from_arrays(arrays)
    n_columns = tree.directions.shape[1]
    if len(mapping.factors) != n_columns:
        raise ValueError(f"half spaces of {n_columns} columns for {len(mapping.factors)}")
    return Places(mapping, tree, indexed(arrays, "bucket_of_leaf", tree.n_leaves, below=tree.n_leaves))


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


#: first index of the streams of the sample
_SAMPLE = 6


@dataclass(frozen=True)
class Sampling:
    """The operand of :func:`sample_block`: ``size`` rows of all, as many of a block as are its share."""

    risk: Risk
    offsets: NDArray[np.int64]
    size: int
    seed: int


@dataclass(frozen=True)
class CellSample:
    """Rows drawn of some blocks, and the sums of the model 0 over all their rows.

    Attributes
    ----------
    features : (n, d), dense
    targets, weights : (n,); weights are 1 where rows have none
    group_keys : (n,), or None where rows have no groups
    """

    features: Floats
    targets: NDArray[Any]
    weights: NDArray[np.float64]
    sums: Sums
    group_keys: NDArray[np.uint64] | None = None

    @staticmethod
    def add(first: CellSample, second: CellSample) -> CellSample:
        """Join the samples of earlier and of later blocks."""
        return CellSample(
            np.concatenate([first.features, second.features]),
            np.concatenate([first.targets, second.targets]),
            np.concatenate([first.weights, second.weights]),
            Sums.add(first.sums, second.sums),
            None
            if first.group_keys is None or second.group_keys is None
            else np.concatenate([first.group_keys, second.group_keys]),
        )


def sample_block(block: Block, operand: Sampling) -> CellSample:
    """The rows drawn of a block."""
    ends = operand.offsets[block.index : block.index + 2] * operand.size // operand.offsets[-1]
    order = stream(operand.seed, Purpose.SAMPLE, _SAMPLE, block.index).permutation(block.n_rows)
    drawn = block.take(np.sort(order[: int(ends[1] - ends[0])]))
    sums = sums_of_zero(block, operand.risk)
    return CellSample(dense(drawn), *targets_and_weights(drawn), sums, drawn.group_keys)


def sums_of_zero(block: Block, risk: Risk) -> Sums:
    """The sums of a block at the model 0."""
    return sums_and_slopes(risk, block, np.zeros((block.n_rows, risk.n_outputs)), slopes=False)[0]


def dense(block: Block) -> Floats:
    """The features of a block, with their zeros."""
    return np.asarray(converted(block.features, sparse=False))


def targets_and_weights(block: Block) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Targets and weights, 1 where there are none."""
    assert block.targets is not None
    weights = np.ones(block.n_rows) if block.weights is None else np.asarray(block.weights, dtype=np.float64)
    return block.targets, weights


def count_leaves(block: Block, places: Places) -> NDArray[np.int64]:
    """Rows of a block in each leaf, neighbours included, (n_leaves,)."""
    counts = np.zeros(places.tree.n_leaves, dtype=np.int64)
    for leaf, part, _ in places.tree.members(places.rows(dense(block))):
        counts[leaf] = len(part)
    return counts


@dataclass(frozen=True)
class Moving:
    """The operand of :func:`move_rows`.

    Attributes
    ----------
    places : where rows lie
    buckets : those whose rows are moved, in ascending order; None: all
    as_given : rows keep their own features, instead of their coordinates
    """

    places: Places
    buckets: NDArray[np.int32] | None = None
    as_given: bool = False


def move_rows(
    _: Any, blocks: Iterator[Block], operand: Moving
) -> tuple[dict[str, Any], NDArray[np.int64], dict[str, NDArray[Any]]]:
    """The rows of some blocks, sorted by bucket; neighbours are in several.

    The record has the "counts" of the buckets where rows are moved as they are.
    """
    places, wanted = operand.places, operand.buckets
    parts = []
    for block in blocks:
        features = dense(block)
        rows = places.rows(features)
        order, buckets, lies = places.sorted_rows(rows)
        if wanted is not None:
            kept = np.isin(buckets, wanted)
            order, buckets, lies = order[kept], buckets[kept], lies[kept]
        if operand.as_given:
            rows = features
        targets, weights = targets_and_weights(block)
        part = {"features": rows[order], "targets": targets[order], "weights": weights[order]}
        if block.group_keys is not None:
            part["group_keys"] = block.group_keys[order]
        parts.append({**part, "lies": lies.astype(np.uint8), "bucket": buckets})
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    buckets = arrays.pop("bucket")
    order = np.argsort(buckets, kind="stable")
    numbers = np.arange(places.n_buckets) if wanted is None else wanted
    offsets = np.append(np.searchsorted(buckets[order], numbers), len(order)).astype(np.int64)
    record = {"counts": np.diff(offsets).tolist()} if operand.as_given else {}
    return record, offsets, {name: values[order] for name, values in arrays.items()}
