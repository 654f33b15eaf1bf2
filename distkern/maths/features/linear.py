"""The rows themselves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from distkern.core.sparse import Rows
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.bases.coordinates import ColumnCoordinates, Coordinates
from distkern.maths.bases.linear import LinearBasis
from distkern.maths.features.base import AbstractFeatures, Footprint
from distkern.maths.landmarks.base import RowLayout


@dataclass(frozen=True)
class Linear(AbstractFeatures):
    """z(x) = x, dense or sparse.

    Parameters
    ----------
    constant : whether to add a constant feature 1
    exact : whether to sum in float64 in the order of the columns, see
        :class:`~distkern.maths.bases.linear.LinearBasis`
    """

    constant: bool = False
    exact: bool = False

    name: ClassVar[str] = "linear"
    meaning: ClassVar[str] = "the rows themselves, dense or sparse"
    memory_hint: ClassVar[str] = "random features (--set features=random) if the columns are many"
    has_columns: ClassVar[bool] = True
    reads_columns: ClassVar[bool] = True
    spans_constant: ClassVar[bool] = False

    def basis(self, layout: RowLayout, landmarks: Rows, gamma: float) -> LinearBasis:
        return LinearBasis(layout.n_features, layout.dtype, constant=self.constant, exact=self.exact)

    def expected_size(self, layout: RowLayout) -> int:
        return layout.n_features + self.constant

    def prepared_numbers(self, layout: RowLayout, size: int) -> int:
        return layout.row_numbers + self.constant * (2 if layout.is_sparse else 1)

    def footprint(self, layout: RowLayout) -> Footprint:
        size = self.expected_size(layout)
        basis = LinearBasis(layout.n_features, layout.dtype, constant=self.constant, exact=self.exact)
        rows = min(basis.tile_rows, layout.most_rows)
        row_bytes = basis.workspace_bytes(layout.row_numbers, rows) // rows
        return Footprint(
            size, size, basis.process_bytes, basis.is_compiled, 0, rows, row_bytes, row_bytes, 0.0
        )

    @property
    def n_constant(self) -> int:
        return int(self.constant)

    def coordinates(self, basis: AbstractBasis) -> Coordinates:
        return ColumnCoordinates(basis)

    def with_constant(self) -> Self:
        return replace(self, constant=True)

    def with_exact_sums(self) -> Self:
        return replace(self, exact=True)
