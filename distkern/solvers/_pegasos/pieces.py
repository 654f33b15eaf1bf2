"""What Pegasos reads of the data: pieces of rows for its loop, and the norms that bound its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.sparse import SparseRows
from distkern.common.types import Block, Floats
from distkern.solvers.measuring import Model, Sums, measure, with_largest
from distkern.solvers.pieces import aligned


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
        dtype = self.values.dtype
        return aligned((self.values, dtype), (self.signs, dtype), (self.weights, np.float64))


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
        return aligned(
            (self.data, dtype),
            (self.indices, np.int32),
            (self.indptr, np.int64),
            (self.signs, dtype),
            (self.weights, np.float64),
        )


def prepare_piece(block: Block, model: Model) -> DensePiece | SparsePiece:
    """The feature rows of a piece and what the loop needs beside them."""
    signs = model.risk.targets(block)
    weights = model.risk.weights(block)
    if weights is None:
        weights = np.ones(block.n_rows)
    features = block.features
    values = model.basis.values(features)
    if isinstance(values, SparseRows):
        return SparsePiece(values.data, values.indices, values.indptr, signs, weights)
    entries = features.n_entries if isinstance(features, SparseRows) else int(np.count_nonzero(features))
    return DensePiece(values, signs, weights, entries)


def measure_largest(block: Block, model: Model) -> Sums:
    """The sums of a block, and the largest s_i |phi(x_i)|^2."""
    return with_largest(measure(block, model), block, model)
