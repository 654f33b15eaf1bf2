"""The logistic loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.common.types import Floats
from distkern.losses.base import AbstractElementwiseLoss, Numbers


@dataclass(frozen=True)
class Logistic(AbstractElementwiseLoss):
    """l(f, y) = log(1 + exp(-y f)) (dsg.txt, Table 1); the probability of y = +1 is 1 / (1 + e^-f)."""

    name = "logistic"
    target_kind = "binary"
    has_probabilities = True

    @staticmethod
    def value(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        margin = target * prediction
        return np.maximum(0.0, -margin) + np.log1p(np.exp(-np.abs(margin)))

    @staticmethod
    def derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        margin = target * prediction
        # no exponent is positive: nothing overflows, and small slopes keep their digits
        return -target * np.exp(np.minimum(0.0, -margin)) / (1.0 + np.exp(-np.abs(margin)))

    def probabilities(self, predictions: Floats) -> NDArray[np.float64]:
        """One output: of code 1, p = 1 / (1 + e^-f). Several, each against the rest: p_j / sum_i p_i.

        Far from every class, where all p_j are 0, every class is as likely.
        """
        exact = np.asarray(predictions, dtype=np.float64)
        # no exponent is positive: nothing overflows
        chances = np.exp(np.minimum(exact, 0.0)) / (1.0 + np.exp(-np.abs(exact)))
        if chances.shape[1] == 1:
            return np.concatenate([1.0 - chances, chances], axis=1)
        totals = chances.sum(axis=1, keepdims=True)
        return np.where(totals > 0, chances / np.where(totals > 0, totals, 1.0), 1.0 / chances.shape[1])

    @staticmethod
    def second_derivative(prediction: Numbers, target: Numbers, parameters: tuple[float, ...]) -> Numbers:
        power = np.exp(-np.abs(prediction))
        return power / (1.0 + power) ** 2

    @property
    def curvature(self) -> float:
        return 0.25

    @property
    def norm_bound(self) -> float:
        """max of z / (1 + e^z) = W(1/e), Lambert's function."""
        return 0.2784645427610738
