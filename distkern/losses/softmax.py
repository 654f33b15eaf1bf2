"""The loss of multinomial logistic regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.common.types import Floats
from distkern.losses.base import AbstractLoss


@dataclass(frozen=True)
class Softmax(AbstractLoss):
    """l(f, y) = log(sum_j exp(f_j)) - <y, f> for a row of class c, y = e_c (Dai et al. 2014, Table 1).

    The slopes are p - y with p_j = exp(f_j) / sum_i exp(f_i).
    """

    name = "softmax"
    target_kind = "classes"
    has_probabilities = True

    def row_values(self, predictions: Floats, targets: Floats) -> Floats:
        shifted = predictions - predictions.max(axis=1, keepdims=True)
        values: Floats = np.log(np.exp(shifted).sum(axis=1)) - np.einsum("ij,ij->i", shifted, targets)
        return values

    def row_slopes(self, predictions: Floats, targets: Floats) -> Floats:
        slopes: Floats = _shares(predictions) - targets
        return slopes

    def probabilities(self, predictions: Floats) -> NDArray[np.float64]:
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

    def coupling(self, n_outputs: int) -> float:
        """k / (k - 1), which is exact where all p are alike, as slopes sum to 0."""
        return n_outputs / (n_outputs - 1)

    @property
    def curvature(self) -> float:
        """The largest eigenvalue of diag(p) - p p^T: 1/2, where two classes share all the probability."""
        return 0.5


def _shares(predictions: Floats) -> Floats:
    powers: Floats = np.exp(predictions - predictions.max(axis=1, keepdims=True))
    powers /= powers.sum(axis=1, keepdims=True)
    return powers
