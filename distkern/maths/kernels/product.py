"""Product kernels with a factor for each column, compared by compiled loops."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.compiled import argument_types, compile_loop
from distkern.core.sparse import SparseRows
from distkern.core.tiles import apply, exponential, matmul, scratch
from distkern.core.types import Array, Floats
from distkern.maths.kernels.base import AbstractLandmarkKernel, AbstractPrepared, over_columns
from distkern.maths.kernels.features import AbstractFeatureKernel, PairBlock
from distkern.maths.kernels.sparse import SparseCauchy, SparseCityBlock
from distkern.maths.samplers import Draws
from distkern.maths.samplers.frequencies import DenseFrequencies


@dataclass(frozen=True)
class CompiledScores(AbstractPrepared):
    """Scores of dense rows against landmarks by a compiled loop; ``loop`` returns the one for a dtype."""

    loop: Callable[[np.dtype[Any]], Callable[..., None]]
    landmarks: Floats
    gamma: float

    def scores(self, features: Floats, out: Floats) -> None:
        self.loop(features.dtype)(features, self.landmarks, features.dtype.type(self.gamma), out)


@dataclass(frozen=True)
class CityBlockScores(AbstractPrepared):
    """Scores -gamma |x - c|_1 of dense rows.

    A column with two landmark values, a and b, enters a matrix product, whatever its values in rows:
    |x - c| = |x - a| + (|x - b| - |x - a|) [c = b]. A compiled loop adds the other columns.

    Attributes
    ----------
    paired, others : numbers of the columns with two values, and of the others
    frequent, rare : (n_paired,) the two values, the more frequent first
    indicators : (n_paired + 1, n_landmarks) -gamma where c = b, and a last row of -gamma
    landmarks : (n_landmarks, n_others)
    """

    gamma: float
    paired: NDArray[np.intp]
    others: NDArray[np.intp]
    frequent: Floats
    rare: Floats
    indicators: Floats
    landmarks: Floats

    @classmethod
    def of(cls, landmarks: Floats, gamma: float) -> CityBlockScores:
        lowest, highest = landmarks.min(axis=0), landmarks.max(axis=0)
        is_highest = landmarks == highest
        is_paired = (is_highest | (landmarks == lowest)).all(axis=0)
        paired, others = np.flatnonzero(is_paired), np.flatnonzero(~is_paired)
        # the frequent value gives small sums, which lose least precision
        mostly_highest = 2 * np.count_nonzero(is_highest[:, paired], axis=0) > len(landmarks)
        frequent = np.where(mostly_highest, highest[paired], lowest[paired])
        rare = np.where(mostly_highest, lowest[paired], highest[paired])
        indicators = np.empty((len(paired) + 1, len(landmarks)), landmarks.dtype)
        indicators[:-1] = -gamma * (landmarks[:, paired] == rare).T
        indicators[-1] = -gamma
        return cls(
            gamma, paired, others, frequent, rare, indicators, np.ascontiguousarray(landmarks[:, others])
        )

    def scores(self, features: Floats, out: Floats) -> None:
        if len(self.paired):
            self._paired_scores(features, out)
        else:
            out.fill(0.0)
        if len(self.others):
            some = np.ascontiguousarray(features[:, self.others]) if len(self.paired) else features
            city_block(features.dtype)(some, self.landmarks, features.dtype.type(self.gamma), out)

    def _paired_scores(self, features: Floats, out: Floats) -> None:
        some = features[:, self.paired] if len(self.others) else features
        rows = scratch("augmented rows", (len(some), len(self.paired) + 1), features.dtype)
        near, far = scratch("distances from the frequent value", some.shape, features.dtype), rows[:, :-1]
        for values, distances in ((self.frequent, near), (self.rare, far)):
            apply(np.subtract, some, values, into=distances)
            apply(np.abs, distances, into=distances)
        apply(np.subtract, far, near, into=far)
        apply(np.sum, near, into=rows[:, -1], axis=1)
        matmul(rows, self.indicators, into=out)
        # rounding can make a distance slightly negative
        apply(np.minimum, out, 0.0, into=out)


#: landmarks compared with a row at once, so that additions do not wait for each other
_ACROSS = 128


def _pairs(features: Any, landmarks: Any, gamma: Any, out: Any) -> None:
    n_features = features.shape[1]
    n_fours = n_features // 4 * 4
    # transposed, so that sums of several landmarks are vectorised
    across = np.zeros((n_features, _ACROSS), features.dtype)
    values = np.empty(_ACROSS, features.dtype)
    for start in range(0, landmarks.shape[0], _ACROSS):
        n_landmarks = min(_ACROSS, landmarks.shape[0] - start)
        for j in range(n_landmarks):
            for k in range(n_features):
                across[k, j] = landmarks[start + j, k]
        for i in range(features.shape[0]):
            values[:] = initial(gamma)
            # four columns for each load and store of the sums
            for k in range(0, n_fours, 4):
                first, second = features[i, k], features[i, k + 1]
                third, fourth = features[i, k + 2], features[i, k + 3]
                for j in range(_ACROSS):
                    value = updated(values[j], first - across[k, j], gamma)
                    value = updated(value, second - across[k + 1, j], gamma)
                    value = updated(value, third - across[k + 2, j], gamma)
                    values[j] = updated(value, fourth - across[k + 3, j], gamma)
            for k in range(n_fours, n_features):
                value = features[i, k]
                for j in range(_ACROSS):
                    values[j] = updated(values[j], value - across[k, j], gamma)
            for j in range(n_landmarks):
                out[i, start + j] = final(out[i, start + j], values[j], gamma)


def initial(gamma: Any) -> Any:
    """Return the value before the first column; a placeholder like the next two functions."""
    raise NotImplementedError


def updated(value: Any, difference: Any, gamma: Any) -> Any:
    """Return the value after one more column, given the difference of row and landmark."""
    raise NotImplementedError


def final(before: Any, value: Any, gamma: Any) -> Any:
    """Return the score after the last column, given the previous one in ``out``."""
    raise NotImplementedError


def _zero(gamma: Any) -> Any:
    return gamma - gamma


def _add_distance(value: Any, difference: Any, gamma: Any) -> Any:
    return value + abs(difference)


def _subtract_scaled(before: Any, value: Any, gamma: Any) -> Any:
    return before - gamma * value


def _one(gamma: Any) -> Any:
    return gamma / gamma


def _times_factor(value: Any, difference: Any, gamma: Any) -> Any:
    return value * (gamma / gamma + gamma * difference * difference)


def _one_minus(before: Any, value: Any, gamma: Any) -> Any:
    return gamma / gamma - value


@cache
def city_block(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile out[i, j] -= gamma sum_k |features[i, k] - landmarks[j, k]|."""
    return _compiled(dtype, initial=_zero, updated=_add_distance, final=_subtract_scaled)


@cache
def cauchy_product(dtype: np.dtype[Any]) -> Callable[..., None]:
    """Compile out[i, j] = 1 - prod_k (1 + gamma (features[i, k] - landmarks[j, k])^2)."""
    return _compiled(dtype, initial=_one, updated=_times_factor, final=_one_minus)


def _compiled(dtype: np.dtype[Any], **helpers: Callable[..., Any]) -> Callable[..., None]:
    return compile_loop(_pairs, argument_types("x[:, :] x[:, :] x x[:, :]!", x=dtype), helpers=helpers)


@dataclass(frozen=True)
class Laplacian(AbstractLandmarkKernel, AbstractFeatureKernel):
    """k(x, y) = exp(-gamma |x - y|_1), gamma = 1/s (Dai et al. 2014, Table 1; the norm is the 1-norm).

    Theorem 4 of Tan et al. 2019 holds for this kernel with balls of the 1-norm, but the coverage of landmarks
    uses Euclidean balls for every kernel. Frequencies: independent Cauchy numbers times gamma.
    """

    name = "laplacian"
    is_exponential = True
    columns_per_draw = 2
    tile_bytes = (8, 9)
    is_compiled = True

    @classmethod
    def gamma_from_width(cls, width: float, n_features: int) -> float:
        # |x - y|_1 is at most sqrt(d) |x - y|
        return 1.0 / (width * math.sqrt(n_features))

    def closed_form(self, left: Array, right: Array) -> Array:
        return np.exp(-self.gamma * over_columns(np.add, lambda x, y: np.abs(x - y), left, right))

    def prepare(self, landmarks: Floats) -> CityBlockScores:
        return CityBlockScores.of(landmarks, self.gamma)

    def prepare_sparse(self, landmarks: SparseRows) -> SparseCityBlock:
        return SparseCityBlock.of(landmarks, self.gamma)

    def finish(self, scores: Floats) -> None:
        exponential(scores)

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> PairBlock:
        cauchy = np.tan(np.pi * (draws.uniforms(draws.n_input) - 0.5))
        return PairBlock.of(DenseFrequencies(self.gamma * cauchy.T), draws, dtype, heavy=True)


@dataclass(frozen=True)
class Cauchy(AbstractLandmarkKernel, AbstractFeatureKernel):
    """k(x, y) = prod_i 1 / (1 + gamma (x_i - y_i)^2), gamma = 1/s^2 (Dai et al. 2014, Table 1).

    It is not a function of the Euclidean distance, see :class:`Laplacian`. Frequencies: independent Laplace
    numbers times sqrt(gamma); the table's density exp(-|w|_1) has mass 2^d and is normalised here.
    """

    name = "cauchy"
    columns_per_draw = 2
    is_compiled = True

    def closed_form(self, left: Array, right: Array) -> Array:
        return 1.0 / over_columns(np.multiply, lambda x, y: 1.0 + self.gamma * (x - y) ** 2, left, right)

    def prepare(self, landmarks: Floats) -> CompiledScores:
        return CompiledScores(cauchy_product, landmarks, self.gamma)

    def prepared_bytes(self, n_columns: int, itemsize: int) -> int:
        return 0

    def prepare_sparse(self, landmarks: SparseRows) -> SparseCauchy:
        return SparseCauchy.of(landmarks, self.gamma)

    def finish(self, scores: Floats) -> None:
        apply(np.subtract, 1.0, scores, into=scores)
        apply(np.reciprocal, scores, into=scores)

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> PairBlock:
        centred = draws.uniforms(draws.n_input) - 0.5
        laplace = -np.copysign(np.log1p(-2.0 * np.abs(centred)), centred)
        return PairBlock.of(DenseFrequencies(math.sqrt(self.gamma) * laplace.T), draws, dtype, heavy=False)
