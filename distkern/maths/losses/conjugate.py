"""Losses with conjugates, for dual solvers."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from distkern.core.types import Array
from distkern.maths.losses.base import AbstractElementwiseLoss


@dataclass(frozen=True)
class AbstractCoordinateLoss(AbstractElementwiseLoss):
    """A loss for dual coordinate methods, with the conjugate (c l)*(-a) = sup_f (-a f - c l(f, y)).

    Both functions take scalars and are compiled into loops, like ``value`` and ``derivative``.
    """

    @property
    @abstractmethod
    def dual_parameters(self) -> tuple[float, ...]:
        """The constants of the conjugate, in the order expected by the functions below."""

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


@dataclass(frozen=True)
class Conjugate:
    """l*(-a) = sup_f (-a f - l(f, y)) = -a y + flat |a| + curve / 2 a^2 for -below <= a <= above.

    Beyond the bounds it is infinite. This holds for real y, and for y = +1 of a loss of the margin; for y =
    -1 the two directions of a are exchanged.

    Attributes
    ----------
    flat : half width of the interval around y without loss
    rising, falling : the curve for a > 0 and for a < 0
    above, below : bounds of a, possibly infinite
    """

    flat: float = 0.0
    rising: float = 0.0
    falling: float = 0.0
    above: float = math.inf
    below: float = math.inf


@dataclass(frozen=True)
class AbstractDualLoss(AbstractCoordinateLoss):
    """A loss whose conjugate is a parabola on either side of 0."""

    @property
    @abstractmethod
    def conjugate(self) -> Conjugate:
        """The conjugate l*."""

    @property
    def dual_parameters(self) -> tuple[float, ...]:
        """The fields of :class:`Conjugate` in their order, and whether it is mirrored for y = -1."""
        one = self.conjugate
        mirrored = float(self.target_kind == "binary")
        return one.flat, one.rising, one.falling, one.above, one.below, mirrored

    def row_gaps(self, predictions: Array, targets: Array, changes: Array) -> tuple[Array, Array]:
        conjugates = RowConjugates.of(self, targets, np.ones(targets.shape))
        wanted = -self.row_slopes(predictions, targets)
        wanted -= self.row_curvatures(predictions, targets) * changes
        dual: Array = np.clip(wanted.astype(np.float64), -conjugates.below, conjugates.above)
        values = self.value(predictions, targets, self.parameters) + conjugates.values(dual)
        return np.maximum(values + dual * predictions, 0.0).sum(axis=1), wanted - dual

    @staticmethod
    def dual_cost(dual: float, target: float, cost: float, parameters: tuple[float, ...]) -> float:
        flat, rising, falling, _, _, mirrored = parameters
        if mirrored * target < 0:
            rising, falling = falling, rising
        curve = rising if dual > 0 else falling
        return 0.5 * curve / cost * dual * dual + flat * abs(dual) - dual * target

    @staticmethod
    def dual_minimum(
        prediction: float,
        square: float,
        dual: float,
        target: float,
        cost: float,
        parameters: tuple[float, ...],
    ) -> float:
        flat, rising, falling, above, below, mirrored = parameters
        if mirrored * target < 0:
            rising, falling, above, below = falling, rising, below, above
        slope = target - prediction + square * dual
        if slope > flat:
            bend = rising / cost + square
            # a row of zeros and a piecewise linear loss: move to the bound
            return min((slope - flat) / bend, above * cost) if bend > 0 else above * cost
        if slope < -flat:
            bend = falling / cost + square
            return max((slope + flat) / bend, -below * cost) if bend > 0 else -below * cost
        return 0.0


@dataclass(frozen=True)
class RowConjugates:
    """The conjugates (c l)*(-a) = c l*(-a / c) of c_i l(., y_i) for some rows, in arrays of one shape.

    Attributes
    ----------
    targets, flat, rising, falling, above, below : as in :class:`Conjugate`
    """

    targets: Array
    flat: float
    rising: Array
    falling: Array
    above: Array
    below: Array

    @classmethod
    def of(cls, loss: AbstractDualLoss, targets: Array, costs: Array) -> RowConjugates:
        """The conjugates of rows with ``targets`` and positive ``costs`` c of one shape."""
        one = loss.conjugate
        mirrored = (targets < 0) if loss.target_kind == "binary" else np.zeros(targets.shape, dtype=bool)
        rising = np.where(mirrored, one.falling, one.rising) / costs
        falling = np.where(mirrored, one.rising, one.falling) / costs
        above = np.where(mirrored, one.below, one.above) * costs
        below = np.where(mirrored, one.above, one.below) * costs
        return cls(targets.astype(np.float64), one.flat, rising, falling, above, below)

    @property
    def bends(self) -> bool:
        """Whether each is strictly convex on both sides of 0 inside its bounds."""
        sides = (self.rising > 0) | (self.above == 0), (self.falling > 0) | (self.below == 0)
        return bool(np.logical_and(*sides).all())

    def values(self, dual: Array) -> Array:
        """(c l)*(-a) for each row, with a inside the bounds."""
        curves = np.where(dual > 0, self.rising, self.falling)
        values: Array = 0.5 * curves * dual**2 + self.flat * np.abs(dual) - dual * self.targets
        return values
