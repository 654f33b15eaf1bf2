"""Losses of classes: of the margin y f, y = -1 or +1, and of classes that compete."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distkern.core.parameters import Number, parameter
from distkern.core.types import Array, Floats
from distkern.maths.losses.base import (
    AbstractCoordinateLoss,
    AbstractDualLoss,
    AbstractLoss,
    Conjugate,
    Elements,
)


@dataclass(frozen=True)
class Hinge(AbstractDualLoss):
    """l(f, y) = max(0, 1 - y f) (Tan et al. 2019, Remark 2). Not smooth: CSVRG stalls at a noise floor."""

    name = "hinge"
    target_kind = "binary"
    curvature = math.inf
    norm_bound = 1.0
    conjugate = Conjugate(above=1.0, below=0.0)

    @staticmethod
    def value(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return np.maximum(0.0, 1.0 - target * prediction)

    @staticmethod
    def derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return -target * (target * prediction < 1.0)


@dataclass(frozen=True)
class SquaredHinge(AbstractDualLoss):
    """l(f, y) = max(0, 1 - y f)^2 (Tan et al. 2019, Remark 2)."""

    name = "squared_hinge"
    target_kind = "binary"
    curvature = 2.0
    #: max of 2 z (1 - z) = 1/2; the paper's radius lam (Theorem 1) cuts off optima when lam < 1/2
    norm_bound = 0.5
    conjugate = Conjugate(rising=0.5, below=0.0)

    @staticmethod
    def value(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return np.maximum(0.0, 1.0 - target * prediction) ** 2

    @staticmethod
    def derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return -2.0 * target * np.maximum(0.0, 1.0 - target * prediction)

    @staticmethod
    def second_derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return 2.0 * (target * prediction < 1.0)


@dataclass(frozen=True)
class OptimalMarginDistribution(AbstractDualLoss):
    """l(f, y) = (max(0, 1 - theta - y f)^2 + mu max(0, y f - 1 - theta)^2) / (1 - theta)^2.

    Tan et al. 2019, equation (1) and Remark 2, without the stray 1/m that Remark 2 prints.
    """

    theta: float = parameter(
        0.4, Number(0, 1, open=(False, True)), help="half width of the band of margins around 1 without loss"
    )
    mu: float = parameter(
        0.4, Number(0, 1, open=(True, False)), help="weight of margins above the band against those below it"
    )

    name = "odm"
    target_kind = "binary"
    #: 1/2: below the band -z l' = 2 s(1-s) with s = z/(1-theta), above it -z l' <= 0 (any mu)
    norm_bound = 0.5

    @property
    def parameters(self) -> tuple[float, ...]:
        return (float(self.theta), float(self.mu), 1.0 / (1.0 - float(self.theta)) ** 2)

    @staticmethod
    def value(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        theta, mu, scale = parameters
        margin = target * prediction
        below = np.maximum(0.0, 1.0 - theta - margin)
        above = np.maximum(0.0, margin - 1.0 - theta)
        return scale * (below**2 + mu * above**2)

    @staticmethod
    def derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        theta, mu, scale = parameters
        margin = target * prediction
        below = np.maximum(0.0, 1.0 - theta - margin)
        above = np.maximum(0.0, margin - 1.0 - theta)
        return 2.0 * scale * target * (mu * above - below)

    @staticmethod
    def second_derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        theta, mu, scale = parameters
        margin = target * prediction
        return 2.0 * scale * ((margin <= 1.0 - theta) + mu * (margin > 1.0 + theta))

    @property
    def curvature(self) -> float:
        return 2.0 / (1.0 - self.theta) ** 2 * max(1.0, self.mu)

    @property
    def conjugate(self) -> Conjugate:
        rising = 0.5 * (1.0 - self.theta) ** 2
        return Conjugate(flat=float(self.theta), rising=rising, falling=rising / self.mu)


@dataclass(frozen=True)
class LeastSquares(AbstractDualLoss):
    """l(f, y) = 1/2 (1 - y f)^2 = 1/2 (f - y)^2 (Suykens and Vandewalle 1999), least at f = 2 p(x) - 1."""

    name = "least_squares"
    target_kind = "binary"
    is_quadratic = True
    curvature = 1.0
    #: max of z (1 - z) = 1/4, the largest product of -l' and the margin
    norm_bound = 0.25
    conjugate = Conjugate(rising=1.0, falling=1.0)

    @staticmethod
    def value(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return 0.5 * (1.0 - target * prediction) ** 2

    @staticmethod
    def derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return -target * (1.0 - target * prediction)

    @staticmethod
    def second_derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        return np.ones_like(prediction)


@dataclass(frozen=True)
class Logistic(AbstractCoordinateLoss):
    """l(f, y) = log(1 + exp(-y f)) (Dai et al. 2014, Table 1); y = +1 has probability 1 / (1 + e^-f)."""

    name = "logistic"
    target_kind = "binary"
    has_probabilities = True
    curvature = 0.25
    #: max of z / (1 + e^z) = W(1/e), Lambert's function
    norm_bound = 0.2784645427610738
    dual_parameters = ()

    @staticmethod
    def value(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        margin = target * prediction
        return np.maximum(0.0, -margin) + np.log1p(np.exp(-np.abs(margin)))

    @staticmethod
    def derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        margin = target * prediction
        # no exponent is positive, so nothing overflows, and small slopes keep their digits
        return -target * np.exp(np.minimum(0.0, -margin)) / (1.0 + np.exp(-np.abs(margin)))

    def probabilities(self, predictions: Floats) -> Array:
        """One output: p = 1 / (1 + e^-f) for code 1. Several, each against the rest: p_j / sum_i p_i.

        If all p_j are 0, far from every class, the classes are equally likely.
        """
        exact = np.asarray(predictions, dtype=np.float64)
        # no exponent is positive, so nothing overflows
        chances = np.exp(np.minimum(exact, 0.0)) / (1.0 + np.exp(-np.abs(exact)))
        if chances.shape[1] == 1:
            return np.concatenate([1.0 - chances, chances], axis=1)
        totals = chances.sum(axis=1, keepdims=True)
        return np.where(totals > 0, chances / np.where(totals > 0, totals, 1.0), 1.0 / chances.shape[1])

    @staticmethod
    def second_derivative(prediction: Elements, target: Elements, parameters: tuple[float, ...]) -> Elements:
        power = np.exp(-np.abs(prediction))
        return power / (1.0 + power) ** 2

    def row_gaps(self, predictions: Array, targets: Array, changes: Array) -> tuple[Array, Array]:
        """The divergence q log(q / p) + (1 - q) log((1 - q) / (1 - p)) with p = 1 / (1 + e^(y f)), the slope
        without its sign, and q = p - p (1 - p) y u, moved into [0, 1].
        """
        from scipy.special import expit, rel_entr

        margins = targets * predictions
        p, rest = expit(-margins), expit(margins)
        wanted = p - p * rest * targets * changes
        q = np.clip(wanted, 0.0, 1.0)
        gaps = rel_entr(q, p) + rel_entr(1.0 - q, rest)
        return np.maximum(gaps, 0.0).sum(axis=1), targets * (wanted - q)

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


@dataclass(frozen=True)
class Softmax(AbstractLoss):
    """l(f, y) = log(sum_j exp(f_j)) - <y, f> for a row of class c, y = e_c (Dai et al. 2014, Table 1).

    The slopes are p - y with p_j = exp(f_j) / sum_i exp(f_i).
    """

    name = "softmax"
    target_kind = "classes"
    has_probabilities = True
    #: the largest eigenvalue of diag(p) - p p^T, reached if two classes share all the probability
    curvature = 0.5

    def row_values(self, predictions: Floats, targets: Floats) -> Floats:
        shifted = predictions - predictions.max(axis=1, keepdims=True)
        values: Floats = np.log(np.exp(shifted).sum(axis=1)) - np.einsum("ij,ij->i", shifted, targets)
        return values

    def row_slopes(self, predictions: Floats, targets: Floats) -> Floats:
        slopes: Floats = _shares(predictions) - targets
        return slopes

    def probabilities(self, predictions: Floats) -> Array:
        """p."""
        return _shares(np.asarray(predictions, dtype=np.float64)).astype(np.float64, copy=False)

    def row_curvatures(self, predictions: Floats, targets: Floats) -> Floats:
        shares = _shares(predictions)
        return shares * (1 - shares)

    def row_products(self, predictions: Floats, targets: Floats, directions: Floats) -> Floats:
        shares = _shares(predictions)
        products: Floats = shares * directions
        products -= shares * products.sum(axis=1, keepdims=True)
        return products

    def row_balance(self, predictions: Array, targets: Array, slopes: Array) -> tuple[Array, Array]:
        """The row's losses in each class, and y."""
        shifted = predictions - predictions.max(axis=1, keepdims=True)
        return np.log(np.exp(shifted).sum(axis=1, keepdims=True)) - shifted, targets

    def balanced(self, excess: Array, means: Array, loss: float) -> tuple[float, float]:
        """The slopes p - y become (1 - t) (p - y) + t (q - y) with one distribution q for all rows.

        With the shares c of the classes, q = c - (1 - t) / t excess, for the t that leaves at least half of
        c. The gap grows by t times the mean of log(sum_j exp(f_j)) - <q, f> + <q, log q>, which is the mean
        of <q, losses in each class> minus the entropy of q; the slopes move by t |p - q| <= t sqrt(2).
        """
        losses, shares = means
        if not excess.any():
            return 0.0, 0.0
        ratio = 2.0 * float((excess / np.where(shares > 0, shares, np.finfo(float).tiny)).max())
        chances = np.maximum(shares - excess / ratio, 0.0)
        t, logs = ratio / (1.0 + ratio), np.log(np.where(chances > 0, chances, 1.0))
        return t * max(float(chances @ (losses + logs)), 0.0), t * math.sqrt(2.0)

    def coupling(self, n_outputs: int) -> float:
        """k / (k - 1), which is exact if all p are equal, since slopes sum to 0."""
        return n_outputs / (n_outputs - 1)


def _shares(predictions: Floats) -> Floats:
    powers: Floats = np.exp(predictions - predictions.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    return powers
