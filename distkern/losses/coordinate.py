"""Losses whose dual is minimised in one coordinate after the other, in closed form or nearly."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from distkern.losses.base import AbstractElementwiseLoss


@dataclass(frozen=True)
class AbstractCoordinateLoss(AbstractElementwiseLoss):
    """A loss with what dual coordinate methods need of its conjugate (c l)*(-a) = sup_f (-a f - c l(f, y)).

    Both functions take scalars and become part of compiled loops, as ``value`` and ``derivative`` do.
    """

    @property
    @abstractmethod
    def dual_parameters(self) -> tuple[float, ...]:
        """The constants of the conjugate, as the functions below expect them."""

    @staticmethod
    @abstractmethod
    def dual_cost(dual: float, target: float, cost: float, parameters: tuple[float, ...]) -> float:
        """(c l)*(-a) for a within its bounds, c = ``cost`` > 0."""

    @staticmethod
    @abstractmethod
    def dual_minimum(
        prediction: float,
        square: float,
        dual: float,
        target: float,
        cost: float,
        parameters: tuple[float, ...],
    ) -> float:
        """The b that minimises (c l)*(-b) + prediction (b - a) + square / 2 (b - a)^2, for a = ``dual``."""
