"""Nystroem features of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from distkern.bases.base import AbstractBasis, rows_of_wide_tile
from distkern.bases.coordinates import Coordinates, KernelCoordinates
from distkern.bases.landmarks import KernelSpan
from distkern.bases.nystroem import NystroemBasis, row_bytes
from distkern.common.sparse import Rows
from distkern.features.base import Footprint
from distkern.features.landmarks import AbstractLandmarkFeatures
from distkern.kernels.base import AbstractKernel
from distkern.landmarks.base import RowLayout


@dataclass(frozen=True)
class Nystroem(AbstractLandmarkFeatures):
    """z(x) = K_LL^(-1/2) k(L, x) for landmarks L: products are those of the kernel's projection on them.

    Parameters
    ----------
    plain : the functions k(L, x) themselves, with the norm of the kernel's space, see
        :class:`~distkern.bases.landmarks.KernelSpan`
    """

    plain: bool = False

    name: ClassVar[str] = "nystroem"
    needs_matrix: ClassVar[bool] = True
    meaning: ClassVar[str] = "Nystroem features of the kernel at landmarks"

    def basis_at(self, kernel: AbstractKernel, points: Rows) -> AbstractBasis:
        return KernelSpan(kernel, points) if self.plain else NystroemBasis(kernel, points)

    def spanning(self) -> Self:
        return replace(self, plain=True)

    def coordinates(self, basis: AbstractBasis) -> Coordinates:
        return KernelCoordinates(basis) if isinstance(basis, KernelSpan) else Coordinates(basis)

    def footprint(self, layout: RowLayout) -> Footprint:
        plain, itemsize = super().footprint(layout), layout.dtype.itemsize
        size = plain.size
        if self.plain:
            # as if all were made orthonormal, which is for the widest kernels
            return replace(
                plain,
                operand_bytes=plain.operand_bytes + 2 * size * size * itemsize,
                row_bytes=row_bytes(size, layout.row_numbers, itemsize),
                # the factor and its residuals; landmarks in double precision, and in another order
                driver_bytes=32 * size * size + 2 * size * layout.row_numbers * (8 + itemsize),
            )
        return whitened(plain, layout)


def whitened(plain: Footprint, layout: RowLayout) -> Footprint:
    """What :class:`~distkern.bases.nystroem.NystroemBasis` takes, where the kernels alone take ``plain``."""
    size, itemsize = plain.size, layout.dtype.itemsize
    return replace(
        plain,
        operand_bytes=plain.operand_bytes + size * size * (8 + itemsize),
        tile_rows=min(rows_of_wide_tile(size, itemsize), layout.most_rows),
        row_bytes=row_bytes(size, layout.row_numbers, itemsize),
        operations=plain.operations + 2.0 * size * size,
        factor_operations=2.0 * size * size,
    )
