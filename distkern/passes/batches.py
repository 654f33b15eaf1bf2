"""Batches: Rounds without state, about drawn rows, other ones for every message."""

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
#: first index of the streams of an order: of the groups of a strip, of the blocks of a group
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
    """Batches of about ``batch_size`` rows, each in a fixed number of parts that different workers can take.

    The groups of blocks (:func:`~distkern.core.types.groups_of`) are dealt in consecutive runs, the strips,
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

    def next(self, cursor: NDArray[np.int64]) -> tuple[tuple[BatchSlice, ...], NDArray[np.int64]]:
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
            draws.append(BatchSlice(group, epoch, part * n_rows // n_parts, (part + 1) * n_rows // n_parts))
            part += 1
            if part == n_parts:
                place, part = place + 1, 0
            if place == len(strip):
                epoch, place = epoch + 1, 0
            after[number] = epoch, place, part
        return tuple(draws), after

    def pieces(self, draw: BatchSlice) -> Iterator[tuple[int, NDArray[np.intp]]]:
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


class AbstractFollower(ABC):
    """What a process knows of the model of :func:`batches`, and answers about rows.

    It must be a function of its operand and of the messages, in order: rows leave nothing behind.
    """

    @abstractmethod
    def follow(self, content: Any) -> None:
        """Take the changes of the model from a message."""

    @abstractmethod
    def answer(self, content: Any, parts: Iterator[Block]) -> Any:
        """Answer a message that was followed, about the parts of the batch that this process has, in order.

        A part is read when the iterator comes to it. With none of them it is the answer to no rows.
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
    """Batches of drawn rows, in fixed parts that different processes may have; nothing stays with the rows.

    The content of each :class:`~distkern.passes.Message` that the solver yields next is (content for the
    follower, draws of :meth:`BatchOrder.next`); what is sent back is the combined answer about its parts,
    in the order of the data.

    Parameters
    ----------
    open : module-level function of ``operand`` that gives an :class:`AbstractFollower`
    combine : associative function of the answers about earlier and about later parts
    order : which rows make the batches
    n_batches : messages that are expected until the next pass
    batch_bytes : of the rows of a batch, and of what is kept of them until the next batch
    cost : of a process, without the rows; its result is an answer, its operations count a batch
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
        # a part is gathered of pieces
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
        """Nothing."""
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
            # the last one is kept however large it is
            self._blocks.n = max(KEPT_BLOCKS_BYTES, block.nbytes)
            self._blocks[group, place] = block
        return block
