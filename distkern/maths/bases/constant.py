"""The functions of another basis and a constant 1; the coefficient of the latter is an intercept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from distkern.core.sparse import Rows, with_ones
from distkern.core.tiles import copied, scratch
from distkern.core.types import Array, Floats, Indices
from distkern.maths.bases.base import AbstractBasis, AbstractWrappedBasis, SlopesAt, Tile
from distkern.maths.bases.coordinates import Coordinates


class ConstantBasis(AbstractWrappedBasis):
    """phi_1, ..., phi_r of another basis and phi_(r + 1) = 1, which no norm counts.

    Parameters
    ----------
    inner : phi_1, ..., phi_r
    """

    n_constant = 1

    def __init__(self, inner: AbstractBasis) -> None:
        super().__init__(inner)
        self.is_wide = inner.is_wide  # type: ignore[misc]

    @property
    def size(self) -> int:
        return self.inner.size + 1

    def strip_rows(self, n_outputs: int) -> int:
        return self.inner.strip_rows(n_outputs)

    def fill(self, features: Rows, values: Floats) -> None:
        # not every basis can fill a part of wider rows
        own: Floats = scratch("beside a constant", (len(values), self.inner.size), self.dtype)
        self.inner.fill(features, own)
        copied(own, into=values[:, :-1])
        values[:, -1] = 1

    def values(self, features: Rows) -> Rows:
        return with_ones(self.inner.values(features))

    def cheap_values(self, features: Rows) -> Rows:
        return with_ones(self.inner.cheap_values(features))

    def outward(self, coefficients: Array) -> Array:
        return np.vstack([self.inner.outward(coefficients[:-1]), coefficients[-1:]])

    def inward(self, sums: Array) -> Array:
        return np.vstack([self.inner.inward(sums[:-1]), sums[-1:]])

    def combine(self, features: Rows, coefficients: Floats) -> Floats:
        values = self.inner.combine(features, coefficients[:-1])
        values += coefficients[-1].astype(values.dtype)
        return values

    def transposed(self, features: Rows, weights: Floats) -> Array:
        total = np.asarray(weights, dtype=self.dtype).sum(axis=0, dtype=np.float64)
        return np.vstack([self.inner.transposed(features, weights), total])

    def gradient(
        self, features: Rows, coefficients: Floats, slopes: SlopesAt, n_slopes: int | None = None
    ) -> Array:
        total = np.zeros(n_slopes or coefficients.shape[1])
        constant = coefficients[-1:].astype(self.dtype)

        def counted(rows: slice, found: Floats) -> Floats:
            own = slopes(rows, found + constant if len(constant) else found)
            total[...] += own.sum(axis=0, dtype=np.float64)
            return own

        return np.vstack([self.inner.gradient(features, coefficients[:-1], counted, n_slopes), total])

    def row_squares(self, features: Rows) -> Array:
        return self.inner.row_squares(features) + 1.0

    def norm_squares(self, features: Rows) -> Array:
        return self.inner.norm_squares(features)

    def squared_norms(self, coefficients: Floats, *, exact: bool = True) -> Array:
        return self.inner.squared_norms(coefficients[:-1], exact=exact)

    def metric_product(self, coefficients: Array) -> Array:
        return np.vstack([self.inner.metric_product(coefficients[:-1]), np.zeros((1, coefficients.shape[1]))])

    def add_metric(self, matrices: Sequence[Array], weight: float) -> None:
        self.inner.add_metric([matrix[:-1, :-1] for matrix in matrices], weight)

    def column_tiles(self, features: Rows, runs: Sequence[slice]) -> Iterator[tuple[int, Tile]]:
        size = self.inner.size
        others = [number for number, run in enumerate(runs) if run.start < size]
        parts = [slice(runs[number].start, min(runs[number].stop, size)) for number in others]
        for place, tile in self.inner.column_tiles(features, parts) if others else ():
            number = others[place]
            if runs[number].stop > size:
                shape = (len(tile.values), runs[number].stop - runs[number].start)
                values: Floats = scratch("columns beside a constant", shape, self.dtype)
                copied(tile.values, into=values[:, :-1])
                values[:, -1] = 1
                tile = Tile(tile.rows, values)
            yield number, tile
        for number in set(range(len(runs))) - set(others):
            for start in range(0, features.shape[0], self.tile_rows):
                rows = slice(start, min(start + self.tile_rows, features.shape[0]))
                yield number, Tile(rows, np.ones((rows.stop - start, 1), dtype=self.dtype))

    def columns(self, features: Rows, columns: Indices) -> Floats:
        numbers = np.asarray(columns)
        values: Floats = np.ones((numbers.size, features.shape[0]), dtype=self.dtype)
        inside = numbers < self.inner.size
        values[inside] = self.inner.columns(features, numbers[inside])
        return values

    def workspace_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        tile = (n_rows or self.tile_rows) * self.size * self.dtype.itemsize
        return self.inner.workspace_bytes(row_numbers, n_rows) + tile

    def combining_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        return self.inner.combining_bytes(row_numbers, n_rows)


class ConstantCoordinates(Coordinates):
    """The coordinates of another basis, and the unchanged coefficient of a constant.

    Parameters
    ----------
    inner : coordinates of the other basis
    """

    def __init__(self, inner: Coordinates) -> None:
        super().__init__(ConstantBasis(inner.basis))
        self._inner, self.pivots = inner, inner.pivots

    def outward(self, own: Array) -> Array:
        return np.vstack([self._inner.outward(own[:-1]), own[-1:]])

    def inward(self, coefficients: Array) -> Array:
        return np.vstack([self._inner.inward(coefficients[:-1]), coefficients[-1:]])

    def gradient(self, outer: Array) -> Array:
        return np.vstack([self._inner.gradient(outer[:-1]), outer[-1:]])

    def dual(self, gradient: Array) -> Array:
        return np.vstack([self._inner.dual(gradient[:-1]), np.zeros((1, gradient.shape[1]))])

    def trace(self, matrix: Array) -> float:
        return self._inner.trace(matrix[:-1, :-1])

    def damping(self, matrix: Array, damping: float) -> tuple[float, NDArray[np.float64]]:
        shift, diagonal = self._inner.damping(matrix[:-1, :-1], damping)
        return shift, np.vstack([diagonal, np.zeros((1, 1))]) if len(diagonal) else diagonal
