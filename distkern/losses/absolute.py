"""The loss of least absolute deviations."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distkern.losses.base import Numbers
from distkern.losses.conjugate import AbstractDualLoss, Conjugate


@dataclass(frozen=True)
class Absolute(AbstractDualLoss):
    """l(f, y) = |f - y| (Dai et al. 2014, Table 1)."""

    name = "absolute"
    target_kind = "real"

    @staticmethod
    def value(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return np.abs(prediction - target)

    @staticmethod
    def derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return np.sign(prediction - target)

    @property
    def curvature(self) -> float:
        return math.inf

    @property
    def conjugate(self) -> Conjugate:
        return Conjugate(above=1.0, below=1.0)
