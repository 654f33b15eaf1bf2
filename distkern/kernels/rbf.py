"""The Gaussian kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.sparse import SparseRows
from distkern.common.tiles import apply
from distkern.common.types import Floats
from distkern.kernels.base import AbstractLandmarkKernel, SquaredDistanceScores, squared_distances
from distkern.kernels.features import AbstractFeatureKernel, PairBlock
from distkern.kernels.sparse import SparseSquaredDistance
from distkern.samplers import Draws


@dataclass(frozen=True)
class Gaussian(AbstractLandmarkKernel, AbstractFeatureKernel):
    """k(x, y) = exp(-gamma |x - y|^2), that is gamma = 1 / (2 s^2) (Dai et al. 2014, Table 1).

    Frequencies: N(0, 2 gamma I).
    """

    name = "rbf"
    columns_per_draw = 2

    def closed_form(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-self.gamma * squared_distances(left, right))

    def prepare(self, landmarks: Floats) -> SquaredDistanceScores:
        return SquaredDistanceScores.of(landmarks, self.gamma)

    def prepare_sparse(self, landmarks: SparseRows) -> SparseSquaredDistance:
        return SparseSquaredDistance.of(landmarks, self.gamma)

    def finish(self, scores: Floats) -> None:
        apply(np.exp, scores, into=scores)

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> PairBlock:
        frequencies, _ = draws.gaussians()
        return PairBlock.of(frequencies.scaled(math.sqrt(2.0 * self.gamma)), draws, dtype, heavy=False)
