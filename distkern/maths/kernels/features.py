"""Random features of a kernel in blocks: functions z with E[z(x) . z(y)] = k(x, y)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.sparse import Rows
from distkern.core.tiles import apply, copied, scratch
from distkern.core.types import Floats
from distkern.maths.kernels.base import AbstractKernel

if TYPE_CHECKING:
    from distkern.maths.samplers import Draws
    from distkern.maths.samplers.frequencies import AbstractFrequencies

_TURN = 2.0 * np.pi


class AbstractFeatureBlock(ABC):
    """A block of random features, computed from draws."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number of features."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Size in bytes."""

    @abstractmethod
    def take(self, draws: NDArray[np.intp]) -> AbstractFeatureBlock:
        """Return the features of some draws."""

    @abstractmethod
    def fill(self, rows: Rows, values: Floats, scale: float) -> None:
        """Write scale * z(x) of a tile of rows into ``values`` (n_rows, n_columns).

        Rows and values have the dtype of the block. With scale 1, products of features of the whole block
        estimate the kernel without bias.
        """


@dataclass(frozen=True)
class AbstractFeatureKernel(AbstractKernel):
    """A kernel with random features.

    Attributes
    ----------
    columns_per_draw : 2 for pairs; a block of F draws then has the first halves in columns [0, F) and the
        second halves in [F, 2F)
    whole_blocks : whether a block is a single draw, whose columns cannot be computed separately
    tile_bytes : temporary bytes for a row of a tile: per number of the row, and per column of a block
    """

    columns_per_draw: ClassVar[int] = 1
    whole_blocks: ClassVar[bool] = False
    tile_bytes: ClassVar[tuple[int, int]] = (0, 1)

    @abstractmethod
    def feature_block(self, draws: Draws, dtype: DTypeLike) -> AbstractFeatureBlock:
        """Return the features of some draws, computed in float64 and rounded to ``dtype``."""


@dataclass(frozen=True)
class AbstractFrequencyBlock(AbstractFeatureBlock):
    """Features of inner products with frequencies.

    Attributes
    ----------
    frequencies : frequencies of the selected draws
    n_whole : F of the whole block
    """

    frequencies: AbstractFrequencies
    n_whole: int
    columns_per_draw: ClassVar[int] = 1

    @property
    def n_columns(self) -> int:
        return self.columns_per_draw * self.frequencies.n_draws

    @property
    def nbytes(self) -> int:
        return self.frequencies.nbytes

    def take(self, draws: NDArray[np.intp]) -> Self:
        return replace(self, frequencies=self.frequencies.take(draws))


@dataclass(frozen=True)
class PairBlock(AbstractFrequencyBlock):
    """[cos | sin] (omega_i . x) / sqrt(F): pairs, so that |z(x)| = 1 exactly (Rahimi and Recht 2007).

    Attributes
    ----------
    heavy : whether the frequencies are so heavy-tailed that they have no mean. They are then float64, and
        omega . x is reduced to one turn before its cosine is computed in the precision of the values
    """

    heavy: bool
    columns_per_draw = 2

    @classmethod
    def of(cls, frequencies: AbstractFrequencies, draws: Draws, dtype: DTypeLike, heavy: bool) -> PairBlock:
        return cls(frequencies.astype(np.float64 if heavy else dtype), draws.n_draws, heavy)

    def fill(self, rows: Rows, values: Floats, scale: float) -> None:
        n_draws = self.frequencies.n_draws
        cosines, sines = values[:, :n_draws], values[:, n_draws:]
        if self.heavy and values.dtype != np.float64:
            exact: Floats = scratch("exact arguments", cosines.shape, np.float64)
            self.frequencies.project(in_float64(rows), exact)
            reduce_turns(exact, cosines)
        else:
            self.frequencies.project(rows, cosines)
        pair(cosines, sines, cosines)
        values *= values.dtype.type(scale / self.n_whole**0.5)


def pair(arguments: Floats, sines: Floats, cosines: Floats) -> None:
    """Compute sine and cosine of the arguments; ``cosines`` may share their memory."""
    apply(np.sin, arguments, into=sines)
    apply(np.cos, arguments, into=cosines)


def reduce_turns(exact: Floats, arguments: Floats) -> None:
    """Write float64 arguments modulo 2 pi, in [-pi, pi], into a narrower dtype; overwrites ``exact``."""
    turns: Floats = scratch("turns", exact.shape, np.float64)
    apply(np.multiply, exact, 1.0 / _TURN, into=turns)
    apply(np.rint, turns, into=turns)
    turns *= _TURN
    apply(np.subtract, exact, turns, into=arguments, casting="same_kind")


def in_float64(rows: Rows) -> Rows:
    """Convert a tile of rows to float64, dense rows in a reused buffer."""
    if not isinstance(rows, np.ndarray) or rows.dtype == np.float64:
        return rows.astype(np.float64) if rows.dtype != np.float64 else rows
    exact: Floats = scratch("exact rows", rows.shape, np.float64)
    copied(rows, into=exact)
    return exact


@dataclass(frozen=True)
class ProjectedBlock(AbstractFrequencyBlock):
    """Features that are each a function of one inner product."""

    def fill(self, rows: Rows, values: Floats, scale: float) -> None:
        self.frequencies.project(rows, values)
        self.apply(values)
        values *= values.dtype.type(scale / self.n_whole**0.5)

    @abstractmethod
    def apply(self, values: Floats) -> None:
        """Turn inner products into features, in place."""
