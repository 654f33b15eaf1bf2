"""Scores of sparse rows against sparse landmarks, without storing zeros.

A sum over all columns of d(x_k, c_k) with d(0, 0) = 0 is

    sum_k d(x_k, 0) + sum_k d(0, c_k) + sum of d(x_k, c_k) - d(x_k, 0) - d(0, c_k) over columns of both,

so a row costs one addition for each landmark entry in one of its columns. Squared and city block distances
are such sums, and so is the logarithm of the Cauchy kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from distkern.core.compiled import argument_types, compile_loop
from distkern.core.sparse import SparseRows
from distkern.core.tiles import aligned, apply
from distkern.core.types import Floats
from distkern.maths.kernels.base import AbstractPrepared


def squared_single(value: float, _: float) -> float:
    """Return x^2."""
    return value * value


def squared_shared(row: float, landmark: float, _: float) -> float:
    """Return (x - c)^2 - x^2 - c^2, which only columns that are nonzero in both rows have."""
    return -2.0 * row * landmark


def city_single(value: float, _: float) -> float:
    """Return |x|."""
    return abs(value)


def city_shared(row: float, landmark: float, _: float) -> float:
    """Return |x - c| - |x| - |c|."""
    return abs(row - landmark) - abs(row) - abs(landmark)


def cauchy_single(value: float, gamma: float) -> float:
    """Return log(1 + gamma x^2)."""
    return math.log1p(gamma * value * value)


def cauchy_shared(row: float, landmark: float, gamma: float) -> float:
    """Return log((1 + gamma (x - c)^2) / ((1 + gamma x^2) (1 + gamma c^2)))."""
    both = math.log1p(gamma * row * row) + math.log1p(gamma * landmark * landmark)
    return math.log1p(gamma * (row - landmark) ** 2) - both


def single(value: float, parameter: float) -> float:
    """Return d(x, 0); a placeholder that :func:`~distkern.core.compiled.compile_loop` replaces."""
    raise NotImplementedError


def shared(row: float, landmark: float, parameter: float) -> float:
    """Return d(x, c) - d(x, 0) - d(0, c); a placeholder too."""
    raise NotImplementedError


def _sparse_sums(data, indices, indptr, values, members, starts, constants, parameter, scale, out):  # type: ignore[no-untyped-def]
    size = out.shape[1]
    sums = np.empty(size)
    for i in range(out.shape[0]):
        total = 0.0
        for j in range(size):
            sums[j] = constants[j]
        for entry in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[entry])
            column = indices[entry]
            total += single(value, parameter)
            for position in range(starts[column], starts[column + 1]):
                sums[members[position]] += shared(value, np.float64(values[position]), parameter)
        for j in range(size):
            out[i, j] = -scale * max(total + sums[j], 0.0)


@cache
def sparse_sums(
    dtype: np.dtype[Any], single: Callable[..., float], shared: Callable[..., float]
) -> Callable[..., None]:
    """Compile out[i, j] = -scale max(0, sum of ``single`` over row i + constants[j] + sum of ``shared``).

    The last sum is over the columns of both. Sums are float64, in the order of the columns. Arguments:
    ``data``, ``indices`` and ``indptr`` of the rows; ``values``, ``members`` (landmark numbers) and
    ``starts`` (n_features + 1) of the landmarks by columns; ``constants`` (r,); the parameter of d; the
    scale; ``out``.
    """
    text = "x[:] i4[:] i8[:] x[:] i4[:] i4[:] f8[:] f8 f8 x[:, :]!"
    arguments = argument_types(text, x=dtype)
    return compile_loop(_sparse_sums, arguments, helpers={"single": single, "shared": shared}, exact=True)


@dataclass(frozen=True)
class AbstractSparseScores(AbstractPrepared):
    """Scores -scale sum_k d(x_k, c_k).

    Attributes
    ----------
    values, members : (n_entries,) entries of the landmarks by columns, and their landmarks
    starts : (n_features + 1,) first entry of each column
    constants : (r,) float64 sum_k d(0, c_k) for each landmark
    parameter : parameter of d
    """

    values: Floats
    members: NDArray[np.int32]
    starts: NDArray[np.int32]
    constants: NDArray[np.float64]
    parameter: float
    scale: float

    single: ClassVar[Any]
    shared: ClassVar[Any]

    @classmethod
    def of(cls, landmarks: SparseRows, scale: float, parameter: float = 0.0) -> Self:
        order = np.argsort(landmarks.indices, kind="stable")
        counts = np.bincount(landmarks.indices, minlength=landmarks.n_features)
        members = landmarks.row_of_entries
        terms = [cls.single(value, parameter) for value in landmarks.data.tolist()]
        return cls(
            np.ascontiguousarray(landmarks.data[order]),
            members[order].astype(np.int32),
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int32),
            np.bincount(members, np.array(terms, dtype=np.float64), minlength=len(landmarks)).astype(
                np.float64
            ),
            parameter,
            scale,
        )

    def scores(self, features: SparseRows, out: Floats) -> None:
        kind = type(self)
        rows = (features.data, features.indices, features.indptr)
        arrays = aligned(*rows, self.values, self.members, self.starts, self.constants)
        sparse_sums(features.dtype, kind.single, kind.shared)(*arrays, self.parameter, self.scale, out)


@dataclass(frozen=True)
class SparseSquaredDistance(AbstractSparseScores):
    """Scores -scale |x - c|^2."""

    single = staticmethod(squared_single)
    shared = staticmethod(squared_shared)


@dataclass(frozen=True)
class SparseCityBlock(AbstractSparseScores):
    """Scores -scale |x - c|_1."""

    single = staticmethod(city_single)
    shared = staticmethod(city_shared)


@dataclass(frozen=True)
class SparseCauchy(AbstractPrepared):
    """Scores 1 - prod_k (1 + gamma (x_k - c_k)^2)."""

    logarithms: _LogCauchy

    @classmethod
    def of(cls, landmarks: SparseRows, gamma: float) -> Self:
        return cls(_LogCauchy.of(landmarks, 1.0, gamma))

    def scores(self, features: SparseRows, out: Floats) -> None:
        self.logarithms.scores(features, out)
        # avoid overflow where the kernel vanishes
        apply(np.clip, out, -85.0, 0.0, into=out)
        apply(np.negative, out, into=out)
        apply(np.expm1, out, into=out)
        apply(np.negative, out, into=out)


@dataclass(frozen=True)
class _LogCauchy(AbstractSparseScores):
    """Scores -sum_k log(1 + gamma (x_k - c_k)^2)."""

    single = staticmethod(cauchy_single)
    shared = staticmethod(cauchy_shared)
