"""The passes that sample, cut, move and solve."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.stores import ArrayStore, SliceStore, Store
from distkern.core.types import Block, Floats
from distkern.maths.bases.routing import Columns, RoutedAnswers, Routing
from distkern.maths.maps.mapping import MapChoice, fitting_bytes
from distkern.maths.maps.metric import METRIC_ROWS
from distkern.maths.maps.transform import N_QUANTILES
from distkern.passes import Cost, Each, Reduce
from distkern.solvers._cells.basis import KEPT_BYTES, CellBasis, kept_bytes, placed_sizes, placing_bytes
from distkern.solvers._cells.buckets import Solving, most_bytes, solve_bucket
from distkern.solvers._cells.calibrating import (
    ENOUGH_ROWS,
    FEW_OF_A_CLASS,
    FEW_ROWS,
    LEAST_CELLS,
    MOST_BUCKETS,
    MOST_CELLS,
    MOST_RARE,
    MOST_REAL,
    RAREST,
    Calibrating,
    hold_out,
)
from distkern.solvers._cells.held_out import HELD_OUT, Asked, measure_asked
from distkern.solvers._cells.place import (
    CellSample,
    Moving,
    Places,
    Sampling,
    count_leaves,
    move_rows,
    sample_block,
    sums_of_zero,
)
from distkern.solvers._cells.sizes import Sizes
from distkern.solvers._cells.touched import Touched, cut_again, solve_again
from distkern.solvers._cells.tree import Overlap, Tree
from distkern.solvers._cells.trials import Learning, MapSample, learn_map
from distkern.solvers.base import Steps
from distkern.solvers.measuring import Model, Sums, measure
from distkern.solvers.risk import Risk

MIB = 2**20
#: rows that are sorted into buckets at a time
_PART_BYTES = 32 * MIB


@dataclass(frozen=True)
class CellLayout(Sizes):
    """The passes of a run of these sizes."""

    def tree(self, coordinates: Floats, key: int) -> Tree:
        """The tree that is cut from the sample's coordinates, of whose leaves the buckets are made."""
        overlap = Overlap(self.overlap, self.cell_rows * len(coordinates) / self.problem.n_rows)
        return Tree.fit(coordinates, self.leaf_sample, self.problem.seed, key, 0, overlap=overlap)

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The blocks whose rows are sorted together."""
        return self.parts_of(range(len(self.problem.block_rows)))

    def parts_of(self, blocks: Iterable[int]) -> tuple[tuple[int, ...], ...]:
        """Parts of some blocks."""
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

    def columns(self, dtype: DTypeLike = np.float32) -> dict[str, tuple[str, tuple[int, ...]]]:
        """What a moved row has."""
        targets = "<f8" if self.problem.real_targets else "<i4"
        return {
            "features": (np.dtype(dtype).str, (self.problem.n_features,)),
            "targets": (targets, ()),
            "weights": ("<f8", ()),
            "lies": ("|u1", ()),
            **({"group_keys": ("<u8", ())} if self.problem.has_groups else {}),
        }

    def _placing_bytes(self, block_rows: Sequence[int]) -> int:
        """Rows of a block with their zeros, mapped by a product, and where they lie; rows going down."""
        problem = self.problem
        zeros = 0 if problem.sparse_numbers is None else problem.dtype.itemsize
        row_bytes = (8 + zeros) * problem.n_features + math.ceil(64 * self.leaf_copies)
        return max(block_rows) * row_bytes + 8 * MIB

    # -- the passes

    def sampling(self, risk: Risk | None) -> Reduce[CellSample]:
        """The sample, and the sums of the model 0."""
        operand = None
        if risk is not None:
            ends = np.concatenate([[0], np.cumsum(self.problem.block_rows)])
            operand = Sampling(risk, ends, self.sample_rows, self.problem.seed)
        problem, rows = self.problem, self.sample_rows
        row_bytes = problem.n_features * problem.dtype.itemsize + problem.beside_bytes
        # results that wait count its shuffled rows and its coordinates; in double precision it is centred, or
        # some rows of it transformed here
        is_fitted = self.maps[0].metric == "none"
        exact = problem.n_features * (
            3 * (self.rows_of_map(METRIC_ROWS) + N_QUANTILES) if is_fitted else rows
        )
        driver = {"in double precision": (exact, 8), "scores": (3, rows, problem.n_outputs, 8)}
        cost = Cost().holding(
            task={"rows of a block": (max(problem.block_rows), row_bytes + 64 * problem.n_outputs)},
            joined={"the sample": (rows, row_bytes)},
            driver=driver,
        )
        return Reduce("sample", sample_block, CellSample.add, operand, cost=cost)

    def learning(self, choices: Sequence[MapChoice], n_rows: int, sampled: MapSample | None = None) -> Each:
        """Return the pass that learns each map's metric in a task, from at most ``n_rows`` sampled rows."""
        sizes = self.problem.n_features, self.problem.n_outputs
        operand = None if sampled is None else Learning(sampled, n_rows)
        n_rows = self.rows_of_map(n_rows)
        workspace = max((fitting_bytes(choice, n_rows, *sizes) for choice in choices), default=0)
        # what is mapped is beside what it is mapped from
        cost = self._cost(workspace, MIB + self.map_bytes, sample=True, driver=2 * self.map_bytes)
        cost = replace(cost, solves=True)
        store = None if sampled is None else self._store("metric")
        return Each("metric", learn_map, choices, store, operand=operand, record_bytes=512, cost=cost)

    def _cost(
        self,
        workspace: int,
        result: int = 0,
        *,
        sample: bool = False,
        maps: int = 0,
        places: bool = False,
        driver: int = 0,
        compiled: bool = False,
    ) -> Cost:
        """Return the cost of a task that receives the sample, maps or the places of rows.

        The driver has the sample as it was drawn, shuffled, mapped and sent; maps and places twice or more.
        """
        sent = {"sample": (sample, self._sample_bytes), "places": (places, self.places_bytes)}
        driven = {"sample": (4 * sample, self._sample_bytes), "places": (3 * places, self.places_bytes)}
        return Cost(workspace, result, driver_bytes=driver, compiled=compiled).holding(
            process={**sent, "maps": (maps, self.map_bytes)},
            driver={**driven, "maps": (2 * maps, self.map_bytes)},
        )

    def _store(self, name: str) -> ArrayStore:
        assert self.problem.workplace is not None
        return self.problem.workplace.arrays(f"search/{name}")

    @property
    def _sample_bytes(self) -> int:
        problem = self.problem
        beside = 8 * problem.n_outputs + problem.beside_bytes
        return self.sample_rows * (problem.n_features * problem.dtype.itemsize + beside)

    def counting(self, places: Places | None) -> Reduce[NDArray[np.int64]]:
        """Rows in each leaf."""
        cost = self._cost(self._placing_bytes(self.problem.block_rows), 8 * self.most_leaves, places=True)
        return Reduce("count", count_leaves, np.add, places, cost=cost)

    def moving(
        self,
        operand: Moving | None,
        store: SliceStore | None,
        name: str = "move",
        parts: Sequence[tuple[int, ...]] | None = None,
    ) -> Each:
        """Rows sorted by bucket, of all blocks or of those of some ``parts``."""
        parts, part = self.parts if parts is None else parts, self._part_rows
        # rows of the blocks and of all together before they are sorted, and the buckets of both; their order
        placing = self._placing_bytes(self.problem.block_rows)
        workspace = placing + 2 * part * (self.row_bytes + 4) + 12 * part
        result = part * self.row_bytes + 48 * self.n_buckets + 1024
        cost = self._cost(workspace, result, places=True)
        return Each(name, move_rows, range(len(parts)), store, parts, operand, cost=cost)

    @property
    def _part_rows(self) -> int:
        """Rows that are sorted together, with their copies, at most."""
        most = max(sum(self.problem.block_rows[block] for block in part) for part in self.parts)
        return math.ceil(most * self.bucket_copies)

    def cutting(self, items: Sequence[Any], store: Store | None, operand: Touched | None) -> Each:
        """Which cells of some buckets get new rows; rows are counted a part at a time."""
        # rows of a part may all be of one bucket, and some of a large cell are taken of them
        workspace = 2 * self._part_rows * self.row_bytes + self.bucket_rows * self.row_bytes
        cost = Cost(workspace + self.machine_bytes + 8 * MIB, MIB + self.places_bytes)
        return Each("cut", cut_again, items, store, operand=operand, cost=cost)

    def solving_again(self, items: Sequence[Any], store: Store | None, operand: Touched | None) -> Each:
        """The machines of each bucket, of cells without new rows those that it had."""
        part = 2 * self._part_rows * self.row_bytes
        workspace = self._solving_bytes(self.cell_rows) + self.machine_bytes + part
        cost = self._cost(workspace, self.machine_bytes, driver=2 * self.places_bytes, compiled=True)
        return Each("solve", solve_again, items, store, operand=operand, cost=cost)

    def solving(self, items: Sequence[tuple[int, int]], store: Store | None, operand: Solving | None) -> Each:
        """The machines of each bucket."""
        workspace = self._solving_bytes(self.cell_rows)
        cost = self._cost(workspace, self.machine_bytes, driver=self.places_bytes, compiled=True)
        return Each("solve", solve_bucket, items, store, operand=operand, cost=cost)

    def calibrated(self, n_buckets: int) -> tuple[list[int], int, int]:
        """Return the buckets with held-out rows, the cells of each, and the repetitions."""
        n_cells = min(max(ENOUGH_ROWS // self.cell_rows, LEAST_CELLS), MOST_CELLS)
        n_cells = MOST_REAL if self.problem.real_targets else n_cells
        some = min(MOST_BUCKETS, n_buckets, n_cells)
        chosen = np.unique(np.linspace(0, n_buckets - 1, some).astype(int)).tolist()
        n_rows = min(self.problem.n_rows, n_cells * self.cell_rows)
        # rows of a group are alike: few groups are few rows
        n_folds = HELD_OUT if self.problem.has_groups else min(HELD_OUT, -(-FEW_ROWS // n_rows))
        return chosen, -(-n_cells // len(chosen)), n_folds

    @property
    def rarest(self) -> int | None:
        """Code of the class with the least weight of those that have rows; None where targets are real."""
        shares = self.problem.class_shares
        there = [code for code, share in enumerate(shares) if share]
        return min(there, key=shares.__getitem__, default=None)

    @staticmethod
    def with_rarest(counts: Sequence[int]) -> list[int]:
        """Buckets with most rows of the rarest class, given those of each: enough of them, but few."""
        some = sorted((number for number, count in enumerate(counts) if count), key=lambda one: -counts[one])
        enough = int(np.searchsorted(np.cumsum([counts[number] for number in some]), FEW_OF_A_CLASS)) + 1
        return some[: min(enough, MOST_RARE)]

    def calibrating(
        self,
        items: Sequence[tuple[int, int]],
        store: Store | None,
        operand: Calibrating | None,
        name: str = "calibrate",
    ) -> Each:
        """Decision values of rows that are held out of some cells."""
        # how many buckets there are is known later, and with it how many cells of each have rows held out
        most = min(self.problem.n_rows, 2 * MOST_CELLS * self.cell_rows) + 2 * MOST_CELLS * HELD_OUT
        row_bytes = 8 * self.problem.n_outputs + 24
        result = min(most, self.bucket_rows + MOST_CELLS * HELD_OUT) * row_bytes
        # all of them, and both labels of each
        driver = self.places_bytes + most * (2 * row_bytes + 64)
        # the machines from which it goes on
        workspace = self._solving_bytes(self.cell_rows) + self.machine_bytes
        cost = self._cost(workspace, result, driver=driver, compiled=True)
        cost = replace(cost, driver_library=True)
        return Each(name, hold_out, items, store, operand=operand, cost=cost)

    def hold_out(
        self, operand: Solving, items: Sequence[tuple[int, int]], counts: Sequence[int] | None
    ) -> Steps[tuple[list[Any], list[Any]]]:
        """Hold rows of cells all over the data out.

        Parameters
        ----------
        items : the buckets
        counts : rows of the rarest class in each bucket. Where few rows held out are of it, so are rows of
            the cells with most of it; None: they are not

        Returns
        -------
        what :func:`~distkern.solvers._cells.calibrating.hold_out` has stored, and the same of these cells
        """
        assert self.problem.workplace is not None
        numbers, n_cells, n_folds = self.calibrated(len(items))
        calibrating = Calibrating(operand, self.problem.workplace.arrays("machines"), n_cells, n_folds)
        answers = self._store("calibrated")
        yield self.calibrating([items[number] for number in numbers], answers, calibrating)
        held, others = [answers.load(number) for number in range(len(numbers))], list[Any]()
        if counts is not None and _rows_of(operand.rarest, held) < FEW_OF_A_CLASS:
            calibrating = replace(calibrating, earlier=tuple(numbers))
            rare, answers = self.with_rarest(counts), self._store("rarest")
            yield self.calibrating([items[number] for number in rare], answers, calibrating, RAREST)
            others = [answers.load(number) for number in range(len(rare))]
        return held, others

    def _solving_bytes(self, cell_rows: int, n_costs: int = 1) -> int:
        sizes = self.row_bytes, self.problem.n_features, self.problem.n_outputs, n_costs
        return most_bytes(cell_rows, self.bucket_rows, *sizes, double=self.is_double)

    def measuring(self, basis: CellBasis, risk: Risk) -> Steps[Sums]:
        """What the machines achieve on the test rows, which are brought to them if they are not kept."""
        model = Model(basis, np.eye(risk.n_outputs), risk)
        operand: Model | Asked = model
        if not basis.is_kept:
            routing = Routing(basis.sizes, self.problem.test_block_rows, "test", basis)
            found: RoutedAnswers = yield from routing.steps(self._held_out_slices)
            operand = Asked(found, model)
        sums: Sums = yield self.held_out(operand)
        return sums

    def _held_out_slices(self, name: str, columns: Columns) -> SliceStore:
        assert self.problem.workplace is not None
        return self.problem.workplace.slices(f"held-out/{name}", columns)

    def asking(self) -> list[Each]:
        """The passes that bring test rows to the machines, if these may be too many to be kept."""
        if not self.problem.test_block_rows or self.n_buckets * self.machine_bytes <= KEPT_BYTES:
            return []
        n_features, n_outputs = self.problem.n_features, self.problem.n_outputs
        sizes = n_outputs, self.n_buckets, n_features, self.machine_bytes
        routing = Routing(placed_sizes(*sizes, self.problem.dtype), self.problem.test_block_rows, "test")
        return routing.planned

    def held_out(self, operand: Model | Risk | Asked | None) -> Reduce[Sums]:
        """What a model achieves on the test rows; the model 0 where only its risk is given."""
        others: dict[type, Callable[[Block, Any], Sums]] = {Risk: sums_of_zero, Asked: measure_asked}
        function = others.get(type(operand), measure)
        kept = kept_bytes(self.n_buckets * self.machine_bytes)
        blocks = self.problem.test_block_rows or self.problem.block_rows
        tile = placing_bytes(max(blocks) * self.problem.n_features)
        cost = Cost().holding(
            task={"a tile": (tile,), "placing": (self._placing_bytes(blocks),)},
            process={"places": (self.places_bytes,), "machines": (kept + 2 * self.machine_bytes,)},
            result={"sums": (256,)},
        )
        return Reduce("held-out", function, Sums.add, operand, "test", cost=cost, measures_only=True)


def _rows_of(code: int | None, parts: Sequence[Any]) -> int:
    return sum(int(np.count_nonzero(part["targets"] == code)) for part in parts)
