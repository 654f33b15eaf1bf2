"""Batches as the Rounds that they are run as: each party reads its parts of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray
from zict import LRU

from distkern.common.batches import BatchOrder, Draw
from distkern.common.types import AbstractGroup, Block, GroupOpener
from distkern.passes import AbstractFollower, AbstractResident, Batches, Rounds

#: blocks of rows that a process keeps, beside the one in use
CACHE_BYTES = 64 * 2**20


def as_rounds(step: Batches, block_bytes: int) -> Rounds:
    """The Rounds of some Batches; ``block_bytes``: of the largest block."""
    order, n_rows = step.order, sum(step.order.block_rows)
    # a part is gathered of pieces
    part_bytes = step.batch_bytes // len(order.strips)
    cost = replace(step.cost, operations=step.cost.operations / n_rows)
    return Rounds(
        step.name,
        _open,
        step.combine,
        _Opening(step.open, step.operand, order),
        step.split,
        n_rounds=step.n_batches,
        state_bytes_per_row=step.batch_bytes / n_rows,
        kept_bytes=min(CACHE_BYTES + block_bytes, len(order.strips) * block_bytes),
        cost=cost.holding(task={"a part": (part_bytes,)}),
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
    """A follower, and the rows of some groups, of which a few blocks are kept."""

    def __init__(self, openers: Mapping[int, GroupOpener], opening: _Opening) -> None:
        self._openers, self._order = openers, opening.order
        self._follower = opening.open(opening.operand)
        self._groups: dict[int, AbstractGroup] = {}
        self._blocks: LRU[tuple[int, int], Block] = LRU(
            CACHE_BYTES, {}, weight=lambda _, block: block.features.nbytes
        )

    def answer(self, message: tuple[Any, tuple[Draw, ...]]) -> Any:
        content, draws = message
        self._follower.follow(content)
        return self._follower.answer(content, self._parts(draws))

    def replay(self, message: tuple[Any, tuple[Draw, ...]]) -> None:
        self._follower.follow(message[0])

    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        """Nothing."""
        return {}

    def _parts(self, draws: tuple[Draw, ...]) -> Iterator[Block]:
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
            self._blocks.n = max(CACHE_BYTES, block.features.nbytes)
            self._blocks[group, place] = block
        return block
