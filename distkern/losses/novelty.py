"""The loss of novelty detection."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distkern.common.parameters import Number, parameter
from distkern.common.types import Floats
from distkern.losses.base import AbstractLoss


@dataclass(frozen=True)
class Novelty(AbstractLoss):
    """l(f) = max(0, tau - f) - fraction tau, of a threshold tau chosen with f (Dai et al. 2014, Section 4).

    The slope is -1 below the threshold and 0 above it. At the threshold itself it is -``at_threshold``: with
    the share of the ``fraction`` that the rows below leave over, slopes sum to -fraction n, as they do at the
    best threshold, however many rows are equal.
    """

    fraction: float = parameter(0.1, Number(0, 1, open=(True, True)), help="share of the rows below tau")
    threshold: float = parameter(0.0, Number(), help="tau")
    at_threshold: float = 0.0

    name = "novelty"
    target_kind = "none"
    is_non_negative = False

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

    @property
    def curvature(self) -> float:
        return math.inf
