"""What Pegasos reads of the data: pieces of rows for its loop, and the norms that bound its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.compiled import aligned
from distkern.common.sparse import Rows, SparseRows, count_nonzero
from distkern.common.types import Block, Floats
from distkern.solvers.measuring import Model, Sums, measure, with_largest


@dataclass(frozen=True)
class Piece:
    """Feature rows of a stream.

    Attributes
    ----------
    data : (n_entries,) their numbers, one row after the other
    indices : (n_entries,) int32, the column of each, or (0,) of dense rows
    indptr : (n + 1,) int64, where each row begins
    signs : (n, n_outputs)
    weights : (n,) float64
    n_nonzero : numbers of the rows that were looked at and are not zero
    """

    data: Floats
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    signs: Floats
    weights: NDArray[np.float64]
    n_nonzero: int
    is_dense: bool

    @classmethod
    def of(cls, values: Rows, signs: Floats, weights: NDArray[np.float64], n_nonzero: int) -> Piece:
        """The piece of rows (n, r) in either form."""
        if isinstance(values, SparseRows):
            return cls(values.data, values.indices, values.indptr, signs, weights, n_nonzero, False)
        ends = np.arange(len(values) + 1, dtype=np.int64) * values.shape[1]
        return cls(values.reshape(-1), np.empty(0, np.int32), ends, signs, weights, n_nonzero, True)

    def loop_arguments(self) -> tuple[NDArray[Any], ...]:
        """The arrays as the compiled loop takes them."""
        return aligned(self.data, self.indices, self.indptr, self.signs, self.weights)


def prepare_piece(block: Block, model: Model) -> Piece:
    """The feature rows of a piece and what the loop needs beside them."""
    signs = model.risk.targets(block).astype(model.basis.dtype, copy=False)
    weights = model.risk.weights(block)
    values = model.basis.values(block.features)
    ones = np.ones(block.n_rows) if weights is None else weights
    return Piece.of(values, signs, ones, count_nonzero(block.features))


def measure_largest(block: Block, model: Model) -> Sums:
    """The sums of a block, and the largest s_i |phi(x_i)|^2."""
    return with_largest(measure(block, model), block, model)
