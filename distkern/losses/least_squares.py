"""The square loss of classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.losses.base import Numbers
from distkern.losses.conjugate import AbstractDualLoss, Conjugate


@dataclass(frozen=True)
class LeastSquares(AbstractDualLoss):
    """l(f, y) = 1/2 (1 - y f)^2 = 1/2 (f - y)^2 (Suykens and Vandewalle 1999), least at f = 2 p(x) - 1."""

    name = "least_squares"
    target_kind = "binary"
    is_quadratic = True

    @staticmethod
    def value(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return 0.5 * (1.0 - target * prediction) ** 2

    @staticmethod
    def derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return -target * (1.0 - target * prediction)

    @staticmethod
    def second_derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return np.ones_like(prediction)

    @property
    def curvature(self) -> float:
        return 1.0

    @property
    def norm_bound(self) -> float:
        """max of z (1 - z) = 1/4, the largest product of -l' and the margin."""
        return 0.25

    @property
    def conjugate(self) -> Conjugate:
        return Conjugate(rising=1.0, falling=1.0)
