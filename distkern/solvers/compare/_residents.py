"""State that a process keeps with its groups of rows, and rounds in which groups take turns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.rng import Purpose, stream
from distkern.core.types import Block, GroupOpener, groups_of
from distkern.passes import AbstractResident
from distkern.solvers.base import Problem

Answer = TypeVar("Answer")


class GroupResident(AbstractResident):
    """Opens some groups, and keeps numbers for each of their rows if ``keeps`` names them.

    Attributes
    ----------
    operand : of the rounds
    groups : by number, in order
    kept : the numbers by group, (n_rows, n_outputs), 0 at first
    """

    #: name of the numbers in checkpoints; empty if there are none
    keeps: ClassVar[str] = ""

    def __init__(
        self, openers: Mapping[int, GroupOpener], operand: Any, saved: Mapping[int, dict[str, NDArray[Any]]]
    ) -> None:
        self.operand = operand
        self.groups = {number: openers[number]() for number in sorted(openers)}
        self.kept: dict[int, NDArray[Any]] = {}
        if self.keeps:
            for number, group in self.groups.items():
                zeros = np.zeros((group.n_rows, operand.risk.n_outputs))
                # saved arrays may be read-only
                self.kept[number] = saved[number][self.keeps].copy() if number in saved else zeros

    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        return {self.keeps: self.kept[group]} if self.keeps else {}

    def blocks(self, number: int) -> Iterator[tuple[Block, NDArray[Any]]]:
        """The blocks of a group, each with the numbers of its rows."""
        done = 0
        for block in self.groups[number].blocks():
            yield block, self.kept[number][done : done + block.n_rows]
            done += block.n_rows


class AbstractTurns(GroupResident):
    """Rounds in which one group takes its turn: its process answers, the others return None.

    A message has the ``group``; the operand has the ``seed`` of the order of rows and the ``block_rows``
    returned by :func:`rows_of_groups`.
    """

    #: first index of the random streams that order groups and their rows
    key: ClassVar[int]

    def answer(self, message: Any) -> Any:
        return self.turn(message) if message.group in self.groups else None

    @abstractmethod
    def turn(self, message: Any) -> Any:
        """The answer of the process that holds the group."""

    def pieces(self, number: int, epoch: int, n_rows: int) -> Iterator[tuple[NDArray[np.int64], Block]]:
        """Positions in a group and their rows, in pieces of ``n_rows``; blocks and rows are shuffled."""
        block_rows = self.operand.block_rows[number]
        starts = np.concatenate([[0], np.cumsum(block_rows)])
        order = stream(self.operand.seed, Purpose.ROW_ORDER, self.key, epoch, number)
        for place in order.permutation(len(block_rows)).tolist():
            block, rows = self.groups[number].block(place), order.permutation(block_rows[place])
            for start in range(0, len(rows), n_rows):
                chosen = rows[start : start + n_rows]
                yield starts[place] + chosen, block.take(chosen)

    @classmethod
    def order(cls, problem: Problem, epoch: int) -> list[int]:
        """The groups in random order."""
        order = stream(problem.seed, Purpose.VISIT_ORDER, cls.key, epoch)
        found: list[int] = order.permutation(len(groups_of(problem.block_rows))).tolist()
        return found


def either(first: Answer | None, second: Answer | None) -> Answer | None:
    """The answer of the one process that holds the group."""
    return second if first is None else first


def rows_of_groups(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """The rows of each block of each group."""
    return tuple(
        tuple(problem.block_rows[block] for block in group) for group in groups_of(problem.block_rows)
    )
