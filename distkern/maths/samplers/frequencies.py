"""Frequencies of a block of random features and their inner products with rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.sparse import Rows, SparseRows
from distkern.core.tiles import matmul
from distkern.core.types import Floats


class AbstractFrequencies(ABC):
    """omega_1 .. omega_F in n_input dimensions, in float64 as drawn, or in the precision of the rows."""

    @property
    @abstractmethod
    def n_draws(self) -> int:
        """F."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Size in bytes."""

    @abstractmethod
    def scaled(self, factors: float | NDArray[np.float64]) -> AbstractFrequencies:
        """Scale all frequencies by a number, or each by its own (F,)."""

    @abstractmethod
    def astype(self, dtype: DTypeLike) -> AbstractFrequencies:
        """Convert to another precision."""

    @abstractmethod
    def take(self, draws: NDArray[np.intp]) -> AbstractFrequencies:
        """Select some frequencies."""

    @abstractmethod
    def project(self, rows: Rows, out: Floats) -> None:
        """Write inner products of a tile of rows and frequencies, of one dtype, into ``out`` (n_rows, F)."""


@dataclass(frozen=True)
class DenseFrequencies(AbstractFrequencies):
    """Frequencies as a matrix (n_input, F).

    SciPy multiplies sparse rows one by one in the order of the columns: a row costs 2 F operations for each
    of its numbers, nothing is made dense, and its bits do not depend on the tile. (A compiled loop would need
    numba, ten times the memory; a dense tile over the occurring columns, up to rows x numbers as many
    operations.) SciPy allocates its result for each tile.
    """

    matrix: Floats

    @property
    def n_draws(self) -> int:
        return int(self.matrix.shape[1])

    @property
    def nbytes(self) -> int:
        return int(self.matrix.nbytes)

    def scaled(self, factors: float | NDArray[np.float64]) -> DenseFrequencies:
        return DenseFrequencies(self.matrix * factors)

    def astype(self, dtype: DTypeLike) -> DenseFrequencies:
        return DenseFrequencies(np.ascontiguousarray(self.matrix, dtype=dtype))

    def take(self, draws: NDArray[np.intp]) -> DenseFrequencies:
        return DenseFrequencies(np.ascontiguousarray(self.matrix[:, draws]))

    def project(self, rows: Rows, out: Floats) -> None:
        if isinstance(rows, SparseRows):
            out[...] = rows.to_scipy() @ self.matrix
        else:
            matmul(rows, self.matrix, into=out)
