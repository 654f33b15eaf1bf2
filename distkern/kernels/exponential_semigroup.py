"""The exponential semigroup kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.common.parameters import POSITIVE, parameter
from distkern.kernels.base import over_columns
from distkern.kernels.semigroup import AbstractSemigroupKernel
from distkern.samplers.normal import normal_quantiles


@dataclass(frozen=True)
class ExponentialSemigroup(AbstractSemigroupKernel):
    """k(x, y) = exp(-rate sum_j sqrt(x_j + y_j)) for numbers >= 0 (Dai et al. 2014, Table 1).

    omega: Levy-distributed, rate^2 / (2 z^2) with z standard normal (the table's exp(-b/4w) must be
    exp(-b^2/4w)).
    """

    rate: float = parameter(1.0, POSITIVE, help="the paper's beta")

    name = "exponential_semigroup"

    def closed_form(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-self.rate * over_columns(np.add, lambda x, y: np.sqrt(x + y), left, right))

    def quantiles(self, uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
        omega: NDArray[np.float64] = 0.5 * np.square(self.rate / normal_quantiles(uniforms))
        return omega
