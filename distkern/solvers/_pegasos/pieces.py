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
    values : (n, r)
    signs : (n, n_outputs)
    weights : (n,) float64
    n_nonzero : numbers of the rows that were looked at and are not zero
    """

    values: Rows
    signs: Floats
    weights: NDArray[np.float64]
    n_nonzero: int

    @property
    def is_dense(self) -> bool:
        """Whether rows are written out."""
        return not isinstance(self.values, SparseRows)

    def loop_arguments(self) -> tuple[NDArray[Any], ...]:
        """The arrays as the compiled loop takes them: data, columns and ends of rows, of dense ones too."""
        rows: tuple[NDArray[Any], ...]
        if isinstance(self.values, SparseRows):
            rows = self.values.data, self.values.indices, self.values.indptr
        else:
            n_rows, size = self.values.shape
            rows = self.values.reshape(-1), np.empty(0, np.int32), np.arange(n_rows + 1) * size
        return aligned(*rows, self.signs, self.weights)


def prepare_piece(block: Block, model: Model) -> Piece:
    """The feature rows of a piece and what the loop needs beside them."""
    signs = model.risk.targets(block).astype(model.basis.dtype, copy=False)
    weights = model.risk.weights(block)
    values = model.basis.values(block.features)
    ones = np.ones(block.n_rows) if weights is None else weights
    return Piece(values, signs, ones, count_nonzero(block.features))


def measure_largest(block: Block, model: Model) -> Sums:
    """The sums of a block, and the largest s_i |phi(x_i)|^2."""
    return with_largest(measure(block, model), block, model)
