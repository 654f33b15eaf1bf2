"""Product kernels, with a factor for each column; compiled loops compare rows with landmarks."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from distkern.common.compiled import argument_types, compile_loop
from distkern.common.sparse import SparseRows
from distkern.common.tiles import apply
from distkern.common.types import Array, Floats
from distkern.kernels.base import AbstractLandmarkKernel, AbstractPrepared, over_columns
from distkern.kernels.features import AbstractFeatureKernel, PairBlock
from distkern.kernels.sparse import SparseCauchy, SparseCityBlock
from distkern.samplers import Draws
from distkern.samplers.frequencies import DenseFrequencies


@dataclass(frozen=True)
class CompiledScores(AbstractPrepared):
    """What a compiled loop makes of dense rows and landmarks: ``loop`` gives it for a dtype."""

    loop: Callable[[np.dtype[Any]], Callable[..., None]]
    landmarks: Floats
    gamma: float

    def scores(self, features: Floats, out: Floats) -> None:
        self.loop(features.dtype)(features, self.landmarks, features.dtype.type(self.gamma), out)


#: landmarks that are compared with a row at once: with fewer, single precision waits for the additions before
_ACROSS = 128


def _pairs(features: Any, landmarks: Any, gamma: Any, out: Any) -> None:
    n_features = features.shape[1]
    n_fours = n_features // 4 * 4
    # column by column, so that sums of several landmarks grow side by side
    across = np.zeros((n_features, _ACROSS), features.dtype)
    values = np.empty(_ACROSS, features.dtype)
    for start in range(0, landmarks.shape[0], _ACROSS):
        n_landmarks = min(_ACROSS, landmarks.shape[0] - start)
        for j in range(n_landmarks):
            for k in range(n_features):
                across[k, j] = landmarks[start + j, k]
        for i in range(features.shape[0]):
            values[:] = begun(gamma)
            # four columns for each time that the sums are read and written
            for k in range(0, n_fours, 4):
                first, second = features[i, k], features[i, k + 1]
                third, fourth = features[i, k + 2], features[i, k + 3]
                for j in range(_ACROSS):
                    value = continued(values[j], first - across[k, j], gamma)
                    value = continued(value, second - across[k + 1, j], gamma)
                    value = continued(value, third - across[k + 2, j], gamma)
                    values[j] = continued(value, fourth - across[k + 3, j], gamma)
            for k in range(n_fours, n_features):
                value = features[i, k]
                for j in range(_ACROSS):
                    values[j] = continued(values[j], value - across[k, j], gamma)
            for j in range(n_landmarks):
                out[i, start + j] = ended(values[j], gamma)


def begun(gamma: Any) -> Any:
    """The value before the first column; stands for a kernel's own function, as the next two do."""
    raise NotImplementedError


def continued(value: Any, difference: Any, gamma: Any) -> Any:
    """The value with one more column, in which a row and a landmark differ by so much."""
    raise NotImplementedError


def ended(value: Any, gamma: Any) -> Any:
    """The value after the last column."""
    raise NotImplementedError


def _zero(gamma: Any) -> Any:
    return gamma - gamma


def _plus_distance(value: Any, difference: Any, gamma: Any) -> Any:
    return value + abs(difference)


def _scaled_down(value: Any, gamma: Any) -> Any:
    return -gamma * value


def _one(gamma: Any) -> Any:
    return gamma / gamma


def _times_factor(value: Any, difference: Any, gamma: Any) -> Any:
    return value * (gamma / gamma + gamma * difference * difference)


def _from_one(value: Any, gamma: Any) -> Any:
    return gamma / gamma - value


@cache
def city_block(dtype: np.dtype[Any]) -> Callable[..., None]:
    """out[i, j] = -gamma sum_k |features[i, k] - landmarks[j, k]|, for arrays of this dtype."""
    return _compiled(dtype, begun=_zero, continued=_plus_distance, ended=_scaled_down)


@cache
def cauchy_product(dtype: np.dtype[Any]) -> Callable[..., None]:
    """out[i, j] = 1 - prod_k (1 + gamma (features[i, k] - landmarks[j, k])^2), for arrays of this dtype."""
    return _compiled(dtype, begun=_one, continued=_times_factor, ended=_from_one)


def _compiled(dtype: np.dtype[Any], **helpers: Callable[..., Any]) -> Callable[..., None]:
    return compile_loop(_pairs, argument_types("x[:, :] x[:, :] x x[:, :]!", x=dtype), helpers=helpers)


@dataclass(frozen=True)
class Laplacian(AbstractLandmarkKernel, AbstractFeatureKernel):
    """k(x, y) = exp(-gamma |x - y|_1), gamma = 1/s (Dai et al. 2014, Table 1; the norm is the 1-norm).

    It is a function of the 1-norm, not of the Euclidean one, so the paper's Theorem 4 (Tan et al. 2019) holds
    with 1-norm balls; the coverage of the landmarks uses Euclidean balls for every kernel.
    Frequencies: independent Cauchy numbers times gamma.
    """

    name = "laplacian"
    columns_per_draw = 2
    tile_bytes = (8, 9)
    is_compiled = True

    @classmethod
    def gamma_from_width(cls, width: float, n_features: int) -> float:
        # |x - y|_1 is at most sqrt(d) |x - y|
        return 1.0 / (width * math.sqrt(n_features))

    def closed_form(self, left: Array, right: Array) -> Array:
        return np.exp(-self.gamma * over_columns(np.add, lambda x, y: np.abs(x - y), left, right))

    def prepare(self, landmarks: Floats) -> CompiledScores:
        return CompiledScores(city_block, landmarks, self.gamma)

    def prepare_sparse(self, landmarks: SparseRows) -> SparseCityBlock:
        return SparseCityBlock.of(landmarks, self.gamma)

    def finish(self, scores: Floats) -> None:
        apply(np.exp, scores, into=scores)

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> PairBlock:
        cauchy = np.tan(np.pi * (draws.uniforms(draws.n_input) - 0.5))
        return PairBlock.of(DenseFrequencies(self.gamma * cauchy.T), draws, dtype, heavy=True)


@dataclass(frozen=True)
class Cauchy(AbstractLandmarkKernel, AbstractFeatureKernel):
    """k(x, y) = prod_i 1 / (1 + gamma (x_i - y_i)^2), gamma = 1/s^2 (Dai et al. 2014, Table 1).

    A product over the coordinates, not a function of the Euclidean distance: see the note at the Laplacian.
    Frequencies: independent Laplace numbers times sqrt(gamma); the table's density exp(-|w|_1) has mass 2^d
    and is meant normalised.
    """

    name = "cauchy"
    columns_per_draw = 2
    is_compiled = True

    def closed_form(self, left: Array, right: Array) -> Array:
        return 1.0 / over_columns(np.multiply, lambda x, y: 1.0 + self.gamma * (x - y) ** 2, left, right)

    def prepare(self, landmarks: Floats) -> CompiledScores:
        return CompiledScores(cauchy_product, landmarks, self.gamma)

    def prepare_sparse(self, landmarks: SparseRows) -> SparseCauchy:
        return SparseCauchy.of(landmarks, self.gamma)

    def finish(self, scores: Floats) -> None:
        apply(np.subtract, 1.0, scores, into=scores)
        apply(np.reciprocal, scores, into=scores)

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> PairBlock:
        centred = draws.uniforms(draws.n_input) - 0.5
        laplace = -np.copysign(np.log1p(-2.0 * np.abs(centred)), centred)
        return PairBlock.of(DenseFrequencies(math.sqrt(self.gamma) * laplace.T), draws, dtype, heavy=False)
