"""A basis over rows that are mapped first: a model of mapped rows as it is applied to others."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.sparse import Rows
from distkern.common.types import Floats


class RowMapping(Protocol):
    """What maps rows (n, d) to rows (n, d)."""

    def apply_rows(self, rows: Rows, out_dtype: DTypeLike) -> Rows: ...


class MappedBasis(AbstractBasis):
    """phi(m(x)) of the functions phi of another basis, mapped a tile at a time.

    Parameters
    ----------
    inner : over mapped rows
    mapping : m
    """

    def __init__(self, inner: AbstractBasis, mapping: RowMapping) -> None:
        self.inner, self.mapping = inner, mapping

    @property
    def size(self) -> int:
        return self.inner.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.inner.dtype

    @property
    def tile_rows(self) -> int:
        return self.inner.tile_rows

    def fill(self, features: Rows, values: Floats) -> None:
        self.inner.fill(self.mapping.apply_rows(features, self.dtype), values)

    def squared_norms(self, coefficients: Floats, *, exact: bool = True) -> NDArray[np.float64]:
        return self.inner.squared_norms(coefficients, exact=exact)

    def metric_product(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        return self.inner.metric_product(coefficients)

    @property
    def process_bytes(self) -> int:
        return self.inner.process_bytes

    @property
    def norm_bytes(self) -> int:
        return self.inner.norm_bytes

    @property
    def is_compiled(self) -> bool:
        return self.inner.is_compiled

    def workspace_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        # a tile in double precision, mapped, and as it is handed on
        mapped = 20 * (n_rows or self.tile_rows) * row_numbers
        return self.inner.workspace_bytes(row_numbers, n_rows) + mapped
