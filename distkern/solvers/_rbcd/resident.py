"""What stays with the rows while blocks of coefficients change: predictions."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis, multiply
from distkern.common.tiles import scratch
from distkern.common.types import Block, Floats, GroupOpener
from distkern.passes import AbstractResident
from distkern.solvers.measuring import Sums, sums_and_slopes
from distkern.solvers.risk import Risk

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Operand:
    """What every process knows."""

    basis: AbstractBasis
    risk: Risk


@dataclass(frozen=True)
class Ask:
    """One message.

    Attributes
    ----------
    change : a run of coefficients and what they change by (run, n_outputs), in the dtype of the basis
    wanted : the run whose gradient is wanted; None: the losses and errors
    """

    change: tuple[slice, Floats] | None
    wanted: slice | None


#: of each group, Z_j' G (run, n_outputs), or its losses and errors
Answer: TypeAlias = tuple[Array | Sums, ...]


def total_gradient(answer: Answer) -> Array:
    """The sum over all groups, from the first to the last."""
    return reduce(operator.add, cast(tuple[Array, ...], answer))


def total_sums(answer: Answer) -> Sums:
    """The sum of losses and errors over all groups, from the first to the last."""
    return reduce(Sums.add, cast(tuple[Sums, ...], answer))


class Predictions(AbstractResident):
    """Keeps f, (n_rows, n_outputs) float64, of the rows of some groups."""

    def __init__(
        self,
        openers: Mapping[int, GroupOpener],
        operand: Operand,
        saved: Mapping[int, dict[str, NDArray[Any]]],
    ) -> None:
        self._operand = operand
        self._groups = {number: openers[number]() for number in sorted(openers)}
        # what was saved may be read-only
        self._predictions = {
            number: saved[number]["predictions"].copy()
            if number in saved
            else np.zeros((group.n_rows, operand.risk.n_outputs))
            for number, group in self._groups.items()
        }

    def answer(self, message: Ask) -> Answer:
        return tuple(self._visit(number, message) for number in self._groups)

    def replay(self, message: Ask) -> None:
        if message.change is not None:
            for number, group in self._groups.items():
                done = 0
                for block in group.blocks():
                    self._move(block, self._predictions[number][done : done + block.n_rows], message.change)
                    done += block.n_rows

    def saved(self, group: int) -> dict[str, NDArray[Any]]:
        return {"predictions": self._predictions[group]}

    def _visit(self, number: int, message: Ask) -> Array | Sums:
        """Bring a group's predictions up to date, then take its sums, in one reading."""
        risk, done = self._operand.risk, 0
        sums, gradient = Sums.none(risk), None
        for block in self._groups[number].blocks():
            predictions = self._predictions[number][done : done + block.n_rows]
            done += block.n_rows
            if message.change is not None:
                self._move(block, predictions, message.change)
            if message.wanted is None:
                sums = Sums.add(sums, sums_and_slopes(risk, block, predictions, slopes=False)[0])
                continue
            share = self._gradient(block, predictions, message.wanted)
            gradient = share if gradient is None else gradient + share
        return sums if gradient is None else gradient

    def _move(self, block: Block, predictions: Array, change: tuple[slice, Floats]) -> None:
        run, coefficients = change
        for _, tile in self._operand.basis.column_tiles(block.features, [run]):
            shape = (len(tile.values), coefficients.shape[1])
            share: Floats = scratch("predictions of a run", shape, tile.values.dtype)
            multiply(tile.values, coefficients, share)
            predictions[tile.rows] += share

    def _gradient(self, block: Block, predictions: Array, wanted: slice) -> Array:
        basis, risk = self._operand.basis, self._operand.risk
        # in double precision, as small slopes are differences of large numbers
        targets = risk.targets(block).astype(np.float64)
        slopes = risk.slopes(predictions, targets, risk.weights(block)).astype(basis.dtype)
        gradient = np.zeros((wanted.stop - wanted.start, predictions.shape[1]))
        for _, tile in basis.column_tiles(block.features, [wanted]):
            gradient += tile.values.T @ slopes[tile.rows]
        return gradient


def open_predictions(
    openers: Mapping[int, GroupOpener], operand: Operand, saved: Mapping[int, dict[str, NDArray[Any]]]
) -> Predictions:
    """The resident of some groups, as :attr:`~distkern.passes.Rounds.open` wants it."""
    return Predictions(openers, operand, saved)
