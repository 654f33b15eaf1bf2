"""Losses of rows without targets: novelty detection and density ratios."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distkern.core.parameters import POSITIVE, Number, parameter
from distkern.core.types import Floats
from distkern.maths.losses.base import AbstractLoss


@dataclass(frozen=True)
class Novelty(AbstractLoss):
    """l(f) = max(0, tau - f) - fraction tau, with a threshold tau chosen with f (Dai et al. 2014, Section 4).

    The slope is -1 below the threshold and 0 above it. At the threshold it is -``at_threshold``: if that is
    the part of ``fraction`` that the rows below leave over, slopes sum to -fraction n, as at the best
    threshold, even if many rows are equal.
    """

    fraction: float = parameter(0.1, Number(0, 1, open=(True, True)), help="share of the rows below tau")
    threshold: float = parameter(0.0, Number(), help="tau")
    at_threshold: float = 0.0

    name = "novelty"
    target_kind = "none"
    is_non_negative = False
    curvature = math.inf

    def row_values(self, predictions: Floats, targets: Floats) -> Floats:
        short = np.maximum(self.threshold - predictions, 0) - self.fraction * self.threshold
        values: Floats = short.sum(axis=1)
        return values

    def row_slopes(self, predictions: Floats, targets: Floats) -> Floats:
        dtype = predictions.dtype.type
        slopes: Floats = np.where(predictions < self.threshold, dtype(-1), dtype(0))
        if self.at_threshold:
            slopes[predictions == self.threshold] = -self.at_threshold
        return slopes


@dataclass(frozen=True)
class DensityRatio(AbstractLoss):
    """l(f, -1) = 2 exp(f) for rows from q, l(f, +1) = -2 f for rows from p (Dai et al. 2014, Section 4).

    If both samples have the same weight its mean is E_q exp(f) - E_p f, which log(p/q) minimises; the paper
    has log(q/p), for p and q exchanged. Beyond ``cap`` the exponential continues as its second-order Taylor
    polynomial, exp(cap) (1 + u + u^2 / 2), u = f - cap, so that no row dominates.
    """

    cap: float = parameter(8.0, POSITIVE, help="log-ratio beyond which a parabola replaces exp")

    name = "density_ratio"
    target_kind = "samples"
    is_non_negative = False

    def row_values(self, predictions: Floats, targets: Floats) -> Floats:
        inner, beyond = self._parts(predictions)
        powers = np.exp(inner) * (1 + beyond + 0.5 * beyond * beyond)
        values: Floats = np.where(targets > 0, -2 * predictions, 2 * powers).sum(axis=1)
        return values

    def row_slopes(self, predictions: Floats, targets: Floats) -> Floats:
        inner, beyond = self._parts(predictions)
        slopes: Floats = np.where(targets > 0, predictions.dtype.type(-2), 2 * np.exp(inner) * (1 + beyond))
        return slopes

    def row_curvatures(self, predictions: Floats, targets: Floats) -> Floats:
        inner, _ = self._parts(predictions)
        curvatures: Floats = np.where(targets > 0, predictions.dtype.type(0), 2 * np.exp(inner))
        return curvatures

    def row_bounds(self, predictions: Floats, targets: Floats) -> Floats:
        """The curvatures of rows of q, and 2 for rows of p: at log(p/q), E_q[exp(f) z z'] is E_p[z z'].

        The former keep steps short where f must fall, the latter where it must rise.
        """
        curvatures = self.row_curvatures(predictions, targets)
        bounds: Floats = np.where(targets > 0, predictions.dtype.type(2), curvatures)[:, 0]
        return bounds

    def _parts(self, predictions: Floats) -> tuple[Floats, Floats]:
        inner = np.minimum(predictions, self.cap)
        return inner, predictions - inner

    @property
    def curvature(self) -> float:
        return 2 * math.exp(self.cap)
