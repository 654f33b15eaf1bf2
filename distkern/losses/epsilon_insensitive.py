"""The loss of support vector regression."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from distkern.common.parameters import NOT_NEGATIVE, NOTHING, parameter
from distkern.losses.base import Numbers
from distkern.losses.conjugate import AbstractDualLoss, Conjugate


@dataclass(frozen=True)
class EpsilonInsensitive(AbstractDualLoss):
    """l(f, y) = max(0, |f - y| - epsilon) (Dai et al. 2014, Table 1)."""

    epsilon: float | None = parameter(
        None,
        NOT_NEGATIVE,
        NOTHING,
        help="residual that costs nothing, in the units of the targets; none: 0.1 standard deviations",
    )

    name = "epsilon_insensitive"
    target_kind = "real"

    @property
    def width(self) -> float:
        """epsilon, the default included."""
        return 0.1 if self.epsilon is None else float(self.epsilon)

    def scaled(self, scale: float) -> Self:
        return self if self.epsilon is None else replace(self, epsilon=self.epsilon / scale)

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.width,)

    @staticmethod
    def value(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return np.maximum(0.0, np.abs(prediction - target) - parameters[0])

    @staticmethod
    def derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        residual = prediction - target
        return np.sign(residual) * (np.abs(residual) > parameters[0])

    @property
    def curvature(self) -> float:
        return math.inf

    @property
    def conjugate(self) -> Conjugate:
        return Conjugate(flat=self.width, above=1.0, below=1.0)
