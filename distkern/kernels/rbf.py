"""The Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.core.sparse import SparseRows
from distkern.core.types import Floats
from distkern.kernels.base import AbstractKernel, SquaredDistanceScores, squared_distances
from distkern.kernels.sparse import SparseSquaredDistance


@dataclass(frozen=True)
class Gaussian(AbstractKernel):
    """k(x, y) = exp(-gamma |x - y|^2), that is gamma = 1 / (2 s^2) (dsg.txt, Table 1)."""

    name = "rbf"

    def closed_form(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-self.gamma * squared_distances(left, right))

    def prepare(self, landmarks: Floats) -> SquaredDistanceScores:
        return SquaredDistanceScores.of(landmarks, self.gamma)

    def prepare_sparse(self, landmarks: SparseRows) -> SparseSquaredDistance:
        return SparseSquaredDistance.of(landmarks, self.gamma)

    def finish(self, scores: Floats) -> None:
        np.exp(scores, out=scores)
