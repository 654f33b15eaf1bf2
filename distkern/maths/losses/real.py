"""Losses of real targets."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from distkern.core.errors import InputError
from distkern.core.parameters import NOT_NEGATIVE, NOTHING, POSITIVE, Number, Numbers, parameter
from distkern.core.types import Floats
from distkern.maths.losses.base import AbstractDualLoss, AbstractLoss, Conjugate, Elements


@dataclass(frozen=True)
class Square(AbstractDualLoss):
    """l(f, y) = 1/2 (f - y)^2 (Dai et al. 2014, Table 1)."""

    name = "square"
    target_kind = "real"
    is_quadratic = True
    levels = None
    curvature = 1.0
    conjugate = Conjugate(rising=1.0, falling=1.0)

    @staticmethod
    def value(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return 0.5 * (prediction - target) ** 2

    @staticmethod
    def derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return prediction - target

    @staticmethod
    def second_derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return np.ones_like(prediction)


@dataclass(frozen=True)
class Absolute(AbstractDualLoss):
    """l(f, y) = |f - y| (Dai et al. 2014, Table 1)."""

    name = "absolute"
    target_kind = "real"
    curvature = math.inf
    conjugate = Conjugate(above=1.0, below=1.0)

    @staticmethod
    def value(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return np.abs(prediction - target)

    @staticmethod
    def derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return np.sign(prediction - target)


#: least delta in units of the scale of the targets
_NARROWEST = 1e-3


@dataclass(frozen=True)
class Huber(AbstractDualLoss):
    """l(f, y) = 1/2 a^2 + delta (|f - y| - a), a = min(|f - y|, delta) (Dai et al. 2014, Table 1)."""

    delta: float | None = parameter(
        None,
        POSITIVE,
        NOTHING,
        help="residual beyond which the loss is linear, in the units of the targets; none: 1.35 standard "
        "deviations, 95 % as efficient as the square loss for normal noise (Huber 1964)",
    )

    name = "huber"
    target_kind = "real"
    curvature = 1.0

    @property
    def width(self) -> float:
        """delta or its default."""
        return 1.35 if self.delta is None else float(self.delta)

    def scaled(self, scale: float) -> Self:
        return self if self.delta is None else replace(self, delta=self.delta / scale)

    def check_scale(self, scale: float) -> None:
        if self.delta is not None and self.delta < _NARROWEST * scale:
            raise InputError(
                f"is {self.delta:g}, but the targets have scale {scale:.3g}: so narrow a Huber loss is the "
                "absolute one, and its small slopes lead nowhere",
                where="delta",
                hint=f"omit it, use {_NARROWEST * scale:.3g} or more, or loss='absolute'",
            )

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.width,)

    @staticmethod
    def value(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        residual = np.abs(prediction - target)
        inner = np.minimum(residual, parameters[0])
        return 0.5 * inner * inner + parameters[0] * (residual - inner)

    @staticmethod
    def derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return np.maximum(np.minimum(prediction - target, parameters[0]), -parameters[0])

    @staticmethod
    def second_derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return 1.0 * (np.abs(prediction - target) < parameters[0])

    @property
    def conjugate(self) -> Conjugate:
        return Conjugate(rising=1.0, falling=1.0, above=self.width, below=self.width)


@dataclass(frozen=True)
class EpsilonInsensitive(AbstractDualLoss):
    """l(f, y) = max(0, |f - y| - epsilon) (Dai et al. 2014, Table 1)."""

    epsilon: float | None = parameter(
        None,
        NOT_NEGATIVE,
        NOTHING,
        help="largest residual without loss, in the units of the targets; none: 0.1 standard deviations",
    )

    name = "epsilon_insensitive"
    target_kind = "real"
    curvature = math.inf

    @property
    def width(self) -> float:
        """epsilon or its default."""
        return 0.1 if self.epsilon is None else float(self.epsilon)

    def scaled(self, scale: float) -> Self:
        return self if self.epsilon is None else replace(self, epsilon=self.epsilon / scale)

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.width,)

    @staticmethod
    def value(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return np.maximum(0.0, np.abs(prediction - target) - parameters[0])

    @staticmethod
    def derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        residual = prediction - target
        return np.sign(residual) * (np.abs(residual) > parameters[0])

    @property
    def conjugate(self) -> Conjugate:
        return Conjugate(flat=self.width, above=1.0, below=1.0)


@dataclass(frozen=True)
class Quantile(AbstractLoss):
    """l(f, y) = sum_j max(q_j (y - f_j), (q_j - 1) (y - f_j)): output j is the quantile q_j.

    Dai et al. 2014, Table 1, for several quantiles at once.
    """

    quantiles: tuple[float, ...] = parameter(
        (0.5,), Numbers(Number(0, 1, open=(True, True))), help="levels of the quantiles; one output each"
    )

    name = "quantile"
    target_kind = "real"
    predicts_quantiles = True
    curvature = math.inf

    def _levels(self, predictions: Floats) -> Floats:
        levels: Floats = np.array(self.quantiles, dtype=predictions.dtype)
        return levels

    def row_values(self, predictions: Floats, targets: Floats) -> Floats:
        levels, short = self._levels(predictions), targets - predictions
        values: Floats = np.maximum(levels * short, (levels - 1) * short).sum(axis=1)
        return values

    def row_slopes(self, predictions: Floats, targets: Floats) -> Floats:
        above = predictions > targets
        slopes: Floats = above - self._levels(predictions)
        # 0 lies between the two slopes at the kink
        slopes *= predictions != targets
        return slopes

    def n_outputs(self, n_classes: int = 0) -> int:
        return len(self.quantiles)

    def check_outputs(self, n_outputs: int) -> None:
        if len(self.quantiles) != n_outputs:
            raise InputError(
                f"{len(self.quantiles)} quantiles for {n_outputs} outputs",
                where="quantiles",
                hint="a model has one output for each quantile",
            )

    @property
    def levels(self) -> tuple[float, ...]:
        return self.quantiles
