"""A tree of half spaces that cuts rows into parts of equal size, which may overlap."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core import tiles
from distkern.core.rng import Purpose, stream
from distkern.core.stores import indexed, shaped
from distkern.core.types import Floats

#: rows from which a direction is found, and steps of the power iteration
_DIRECTION_ROWS = 4096
_STEPS = 16
#: numbers of the directions that are gathered at a time
_GATHERED = 2**16
_ARRAYS = ("directions", "thresholds", "margins", "children")
#: in which rows vary, of data as it is, about
_DIMENSIONS = 8.0


@dataclass(frozen=True)
class Overlap:
    """The share of a part's rows that are neighbours of the other side of its border.

    Margins are as wide at all borders, about: where rows vary in 8 directions, a part of as many rows as 2^h
    pairs of cells is 2^(h / 8) times as long as such a pair, so that the share is 2^(-h / 8) of theirs.

    Attributes
    ----------
    share : of a part that is cut into two cells, in [0, 1)
    cell_rows : of a cell; rows of a sample are fewer
    """

    share: float
    cell_rows: float

    def of(self, n_rows: float) -> float:
        """The share of a part's ``n_rows`` rows that are neighbours of the other side of its border."""
        return self.share * math.pow(min(1.0, 2.0 * self.cell_rows / n_rows), 1.0 / _DIMENSIONS)


_NONE = Overlap(0.0, 1.0)


@dataclass(frozen=True)
class Tree:
    """Half spaces <v, x> <= t, from the root down; a row's leaf is found in the depth of the tree.

    Rows nearer to the border of a half space than its margin, |<v, x> - t| < margin, are its neighbours: they
    also belong to the leaf on the other side that is theirs there.

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
        """The first node, or the only leaf, written like those of :attr:`children`."""
        return 0 if len(self.directions) else -1

    def narrowed(self, share: float) -> Tree:
        """The same half spaces, whose margins are so much as wide."""
        return self if share == 1.0 else replace(self, margins=self.margins * np.float32(share))

    def leaves(self, rows: Floats) -> NDArray[np.int32]:
        """The leaf of each row (n, d), (n,); it depends on that row alone."""
        found = np.full(len(rows), self.root, dtype=np.int32)
        if self.root < 0:
            return -1 - found
        n_strip = max(1, _GATHERED // rows.shape[1])
        for start in range(0, len(rows), n_strip):
            strip, places = rows[start : start + n_strip], found[start : start + n_strip]
            under_way = np.arange(len(strip))
            while len(under_way):
                nodes = places[under_way]
                going = _taken("going down", strip, under_way)
                heights = projections(going, _taken("directions", self.directions, nodes))
                beyond = heights > self.thresholds[nodes]
                places[under_way] = self.children[nodes, beyond.astype(np.intp)]
                under_way = under_way[places[under_way] >= 0]
        return -1 - found

    def members(self, rows: Floats) -> Iterator[tuple[int, NDArray[np.intp], NDArray[np.bool_]]]:
        """Each leaf with its rows, neighbours included, in order, and which of them lie in it."""
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
        """Cut until no leaf has more than ``leaf_rows`` rows, but for rows that are all the same.

        A part of m rows is cut across its direction of largest variance, where an equal number of leaves to
        each side gets an equal number of rows, next to that where rows are equal. Leaves are numbered from
        the first half space on, so that near numbers are near each other.

        Parameters
        ----------
        rows : (n, d) float32, in any order
        seed, key : of the vectors from which the directions are found
        overlap : which rows are neighbours of the other side; they count as its rows
        """
        directions: list[NDArray[np.float32]] = []
        thresholds: list[np.float32] = []
        margins: list[np.float32] = []
        children: list[list[int]] = []
        n_leaves = 0
        # parts to be cut, and which child of which node each is; the last is cut first
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
    """The arrays of which :func:`tree_from_arrays` makes the same."""
    return {name: getattr(tree, name) for name in _ARRAYS}


def tree_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Tree:
    """Return the tree of what :func:`tree_to_arrays` gave, whatever else is there.

    Raises
    ------
    KeyError
        If an array is missing.
    ValueError
        If numbers are not finite, or they are no tree: every node but the first, and every leaf, is the
        child of one node, which comes before it.
    """
    directions = shaped(arrays, "directions", None, None)
    n_nodes = len(directions)
    children = indexed(arrays, "children", n_nodes, 2, below=max(n_nodes, 1), least=-n_nodes - 1)
    # a tree without nodes is one leaf, of which nothing is the parent
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
    """The part of a tree from a node on, down to some of its nodes, and what each of its leaves is there.

    Nodes and leaves of the tree are written as in its ``children``; both are numbered anew in their order.
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
    """A tree with others in the places of some of its leaves.

    Returns
    -------
    the tree; and for each of its leaves, which are in the order of those that they replace, the leaf of the
    first tree and that of the one in its place, 0 where it has stayed
    """
    parts, entries, leaves = [tree], [], list[tuple[int, int]]()
    n_nodes = len(tree.directions)
    for leaf in range(tree.n_leaves):
        own = trees.get(leaf)
        if own is None or own.root < 0:
            entries.append(-1 - len(leaves))
            leaves.append((leaf, 0))
            continue
        moved = np.where(own.children >= 0, own.children + n_nodes, own.children - len(leaves))
        parts.append(replace(own, children=moved.astype(np.int32)))
        entries.append(n_nodes)
        n_nodes += len(own.directions)
        leaves += [(leaf, number) for number in range(own.n_leaves)]
    entered = np.array(entries, dtype=np.int32)[np.minimum(tree.children, -1) * -1 - 1]
    parts[0] = replace(tree, children=np.where(tree.children >= 0, tree.children, entered))
    return Tree(*(np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS)), leaves


def parts_of(tree: Tree, rows_of_leaf: NDArray[np.int64], most: int) -> list[int]:
    """The highest nodes below which are ``most`` rows or fewer, and leaves, in order: together they hold all.

    They are written as in ``children``.
    """
    below = np.zeros(len(tree.directions), dtype=np.int64)

    def rows_of(place: int) -> int:
        return int(rows_of_leaf[-1 - place] if place < 0 else below[place])

    # a node comes before those below it
    for node in reversed(range(len(below))):
        below[node] = sum(map(rows_of, tree.children[node].tolist()))
    found, waiting = [], [tree.root]
    while waiting:
        place = waiting.pop()
        if place < 0 or rows_of(place) <= most:
            found.append(place)
        else:
            waiting += reversed(tree.children[place].tolist())
    return found


def projections(rows: Floats, directions: Floats) -> NDArray[np.float32]:
    """<v_i, x_i> of each row and its direction, each by itself, so that it does not depend on the others."""
    return np.asarray(np.einsum("ij,ij->i", rows.astype(np.float32, copy=False), directions))


def _taken(name: str, values: Floats, rows: NDArray[np.integer[Any]]) -> Floats:
    """Some rows, which the next ones of that name overwrite."""
    taken = tiles.scratch(name, (len(rows), values.shape[1]), values.dtype)
    return tiles.apply(np.take, values, rows, 0, into=taken, mode="clip")


def _along(rows: Floats, part: NDArray[np.intp], direction: NDArray[np.float32]) -> NDArray[np.float32]:
    """<v, x> of some rows, in strips."""
    values = np.empty(len(part), dtype=np.float32)
    n_strip = max(1, _GATHERED // rows.shape[1])
    for start in range(0, len(part), n_strip):
        strip = rows[part[start : start + n_strip]]
        values[start : start + n_strip] = projections(strip, np.broadcast_to(direction, strip.shape))
    return values


def _cut(
    rows: Floats, part: NDArray[np.intp], leaf_rows: int, overlap: float, generator: np.random.Generator
) -> tuple[NDArray[np.float32], np.float32, np.float32, NDArray[np.float32]] | None:
    """Direction, threshold, margin and <v, x> - t; None if no half space divides the rows."""
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
    """A share of the rows is nearer, at most; 0 if one side would have all rows, as where most are equal."""
    place = int(overlap * len(beyond))
    margin = np.partition(np.abs(beyond), place)[place]
    near = np.abs(beyond) < margin
    if (near | (beyond > 0)).all() or (near | (beyond <= 0)).all():
        return np.float32(0)
    return np.float32(margin)


def _direction(rows: Floats, part: NDArray[np.intp], generator: np.random.Generator) -> NDArray[np.float32]:
    """The direction (d,) of nearly the largest variance, by power iteration on some of a part's rows."""
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
        # equal rows, but for some that were not looked at
        exact = rows[part].astype(np.float64)
        apart = exact - exact[0]
        direction = apart[int(np.argmax(np.square(apart).sum(axis=1)))]
    return direction.astype(np.float32)
