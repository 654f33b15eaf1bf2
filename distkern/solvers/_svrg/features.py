"""Explicit features of rows, a tile at a time: what SVRG multiplies with, whatever the basis."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis, multiply
from distkern.bases.random_features import RandomFeatureBasis
from distkern.core.sparse import Rows, SparseRows, converted, with_ones
from distkern.core.types import Floats
from distkern.core.workspace import buffer

#: of a tile of all features: as many rows as fit the first, but not so few that products slow down
_TILE_BYTES = 2 * 2**20
_LEAST_ROWS = 64
_MOST_ROWS = 1024
#: the most that a tile of all features may take; beyond it features are made block by block, twice
MOST_TILE_BYTES = 8 * 2**20
#: rows for which blocks of features are made at a time
STRIP_ROWS = 8192


@dataclass(frozen=True)
class FeatureMap:
    """z(x) by a basis, or x itself.

    Attributes
    ----------
    basis : None: z(x) = x, which are then never copied, nor written out dense where they are sparse
    n_input : columns of the rows
    dtype : of the features
    constant : one more feature that is 1, so that the last coefficient is an intercept; without a basis only
    """

    basis: AbstractBasis | None
    n_input: int
    dtype: np.dtype[Any]
    constant: bool = False

    @property
    def size(self) -> int:
        """r, the number of features."""
        return self.n_input + self.constant if self.basis is None else self.basis.size

    @property
    def by_blocks(self) -> bool:
        """Whether a tile of all features would be too large."""
        return isinstance(self.basis, RandomFeatureBasis) and tile_is_large(self.size, self.dtype.itemsize)

    def tiles(self, rows: Rows, tile_rows: int | None = None) -> Iterator[tuple[slice, Rows]]:
        """All features of all rows, a tile at a time; a tile may be overwritten by the next."""
        count = tile_rows or rows_of_tile(self.size, self.dtype.itemsize)
        if isinstance(rows, SparseRows) and self.basis is None and tile_rows is None:
            count = STRIP_ROWS
        for start in range(0, rows.shape[0], count):
            part = slice(start, min(start + count, rows.shape[0]))
            if self.basis is None:
                yield part, self._own(rows[part])
            else:
                values = buffer("svrg tile", (part.stop - part.start, self.size), self.dtype)
                self.basis.fill(rows[part], values)
                yield part, values

    def values(self, rows: Rows) -> Rows:
        """All features of a few rows, an array of their own."""
        if self.basis is None:
            return self._own(rows)
        values = np.empty((rows.shape[0], self.size), dtype=self.dtype)
        count = rows_of_tile(self.size, self.dtype.itemsize)
        for start in range(0, len(values), count):
            self.basis.fill(rows[start : start + count], values[start : start + count])
        return values

    def predictions(self, rows: Rows, coefficients: Floats) -> Floats:
        """z(X) w of any number of rows, (n_rows, k)."""
        if self.by_blocks:
            assert self.basis is not None
            return self.basis.combine(rows, coefficients)
        found = np.empty((rows.shape[0], coefficients.shape[1]), dtype=self.dtype)
        for part, values in self.tiles(rows):
            product(values, coefficients, found[part])
        return found

    def squared_norms(self, rows: Rows) -> NDArray[np.float64]:
        """|z(x)|^2 of each row."""
        found = np.zeros(rows.shape[0])
        if self.by_blocks:
            assert isinstance(self.basis, RandomFeatureBasis)
            for block in range(self.basis.n_blocks):
                for part, block_values in self.basis.block_tiles(rows, block):
                    found[part] += np.einsum("ij,ij->i", block_values, block_values)
            return found
        for part, values in self.tiles(rows):
            found[part] = row_squares(values)
        return found

    def _own(self, rows: Rows) -> Rows:
        own = rows if rows.dtype == self.dtype else rows.astype(self.dtype)
        return with_ones(own) if self.constant else own


def rows_of_tile(size: int, itemsize: int) -> int:
    """Rows of a tile of all features."""
    return int(np.clip(_TILE_BYTES // max(size * itemsize, 1), _LEAST_ROWS, _MOST_ROWS))


def tile_is_large(size: int, itemsize: int) -> bool:
    """Whether a tile of all features of random features exceeds what a tile may take."""
    return size * itemsize * _LEAST_ROWS > MOST_TILE_BYTES


def product(values: Rows, coefficients: Floats, out: Floats) -> None:
    """out = Z w for features (n, r), dense or sparse, and coefficients (r, k) of their dtype."""
    if not isinstance(values, SparseRows):
        multiply(values, coefficients, out)
        return
    rows = values.row_of_entries
    for output in range(coefficients.shape[1]):
        terms = values.data * coefficients[values.indices, output]
        out[:, output] = np.bincount(rows, weights=terms, minlength=len(values))


def add_transposed(values: Rows, slopes: Floats, total: NDArray[np.float64]) -> None:
    """total += Z' G for features (n, r), slopes (n, k) of their dtype, and a total (r, k)."""
    if not isinstance(values, SparseRows):
        total += values.T @ slopes
        return
    rows = values.row_of_entries
    for output in range(slopes.shape[1]):
        terms = values.data * slopes[rows, output]
        total[:, output] += np.bincount(values.indices, weights=terms, minlength=len(total))


def row_squares(values: Rows) -> NDArray[np.float64]:
    """|z|^2 of each row of features."""
    if isinstance(values, SparseRows):
        return np.square(values.norms())
    return np.asarray(np.einsum("ij,ij->i", values, values), dtype=np.float64)


def dense(values: Rows) -> Floats:
    """The same features as an array."""
    array = converted(values, sparse=False)
    assert isinstance(array, np.ndarray)
    return array
