"""The Cauchy kernel."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.sparse import SparseRows
from distkern.common.tiles import apply
from distkern.common.types import Floats
from distkern.kernels._loops import cauchy_product
from distkern.kernels.base import AbstractLandmarkKernel, over_columns
from distkern.kernels.features import AbstractFeatureKernel, PairBlock
from distkern.kernels.sparse import SparseCauchy
from distkern.kernels.tiles import CompiledScores
from distkern.samplers import Draws
from distkern.samplers.frequencies import DenseFrequencies


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

    def closed_form(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
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
