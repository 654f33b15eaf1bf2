"""The passes that search, cut, move and solve."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.bases.routing import Columns, Found, Routing
from distkern.common.stores import SliceStore, Store
from distkern.common.types import Block, Floats
from distkern.passes import Cost, Each, Reduce
from distkern.solvers._cells.basis import KEPT_BYTES, CellBasis, placed_sizes, placing_bytes
from distkern.solvers._cells.buckets import Solving, most_bytes, solve_bucket
from distkern.solvers._cells.choosing import MOST_TRIALS, map_bytes, trial_bytes
from distkern.solvers._cells.held_out import Asked, Zero, measure_asked, measure_zero
from distkern.solvers._cells.moving import Moving, Sample, Sampling, count_leaves, move_rows, sample_block
from distkern.solvers._cells.place import Places
from distkern.solvers._cells.sizes import LEAVES, SAMPLE_ROWS, Sizes
from distkern.solvers._cells.tree import Overlap, Tree
from distkern.solvers._cells.trials import Sampled, Trial, try_map
from distkern.solvers._cells.tuning import Tuning, try_cells
from distkern.solvers.base import Steps
from distkern.solvers.measuring import Model, Sums, measure
from distkern.solvers.risk import Risk

MIB = 2**20
#: rows that are sorted into buckets at a time
_PART_BYTES = 32 * MIB
#: of a number that is compared with a half space, in exponentials
_PLACED = 4.0
#: every so manyth bucket of them has the first round; settings of a round, at most
_FIRST_ROUND, _MOST_SETTINGS = 3, 9 * MOST_TRIALS


@dataclass(frozen=True)
class Layout(Sizes):
    """The passes of a run of these sizes."""

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
                    overlap=Overlap(self.overlap, self.cell_rows * len(coordinates) / self.problem.n_rows),
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
        share = LEAVES * self.problem.n_rows / self.bucket_rows
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
            workspace_bytes=trial_bytes(min(self.sample_rows, SAMPLE_ROWS), row_bytes, n_features),
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
        copies = self.n_partitions * self.copies(2 * LEAVES * self.problem.n_rows / self.bucket_rows)
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

    def measuring(self, basis: CellBasis, risk: Risk) -> Steps[Sums]:
        """What the machines achieve on the test rows, which are brought to them if they are not kept."""
        model = Model(basis, np.eye(risk.n_outputs), risk)
        operand: Model | Asked = model
        if not basis.is_kept:
            routing = Routing(basis.sizes, self.problem.test_block_rows, "test", basis)
            found: Found = yield from routing.steps(self._held_out_slices)
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
        sizes = n_outputs, self.n_buckets, self.n_partitions, n_features, self.machine_bytes
        routing = Routing(placed_sizes(*sizes, self.problem.dtype), self.problem.test_block_rows, "test")
        return routing.planned

    def held_out(self, operand: Model | Zero | Asked | None) -> Reduce[Sums]:
        """What a model achieves on the test rows."""
        others: dict[type, Callable[[Block, Any], Sums]] = {Zero: measure_zero, Asked: measure_asked}
        function = others.get(type(operand), measure)
        cost = Cost(
            workspace_bytes=placing_bytes() + self._block_bytes,
            result_bytes=256,
            process_bytes=KEPT_BYTES + 2 * self.machine_bytes,
            flops_per_row=2.0 * self.cell_rows * self.problem.n_features,
            entries_per_row=2.0 * self.cell_rows,
        )
        cost = self._with_below(cost)
        return Reduce("held-out", function, Sums.add, operand, "test", cost=cost, measures_only=True)
