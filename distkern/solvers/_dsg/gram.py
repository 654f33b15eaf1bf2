"""The Gram matrix of a block of features, summed over tiles of rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.core.types import Floats
from distkern.core.workspace import buffer

_ROWS = 1024


class GramSum:
    """Z^T S Z in float64, of tiles of features that are gathered until a product of them pays.

    A matrix of the features' width is added for every product, so tiles of 128 rows would spend their time
    on that.
    """

    def __init__(self, width: int) -> None:
        self._total = np.zeros((width, width))
        self._filled = 0

    def add(self, values: Floats, weights: NDArray[np.float64] | None) -> None:
        """Add the rows of a tile (n_rows, width), at most 1024, with weights or all with weight 1."""
        if self._filled + len(values) > _ROWS:
            self._flush(values.dtype)
        rows = self._rows(values.dtype)[self._filled : self._filled + len(values)]
        if weights is None:
            rows[...] = values
        else:
            np.multiply(values, np.sqrt(weights).astype(values.dtype)[:, None], out=rows)
        self._filled += len(values)

    def total(self, dtype: np.dtype[np.floating]) -> NDArray[np.float64]:
        """The matrix (width, width), of tiles in ``dtype``."""
        self._flush(dtype)
        return self._total

    def _rows(self, dtype: np.dtype[np.floating]) -> Floats:
        return buffer("gram rows", (_ROWS, len(self._total)), dtype)

    def _flush(self, dtype: np.dtype[np.floating]) -> None:
        if self._filled:
            rows = self._rows(dtype)[: self._filled]
            product = buffer("gram product", self._total.shape, dtype)
            np.matmul(rows.T, rows, out=product)
            self._total += product
            self._filled = 0
