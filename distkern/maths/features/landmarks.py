"""Features of a kernel at rows: its values at landmarks, Nystroem features, the kernel at training rows."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from distkern.core.choices import Choices
from distkern.core.parameters import NOTHING, Parameter, Whole, Words, parameter
from distkern.core.sparse import Rows
from distkern.maths.bases.base import AbstractBasis, row_bytes, rows_of_tile, rows_of_wide_tile
from distkern.maths.bases.landmarks import KernelSpan, LandmarkBasis, NystroemBasis, nystroem_row_bytes
from distkern.maths.features.base import AbstractKernelFeatures, Footprint, KernelChoice
from distkern.maths.kernels.base import AbstractKernel, AbstractTileKernel, require
from distkern.maths.landmarks import LANDMARK_RULES, find_landmark_rule

if TYPE_CHECKING:
    from distkern.maths.bases.coordinates import Coordinates
    from distkern.maths.landmarks.base import AbstractLandmarkRule, RowLayout
    from distkern.passes import Cost, Outline, Pass


LANDMARKS = Parameter("uniform", (Words(of=LANDMARK_RULES),), "the rule that chooses landmarks")
N_LANDMARKS = Parameter(
    None, (Whole(), NOTHING), "at most this many landmarks; none: 512", tried=Choices(1024, (256, 2048))
)
#: number of landmarks if neither it nor a diameter is given
DEFAULT_LANDMARKS = 512


def footprint_of_landmarks(layout: RowLayout, kernel: KernelChoice, size: int) -> Footprint:
    """Memory and operations of evaluating a kernel at ``size`` landmarks."""
    from distkern.passes import EXPONENTIAL

    numbers, itemsize = layout.row_numbers, layout.dtype.itemsize
    each = row_bytes(size, numbers, itemsize)
    return Footprint(
        size,
        size,
        layout.comparing_bytes,
        kernel.is_compiled(layout),
        2 * size * numbers * itemsize,
        min(rows_of_tile(size, itemsize), layout.most_rows),
        each,
        each,
        size * (2.0 * (numbers + 2) + EXPONENTIAL),
    )


@dataclass(frozen=True)
class AbstractLandmarkFeatures(AbstractKernelFeatures):
    """Features of a kernel at landmarks."""

    n_landmarks: int | None = parameter(
        N_LANDMARKS.default, *N_LANDMARKS.kinds, help=N_LANDMARKS.help, tried=N_LANDMARKS.tried
    )
    landmarks: str = parameter(LANDMARKS.default, *LANDMARKS.kinds, help=LANDMARKS.help)

    #: diameter of the balls that cover the rows, instead of ``n_landmarks``
    diameter: float | None = None
    #: number of known landmarks; None to choose them
    n_known: int | None = None

    memory_hint: ClassVar[str] = "fewer landmarks (--set n_landmarks=...)"

    def __post_init__(self) -> None:
        super().__post_init__()
        # refuse a rule that does not support these
        _ = self.rule

    @property
    def rule(self) -> AbstractLandmarkRule:
        """The rule that chooses the landmarks."""
        by_number = self.n_landmarks is None and self.diameter is None
        n_landmarks = DEFAULT_LANDMARKS if by_number else self.n_landmarks
        return find_landmark_rule(self.landmarks)(n_landmarks=n_landmarks, diameter=self.diameter)

    def begin(self, layout: RowLayout) -> Generator[Pass, Any, tuple[Rows, float]]:
        _, gamma = yield from super().begin(layout)
        return (yield from self.rule.choose(layout)), gamma

    def outline(self, layout: RowLayout) -> list[Outline]:
        return super().outline(layout) + self.rule.outline(layout)

    def basis(self, layout: RowLayout, landmarks: Rows, gamma: float) -> AbstractBasis:
        points = landmarks if landmarks.dtype == layout.dtype else landmarks.astype(layout.dtype)
        return self.basis_at(self.kernel.with_gamma(gamma), points)

    def basis_at(self, kernel: AbstractKernel, points: Rows) -> AbstractBasis:
        """z for these landmarks."""
        return LandmarkBasis(kernel, points)

    def expected_size(self, layout: RowLayout) -> int:
        return self.rule.expected_size(layout) if self.n_known is None else self.n_known

    def at_known(self, n_rows: int) -> Self:
        return replace(self, n_known=n_rows)

    def footprint(self, layout: RowLayout) -> Footprint:
        return footprint_of_landmarks(layout, self.kernel, self.expected_size(layout))


@dataclass(frozen=True)
class Landmarks(AbstractLandmarkFeatures):
    """z_k(x) = k(x, c_k) at each landmark c_k."""

    name: ClassVar[str] = "landmarks"
    meaning: ClassVar[str] = "the kernel at landmarks, regularised as plain numbers"


@dataclass(frozen=True)
class Nystroem(AbstractLandmarkFeatures):
    """z(x) = K_LL^(-1/2) k(L, x) for landmarks L: their products project the kernel on them.

    Parameters
    ----------
    plain : use the functions k(L, x) with the norm of the kernel's space, see
        :class:`~distkern.maths.bases.landmarks.KernelSpan`
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
        from distkern.maths.bases.coordinates import Coordinates, KernelCoordinates

        return KernelCoordinates(basis) if isinstance(basis, KernelSpan) else Coordinates(basis)

    def footprint(self, layout: RowLayout) -> Footprint:
        plain, itemsize = super().footprint(layout), layout.dtype.itemsize
        size = plain.size
        if self.plain:
            # as if all were orthonormalised, as for the widest kernels
            return replace(
                plain,
                operand_bytes=plain.operand_bytes + 2 * size * size * itemsize,
                row_bytes=nystroem_row_bytes(size, layout.row_numbers, itemsize),
                # the factor and its residuals; landmarks in double precision, and in another order
                driver_bytes=32 * size * size + 2 * size * layout.row_numbers * (8 + itemsize),
            )
        return whitened(plain, layout)


def whitened(plain: Footprint, layout: RowLayout) -> Footprint:
    """The cost of Nystroem features, given the cost ``plain`` of the kernels."""
    size, itemsize = plain.size, layout.dtype.itemsize
    return replace(
        plain,
        operand_bytes=plain.operand_bytes + size * size * (8 + itemsize),
        tile_rows=min(rows_of_wide_tile(size, itemsize), layout.most_rows),
        row_bytes=nystroem_row_bytes(size, layout.row_numbers, itemsize),
        operations=plain.operations + 2.0 * size * size,
        factor_operations=2.0 * size * size,
    )


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
