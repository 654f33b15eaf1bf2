"""What Pegasos reads of the data: pieces of rows for its loop, and the norms that bound its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.compiled import aligned
from distkern.common.sparse import SparseRows, count_nonzero
from distkern.common.types import Block, Floats
from distkern.solvers.measuring import Model, Sums, measure, with_largest


@dataclass(frozen=True)
class DensePiece:
    """Feature rows of a stream, written out.

    Attributes
    ----------
    values : (n, r)
    signs : (n, n_outputs)
    weights : (n,) float64
    entries : numbers of the rows that were looked at and are not zero
    """

    values: Floats
    signs: Floats
    weights: NDArray[np.float64]
    entries: int

    def loop_arguments(self) -> tuple[NDArray[Any], ...]:
        """The arrays as the compiled loop takes them."""
        return aligned(self.values, self.signs, self.weights)


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
        return aligned(self.data, self.indices, self.indptr, self.signs, self.weights)


def prepare_piece(block: Block, model: Model) -> DensePiece | SparsePiece:
    """The feature rows of a piece and what the loop needs beside them."""
    signs = model.risk.targets(block).astype(model.basis.dtype, copy=False)
    weights = model.risk.weights(block)
    if weights is None:
        weights = np.ones(block.n_rows)
    values = model.basis.values(block.features)
    if isinstance(values, SparseRows):
        return SparsePiece(values.data, values.indices, values.indptr, signs, weights)
    return DensePiece(values, signs, weights, count_nonzero(block.features))


def measure_largest(block: Block, model: Model) -> Sums:
    """The sums of a block, and the largest s_i |phi(x_i)|^2."""
    return with_largest(measure(block, model), block, model)
