"""The squared hinge loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.losses.base import Numbers
from distkern.losses.conjugate import AbstractDualLoss, Conjugate


@dataclass(frozen=True)
class SquaredHinge(AbstractDualLoss):
    """l(f, y) = max(0, 1 - y f)^2 (Tan et al. 2019, Remark 2)."""

    name = "squared_hinge"
    target_kind = "binary"

    @staticmethod
    def value(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return np.maximum(0.0, 1.0 - target * prediction) ** 2

    @staticmethod
    def derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return -2.0 * target * np.maximum(0.0, 1.0 - target * prediction)

    @staticmethod
    def second_derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return 2.0 * (target * prediction < 1.0)

    @property
    def curvature(self) -> float:
        return 2.0

    @property
    def norm_bound(self) -> float:
        """max of 2 z (1 - z) = 1/2; the paper's radius lam (Theorem 1) cuts off optima when lam < 1/2."""
        return 0.5

    @property
    def conjugate(self) -> Conjugate:
        return Conjugate(rising=0.5, below=0.0)
