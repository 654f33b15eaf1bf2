"""The base class of explicit features z(x), described before any row is read, and the width of their kernel.

To add a kind, write a file in this folder with a frozen dataclass that derives from :class:`AbstractFeatures`
and has a ``name``. Its fields made by :func:`~distkern.core.parameters.parameter` become hyperparameters of
every algorithm over features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from distkern.core.choices import Choices
from distkern.core.errors import InputError
from distkern.core.parameters import POSITIVE, AbstractKind, Declared, Parameter, Words
from distkern.core.registry import Family
from distkern.core.sparse import Rows
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.kernels import KERNELS
from distkern.maths.kernels.base import AbstractKernel, AbstractScaledKernel

if TYPE_CHECKING:
    from distkern.core.types import Block
    from distkern.maths.bases.coordinates import Coordinates
    from distkern.maths.kernels.bandwidth import Moments
    from distkern.maths.landmarks.base import RowLayout
    from distkern.passes import Cost, Outline, Pass, Reduce

# -- the width of a kernel

#: most bytes of the sample for "median"; a median of pairs needs no more
_SAMPLE_BYTES = 16 * 2**20
_SAMPLE_ROWS = 4000
_LEAST_SAMPLE = 64


@dataclass(frozen=True)
class WidthRule(AbstractKind):
    """The rules for gamma, optionally with a divisor of the width."""

    annotation = "str"

    def accepts(self, value: Any) -> bool:
        if not isinstance(value, str):
            return False
        from distkern.maths.kernels.bandwidth import parse_rule

        try:
            parse_rule(value)
        except InputError:
            return False
        return True

    @property
    def description(self) -> str:
        return ", ".join(map(repr, self.words)) + " or one with a divisor of the width ('median/4')"

    @property
    def words(self) -> tuple[str, ...]:
        from distkern.maths.kernels.bandwidth import RULES

        return RULES


GAMMA = Parameter(
    "scale",
    (POSITIVE, WidthRule()),
    "width parameter of the kernel: a number, or a rule that computes it from the rows",
    tried=Choices("median", ("median/0.5", "median/2", "median/4", "median/8")),
)


def a_kernel(kernels: Family[AbstractKernel]) -> Parameter:
    """Declare ``kernel``, one of the given kernels."""
    return Parameter("rbf", (Words(of=kernels),), "the kernel")


@dataclass(frozen=True)
class KernelChoice:
    """A kernel whose gamma may depend on the data."""

    kind: type[AbstractKernel]
    gamma: float | str
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def has_gamma(self) -> bool:
        """Whether the kernel has a gamma."""
        return issubclass(self.kind, AbstractScaledKernel)

    def is_compiled(self, layout: RowLayout) -> bool:
        """Whether compiled loops compare these rows with landmarks."""
        return self.kind.is_compiled or layout.is_sparse

    def with_gamma(self, gamma: float) -> AbstractKernel:
        """The kernel with this gamma, if it has one."""
        if self.has_gamma:
            return self.kind.from_parameters(gamma=gamma, **self.parameters)
        return self.kind.from_parameters(**self.parameters)

    def choose_gamma(self, layout: RowLayout) -> Generator[Pass, Any, float]:
        """Return gamma, from a pass over the data if it is a rule; 1 for a kernel without gamma.

        "scale" uses the weighted moments of all rows, "median" a sample.
        """
        from distkern.maths.kernels.bandwidth import gamma_from_width, median_width, parse_rule, scale_width
        from distkern.maths.landmarks.base import sample_rows

        if not self.has_gamma:
            return 1.0
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if parse_rule(self.gamma)[0] == "scale":
            found: Moments = yield _moments_pass(layout)
            width = scale_width(found, layout.n_features)
        else:
            width = median_width((yield from sample_rows(layout, _sample_size(layout), "width")))
        return gamma_from_width(self.gamma, self.kind, width, layout.n_features)

    def outline(self, layout: RowLayout) -> list[Outline]:
        """The passes of :meth:`choose_gamma`."""
        from distkern.maths.kernels.bandwidth import STRIP_ENTRIES, parse_rule
        from distkern.maths.landmarks.base import sample_outline
        from distkern.passes import Outline

        if not (self.has_gamma and isinstance(self.gamma, str)):
            return []
        if parse_rule(self.gamma)[0] == "scale":
            return [Outline(_moments_pass(layout))]
        pairs_bytes = 6 * 8 * max(STRIP_ENTRIES, layout.n_features)
        return [sample_outline(layout, _sample_size(layout), "width", pairs_bytes)]


def _sample_size(layout: RowLayout) -> int:
    return min(max(_SAMPLE_BYTES // layout.row_bytes, _LEAST_SAMPLE), _SAMPLE_ROWS)


def _moments_pass(layout: RowLayout) -> Reduce[Moments]:
    from distkern.maths.kernels.bandwidth import STRIP_ENTRIES, merged_moments
    from distkern.passes import Cost, Reduce

    strip = {"a strip and its temporaries": (6, max(STRIP_ENTRIES, layout.n_features), 8)}
    cost = Cost().holding(task=strip, result={"moments": (3, 8)})
    return Reduce("width", _moments_of, merged_moments, cost=cost)


def _moments_of(block: Block, _: None) -> Moments:
    from distkern.maths.kernels.bandwidth import moments

    return moments(block.features, block.weights)


# -- features


@dataclass(frozen=True)
class Footprint:
    """The cost of evaluating features, as far as it is known before any row is read.

    Attributes
    ----------
    size : r, an upper bound
    block_size : features evaluated at a time
    process_bytes : bytes loaded once by a process, excluding compiled loops
    is_compiled : whether compiled loops evaluate them
    operand_bytes : bytes of the basis itself
    tile_rows : rows of a tile of values, at most the rows of a block
    row_bytes : bytes of a row of a tile and of its temporaries, in a thread
    summed_row_bytes : the same if a row's features are only summed, so that not all need exist at once
    operations : operations for z(x), see :class:`~distkern.passes.Cost`; 0 if z(x) is the row itself
    factor_operations : the part of them for the factor instead of kernel values
    driver_bytes : memory of the driver for building the features
    loads_library : whether evaluating or saving them loads SciPy's statistics, also in the driver
    """

    size: int
    block_size: int
    process_bytes: int
    is_compiled: bool
    operand_bytes: int
    tile_rows: int
    row_bytes: int
    summed_row_bytes: int
    operations: float
    factor_operations: float = 0.0
    driver_bytes: int = 0
    loads_library: bool = False

    def cost(self, operations: float = 0.0, *, summed: bool = False) -> Cost:
        """Cost of a pass that evaluates the features in tiles, with ``operations`` per row.

        Parameters
        ----------
        summed : whether a row's features are only summed
        """
        from distkern.passes import Cost

        tile = self.tile_rows, self.summed_row_bytes if summed else self.row_bytes
        cost = Cost(compiled=self.is_compiled, operations=operations, driver_library=self.loads_library)
        return cost.holding(
            task={"a tile": tile, "the basis": (self.operand_bytes,)},
            process={"loaded": (self.process_bytes,)},
        )


@dataclass(frozen=True)
class AbstractFeatures(Declared, ABC):
    """A kind of features with its settings: the passes that choose it, its basis and its cost."""

    name: ClassVar[str]
    #: a clause for tables
    meaning: ClassVar[str]
    #: advice if memory is short
    memory_hint: ClassVar[str]
    #: hyperparameters of its parts
    choices: ClassVar[Mapping[str, Parameter]] = {}
    #: whether the norm of models needs a matrix of all features
    needs_matrix: ClassVar[bool] = False
    #: whether they sit at training rows that the solver finds, which few solvers support
    finds_rows: ClassVar[bool] = False
    #: whether single features of all rows can be computed, see
    #: :meth:`~distkern.maths.bases.base.AbstractBasis.over`
    has_columns: ClassVar[bool] = False
    #: whether these are read from a feature-major copy of the data
    reads_columns: ClassVar[bool] = False
    #: whether a combination of them is approximately constant
    spans_constant: ClassVar[bool] = True

    def begin(self, layout: RowLayout) -> Generator[Pass, Any, tuple[Rows, float]]:
        """Choose the data-dependent parts of the features.

        Returns
        -------
        landmarks : (n_landmarks, n_features), without rows if there are none
        gamma : the kernel's gamma, 1 if it has none
        """
        yield from ()
        return np.empty((0, layout.n_features), dtype=layout.dtype), 1.0

    def outline(self, layout: RowLayout) -> list[Outline]:
        """The passes of :meth:`begin`, for the planner."""
        return []

    @abstractmethod
    def basis(self, layout: RowLayout, landmarks: Rows, gamma: float) -> AbstractBasis:
        """The basis z for the choices of :meth:`begin`; the layout has dtype and seed."""

    @abstractmethod
    def expected_size(self, layout: RowLayout) -> int:
        """r, an upper bound."""

    @abstractmethod
    def footprint(self, layout: RowLayout) -> Footprint:
        """The cost of evaluating them."""

    def prepared_numbers(self, layout: RowLayout, size: int) -> int:
        """Numbers stored for the ``size`` features of a row."""
        return size

    @property
    def n_constant(self) -> int:
        """Number of trailing features that are the constant 1."""
        return 0

    def at_known(self, n_rows: int) -> Self:
        """These features at ``n_rows`` known rows; other kinds of features are unchanged."""
        return self

    def with_constant(self) -> AbstractFeatures:
        """These features and a constant 1."""
        from distkern.maths.features._constant import WithConstant

        return WithConstant(self)

    def spanning(self) -> Self:
        """The cheapest features with the same models and norm."""
        return self

    def in_blocks(self, width: int) -> Self:
        """The same number of features, if possible in separate blocks of ``width``."""
        return self

    def coordinates(self, basis: AbstractBasis) -> Coordinates:
        """The coordinates for Gram matrices of such a basis."""
        from distkern.maths.bases.coordinates import Coordinates

        return Coordinates(basis)

    def with_exact_sums(self) -> Self:
        """These features, if possible with the same bits for dense and sparse rows."""
        return self


@dataclass(frozen=True)
class AbstractKernelFeatures(AbstractFeatures):
    """Features of a kernel whose gamma may depend on the data."""

    kernel: KernelChoice

    choices: ClassVar[Mapping[str, Parameter]] = {"kernel": a_kernel(KERNELS), "gamma": GAMMA}

    def begin(self, layout: RowLayout) -> Generator[Pass, Any, tuple[Rows, float]]:
        none, _ = yield from super().begin(layout)
        return none, (yield from self.kernel.choose_gamma(layout))

    def outline(self, layout: RowLayout) -> list[Outline]:
        return self.kernel.outline(layout)
