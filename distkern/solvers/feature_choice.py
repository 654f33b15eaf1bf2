"""Which explicit features z(x) a linear model is trained on, before any row has been read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distkern.bases.base import AbstractBasis
from distkern.bases.landmarks import LandmarkBasis
from distkern.bases.random_features import RandomFeatureBasis
from distkern.core.errors import InputError, unknown_name
from distkern.core.sparse import COMPILED_BYTES, Rows, comparing_bytes
from distkern.kernels.base import AbstractKernel
from distkern.landmarks.base import AbstractLandmarkRule
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.kernel_choice import KernelChoice, layout_of

KINDS = ("random", "nystroem", "linear", "landmarks")


@dataclass(frozen=True)
class Footprint:
    """What evaluating the features takes, as far as it is known before any row is read.

    Attributes
    ----------
    size : r, an upper bound
    block_size : features that are made at a time
    process_bytes : what a process loads once
    operand_bytes : of the basis itself, where it is evaluated
    flops_per_row, entries_per_row : of making z(x), as in :class:`~distkern.passes.Cost`
    """

    size: int
    block_size: int
    process_bytes: int
    operand_bytes: int
    flops_per_row: float
    entries_per_row: float


@dataclass(frozen=True)
class FeatureChoice:
    """The features z(x) of x.

    Parameters
    ----------
    kind : "random": random features of the kernel. "nystroem": k(x, L) K_LL^(-1/2) for landmarks L, whose
        products are the kernel's projection on them. "landmarks": k(x, c) at each landmark c, as they are.
        "linear": x itself; kernel, n_features, sampler and landmarks are then not looked at
    kernel : the kernel, with gamma or a rule for it; gamma is not looked at where the kernel has none
    n_features : of "random"; even where features come in pairs
    sampler : of "random"
    landmarks : of "nystroem" and "landmarks": the rule that chooses them, which knows their number
    seed : of the random features; None: the problem's
    constant : of "linear": a last feature that is 1

    Raises
    ------
    InputError
        If the kind is unknown, or a part that it needs is missing.
    """

    kind: str = "random"
    kernel: KernelChoice | None = None
    n_features: int = 1024
    sampler: str = "monte_carlo"
    landmarks: AbstractLandmarkRule | None = None
    seed: int | None = None
    constant: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name("kind of features", self.kind, KINDS)
        if self.kind != "linear" and self.kernel is None:
            raise InputError(f"{self.kind!r} features need a kernel", where="features", mend="name a kernel")
        if self.has_landmarks and self.landmarks is None:
            raise InputError(
                f"{self.kind!r} features need landmarks", where="features", mend="give a rule for landmarks"
            )

    @property
    def has_landmarks(self) -> bool:
        """Whether the features are made of landmarks."""
        return self.kind in ("nystroem", "landmarks")

    def kernel_at(self, gamma: float) -> AbstractKernel:
        """The kernel itself; gamma is left out where it has none."""
        assert self.kernel is not None
        return self.kernel.with_gamma(gamma)

    def begin(self, problem: Problem) -> Steps[tuple[Rows, float]]:
        """Choose what the features need of the data.

        Returns
        -------
        landmarks : (n_landmarks, n_features), without rows where there are none
        gamma : of the kernel, 1 where it has none
        """
        layout, gamma = layout_of(problem), 1.0
        if self.kind != "linear":
            assert self.kernel is not None
            gamma = yield from self.kernel.choose_gamma(layout)
        if not self.has_landmarks:
            return np.empty((0, problem.n_features), dtype=problem.dtype), gamma
        assert self.landmarks is not None
        return (yield from self.landmarks.choose(layout)), gamma

    def basis(
        self, n_input: int, dtype: np.dtype[Any], landmarks: Rows, gamma: float, seed: int,
        *, sparse_rows: bool = False,
    ) -> AbstractBasis:  # fmt: skip
        """The features that :meth:`begin` has chosen; ``seed`` is the problem's."""
        if self.kind == "linear":
            from distkern.bases.linear import LinearBasis

            return LinearBasis(n_input, dtype, constant=self.constant)
        kernel = self.kernel_at(gamma)
        if self.kind == "random":
            return RandomFeatureBasis(
                kernel, n_input, self.n_features, seed if self.seed is None else self.seed,
                sampler=self.sampler, dtype=dtype, sparse_rows=sparse_rows,
            )  # fmt: skip
        points = landmarks if landmarks.dtype == dtype else landmarks.astype(dtype)
        if self.kind == "landmarks":
            return LandmarkBasis(kernel, points)
        from distkern.bases.nystroem import NystroemBasis

        return NystroemBasis(kernel, points)

    def basis_for(self, problem: Problem, landmarks: Rows, gamma: float) -> AbstractBasis:
        """:meth:`basis` for the rows of a problem."""
        return self.basis(
            problem.n_features, problem.dtype, landmarks, gamma, problem.seed,
            sparse_rows=problem.sparse_numbers is not None,
        )  # fmt: skip

    def expected_size(self, problem: Problem) -> int:
        """r, an upper bound."""
        if self.kind == "linear":
            return problem.n_features + self.constant
        if self.kind == "random":
            return self.n_features
        assert self.landmarks is not None
        return self.landmarks.expected_size(layout_of(problem))

    def with_constant(self) -> FeatureChoice:
        """The same with a constant feature, where no combination of the features is about constant."""
        return replace(self, constant=True) if self.kind == "linear" else self

    def prepared_numbers(self, problem: Problem, size: int) -> int:
        """Numbers that a row's features take up, of which there are ``size``."""
        if self.kind != "linear":
            return size
        return problem.row_numbers + self.constant * (1 if problem.sparse_numbers is None else 2)

    def outline_begin(self, problem: Problem) -> list[Outline]:
        """The passes of :meth:`begin`."""
        layout, passes = layout_of(problem), []
        if self.kind != "linear":
            assert self.kernel is not None
            passes += self.kernel.outline(layout)
        if self.has_landmarks:
            assert self.landmarks is not None
            passes += [Outline(step, times) for step, times in self.landmarks.outline(layout)]
        return passes

    def footprint(self, problem: Problem) -> Footprint:
        """What evaluating the features takes."""
        size, numbers, itemsize = self.expected_size(problem), problem.row_numbers, problem.dtype.itemsize
        if self.kind == "linear":
            return Footprint(size, size, 0, 0, 0.0, 0.0)
        if self.kind == "random":
            basis = self.basis_for(problem, np.empty((0, problem.n_features)), 1.0)
            assert isinstance(basis, RandomFeatureBasis)
            flops = 2.0 * size * numbers / basis.kernel.columns_per_draw
            return Footprint(size, basis.block_size, basis.process_bytes, 0, flops, float(size))
        sparse = problem.sparse_numbers is not None
        process_bytes = COMPILED_BYTES + comparing_bytes(problem.n_features) if sparse else 0
        whitening = size if self.kind == "nystroem" else 0
        return Footprint(
            size, size, process_bytes, size * (2 * numbers * itemsize + whitening * (8 + itemsize)),
            2.0 * size * (numbers + 2 + whitening), float(size),
        )  # fmt: skip
