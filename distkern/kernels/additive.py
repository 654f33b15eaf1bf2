"""Additive homogeneous kernels of histograms: k(x, y) = sum_j sqrt(x_j y_j) K(log y_j - log x_j)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.sparse import Rows, SparseRows
from distkern.common.tiles import apply, scratch
from distkern.common.types import Floats
from distkern.kernels.base import AbstractNonNegativeKernel
from distkern.kernels.features import AbstractFeatureBlock, AbstractFeatureKernel, pair, reduce_turns
from distkern.kernels.tiles import AbstractClosedFormTiles
from distkern.samplers import Draws
from distkern.samplers.base import Stream


@dataclass(frozen=True)
class AbstractAdditiveKernel(AbstractNonNegativeKernel, AbstractFeatureKernel, AbstractClosedFormTiles):
    """A sum over columns of a kernel of two numbers >= 0 (Vedaldi, Zisserman 2012; Dai et al. 2014, Table 1).

    A draw is a pair of features of one column: sqrt(d x_j) [cos | sin](omega log x_j), omega of K's spectrum,
    so that a feature costs the same whatever the number of columns d. Draws take the columns in turn, from a
    random one on: every column has its share, and with F a multiple of d, |z(x)|^2 = k(x, x) exactly. (The
    paper's feature has all columns at the same omega, 2 d numbers of which most say the same.) Take
    n_features of at least 2 d, or some columns have no feature.
    """

    columns_per_draw = 2
    tile_bytes = (2, 12)
    #: the spectrum has no mean, see :class:`~distkern.kernels.features.PairBlock`
    heavy: ClassVar[bool] = False

    @abstractmethod
    def column_kernel(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        """The kernel of two numbers > 0, elementwise."""

    @staticmethod
    @abstractmethod
    def quantiles(uniforms: NDArray[np.float64]) -> NDArray[np.float64]:
        """omega of uniform numbers inside (0, 1)."""

    def closed_form(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        total = np.zeros((left.shape[0], right.shape[0]))
        for column in range(left.shape[1]):
            x, y = left[:, column], right[:, column]
            some, others = np.flatnonzero(x), np.flatnonzero(y)
            # a column in which either is 0 adds nothing
            total[np.ix_(some, others)] += self.column_kernel(x[some, None], y[None, others])
        return total

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> AdditiveBlock:
        n_input, positions = draws.n_input, draws.positions
        first = int(draws.shared_words(Stream.COLUMNS, 1)[0] % n_input)
        columns = (first + draws.block * draws.n_draws + positions) % n_input
        # a point of d coordinates serves d draws in turn, so that each column has a sequence of its own
        points = Draws(draws.sampler, draws.seed, draws.block, -(-draws.n_draws // n_input), n_input)
        omega = self.quantiles(points.uniforms(n_input)[positions // n_input, columns])
        kind = np.dtype(np.float64 if self.heavy else dtype)
        return AdditiveBlock(columns, omega.astype(kind), n_input, draws.n_draws)


@dataclass(frozen=True)
class AdditiveBlock(AbstractFeatureBlock):
    """Pairs of features of single columns.

    Attributes
    ----------
    columns : (F,) the column of each draw
    omega : (F,) in float64 where the spectrum has no mean
    n_input : d
    n_whole : F of the whole block
    """

    columns: NDArray[np.intp]
    omega: Floats
    n_input: int
    n_whole: int

    @property
    def n_columns(self) -> int:
        return 2 * len(self.columns)

    @property
    def nbytes(self) -> int:
        return int(self.columns.nbytes + self.omega.nbytes)

    def take(self, draws: NDArray[np.intp]) -> AdditiveBlock:
        return AdditiveBlock(self.columns[draws], self.omega[draws], self.n_input, self.n_whole)

    def fill(self, rows: Rows, values: Floats, scale: float) -> None:
        used, places = np.unique(self.columns, return_inverse=True)
        numbers = _columns(rows, used, self.omega.dtype)
        amplitudes: Floats = scratch("amplitudes", numbers.shape, values.dtype)
        apply(np.sqrt, numbers, into=amplitudes, casting="same_kind")
        amplitudes *= values.dtype.type(scale * (self.n_input / self.n_whole) ** 0.5)
        apply(np.maximum, numbers, np.finfo(values.dtype).tiny, into=numbers)
        apply(np.log, numbers, into=numbers)
        shape = (numbers.shape[0], len(self.columns))
        arguments: Floats = scratch("log arguments", shape, self.omega.dtype)
        # mode "clip" writes into ``out`` directly; all positions are within
        apply(np.take, numbers, places, axis=1, into=arguments, mode="clip")
        arguments *= self.omega
        cosines, sines = values[:, : shape[1]], values[:, shape[1] :]
        if arguments.dtype != values.dtype:
            reduce_turns(arguments, cosines)
            pair(cosines, sines, cosines)
        else:
            pair(arguments, sines, cosines)
        spread: Floats = scratch("spread amplitudes", shape, values.dtype)
        apply(np.take, amplitudes, places, axis=1, into=spread, mode="clip")
        cosines *= spread
        sines *= spread


def _columns(rows: Rows, used: NDArray[np.intp], dtype: np.dtype[Any]) -> Floats:
    """Some columns of a tile, (n_rows, n_used), in a reused buffer."""
    numbers: Floats = scratch("used columns", (rows.shape[0], len(used)), dtype)
    if not isinstance(rows, SparseRows):
        numbers[...] = rows if len(used) == rows.shape[1] else rows[:, used]
        return numbers
    numbers.fill(0.0)
    places = np.minimum(np.searchsorted(used, rows.indices), len(used) - 1)
    present = used[places] == rows.indices
    numbers[rows.row_of_entries[present], places[present]] = rows.data[present]
    return numbers
