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
    """omega_1 .. omega_F in n_input dimensions, float64 as drawn, or in the precision of the rows."""

    @property
    @abstractmethod
    def n_draws(self) -> int:
        """F."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that they take."""

    @abstractmethod
    def scaled(self, factors: float | NDArray[np.float64]) -> AbstractFrequencies:
        """All frequencies times a number, or each times its own (F,)."""

    @abstractmethod
    def astype(self, dtype: DTypeLike) -> AbstractFrequencies:
        """The same frequencies in another precision."""

    @abstractmethod
    def take(self, draws: NDArray[np.intp]) -> AbstractFrequencies:
        """Some of the frequencies."""

    @abstractmethod
    def project(self, rows: Rows, out: Floats) -> None:
        """out (n_rows, F) = inner products of a tile of rows with the frequencies, all of one dtype."""


@dataclass(frozen=True)
class DenseFrequencies(AbstractFrequencies):
    """Frequencies as a matrix (n_input, F).

    Sparse rows are multiplied by SciPy, one row after the other in the order of its columns: a row costs
    2 F operations for each of its numbers, nothing is written out dense, and its bits do not depend on the
    tile it is in. (A compiled loop would need numba, ten times the memory; a dense tile over the columns
    that occur in it, up to rows x numbers as many operations.) SciPy makes its result anew for each tile.
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
