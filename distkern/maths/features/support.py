"""The kernel itself, at training rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

from distkern.core.parameters import Whole, parameter
from distkern.core.sparse import Rows
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.bases.landmarks import KernelSpan
from distkern.maths.features.base import AbstractKernelFeatures, Footprint
from distkern.maths.features.landmarks import footprint_of_landmarks
from distkern.maths.kernels.base import AbstractTileKernel, require
from distkern.maths.landmarks.base import RowLayout
from distkern.passes import Cost


@dataclass(frozen=True)
class Support(AbstractKernelFeatures):
    """k(x_i, x) at training rows x_i found by the solver, with the norm of the kernel's space.

    Raises
    ------
    InputError
        If the kernel has no tiles of values.
    """

    max_support: int = parameter(
        20_000, Whole(), help="most training rows with nonzero coefficients; every process keeps them"
    )

    #: number of known rows
    n_known: int = 0

    name: ClassVar[str] = "kernel"
    meaning: ClassVar[str] = "the kernel itself, at the training rows that the model needs"
    memory_hint: ClassVar[str] = "fewer support rows (--set max_support=...)"
    needs_matrix: ClassVar[bool] = True
    finds_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.kernel.with_gamma(1.0), AbstractTileKernel)  # type: ignore[type-abstract]

    def basis(self, layout: RowLayout, landmarks: Rows, gamma: float) -> AbstractBasis:
        points = landmarks if landmarks.dtype == layout.dtype else landmarks.astype(layout.dtype)
        return KernelSpan(self.kernel.with_gamma(gamma), points)

    def expected_size(self, layout: RowLayout) -> int:
        return min(self.max_support, self.n_known + layout.n_rows)

    def at_known(self, n_rows: int) -> Self:
        return replace(self, n_known=n_rows)

    def footprint(self, layout: RowLayout) -> Footprint:
        return footprint_of_landmarks(layout, self.kernel, self.expected_size(layout))


def support_cost(
    layout: RowLayout, footprint: Footprint, n_outputs: int, piece_rows: int, n_rounds: int
) -> Cost:
    """Cost of steps on ``piece_rows`` rows at a time: every process keeps the support rows, and one group of
    rows takes its turn in each of ``n_rounds``.
    """
    # a row with its coefficients and its position
    support = footprint.size, layout.row_bytes + 8 * n_outputs + 16
    numbers = piece_rows + 4 * layout.row_numbers
    return footprint.cost(footprint.operations / n_rounds).holding(
        task={
            "support rows, and those of others": (5, *support),
            "a piece, and its own kernel": (piece_rows, numbers, 2 * layout.dtype.itemsize),
            "order of a block's rows": (layout.most_rows, 16),
        },
        result={"support rows": support},
        driver={"support rows before, now, and on their way": (5, *support)},
    )
