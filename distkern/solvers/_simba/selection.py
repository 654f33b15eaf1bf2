"""Finds, for every lane, the row of a given rank in the order (q falling, group, row), by a few exchanges.

Positive numbers are ordered as the integers that their bits are. A histogram of these around the last
threshold is refined until few enough rows are left to be sorted, or until they all have the same q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distkern.common.compiled import argument_types, compile_loop, tuple_type
from distkern.passes import Message
from distkern.solvers._simba.loops import segment_type
from distkern.solvers._simba.messages import (
    COUNT,
    GATHER,
    IDLE,
    MOST_CANDIDATES,
    N_BINS,
    TIES,
    Select,
    Selected,
    Slacks,
)
from distkern.solvers.base import Steps

_BITS = int(np.log2(N_BINS))
#: one bin for every exponent: all positive numbers
_ALL = 53
#: 4 octaves in 1024 bins
_NEAR = 44
_TWO_OCTAVES = 2 << 52
_EVERYTHING = 63


@dataclass
class _Search:
    """Where the row of a rank is looked for in one lane; ``before`` rows are known to come earlier."""

    rank: int
    low: int
    shift: int
    mode: int
    before: int = 0

    def counted(self, above: int, counts: NDArray[np.int64]) -> None:
        """Narrow the window to the bin of the row, or widen it to all numbers."""
        ends = above + np.cumsum(counts[::-1])
        if self.rank < above or self.rank >= ends[-1]:
            self.low, self.shift = 0, _ALL
            return
        place = int(np.searchsorted(ends, self.rank, side="right"))
        count = int(counts[::-1][place])
        self.before = int(ends[place]) - count
        self.low += (N_BINS - 1 - place) << self.shift
        if count <= MOST_CANDIDATES:
            self.mode = GATHER
        elif self.shift == 0:
            self.mode = TIES
        else:
            self.shift = max(self.shift - _BITS, 0)

    def gathered(self, candidates: NDArray[np.int64]) -> tuple[int, int, int]:
        """Key, group and ties before it of the row, from (n, 3) keys, groups and rows."""
        order = np.lexsort((candidates[:, 2], candidates[:, 1], -candidates[:, 0]))
        ranked = candidates[order]
        place = self.rank - self.before
        key, group, _ = ranked[place].tolist()
        same = (ranked[:place, 0] == key) & (ranked[:place, 1] == group)
        return key, group, int(np.count_nonzero(same))

    def tied(self, ties: NDArray[np.int64]) -> tuple[int, int, int]:
        """As :meth:`gathered`, from the (n_groups,) rows that share the key."""
        ends = np.cumsum(ties)
        place = self.rank - self.before
        group = int(np.searchsorted(ends, place, side="right"))
        return self.low, group, place - int(ends[group] - ties[group])


def select(
    ranks: NDArray[np.int64], rests: NDArray[np.float64], n_rows: int, last: Slacks | None
) -> Steps[Slacks]:
    """The slacks with the rows of the given ranks (from 0) at their places.

    Parameters
    ----------
    ranks : (n_lanes,), each below the number of rows with q > 0
    rests : (n_lanes,) slack of the row of the rank
    n_rows : of all groups
    last : slacks of a while ago, near which the new ones are looked for
    """
    lanes = len(ranks)
    ones = np.full(lanes, np.array(1.0).view(np.int64))
    near = np.maximum((ones if last is None else last.keys) - _TWO_OCTAVES, 0)
    few = n_rows <= MOST_CANDIDATES
    searches = [
        _Search(rank, 0, _EVERYTHING, GATHER) if few else _Search(rank, low, _NEAR, COUNT)
        for rank, low in zip(ranks.tolist(), near.tolist(), strict=True)
    ]
    found = np.zeros((lanes, 3), dtype=np.int64)
    while any(search.mode != IDLE for search in searches):
        modes = np.array([search.mode for search in searches], dtype=np.int8)
        lows = np.array([search.low for search in searches])
        shifts = np.array([search.shift for search in searches])
        answer: Selected = yield Message(Select(modes, lows, shifts))
        lane_of = answer.candidates[:, 0]
        for lane, search in enumerate(searches):
            if search.mode == COUNT:
                search.counted(int(answer.above[lane]), answer.counts[lane])
            elif search.mode == GATHER:
                found[lane] = search.gathered(answer.candidates[lane_of == lane, 1:])
                search.mode = IDLE
            elif search.mode == TIES:
                found[lane] = search.tied(answer.ties[:, lane])
                search.mode = IDLE
    keys, groups, ties = np.ascontiguousarray(found.T)
    return Slacks(keys, groups, ties, rests)


class Bins(NamedTuple):
    """What is looked for in each lane, the lowest key of the first bin, and the bits of the keys of a bin."""

    modes: NDArray[np.int8]
    lows: NDArray[np.int64]
    shifts: NDArray[np.int64]


def _count(keys, bins, above, counts):  # type: ignore[no-untyped-def]
    for lane in range(keys.shape[0]):
        if bins.modes[lane] == 1:
            low, shift = bins.lows[lane], bins.shifts[lane]
            for i in range(keys.shape[1]):
                key = keys[lane, i]
                if key > 0 and key >= low:
                    place = (key - low) >> shift
                    if place < counts.shape[1]:
                        counts[lane, place] += 1
                    else:
                        above[lane] += 1


def _gather(keys, bins, found, rows, ends):  # type: ignore[no-untyped-def]
    end = 0
    for lane in range(keys.shape[0]):
        if bins.modes[lane] == 2:
            low, shift = bins.lows[lane], bins.shifts[lane]
            for i in range(keys.shape[1]):
                key = keys[lane, i]
                if key > 0 and key >= low and (key - low) >> shift == 0:
                    found[end] = key
                    rows[end] = i
                    end += 1
        ends[lane] = end


def _mark(segment, thresholds, groups, ties):  # type: ignore[no-untyped-def]
    keys, offsets, numbers = segment.keys, segment.offsets, segment.numbers
    marks, rest_rows = segment.marks, segment.rest_rows
    for lane in range(keys.shape[0]):
        threshold = thresholds[lane]
        rest_rows[lane] = -1
        for group in range(numbers.shape[0]):
            start, stop = offsets[group], offsets[group + 1]
            if numbers[group] == groups[lane]:
                left = ties[lane]
                for i in range(start, stop):
                    marks[lane, i] = keys[lane, i] > threshold
                    if keys[lane, i] == threshold:
                        if left > 0:
                            marks[lane, i] = 1
                        elif left == 0:
                            rest_rows[lane] = i
                        left -= 1
            else:
                least = threshold if numbers[group] < groups[lane] else threshold + 1
                for i in range(start, stop):
                    marks[lane, i] = keys[lane, i] >= least


def _types(text: str) -> tuple[Any, ...]:
    bins = tuple_type(Bins, "i1[:]! i8[:]! i8[:]!")
    return (*argument_types("i8[:, :]!"), bins, *argument_types(text))


@cache
def count_loop() -> Callable[..., None]:
    """Histogram of positive keys: bins of 2^shift from low on, and how many lie above them."""
    return compile_loop(_count, _types("i8[:]! i8[:, :]!"), exact=True)


@cache
def gather_loop() -> Callable[..., None]:
    """Positive keys of the first bin with their rows, lane after lane, and where each lane ends."""
    return compile_loop(_gather, _types("i8[:]! i8[:]! i8[:]!"), exact=True)


@cache
def mark_loop() -> Callable[..., None]:
    """Mark the rows before a place in the order (key falling, group, row), and find the row at the place."""
    return compile_loop(_mark, (segment_type(), *argument_types("i8[:] i8[:] i8[:]")), exact=True)
