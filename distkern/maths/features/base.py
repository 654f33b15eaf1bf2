"""What a kind of explicit features z(x) is, before any row has been read.

To add one, write a file in this folder with a frozen dataclass that derives from :class:`AbstractFeatures`
and gives itself a ``name``. Its fields made by :func:`~distkern.core.parameters.parameter` are
hyperparameters of every algorithm over features.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from distkern.core.parameters import Declared, Parameter
from distkern.core.sparse import Rows
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.bases.coordinates import Coordinates
from distkern.maths.features.kernel_choice import GAMMA, KernelChoice, a_kernel
from distkern.maths.kernels import KERNELS
from distkern.maths.landmarks.base import RowLayout
from distkern.passes import Cost, Outline, Pass


@dataclass(frozen=True)
class Footprint:
    """What evaluating the features takes, as far as it is known before any row is read.

    Attributes
    ----------
    size : r, an upper bound
    block_size : features that are made at a time
    process_bytes : what a process loads once, compiled loops apart
    is_compiled : whether compiled loops make them
    operand_bytes : bytes of the basis itself, where it is evaluated
    tile_rows : rows of a tile of values, at most the rows of a block
    row_bytes : bytes of a row of a tile and of making it, in a thread
    summed_row_bytes : the same where a row's features are only summed, so that not all need exist at once
    operations : operations of making z(x), see :class:`~distkern.passes.Cost`; 0 where it is the row itself
    factor_operations : the share of them that is spent on the factor, and not on kernel values
    driver_bytes : memory of the driver that building the features takes
    loads_library : what makes them loads SciPy's statistics, in the driver too, which stores them
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
        """Cost of a pass that evaluates them tile by tile, with ``operations`` per row.

        Parameters
        ----------
        summed : a row's features are only summed
        """
        tile = self.tile_rows, self.summed_row_bytes if summed else self.row_bytes
        cost = Cost(compiled=self.is_compiled, operations=operations, driver_library=self.loads_library)
        return cost.holding(
            task={"a tile": tile, "the basis": (self.operand_bytes,)},
            process={"loaded": (self.process_bytes,)},
        )


@dataclass(frozen=True)
class AbstractFeatures(Declared, ABC):
    """A kind of features, with its settings: which passes choose it, which basis it is, what that takes."""

    name: ClassVar[str]
    #: for tables, a clause
    meaning: ClassVar[str]
    #: what to change where there is not enough memory
    memory_hint: ClassVar[str]
    #: hyperparameters of its parts, beside its own
    choices: ClassVar[Mapping[str, Parameter]] = {}
    #: whether the norm of their models takes a matrix of all of them
    needs_matrix: ClassVar[bool] = False
    #: whether they are made at training rows that the solver finds, so that few solvers can take them
    finds_rows: ClassVar[bool] = False
    #: whether single features of all rows can be had, see
    #: :meth:`~distkern.maths.bases.base.AbstractBasis.over`
    has_columns: ClassVar[bool] = False
    #: whether these are read from a feature-major copy of the data
    reads_columns: ClassVar[bool] = False
    #: whether a combination of them is about constant
    spans_constant: ClassVar[bool] = True

    def begin(self, layout: RowLayout) -> Generator[Pass, Any, tuple[Rows, float]]:
        """Choose what the features need of the data.

        Returns
        -------
        landmarks : (n_landmarks, n_features), without rows where there are none
        gamma : the kernel's gamma, 1 where it has none
        """
        yield from ()
        return np.empty((0, layout.n_features), dtype=layout.dtype), 1.0

    def outline(self, layout: RowLayout) -> list[Outline]:
        """The passes of :meth:`begin` with nothing in them yet and how often each is made."""
        return []

    @abstractmethod
    def basis(self, layout: RowLayout, landmarks: Rows, gamma: float) -> AbstractBasis:
        """z, from the choices of :meth:`begin`; dtype and seed come from the rows."""

    @abstractmethod
    def expected_size(self, layout: RowLayout) -> int:
        """r, an upper bound."""

    @abstractmethod
    def footprint(self, layout: RowLayout) -> Footprint:
        """What evaluating them takes."""

    def prepared_numbers(self, layout: RowLayout, size: int) -> int:
        """Numbers that the ``size`` features of a row take up."""
        return size

    @property
    def n_constant(self) -> int:
        """How many of the features are the constant 1: the last ones."""
        return 0

    def at_known(self, n_rows: int) -> Self:
        """These features at rows that are already chosen; other kinds of features stay as they are."""
        return self

    def with_constant(self) -> AbstractFeatures:
        """These features and a last one that is 1."""
        from distkern.maths.features._constant import WithConstant

        return WithConstant(self)

    def spanning(self) -> Self:
        """Features of the same models, with the same norm, whose values at a row cost least."""
        return self

    def in_blocks(self, width: int) -> Self:
        """The same number of features, in blocks that can be made alone where possible."""
        return self

    def coordinates(self, basis: AbstractBasis) -> Coordinates:
        """The coordinates in which Gram matrices of such a basis are summed."""
        return Coordinates(basis)

    def with_exact_sums(self) -> Self:
        """These features with sums whose bits do not depend on the form of the rows, where there are such."""
        return self


@dataclass(frozen=True)
class AbstractKernelFeatures(AbstractFeatures):
    """Features of a kernel, whose gamma may still have to be read off the data."""

    kernel: KernelChoice

    choices: ClassVar[Mapping[str, Parameter]] = {"kernel": a_kernel(KERNELS), "gamma": GAMMA}

    def begin(self, layout: RowLayout) -> Generator[Pass, Any, tuple[Rows, float]]:
        none, _ = yield from super().begin(layout)
        return none, (yield from self.kernel.choose_gamma(layout))

    def outline(self, layout: RowLayout) -> list[Outline]:
        return self.kernel.outline(layout)
