"""Features with an additional constant one."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any, Self

from distkern.core.sparse import Rows
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.bases.constant import ConstantBasis, ConstantCoordinates
from distkern.maths.bases.coordinates import Coordinates
from distkern.maths.features.base import AbstractFeatures, Footprint
from distkern.maths.landmarks.base import RowLayout
from distkern.passes import Outline, Pass


@dataclass(frozen=True)
class WithConstant(AbstractFeatures):
    """Other features z(x) and a constant 1."""

    inner: AbstractFeatures

    n_constant = 1

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.inner.name

    @property
    def meaning(self) -> str:  # type: ignore[override]
        return self.inner.meaning

    @property
    def memory_hint(self) -> str:  # type: ignore[override]
        return self.inner.memory_hint

    def begin(self, layout: RowLayout) -> Generator[Pass, Any, tuple[Rows, float]]:
        return (yield from self.inner.begin(layout))

    def outline(self, layout: RowLayout) -> list[Outline]:
        return self.inner.outline(layout)

    def basis(self, layout: RowLayout, landmarks: Rows, gamma: float) -> AbstractBasis:
        return ConstantBasis(self.inner.basis(layout, landmarks, gamma))

    def expected_size(self, layout: RowLayout) -> int:
        return self.inner.expected_size(layout) + 1

    def footprint(self, layout: RowLayout) -> Footprint:
        own, column = self.inner.footprint(layout), layout.dtype.itemsize
        # copied next to the constant, unless only summed
        at_once = own.block_size + (own.block_size == own.size)
        copy = (own.size + 1) * column
        return replace(own, size=own.size + 1, block_size=at_once, row_bytes=own.row_bytes + copy)

    def prepared_numbers(self, layout: RowLayout, size: int) -> int:
        return self.inner.prepared_numbers(layout, size - 1) + 1

    def with_constant(self) -> Self:
        return self

    def coordinates(self, basis: AbstractBasis) -> Coordinates:
        assert isinstance(basis, ConstantBasis)
        return ConstantCoordinates(self.inner.coordinates(basis.inner))
