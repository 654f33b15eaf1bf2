"""How many buckets there are, by the sizes of the problem alone, and the passes that make and solve them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.errors import InputError
from distkern.common.stores import SliceStore, Store
from distkern.common.types import Block, Floats
from distkern.passes import Cost, Each, Reduce
from distkern.solvers._cells.basis import KEPT_BYTES, placing_bytes
from distkern.solvers._cells.below import Below
from distkern.solvers._cells.buckets import Solving, most_bytes, solve_bucket
from distkern.solvers._cells.choosing import MOST_TRIALS, map_bytes, trial_bytes
from distkern.solvers._cells.moving import (
    Moving,
    Sample,
    Sampling,
    count_leaves,
    first_sums,
    move_rows,
    sample_block,
)
from distkern.solvers._cells.place import Places
from distkern.solvers._cells.search import fewer_rows
from distkern.solvers._cells.tree import Tree
from distkern.solvers._cells.trials import METRIC_ROWS, Sampled, Trial, try_map
from distkern.solvers._cells.tuning import Tuning, try_cells
from distkern.solvers.base import Problem
from distkern.solvers.measuring import Model, Sums, measure
from distkern.solvers.risk import Risk

MIB = 2**20
#: a bucket has a 64th of the rows, but no more than so many bytes, and no fewer than so many cells
_BUCKETS, _BUCKET_BYTES, _BUCKET_CELLS = 64, 64 * MIB, 2
#: leaves that are put together to a bucket, and rows of the sample in each; rows and bytes of the sample
_LEAVES, _LEAF_SAMPLE = 4, 64
_SAMPLE_ROWS, _SAMPLE_BYTES = 9216, 64 * MIB
#: rows that are sorted into buckets at a time
_PART_BYTES = 32 * MIB
#: of a number that is compared with a half space, in exponentials
_PLACED = 4.0
#: columns up to which sparse rows are written out
_MOST_COLUMNS = 2**14
#: rows of all the cells that are tried, and how many cells at least
_TUNED_ROWS, _LEAST_TUNED = 40000, 4
#: every so manyth bucket of them has the first round; settings of a round, at most
_FIRST_ROUND, _MOST_SETTINGS = 3, 9 * MOST_TRIALS
#: cells that are few, and shares of neighbours
_FEW_CELLS, _FEW_CELLS_OVERLAP, _OVERLAP = 8, 0.3, 0.1
#: rows of a cell for so many rows that it takes about as long whatever they are, between these limits; those
#: of the square loss are factorised in double precision
_PAIRS, _LEAST_ROWS, _MOST_ROWS, _MOST_QUADRATIC = 700_000_000, 1000, 8000, 4000


def auto_cell_rows(n_rows: int, *, quadratic: bool) -> int:
    """Rows of a cell where nothing is said: the more the fewer there are.

    >>> [auto_cell_rows(n, quadratic=False) for n in (1000, 200_000, 10**7)]
    [8000, 3500, 1000]
    """
    most = _MOST_QUADRATIC if quadratic else _MOST_ROWS
    return int(min(max(_PAIRS // n_rows, _LEAST_ROWS), most))


def auto_overlap(n_rows: int, cell_rows: int) -> float:
    """The share of neighbours where nothing is said: more where borders are few, and hurt as much each.

    >>> auto_overlap(60000, 8000), auto_overlap(10**6, 2000)
    (0.3, 0.1)
    """
    return _FEW_CELLS_OVERLAP if n_rows <= _FEW_CELLS * cell_rows else _OVERLAP


@dataclass(frozen=True)
class Layout:
    """The sizes of a run.

    Attributes
    ----------
    problem : what it is given
    cell_rows, overlap : of a cell, at most, and the share of them that are neighbours at a border
    quadratic : the loss is solved by a factorisation
    searched : settings are searched on the sample, "full" or "quick"; None: they are not
    below : a model under the cells
    wanted_partitions : whose machines are averaged
    """

    problem: Problem
    cell_rows: int
    overlap: float
    quadratic: bool
    searched: str | None
    below: Below | None = None
    wanted_partitions: int = 1

    def __post_init__(self) -> None:
        if self.problem.sparse_numbers is not None and self.problem.n_features > _MOST_COLUMNS:
            raise InputError(
                f"cells need rows with all their numbers, and {self.problem.n_features} are too many",
                where="the data",
                mend="train newton, svrg or csvrg, which take sparse rows as they are, or keep at most "
                f"{_MOST_COLUMNS} columns",
            )

    @property
    def row_bytes(self) -> int:
        """Of a row as it is moved."""
        return 4 * self.problem.n_features + 17 + (8 * self.problem.n_outputs if self.below else 0)

    @property
    def bucket_rows(self) -> int:
        """Rows of a bucket, at most, but for rows that are all the same."""
        wanted = min(self.problem.n_rows // _BUCKETS, _BUCKET_BYTES // self.row_bytes)
        return max(wanted, _BUCKET_CELLS * self.cell_rows)

    def depth(self, n_parts: float) -> float:
        """Of a tree whose leaves have that share of the rows, where each half also has its neighbours."""
        return max(0.0, math.log2(n_parts)) / (1.0 - math.log2(1.0 + self.overlap))

    def copies(self, n_parts: float) -> float:
        """Of a row, on average, in the leaves of that tree."""
        return math.pow(1.0 + self.overlap, self.depth(n_parts))

    @property
    def n_partitions(self) -> int:
        """Of rows that are one cell all are the same."""
        return 1 if self.problem.n_rows <= self.cell_rows else self.wanted_partitions

    @property
    def n_full(self) -> int:
        """Buckets of a partition, about: of full ones."""
        share = self.problem.n_rows / self.bucket_rows
        return math.ceil(share * self.copies(share))

    @property
    def n_buckets(self) -> int:
        """Of all partitions, about."""
        return self.n_partitions * self.n_full

    @property
    def most_leaves(self) -> int:
        """Of the trees that are cut from the sample."""
        share = self.problem.n_rows / self.bucket_rows
        leaves = 2 * 2 ** math.ceil(self.depth(_LEAVES * share)) if share > 1.0 else 1
        return self.n_partitions * leaves

    @property
    def sample_rows(self) -> int:
        wanted = max(_SAMPLE_ROWS, _LEAF_SAMPLE * _LEAVES * self.n_full)
        return min(self.problem.n_rows, wanted, max(_SAMPLE_BYTES // self.row_bytes, 64))

    @property
    def leaf_sample(self) -> int:
        """Rows of the sample in a leaf, at most."""
        share = min(1.0, self.bucket_rows / self.problem.n_rows)
        return max(1, math.ceil(self.sample_rows * (share / _LEAVES if share < 1.0 else 1.0)))

    def tree(self, coordinates: Floats, key: int) -> Tree:
        """Of the sample: the buckets are made of its leaves."""
        return Tree.joined(
            [
                Tree.fit(
                    coordinates,
                    self.leaf_sample,
                    self.problem.seed,
                    key,
                    number,
                    overlap=self.overlap,
                    is_random=number > 0,
                )
                for number in range(self.n_partitions)
            ]
        )

    @cached_property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """The blocks whose rows are sorted together."""
        parts: list[list[int]] = []
        room = 0
        for block, rows in enumerate(self.problem.block_rows):
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
            **({"offsets": ("<f8", (self.problem.n_outputs,))} if self.below else {}),
        }

    @property
    def _block_bytes(self) -> int:
        """Rows of a block with their zeros, in double precision and in single."""
        return 16 * max(self.problem.block_rows) * (self.problem.n_features + 4)

    @property
    def _placing_entries(self) -> float:
        """A row goes down the tree, in as many copies as there are: as many exponentials take as long."""
        share = _LEAVES * self.problem.n_rows / self.bucket_rows
        return _PLACED * self.problem.n_features * (1.0 + self.depth(share)) * self.copies(share)

    def _with_below(self, cost: Cost) -> Cost:
        """Of a pass whose tasks also predict their rows by the model below."""
        if self.below is None:
            return cost
        numbers, most = self.problem.row_numbers, max(self.problem.block_rows)
        return replace(
            cost,
            workspace_bytes=cost.workspace_bytes + self.below.workspace_bytes(numbers, most),
            process_bytes=cost.process_bytes + self.below.process_bytes,
            flops_per_row=cost.flops_per_row + self.below.flops_per_row(numbers),
            entries_per_row=cost.entries_per_row + self.below.double.entries_per_row,
            compiled=cost.compiled or self.below.double.is_compiled,
        )

    # -- the passes

    def sampling(self, risk: Risk | None) -> Reduce[Sample]:
        """The sample, and the sums of the model 0."""
        operand = None
        if risk is not None:
            ends = np.concatenate([[0], np.cumsum(self.problem.block_rows)])
            below = None if self.below is None else self.below.of(risk)
            operand = Sampling(risk, ends, self.sample_rows, self.problem.seed, below)
        size = self.sample_rows * (self.problem.n_features * self.problem.dtype.itemsize + 16)
        cost = Cost(
            workspace_bytes=self._block_bytes + 64 * max(self.problem.block_rows) * self.problem.n_outputs,
            result_bytes=size,
            total_result_bytes=size,
            driver_bytes=6 * size,
        )
        return Reduce("sample", sample_block, Sample.add, operand, cost=self._with_below(cost))

    def searching(
        self, name: str, trials: Sequence[Trial | None], store: Store | None, operand: Sampled | None
    ) -> Each:
        """The trials of a rung, or the metric alone."""
        n_features = self.problem.n_features
        row_bytes = 4 * n_features + 8 * self.problem.n_outputs
        cost = Cost(
            workspace_bytes=trial_bytes(min(self.sample_rows, _SAMPLE_ROWS), row_bytes, n_features),
            process_bytes=self.sample_rows * (row_bytes + 16),
            # the maps of those that go on are sent with their trials
            driver_bytes=3 * self.sample_rows * (row_bytes + 16) + 6 * map_bytes(n_features),
            # of each setting the losses of the rows that are held out
            result_bytes=MIB + map_bytes(n_features),
            compiled=True,
        )
        return Each(name, try_map, trials, store, operand=operand, record_bytes=8192, cost=cost)

    def counting(self, places: Places | None) -> Reduce[NDArray[np.int64]]:
        """Rows in each leaf."""
        cost = Cost(
            workspace_bytes=self._block_bytes + placing_bytes(),
            result_bytes=8 * self.most_leaves,
            entries_per_row=self._placing_entries,
        )
        return Reduce("count", count_leaves, np.add, places, cost=cost)

    def moving(self, operand: Moving | None, store: SliceStore | None) -> Each:
        """Rows sorted by bucket."""
        most = max(sum(self.problem.block_rows[block] for block in part) for part in self.parts)
        copies = self.n_partitions * self.copies(2 * _LEAVES * self.problem.n_rows / self.bucket_rows)
        part = math.ceil(most * copies)
        cost = Cost(
            workspace_bytes=self._block_bytes + placing_bytes() + 3 * part * self.row_bytes,
            result_bytes=part * self.row_bytes + 48 * self.n_buckets + 1024,
            entries_per_row=self._placing_entries,
        )
        cost = self._with_below(cost)
        return Each("move", move_rows, range(len(self.parts)), store, self.parts, operand, cost=cost)

    def solving(self, items: Sequence[tuple[int, int]], store: Store | None, operand: Solving | None) -> Each:
        """The machines of each bucket."""
        problem = self.problem
        cost = Cost(
            workspace_bytes=most_bytes(
                self.cell_rows, self.bucket_rows, self.row_bytes, problem.n_outputs, quadratic=self.quadratic
            ),
            result_bytes=self.machine_bytes,
            compiled=True,
        )
        return Each("solve", solve_bucket, items, store, operand=operand, cost=cost)

    @property
    def is_tuned(self) -> bool:
        """Whether the best settings are tried on whole cells: where these are not what was searched on."""
        return self.searched is not None and self.problem.n_rows > self.sample_rows

    @property
    def bucket_sample(self) -> int:
        """Rows of the sample in a bucket, at most."""
        return max(1, math.ceil(self.sample_rows * min(1.0, self.bucket_rows / self.problem.n_rows)))

    @property
    def tuned_rows(self) -> int:
        """Of a cell on which settings are tried, at most: smaller ones have the same rows near each other."""
        return min(self.cell_rows, fewer_rows(METRIC_ROWS, self.problem.n_outputs, quadratic=self.quadratic))

    @property
    def n_tuned(self) -> int:
        """Cells that are tried."""
        return max(_TUNED_ROWS // self.tuned_rows, _LEAST_TUNED)

    def tuned(self, n_buckets: int) -> NDArray[np.int32]:
        """The buckets of which cells are tried."""
        return np.unique(np.linspace(0, n_buckets - 1, min(self.n_tuned, n_buckets)).astype(np.int32))

    def probing(self, operand: Moving | None, store: SliceStore | None) -> Each:
        """The rows of some buckets, with their own features."""
        moving = self.moving(None, None)
        share = self.n_tuned * self.bucket_rows * self.row_bytes * self.problem.dtype.itemsize // 4
        workspace = moving.cost.workspace_bytes * self.problem.dtype.itemsize // 4
        cost = replace(
            moving.cost, workspace_bytes=workspace, result_bytes=min(2 * moving.cost.result_bytes, share)
        )
        items = range(len(self.parts))
        return Each("probe", move_rows, items, store, self.parts, operand, record_bytes=4096, cost=cost)

    def tuned_items(self, number: int, counts: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The buckets that are tried in a round, of all with their rows."""
        return counts if number else counts[::_FIRST_ROUND]

    def tuning(
        self, name: str, items: Sequence[tuple[int, int]], store: Store | None, operand: Tuning | None
    ) -> Each:
        """Losses of some machines in some cells of each of some buckets."""
        n_features = self.problem.n_features
        cost = self.solving([], None, None).cost
        cost = replace(
            cost,
            workspace_bytes=cost.workspace_bytes
            + self.bucket_rows * n_features * (8 + self.problem.dtype.itemsize),
            process_bytes=MOST_TRIALS * map_bytes(n_features),
            # of each setting the losses of what is held out of a bucket's cells
            result_bytes=8 * _MOST_SETTINGS * (self.bucket_rows // 4),
        )
        return Each(name, try_cells, items, store, operand=operand, record_bytes=4096, cost=cost)

    @property
    def machine_bytes(self) -> int:
        """Of a bucket's machines, if every row has a coefficient."""
        d, k = self.problem.n_features, self.problem.n_outputs
        return (
            self.bucket_rows * (4 * d + 4 * k)
            + 2 * _BUCKET_CELLS * (4 * d + 8 * k + 32)
            + self.bucket_rows * 64
        )

    def held_out(self, operand: Model | Zero | None) -> Reduce[Sums]:
        """What a model achieves on the test rows."""
        function = measure_zero if isinstance(operand, Zero) else measure
        cost = Cost(
            workspace_bytes=placing_bytes() + self._block_bytes,
            result_bytes=256,
            process_bytes=KEPT_BYTES + 2 * self.machine_bytes,
            flops_per_row=2.0 * self.cell_rows * self.problem.n_features,
            entries_per_row=2.0 * self.cell_rows,
        )
        cost = self._with_below(cost)
        return Reduce("held-out", function, Sums.add, operand, "test", cost=cost, measures_only=True)


@dataclass(frozen=True)
class Zero:
    """The model 0, or the one below, as an operand."""

    risk: Risk
    below: Below | None = None


def measure_zero(block: Block, operand: Zero) -> Sums:
    """The sums of a block at the model 0, or at the one below."""
    below = None if operand.below is None else operand.below(block.features)
    return first_sums(block, operand.risk, below)
