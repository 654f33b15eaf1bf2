"""The logistic loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.common.types import Floats
from distkern.losses.base import Numbers
from distkern.losses.coordinate import AbstractCoordinateLoss


@dataclass(frozen=True)
class Logistic(AbstractCoordinateLoss):
    """l(f, y) = log(1 + exp(-y f)) (Dai et al. 2014, Table 1); y = +1 has probability 1 / (1 + e^-f)."""

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
    def dual_parameters(self) -> tuple[float, ...]:
        return ()

    @staticmethod
    def dual_cost(dual: float, target: float, cost: float, parameters: tuple[float, ...]) -> float:
        """c (p log p + (1 - p) log(1 - p)) for p = y a / c from 0 to 1."""
        share = min(max(target * dual / cost, 0.0), 1.0)
        rest = 1.0 - share
        total = 0.0
        if share > 0.0:
            total += share * np.log(share)
        if rest > 0.0:
            total += rest * np.log(rest)
        return cost * total

    @staticmethod
    def dual_minimum(
        prediction: float,
        square: float,
        dual: float,
        target: float,
        cost: float,
        parameters: tuple[float, ...],
    ) -> float:
        """c y p: Newton's method on z + y f + square (c p - y a) = 0, p = 1 / (1 + e^-z), between bounds."""
        slope = target * prediction - square * target * dual
        low, high = -slope - square * cost, -slope
        logit = min(max(0.0, low), high)
        for _ in range(60):
            power = np.exp(-abs(logit))
            share = 1.0 / (1.0 + power) if logit > 0.0 else power / (1.0 + power)
            excess = logit + slope + square * cost * share
            if excess > 0.0:
                high = logit
            else:
                low = logit
            bend = 1.0 + square * cost * power / ((1.0 + power) * (1.0 + power))
            step = logit - excess / bend
            if not low < step < high:
                step = 0.5 * (low + high)
            if abs(step - logit) <= 1e-13 * (1.0 + abs(step)):
                break
            logit = step
        power = np.exp(-abs(logit))
        share = 1.0 / (1.0 + power) if logit > 0.0 else power / (1.0 + power)
        return float(target * cost * share)

    @property
    def curvature(self) -> float:
        return 0.25

    @property
    def norm_bound(self) -> float:
        """max of z / (1 + e^z) = W(1/e), Lambert's function."""
        return 0.2784645427610738
