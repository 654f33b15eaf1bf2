"""What Pegasos reads of the data: pieces of rows for its loop, and the sums that measure a linear model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.bases.linear import LinearBasis
from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import Block, Floats
from distkern.solvers.objective import Objective

#: rows that are measured at once
STRIP_ROWS = 8192


@dataclass(frozen=True)
class DensePiece:
    """Feature rows of a stream, written out.

    Attributes
    ----------
    values : (n, r)
    signs : (n, n_outputs)
    weights : (n,) float64
    entries : numbers of the rows that were looked at, those that are not zero where the rows are sparse
    """

    values: Floats
    signs: Floats
    weights: NDArray[np.float64]
    entries: int

    def loop_arguments(self) -> tuple[NDArray[Any], ...]:
        """The arrays as the compiled loop takes them: what a worker has sent may lie at odd addresses."""
        dtype = self.values.dtype
        return _aligned((self.values, dtype), (self.signs, dtype), (self.weights, np.dtype(np.float64)))


@dataclass(frozen=True)
class SparsePiece:
    """Sparse rows of a stream: ``data``, ``indices``, ``indptr``, and the rest of :class:`DensePiece`."""

    data: Floats
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    signs: Floats
    weights: NDArray[np.float64]

    @property
    def entries(self) -> int:
        return int(self.data.size)

    def loop_arguments(self) -> tuple[NDArray[Any], ...]:
        """As :meth:`DensePiece.loop_arguments`."""
        dtype = self.data.dtype
        return _aligned(
            (self.data, dtype), (self.indices, np.dtype(np.int32)), (self.indptr, np.dtype(np.int64)),
            (self.signs, dtype), (self.weights, np.dtype(np.float64)),
        )  # fmt: skip


def _aligned(*arrays: tuple[NDArray[Any], np.dtype[Any]]) -> tuple[NDArray[Any], ...]:
    return tuple(np.require(array, dtype, ("C", "A")) for array, dtype in arrays)


@dataclass(frozen=True)
class LinearModel:
    """The operand of the passes: f = phi(x) coef + intercept, for coefficients (r, n_outputs)."""

    basis: AbstractBasis
    coefficients: Floats
    intercept: NDArray[np.float64]
    objective: Objective

    def predictions(self, features: Rows) -> NDArray[np.float64]:
        """f, (n_rows, n_outputs)."""
        values = self.basis.combine(features, self.coefficients).astype(np.float64)
        values += self.intercept
        return values


def prepare_piece(block: Block, model: LinearModel) -> DensePiece | SparsePiece:
    """The feature rows of a piece and what the loop needs beside them."""
    signs = model.objective.signs(block)
    weights = model.objective.weights(block)
    if weights is None:
        weights = np.ones(block.n_rows)
    features = block.features
    entries = features.n_entries if isinstance(features, SparseRows) else features.size
    if isinstance(model.basis, LinearBasis):
        if isinstance(features, SparseRows):
            return SparsePiece(features.data, features.indices, features.indptr, signs, weights)
        return DensePiece(features, signs, weights, entries)
    values: Floats = np.empty((block.n_rows, model.basis.size), dtype=model.basis.dtype)
    for _ in model.basis.tiles(features, into=values):
        pass
    return DensePiece(values, signs, weights, entries)


@dataclass(frozen=True)
class Sums:
    """Sums over rows at a fixed model.

    Attributes
    ----------
    losses : (n_outputs,) sums of s_i l_i
    mistakes, n_rows : error = mistakes / n_rows
    largest : the largest s_i |phi(x_i)|^2, 0 if it was not asked for
    """

    losses: NDArray[np.float64]
    mistakes: int
    n_rows: int
    largest: float = 0.0

    @staticmethod
    def add(first: Sums, second: Sums) -> Sums:
        """The sums over the rows of both."""
        return Sums(
            first.losses + second.losses, first.mistakes + second.mistakes, first.n_rows + second.n_rows,
            max(first.largest, second.largest),
        )  # fmt: skip


def measure(block: Block, model: LinearModel) -> Sums:
    """One block's share of the objective and of the error."""
    objective = model.objective
    losses, mistakes = np.zeros(objective.n_outputs), 0
    for start in range(0, block.n_rows, STRIP_ROWS):
        strip = block.take(slice(start, start + STRIP_ROWS))
        predictions = model.predictions(strip.features)
        losses += objective.losses(predictions, objective.signs(strip), objective.weights(strip))
        mistakes += objective.mistakes(predictions, strip)
    return Sums(losses, mistakes, block.n_rows)


def measure_largest(block: Block, model: LinearModel) -> Sums:
    """As :func:`measure`, and the largest s_i |phi(x_i)|^2."""
    sums = measure(block, model)
    squares = _squares(block.features, model.basis)
    weights = model.objective.weights(block)
    if weights is not None:
        squares *= weights
    return Sums(sums.losses, sums.mistakes, sums.n_rows, float(squares.max(initial=0.0)))


def _squares(features: Rows, basis: AbstractBasis) -> NDArray[np.float64]:
    if isinstance(basis, LinearBasis):
        if isinstance(features, SparseRows):
            return np.square(features.norms())
        dense: NDArray[np.float64] = np.square(features, dtype=np.float64).sum(axis=1)
        return dense
    squares = np.zeros(features.shape[0])
    for tile in basis.tiles(features):
        squares[tile.rows] = np.einsum("ij,ij->i", tile.values, tile.values, dtype=np.float64)
    return squares
