"""A bucket of rows: cut into cells, whose machines are solved one by one and stored as arrays."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import CorruptDataError
from distkern.core.rng import Purpose, stream
from distkern.core.stores import SliceStore, indexed, shaped
from distkern.core.tiles import release
from distkern.core.types import Array, Block, Floats
from distkern.maths.kernels.base import AbstractPrepared
from distkern.maths.losses.conjugate import AbstractDualLoss
from distkern.solvers._cells.machine import (
    CellMachine,
    CellSettings,
    predict_cell,
    shared_rows,
    solve_cell,
    solving_bytes,
)
from distkern.solvers._cells.tree import Overlap, Tree, tree_from_arrays, tree_to_arrays
from distkern.solvers.measuring import Sums, sums_and_slopes
from distkern.solvers.risk import Risk

#: first indices of the streams of a bucket
_TREE, _ORDER = 4, 5
#: of each cell, before its errors: rows that lie there and their weight, the sum of their losses times their
#: weights, |w|^2, the objective of its machine, its duality gap, and whether it is short of the tolerance
_FIGURES = ("rows", "weight", "losses", "norm", "primal", "gap", "unsolved")
#: which the machine learns from of a cell where no row of the data lies
_ROWS_OF_NONE = 256


@dataclass(frozen=True)
class Cut:
    """Rows by bucket, and how they are cut into cells.

    Attributes
    ----------
    rows, n_parts : the rows, and in how many parts they are
    risk : of them
    cell_rows, overlap : of a cell, at most, and the share of them that are neighbours at a border
    """

    rows: SliceStore
    n_parts: int
    risk: Risk
    cell_rows: int
    overlap: float
    seed: int

    @property
    def loss(self) -> AbstractDualLoss:
        """The loss of the cells' machines, which are solved in its dual."""
        assert isinstance(self.risk.loss, AbstractDualLoss)
        return self.risk.loss

    def tree(self, features: Floats, number: int) -> Tree:
        """Its leaves are the cells of a bucket."""
        overlap = Overlap(self.overlap, self.cell_rows)
        return Tree.fit(features, self.cell_rows, self.seed, _TREE, number, overlap=overlap)

    def gathered(self, number: int, most: int) -> tuple[Block, NDArray[np.bool_]]:
        """The rows of a bucket, in the order of the data, with neighbours, and which of them lie in it."""
        parts = self.rows.slices(number, range(self.n_parts))
        first = next(parts)
        arrays = {name: np.empty((most, *values.shape[1:]), values.dtype) for name, values in first.items()}
        done = 0
        for part in (first, *parts) if most else ():
            stop = done + len(part["targets"])
            for name, values in part.items():
                arrays[name][done:stop] = values
            done = stop
        found = {name: values[:done] for name, values in arrays.items()}
        keys = found.get("group_keys")
        rows = Block(found["features"], found["targets"], found["weights"], group_keys=keys)
        return rows, found["lies"].astype(bool)


@dataclass(frozen=True)
class Solving:
    """The operand of the pass that solves: the rows, and the settings of the cells' machines.

    ``rarest`` is the code of the class whose rows are counted.
    """

    cut: Cut
    settings: CellSettings
    rarest: int | None = None


def solve_bucket(
    item: tuple[int, int], _: Iterator[Block], operand: Solving
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The machines of a bucket, given its number and how many rows it has at most.

    Returns
    -------
    a record: of :class:`~distkern.solvers.measuring.Sums` "losses", "errors", "weight" and "rows", of the
    rows that lie in it; "norm" (sum of |w|^2), "primal" and "gap" (sums of the machines' objectives and
    duality gaps), "support" (rows with a coefficient), "cells", "bytes" and "unsolved" (machines short of the
    tolerance), and "rarest" (rows of the rarest class); and the arrays of :class:`Machines`
    """
    number, cut = item[0], operand.cut
    rows, lies = cut.gathered(*item)
    features = np.asarray(rows.features)
    tree = cut.tree(features, number)
    found, figures = [], []
    for cell, inside, own in tree.members(features):
        machine, known = solve_rows(rows.take(inside), own & lies[inside], operand, (number, cell))
        found.append(machine)
        figures.append(known)
    release()
    arrays = Machines.pack(tree, found, figures)
    rarest = int(np.count_nonzero(lies & (rows.targets == operand.rarest)))
    return {**record_of(arrays, cut.risk), "rarest": rarest}, arrays


def record_of(arrays: Mapping[str, NDArray[Any]], risk: Risk) -> dict[str, Any]:
    """What the driver is told of a bucket's machines, see :func:`solve_bucket`."""
    figures = np.asarray(arrays["figures"])
    totals = [math.fsum(column) for column in figures.T]
    known = dict(zip(_FIGURES, totals, strict=False))
    return {
        **known,
        "losses": known["losses"] / risk.mean_weight,
        "errors": totals[len(_FIGURES) :],
        "rows": int(known["rows"]),
        "unsolved": int(known["unsolved"]),
        "support": len(arrays["places"]),
        "cells": len(figures),
        "bytes": sum(array.nbytes for array in arrays.values()),
    }


def by_leaf(leaves: NDArray[np.int32], n_leaves: int) -> list[NDArray[np.intp]]:
    """The rows of each leaf, in order."""
    order = np.argsort(leaves, kind="stable")
    return np.split(order, np.searchsorted(leaves[order], np.arange(1, n_leaves)))


def solve_rows(
    rows: Block,
    lies: NDArray[np.bool_],
    operand: Solving,
    key: tuple[int, ...],
    before: CellMachine | None = None,
) -> tuple[CellMachine, Array]:
    """The machine of a cell, and its figures: those of the rows that lie there, and its own."""
    cut, settings = operand.cut, operand.settings
    risk = cut.risk
    cell = rows
    if rows.n_rows > cut.cell_rows:
        cell = _at_one_place(rows, cut.cell_rows, real=risk.is_real)
    elif not lies.any():
        # it has neighbours alone, beyond the borders of its bucket: hardly a row will ever lie there
        cell = rows.take(slice(_ROWS_OF_NONE))
    weights, targets = risk.repeats(cell), risk.targets(cell).astype(np.float64)
    seed = int(stream(cut.seed, Purpose.ROW_ORDER, _ORDER, *key).integers(2**62))
    machine = solve_cell(settings, np.asarray(cell.features), targets, weights, seed, before)
    sums = Sums.none(risk)
    mine = np.flatnonzero(lies)
    for start in range(0, len(mine), cut.cell_rows):
        strip = rows.take(mine[start : start + cut.cell_rows])
        values = machine.predict(settings, np.asarray(strip.features))
        sums = Sums.add(sums, sums_and_slopes(risk, strip, values, slopes=False)[0])
    own = machine.squared_norm, machine.primal, machine.gap, not machine.converged
    return machine, np.array(
        [sums.n_rows, sums.weight, sums.losses * risk.mean_weight, *own, *sums.errors], dtype=np.float64
    )


def _at_one_place(rows: Block, most: int, *, real: bool) -> Block:
    """Rows that no half space divides, as rows at the first one's place: one for each target.

    Neighbours among more than ``most`` real targets get their mean.
    """
    assert rows.targets is not None
    assert rows.weights is not None
    targets, codes = np.unique(rows.targets, return_inverse=True)
    weights: NDArray[Any] = np.bincount(codes, rows.weights)
    if real and len(targets) > most:
        run = np.arange(len(targets)) * most // len(targets)
        totals = np.bincount(run, weights)
        targets, weights = np.bincount(run, weights * targets) / totals, totals
    features = np.repeat(np.asarray(rows.features)[:1], len(targets), axis=0)
    return Block(features, targets, weights)


@dataclass(frozen=True)
class Machines:
    """The machines of a bucket; cell c has the support rows ``support[places[ends[c - 1] : ends[c]]]``.

    Attributes
    ----------
    tree : its leaves are the cells
    support : (n_rows, d) float32, each once, for neighbouring cells have rows in common
    places, coefficients : (n,) int32 and (n, n_outputs) float32, by cell; coefficients of all are float64
        where those of one cell are
    constants : (n_cells, n_outputs) float64
    ends : (n_cells,) int64
    figures : (n_cells, n_figures) float64, of which an update takes those of cells that it keeps
    """

    tree: Tree
    support: Floats
    places: NDArray[np.int32]
    coefficients: Floats
    constants: NDArray[np.float64]
    ends: NDArray[np.int64]
    figures: Array

    @staticmethod
    def pack(tree: Tree, cells: list[CellMachine], figures: list[Array]) -> dict[str, NDArray[Any]]:
        """The arrays from which :meth:`of` makes them."""
        support, places = shared_rows([cell.rows for cell in cells])
        return {
            **tree_to_arrays(tree),
            "support": support,
            "places": places,
            "coefficients": np.concatenate([cell.coefficients for cell in cells]),
            "constants": np.stack([cell.constants for cell in cells]),
            "ends": np.cumsum([len(cell.rows) for cell in cells]),
            "figures": np.stack(figures),
        }

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Machines:
        """Return the machines of what :meth:`pack` gave.

        Raises
        ------
        CorruptDataError
            If an array is missing, or they do not fit together.
        """
        try:
            return cls._of(arrays)
        except (KeyError, ValueError) as error:
            raise CorruptDataError(
                f"the machines of a bucket do not fit together ({error})", hint="train again"
            ) from None

    @classmethod
    def _of(cls, arrays: Mapping[str, NDArray[Any]]) -> Machines:
        tree = tree_from_arrays(arrays)
        support = shaped(arrays, "support", None, tree.directions.shape[1])
        places = indexed(arrays, "places", None, below=len(support))
        constants = shaped(arrays, "constants", tree.n_leaves, None)
        coefficients = shaped(arrays, "coefficients", len(places), constants.shape[1])
        ends = indexed(arrays, "ends", tree.n_leaves, below=len(places) + 1)
        if (np.diff(ends) < 0).any():
            raise ValueError("the support rows of cells overlap")
        figures = shaped(arrays, "figures", tree.n_leaves, None)
        return cls(tree, support, places, coefficients, constants, ends, figures)

    def cell(self, number: int) -> tuple[CellMachine, Array]:
        """The machine of a cell, and its figures."""
        own = self._of_cell(number)
        machine = CellMachine(self.support[self.places[own]], self.coefficients[own], self.constants[number])
        return machine, self.figures[number]

    def _of_cell(self, cell: int) -> slice:
        return slice(int(self.ends[cell - 1]) if cell else 0, int(self.ends[cell]))

    @property
    def nbytes(self) -> int:
        own = (self.support, self.places, self.coefficients, self.constants, self.ends)
        return sum(array.nbytes for array in (*own, self.tree.directions, self.tree.children))

    def predict(
        self,
        rows: Floats,
        settings: CellSettings,
        prepare: Callable[[int, Floats], AbstractPrepared] | None = None,
    ) -> NDArray[np.float64]:
        """f of rows (n, d) that lie in the bucket, (n, n_outputs), as :func:`predict_cell` does; support rows
        are numbered within the bucket."""
        found = np.empty((len(rows), self.constants.shape[1]))
        for cell, inside in enumerate(by_leaf(self.tree.leaves(rows), self.tree.n_leaves)):
            if len(inside):
                own = self._of_cell(cell)
                of_cell = None if prepare is None else partial(_shifted, prepare, own.start)
                found[inside] = predict_cell(
                    settings,
                    self.support[self.places[own]],
                    self.coefficients[own],
                    self.constants[cell],
                    rows[inside],
                    of_cell,
                )
        return found


def _shifted(
    prepare: Callable[[int, Floats], AbstractPrepared], start: int, first: int, support: Floats
) -> AbstractPrepared:
    return prepare(start + first, support)


def most_bytes(
    cell_rows: int,
    bucket_rows: int,
    row_bytes: int,
    n_features: int,
    n_outputs: int,
    n_costs: int = 1,
    *,
    double: bool,
) -> int:
    """What :func:`solve_bucket` takes at most, beside the arrays that it returns."""
    gathered = bucket_rows * (row_bytes + 64)
    # rows of a cell, and those of them that are predicted
    solving = solving_bytes(cell_rows, n_features, n_outputs, n_costs, double=double)
    # rows of parts, or machines that are put together, are there twice
    return gathered + max(gathered + 8 * bucket_rows * n_outputs, 2 * cell_rows * row_bytes + solving)
