"""Kernels of the Euclidean distance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike

from distkern.core.parameters import Number, parameter
from distkern.core.tiles import apply, exponential, not_vanishing, scratch
from distkern.core.types import Array, Floats
from distkern.maths.kernels.base import AbstractLandmarkKernel, SquaredDistanceScores, squared_distances
from distkern.maths.kernels.features import AbstractFeatureKernel, PairBlock

if TYPE_CHECKING:
    from distkern.core.sparse import SparseRows
    from distkern.maths.kernels.sparse import SparseSquaredDistance
    from distkern.maths.samplers import Draws


@dataclass(frozen=True)
class Gaussian(AbstractLandmarkKernel, AbstractFeatureKernel):
    """k(x, y) = exp(-gamma |x - y|^2), gamma = 1 / (2 s^2) (Dai et al. 2014, Table 1).

    Frequencies: N(0, 2 gamma I).
    """

    name = "rbf"
    is_exponential = True
    columns_per_draw = 2

    def closed_form(self, left: Array, right: Array) -> Array:
        return np.exp(-self.gamma * squared_distances(left, right))

    def prepare(self, landmarks: Floats) -> SquaredDistanceScores:
        return SquaredDistanceScores.of(landmarks, self.gamma)

    def prepare_sparse(self, landmarks: SparseRows) -> SparseSquaredDistance:
        from distkern.maths.kernels.sparse import SparseSquaredDistance

        return SparseSquaredDistance.of(landmarks, self.gamma)

    def finish(self, scores: Floats) -> None:
        exponential(scores)

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> PairBlock:
        frequencies, _ = draws.gaussians()
        return PairBlock.of(frequencies.scaled(math.sqrt(2.0 * self.gamma)), draws, dtype, heavy=False)


@dataclass(frozen=True)
class HalfInteger(Number):
    """1/2, 3/2, 5/2, ..."""

    def accepts(self, value: Any) -> bool:
        return super().accepts(value) and float(value - 0.5).is_integer()

    @property
    def description(self) -> str:
        return f"a half integer from {self.least:g} to {self.most:g}"


@dataclass(frozen=True)
class Matern(AbstractLandmarkKernel, AbstractFeatureKernel):
    r"""k(x, y) = exp(-s) p!/(2p)! sum_i (p+i)!/(i!(p-i)!) (2s)^(p-i),  s = sqrt(2 smoothness) gamma |x - y|.

    Dai et al. 2014, Table 1, with gamma the inverse length scale and smoothness = p + 1/2. The Bessel
    function is then this polynomial times an exponential (Rasmussen and Williams 2006, equation 4.16).
    Frequencies: gamma times a multivariate t distribution with 2 smoothness degrees of freedom, drawn as
    normal vectors over roots of chi-squares. The table's exponent must be -(smoothness + d/2).
    """

    smoothness: float = parameter(
        1.5,
        HalfInteger(0.5, 9.5),
        help="the paper's nu: processes with this kernel are nu - 1/2 times differentiable",
    )

    name = "matern"
    columns_per_draw = 2
    tile_bytes = (8, 9)

    @classmethod
    def gamma_from_width(cls, width: float, n_features: int) -> float:
        return math.sqrt(2.0) / width

    @property
    def is_exponential(self) -> bool:
        return self.smoothness == 0.5

    def _coefficients(self) -> list[float]:
        """Return the coefficients of the polynomial in s, highest power first."""
        p = int(self.smoothness - 0.5)
        first = math.factorial(p) / math.factorial(2 * p)
        return [
            first * math.factorial(p + i) / (math.factorial(i) * math.factorial(p - i)) * 2.0 ** (p - i)
            for i in range(p + 1)
        ]

    def closed_form(self, left: Array, right: Array) -> Array:
        scaled = np.sqrt(2.0 * self.smoothness * squared_distances(left, right)) * self.gamma
        return np.asarray(np.polyval(self._coefficients(), scaled) * np.exp(-scaled), dtype=np.float64)

    def prepare(self, landmarks: Floats) -> SquaredDistanceScores:
        return SquaredDistanceScores.of(landmarks, 2.0 * self.smoothness * self.gamma**2)

    def prepare_sparse(self, landmarks: SparseRows) -> SparseSquaredDistance:
        from distkern.maths.kernels.sparse import SparseSquaredDistance

        return SparseSquaredDistance.of(landmarks, 2.0 * self.smoothness * self.gamma**2)

    def finish(self, scores: Floats) -> None:
        apply(np.negative, scores, into=scores)
        # rounding can make distances slightly negative; far away, where the exponential vanishes, the
        # polynomial must not overflow
        farthest = 0.9 * math.log(float(np.finfo(scores.dtype).tiny))
        apply(np.clip, scores, 0.0, farthest**2, into=scores)
        apply(np.sqrt, scores, into=scores)
        first, *others = self._coefficients()
        if not others:
            # smoothness 1/2: exp(-s)
            apply(np.negative, scores, into=scores)
            exponential(scores)
            return
        polynomial = scratch("matern polynomial", scores.shape, scores.dtype)
        polynomial.fill(first)
        for coefficient in others:
            polynomial *= scores
            polynomial += coefficient
        apply(np.negative, scores, into=scores)
        apply(np.exp, scores, into=scores)
        scores *= polynomial
        not_vanishing(scores)

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> PairBlock:
        degrees = round(2.0 * self.smoothness)
        frequencies, extra = draws.gaussians(degrees)
        factors = self.gamma * np.sqrt(degrees / np.square(extra).sum(axis=1))
        return PairBlock.of(frequencies.scaled(factors), draws, dtype, heavy=degrees <= 2)
