"""Where a row lies: trees of half spaces cut rows into parts of equal size, which may overlap.

The leaves of one tree over a sample are grouped into buckets. Passes count the rows of its leaves and sort
rows by bucket.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core import tiles
from distkern.core.rng import Purpose, stream
from distkern.core.sparse import converted
from distkern.core.stores import indexed, shaped
from distkern.core.types import Block, Floats
from distkern.maths.maps.mapping import RowMap, map_from_arrays, map_to_arrays
from distkern.maths.maps.trend import LinearTrend

#: rows from which a direction is computed, and steps of the power iteration
_DIRECTION_ROWS = 4096
_STEPS = 16
#: numbers of directions gathered at a time
_GATHERED = 2**16
_ARRAYS = ("directions", "thresholds", "margins", "children")
#: typical number of dimensions in which rows of real data vary
_DIMENSIONS = 8.0


@dataclass(frozen=True)
class Overlap:
    """The share of a part's rows that are neighbours of the other side of its border.

    All margins have about the same width: where rows vary in 8 dimensions, a part with the rows of 2^h pairs
    of cells is 2^(h / 8) times as long as one pair, so its share is 2^(-h / 8) times theirs.

    Attributes
    ----------
    share : for a part that is cut into two cells, in [0, 1)
    cell_rows : rows of a cell; fewer in a sample
    """

    share: float
    cell_rows: float

    def of(self, n_rows: float) -> float:
        """Return the share for a part of ``n_rows`` rows."""
        return self.share * math.pow(min(1.0, 2.0 * self.cell_rows / n_rows), 1.0 / _DIMENSIONS)


_NONE = Overlap(0.0, 1.0)


@dataclass(frozen=True)
class Tree:
    """Half spaces <v, x> <= t, from the root down; finding a row's leaf takes the depth of the tree.

    Rows within the margin of a border, |<v, x> - t| < margin, are neighbours of the other side: they also
    belong to the leaf that they would have there.

    Attributes
    ----------
    directions, thresholds, margins : (n_nodes, d), (n_nodes,) and (n_nodes,) float32
    children : (n_nodes, 2) int32, nodes within the half space and beyond it; leaf k is written -1 - k
    """

    directions: NDArray[np.float32]
    thresholds: NDArray[np.float32]
    margins: NDArray[np.float32]
    children: NDArray[np.int32]

    @property
    def n_leaves(self) -> int:
        return len(self.directions) + 1

    @property
    def root(self) -> int:
        """The first node, or the only leaf, written as in :attr:`children`."""
        return 0 if len(self.directions) else -1

    def narrowed(self, factor: float) -> Tree:
        """Return the same half spaces with margins multiplied by a factor."""
        return self if factor == 1.0 else replace(self, margins=self.margins * np.float32(factor))

    def leaves(self, rows: Floats) -> NDArray[np.int32]:
        """Return the leaf (n,) of each row (n, d), which depends on that row alone."""
        found = np.full(len(rows), self.root, dtype=np.int32)
        if self.root < 0:
            return -1 - found
        n_strip = max(1, _GATHERED // rows.shape[1])
        for start in range(0, len(rows), n_strip):
            strip, places = rows[start : start + n_strip], found[start : start + n_strip]
            inner = np.arange(len(strip))
            while len(inner):
                nodes = places[inner]
                going = _taken("going down", strip, inner)
                heights = projections(going, _taken("directions", self.directions, nodes))
                beyond = heights > self.thresholds[nodes]
                places[inner] = self.children[nodes, beyond.astype(np.intp)]
                inner = inner[places[inner] >= 0]
        return -1 - found

    def members(self, rows: Floats) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.bool_]]]:
        """Yield each leaf with the numbers of its rows and neighbours, and which of them lie in it."""
        waiting: list[tuple[int, NDArray[np.intp], NDArray[np.bool_]]] = [
            (self.root, np.arange(len(rows)), np.ones(len(rows), dtype=bool))
        ]
        while waiting:
            node, part, lies = waiting.pop()
            if node < 0:
                yield -1 - node, part, lies
                continue
            beyond = _along(rows, part, self.directions[node]) - self.thresholds[node]
            for side, inside in ((1, beyond > 0), (0, beyond <= 0)):
                kept = inside | (np.abs(beyond) < self.margins[node])
                waiting.append((int(self.children[node, side]), part[kept], lies[kept] & inside[kept]))

    @classmethod
    def fit(cls, rows: Floats, leaf_rows: int, seed: int, *key: int, overlap: Overlap = _NONE) -> Tree:
        """Cut until no leaf has more than ``leaf_rows`` rows, unless they are all equal.

        A part is cut across its direction of largest variance so that leaves on both sides get equal numbers
        of rows, or next to that place where rows are equal. Close numbers mean close leaves.

        Parameters
        ----------
        rows : (n, d) float32, in any order
        seed, key : of the vectors from which directions are computed
        overlap : the share of neighbours, which count as rows of the other side
        """
        directions: list[NDArray[np.float32]] = []
        thresholds: list[np.float32] = []
        margins: list[np.float32] = []
        children: list[list[int]] = []
        n_leaves = 0
        # parts to cut, each with its parent node and side; the last is cut first
        waiting: list[tuple[NDArray[np.intp], int, int]] = [(np.arange(len(rows)), -1, 0)]
        while waiting:
            part, parent, side = waiting.pop()
            cut = None
            if len(part) > leaf_rows:
                generator = stream(seed, Purpose.SAMPLE, *key, len(directions))
                cut = _cut(rows, part, leaf_rows, overlap.of(len(part)), generator)
            if parent >= 0:
                children[parent][side] = len(directions) if cut is not None else -1 - n_leaves
            if cut is None:
                n_leaves += 1
                continue
            direction, threshold, margin, beyond = cut
            near = np.abs(beyond) < margin
            waiting.append((part[(beyond > 0) | near], len(directions), 1))
            waiting.append((part[(beyond <= 0) | near], len(directions), 0))
            directions.append(direction)
            thresholds.append(threshold)
            margins.append(margin)
            children.append([0, 0])
        return cls(
            np.array(directions, dtype=np.float32).reshape(-1, rows.shape[1]),
            np.array(thresholds, dtype=np.float32),
            np.array(margins, dtype=np.float32),
            np.array(children, dtype=np.int32).reshape(-1, 2),
        )


def tree_to_arrays(tree: Tree) -> dict[str, NDArray[Any]]:
    """Return the arrays that :func:`tree_from_arrays` reads."""
    return {name: getattr(tree, name) for name in _ARRAYS}


def tree_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Tree:
    """Return the tree that :func:`tree_to_arrays` stored; other arrays are ignored.

    Raises
    ------
    KeyError
        If an array is missing.
    ValueError
        If numbers are not finite, or the arrays are no tree: every node but the first, and every leaf, must
        be the child of exactly one earlier node.
    """
    directions = shaped(arrays, "directions", None, None)
    n_nodes = len(directions)
    children = indexed(arrays, "children", n_nodes, 2, below=max(n_nodes, 1), least=-n_nodes - 1)
    # a tree without nodes is one leaf without a parent
    n_leaves = n_nodes + 1 if n_nodes else 0
    expected = np.concatenate([np.arange(-n_leaves, 0), np.arange(1, n_nodes)])
    comes_before = (children < 0) | (children > np.arange(n_nodes)[:, None])
    if not comes_before.all() or not np.array_equal(np.sort(children, axis=None), expected):
        raise ValueError("the half spaces are no tree")
    thresholds, margins = (shaped(arrays, name, n_nodes) for name in ("thresholds", "margins"))
    if not all(np.isfinite(values).all() for values in (directions, thresholds)) or np.isnan(margins).any():
        raise ValueError("the half spaces have numbers that are not finite")
    return Tree(directions, thresholds, margins, children)


def cropped(tree: Tree, root: int, ends: Container[int] = ()) -> tuple[Tree, list[int]]:
    """Return the part of a tree below a node, cut off at some nodes, and the original node of each leaf.

    Nodes and leaves are written as in ``children``; both are renumbered in their order.
    """
    nodes: list[int] = []
    children: list[list[int]] = []
    leaves: list[int] = []
    waiting = [(root, -1, 0)]
    while waiting:
        place, parent, side = waiting.pop()
        is_end = place < 0 or place in ends
        if parent >= 0:
            children[parent][side] = -1 - len(leaves) if is_end else len(nodes)
        if is_end:
            leaves.append(place)
            continue
        within, beyond = tree.children[place].tolist()
        waiting += [(beyond, len(nodes), 1), (within, len(nodes), 0)]
        nodes.append(place)
        children.append([0, 0])
    halves = (tree.directions[nodes], tree.thresholds[nodes], tree.margins[nodes])
    return Tree(*halves, np.array(children, dtype=np.int32).reshape(-1, 2)), leaves


def grafted(tree: Tree, trees: Mapping[int, Tree]) -> tuple[Tree, list[tuple[int, int]]]:
    """Replace some leaves by trees.

    Returns
    -------
    the tree, and for each of its leaves, in the order of the replaced ones, the original leaf and the leaf of
    its replacement, 0 if it was not replaced
    """
    parts, entries, leaves = [tree], [], list[tuple[int, int]]()
    n_nodes = len(tree.directions)
    for leaf in range(tree.n_leaves):
        graft = trees.get(leaf)
        if graft is None or graft.root < 0:
            entries.append(-1 - len(leaves))
            leaves.append((leaf, 0))
            continue
        moved = np.where(graft.children >= 0, graft.children + n_nodes, graft.children - len(leaves))
        parts.append(replace(graft, children=moved.astype(np.int32)))
        entries.append(n_nodes)
        n_nodes += len(graft.directions)
        leaves += [(leaf, number) for number in range(graft.n_leaves)]
    entered = np.array(entries, dtype=np.int32)[np.minimum(tree.children, -1) * -1 - 1]
    parts[0] = replace(tree, children=np.where(tree.children >= 0, tree.children, entered))
    return Tree(*(np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS)), leaves


def parts_of(tree: Tree, rows_of_leaf: NDArray[np.int64], most: int) -> list[int]:
    """Return the highest nodes, written as in ``children``, with at most ``most`` rows below them, and the
    leaves with more rows; together they hold all rows.
    """
    below = np.zeros(len(tree.directions), dtype=np.int64)

    def rows_of(place: int) -> int:
        return int(rows_of_leaf[-1 - place] if place < 0 else below[place])

    # a node comes before those below it
    for node in reversed(range(len(below))):
        below[node] = sum(map(rows_of, tree.children[node].tolist()))
    nodes, waiting = [], [tree.root]
    while waiting:
        place = waiting.pop()
        if place < 0 or rows_of(place) <= most:
            nodes.append(place)
        else:
            waiting += reversed(tree.children[place].tolist())
    return nodes


def projections(rows: Floats, directions: Floats) -> NDArray[np.float32]:
    """Return <v_i, x_i> of each row and its direction, computed independently of other rows."""
    return np.asarray(np.einsum("ij,ij->i", rows.astype(np.float32, copy=False), directions))


def _taken(name: str, values: Floats, rows: NDArray[np.integer[Any]]) -> Floats:
    """Return some rows, which the next call of that name overwrites."""
    taken = tiles.scratch(name, (len(rows), values.shape[1]), values.dtype)
    return tiles.apply(np.take, values, rows, 0, into=taken, mode="clip")


def _along(rows: Floats, part: NDArray[np.intp], direction: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return <v, x> of some rows, computed in strips."""
    values = np.empty(len(part), dtype=np.float32)
    n_strip = max(1, _GATHERED // rows.shape[1])
    for start in range(0, len(part), n_strip):
        strip = rows[part[start : start + n_strip]]
        values[start : start + n_strip] = projections(strip, np.broadcast_to(direction, strip.shape))
    return values


def _cut(
    rows: Floats, part: NDArray[np.intp], leaf_rows: int, overlap: float, generator: np.random.Generator
) -> tuple[NDArray[np.float32], np.float32, np.float32, NDArray[np.float32]] | None:
    """Return direction, threshold, margin and <v, x> - t; None if no half space divides the rows."""
    direction = _direction(rows, part, generator)
    values = _along(rows, part, direction)
    order = np.sort(values)
    n_leaves = -(-len(part) // leaf_rows)
    wanted = len(part) * (n_leaves // 2) // n_leaves
    at = order[wanted]
    low, high = np.searchsorted(order, at, "left"), np.searchsorted(order, at, "right")
    places = [int(place) for place in (low, high) if 0 < place < len(order)]
    if not places:
        return None
    place = min(places, key=lambda place: (abs(place - wanted), place))
    threshold = np.float32(0.5) * order[place - 1] + np.float32(0.5) * order[place]
    if not order[place - 1] <= threshold < order[place]:
        threshold = order[place - 1]
    beyond = values - threshold
    return direction, threshold, _margin(beyond, overlap), beyond


def _margin(beyond: NDArray[np.float32], overlap: float) -> np.float32:
    """Return the margin with at most a share of the rows in it; 0 if one side would have all rows, as when
    most rows are equal.
    """
    place = int(overlap * len(beyond))
    margin = np.partition(np.abs(beyond), place)[place]
    near = np.abs(beyond) < margin
    if (near | (beyond > 0)).all() or (near | (beyond <= 0)).all():
        return np.float32(0)
    return np.float32(margin)


def _direction(rows: Floats, part: NDArray[np.intp], generator: np.random.Generator) -> NDArray[np.float32]:
    """Return a direction (d,) of nearly the largest variance, by power iteration on some of the rows."""
    some = rows[part[:: -(-len(part) // _DIRECTION_ROWS)]].astype(np.float64)
    some -= some.mean(axis=0)
    direction = np.asarray(generator.standard_normal(rows.shape[1]))
    for _ in range(_STEPS):
        moved = some.T @ (some @ direction)
        length = float(np.sqrt(moved @ moved))
        if not length > 0:
            break
        direction = np.asarray(moved / length)
    if not some.any():
        # these rows are equal, others may differ
        exact = rows[part].astype(np.float64)
        apart = exact - exact[0]
        direction = apart[int(np.argmax(np.square(apart).sum(axis=1)))]
    return direction.astype(np.float32)


@dataclass(frozen=True)
class Places:
    """Maps the features of a row to its coordinates and its bucket.

    Attributes
    ----------
    map : from features to coordinates
    tree : half spaces over the coordinates
    bucket_of_leaf : (n_leaves,) int32
    trend : of real targets, whose rest the machines of the cells learn, or None
    """

    map: RowMap
    tree: Tree
    bucket_of_leaf: NDArray[np.int32]
    trend: LinearTrend | None = None

    @property
    def n_features(self) -> int:
        return len(self.map.factors)

    @property
    def n_buckets(self) -> int:
        return int(self.bucket_of_leaf.max()) + 1

    def rows(self, features: Floats, dtype: DTypeLike = np.float32) -> Floats:
        """Return the coordinates of rows (n, d)."""
        return self.map.apply(features, dtype)

    def buckets(self, rows: Floats) -> NDArray[np.int32]:
        """Return the bucket of each row, given its coordinates."""
        return self.bucket_of_leaf[self.tree.leaves(rows)]

    def sorted_rows(self, rows: Floats) -> tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.bool_]]:
        """Return rows and neighbours by number, sorted by bucket, with their buckets, and
        whether they lie there.
        """
        n_rows = max(len(rows), 1)
        # of several leaves in a bucket, the leaf in which the row lies comes first
        found = [
            2 * (int(self.bucket_of_leaf[leaf]) * n_rows + part) + ~lies
            for leaf, part, lies in self.tree.members(rows)
        ]
        marked = np.unique(np.concatenate(found))
        keys, first = np.unique(marked // 2, return_index=True)
        return keys % n_rows, (keys // n_rows).astype(np.int32), marked[first] % 2 == 0


def places_to_arrays(places: Places) -> dict[str, NDArray[Any]]:
    """Return the arrays that :func:`places_from_arrays` reads."""
    arrays = map_to_arrays(places.map) | tree_to_arrays(places.tree)
    trend = {} if places.trend is None else {"trend": places.trend.to_array()}
    return {**arrays, "bucket_of_leaf": places.bucket_of_leaf, **trend}


def places_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Places:
    """Return the places that :func:`places_to_arrays` stored.

    Raises
    ------
    KeyError
        If an array is missing.
    ValueError
        If the arrays are inconsistent.
    """
    mapping, tree = map_from_arrays(arrays), tree_from_arrays(arrays)
    n_columns = tree.directions.shape[1]
    if len(mapping.factors) != n_columns:
        raise ValueError(f"half spaces of {n_columns} columns for {len(mapping.factors)}")
    trend = LinearTrend(*shaped(arrays, "trend", 4, n_columns)) if len(arrays.get("trend", ())) else None
    leaves = indexed(arrays, "bucket_of_leaf", tree.n_leaves, below=tree.n_leaves)
    return Places(mapping, tree, leaves, trend)


def grouped(counts: NDArray[np.int64], most: int) -> NDArray[np.int32]:
    """Group consecutive leaves into buckets of at most ``most`` rows; return the bucket of each leaf.

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


def dense_rows(block: Block) -> Block:
    """Return a block with dense features and with weights, 1 if it has none."""
    weights = np.ones(block.n_rows) if block.weights is None else np.asarray(block.weights, dtype=np.float64)
    return replace(block, features=np.asarray(converted(block.features, sparse=False)), weights=weights)


def count_leaves(block: Block, places: Places) -> NDArray[np.int64]:
    """Count the rows and neighbours of a block in each leaf, (n_leaves,)."""
    counts = np.zeros(places.tree.n_leaves, dtype=np.int64)
    for leaf, part, _ in places.tree.members(places.rows(np.asarray(dense_rows(block).features))):
        counts[leaf] = len(part)
    return counts


@dataclass(frozen=True)
class Moving:
    """The operand of :func:`move_rows`.

    Attributes
    ----------
    places : finds the bucket of a row
    buckets : the buckets whose rows are moved, ascending; None: all
    """

    places: Places
    buckets: NDArray[np.int32] | None = None


def move_rows(
    _: Any, blocks: Iterator[Block], operand: Moving
) -> tuple[dict[str, Any], NDArray[np.int64], dict[str, NDArray[Any]]]:
    """Sort the rows of some blocks by bucket, without the trend; neighbours are in several buckets."""
    places, wanted = operand.places, operand.buckets
    parts = []
    for block in blocks:
        given = dense_rows(block)
        rows = places.rows(np.asarray(given.features))
        if places.trend is not None:
            assert given.targets is not None
            given = replace(given, targets=given.targets - places.trend.at(np.asarray(given.features)))
        order, buckets, lies = places.sorted_rows(rows)
        if wanted is not None:
            kept = np.isin(buckets, wanted)
            order, buckets, lies = order[kept], buckets[kept], lies[kept]
        some = replace(given, features=rows).take(order)
        part = {name: getattr(some, name) for name in ("features", "targets", "weights", "group_keys")}
        part = {name: values for name, values in part.items() if values is not None}
        parts.append({**part, "lies": lies.astype(np.uint8), "bucket": buckets})
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    buckets = arrays.pop("bucket")
    order = np.argsort(buckets, kind="stable")
    numbers = np.arange(places.n_buckets) if wanted is None else wanted
    offsets = np.append(np.searchsorted(buckets[order], numbers), len(order)).astype(np.int64)
    return {}, offsets, {name: values[order] for name, values in arrays.items()}
