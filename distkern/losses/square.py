"""The square loss of ridge regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.losses.base import Numbers
from distkern.losses.conjugate import AbstractDualLoss, Conjugate


@dataclass(frozen=True)
class Square(AbstractDualLoss):
    """l(f, y) = 1/2 (f - y)^2 (Dai et al. 2014, Table 1)."""

    name = "square"
    target_kind = "real"
    is_quadratic = True

    @staticmethod
    def value(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return 0.5 * (prediction - target) ** 2

    @staticmethod
    def derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return prediction - target

    @property
    def levels(self) -> None:
        return None

    @staticmethod
    def second_derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return np.ones_like(prediction)

    @property
    def curvature(self) -> float:
        return 1.0

    @property
    def conjugate(self) -> Conjugate:
        return Conjugate(rising=1.0, falling=1.0)
