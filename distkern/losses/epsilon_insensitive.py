"""The loss of support vector regression."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distkern.core.errors import InputError
from distkern.losses.base import AbstractElementwiseLoss, Numbers


@dataclass(frozen=True)
class EpsilonInsensitive(AbstractElementwiseLoss):
    """l(f, y) = max(0, |f - y| - epsilon) (dsg.txt, Table 1).

    Parameters
    ----------
    epsilon : float >= 0, in the units of the targets
        Residual that costs nothing; InputError otherwise.
    """

    epsilon: float = 0.1

    name = "epsilon_insensitive"
    target_kind = "real"

    def __post_init__(self) -> None:
        if not (self.epsilon >= 0 and math.isfinite(self.epsilon)):
            raise InputError(
                f"is {self.epsilon!r}, but a tube has no negative width", where="epsilon",
                mend="use a number >= 0, in the units of the targets",
            )  # fmt: skip

    @property
    def parameters(self) -> tuple[float, ...]:
        return (float(self.epsilon),)

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
    def slope_bound(self) -> float:
        return 1.0
