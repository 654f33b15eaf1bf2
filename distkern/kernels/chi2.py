"""The additive chi-square kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.kernels._spectra import hyperbolic_secant
from distkern.kernels.additive import AbstractAdditiveKernel


@dataclass(frozen=True)
class ChiSquare(AbstractAdditiveKernel):
    """k(x, y) = sum_j 2 x_j y_j / (x_j + y_j) for numbers >= 0 (Dai et al. 2014, Table 1).

    Spectrum: sech(pi omega).
    """

    name = "chi2"
    quantiles = staticmethod(hyperbolic_secant)

    def column_kernel(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        return 2.0 * left * (right / (left + right))
