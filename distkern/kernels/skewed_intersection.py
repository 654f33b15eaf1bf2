"""The skewed intersection kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.kernels._spectra import half_cauchy_width
from distkern.kernels.skewed import AbstractSkewedKernel


@dataclass(frozen=True)
class SkewedIntersection(AbstractSkewedKernel):
    """k(x, y) = prod_j min(sqrt((x_j + c) / (y_j + c)), sqrt((y_j + c) / (x_j + c))), c = offset.

    Dai et al. 2014, Table 1, whose density has mass 2^-d; frequencies: independent, of density
    2 / (pi (1 + 4 omega^2)).
    """

    name = "skewed_intersection"
    quantiles = staticmethod(half_cauchy_width)
    heavy = True

    def column_kernel(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        ratio = left / right
        return np.sqrt(np.minimum(ratio, 1.0 / ratio))
