"""The Jensen-Shannon kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.kernels._spectra import jensen_shannon
from distkern.kernels.additive import AbstractAdditiveKernel


@dataclass(frozen=True)
class JensenShannon(AbstractAdditiveKernel):
    """k(x, y) = sum_j x_j/2 log2((x_j + y_j) / x_j) + y_j/2 log2((x_j + y_j) / y_j) (Dai et al. 2014).

    For numbers >= 0, where a term with x_j = 0 or y_j = 0 is 0. Spectrum sech(pi omega) / ((1 + 4 omega^2)
    log 2): the table's has mass 1/2. It is inverted, not rejected from, so that every sampler of numbers will
    do.
    """

    name = "jensen_shannon"
    quantiles = staticmethod(jensen_shannon)

    def column_kernel(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        value: NDArray[np.float64] = (
            0.5 / np.log(2.0) * (left * np.log1p(right / left) + right * np.log1p(left / right))
        )
        return value
