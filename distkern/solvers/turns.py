"""Rounds in which groups of rows take turns: one process answers, the others answer nothing."""

from __future__ import annotations

from typing import TypeVar

from distkern.common.types import groups_of
from distkern.solvers.base import Problem

Answer = TypeVar("Answer")


def either(first: Answer | None, second: Answer | None) -> Answer | None:
    """The answer of the one process that has the group."""
    return second if first is None else first


def rows_of_groups(problem: Problem) -> tuple[tuple[int, ...], ...]:
    """The rows of each block of each group."""
    return tuple(
        tuple(problem.block_rows[block] for block in group) for group in groups_of(problem.block_rows)
    )
