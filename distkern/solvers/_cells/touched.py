"""New rows come to a model: the cells that get some are solved again, and all others keep their machines.

The model's tree sends rows to its buckets, and each bucket's own tree to its cells. A cell that gets a new
row, be it as a neighbour, is solved on its old and new rows. One with more than ``max_cell_rows`` rows is cut
by the tree's own rule, and a bucket of more rows than a task may hold becomes several.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.stores import ArrayStore, SliceStore
from distkern.core.tiles import release
from distkern.core.types import Array, Block
from distkern.solvers._cells.basis import Loads
from distkern.solvers._cells.buckets import Machines, Solving, record_of, solve_rows
from distkern.solvers._cells.machine import CellMachine
from distkern.solvers._cells.place import Places
from distkern.solvers._cells.state import CellsState
from distkern.solvers._cells.tree import (
    Overlap,
    Tree,
    cropped,
    grafted,
    parts_of,
    tree_from_arrays,
    tree_to_arrays,
)

#: first indices of the streams of trees that cut a bucket's large cell on some of its rows, and a cell
_SOME, _AGAIN = 7, 8


@dataclass(frozen=True)
class PreviousCells:
    """The model that an update begins from.

    Attributes
    ----------
    state : that its run ended with, or what of it is known, as stage 0
    machines : of its buckets
    n_blocks : blocks of its own rows, which come before those of the new ones
    margins : what the margins of its trees are multiplied by: cells of more rows have fewer neighbours
    """

    state: CellsState
    machines: Loads
    n_blocks: int
    margins: float = 1.0

    @property
    def places(self) -> Places:
        """Where it has its machines, with margins as they are now."""
        places = self.state.places
        return replace(places, tree=places.tree.narrowed(self.margins))


@dataclass(frozen=True)
class Touched:
    """The rows of the buckets that get new ones, as operand of the tasks below.

    Attributes
    ----------
    solving : the old rows, how cells are cut, and the settings of machines
    new, n_parts : the new rows, and in how many parts they are
    machines : of the model before
    most : rows of a bucket
    margins : see :class:`PreviousCells`
    cuts : what :func:`cut_again` stored, by the place of the bucket; None before
    """

    solving: Solving
    new: SliceStore
    n_parts: int
    machines: Loads
    most: int
    margins: float = 1.0
    cuts: ArrayStore | None = None

    def parts(self, bucket: int, place: int) -> Iterator[tuple[bool, Mapping[str, NDArray[Any]]]]:
        """The old rows of a bucket, which is at a ``place`` among those that are touched, and the new ones, a
        part at a time, and whether they are new.
        """
        for part in self.solving.cut.rows.slices(place, range(self.solving.cut.n_parts)):
            yield False, part
        for part in self.new.slices(bucket, range(self.n_parts)):
            yield True, part

    def gathered(
        self, bucket: int, place: int, tree: Tree, leaves: Sequence[int]
    ) -> tuple[Block, NDArray[np.bool_]]:
        """The rows of some leaves of a bucket, old ones first, and which of them lie in the bucket."""
        found: list[Mapping[str, NDArray[Any]]] = []
        wanted = frozenset(leaves)
        for _, part in self.parts(bucket, place):
            kept = np.zeros(len(part["targets"]), dtype=bool)
            for leaf, inside, _ in tree.members(part["features"]):
                if leaf in wanted:
                    kept[inside] = True
            found.append({name: values[kept] for name, values in part.items()})
        rows = {name: np.concatenate([part[name] for part in found]) for name in found[0]}
        keys = rows.get("group_keys")
        block = Block(rows["features"], rows["targets"], rows["weights"], group_keys=keys)
        return block, rows["lies"].astype(bool)


@dataclass(frozen=True)
class CutAgain:
    """How a bucket that got new rows is cut.

    Attributes
    ----------
    tree : the previous tree, with cells cut that have more rows than a bucket may have
    rows : (n_leaves,) rows of each leaf, neighbours included
    cells : (n_leaves,) the previous cell that contains the leaf
    touched : (n_leaves,) whether the leaf gets new rows
    """

    tree: Tree
    rows: NDArray[np.int64]
    cells: NDArray[np.int64]
    touched: NDArray[np.bool_]

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> CutAgain:
        """From what :func:`cut_again` stored."""
        return cls(tree_from_arrays(arrays), arrays["rows"], arrays["cells"], arrays["touched"].astype(bool))


def cut_again(
    item: tuple[int, int], _: Iterator[Block], operand: Touched
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Which cells of a bucket, given its number and its place, get new rows; the arrays of :class:`CutAgain`.

    The record has how many cells are "touched".
    """
    bucket, place = item
    tree = Machines.of(operand.machines.load(bucket)).tree.narrowed(operand.margins)
    counts = _counts(operand, bucket, place, tree)
    touched = counts[:, 1] > 0
    cells = np.arange(tree.n_leaves)
    n_touched = int(touched.sum())
    large = np.flatnonzero(touched & (counts.sum(axis=1) > operand.most)).tolist()
    if large:
        rows = counts.sum(axis=1).tolist()
        trees = {leaf: _tree_of_some(operand, (bucket, place), tree, leaf, rows[leaf]) for leaf in large}
        tree, leaves = grafted(tree, trees)
        cells = np.array([leaf for leaf, _ in leaves])
        touched, counts = touched[cells], _counts(operand, bucket, place, tree)
    arrays = {"rows": counts.sum(axis=1), "cells": cells, "touched": touched.astype(np.uint8)}
    return {"touched": n_touched}, tree_to_arrays(tree) | arrays


def _counts(operand: Touched, bucket: int, place: int, tree: Tree) -> NDArray[np.int64]:
    """Old and new rows in each leaf, neighbours included, (n_leaves, 2)."""
    counts = np.zeros((tree.n_leaves, 2), dtype=np.int64)
    for is_new, part in operand.parts(bucket, place):
        for leaf, inside, _ in tree.members(part["features"]):
            counts[leaf, int(is_new)] += len(inside)
    return counts


def _tree_of_some(operand: Touched, item: tuple[int, int], tree: Tree, leaf: int, n_rows: int) -> Tree:
    """The tree of a cell with more rows than can be held, from some of them: half as many as may be held."""
    step, first, found = -(-2 * n_rows // operand.most), 0, []
    for _, part in operand.parts(*item):
        for other, inside, _ in tree.members(part["features"]):
            if other == leaf:
                found.append(part["features"][inside[first::step]])
                first = (first - len(inside)) % step
    some, cut = np.concatenate(found), operand.solving.cut
    overlap = Overlap(cut.overlap, cut.cell_rows * len(some) / n_rows)
    leaf_rows = max(1, operand.most // 2 * len(some) // n_rows)
    return Tree.fit(some, leaf_rows, cut.seed, _SOME, item[0], leaf, overlap=overlap)


@dataclass(frozen=True)
class Piece:
    """A bucket of the new model: all or a part of one of before.

    Attributes
    ----------
    bucket : of before
    place : among those that get new rows; -1 for one that gets none
    node : of the bucket's tree from which on it is
    rows : in its leaves, neighbours included, at most
    """

    bucket: int
    place: int
    node: int
    rows: int


@dataclass(frozen=True)
class Division:
    """The buckets of the new model, and where they are."""

    places: Places
    pieces: tuple[Piece, ...]


def divided(before: PreviousCells, touched: Mapping[int, int], cuts: ArrayStore, most: int) -> Division:
    """Buckets with more than ``most`` rows are cut along their own half spaces; the others stay.

    The first part of a bucket has its number, and others are numbered on from the last one of before.

    Parameters
    ----------
    touched : of each bucket that gets new rows how many it has, neighbours included, in order
    """
    places = before.places
    pieces = [Piece(bucket, -1, 0, 0) for bucket in range(places.n_buckets)]
    trees: dict[int, Tree] = {}
    own: dict[int, list[int]] = {}
    for place, (bucket, n_rows) in enumerate(touched.items()):
        cut = CutAgain.of(cuts.load(place))
        nodes = [cut.tree.root] if n_rows <= most else parts_of(cut.tree, cut.rows, most)
        numbers = [bucket, *range(len(pieces), len(pieces) + len(nodes) - 1)]
        pieces += [pieces[bucket]] * (len(nodes) - 1)
        for number, node in zip(numbers, nodes, strict=True):
            leaves = [-1 - leaf for leaf in cropped(cut.tree, node)[1]]
            pieces[number] = Piece(bucket, place, node, min(n_rows, int(cut.rows[leaves].sum())))
        if len(nodes) > 1:
            trees[bucket] = cropped(cut.tree, cut.tree.root, nodes)[0]
            own[bucket] = numbers
    buckets = places.bucket_of_leaf.tolist()
    tree, leaves_of = grafted(
        places.tree, {leaf: trees[bucket] for leaf, bucket in enumerate(buckets) if bucket in trees}
    )
    numbers_of = [own.get(buckets[leaf], [buckets[leaf]])[part] for leaf, part in leaves_of]
    found = replace(places, tree=tree, bucket_of_leaf=np.array(numbers_of, dtype=np.int32))
    return Division(found, tuple(pieces))


def solve_again(
    item: Piece, _: Iterator[Block], operand: Touched
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The machines of a bucket: of cells without new rows those of before; a record as that of
    :func:`~distkern.solvers._cells.buckets.solve_bucket`.
    """
    stored, risk = operand.machines.load(item.bucket), operand.solving.cut.risk
    if item.place < 0:
        return record_of(stored, risk), dict(stored)
    before = Machines.of(stored)
    assert operand.cuts is not None
    cut = CutAgain.of(operand.cuts.load(item.place))
    tree, ends = cropped(cut.tree, item.node)
    wanted = [-1 - end for end in ends if cut.touched[-1 - end]]
    rows, lies = operand.gathered(item.bucket, item.place, cut.tree, wanted)
    features = np.asarray(rows.features)
    members = {leaf: (inside, own) for leaf, inside, own in cut.tree.members(features) if cut.touched[leaf]}
    trees: dict[int, Tree] = {}
    machines: list[CellMachine] = []
    figures: list[Array] = []
    for place, end in enumerate(ends):
        leaf = -1 - end
        machine, known = before.cell(int(cut.cells[leaf]))
        if not cut.touched[leaf]:
            machines.append(machine)
            figures.append(known)
            continue
        inside, own = members[leaf]
        key = item.bucket, leaf
        trees[place], found = _solved(rows.take(inside), own & lies[inside], operand, key, machine)
        machines += [machine for machine, _ in found]
        figures += [known for _, known in found]
    release()
    arrays = Machines.pack(grafted(tree, trees)[0], machines, figures)
    return record_of(arrays, risk), arrays


def _solved(
    rows: Block, lies: NDArray[np.bool_], operand: Touched, key: tuple[int, int], before: CellMachine
) -> tuple[Tree, list[tuple[CellMachine, Array]]]:
    """The machines of a cell, which is cut if it has too many rows, and the tree that cuts it.

    Their duals are solved on from the coefficients that the rows had.
    """
    cut, features = operand.solving.cut, np.asarray(rows.features)
    overlap = Overlap(cut.overlap, cut.cell_rows)
    tree = Tree.fit(features, cut.cell_rows, cut.seed, _AGAIN, *key, overlap=overlap)
    if tree.root < 0:
        return tree, [solve_rows(rows, lies, operand.solving, key, before)]
    return tree, [
        solve_rows(rows.take(inside), own & lies[inside], operand.solving, (*key, leaf), before)
        for leaf, inside, own in tree.members(features)
    ]
