"""The weights q of SIMBA, which processes keep with their rows: updates, draws and selections."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.rng import Purpose
from distkern.core.sparse import Rows
from distkern.core.tiles import aligned
from distkern.core.types import AbstractGroup, Block, GroupOpener
from distkern.maths.bases.base import AbstractBasis
from distkern.passes import AbstractResident
from distkern.solvers._simba import loops, selection
from distkern.solvers._simba.columns import (
    COLUMN_BYTES,
    AbstractColumnReader,
    RowReader,
    column_reader,
    no_columns,
)
from distkern.solvers._simba.messages import (
    COUNT,
    GATHER,
    MOST_CANDIDATES,
    N_BINS,
    TIES,
    UNIT,
    Answer,
    HoldOut,
    RoundMessage,
    Select,
    Selected,
    Update,
    in_units,
)
from distkern.solvers.risk import Risk

#: lower bound of q; q adds up to about n
FLOOR = 1e-60
#: most rows of a segment
SEGMENT_ROWS = 2**18
_PURPOSE = int(Purpose.ROW_DRAWS)


@dataclass(frozen=True)
class SIMBAOperand:
    """The operand of residents.

    Attributes
    ----------
    n_outputs : 1: y = 1 for code 1; more: output j has y = 1 for code j
    n_draws : rows of a round
    fit_intercept : whether to sum q y
    hold_out : rows that never take part
    seed : seed of the draws
    basis : phi, whose functions are the columns
    risk : the weights of rows and classes; None if all weights are equal
    """

    n_outputs: int
    n_draws: int
    fit_intercept: bool
    hold_out: HoldOut
    seed: int
    basis: AbstractBasis
    risk: Risk | None = None


def _units_of(group: AbstractGroup, risk: Risk) -> NDArray[np.int64]:
    """(n_rows,) weights of a group's rows in units."""
    blocks = group.blocks()
    first = next(blocks)
    if first.weights is None:
        # only classes have weights, so rows need not be read
        return in_units(risk, Block(np.empty((group.n_rows, 0)), group.targets, None, 0))
    return np.concatenate([in_units(risk, block) for block in (first, *blocks)])


class _Segment:
    """Consecutive groups with concatenated arrays; results do not depend on how groups are combined."""

    def __init__(
        self,
        groups: dict[int, AbstractGroup],
        operand: SIMBAOperand,
        column_bytes: int,
        saved: Mapping[int, dict[str, NDArray[Any]]],
    ) -> None:
        self.operand = operand
        numbers = np.array(list(groups), dtype=np.int64)
        rows = [group.n_rows for group in groups.values()]
        offsets = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
        cuts = [np.arange(0, count, loops.STRIP) + start for count, start in zip(rows, offsets, strict=False)]
        strips = np.concatenate([*cuts, offsets[-1:]]).astype(np.int64)
        group_strips = np.concatenate([[0], np.cumsum([len(cut) for cut in cuts])]).astype(np.int64)
        n_rows = int(offsets[-1])
        outputs = operand.n_outputs
        q = np.empty((outputs, n_rows))
        signs = np.empty((outputs, n_rows), dtype=np.int8)
        units = np.empty(0, dtype=np.int64)
        if operand.risk is not None:
            units = np.concatenate([_units_of(group, operand.risk) for group in groups.values()])
        for (number, group), start in zip(groups.items(), offsets.tolist(), strict=False):
            stop = start + group.n_rows
            if number in saved:
                q[:, start:stop] = saved[number]["q"]
            else:
                q[:, start:stop] = 1.0
                if operand.hold_out.fraction:
                    held = [operand.hold_out.mask(block) for block in group.blocks()]
                    q[:, start:stop] = ~np.concatenate(held)
            targets, wanted = group.targets, np.arange(outputs) if outputs > 1 else np.array([1])
            assert targets is not None
            signs[:, start:stop] = np.where(targets == wanted[:, None], 1, -1)
        self.arrays = loops.Segment(
            q=q,
            keys=q.view(np.int64),
            signs=signs,
            weights=units / UNIT,
            units=units,
            marks=np.zeros(q.shape, dtype=np.uint8),
            rest_rows=np.full(outputs, -1, dtype=np.int64),
            rests=np.zeros(outputs),
            offsets=offsets,
            numbers=numbers,
            strips=strips,
            group_strips=group_strips,
            sums=np.zeros((outputs, len(strips) - 1, 2)),
            signed=operand.fit_intercept,
        )
        self._reader: AbstractColumnReader | None = None
        self._open_reader = partial(
            column_reader, list(groups.values()), offsets, column_bytes, operand.basis.dtype
        )
        self._update, self._no_columns = (
            loops.update_loop(operand.basis.dtype),
            no_columns(operand.basis.dtype),
        )
        loops.add_up_loop()(self.arrays)

    def update(self, update: Update) -> int:
        """Update q and return how many numbers of columns were read."""
        arrays, columns = self.arrays, self._no_columns
        if (slacks := update.slacks) is not None:
            selection.mark_loop()(arrays, *aligned(slacks.keys, slacks.groups, slacks.lefts))
        if update.factors is not None:
            loops.rescale_loop()(arrays.q, *aligned(update.factors), FLOOR)
        numbers, coefficients = update.by_column()
        if len(numbers):
            if self._reader is None:
                self._reader = self._open_reader()
            columns = self._reader.read(*aligned(numbers))
        self._update(arrays, columns, *aligned(coefficients, update.b), update.eta)
        return columns.n_entries

    def select(self, message: Select) -> Selected:
        keys, offsets, group_numbers = self.arrays.keys, self.arrays.offsets, self.arrays.numbers
        own_units = self.arrays.units
        outputs = len(message.modes)
        # copies, since loops take only tuples of writable arrays
        bins = selection.Bins(*map(np.array, (message.modes, message.lows, message.shifts)))
        above, (counts, units) = np.zeros(outputs, np.int64), np.zeros((2, outputs, N_BINS), np.int64)
        if (bins.modes == COUNT).any():
            selection.count_loop()(keys, own_units, bins, above, counts, units)
        ties = np.zeros((len(group_numbers), outputs), np.int64)
        for output in np.flatnonzero(bins.modes == TIES):
            equal = keys[output] == bins.lows[output]
            ends = np.cumsum(np.concatenate([[0], equal * own_units if len(own_units) else equal]))
            ties[:, output] = np.diff(ends[offsets])
        candidates = np.empty((0, 5), np.int64)
        if (gathered := np.count_nonzero(bins.modes == GATHER)) > 0:
            found, rows = np.empty((2, gathered * MOST_CANDIDATES), np.int64)
            ends = np.empty(outputs, np.int64)
            selection.gather_loop()(keys, bins, found, rows, ends)
            total = int(ends[-1])
            own = np.searchsorted(offsets, rows[:total], side="right") - 1
            numbers = np.repeat(np.arange(outputs), np.diff(ends, prepend=0))
            weights = own_units[rows[:total]] if len(own_units) else np.ones(total, np.int64)
            candidates = np.stack(
                [numbers, found[:total], group_numbers[own], rows[:total] - offsets[own], weights], axis=1
            )
        return Selected(above, counts, units, ties, candidates)


class SimbaResident(AbstractResident):
    """The weights q of the rows of some groups, one for each output, and their slacks."""

    def __init__(
        self,
        openers: Mapping[int, GroupOpener],
        operand: SIMBAOperand,
        saved: Mapping[int, dict[str, NDArray[Any]]],
    ) -> None:
        groups = {number: opener() for number, opener in openers.items()}
        self._operand = operand
        self._rows = RowReader(groups)
        together: list[dict[int, AbstractGroup]] = []
        rows = SEGMENT_ROWS
        for number, group in groups.items():
            if rows + group.n_rows > SEGMENT_ROWS:
                together.append({})
                rows = 0
            together[-1][number] = operand.basis.over(group)
            rows += group.n_rows
        share = COLUMN_BYTES // max(len(together), 1)
        self._segments = [_Segment(part, operand, share, saved) for part in together]

    def answer(self, message: RoundMessage | Select) -> Answer | Selected:
        if isinstance(message, Select):
            return reduce(Selected.joined, (segment.select(message) for segment in self._segments))
        entries = self._update(message)
        drawn = reduce(loops.Drawn.joined, (self._drawn(part, message.draw_for) for part in self._segments))
        rows = tuple(self._row(int(g), int(p)) for g, p in zip(drawn.groups, drawn.places, strict=True))
        return Answer(drawn, entries, rows)

    def replay(self, message: RoundMessage | Select) -> None:
        if isinstance(message, RoundMessage):
            self._update(message)

    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        for segment in self._segments:
            for place in np.flatnonzero(segment.arrays.numbers == group).tolist():
                start, stop = segment.arrays.offsets[place : place + 2]
                return {"q": segment.arrays.q[:, start:stop]}
        raise KeyError(group)

    def _update(self, message: RoundMessage) -> int:
        update = message.update
        return 0 if update is None else sum(segment.update(update) for segment in self._segments)

    def _row(self, group: int, place: int) -> Rows | None:
        return None if group < 0 else self._rows.read(group, place)

    def _drawn(self, segment: _Segment, draw_for: int | None) -> loops.Drawn:
        operand, arrays = self._operand, segment.arrays
        n_draws = 0 if draw_for is None else operand.n_draws
        drawn = loops.Drawn.empty(n_draws, len(arrays.numbers), operand.n_outputs)
        loops.draw_loop()(arrays, operand.seed, _PURPOSE, draw_for or 0, drawn)
        return drawn
