"""What a process keeps of its rows for SIMBA: their weights q, how they are updated, drawn and selected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.rng import Purpose
from distkern.common.sparse import Rows
from distkern.common.types import AbstractGroup, GroupOpener
from distkern.passes import AbstractResident
from distkern.solvers._simba import loops as loops
from distkern.solvers._simba.columns import COLUMN_BYTES, AbstractColumnReader, RowReader, column_reader
from distkern.solvers._simba.messages import (
    COUNT,
    GATHER,
    MOST_CANDIDATES,
    N_BINS,
    TIES,
    Answer,
    Ask,
    HoldOut,
    Select,
    Selected,
    Slacks,
    Update,
    aligned,
)

#: q is kept above this; q adds up to about n
FLOOR = 1e-60
#: groups are worked on together up to so many rows
_SEGMENT_ROWS = 2**18


@dataclass(frozen=True)
class Operand:
    """What residents are opened with.

    Attributes
    ----------
    n_outputs : 1: y = 1 for code 1; more: output j has y = 1 for code j
    n_candidates : of nu; lane = candidate * n_outputs + output
    n_draws : rows of a round
    fit_intercept : sums of q y are wanted
    hold_out : rows that never take part
    seed : of the draws
    basis : phi, whose functions are the columns
    """

    n_outputs: int
    n_candidates: int
    n_draws: int
    fit_intercept: bool
    hold_out: HoldOut
    seed: int
    basis: AbstractBasis

    @property
    def n_lanes(self) -> int:
        return self.n_outputs * self.n_candidates


class _Segment:
    """Consecutive groups whose arrays lie one after the other; no number depends on who lies with whom."""

    def __init__(
        self,
        groups: dict[int, AbstractGroup],
        operand: Operand,
        column_bytes: int,
        saved: Mapping[int, dict[str, NDArray[Any]]],
    ) -> None:
        self.operand = operand
        self.numbers = np.array(list(groups), dtype=np.int64)
        rows = [group.n_rows for group in groups.values()]
        self.offsets = np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
        cuts = [
            np.arange(0, count, loops.STRIP) + start for count, start in zip(rows, self.offsets, strict=False)
        ]
        self.strips = np.concatenate([*cuts, self.offsets[-1:]]).astype(np.int64)
        self.group_strips = np.concatenate([[0], np.cumsum([len(cut) for cut in cuts])]).astype(np.int64)
        n_rows, lanes = int(self.offsets[-1]), operand.n_lanes
        self.q = np.empty((lanes, n_rows))
        self.signs = np.empty((operand.n_outputs, n_rows), dtype=np.int8)
        for (number, group), start in zip(groups.items(), self.offsets.tolist(), strict=False):
            stop = start + group.n_rows
            if number in saved:
                self.q[:, start:stop] = saved[number]["q"]
            else:
                self.q[:, start:stop] = ~operand.hold_out.mask(number, group.n_rows)
            assert group.targets is not None
            wanted = np.arange(operand.n_outputs) if operand.n_outputs > 1 else np.array([1])
            self.signs[:, start:stop] = np.where(group.targets == wanted[:, None], 1, -1)
        self.keys = self.q.view(np.int64)
        self.marks = np.zeros((lanes, n_rows), dtype=np.uint8)
        self.rest_rows = np.full(lanes, -1, dtype=np.int64)
        self.rests = np.zeros(lanes)
        self.dots = np.empty(loops.STRIP)
        self.sums = np.zeros((lanes, len(self.strips) - 1, 2))
        self.reader: AbstractColumnReader | None = None
        self._open_reader = partial(
            column_reader, list(groups.values()), self.offsets, column_bytes, operand.basis.dtype
        )
        loops.add_up_loop()(self.q, self.signs, self.strips, operand.fit_intercept, self.sums)

    def update(self, update: Update) -> int:
        """Change q; the numbers of the columns that were read."""
        if update.slacks is not None:
            self._mark(update.slacks)
        if update.factors is not None:
            loops.rescale_loop()(self.q, aligned(update.factors), FLOOR)
        columns = None
        if len(update.columns):
            if self.reader is None:
                self.reader = self._open_reader()
            columns = self.reader.read(aligned(update.columns))
        data = np.empty(0, self.operand.basis.dtype) if columns is None else columns.data
        places = np.empty(0, np.int32) if columns is None else columns.places
        starts = np.zeros(1, np.int64) if columns is None else columns.starts
        loops.update_loop(self.operand.basis.dtype)(
            self.q,
            self.signs,
            self.marks,
            self.rest_rows,
            self.rests,
            self.strips,
            self.dots,
            np.empty(len(starts) - 1, np.int64),
            data,
            places,
            starts,
            columns is not None and columns.dense,
            aligned(update.coefficients),
            aligned(update.b),
            update.eta,
            self.operand.fit_intercept,
            self.sums,
        )
        return 0 if columns is None else columns.n_entries

    def _mark(self, slacks: Slacks) -> None:
        loops.mark_loop()(
            self.keys,
            self.offsets,
            self.numbers,
            aligned(slacks.keys),
            aligned(slacks.groups),
            aligned(slacks.ties),
            self.marks,
            self.rest_rows,
        )
        self.rests[:] = slacks.rests

    def group_sums(self) -> NDArray[np.float64]:
        """(n_groups, n_lanes, 2)"""
        totals = np.empty((len(self.numbers), self.operand.n_lanes, 2))
        loops.group_sums_loop()(self.sums, self.group_strips, totals)
        return totals

    def select(self, message: Select) -> Selected:
        lanes, modes = len(message.modes), aligned(message.modes)
        lows, shifts = aligned(message.lows), aligned(message.shifts)
        above, counts = np.zeros(lanes, np.int64), np.zeros((lanes, N_BINS), np.int64)
        if (modes == COUNT).any():
            loops.count_loop()(self.keys, modes, lows, shifts, above, counts)
        ties = np.zeros((len(self.numbers), lanes), np.int64)
        for lane in np.flatnonzero(modes == TIES):
            equal = np.cumsum(np.concatenate([[0], self.keys[lane] == lows[lane]]))
            ties[:, lane] = np.diff(equal[self.offsets])
        candidates = np.empty((0, 4), np.int64)
        if (gathered := np.count_nonzero(modes == GATHER)) > 0:
            found, rows = np.empty((2, gathered * MOST_CANDIDATES), np.int64)
            ends = np.empty(lanes, np.int64)
            loops.gather_loop()(self.keys, modes, lows, shifts, found, rows, ends)
            total = int(ends[-1])
            own = np.searchsorted(self.offsets, rows[:total], side="right") - 1
            numbers = np.repeat(np.arange(lanes), np.diff(ends, prepend=0))
            candidates = np.stack(
                [numbers, found[:total], self.numbers[own], rows[:total] - self.offsets[own]], axis=1
            )
        return Selected(above, counts, ties, candidates)


class SimbaResident(AbstractResident):
    """The weights q of the rows of some groups, one for each lane, and the slack they have."""

    def __init__(
        self,
        openers: Mapping[int, GroupOpener],
        operand: Operand,
        saved: Mapping[int, dict[str, NDArray[Any]]],
    ) -> None:
        groups = {number: opener() for number, opener in openers.items()}
        self._operand = operand
        self._rows = RowReader(groups)
        together: list[dict[int, AbstractGroup]] = []
        rows = _SEGMENT_ROWS
        for number, group in groups.items():
            if rows + group.n_rows > _SEGMENT_ROWS:
                together.append({})
                rows = 0
            together[-1][number] = operand.basis.over(group)
            rows += group.n_rows
        share = COLUMN_BYTES // max(len(together), 1)
        self._segments = [_Segment(part, operand, share, saved) for part in together]

    def answer(self, message: Ask | Select) -> Answer | Selected:
        if isinstance(message, Select):
            found = [segment.select(message) for segment in self._segments]
            result = found[0]
            for later in found[1:]:
                result = result.joined(later)
            return result
        entries = self._update(message)
        answers = [self._drawn(segment, message.draw_for) for segment in self._segments]
        first = answers[0]
        for second in answers[1:]:
            first = first.joined(second)
        rows = tuple(self._row(int(g), int(p)) for g, p in zip(first.groups, first.places, strict=True))
        return Answer(first.sums, entries, first.keys, first.groups, first.masses, first.signs, rows)

    def replay(self, message: Ask | Select) -> None:
        if isinstance(message, Ask):
            self._update(message)

    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        for segment in self._segments:
            for place in np.flatnonzero(segment.numbers == group).tolist():
                start, stop = segment.offsets[place : place + 2]
                return {"q": segment.q[:, start:stop]}
        raise KeyError(group)

    def _update(self, message: Ask) -> int:
        update = message.update
        return 0 if update is None else sum(segment.update(update) for segment in self._segments)

    def _row(self, group: int, place: int) -> Rows | None:
        return None if group < 0 else self._rows.read(group, place)

    def _drawn(self, segment: _Segment, draw_for: int | None) -> _Drawn:
        operand = self._operand
        n_draws = 0 if draw_for is None else operand.n_draws
        keys = np.empty(n_draws)
        groups, places = np.full(n_draws, -1, np.int64), np.zeros(n_draws, np.int64)
        if draw_for is not None:
            loops.race_loop()(
                segment.q,
                segment.sums,
                segment.strips,
                segment.group_strips,
                segment.numbers,
                operand.seed,
                int(Purpose.ROW_DRAWS),
                draw_for,
                keys,
                groups,
                places,
            )
        masses, signs = segment.q[:, places].T.copy(), segment.signs[:, places].T.copy()
        place_of = np.searchsorted(segment.numbers, np.maximum(groups, segment.numbers[0]))
        return _Drawn(segment.group_sums(), keys, groups, masses, signs, places - segment.offsets[place_of])


@dataclass(frozen=True)
class _Drawn:
    """An :class:`Answer` with the places of rows in their groups in place of the rows."""

    sums: NDArray[np.float64]
    keys: NDArray[np.float64]
    groups: NDArray[np.int64]
    masses: NDArray[np.float64]
    signs: NDArray[np.int8]
    places: NDArray[np.int64]

    def joined(self, other: _Drawn) -> _Drawn:
        later = other.keys < self.keys
        wide = later[:, None]
        return _Drawn(
            np.concatenate([self.sums, other.sums]),
            np.where(later, other.keys, self.keys),
            np.where(later, other.groups, self.groups),
            np.where(wide, other.masses, self.masses),
            np.where(wide, other.signs, self.signs),
            np.where(later, other.places, self.places),
        )


def open_simba(
    openers: Mapping[int, GroupOpener], operand: Operand, saved: Mapping[int, dict[str, NDArray[Any]]]
) -> SimbaResident:
    """The resident of some groups, as :attr:`~distkern.passes.Rounds.open` wants it."""
    return SimbaResident(openers, operand, saved)
