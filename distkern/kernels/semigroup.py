"""Semigroup kernels: functions of x + y, for numbers >= 0."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.tiles import apply
from distkern.common.types import Floats
from distkern.kernels.base import AbstractNonNegativeKernel
from distkern.kernels.features import AbstractFeatureKernel, ProjectedBlock
from distkern.kernels.tiles import AbstractClosedFormTiles
from distkern.samplers import Draws
from distkern.samplers.frequencies import DenseFrequencies

#: larger ones are of no account, and their products with rows might overflow
_LARGEST = 1e30


@dataclass(frozen=True)
class AbstractSemigroupKernel(AbstractNonNegativeKernel, AbstractFeatureKernel, AbstractClosedFormTiles):
    """k(x, y) = E exp(-<omega, x + y>), omega >= 0 (Yang et al. 2014); features exp(-<omega, x>)."""

    @abstractmethod
    def quantiles(self, uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
        """omega of uniform numbers inside (0, 1)."""

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> ExponentialBlock:
        omega = np.minimum(self.quantiles(draws.uniforms(draws.n_input)), _LARGEST)
        return ExponentialBlock(DenseFrequencies(omega.T).astype(dtype), draws.n_draws)


class ExponentialBlock(ProjectedBlock):
    """Features exp(-<omega, x>)."""

    def apply(self, values: Floats) -> None:
        apply(np.negative, values, into=values)
        apply(np.exp, values, into=values)
