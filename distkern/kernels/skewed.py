"""Skewed kernels of histograms: products over the columns of K(log(y_j + c) - log(x_j + c))."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.parameters import POSITIVE, parameter
from distkern.common.sparse import Rows, SparseRows
from distkern.common.tiles import apply, scratch
from distkern.common.types import Floats
from distkern.kernels.base import over_columns
from distkern.kernels.features import AbstractFeatureBlock, AbstractFeatureKernel, PairBlock, in_float64
from distkern.kernels.tiles import AbstractClosedFormTiles
from distkern.samplers import Draws
from distkern.samplers.frequencies import DenseFrequencies


@dataclass(frozen=True)
class AbstractSkewedKernel(AbstractFeatureKernel, AbstractClosedFormTiles):
    """A kernel of numbers > -offset that is stationary in their logarithms (Li, Ionescu, Sminchisescu 2010).

    Features: pairs of <omega, log(x + offset)>. They are the same, up to a rotation of each pair, with
    log(1 + x / offset), which is 0 where x is, so that sparse rows stay sparse.
    """

    offset: float = parameter(1.0, POSITIVE, help="the paper's c")

    columns_per_draw = 2
    tile_bytes = (16, 9)
    #: the spectrum has no mean, see :class:`~distkern.kernels.features.PairBlock`
    heavy: ClassVar[bool] = False

    @property
    def lower_bound(self) -> float:
        return -self.offset

    @abstractmethod
    def column_kernel(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        """The factor of one column, given x + offset and y + offset, elementwise."""

    @staticmethod
    @abstractmethod
    def quantiles(uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
        """omega of uniform numbers inside (0, 1)."""

    def closed_form(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        return over_columns(np.multiply, self.column_kernel, left + self.offset, right + self.offset)

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> LogarithmBlock:
        frequencies = DenseFrequencies(self.quantiles(draws.uniforms(draws.n_input)).T)
        return LogarithmBlock(PairBlock.of(frequencies, draws, dtype, self.heavy), self.offset)


@dataclass(frozen=True)
class LogarithmBlock(AbstractFeatureBlock):
    """Pairs of features of log(1 + x / offset)."""

    pairs: PairBlock
    offset: float

    @property
    def n_columns(self) -> int:
        return self.pairs.n_columns

    @property
    def nbytes(self) -> int:
        return self.pairs.nbytes

    def take(self, draws: NDArray[np.intp]) -> LogarithmBlock:
        return LogarithmBlock(self.pairs.take(draws), self.offset)

    def fill(self, rows: Rows, values: Floats, scale: float) -> None:
        if self.pairs.heavy:
            rows = in_float64(rows)
        if isinstance(rows, SparseRows):
            logarithms_of_data = np.log1p(rows.data / rows.dtype.type(self.offset))
            self.pairs.fill(rows.with_data(logarithms_of_data), values, scale)
            return
        logarithms: Floats = scratch("logarithms", rows.shape, rows.dtype)
        apply(np.multiply, rows, rows.dtype.type(1.0 / self.offset), into=logarithms)
        # many times faster than log1p, and as good for a phase
        logarithms += rows.dtype.type(1.0)
        apply(np.log, logarithms, into=logarithms)
        self.pairs.fill(logarithms, values, scale)
