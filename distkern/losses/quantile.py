"""The loss of quantile regression, for several quantiles at once."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distkern.common.errors import InputError
from distkern.common.parameters import Number, Numbers, parameter
from distkern.common.types import Floats
from distkern.losses.base import AbstractLoss


@dataclass(frozen=True)
class Quantile(AbstractLoss):
    """l(f, y) = sum_j max(q_j (y - f_j), (q_j - 1) (y - f_j)): output j is the quantile q_j.

    Dai et al. 2014, Table 1, for several at once.
    """

    quantiles: tuple[float, ...] = parameter(
        (0.5,), Numbers(Number(0, 1, open=(True, True))), help="one output for each of these quantiles"
    )

    name = "quantile"
    target_kind = "real"
    predicts_quantiles = True

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
        # between the two slopes at the kink lies 0
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

    @property
    def curvature(self) -> float:
        return math.inf
