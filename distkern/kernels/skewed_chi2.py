"""The skewed chi-square kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.kernels._spectra import hyperbolic_secant
from distkern.kernels.skewed import AbstractSkewedKernel


@dataclass(frozen=True)
class SkewedChiSquare(AbstractSkewedKernel):
    """k(x, y) = prod_j 2 sqrt(x_j + c) sqrt(y_j + c) / (x_j + y_j + 2c), c = offset (Dai et al. 2014).

    The table has the 2 outside of the product. Frequencies: independent, of density sech(pi omega).
    """

    name = "skewed_chi2"
    quantiles = staticmethod(hyperbolic_secant)

    def column_kernel(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        return 2.0 * np.sqrt(left) * np.sqrt(right) / (left + right)
