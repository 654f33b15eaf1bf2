"""Which rows make the batch of a step: a function of the data's layout and the seed, not of workers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.common.rng import Purpose, stream
from distkern.common.types import groups_of

_MOST_PARTS = 8
_PART_ROWS = 1024
#: first index of the streams of an order: of the groups of a strip, of the blocks of a group
_GROUPS, _BLOCKS = 0, 1


@dataclass(frozen=True, slots=True)
class Draw:
    """A part of a batch: rows ``start`` .. ``stop`` - 1 of a group in the shuffled order of an epoch."""

    group: int
    epoch: int
    start: int
    stop: int


@dataclass(frozen=True)
class BatchOrder:
    """Batches of about ``batch_size`` rows, each in a fixed number of parts that different workers can take.

    The groups of blocks (:func:`~distkern.common.types.groups_of`) are dealt in consecutive runs, the strips,
    one for each part. A strip gives one part to every batch: it goes through its groups in shuffled order,
    and through the rows of a group in shuffled order (blocks, then rows of a block), cut into parts of nearly
    equal length. So every row is seen once an epoch of its strip, at most one block of a strip is needed at a
    time, and at most 8 blocks in all.
    """

    block_rows: tuple[int, ...]
    batch_size: int
    seed: int

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        return groups_of(self.block_rows)

    def group_rows(self, group: int) -> int:
        """Rows of a group."""
        return sum(self.block_rows[block] for block in self.groups[group])

    @property
    def strips(self) -> tuple[tuple[int, ...], ...]:
        """The groups of each strip."""
        n_groups = len(self.groups)
        n_parts = min(max(1, self.batch_size // _PART_ROWS), _MOST_PARTS, n_groups)
        ends = np.cumsum([self.group_rows(group) for group in range(n_groups)])
        middles = ends - np.diff(ends, prepend=0) / 2
        places = (middles * n_parts / ends[-1]).astype(int)
        strips = [tuple(np.flatnonzero(places == part).tolist()) for part in range(n_parts)]
        return tuple(strip for strip in strips if strip)

    def first(self) -> NDArray[np.int64]:
        """The cursor before the first batch, (n_strips, 3): epoch, place in the order of groups, part."""
        return np.zeros((len(self.strips), 3), dtype=np.int64)

    def next(self, cursor: NDArray[np.int64]) -> tuple[tuple[Draw, ...], NDArray[np.int64]]:
        """The parts of the next batch, in the order of the data, and the cursor after it."""
        after, draws = cursor.copy(), []
        strips = self.strips
        part_rows = self.batch_size / len(strips)
        for number, strip in enumerate(strips):
            epoch, place, part = (int(count) for count in cursor[number])
            order = stream(self.seed, Purpose.VISIT_ORDER, _GROUPS, number, epoch).permutation(len(strip))
            group = strip[order[place]]
            n_rows = self.group_rows(group)
            n_parts = max(1, round(n_rows / part_rows))
            draws.append(Draw(group, epoch, part * n_rows // n_parts, (part + 1) * n_rows // n_parts))
            part += 1
            if part == n_parts:
                place, part = place + 1, 0
            if place == len(strip):
                epoch, place = epoch + 1, 0
            after[number] = epoch, place, part
        return tuple(draws), after

    def pieces(self, draw: Draw) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """The place of each block in its group, and the positions of its rows that are in the part."""
        blocks = self.groups[draw.group]
        order = stream(self.seed, Purpose.VISIT_ORDER, _BLOCKS, draw.group, draw.epoch).permutation(
            len(blocks)
        )
        done = 0
        for place in order:
            n_rows = self.block_rows[blocks[place]]
            start, stop = max(draw.start - done, 0), min(draw.stop - done, n_rows)
            if start < stop:
                rows = stream(self.seed, Purpose.ROW_ORDER, draw.epoch, blocks[place]).permutation(n_rows)
                yield int(place), rows[start:stop]
            done += n_rows
