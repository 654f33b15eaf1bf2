"""What stays with the rows while SDCA goes over them: dual variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.compiled import aligned
from distkern.common.rng import Purpose, stream
from distkern.common.types import GroupOpener
from distkern.losses.coordinate import AbstractCoordinateLoss
from distkern.passes import AbstractResident
from distkern.solvers._pegasos.pieces import prepare_piece
from distkern.solvers.measuring import Model
from distkern.solvers.risk import Risk

Array = NDArray[np.float64]

#: first index of the stream that orders the rows of a group
_ORDER = 5


@dataclass(frozen=True)
class Operand:
    """What every process knows.

    Attributes
    ----------
    basis : z
    risk : of a loss with single dual coordinates
    seed : of the order of rows
    block_rows : of each group, the rows of its blocks
    piece_rows : whose features exist at a time
    """

    basis: AbstractBasis
    risk: Risk
    seed: int
    block_rows: tuple[tuple[int, ...], ...]
    piece_rows: int


@dataclass(frozen=True)
class Turn:
    """A round: the rows of a group have their turn.

    Attributes
    ----------
    group : which
    epoch : in which pass
    scale : by which a_i z(x_i) is in w
    w : (k, r) before it
    """

    group: int
    epoch: int
    scale: float
    w: Array


@dataclass(frozen=True)
class Turned:
    """The answer of the process that has the group.

    Attributes
    ----------
    w : (k, r) after it
    costs : the sum of (s_i l)*(-a_i) over the group and the outputs
    squares : the sum of |z(x_i)|^2 over the group
    """

    w: Array
    costs: float
    squares: float


def either(first: Turned | None, second: Turned | None) -> Turned | None:
    """The answer of the one process that has the group."""
    return second if first is None else first


class Duals(AbstractResident):
    """Keeps a, (n_rows, n_outputs) float64, of the rows of some groups."""

    def __init__(
        self,
        openers: Mapping[int, GroupOpener],
        operand: Operand,
        saved: Mapping[int, dict[str, NDArray[Any]]],
    ) -> None:
        self._operand = operand
        self._groups = {number: openers[number]() for number in sorted(openers)}
        # what was saved may be read-only
        self._duals = {
            number: saved[number]["duals"].copy()
            if number in saved
            else np.zeros((group.n_rows, operand.risk.n_outputs))
            for number, group in self._groups.items()
        }

    def answer(self, message: Turn) -> Turned | None:
        from distkern.solvers._sdca.loops import turn_loop

        if message.group not in self._groups:
            return None
        operand, group, duals = self._operand, self._groups[message.group], self._duals[message.group]
        loss = operand.risk.loss
        assert isinstance(loss, AbstractCoordinateLoss)
        model = Model(operand.basis, np.zeros((0, duals.shape[1])), operand.risk)
        block_rows = operand.block_rows[message.group]
        starts = np.concatenate([[0], np.cumsum(block_rows)])
        order = stream(operand.seed, Purpose.ROW_ORDER, _ORDER, message.epoch, message.group)
        (w,) = aligned(message.w.copy())
        costs = squares = 0.0
        for place in order.permutation(len(block_rows)).tolist():
            block, rows = group.block(place), order.permutation(block_rows[place])
            for start in range(0, len(rows), operand.piece_rows):
                chosen = rows[start : start + operand.piece_rows]
                piece = prepare_piece(block.take(chosen), model)
                own = np.ascontiguousarray(duals[starts[place] + chosen])
                loop = turn_loop(loss, operand.basis.dtype, piece.is_dense)
                arguments = piece.loop_arguments()
                cost, square = loop(*arguments, message.scale, own, w, loss.dual_parameters)
                costs, squares = costs + cost, squares + square
                duals[starts[place] + chosen] = own
        return Turned(w, costs, squares)

    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        return {"duals": self._duals[group]}


def open_duals(
    openers: Mapping[int, GroupOpener], operand: Operand, saved: Mapping[int, dict[str, NDArray[Any]]]
) -> Duals:
    """The resident of some groups, as :attr:`~distkern.passes.Rounds.open` wants it."""
    return Duals(openers, operand, saved)
