"""The Huber loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from distkern.common.errors import InputError
from distkern.common.parameters import NOTHING, POSITIVE, parameter
from distkern.losses.base import Numbers
from distkern.losses.conjugate import AbstractDualLoss, Conjugate

#: delta in units of the scale of the targets
_NARROWEST = 1e-3


@dataclass(frozen=True)
class Huber(AbstractDualLoss):
    """l(f, y) = 1/2 a^2 + delta (|f - y| - a), a = min(|f - y|, delta) (Dai et al. 2014, Table 1)."""

    delta: float | None = parameter(
        None,
        POSITIVE,
        NOTHING,
        help="residual from which on it grows linearly, in the units of the targets; none: 1.35 standard "
        "deviations of theirs, as efficient as the square loss to 95 % if the noise is normal (Huber 1964)",
    )

    name = "huber"
    target_kind = "real"

    @property
    def width(self) -> float:
        """delta, the default included."""
        return 1.35 if self.delta is None else float(self.delta)

    def scaled(self, scale: float) -> Self:
        return self if self.delta is None else replace(self, delta=self.delta / scale)

    def check_scale(self, scale: float) -> None:
        if self.delta is not None and self.delta < _NARROWEST * scale:
            raise InputError(
                f"is {self.delta:g} where the targets spread over {scale:.3g}: so narrow a Huber loss is the "
                "absolute one, and its small slopes lead nowhere",
                where="delta",
                hint=f"leave it out, use {_NARROWEST * scale:.3g} or more, or loss='absolute'",
            )

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.width,)

    @staticmethod
    def value(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        residual = np.abs(prediction - target)
        inner = np.minimum(residual, parameters[0])
        return 0.5 * inner * inner + parameters[0] * (residual - inner)

    @staticmethod
    def derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return np.maximum(np.minimum(prediction - target, parameters[0]), -parameters[0])

    @staticmethod
    def second_derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        return 1.0 * (np.abs(prediction - target) < parameters[0])

    @property
    def curvature(self) -> float:
        return 1.0

    @property
    def conjugate(self) -> Conjugate:
        return Conjugate(rising=1.0, falling=1.0, above=self.width, below=self.width)
