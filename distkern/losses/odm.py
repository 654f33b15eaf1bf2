"""The loss of the optimal margin distribution machine."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.common.parameters import Number, parameter
from distkern.losses.base import Numbers
from distkern.losses.conjugate import AbstractDualLoss, Conjugate


@dataclass(frozen=True)
class OptimalMarginDistribution(AbstractDualLoss):
    """l(f, y) = (max(0, 1 - theta - y f)^2 + mu max(0, y f - 1 - theta)^2) / (1 - theta)^2.

    Tan et al. 2019, equation (1) and Remark 2, without the stray 1/m that Remark 2 prints.
    """

    theta: float = parameter(
        0.4,
        Number(0, 1, open=(False, True)),
        help="half width of the band of margins around 1 that cost nothing",
    )
    mu: float = parameter(
        0.4, Number(0, 1, open=(True, False)), help="weight of margins above the band against those below it"
    )

    name = "odm"
    target_kind = "binary"

    @property
    def parameters(self) -> tuple[float, ...]:
        return (float(self.theta), float(self.mu), 1.0 / (1.0 - float(self.theta)) ** 2)

    @staticmethod
    def value(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        theta, mu, scale = parameters
        margin = target * prediction
        below = np.maximum(0.0, 1.0 - theta - margin)
        above = np.maximum(0.0, margin - 1.0 - theta)
        return scale * (below**2 + mu * above**2)

    @staticmethod
    def derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        theta, mu, scale = parameters
        margin = target * prediction
        below = np.maximum(0.0, 1.0 - theta - margin)
        above = np.maximum(0.0, margin - 1.0 - theta)
        return 2.0 * scale * target * (mu * above - below)

    @staticmethod
    def second_derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        theta, mu, scale = parameters
        margin = target * prediction
        return 2.0 * scale * ((margin <= 1.0 - theta) + mu * (margin > 1.0 + theta))

    @property
    def curvature(self) -> float:
        return 2.0 / (1.0 - self.theta) ** 2 * max(1.0, self.mu)

    @property
    def norm_bound(self) -> float:
        """1/2: below the band -z l' = 2 s(1-s) with s = z/(1-theta), above it -z l' <= 0 (any mu)."""
        return 0.5

    @property
    def conjugate(self) -> Conjugate:
        rising = 0.5 * (1.0 - self.theta) ** 2
        return Conjugate(flat=float(self.theta), rising=rising, falling=rising / self.mu)
