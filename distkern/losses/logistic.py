"""The logistic loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from distkern.losses.base import AbstractElementwiseLoss, Numbers


@dataclass(frozen=True)
class Logistic(AbstractElementwiseLoss):
    """l(f, y) = log(1 + exp(-y f)) (dsg.txt, Table 1); the probability of y = +1 is 1 / (1 + e^-f)."""

    name = "logistic"
    target_kind = "binary"

    @staticmethod
    def value(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        margin = target * prediction
        return np.maximum(0.0, -margin) + np.log1p(np.exp(-np.abs(margin)))

    @staticmethod
    def derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        margin = target * prediction
        # no exponent is positive: nothing overflows, and small slopes keep their digits
        return -target * np.exp(np.minimum(0.0, -margin)) / (1.0 + np.exp(-np.abs(margin)))

    @property
    def curvature(self) -> float:
        return 0.25

    @property
    def slope_bound(self) -> float:
        return 1.0

    @property
    def norm_bound(self) -> float:
        """max of z / (1 + e^z) = W(1/e), Lambert's function."""
        return 0.2784645427610738
