"""Batches: Rounds without state, each over newly drawn rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from zict import LRU

from distkern.core.rng import Purpose, stream
from distkern.core.types import AbstractGroup, Block, GroupOpener, groups_of
from distkern.passes.machine import UNKNOWN, Cost
from distkern.passes.rounds import KEPT_BLOCKS_BYTES, AbstractResident, Rounds

_MOST_PARTS = 8
_PART_ROWS = 1024
#: first index of random streams: for the groups of a strip, for the blocks of a group
_GROUPS, _BLOCKS = 0, 1


@dataclass(frozen=True, slots=True)
class BatchSlice:
    """A part of a batch: rows ``start`` .. ``stop`` - 1 of a group in the shuffled order of an epoch."""

    group: int
    epoch: int
    start: int
    stop: int


@dataclass(frozen=True)
class BatchOrder:
    """Batches of about ``batch_size`` rows, each in a fixed number of parts for different workers.

    The groups of blocks (:func:`~distkern.core.types.groups_of`) are divided into consecutive runs, the
    strips, one for each part. A strip contributes one part to every batch: it visits its groups in shuffled
    order, and the rows of a group in shuffled order (blocks, then rows of a block), cut into parts of nearly
    equal length. So every row is visited once per epoch of its strip, and a strip needs one block at a time,
    all strips at most 8.
    """

    block_rows: tuple[int, ...]
    batch_size: int
    seed: int

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        return groups_of(self.block_rows)

    def group_rows(self, group: int) -> int:
        """Return the number of rows of a group."""
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
        """Return the first cursor, (n_strips, 3): epoch, position in the order of groups, part."""
        return np.zeros((len(self.strips), 3), dtype=np.int64)

    def next(self, cursor: NDArray[np.int64]) -> tuple[tuple[BatchSlice, ...], NDArray[np.int64]]:
        """Return the parts of the next batch, in the order of the data, and the cursor after it."""
        after, draws = cursor.copy(), []
        strips = self.strips
        part_rows = self.batch_size / len(strips)
        for number, strip in enumerate(strips):
            epoch, place, part = (int(count) for count in cursor[number])
            order = stream(self.seed, Purpose.VISIT_ORDER, _GROUPS, number, epoch).permutation(len(strip))
            group = strip[order[place]]
            n_rows = self.group_rows(group)
            n_parts = max(1, round(n_rows / part_rows))
            draws.append(BatchSlice(group, epoch, part * n_rows // n_parts, (part + 1) * n_rows // n_parts))
            part += 1
            if part == n_parts:
                place, part = place + 1, 0
            if place == len(strip):
                epoch, place = epoch + 1, 0
            after[number] = epoch, place, part
        return tuple(draws), after

    def pieces(self, draw: BatchSlice) -> Iterator[tuple[int, NDArray[np.intp]]]:
        """Yield the place of each block in its group and the positions of its rows in the part."""
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


class AbstractFollower(ABC):
    """A process's copy of the model of :func:`batches`, which answers messages about rows.

    It must be a function of its operand and of the messages, in order; rows must not change it.
    """

    @abstractmethod
    def follow(self, content: Any) -> None:
        """Apply a message's changes of the model."""

    @abstractmethod
    def answer(self, content: Any, parts: Iterator[Block]) -> Any:
        """Answer a followed message about this process's parts of the batch, in order; there may be none.

        A part is read when the iterator reaches it.
        """


def batches(
    name: str,
    open: Callable[[Any], AbstractFollower],
    combine: Callable[[Any, Any], Any],
    order: BatchOrder,
    operand: Any = None,
    *,
    n_batches: int = 1,
    batch_bytes: int = 0,
    cost: Cost = UNKNOWN,
) -> Rounds:
    """Return Rounds over batches of drawn rows; no state stays with the rows.

    The content of each :class:`~distkern.passes.Message` that the solver yields next is (content for the
    follower, draws of :meth:`BatchOrder.next`); the solver is sent the answers about the parts, combined in
    the order of the data.

    Parameters
    ----------
    open : module-level function of ``operand`` that returns an :class:`AbstractFollower`
    combine : associative function of the answers about earlier and later parts
    order : order of the rows
    n_batches : messages expected until the next pass
    batch_bytes : bytes of a batch's rows and of values kept until the next batch
    cost : cost of a process without the rows, with answers as results and operations per batch
    """
    n_rows, n_parts = sum(order.block_rows), len(order.strips)
    cost = replace(cost, operations=cost.operations / n_rows)
    return Rounds(
        name,
        _open,
        combine,
        _Opening(open, operand, order),
        n_rounds=n_batches,
        state_bytes_per_row=batch_bytes / n_rows,
        kept_blocks=n_parts,
        # pieces are gathered into a part
        cost=cost.holding(task={"a part": (batch_bytes // n_parts,)}),
    )


@dataclass(frozen=True)
class _Opening:
    open: Callable[[Any], AbstractFollower]
    operand: Any
    order: BatchOrder


def _open(
    openers: Mapping[int, GroupOpener], opening: _Opening, saved: Mapping[int, dict[str, NDArray[Any]]]
) -> AbstractResident:
    return _Resident(openers, opening)


class _Resident(AbstractResident):
    """A follower with the rows of some groups; a few blocks are kept."""

    def __init__(self, openers: Mapping[int, GroupOpener], opening: _Opening) -> None:
        self._openers, self._order = openers, opening.order
        self._follower = opening.open(opening.operand)
        self._groups: dict[int, AbstractGroup] = {}
        self._blocks: LRU[tuple[int, int], Block] = LRU(
            KEPT_BLOCKS_BYTES, {}, weight=lambda _, block: block.nbytes
        )

    def answer(self, message: tuple[Any, tuple[BatchSlice, ...]]) -> Any:
        content, draws = message
        self._follower.follow(content)
        return self._follower.answer(content, self._parts(draws))

    def replay(self, message: tuple[Any, tuple[BatchSlice, ...]]) -> None:
        self._follower.follow(message[0])

    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        """Return no arrays."""
        return {}

    def _parts(self, draws: tuple[BatchSlice, ...]) -> Iterator[Block]:
        for draw in draws:
            if draw.group in self._openers:
                pieces = self._order.pieces(draw)
                yield Block.joined([self._block(draw.group, place).take(rows) for place, rows in pieces])

    def _block(self, group: int, place: int) -> Block:
        block = self._blocks.get((group, place))
        if block is None:
            if group not in self._groups:
                self._groups[group] = self._openers[group]()
            block = self._groups[group].block(place)
            # a single larger block is kept too
            self._blocks.n = max(KEPT_BLOCKS_BYTES, block.nbytes)
            self._blocks[group, place] = block
        return block
