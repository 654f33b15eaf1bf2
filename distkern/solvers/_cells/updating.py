"""The passes by which a model in cells is brought up to date with new rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.stores import ArrayStore, SliceStore, Store
from distkern.passes import Each, Outline
from distkern.solvers._cells.buckets import Cut, Solving
from distkern.solvers._cells.layout import CellLayout
from distkern.solvers._cells.machine import CellSettings
from distkern.solvers._cells.place import Moving
from distkern.solvers._cells.touched import Division, PreviousCells, Touched, divided
from distkern.solvers.base import Steps
from distkern.solvers.risk import Risk

#: the blocks whose rows are sorted together
Parts: TypeAlias = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Updating:
    """An update of these sizes, which are those of old and new rows together.

    The new rows are moved to their buckets, then the old ones of buckets that get new ones. Cells of these
    that get some are solved again.
    """

    layout: CellLayout
    before: PreviousCells
    risk: Risk
    settings: CellSettings

    @property
    def old(self) -> Parts:
        """The parts of the old rows."""
        return self.layout.parts_of(range(self.before.n_blocks))

    @property
    def new(self) -> Parts:
        """The parts of the new rows."""
        return self.layout.parts_of(range(self.before.n_blocks, len(self.layout.problem.block_rows)))

    def route(self) -> Steps[Division]:
        """Move rows, and say which buckets there will be."""
        touched, layout, places = self._touched, self.layout, self.before.places
        yield layout.moving(Moving(places), touched.new, "move new rows", self.new)
        buckets = np.flatnonzero(self._new_rows)
        moving = Moving(places, buckets.astype(np.int32))
        yield layout.moving(moving, touched.solving.cut.rows, "move", self.old)
        items = [(bucket, place) for place, bucket in enumerate(buckets.tolist())]
        yield layout.cutting(items, self._cuts, touched)
        return self.division

    def solving(self, store: Store) -> Each:
        """The pass that solves again, or keeps, the machines of all buckets."""
        operand = replace(self._touched, cuts=self._cuts)
        return self.layout.solving_again(self.division.pieces, store, operand)

    @property
    def division(self) -> Division:
        """The buckets of the new model, once rows are moved."""
        cut, new = self._touched.solving.cut, self._new_rows
        buckets = np.flatnonzero(new)
        rows = new[buckets] + _rows_of_slices(cut.rows, cut.n_parts, len(buckets))
        touched = dict(zip(buckets.tolist(), rows.tolist(), strict=True))
        return divided(self.before, touched, self._cuts, self.layout.bucket_rows)

    @property
    def outline(self) -> list[Outline]:
        """The passes, before they are run."""
        layout, items = self.layout, range(self.before.places.n_buckets)
        return [
            Outline(layout.moving(None, None, "move new rows", self.new), 1),
            Outline(layout.moving(None, None, "move", self.old), 1),
            Outline(layout.cutting(items, None, None)),
            Outline(layout.solving_again(items, None, None)),
        ]

    @cached_property
    def _touched(self) -> Touched:
        layout, problem = self.layout, self.layout.problem
        assert problem.workplace is not None
        rows, new = (problem.workplace.slices(f"moved/{name}", layout.columns()) for name in ("old", "new"))
        cut = Cut(rows, len(self.old), self.risk, layout.cell_rows, layout.overlap, problem.seed)
        solving = Solving(cut, self.settings)
        machines, margins = self.before.machines, self.before.margins
        return Touched(solving, new, len(self.new), machines, layout.bucket_rows, margins)

    @cached_property
    def _cuts(self) -> ArrayStore:
        assert self.layout.problem.workplace is not None
        return self.layout.problem.workplace.arrays("moved/cuts")

    @property
    def _new_rows(self) -> NDArray[np.int64]:
        """New rows in each bucket, neighbours included."""
        touched = self._touched
        return _rows_of_slices(touched.new, touched.n_parts, self.before.places.n_buckets)


def _rows_of_slices(store: SliceStore, n_parts: int, n_slices: int) -> NDArray[np.int64]:
    """Rows in each slice, of all parts together."""
    rows = np.zeros(n_slices, dtype=np.int64)
    for number in range(n_parts):
        rows += np.diff(store.offsets(number))
    return rows
