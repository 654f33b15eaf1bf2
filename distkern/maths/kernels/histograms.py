"""Kernels of histograms, and of other numbers that are not negative.

Additive kernels are sum_j sqrt(x_j y_j) K(log y_j - log x_j). Skewed kernels are
prod_j K(log(y_j + c) - log(x_j + c)). Semigroup kernels are functions of x + y.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.parameters import POSITIVE, parameter
from distkern.core.sparse import Rows, SparseRows
from distkern.core.tiles import apply, scratch
from distkern.core.types import Array, Floats
from distkern.maths.kernels.base import AbstractClosedFormTiles, AbstractNonNegativeKernel, over_columns
from distkern.maths.kernels.features import (
    AbstractFeatureBlock,
    AbstractFeatureKernel,
    PairBlock,
    ProjectedBlock,
    in_float64,
    pair,
    reduce_turns,
)
from distkern.maths.samplers import Draws
from distkern.maths.samplers.base import CounterStream, monte_carlo_only
from distkern.maths.samplers.frequencies import DenseFrequencies
from distkern.maths.samplers.normal import normal_quantiles

#: less than 2^-53 of the Jensen-Shannon spectrum lies beyond this frequency, on either side
_FARTHEST = 13.0
_PANELS = 6656


def hyperbolic_secant(uniforms: Array) -> Array:
    """Return omega with density sech(pi omega): log(tan(pi u / 2)) / pi."""
    quantiles: Array = np.log(np.tan(0.5 * np.pi * uniforms)) / np.pi
    return quantiles


def half_cauchy_width(uniforms: Array) -> Array:
    """Return omega with density 2 / (pi (1 + 4 omega^2)): tan(pi (u - 1/2)) / 2."""
    quantiles: Array = 0.5 * np.tan(np.pi * (uniforms - 0.5))
    return quantiles


def jensen_shannon(uniforms: Array) -> Array:
    """Return omega with density sech(pi omega) / ((1 + 4 omega^2) log 2), to an absolute error of 1e-11.

    The tail Q(omega) has no closed form. omega is smooth, almost linear, in -log(2 Q), and is interpolated
    between nodes with its derivative Q / density.
    """
    logarithms, nodes, slopes = _jensen_shannon_table()
    tails = np.minimum(uniforms, 1.0 - uniforms)
    at = -np.log(2.0 * tails)
    panel = np.clip(np.searchsorted(logarithms, at, side="right") - 1, 0, len(nodes) - 2)
    width = logarithms[panel + 1] - logarithms[panel]
    t = (at - logarithms[panel]) / width
    s = 1.0 - t
    sizes = (
        (1.0 + 2.0 * t) * s * s * nodes[panel]
        + t * s * s * width * slopes[panel]
        + (3.0 - 2.0 * t) * t * t * nodes[panel + 1]
        - s * t * t * width * slopes[panel + 1]
    )
    return np.copysign(sizes, uniforms - 0.5)


@cache
def _jensen_shannon_table() -> tuple[Array, Array, Array]:
    """Return -log(2 Q), omega, and the derivative of omega with respect to -log(2 Q), at the nodes."""
    nodes = np.linspace(0.0, _FARTHEST, _PANELS + 1)
    half = 0.5 * (nodes[1] - nodes[0])
    points, weights = np.polynomial.legendre.leggauss(5)
    inside = (nodes[:-1] + half)[:, None] + half * points
    areas = half * (_jensen_shannon_density(inside) @ weights)
    # the density beyond the last node falls by a factor exp(pi) per unit
    last = _jensen_shannon_density(nodes[-1:]) / (np.pi + 2.0 / _FARTHEST)
    tails = np.cumsum(np.concatenate([last, areas[::-1]]))[::-1]
    tails *= 0.5 / tails[0]
    return -np.log(2.0 * tails), nodes, tails / _jensen_shannon_density(nodes)


def _jensen_shannon_density(omega: Array) -> Array:
    density: Array = 1.0 / (np.cosh(np.pi * omega) * (1.0 + 4.0 * omega**2) * np.log(2.0))
    return density


@dataclass(frozen=True)
class AbstractAdditiveKernel(AbstractNonNegativeKernel, AbstractFeatureKernel, AbstractClosedFormTiles):
    """A sum over columns of a kernel of two numbers >= 0 (Vedaldi, Zisserman 2012; Dai et al. 2014, Table 1).

    A draw is a pair of features of one column: sqrt(d x_j) [cos | sin](omega log x_j), with omega from K's
    spectrum. The cost of a feature does not depend on the number of columns d. Draws cycle through the
    columns from a random start, so columns have equal shares. If F is a multiple of d, |z(x)|^2 = k(x, x)
    exactly. (The paper's feature uses all columns at the same omega, 2 d mostly redundant numbers.) With
    fewer than 2 d ``n_features``, some columns have no feature.
    """

    columns_per_draw = 2
    tile_bytes = (2, 12)
    #: the spectrum has no mean, see :class:`~distkern.maths.kernels.features.PairBlock`
    heavy: ClassVar[bool] = False

    @abstractmethod
    def column_kernel(self, left: Array, right: Array) -> Array:
        """Return the kernel of two numbers > 0, elementwise."""

    @staticmethod
    @abstractmethod
    def quantiles(uniforms: Array) -> Array:
        """Return omega for uniform numbers in (0, 1)."""

    def closed_form(self, left: Array, right: Array) -> Array:
        total = np.zeros((left.shape[0], right.shape[0]))
        for column in range(left.shape[1]):
            x, y = left[:, column], right[:, column]
            # a column with a 0 adds nothing
            rows, others = np.flatnonzero(x), np.flatnonzero(y)
            total[np.ix_(rows, others)] += self.column_kernel(x[rows, None], y[None, others])
        return total

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> AdditiveBlock:
        n_input, positions = draws.n_input, draws.positions
        first = draws.shared_word(CounterStream.COLUMNS) % n_input
        columns = (first + draws.n_before + positions) % n_input
        # a point of d coordinates serves d successive draws, so that each column has its own sequence
        n_draws, n_usual = (-(-number // n_input) for number in (draws.n_draws, draws.n_usual))
        points = Draws(draws.sampler, draws.seed, draws.block, n_draws, n_input, n_usual=n_usual)
        omega = self.quantiles(points.uniforms(n_input)[positions // n_input, columns])
        kind = np.dtype(np.float64 if self.heavy else dtype)
        return AdditiveBlock(columns, omega.astype(kind), n_input, draws.n_draws)


@dataclass(frozen=True)
class AdditiveBlock(AbstractFeatureBlock):
    """Pairs of features of single columns.

    Attributes
    ----------
    columns : (F,) the column of each draw
    omega : (F,) float64 if the spectrum has no mean
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
        # mode "clip" writes into ``out`` directly; all positions are valid
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
    """Return the used columns of a tile, (n_rows, n_used), in a reused buffer."""
    numbers: Floats = scratch("used columns", (rows.shape[0], len(used)), dtype)
    if not isinstance(rows, SparseRows):
        numbers[...] = rows if len(used) == rows.shape[1] else rows[:, used]
        return numbers
    numbers.fill(0.0)
    places = np.minimum(np.searchsorted(used, rows.indices), len(used) - 1)
    present = used[places] == rows.indices
    numbers[rows.row_of_entries[present], places[present]] = rows.data[present]
    return numbers


@dataclass(frozen=True)
class ChiSquare(AbstractAdditiveKernel):
    """k(x, y) = sum_j 2 x_j y_j / (x_j + y_j) for numbers >= 0 (Dai et al. 2014, Table 1).

    Spectrum: sech(pi omega).
    """

    name = "chi2"
    quantiles = staticmethod(hyperbolic_secant)

    def column_kernel(self, left: Array, right: Array) -> Array:
        return 2.0 * left * (right / (left + right))


@dataclass(frozen=True)
class Intersection(AbstractAdditiveKernel):
    """k(x, y) = sum_j min(x_j, y_j) for numbers >= 0 (Dai et al. 2014, Table 1).

    Its spectrum is 2 / (pi (1 + 4 omega^2)). The table's density has mass 1/2 and belongs to sqrt(2 x_j);
    this one is normalised and belongs to sqrt(x_j).
    """

    name = "intersection"
    quantiles = staticmethod(half_cauchy_width)
    heavy = True

    def column_kernel(self, left: Array, right: Array) -> Array:
        return np.minimum(left, right)


@dataclass(frozen=True)
class JensenShannon(AbstractAdditiveKernel):
    """k(x, y) = sum_j x_j/2 log2((x_j + y_j) / x_j) + y_j/2 log2((x_j + y_j) / y_j) (Dai et al. 2014).

    For numbers >= 0; a term with x_j = 0 or y_j = 0 is 0. Spectrum sech(pi omega) / ((1 + 4 omega^2) log 2)
    (the table's has mass 1/2). It is sampled by inversion instead of rejection, so that every sampler works.
    """

    name = "jensen_shannon"
    quantiles = staticmethod(jensen_shannon)

    def column_kernel(self, left: Array, right: Array) -> Array:
        value: Array = 0.5 / np.log(2.0) * (left * np.log1p(right / left) + right * np.log1p(left / right))
        return value


@dataclass(frozen=True)
class Hellinger(AbstractNonNegativeKernel, AbstractFeatureKernel, AbstractClosedFormTiles):
    """k(x, y) = sum_j sqrt(x_j y_j) for numbers >= 0 (Dai et al. 2014, Table 1).

    Features: <omega, sqrt(x)> with random signs omega (the table's factor 2 is wrong). With few columns d, a
    linear model of the square roots is the same machine without error.
    """

    name = "hellinger"
    tile_bytes = (8, 1)

    def closed_form(self, left: Array, right: Array) -> Array:
        return np.sqrt(left) @ np.sqrt(right).T

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> RootBlock:
        monte_carlo_only(draws, self.name)
        frequencies = DenseFrequencies(draws.signs(CounterStream.SIGNS, draws.n_input).T)
        return RootBlock(frequencies.astype(dtype), draws.n_draws)


class RootBlock(ProjectedBlock):
    """Features <omega, sqrt(x)>."""

    def fill(self, rows: Rows, values: Floats, scale: float) -> None:
        super().fill(_roots(rows), values, scale)

    def apply(self, values: Floats) -> None:
        """Leave inner products unchanged."""


def _roots(rows: Rows) -> Rows:
    if isinstance(rows, SparseRows):
        return rows.with_data(np.sqrt(rows.data))
    roots: Floats = scratch("square roots", rows.shape, rows.dtype)
    apply(np.sqrt, rows, into=roots)
    return roots


@dataclass(frozen=True)
class AbstractSkewedKernel(AbstractFeatureKernel, AbstractClosedFormTiles):
    """A kernel of numbers > -offset that is stationary in their logarithms (Li, Ionescu, Sminchisescu 2010).

    Features: pairs of <omega, log(x + offset)>. They are computed from log(1 + x / offset), which rotates
    each pair and keeps sparse rows sparse.
    """

    offset: float = parameter(1.0, POSITIVE, help="the paper's c")

    columns_per_draw = 2
    tile_bytes = (16, 9)
    #: the spectrum has no mean, see :class:`~distkern.maths.kernels.features.PairBlock`
    heavy: ClassVar[bool] = False

    @property
    def lower_bound(self) -> float:
        return -self.offset

    @abstractmethod
    def column_kernel(self, left: Array, right: Array) -> Array:
        """Return the factor of one column, given x + offset and y + offset, elementwise."""

    @staticmethod
    @abstractmethod
    def quantiles(uniforms: Array) -> Array:
        """Return omega for uniform numbers in (0, 1)."""

    def closed_form(self, left: Array, right: Array) -> Array:
        return over_columns(np.multiply, self.column_kernel, left + self.offset, right + self.offset)

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> LogarithmBlock:
        frequencies = DenseFrequencies(self.quantiles(draws.uniforms(draws.n_input)).T)
        frequencies = frequencies.astype(np.float64 if self.heavy else dtype)
        return LogarithmBlock(frequencies, draws.n_draws, self.heavy, self.offset)


@dataclass(frozen=True)
class LogarithmBlock(PairBlock):
    """Pairs of features of log(1 + x / offset)."""

    offset: float

    def fill(self, rows: Rows, values: Floats, scale: float) -> None:
        if self.heavy:
            rows = in_float64(rows)
        if isinstance(rows, SparseRows):
            super().fill(rows.with_data(np.log1p(rows.data / rows.dtype.type(self.offset))), values, scale)
            return
        logarithms: Floats = scratch("logarithms", rows.shape, rows.dtype)
        apply(np.multiply, rows, rows.dtype.type(1.0 / self.offset), into=logarithms)
        # many times as fast as log1p, and accurate enough for a phase
        logarithms += rows.dtype.type(1.0)
        apply(np.log, logarithms, into=logarithms)
        super().fill(logarithms, values, scale)


@dataclass(frozen=True)
class SkewedChiSquare(AbstractSkewedKernel):
    """k(x, y) = prod_j 2 sqrt(x_j + c) sqrt(y_j + c) / (x_j + y_j + 2c), c = offset (Dai et al. 2014).

    The table has the 2 outside of the product. Frequencies: independent, with density sech(pi omega).
    """

    name = "skewed_chi2"
    quantiles = staticmethod(hyperbolic_secant)

    def column_kernel(self, left: Array, right: Array) -> Array:
        return 2.0 * np.sqrt(left) * np.sqrt(right) / (left + right)


@dataclass(frozen=True)
class SkewedIntersection(AbstractSkewedKernel):
    """k(x, y) = prod_j min(sqrt((x_j + c) / (y_j + c)), sqrt((y_j + c) / (x_j + c))), c = offset.

    Dai et al. 2014, Table 1, whose density has mass 2^-d. Frequencies: independent, with density
    2 / (pi (1 + 4 omega^2)).
    """

    name = "skewed_intersection"
    quantiles = staticmethod(half_cauchy_width)
    heavy = True

    def column_kernel(self, left: Array, right: Array) -> Array:
        ratio = left / right
        return np.sqrt(np.minimum(ratio, 1.0 / ratio))


#: larger frequencies make no difference, but products with rows might overflow
_LARGEST = 1e30


@dataclass(frozen=True)
class AbstractSemigroupKernel(AbstractNonNegativeKernel, AbstractFeatureKernel, AbstractClosedFormTiles):
    """k(x, y) = E exp(-<omega, x + y>), omega >= 0 (Yang et al. 2014); features exp(-<omega, x>)."""

    @abstractmethod
    def quantiles(self, uniforms: Array) -> Array:
        """Return omega for uniform numbers in (0, 1)."""

    def feature_block(self, draws: Draws, dtype: DTypeLike) -> ExponentialBlock:
        omega = np.minimum(self.quantiles(draws.uniforms(draws.n_input)), _LARGEST)
        return ExponentialBlock(DenseFrequencies(omega.T).astype(dtype), draws.n_draws)


class ExponentialBlock(ProjectedBlock):
    """Features exp(-<omega, x>)."""

    def apply(self, values: Floats) -> None:
        apply(np.negative, values, into=values)
        apply(np.exp, values, into=values)


@dataclass(frozen=True)
class ExponentialSemigroup(AbstractSemigroupKernel):
    """k(x, y) = exp(-rate sum_j sqrt(x_j + y_j)) for numbers >= 0 (Dai et al. 2014, Table 1).

    omega: Levy-distributed, rate^2 / (2 z^2) with z standard normal. The table's exp(-b/4w) must be
    exp(-b^2/4w).
    """

    rate: float = parameter(1.0, POSITIVE, help="the paper's beta")

    name = "exponential_semigroup"

    def closed_form(self, left: Array, right: Array) -> Array:
        return np.exp(-self.rate * over_columns(np.add, lambda x, y: np.sqrt(x + y), left, right))

    def quantiles(self, uniforms: Array) -> Array:
        omega: Array = 0.5 * np.square(self.rate / normal_quantiles(uniforms))
        return omega


@dataclass(frozen=True)
class ReciprocalSemigroup(AbstractSemigroupKernel):
    """k(x, y) = prod_j offset / (x_j + y_j + offset) for numbers >= 0 (Dai et al. 2014, Table 1).

    omega: independent exponential numbers of rate ``offset``.
    """

    offset: float = parameter(1.0, POSITIVE, help="the paper's lambda")

    name = "reciprocal_semigroup"

    def closed_form(self, left: Array, right: Array) -> Array:
        offset = self.offset
        return over_columns(np.multiply, lambda x, y: offset / (x + y + offset), left, right)

    def quantiles(self, uniforms: Array) -> Array:
        return -np.log(uniforms) / self.offset
