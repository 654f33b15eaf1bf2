"""Find, for each output, the rows of largest q with a given total weight, in a few exchanges.

In the order (q falling, group, row) they end at a place; the row there may count with part of its weight.
Weights are whole numbers of units, so that their sums do not depend on the order of addition; without
weights every row is one unit.

Positive numbers are ordered like the integers with the same bits. A histogram of these around the last
threshold is refined until few enough rows remain to be sorted, or all remaining ones have the same q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from distkern.core.compiled import argument_types, compile_loop, tuple_type
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
    """The search for the place in one output: rows before it weigh at most ``budget``; ``before`` of that is
    known to come earlier.
    """

    budget: float
    low: int
    shift: int
    mode: int
    before: int = 0

    def counted(self, above: int, counts: NDArray[np.int64], units: NDArray[np.int64]) -> None:
        """Narrow the window to the place's bin, or widen it to all numbers."""
        ends = above + np.cumsum(units[::-1])
        if self.budget < above or self.budget >= ends[-1]:
            self.low, self.shift = 0, _ALL
            return
        place = int(np.searchsorted(ends, self.budget, side="right"))
        self.before = int(ends[place] - units[::-1][place])
        self.low += (N_BINS - 1 - place) << self.shift
        if counts[::-1][place] <= MOST_CANDIDATES:
            self.mode = GATHER
        elif self.shift == 0:
            self.mode = TIES
        else:
            self.shift = max(self.shift - _BITS, 0)

    def gathered(self, candidates: NDArray[np.int64]) -> tuple[int, int, float]:
        """Key and group of the place, and the remainder there, from (n, 4) keys, groups, rows and units."""
        order = np.lexsort((candidates[:, 2], candidates[:, 1], -candidates[:, 0]))
        ranked = candidates[order]
        units = ranked[:, 3]
        left = self.budget - self.before
        place = min(int(np.searchsorted(np.cumsum(units), left, side="right")), len(ranked) - 1)
        key, group = ranked[place, :2].tolist()
        others = (ranked[:place, 0] != key) | (ranked[:place, 1] != group)
        return key, group, left - int(units[:place][others].sum())

    def tied(self, ties: NDArray[np.int64]) -> tuple[int, int, float]:
        """The place as in :meth:`gathered`, from the weights of the tied rows by groups."""
        ends = np.cumsum(ties)
        left = self.budget - self.before
        group = min(int(np.searchsorted(ends, left, side="right")), len(ties) - 1)
        return self.low, group, left - int(ends[group] - ties[group])


def select(budgets: NDArray[np.float64], n_rows: int, last: Slacks | None) -> Steps[Slacks]:
    """Return the slacks of the rows of largest q with these total weights.

    Parameters
    ----------
    budgets : (n_outputs,) in units, less than the weight of all rows with q > 0
    n_rows : rows of all groups
    last : earlier slacks, where the search starts
    """
    outputs = len(budgets)
    ones = np.full(outputs, np.array(1.0).view(np.int64))
    near = np.maximum((ones if last is None else last.keys) - _TWO_OCTAVES, 0)
    few = n_rows <= MOST_CANDIDATES
    searches = [
        _Search(budget, 0, _EVERYTHING, GATHER) if few else _Search(budget, low, _NEAR, COUNT)
        for budget, low in zip(budgets.tolist(), near.tolist(), strict=True)
    ]
    keys, groups = np.zeros((2, outputs), dtype=np.int64)
    lefts = np.zeros(outputs)
    while any(search.mode != IDLE for search in searches):
        modes = np.array([search.mode for search in searches], dtype=np.int8)
        lows = np.array([search.low for search in searches])
        shifts = np.array([search.shift for search in searches])
        answer: Selected = yield Message(Select(modes, lows, shifts))
        output_of = answer.candidates[:, 0]
        for output, search in enumerate(searches):
            if search.mode == COUNT:
                search.counted(int(answer.above[output]), answer.counts[output], answer.units[output])
                continue
            if search.mode == GATHER:
                keys[output], groups[output], lefts[output] = search.gathered(
                    answer.candidates[output_of == output, 1:]
                )
            elif search.mode == TIES:
                keys[output], groups[output], lefts[output] = search.tied(answer.ties[:, output])
            search.mode = IDLE
    return Slacks(keys, groups, lefts)


class Bins(NamedTuple):
    """For each output the mode, the lowest key of the first bin, and the bits of keys in a bin."""

    modes: NDArray[np.int8]
    lows: NDArray[np.int64]
    shifts: NDArray[np.int64]


def _count(keys, weights, bins, above, counts, units):  # type: ignore[no-untyped-def]
    weighted = weights.shape[0] > 0
    for output in range(keys.shape[0]):
        if bins.modes[output] == 1:
            low, shift = bins.lows[output], bins.shifts[output]
            for i in range(keys.shape[1]):
                key = keys[output, i]
                if key > 0 and key >= low:
                    place = (key - low) >> shift
                    own = weights[i] if weighted else 1
                    if place < counts.shape[1]:
                        counts[output, place] += 1
                        units[output, place] += own
                    else:
                        above[output] += own


def _gather(keys, bins, found, rows, ends):  # type: ignore[no-untyped-def]
    end = 0
    for output in range(keys.shape[0]):
        if bins.modes[output] == 2:
            low, shift = bins.lows[output], bins.shifts[output]
            for i in range(keys.shape[1]):
                key = keys[output, i]
                if key > 0 and key >= low and (key - low) >> shift == 0:
                    found[end] = key
                    rows[end] = i
                    end += 1
        ends[output] = end


def _mark(segment, thresholds, groups, lefts):  # type: ignore[no-untyped-def]
    keys, offsets, numbers = segment.keys, segment.offsets, segment.numbers
    marks, rest_rows, units = segment.marks, segment.rest_rows, segment.units
    weighted = units.shape[0] > 0
    for output in range(keys.shape[0]):
        threshold = thresholds[output]
        rest_rows[output] = -1
        for group in range(numbers.shape[0]):
            start, stop = offsets[group], offsets[group + 1]
            if numbers[group] == groups[output]:
                left = lefts[output]
                for i in range(start, stop):
                    marks[output, i] = keys[output, i] > threshold
                    if keys[output, i] == threshold and rest_rows[output] < 0:
                        own = float(units[i]) if weighted else 1.0
                        if own <= left:
                            marks[output, i] = 1
                            left -= own
                        else:
                            rest_rows[output] = i
                            segment.rests[output] = 2.0 * left / own
            else:
                least = threshold if numbers[group] < groups[output] else threshold + 1
                for i in range(start, stop):
                    marks[output, i] = keys[output, i] >= least


@cache
def count_loop() -> Callable[..., None]:
    """Compile histograms of positive keys in bins of 2^shift from low on, in rows and units.

    It takes keys, units or an empty array, bins, and the arrays to fill: the units above the bins first.
    """
    bins = tuple_type(Bins, "i1[:]! i8[:]! i8[:]!")
    arguments = (*argument_types("i8[:, :]! i8[:]!"), bins, *argument_types("i8[:]! i8[:, :]! i8[:, :]!"))
    return compile_loop(_count, arguments, exact=True)


@cache
def gather_loop() -> Callable[..., None]:
    """Compile the collection of the first bin's positive keys and rows, and the end of each output."""
    bins = tuple_type(Bins, "i1[:]! i8[:]! i8[:]!")
    arguments = (*argument_types("i8[:, :]!"), bins, *argument_types("i8[:]! i8[:]! i8[:]!"))
    return compile_loop(_gather, arguments, exact=True)


@cache
def mark_loop() -> Callable[..., None]:
    """Compile marks of the rows before a place in the order (key falling, group, row), and its row."""
    return compile_loop(_mark, (segment_type(), *argument_types("i8[:] i8[:] f8[:]")), exact=True)
