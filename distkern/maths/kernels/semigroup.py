"""Semigroup kernels: functions of x + y, for numbers >= 0."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from distkern.core.parameters import POSITIVE, parameter
from distkern.core.tiles import apply
from distkern.core.types import Array, Floats
from distkern.maths.kernels.base import AbstractClosedFormTiles, AbstractNonNegativeKernel, over_columns
from distkern.maths.kernels.features import AbstractFeatureKernel, ProjectedBlock
from distkern.maths.samplers import Draws
from distkern.maths.samplers.frequencies import DenseFrequencies
from distkern.maths.samplers.normal import normal_quantiles

#: larger frequencies make no difference, but products with rows might overflow
_LARGEST = 1e30


@dataclass(frozen=True)
class AbstractSemigroupKernel(AbstractNonNegativeKernel, AbstractFeatureKernel, AbstractClosedFormTiles):
    """k(x, y) = E exp(-<omega, x + y>), omega >= 0 (Yang et al. 2014); features exp(-<omega, x>)."""

    @abstractmethod
    def quantiles(self, uniforms: Array) -> Array:
        """Return omega for uniform numbers in (0, 1)."""

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> ExponentialBlock:
        omega = np.minimum(self.quantiles(draws.uniforms(draws.n_input)), _LARGEST)
        return ExponentialBlock(DenseFrequencies(omega.T).astype(dtype), draws.n_draws)


class ExponentialBlock(ProjectedBlock):
    """Features exp(-<omega, x>)."""

    def apply(self, values: Floats) -> None:
        apply(np.negative, values, into=values)
        apply(np.exp, values, into=values)


@dataclass(frozen=True)
class ExponentialSemigroup(AbstractSemigroupKernel):
    """k(x, y) = exp(-rate sum_j sqrt(x_j + y_j)) for numbers >= 0 (Dai et al. 2014, Table 1).

    omega: Levy-distributed, rate^2 / (2 z^2) with z standard normal. The table's exp(-b/4w) must be
    exp(-b^2/4w).
    """

    rate: float = parameter(1.0, POSITIVE, help="the paper's beta")

    name = "exponential_semigroup"

    def closed_form(self, left: Array, right: Array) -> Array:
        return np.exp(-self.rate * over_columns(np.add, lambda x, y: np.sqrt(x + y), left, right))

    def quantiles(self, uniforms: Array) -> Array:
        omega: Array = 0.5 * np.square(self.rate / normal_quantiles(uniforms))
        return omega


@dataclass(frozen=True)
class ReciprocalSemigroup(AbstractSemigroupKernel):
    """k(x, y) = prod_j offset / (x_j + y_j + offset) for numbers >= 0 (Dai et al. 2014, Table 1).

    omega: independent exponential numbers of rate ``offset``.
    """

    offset: float = parameter(1.0, POSITIVE, help="the paper's lambda")

    name = "reciprocal_semigroup"

    def closed_form(self, left: Array, right: Array) -> Array:
        offset = self.offset
        return over_columns(np.multiply, lambda x, y: offset / (x + y + offset), left, right)

    def quantiles(self, uniforms: Array) -> Array:
        return -np.log(uniforms) / self.offset
