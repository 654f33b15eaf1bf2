"""The sizes of a run, from those of the problem alone, and the passes that count, move, solve and measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.stores import ArrayStore, SliceStore, Store
from distkern.core.types import Block, Floats
from distkern.maths.bases.routing import Columns, RoutedAnswers, Routing
from distkern.maths.maps.mapping import MapChoice, map_bytes
from distkern.maths.maps.metric import MORE_METRIC_ROWS
from distkern.passes import Cost, Each, Reduce
from distkern.solvers._cells.buckets import (
    KEPT_BYTES,
    CellBasis,
    Solving,
    kept_bytes,
    most_bytes,
    placed_sizes,
    placing_bytes,
    solve_bucket,
)
from distkern.solvers._cells.tree import Moving, Overlap, Places, Tree, count_leaves, move_rows
from distkern.solvers.base import Problem, Steps
from distkern.solvers.measuring import Model, Sums, measure, sums_and_slopes
from distkern.solvers.risk import Risk

MIB = 2**20
#: buckets for all rows, unless one would exceed these bytes or have fewer than these cells
_BUCKETS, _BUCKET_BYTES, BUCKET_CELLS = 64, 64 * MIB, 2
#: leaves per bucket, and sampled rows in each; rows and bytes of the sample
LEAVES, _LEAF_SAMPLE = 4, 64
SAMPLE_ROWS, _SAMPLE_BYTES = MORE_METRIC_ROWS, 64 * MIB
#: bytes of rows that are sorted into buckets at a time
_PART_BYTES = 32 * MIB
#: columns up to which sparse rows are converted to dense ones
_MOST_COLUMNS = 2**14
#: columns up to which borders hurt little
_FEW_COLUMNS = 128
#: largest ratio of the copies of a part's rows to the average
_MOST_OF_A_PART = 1.3
#: number of cells up to which they are few, the share of neighbours then, and of more cells
_FEW_CELLS, _FEW_CELLS_OVERLAP, _OVERLAP = 8, 0.3, 0.1
#: training rows times rows of a cell, which bounds the time, and limits on the rows of a cell; the square
#: loss is factorised in double precision
_PAIRS, _LEAST_ROWS, _MOST_ROWS, _MOST_QUADRATIC = 700_000_000, 1000, 8000, 4000
#: most rows of a cell with many columns, where borders hurt more
_MOST_ROWS_OF_MANY_COLUMNS = 12000

_NO_MAP = MapChoice()


def auto_cell_rows(n_rows: int, n_features: int, *, quadratic: bool) -> int:
    """Return the default rows of a cell: the fewer training rows, the larger cells.

    >>> [auto_cell_rows(n, 54, quadratic=False) for n in (1000, 200_000, 10**7)]
    [8000, 3500, 1000]
    """
    most = _MOST_ROWS if n_features <= _FEW_COLUMNS else _MOST_ROWS_OF_MANY_COLUMNS
    most = _MOST_QUADRATIC if quadratic else most
    return int(min(max(_PAIRS // n_rows, _LEAST_ROWS), most))


def auto_overlap(n_rows: int, cell_rows: int) -> float:
    """Return the default share of neighbours: larger for few cells, whose borders cost little in total.

    >>> auto_overlap(60000, 8000), auto_overlap(10**6, 2000)
    (0.3, 0.1)
    """
    return _FEW_CELLS_OVERLAP if n_rows <= _FEW_CELLS * cell_rows else _OVERLAP


@dataclass(frozen=True)
class CellLayout:
    """The sizes of a run and its passes.

    Attributes
    ----------
    problem : the sizes of the data
    cell_rows, overlap : most rows of a cell, and the share of neighbours at a border
    is_double : whether machines are solved in double precision
    map : the map of the rows
    """

    problem: Problem
    cell_rows: int
    overlap: float
    is_double: bool
    map: MapChoice = _NO_MAP

    def __post_init__(self) -> None:
        if self.problem.sparse_numbers is not None and self.problem.n_features > _MOST_COLUMNS:
            raise InputError(
                f"cells need dense rows, and {self.problem.n_features} columns are too many",
                where="the data",
                hint="train newton, svrg or csvrg, which read sparse rows, or keep at most "
                f"{_MOST_COLUMNS} columns",
            )

    @property
    def row_bytes(self) -> int:
        """Bytes of a moved row."""
        return 4 * self.problem.n_features + self.problem.beside_bytes + 1

    @property
    def bucket_rows(self) -> int:
        """Most rows of a bucket, unless rows are equal."""
        wanted = min(self.problem.n_rows // _BUCKETS, _BUCKET_BYTES // self.row_bytes)
        return min(max(wanted, BUCKET_CELLS * self.cell_rows), self.problem.n_rows)

    @property
    def leaf_share(self) -> float:
        """Number of leaves of the sample's tree without neighbours."""
        share = self.problem.n_rows / self.bucket_rows
        return LEAVES * share if share > 1.0 else 1.0

    def depth(self, n_parts: float) -> float:
        """Return the depth of a tree whose leaves have 1 / ``n_parts`` of the rows, with neighbours."""
        return self._cuts(n_parts)[0]

    def copies(self, n_parts: float) -> float:
        """Return the average copies of a row in a tree whose leaves have 1 / ``n_parts`` of the rows."""
        return self._cuts(n_parts)[1]

    def _cuts(self, n_parts: float) -> tuple[float, float]:
        """Return depth and copies, cut by cut; the last cut counts in part if fewer than half of the rows are
        too many.
        """
        n_rows, most = float(self.problem.n_rows), self.problem.n_rows / max(n_parts, 1.0)
        overlap, depth, copies = Overlap(self.overlap, self.cell_rows), 0.0, 1.0
        while n_rows > most * (1.0 + 1e-9):
            growth = 1.0 + overlap.of(n_rows)
            cut = min(1.0, math.log2(n_rows / most) / (1.0 - math.log2(growth)))
            depth, copies = depth + cut, copies * growth**cut
            n_rows *= (growth / 2.0) ** cut
        return depth, copies

    @property
    def n_buckets(self) -> int:
        """Approximate number of buckets: enough full ones for the rows and their copies."""
        share = self.problem.n_rows / self.bucket_rows
        return math.ceil(share * self.copies(share))

    @property
    def leaf_copies(self) -> float:
        """Average copies of a row in the sample's tree, with 2 ``leaf_share`` leaves, its most."""
        return self.copies(2 * self.leaf_share) if self.leaf_share > 1.0 else 1.0

    @property
    def bucket_copies(self) -> float:
        """Most copies of a row in buckets, averaged over an eighth of the rows.

        Buckets are groups of leaves, so the average lies between those of leaves as large as buckets and of
        leaves. Their geometric mean was 1 to 5 % above the counts in seven divisions of 40,000 and 200,000
        rows (1.8 to 9.4). Neighbouring rows with few columns had up to 1.3 times the average.
        """
        average = math.sqrt(self.leaf_copies * self.copies(self.problem.n_rows / self.bucket_rows))
        return min(_MOST_OF_A_PART * average, self.leaf_copies)

    @property
    def most_leaves(self) -> int:
        """Most leaves of the sample's tree."""
        return 2 * 2 ** math.ceil(self.depth(self.leaf_share)) if self.leaf_share > 1.0 else 1

    @property
    def map_bytes(self) -> int:
        """Bytes of the map."""
        return map_bytes(self.map, self.problem.n_features)

    @property
    def places_bytes(self) -> int:
        """Bytes of the map and the tree that place rows."""
        return self.map_bytes + self.most_leaves * (4 * self.problem.n_features + 32)

    @property
    def sample_rows(self) -> int:
        """Rows of the sample."""
        wanted = max(SAMPLE_ROWS, _LEAF_SAMPLE * LEAVES * self.n_buckets)
        return min(self.problem.n_rows, wanted, max(_SAMPLE_BYTES // self.row_bytes, 64))

    @property
    def sample_bytes(self) -> int:
        """Bytes of the sample."""
        problem = self.problem
        beside = 8 * problem.n_outputs + problem.beside_bytes
        return self.sample_rows * (problem.n_features * problem.dtype.itemsize + beside)

    def rows_of_map(self, most: int) -> int:
        """Return the most sampled rows that a map is learned from; a weighted row counts as several."""
        return most if self.problem.max_relative_weight != 1.0 else min(self.sample_rows, most)

    @property
    def machine_bytes(self) -> int:
        """Bytes of a bucket's machines if every row has a coefficient."""
        d, k = self.problem.n_features, self.problem.n_outputs
        return (
            self.bucket_rows * (4 * d + (8 if self.is_double else 4) * k)
            + 2 * BUCKET_CELLS * (4 * d + 8 * k + 32)
            + self.bucket_rows * 64
        )

    def tree(self, coordinates: Floats, key: int) -> Tree:
        """Return the tree over the sample's coordinates whose leaves are grouped into buckets."""
        overlap = Overlap(self.overlap, self.cell_rows * len(coordinates) / self.problem.n_rows)
        share = min(1.0, self.bucket_rows / self.problem.n_rows)
        leaf_rows = max(1, math.ceil(self.sample_rows * (share / LEAVES if share < 1.0 else 1.0)))
        return Tree.fit(coordinates, leaf_rows, self.problem.seed, key, 0, overlap=overlap)

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The blocks whose rows are sorted together."""
        return self.parts_of(range(len(self.problem.block_rows)))

    def parts_of(self, blocks: Iterable[int]) -> tuple[tuple[int, ...], ...]:
        """Return the parts of some blocks."""
        parts: list[list[int]] = []
        room = 0
        for block in blocks:
            rows = self.problem.block_rows[block]
            if not parts or rows * self.row_bytes > room:
                parts.append([])
                room = _PART_BYTES
            parts[-1].append(block)
            room -= rows * self.row_bytes
        return tuple(map(tuple, parts))

    @property
    def part_rows(self) -> int:
        """Most rows that are sorted together, with their copies."""
        most = max(sum(self.problem.block_rows[block] for block in part) for part in self.parts)
        return math.ceil(most * self.bucket_copies)

    def columns(self) -> dict[str, tuple[str, tuple[int, ...]]]:
        """Return the dtypes and shapes of a moved row's arrays."""
        targets = "<f8" if self.problem.real_targets else "<i4"
        return {
            "features": ("<f4", (self.problem.n_features,)),
            "targets": (targets, ()),
            "weights": ("<f8", ()),
            "lies": ("|u1", ()),
            **({"group_keys": ("<u8", ())} if self.problem.has_groups else {}),
        }

    def slices(self, name: str) -> SliceStore:
        """Return a store of moved rows."""
        assert self.problem.workplace is not None
        return self.problem.workplace.slices(name, self.columns())

    def store(self, name: str) -> ArrayStore:
        """Return a store of arrays that is dropped after the run."""
        assert self.problem.workplace is not None
        return self.problem.workplace.arrays(f"search/{name}")

    # -- the passes

    def cost(
        self,
        workspace: int,
        result: int = 0,
        *,
        sample: bool = False,
        places: bool = False,
        driver: int = 0,
        compiled: bool = False,
    ) -> Cost:
        """Return the cost of a task that receives the sample or the places of rows.

        The driver holds the sample four times: drawn, shuffled, mapped and sent; and places three times.
        """
        return Cost(workspace, result, driver_bytes=driver, compiled=compiled).holding(
            process={"sample": (sample, self.sample_bytes), "places": (places, self.places_bytes)},
            driver={"sample": (4 * sample, self.sample_bytes), "places": (3 * places, self.places_bytes)},
        )

    def placing_bytes(self, block_rows: Sequence[int]) -> int:
        """Return the memory to place a block: dense rows, their coordinates, and their nodes in the tree."""
        problem = self.problem
        zeros = 0 if problem.sparse_numbers is None else problem.dtype.itemsize
        row_bytes = (8 + zeros) * problem.n_features + math.ceil(64 * self.leaf_copies)
        return max(block_rows) * row_bytes + 8 * MIB

    def solving_bytes(self) -> int:
        """Return the memory to solve a bucket."""
        sizes = self.row_bytes, self.problem.n_features, self.problem.n_outputs
        return most_bytes(self.cell_rows, self.bucket_rows, *sizes, double=self.is_double)

    def counting(self, places: Places | None = None) -> Reduce[NDArray[np.int64]]:
        """Return the pass that counts rows in each leaf."""
        cost = self.cost(self.placing_bytes(self.problem.block_rows), 8 * self.most_leaves, places=True)
        return Reduce("count", count_leaves, np.add, places, cost=cost)

    def moving(
        self,
        operand: Moving | None = None,
        store: SliceStore | None = None,
        name: str = "move",
        parts: Sequence[tuple[int, ...]] | None = None,
    ) -> Each:
        """Return the pass that sorts rows by bucket, of all blocks or of some ``parts``."""
        parts, part = self.parts if parts is None else parts, self.part_rows
        # rows of the blocks and of all together before they are sorted, and the buckets of both; their order
        placing = self.placing_bytes(self.problem.block_rows)
        workspace = placing + 2 * part * (self.row_bytes + 4) + 12 * part
        result = part * self.row_bytes + 48 * self.n_buckets + 1024
        cost = self.cost(workspace, result, places=True)
        return Each(name, move_rows, range(len(parts)), store, parts, operand, cost=cost)

    def solving(
        self, items: Sequence[tuple[int, int]], store: Store | None = None, operand: Solving | None = None
    ) -> Each:
        """Return the pass that solves the machines of each bucket."""
        cost = self.cost(self.solving_bytes(), self.machine_bytes, driver=self.places_bytes, compiled=True)
        return Each("solve", solve_bucket, items, store, operand=operand, cost=cost)

    def measuring(self, basis: CellBasis, risk: Risk) -> Steps[Sums]:
        """Measure the machines on the test rows, which are routed to them if they are not kept."""
        model = Model(basis, np.eye(risk.n_outputs), risk)
        operand: Model | _Routed = model
        if not basis.is_kept:
            routing = Routing(basis.sizes, self.problem.test_block_rows, "test", basis)
            answers: RoutedAnswers = yield from routing.steps(self._held_out_slices)
            operand = _Routed(answers, model)
        sums: Sums = yield self.held_out(operand)
        return sums

    def _held_out_slices(self, name: str, columns: Columns) -> SliceStore:
        assert self.problem.workplace is not None
        return self.problem.workplace.slices(f"held-out/{name}", columns)

    def routing(self) -> list[Each]:
        """Return the passes that route test rows to the machines, if these may be too many to keep."""
        if not self.problem.test_block_rows or self.n_buckets * self.machine_bytes <= KEPT_BYTES:
            return []
        n_features, n_outputs = self.problem.n_features, self.problem.n_outputs
        sizes = n_outputs, self.n_buckets, n_features, self.machine_bytes
        routing = Routing(placed_sizes(*sizes, self.problem.dtype), self.problem.test_block_rows, "test")
        return routing.planned

    def held_out(self, operand: Model | Risk | _Routed | None = None) -> Reduce[Sums]:
        """Return the pass that measures a model on the test rows, or the model 0 if given only its risk."""
        others: dict[type, Callable[[Block, Any], Sums]] = {Risk: sums_of_zero, _Routed: _measure_routed}
        function = others.get(type(operand), measure)
        kept = kept_bytes(self.n_buckets * self.machine_bytes)
        blocks = self.problem.test_block_rows or self.problem.block_rows
        tile = placing_bytes(max(blocks) * self.problem.n_features)
        cost = Cost().holding(
            task={"a tile": (tile,), "placing": (self.placing_bytes(blocks),)},
            process={"places": (self.places_bytes,), "machines": (kept + 2 * self.machine_bytes,)},
            result={"sums": (256,)},
        )
        return Reduce("held-out", function, Sums.add, operand, "test", cost=cost, measures_only=True)


@dataclass(frozen=True)
class _Routed:
    """A model and its routed answers, as an operand."""

    answers: RoutedAnswers
    model: Model


def _measure_routed(block: Block, operand: _Routed) -> Sums:
    values = operand.answers.combine(block.index, block.n_rows, operand.model.coefficients)
    return sums_and_slopes(operand.model.risk, block, values, slopes=False)[0]


def sums_of_zero(block: Block, risk: Risk) -> Sums:
    """Return the sums of a block for the model 0."""
    return sums_and_slopes(risk, block, np.zeros((block.n_rows, risk.n_outputs)), slopes=False)[0]
