"""The kernel itself, at training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from distkern.bases.base import AbstractBasis
from distkern.bases.landmarks import KernelSpan
from distkern.common.parameters import Whole, parameter
from distkern.common.sparse import Rows
from distkern.features.base import AbstractKernelFeatures, Footprint
from distkern.features.landmarks import footprint_of_landmarks
from distkern.kernels.base import AbstractTileKernel, require
from distkern.landmarks.base import Layout


@dataclass(frozen=True)
class Support(AbstractKernelFeatures):
    """k(x_i, x) at training rows x_i, which the solver finds, with the norm of the kernel's space.

    Raises
    ------
    InputError
        If the kernel has no tiles of values.
    """

    max_support: int = parameter(
        20_000,
        Whole(),
        help="training rows with a coefficient other than 0, at most; every process keeps them",
    )

    name: ClassVar[str] = "kernel"
    meaning: ClassVar[str] = "the kernel itself, at the training rows that the model needs"
    memory_knob: ClassVar[str] = "fewer support rows (--set max_support=...)"
    needs_matrix: ClassVar[bool] = True
    finds_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.kernel.with_gamma(1.0), AbstractTileKernel)  # type: ignore[type-abstract]

    def basis(self, layout: Layout, landmarks: Rows, gamma: float) -> AbstractBasis:
        points = landmarks if landmarks.dtype == layout.dtype else landmarks.astype(layout.dtype)
        return KernelSpan(self.kernel.with_gamma(gamma), points)

    def expected_size(self, layout: Layout) -> int:
        return min(self.max_support, layout.n_rows)

    def footprint(self, layout: Layout) -> Footprint:
        return footprint_of_landmarks(layout, self.kernel, self.expected_size(layout))
