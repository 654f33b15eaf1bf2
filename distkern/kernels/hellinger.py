"""The Hellinger kernel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.sparse import Rows, SparseRows
from distkern.common.tiles import apply, scratch
from distkern.common.types import Floats
from distkern.kernels.base import AbstractNonNegativeKernel
from distkern.kernels.features import AbstractFeatureKernel, ProjectedBlock
from distkern.kernels.tiles import AbstractClosedFormTiles
from distkern.samplers import Draws
from distkern.samplers.base import Stream, monte_carlo_only
from distkern.samplers.frequencies import DenseFrequencies


@dataclass(frozen=True)
class Hellinger(AbstractNonNegativeKernel, AbstractFeatureKernel, AbstractClosedFormTiles):
    """k(x, y) = sum_j sqrt(x_j y_j) for numbers >= 0 (Dai et al. 2014, Table 1).

    Features: <omega, sqrt(x)> with random signs omega (the table's factor 2 is wrong). Where the square roots
    themselves, d columns, are few enough, a linear model of them is the same machine without any error.
    """

    name = "hellinger"
    tile_bytes = (8, 1)

    def closed_form(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.sqrt(left) @ np.sqrt(right).T

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> RootBlock:
        monte_carlo_only(draws, self.name)
        frequencies = DenseFrequencies(draws.signs(Stream.SIGNS, draws.n_input).T)
        return RootBlock(frequencies.astype(dtype), draws.n_draws)


class RootBlock(ProjectedBlock):
    """Features <omega, sqrt(x)>."""

    def fill(self, rows: Rows, values: Floats, scale: float) -> None:
        super().fill(_roots(rows), values, scale)

    def apply(self, values: Floats) -> None:
        """The inner products are the features."""


def _roots(rows: Rows) -> Rows:
    if isinstance(rows, SparseRows):
        return rows.with_data(np.sqrt(rows.data))
    roots: Floats = scratch("square roots", rows.shape, rows.dtype)
    apply(np.sqrt, rows, into=roots)
    return roots
