"""Updates of a model with new rows: cells that get new rows are solved again, all others keep their machines.

The model's tree sends rows to its buckets, and each bucket's tree to its cells:

    send new rows to their buckets                       CellsUpdate.route: the pass "move new rows"
    read the old rows of buckets that get new ones       "move"
    find their cells with new rows; cut those that are   cut_again
        too large for a task
    split buckets with too many rows                     divided
    solve each cell with new rows, as a neighbour too,   solve_again, from the old coefficients
        on its old and new rows; cut it first if it has
        more than ``max_cell_rows``
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.stores import ArrayStore, SliceStore, Store
from distkern.core.tiles import release
from distkern.core.types import Array, Block
from distkern.passes import Cost, Each, Outline
from distkern.solvers._cells.buckets import Loads, Machines, Solving, block_of, record_of, solve_rows
from distkern.solvers._cells.choosing import CellsState
from distkern.solvers._cells.layout import MIB, CellLayout
from distkern.solvers._cells.machine import CellMachine, CellSettings
from distkern.solvers._cells.tree import (
    Moving,
    Overlap,
    Places,
    Tree,
    cropped,
    grafted,
    parts_of,
    tree_from_arrays,
    tree_to_arrays,
)
from distkern.solvers.base import Steps
from distkern.solvers.risk import Risk

#: first indices of the streams of trees that cut a bucket's large cell on some of its rows, and a cell
_SOME, _AGAIN = 7, 8

#: the blocks whose rows are sorted together
Parts: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class PreviousCells:
    """The model at the start of an update.

    Attributes
    ----------
    state : the final state of its run, as far as it is known, as stage 0
    machines : of its buckets
    n_blocks : blocks of its own rows, which come before the new ones
    margins : the factor of the margins of its trees; cells with more rows have narrower margins
    """

    state: CellsState
    machines: Loads
    n_blocks: int
    margins: float = 1.0

    @property
    def places(self) -> Places:
        """Its places, with the new margins."""
        places = self.state.places
        return replace(places, tree=places.tree.narrowed(self.margins))


@dataclass(frozen=True)
class Touched:
    """Rows of the buckets that get new ones, as an operand.

    Attributes
    ----------
    solving : the old rows, and how cells are cut and solved
    new, n_parts : the new rows, and the number of their parts
    machines : of the previous model
    most : most rows of a bucket
    margins : see :class:`PreviousCells`
    cuts : what :func:`cut_again` stored for each of these buckets; None before that
    """

    solving: Solving
    new: SliceStore
    n_parts: int
    machines: Loads
    most: int
    margins: float = 1.0
    cuts: ArrayStore | None = None

    def parts(self, bucket: int, place: int) -> Iterator[tuple[bool, Mapping[str, NDArray[Any]]]]:
        """Yield the old and the new rows of a bucket in parts, and whether they are new.

        ``place`` is the number of the bucket among those that get new rows.
        """
        for part in self.solving.rows.slices(place, range(self.solving.n_parts)):
            yield False, part
        for part in self.new.slices(bucket, range(self.n_parts)):
            yield True, part

    def counts(self, bucket: int, place: int, tree: Tree) -> NDArray[np.int64]:
        """Return the old and the new rows in each leaf, with neighbours, (n_leaves, 2)."""
        counts = np.zeros((tree.n_leaves, 2), dtype=np.int64)
        for is_new, part in self.parts(bucket, place):
            for leaf, inside, _ in tree.members(part["features"]):
                counts[leaf, int(is_new)] += len(inside)
        return counts

    def gathered(
        self, bucket: int, place: int, tree: Tree, leaves: Sequence[int]
    ) -> tuple[Block, NDArray[np.bool_]]:
        """Return the rows of some leaves of a bucket, old ones first, and which of them lie in the bucket."""
        found: list[Mapping[str, NDArray[Any]]] = []
        wanted = frozenset(leaves)
        for _, part in self.parts(bucket, place):
            kept = np.zeros(len(part["targets"]), dtype=bool)
            for leaf, inside, _ in tree.members(part["features"]):
                if leaf in wanted:
                    kept[inside] = True
            found.append({name: values[kept] for name, values in part.items()})
        return block_of({name: np.concatenate([part[name] for part in found]) for name in found[0]})


@dataclass(frozen=True)
class CutAgain:
    """How a bucket with new rows is cut.

    Attributes
    ----------
    tree : the previous tree, with cells cut that have more rows than a bucket may have
    rows : (n_leaves,) rows of each leaf with neighbours
    cells : (n_leaves,) the previous cell that contains the leaf
    touched : (n_leaves,) whether the leaf gets new rows
    """

    tree: Tree
    rows: NDArray[np.int64]
    cells: NDArray[np.int64]
    touched: NDArray[np.bool_]

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> CutAgain:
        """Read what :func:`cut_again` stored."""
        return cls(tree_from_arrays(arrays), arrays["rows"], arrays["cells"], arrays["touched"].astype(bool))


def cut_again(
    item: tuple[int, int], _: Iterator[Block], operand: Touched
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Find the cells with new rows of a bucket, given its number and place; return the arrays of
    :class:`CutAgain`, and a record of how many cells are "touched".
    """
    tree = Machines.of(operand.machines.load(item[0])).tree.narrowed(operand.margins)
    counts = operand.counts(*item, tree)
    touched = counts[:, 1] > 0
    cells = np.arange(tree.n_leaves)
    n_touched = int(touched.sum())
    rows = counts.sum(axis=1)
    large = np.flatnonzero(touched & (rows > operand.most)).tolist()
    if large:
        trees = {leaf: _tree_of_some(operand, item, tree, leaf, int(rows[leaf])) for leaf in large}
        tree, leaves = grafted(tree, trees)
        cells = np.array([leaf for leaf, _ in leaves])
        touched, rows = touched[cells], operand.counts(*item, tree).sum(axis=1)
    arrays = {"rows": rows, "cells": cells, "touched": touched.astype(np.uint8)}
    return {"touched": n_touched}, tree_to_arrays(tree) | arrays


def _tree_of_some(operand: Touched, item: tuple[int, int], tree: Tree, leaf: int, n_rows: int) -> Tree:
    """Return a tree that cuts a cell with too many rows for memory, fitted to half as many as fit."""
    step, first, found = -(-2 * n_rows // operand.most), 0, []
    for _, part in operand.parts(*item):
        for other, inside, _ in tree.members(part["features"]):
            if other == leaf:
                found.append(part["features"][inside[first::step]])
                first = (first - len(inside)) % step
    some, solving = np.concatenate(found), operand.solving
    overlap = Overlap(solving.overlap, solving.cell_rows * len(some) / n_rows)
    leaf_rows = max(1, operand.most // 2 * len(some) // n_rows)
    return Tree.fit(some, leaf_rows, solving.seed, _SOME, item[0], leaf, overlap=overlap)


@dataclass(frozen=True)
class Piece:
    """A bucket of the new model: all or a part of a previous one.

    Attributes
    ----------
    bucket : the previous bucket
    place : its number among those with new rows, or -1
    node : of the bucket's tree at which the piece starts
    rows : upper bound on its rows with neighbours
    """

    bucket: int
    place: int
    node: int
    rows: int


def divided(
    before: PreviousCells, touched: Mapping[int, int], cuts: ArrayStore, most: int
) -> tuple[Places, list[Piece]]:
    """Split buckets with more than ``most`` rows along their own half spaces; keep the others.

    The first piece of a bucket keeps its number; the others are numbered from the last previous bucket on.

    Parameters
    ----------
    touched : the rows, with neighbours, of each bucket that gets new ones, in order
    """
    places = before.places
    pieces = [Piece(bucket, -1, 0, 0) for bucket in range(places.n_buckets)]
    trees: dict[int, Tree] = {}
    numbers_of: dict[int, list[int]] = {}
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
            numbers_of[bucket] = numbers
    buckets = places.bucket_of_leaf.tolist()
    tree, leaves_of = grafted(
        places.tree, {leaf: trees[bucket] for leaf, bucket in enumerate(buckets) if bucket in trees}
    )
    of_leaf = [numbers_of.get(buckets[leaf], [buckets[leaf]])[part] for leaf, part in leaves_of]
    return replace(places, tree=tree, bucket_of_leaf=np.array(of_leaf, dtype=np.int32)), pieces


def solve_again(
    item: Piece, _: Iterator[Block], operand: Touched
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Solve the cells of a bucket that get new rows and keep the other machines; return the record and the
    arrays of :func:`~distkern.solvers._cells.buckets.solve_bucket`.
    """
    stored, risk = operand.machines.load(item.bucket), operand.solving.risk
    if item.place < 0:
        return record_of(stored, risk), dict(stored)
    before = Machines.of(stored)
    assert operand.cuts is not None
    cut = CutAgain.of(operand.cuts.load(item.place))
    tree, ends = cropped(cut.tree, item.node)
    wanted = [-1 - end for end in ends if cut.touched[-1 - end]]
    rows, lies = operand.gathered(item.bucket, item.place, cut.tree, wanted)
    features = np.asarray(rows.features)
    members = {leaf: (inside, in_cell) for leaf, inside, in_cell in cut.tree.members(features)}
    trees: dict[int, Tree] = {}
    solved: list[tuple[CellMachine, Array]] = []
    for place, end in enumerate(ends):
        leaf = -1 - end
        machine, figures = before.cell(int(cut.cells[leaf]))
        if not cut.touched[leaf]:
            solved.append((machine, figures))
            continue
        inside, in_cell = members[leaf]
        key = item.bucket, leaf
        some, in_bucket = rows.take(inside), in_cell & lies[inside]
        trees[place], cells = _solved(some, in_bucket, operand.solving, key, machine)
        solved += cells
    release()
    machines, figures_of = [one for one, _ in solved], [own for _, own in solved]
    arrays = Machines.pack(grafted(tree, trees)[0], machines, figures_of)
    return record_of(arrays, risk), arrays


def _solved(
    rows: Block, lies: NDArray[np.bool_], solving: Solving, key: tuple[int, int], before: CellMachine
) -> tuple[Tree, list[tuple[CellMachine, Array]]]:
    """Cut a cell if it has too many rows, and solve its machines from the coefficients that rows had."""
    features = np.asarray(rows.features)
    overlap = Overlap(solving.overlap, solving.cell_rows)
    tree = Tree.fit(features, solving.cell_rows, solving.seed, _AGAIN, *key, overlap=overlap)
    if tree.root < 0:
        return tree, [solve_rows(rows, lies, solving, key, before)]
    return tree, [
        solve_rows(rows.take(inside), in_cell & lies[inside], solving, (*key, leaf), before)
        for leaf, inside, in_cell in tree.members(features)
    ]


@dataclass(frozen=True)
class CellsUpdate:
    """The passes of an update; the layout has the sizes of old and new rows together."""

    layout: CellLayout
    before: PreviousCells
    risk: Risk
    settings: CellSettings

    @property
    def _old(self) -> Parts:
        return self.layout.parts_of(range(self.before.n_blocks))

    @property
    def _new(self) -> Parts:
        return self.layout.parts_of(range(self.before.n_blocks, len(self.layout.problem.block_rows)))

    def route(self) -> Steps[tuple[Places, list[Piece]]]:
        """Move rows, and return the buckets of the new model."""
        touched, layout, places = self._touched, self.layout, self.before.places
        yield layout.moving(Moving(places), touched.new, "move new rows", self._new)
        buckets = np.flatnonzero(self._new_rows)
        moving = Moving(places, buckets.astype(np.int32))
        yield layout.moving(moving, touched.solving.rows, "move", self._old)
        items = [(bucket, place) for place, bucket in enumerate(buckets.tolist())]
        yield self._cutting(items, self._cuts, touched)
        return self._division

    @property
    def _division(self) -> tuple[Places, list[Piece]]:
        """The places and buckets of the new model, once rows are moved."""
        solving, new = self._touched.solving, self._new_rows
        buckets = np.flatnonzero(new)
        rows = new[buckets] + _rows_of_slices(solving.rows, solving.n_parts, len(buckets))
        touched = dict(zip(buckets.tolist(), rows.tolist(), strict=True))
        return divided(self.before, touched, self._cuts, self.layout.bucket_rows)

    def outline(self) -> list[Outline]:
        """Return the passes before they are run."""
        layout, items = self.layout, range(self.before.places.n_buckets)
        return [
            Outline(layout.moving(name="move new rows", parts=self._new), 1),
            Outline(layout.moving(parts=self._old), 1),
            Outline(self._cutting(items)),
            Outline(self._solving(items)),
        ]

    def _cutting(
        self, items: Sequence[Any], store: Store | None = None, operand: Touched | None = None
    ) -> Each:
        """Return the pass that finds the cells with new rows."""
        layout = self.layout
        # all rows of a part may belong to one bucket, of which a large cell is sampled
        workspace = 2 * layout.part_rows * layout.row_bytes + layout.bucket_rows * layout.row_bytes
        cost = Cost(workspace + layout.machine_bytes + 8 * MIB, MIB + layout.places_bytes)
        return Each("cut", cut_again, items, store, operand=operand, cost=cost)

    def solving(self, store: Store) -> Each:
        """Return the pass that solves or keeps the machines of all buckets."""
        return self._solving(self._division[1], store, replace(self._touched, cuts=self._cuts))

    def _solving(
        self, items: Sequence[Any], store: Store | None = None, operand: Touched | None = None
    ) -> Each:
        layout = self.layout
        part = 2 * layout.part_rows * layout.row_bytes
        workspace = layout.solving_bytes() + layout.machine_bytes + part
        cost = layout.cost(workspace, layout.machine_bytes, driver=2 * layout.places_bytes, compiled=True)
        return Each("solve", solve_again, items, store, operand=operand, cost=cost)

    @cached_property
    def _touched(self) -> Touched:
        layout, before = self.layout, self.before
        old, new = (layout.slices(f"moved/{name}") for name in ("old", "new"))
        sizes = len(self._old), self.risk, layout.cell_rows, layout.overlap, layout.problem.seed
        solving = Solving(old, *sizes, self.settings)
        return Touched(solving, new, len(self._new), before.machines, layout.bucket_rows, before.margins)

    @cached_property
    def _cuts(self) -> ArrayStore:
        assert self.layout.problem.workplace is not None
        return self.layout.problem.workplace.arrays("moved/cuts")

    @property
    def _new_rows(self) -> NDArray[np.int64]:
        """New rows in each bucket with neighbours."""
        touched = self._touched
        return _rows_of_slices(touched.new, touched.n_parts, self.before.places.n_buckets)


def _rows_of_slices(store: SliceStore, n_parts: int, n_slices: int) -> NDArray[np.int64]:
    """Return the rows in each slice over all parts."""
    rows = np.zeros(n_slices, dtype=np.int64)
    for number in range(n_parts):
        rows += np.diff(store.offsets(number))
    return rows
