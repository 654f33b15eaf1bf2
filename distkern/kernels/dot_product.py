"""Dot product kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.parameters import NOT_NEGATIVE, AbstractKind, Numbers, parameter
from distkern.common.sparse import Rows
from distkern.common.tiles import apply, scratch
from distkern.common.types import Floats
from distkern.kernels.base import AbstractScaledKernel
from distkern.kernels.features import AbstractFeatureBlock, AbstractFeatureKernel
from distkern.kernels.tiles import AbstractInnerProductKernel
from distkern.samplers import Draws
from distkern.samplers.base import Stream, monte_carlo_only
from distkern.samplers.frequencies import DenseFrequencies

#: degrees beyond are drawn once in 2^53
_HIGHEST = 52


class Coefficients(AbstractKind):
    """Few numbers >= 0, not all of them 0; or none."""

    annotation = "Sequence[float]"

    @property
    def description(self) -> str:
        return f"a list of at most {_HIGHEST} numbers >= 0, not all 0"

    def accepts(self, value: Any) -> bool:
        if isinstance(value, (list, tuple)) and not value:
            return True
        if isinstance(value, str) or not Numbers(NOT_NEGATIVE).accepts(value):
            return False
        return bool(np.any(value)) and np.size(value) <= _HIGHEST

    def clean(self, value: Any) -> tuple[float, ...]:
        # lists come from job files; a kernel must be hashable
        return Numbers(NOT_NEGATIVE).clean(value)


@dataclass(frozen=True)
class DotProduct(AbstractScaledKernel, AbstractInnerProductKernel, AbstractFeatureKernel):
    """k(x, y) = sum_n a_n (gamma <x, y>)^n with a_n >= 0 (Kar and Karnick 2012; Dai et al. 2014, Table 1).

    Features: sqrt(a_N / p_N) prod_{i <= N} sqrt(gamma) <omega_i, x>, omega_i random signs, where the degree N
    has probability p_N = 2^-(N + 1), renormalised where the series ends (the table's 1/p^(n + 1) sums to 1
    for p = 2 only). Their variance is large, and grows with gamma |x|^2: keep it below 1.
    """

    coefficients: tuple[float, ...] = parameter(
        (), Coefficients(), help="a_0, a_1, ...; none for 1 / n!, the exponential of gamma <x, y>"
    )

    name = "dot_product"
    tile_bytes = (0, 21)

    def of_products(self, products: Floats, left: Floats, right: Floats) -> None:
        products *= self.gamma
        if self.coefficients:
            values = np.zeros_like(products)
            for coefficient in reversed(self.coefficients):
                values *= products
                values += coefficient
            products[...] = values
        else:
            apply(np.exp, products, into=products)

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> ProductBlock:
        monte_carlo_only(draws, self.name)
        highest = len(self.coefficients) - 1 if self.coefficients else _HIGHEST
        least = 2.0 ** -(highest + 1)
        uniforms = draws.independent(Stream.DEGREES, 1)[:, 0]
        degrees = np.floor(-np.log2(least + (1.0 - least) * uniforms)).astype(np.intp)
        series = self.coefficients or [1.0 / math.factorial(n) for n in range(highest + 1)]
        factors = [(1.0 - least) * a * (2.0 * self.gamma) ** n * 2.0 for n, a in enumerate(series)]
        order = np.argsort(-degrees, kind="stable")
        layers = []
        for depth in range(int(degrees.max(initial=0))):
            signs = draws.signs(Stream.FACTORS + depth, draws.n_input)
            layers.append(DenseFrequencies(signs[order[degrees[order] > depth]].T).astype(dtype))
        sizes = np.sqrt(np.array(factors)[degrees])
        return ProductBlock(tuple(layers), sizes.astype(dtype), np.argsort(order), draws.n_draws)


@dataclass(frozen=True)
class ProductBlock(AbstractFeatureBlock):
    """Features that are products of inner products.

    Attributes
    ----------
    layers : the i-th factor of all draws of degree i or more, highest degree first
    sizes : (F,) what each draw's product is multiplied by
    places : (F,) where each draw is in that order
    n_whole : F of the whole block
    """

    layers: tuple[DenseFrequencies, ...]
    sizes: Floats
    places: NDArray[np.intp]
    n_whole: int

    @property
    def n_columns(self) -> int:
        return len(self.sizes)

    @property
    def nbytes(self) -> int:
        return int(sum(layer.nbytes for layer in self.layers) + self.sizes.nbytes + self.places.nbytes)

    def take(self, draws: NDArray[np.intp]) -> ProductBlock:
        places = self.places[draws]
        among = np.sort(places)
        layers = tuple(layer.take(among[among < layer.n_draws]) for layer in self.layers)
        kept = tuple(layer for layer in layers if layer.n_draws)
        return ProductBlock(kept, self.sizes[draws], np.searchsorted(among, places), self.n_whole)

    def fill(self, rows: Rows, values: Floats, scale: float) -> None:
        products: Floats = scratch("products", values.shape, values.dtype)
        products.fill(1.0)
        for layer in self.layers:
            shape = (values.shape[0], layer.n_draws)
            factors: Floats = scratch("factors", shape, values.dtype)
            layer.project(rows, factors)
            products[:, : shape[1]] *= factors
        ordered: Floats = scratch("ordered products", values.shape, values.dtype)
        # mode "clip" writes into ``out`` directly; all positions are within
        apply(np.take, products, self.places, axis=1, into=ordered, mode="clip")
        apply(np.multiply, ordered, self.sizes * values.dtype.type(scale / self.n_whole**0.5), into=values)
