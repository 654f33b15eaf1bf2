"""The arc-cosine kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from distkern.common.parameters import Whole, parameter
from distkern.common.tiles import apply
from distkern.common.types import Floats
from distkern.kernels.features import AbstractFeatureKernel, ProjectedBlock
from distkern.kernels.tiles import AbstractInnerProductKernel
from distkern.samplers import Draws


@dataclass(frozen=True)
class ArcCosine(AbstractInnerProductKernel, AbstractFeatureKernel):
    """k(x, y) = |x|^n |y|^n J_n(t) / pi, t the angle of x and y, n = degree.

    Cho and Saul 2009; Dai et al. 2014, Table 1.

    J_0 = pi - t, J_1 = sin t + (pi - t) cos t, J_2 = 3 sin t cos t + (pi - t) (1 + 2 cos^2 t). Features:
    sqrt(2) <omega, x>^n where <omega, x> > 0, else 0, with standard normal omega (the table's max(0, .) must
    be the step function, and its constants belong into the feature). Where a row is 0, t is taken as pi / 2
    and k as 0, as its features are.
    """

    degree: int = parameter(1, Whole(0, 2), help="n, the power of the norms")

    name = "arc_cosine"

    def of_products(self, products: Floats, left: Floats, right: Floats) -> None:
        lengths = np.sqrt(left)[:, None] * np.sqrt(right)
        present = lengths > 0
        cosine = apply(np.divide, products, lengths, into=np.zeros_like(products), where=present)
        apply(np.clip, cosine, -1.0, 1.0, into=cosine)
        angle = np.arccos(cosine)
        sine = np.sin(angle)
        rest = np.pi - angle
        if self.degree == 0:
            angular = rest
        elif self.degree == 1:
            angular = sine + rest * cosine
        else:
            angular = 3.0 * sine * cosine + rest * (1.0 + 2.0 * cosine * cosine)
        products[...] = lengths**self.degree * angular / np.pi
        products[~present] = 0.0

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> RectifiedBlock:
        frequencies, _ = draws.gaussians()
        return RectifiedBlock(frequencies.astype(dtype), draws.n_draws, self.degree)


@dataclass(frozen=True)
class RectifiedBlock(ProjectedBlock):
    """Features sqrt(2) <omega, x>^n where <omega, x> > 0, else 0."""

    degree: int

    def apply(self, values: Floats) -> None:
        if self.degree == 0:
            apply(np.greater, values, 0.0, into=values, casting="unsafe")
        else:
            apply(np.maximum, values, 0.0, into=values)
        if self.degree == 2:
            apply(np.square, values, into=values)
        values *= values.dtype.type(2.0**0.5)
