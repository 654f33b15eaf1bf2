"""The hinge loss of the support vector machine."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distkern.losses.base import Numbers
from distkern.losses.conjugate import AbstractDualLoss, Conjugate


@dataclass(frozen=True)
class Hinge(AbstractDualLoss):
    """l(f, y) = max(0, 1 - y f) (Tan et al. 2019, Remark 2). Not smooth: CSVRG stalls at a noise floor."""

    name = "hinge"
    target_kind = "binary"

    @staticmethod
    def value(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return np.maximum(0.0, 1.0 - target * prediction)

    @staticmethod
    def derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return -target * (target * prediction < 1.0)

    @property
    def curvature(self) -> float:
        return math.inf

    @property
    def norm_bound(self) -> float:
        return 1.0

    @property
    def conjugate(self) -> Conjugate:
        return Conjugate(above=1.0, below=0.0)
