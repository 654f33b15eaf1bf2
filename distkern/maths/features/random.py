"""Random features of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from distkern.core.choices import Choices
from distkern.core.parameters import Parameter, Whole, Words, parameter
from distkern.core.sparse import Rows
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.features.base import AbstractKernelFeatures, Footprint
from distkern.maths.landmarks.base import RowLayout
from distkern.maths.samplers import SAMPLERS
from distkern.passes import EXPONENTIAL

SAMPLER = Parameter("monte_carlo", (Words(of=SAMPLERS),), "how random features are drawn")


def footprint_of_random(layout: RowLayout, basis: RandomFeatureBasis) -> Footprint:
    """The cost of evaluating a basis at rows of this layout."""
    numbers = layout.row_numbers
    each, of_block = basis.workspace_bytes(numbers, 1), basis.combining_bytes(numbers, 1)
    return Footprint(
        basis.size,
        basis.block_size,
        basis.process_bytes,
        basis.is_compiled,
        0,
        min(basis.tile_rows, layout.most_rows),
        each,
        of_block if basis.by_blocks else each,
        basis.size * (2.0 * numbers / basis.kernel.columns_per_draw + EXPONENTIAL),
        loads_library=basis.loads_library,
    )


@dataclass(frozen=True)
class Random(AbstractKernelFeatures):
    """z(x) with E[z(x) . z(y)] = k(x, y), regenerated from the problem's seed.

    Raises
    ------
    InputError
        If the kernel has no random features, or does not support their number or the sampler.
    """

    n_features: int = parameter(
        2048, Whole(), help="random features; even if they come in pairs", tried=Choices(2048, (512, 4096))
    )
    sampler: str = parameter(SAMPLER.default, *SAMPLER.kinds, help=SAMPLER.help)
    #: columns of a block; None for the sampler's default
    width: int | None = None

    name: ClassVar[str] = "random"
    meaning: ClassVar[str] = "random features of the kernel"
    memory_hint: ClassVar[str] = "fewer features (--set n_features=...)"
    has_columns: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        self.basis(RowLayout((), 1, np.dtype(np.float32), 0), np.empty((0, 1)), 1.0)

    def basis(self, layout: RowLayout, landmarks: Rows, gamma: float) -> RandomFeatureBasis:
        basis = RandomFeatureBasis(
            self.kernel.with_gamma(gamma),
            layout.n_features,
            self.n_features,
            layout.seed,
            sampler=self.sampler,
            dtype=layout.dtype,
            sparse_rows=layout.is_sparse,
        )
        return basis if self.width is None else basis.in_blocks(self.width)

    def in_blocks(self, width: int) -> Random:
        return replace(self, width=width)

    def expected_size(self, layout: RowLayout) -> int:
        return self.n_features

    def footprint(self, layout: RowLayout) -> Footprint:
        return footprint_of_random(layout, self.basis(layout, np.empty((0, layout.n_features)), 1.0))
