"""The Laplacian kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.sparse import SparseRows
from distkern.common.tiles import apply
from distkern.common.types import Floats
from distkern.kernels._loops import city_block
from distkern.kernels.base import AbstractLandmarkKernel, over_columns
from distkern.kernels.features import AbstractFeatureKernel, PairBlock
from distkern.kernels.sparse import SparseCityBlock
from distkern.kernels.tiles import CompiledScores
from distkern.samplers import Draws
from distkern.samplers.frequencies import DenseFrequencies


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

    def closed_form(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
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
