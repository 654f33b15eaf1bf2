"""Batches: Rounds without state, about drawn rows, other ones for every message."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from numpy.typing import NDArray
from zict import LRU

from distkern.common.batches import BatchOrder, Draw
from distkern.common.types import AbstractGroup, Block, GroupOpener
from distkern.passes.cost import UNKNOWN, Cost
from distkern.passes.rounds import CACHE_BYTES, AbstractResident, Rounds


class AbstractFollower(ABC):
    """What a process knows of the model of :func:`batches`, and answers about rows.

    It must be a function of what it was opened with and of the messages, in order: rows leave nothing behind.
    """

    @abstractmethod
    def follow(self, content: Any) -> None:
        """Take from a message what it says of the model."""

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
    batch_bytes : of the rows of a batch and what is kept of them until the next one
    cost : of a process, without the rows; its result is an answer, its operations are those of a batch
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
