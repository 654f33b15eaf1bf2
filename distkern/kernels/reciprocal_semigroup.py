"""The reciprocal semigroup kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.common.parameters import POSITIVE, parameter
from distkern.kernels.base import over_columns
from distkern.kernels.semigroup import AbstractSemigroupKernel


@dataclass(frozen=True)
class ReciprocalSemigroup(AbstractSemigroupKernel):
    """k(x, y) = prod_j offset / (x_j + y_j + offset) for numbers >= 0 (Dai et al. 2014, Table 1).

    omega: independent exponential numbers of rate ``offset``.
    """

    offset: float = parameter(1.0, POSITIVE, help="the paper's lambda")

    name = "reciprocal_semigroup"

    def closed_form(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        offset = self.offset
        return over_columns(np.multiply, lambda x, y: offset / (x + y + offset), left, right)

    def quantiles(self, uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
        return -np.log(uniforms) / self.offset
