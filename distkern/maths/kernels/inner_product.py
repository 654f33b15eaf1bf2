"""Kernels of inner products."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.parameters import NOT_NEGATIVE, AbstractKind, Numbers, Whole, parameter
from distkern.core.sparse import Rows, SparseRows
from distkern.core.tiles import apply, matmul, scratch, squared_lengths
from distkern.core.types import Array, Floats
from distkern.maths.kernels.base import AbstractPrepared, AbstractScaledKernel, AbstractTileKernel
from distkern.maths.kernels.features import AbstractFeatureBlock, AbstractFeatureKernel, ProjectedBlock
from distkern.maths.samplers import Draws
from distkern.maths.samplers.base import CounterStream, monte_carlo_only
from distkern.maths.samplers.frequencies import DenseFrequencies


@dataclass(frozen=True)
class InnerProductScores(AbstractPrepared):
    """Kernel values computed from inner products and squared lengths."""

    kernel: AbstractInnerProductKernel
    landmarks: Floats
    squares: Floats

    def scores(self, features: Floats, out: Floats) -> None:
        matmul(features, self.landmarks.T, into=out)
        lengths: Floats = scratch("squared lengths", (features.shape[0],), features.dtype)
        squared_lengths(features, into=lengths)
        self.kernel.of_products(out, lengths, self.squares)


@dataclass(frozen=True)
class AbstractInnerProductKernel(AbstractTileKernel):
    """A kernel that is a function of <x, y>, |x|^2 and |y|^2."""

    @abstractmethod
    def of_products(self, products: Floats, left: Floats, right: Floats) -> None:
        """Turn inner products (n, m) into kernel values, in place, given squared lengths (n,) and (m,)."""

    def closed_form(self, left: Array, right: Array) -> Array:
        products = left @ right.T
        self.of_products(products, np.square(left).sum(axis=1), np.square(right).sum(axis=1))
        return products

    def prepare(self, landmarks: Floats) -> InnerProductScores:
        return InnerProductScores(self, landmarks, np.einsum("ij,ij->i", landmarks, landmarks))

    def prepared_bytes(self, n_columns: int, itemsize: int) -> int:
        return itemsize


#: higher degrees have probability 2^-53
_HIGHEST = 52


class Coefficients(AbstractKind):
    """A short list of numbers >= 0, not all 0, or an empty list."""

    annotation = "Sequence[float]"
    docstring_type = "list of float"

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
        # job files have lists, but a kernel must be hashable
        return Numbers(NOT_NEGATIVE).clean(value)


@dataclass(frozen=True)
class DotProduct(AbstractScaledKernel, AbstractInnerProductKernel, AbstractFeatureKernel):
    """k(x, y) = sum_n a_n (gamma <x, y>)^n with a_n >= 0 (Kar and Karnick 2012; Dai et al. 2014, Table 1).

    Features: sqrt(a_N / p_N) prod_{i <= N} sqrt(gamma) <omega_i, x>, omega_i random signs, where the degree N
    has probability p_N = 2^-(N + 1), renormalised if the series ends (the table's 1/p^(n + 1) sums to 1 only
    for p = 2). Their variance is large and grows with gamma |x|^2: keep that below 1.
    """

    coefficients: tuple[float, ...] = parameter(
        (), Coefficients(), help="a_0, a_1, ...; none: 1 / n!, the exponential of gamma <x, y>"
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
        uniforms = draws.independent(CounterStream.DEGREES, 1)[:, 0]
        degrees = np.floor(-np.log2(least + (1.0 - least) * uniforms)).astype(np.intp)
        series = self.coefficients or [1.0 / math.factorial(n) for n in range(highest + 1)]
        factors = [(1.0 - least) * a * (2.0 * self.gamma) ** n * 2.0 for n, a in enumerate(series)]
        order = np.argsort(-degrees, kind="stable")
        layers = []
        for depth in range(int(degrees.max(initial=0))):
            signs = draws.signs(CounterStream.FACTORS + depth, draws.n_input)
            layers.append(DenseFrequencies(signs[order[degrees[order] > depth]].T).astype(dtype))
        sizes = np.sqrt(np.array(factors)[degrees])
        return ProductBlock(tuple(layers), sizes.astype(dtype), np.argsort(order), draws.n_draws)


@dataclass(frozen=True)
class ProductBlock(AbstractFeatureBlock):
    """Features that are products of inner products.

    Attributes
    ----------
    layers : the i-th factor of all draws of degree i or more, highest degree first
    sizes : (F,) factor of each draw's product
    places : (F,) position of each draw in that order
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
        # mode "clip" writes into ``out`` directly; all positions are valid
        apply(np.take, products, self.places, axis=1, into=ordered, mode="clip")
        apply(np.multiply, ordered, self.sizes * values.dtype.type(scale / self.n_whole**0.5), into=values)


@dataclass(frozen=True)
class Polynomial(AbstractScaledKernel, AbstractInnerProductKernel, AbstractFeatureKernel):
    """k(x, y) = (gamma <x, y> + offset)^degree (Dai et al. 2014, Table 1).

    Features: a block is one tensor sketch (Pham and Pagh 2013), the circular convolution of ``degree``
    independent count sketches of [sqrt(gamma) x, sqrt(offset)], computed by discrete Fourier transforms.
    Products of sketches estimate the kernel without division by the number of columns.
    """

    degree: int = parameter(3, Whole(1), help="power of the inner product")
    offset: float = parameter(1.0, NOT_NEGATIVE, help="added to the inner product")

    name = "polynomial"
    tile_bytes = (10, 25)
    whole_blocks = True

    def of_products(self, products: Floats, left: Floats, right: Floats) -> None:
        products *= self.gamma
        products += self.offset
        apply(np.power, products, int(self.degree), into=products)

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> TensorSketchBlock:
        monte_carlo_only(draws, self.name)
        width = draws.n_input + 1
        # one word for each factor and input, however blocks are divided
        columns = Draws(draws.sampler, draws.seed, draws.block, int(self.degree), width)
        buckets = (columns.words(CounterStream.BUCKETS, width) % np.uint64(draws.n_draws)).astype(np.int64)
        factors = columns.signs(CounterStream.SIGNS, width) * self.gamma**0.5
        factors[:, -1] *= (self.offset / self.gamma) ** 0.5
        return TensorSketchBlock(buckets, factors.astype(dtype), draws.n_draws)


@dataclass(frozen=True)
class TensorSketchBlock(AbstractFeatureBlock):
    """One tensor sketch.

    Attributes
    ----------
    buckets : (degree, n_input + 1) target column of each input; the last input is a constant
    factors : (degree, n_input + 1) factor of each input
    size : columns
    """

    buckets: NDArray[np.int64]
    factors: Floats
    size: int

    @property
    def n_columns(self) -> int:
        return self.size

    @property
    def nbytes(self) -> int:
        return int(self.buckets.nbytes + self.factors.nbytes)

    def take(self, draws: NDArray[np.intp]) -> TensorSketchBlock:
        """Return the block itself, since it is a single draw."""
        return self

    def fill(self, rows: Rows, values: Floats, scale: float) -> None:
        shape = (values.shape[0], self.size // 2 + 1)
        kind = np.complex64 if values.dtype == np.float32 else np.complex128
        product, spectrum = scratch("sketch product", shape, kind), scratch("sketch spectrum", shape, kind)
        for factor in range(len(self.buckets)):
            self._count_sketch(rows, factor, values)
            apply(np.fft.rfft, values, axis=1, into=spectrum if factor else product)
            if factor:
                product *= spectrum
        product *= product.dtype.type(scale)
        apply(np.fft.irfft, product, n=self.size, axis=1, into=cast(Any, values))

    def _count_sketch(self, rows: Rows, factor: int, out: Floats) -> None:
        buckets, factors = self.buckets[factor], self.factors[factor]
        if isinstance(rows, SparseRows):
            places = rows.row_of_entries * self.size + buckets[rows.indices]
            sums = np.bincount(places, rows.data * factors[rows.indices], minlength=out.size)
            out[...] = sums.reshape(out.shape)
        else:
            order = np.argsort(buckets[:-1], kind="stable")
            used, starts = np.unique(buckets[order], return_index=True)
            signed: Floats = scratch("signed inputs", rows.shape, out.dtype)
            # mode "clip" writes into ``out`` directly; all positions are valid
            apply(np.take, rows, order, axis=1, into=signed, mode="clip")
            signed *= factors[order]
            out.fill(0.0)
            out[:, used] = np.add.reduceat(signed, starts, axis=1)
        out[:, buckets[-1]] += factors[-1]


@dataclass(frozen=True)
class ArcCosine(AbstractInnerProductKernel, AbstractFeatureKernel):
    """k(x, y) = |x|^n |y|^n J_n(t) / pi, t the angle of x and y, n = degree.

    Cho and Saul 2009; Dai et al. 2014, Table 1.

    J_0 = pi - t, J_1 = sin t + (pi - t) cos t, J_2 = 3 sin t cos t + (pi - t) (1 + 2 cos^2 t). Features:
    sqrt(2) <omega, x>^n where <omega, x> > 0, else 0, with standard normal omega. (The table's max(0, .) must
    be the step function, and its constants belong in the feature.) For a zero row, k and the features are 0.
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
