"""A bucket of rows: cut into cells, whose machines are solved one by one, stored, and read to predict."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import CorruptDataError
from distkern.core.processes import new_lock
from distkern.core.rng import Purpose, stream
from distkern.core.sparse import Rows, converted
from distkern.core.stores import SliceStore, indexed, shaped
from distkern.core.tiles import release
from distkern.core.types import Array, Block, Floats
from distkern.maths.bases.placed import AbstractPlacedBasis, PlacedSizes
from distkern.maths.kernels.base import AbstractPrepared
from distkern.solvers._cells.machine import (
    CellMachine,
    CellSettings,
    predict_cell,
    shared_rows,
    solve_cell,
    solving_bytes,
)
from distkern.solvers._cells.tree import Overlap, Places, Tree, tree_from_arrays, tree_to_arrays
from distkern.solvers.measuring import Sums, sums_and_slopes
from distkern.solvers.risk import Risk

#: first indices of the streams of a bucket
_TREE, _ORDER = 4, 5
#: figures of each cell before its errors: rows in it and their weight, the weighted sum of their losses,
#: |w|^2, the objective of its machine, its duality gap, and whether it missed the tolerance
_FIGURES = ("rows", "weight", "losses", "norm", "primal", "gap", "unsolved")
#: most training rows of a cell without rows of the data
_ROWS_OF_NONE = 256
#: bytes of machines that a process keeps, of all models together
KEPT_BYTES = 128 * 2**20
#: bytes of prepared support rows that a process keeps
PREPARED_BYTES = 32 * 2**20
#: numbers of rows placed and predicted together; more for a model that is not kept, which is read once for
#: them
_NUMBERS, _MANY_NUMBERS = 2**21, 2**23
#: bytes of a tile of kernel values
_TILE_BYTES = 16 * 2**20

Value = TypeVar("Value")

_lock = new_lock()
_kept: Any = None


@dataclass(frozen=True)
class Solving:
    """How the rows of buckets are cut into cells and solved, as an operand of passes.

    Attributes
    ----------
    rows, n_parts : the rows by bucket, and the number of their parts
    risk : of the rows
    cell_rows, overlap : most rows of a cell, and the share of neighbours at a border
    settings : of the machines
    rarest : the code of the class whose rows are counted
    """

    rows: SliceStore
    n_parts: int
    risk: Risk
    cell_rows: int
    overlap: float
    seed: int
    settings: CellSettings
    rarest: int | None = None

    def tree(self, features: Floats, number: int) -> Tree:
        """Return the tree whose leaves are the cells of a bucket."""
        overlap = Overlap(self.overlap, self.cell_rows)
        return Tree.fit(features, self.cell_rows, self.seed, _TREE, number, overlap=overlap)

    def gathered(self, number: int, most: int) -> tuple[Block, NDArray[np.bool_]]:
        """Return the rows of a bucket with its neighbours, in the order of the data, and which lie in it."""
        parts = self.rows.slices(number, range(self.n_parts))
        first = next(parts)
        arrays = {name: np.empty((most, *values.shape[1:]), values.dtype) for name, values in first.items()}
        done = 0
        for part in (first, *parts) if most else ():
            stop = done + len(part["targets"])
            for name, values in part.items():
                arrays[name][done:stop] = values
            done = stop
        return block_of({name: values[:done] for name, values in arrays.items()})


def block_of(rows: Mapping[str, NDArray[Any]]) -> tuple[Block, NDArray[np.bool_]]:
    """Return moved rows as a block, and which of them lie in their bucket."""
    keys = rows.get("group_keys")
    block = Block(rows["features"], rows["targets"], rows["weights"], group_keys=keys)
    return block, rows["lies"].astype(bool)


def solve_bucket(
    item: tuple[int, int], _: Iterator[Block], operand: Solving
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Solve the machines of a bucket, given its number and an upper bound on its rows.

    Returns
    -------
    a record and the arrays of :class:`Machines`. The record has the fields "losses", "errors", "weight" and
    "rows" of :class:`~distkern.solvers.measuring.Sums` for the rows in the bucket, "norm" (sum of |w|^2),
    "primal" and "gap" (sums of objectives and duality gaps), "support" (rows with a coefficient), "cells",
    "bytes", "unsolved" (machines that missed the tolerance) and "rarest" (rows of the rarest class)
    """
    number = item[0]
    rows, lies = operand.gathered(*item)
    features = np.asarray(rows.features)
    tree = operand.tree(features, number)
    machines, figures = [], []
    for cell, inside, in_cell in tree.members(features):
        solved = solve_rows(rows.take(inside), in_cell & lies[inside], operand, (number, cell))
        machines.append(solved[0])
        figures.append(solved[1])
    release()
    arrays = Machines.pack(tree, machines, figures)
    rarest = int(np.count_nonzero(lies & (rows.targets == operand.rarest)))
    return {**record_of(arrays, operand.risk), "rarest": rarest}, arrays


def record_of(arrays: Mapping[str, NDArray[Any]], risk: Risk) -> dict[str, Any]:
    """Return the record of a bucket's machines, see :func:`solve_bucket`."""
    figures = np.asarray(arrays["figures"])
    totals = [math.fsum(column) for column in figures.T]
    by_name = dict(zip(_FIGURES, totals, strict=False))
    return {
        **by_name,
        "losses": by_name["losses"] / risk.mean_weight,
        "errors": totals[len(_FIGURES) :],
        "rows": int(by_name["rows"]),
        "unsolved": int(by_name["unsolved"]),
        "support": len(arrays["places"]),
        "cells": len(figures),
        "bytes": sum(array.nbytes for array in arrays.values()),
    }


def solve_rows(
    rows: Block,
    lies: NDArray[np.bool_],
    operand: Solving,
    key: tuple[int, ...],
    before: CellMachine | None = None,
) -> tuple[CellMachine, Array]:
    """Solve the machine of a cell; return it with its figures over the rows that lie in the cell."""
    risk, settings, cell = operand.risk, operand.settings, rows
    if rows.n_rows > operand.cell_rows:
        cell = _at_one_place(rows, operand.cell_rows, real=risk.is_real)
    elif not lies.any():
        # only neighbours from outside the bucket: hardly any row will ever lie here
        cell = rows.take(slice(_ROWS_OF_NONE))
    weights, targets = risk.repeats(cell), risk.targets(cell).astype(np.float64)
    seed = int(stream(operand.seed, Purpose.ROW_ORDER, _ORDER, *key).integers(2**62))
    machine = solve_cell(settings, np.asarray(cell.features), targets, weights, seed, before)
    sums = Sums.none(risk)
    inside = np.flatnonzero(lies)
    for start in range(0, len(inside), operand.cell_rows):
        strip = rows.take(inside[start : start + operand.cell_rows])
        values = machine.predict(settings, np.asarray(strip.features))
        sums = Sums.add(sums, sums_and_slopes(risk, strip, values, slopes=False)[0])
    solved = machine.squared_norm, machine.primal, machine.gap, not machine.converged
    return machine, np.array(
        [sums.n_rows, sums.weight, sums.losses * risk.mean_weight, *solved, *sums.errors], dtype=np.float64
    )


def _at_one_place(rows: Block, most: int, *, real: bool) -> Block:
    """Return rows that no half space divides as one row per target, all with the features of the first.

    More than ``most`` real targets are averaged in runs of neighbours.
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
    support : (n_rows, d) float32, distinct, since neighbouring cells share rows
    places, coefficients : (n,) int32 and (n, n_outputs) float32, by cell; all coefficients are float64 if
        those of one cell are
    constants : (n_cells, n_outputs) float64
    ends : (n_cells,) int64
    figures : (n_cells, n_figures) float64, which an update reads for cells that it keeps
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
        """Return the arrays that :meth:`of` reads."""
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
        """Return the machines that :meth:`pack` stored.

        Raises
        ------
        CorruptDataError
            If an array is missing, or the arrays are inconsistent.
        """
        try:
            tree = tree_from_arrays(arrays)
            support = shaped(arrays, "support", None, tree.directions.shape[1])
            places = indexed(arrays, "places", None, below=len(support))
            constants = shaped(arrays, "constants", tree.n_leaves, None)
            coefficients = shaped(arrays, "coefficients", len(places), constants.shape[1])
            ends = indexed(arrays, "ends", tree.n_leaves, below=len(places) + 1)
            if (np.diff(ends) < 0).any():
                raise ValueError("the support rows of cells overlap")
            figures = shaped(arrays, "figures", tree.n_leaves, None)
        except (KeyError, ValueError) as error:
            raise CorruptDataError(
                f"the machines of a bucket do not fit together ({error})", hint="train again"
            ) from None
        return cls(tree, support, places, coefficients, constants, ends, figures)

    def cell(self, number: int) -> tuple[CellMachine, Array]:
        """Return the machine of a cell and its figures."""
        some = self._of_cell(number)
        machine = CellMachine(
            self.support[self.places[some]], self.coefficients[some], self.constants[number]
        )
        return machine, self.figures[number]

    def _of_cell(self, cell: int) -> slice:
        return slice(int(self.ends[cell - 1]) if cell else 0, int(self.ends[cell]))

    @property
    def nbytes(self) -> int:
        arrays = (self.support, self.places, self.coefficients, self.constants, self.ends)
        return sum(array.nbytes for array in (*arrays, self.tree.directions, self.tree.children))

    def predict(
        self,
        rows: Floats,
        settings: CellSettings,
        prepare: Callable[[int, Floats], AbstractPrepared] | None = None,
    ) -> NDArray[np.float64]:
        """Return f at rows (n, d) of the bucket, (n, n_outputs), see :func:`predict_cell`; ``prepare`` gets
        the number of support rows within the bucket.
        """
        values = np.empty((len(rows), self.constants.shape[1]))
        leaves = self.tree.leaves(rows)
        order = np.argsort(leaves, kind="stable")
        starts = np.searchsorted(leaves[order], np.arange(1, self.tree.n_leaves))
        for cell, inside in enumerate(np.split(order, starts)):
            if not len(inside):
                continue
            some = self._of_cell(cell)

            def of_cell(first: int, support: Floats, start: int = some.start) -> AbstractPrepared:
                assert prepare is not None
                return prepare(start + first, support)

            values[inside] = predict_cell(
                settings,
                self.support[self.places[some]],
                self.coefficients[some],
                self.constants[cell],
                rows[inside],
                None if prepare is None else of_cell,
            )
        return values


def most_bytes(
    cell_rows: int, bucket_rows: int, row_bytes: int, n_features: int, n_outputs: int, *, double: bool
) -> int:
    """Return the most memory of :func:`solve_bucket`, without the arrays that it returns."""
    gathered = bucket_rows * (row_bytes + 64)
    # the rows of a cell, and those of them that are predicted
    solving = solving_bytes(cell_rows, n_features, n_outputs, double=double)
    # rows of parts exist twice while they are gathered, and machines while they are packed
    return gathered + max(gathered + 8 * bucket_rows * n_outputs, 2 * cell_rows * row_bytes + solving)


class Loads(Protocol):
    """Finished parts of a model, by number."""

    def load(self, number: int) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of a part."""


class CellBasis(AbstractPlacedBasis):
    """phi_j(x) = output j of the machine of x's cell; the coefficients of a model are 1.

    Parameters
    ----------
    places : finds the bucket of a row
    settings : of the machines
    parts : the buckets' arrays
    machines : (n_buckets, 32) their fingerprints, under which processes keep them; None if they are in memory
    n_outputs, bucket_bytes : outputs, and bytes of the largest bucket's machines
    dtype : of the values
    scale : of the targets; coordinates have the trend, divided by it, in an additional column
    """

    def __init__(
        self,
        places: Places,
        settings: CellSettings,
        parts: Loads,
        machines: NDArray[np.uint8] | None,
        bucket_bytes: int,
        n_outputs: int,
        dtype: DTypeLike,
        scale: float = 1.0,
    ) -> None:
        self.places, self.settings, self.parts, self._scale = places, settings, parts, scale
        self._name = "" if machines is None else sha256(machines.tobytes()).hexdigest()
        self._n_outputs, self._bucket_bytes, self._dtype = n_outputs, bucket_bytes, np.dtype(dtype)

    @property
    def size(self) -> int:
        return self._n_outputs

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def tile_rows(self) -> int:
        return max(1, self._numbers // self.places.n_features)

    @property
    def is_kept(self) -> bool:
        return not self._name or self.places.n_buckets * self._bucket_bytes <= KEPT_BYTES

    @property
    def sizes(self) -> PlacedSizes:
        places = self.places
        width = places.n_features + (places.trend is not None)
        return placed_sizes(self.size, places.n_buckets, width, self._bucket_bytes, self.dtype)

    @property
    def _numbers(self) -> int:
        return _NUMBERS if self.is_kept else _MANY_NUMBERS

    def placed(self, features: Rows) -> tuple[Floats, NDArray[np.int32]]:
        given = np.asarray(converted(features, sparse=False))
        rows = self.places.rows(given, self.dtype)
        buckets = self.places.buckets(rows)
        if self.places.trend is not None:
            trend = self.places.trend.at(given) / self._scale
            rows = np.column_stack([rows, trend.astype(self.dtype)])
        return rows, buckets

    def values_at(self, place: int, coordinates: Floats) -> NDArray[np.float64]:
        if self.places.trend is None:
            return self._machines_at(place, coordinates)
        rows = np.ascontiguousarray(coordinates[:, :-1])
        return self._machines_at(place, rows) + coordinates[:, -1:]

    def _machines_at(self, place: int, coordinates: Floats) -> NDArray[np.float64]:
        def read() -> Machines:
            return Machines.of(self.parts.load(place))

        def prepared(first: int, support: Floats) -> AbstractPrepared:
            # to prepare support rows takes longer than to compare a row with them
            kernel = self.settings.kernel
            key = (self._name, place, first, support.dtype.str, kernel)
            return _of_process("prepared", key, lambda: kernel.prepare(support))

        if not (self._name and self.is_kept):
            return read().predict(coordinates, self.settings)
        machines = _of_process("machines", (self._name, place), read)
        return machines.predict(coordinates, self.settings, prepared)

    @property
    def process_bytes(self) -> int:
        if not self._name:
            return 0
        return 2 * self._bucket_bytes + kept_bytes(self.places.n_buckets * self._bucket_bytes * self.is_kept)

    def workspace_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        numbers = (n_rows or self.tile_rows) * self.places.n_features
        return placing_bytes(max(numbers, _NUMBERS), self.dtype.itemsize, most=self._numbers)


def kept_bytes(n_bytes: int) -> int:
    """Return the bytes that a process keeps of machines of ``n_bytes``, some of them prepared."""
    return min(KEPT_BYTES, n_bytes) + min(PREPARED_BYTES, 2 * n_bytes)


def _of_process(kind: str, key: Hashable, make: Callable[[], Value]) -> Value:
    """Return a value that the process keeps while there is room; two threads may make the same value."""
    global _kept
    with _lock:
        if _kept is None:
            from zict import LRU

            room = {"machines": KEPT_BYTES, "prepared": PREPARED_BYTES}
            _kept = {
                name: LRU(most, {}, weight=lambda _, value: _nbytes(value)) for name, most in room.items()
            }
        values = _kept[kind]
        if key in values:
            kept: Value = values[key]
            return kept
    made = make()
    with _lock:
        values[key] = made
    return made


def _nbytes(value: Any) -> int:
    n_bytes: int | None = getattr(value, "nbytes", None)
    return sum(getattr(part, "nbytes", 0) for part in vars(value).values()) if n_bytes is None else n_bytes


def placing_bytes(numbers: int, itemsize: int = 4, *, most: int = _NUMBERS) -> int:
    """Return the memory to place rows of ``numbers`` values in their cells, ``most`` values at a time."""
    return 8 * _NUMBERS + min(numbers, most) * 3 * itemsize + _TILE_BYTES


def placed_sizes(
    n_outputs: int, n_buckets: int, n_features: int, bucket_bytes: int, dtype: DTypeLike
) -> PlacedSizes:
    """Return the sizes by which passes over buckets are planned."""
    return PlacedSizes(n_outputs, n_buckets, n_features, bucket_bytes, _TILE_BYTES, np.dtype(dtype))
