"""Finds, for every lane, the row of a given rank in the order (q falling, group, row), by a few exchanges.

Positive numbers are ordered as the integers that their bits are. A histogram of these around the last
threshold is refined until few enough rows are left to be sorted, or until they all have the same q.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.passes import Message
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
