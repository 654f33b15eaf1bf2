"""Fastfood: frequencies that are never stored."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.sparse import Rows, write_dense
from distkern.core.tiles import apply, matmul, scratch
from distkern.core.types import Floats
from distkern.maths.samplers.base import AbstractSampler, CounterStream, Draws, radial_only
from distkern.maths.samplers.frequencies import AbstractFrequencies
from distkern.maths.samplers.normal import normal_quantiles

#: numbers of a tile that are transformed together
_AT_ONCE = 2**17


@dataclass(frozen=True)
class Fastfood(AbstractSampler):
    """Frequencies V = S H G P H B / sqrt(n |G|^2) of n = 2^k >= n_input (Le, Sarlos and Smola 2013).

    B are random signs, P a random permutation, G standard normal numbers, H the Hadamard matrix, S
    chi-distributed lengths with n degrees of freedom. A draw costs O(log n_input) a row instead of
    O(n_input), and 5 numbers of memory. Its kernel error is up to a third larger than with independent draws
    (measured), so it pays from about 1000 columns on. A block has ceil(F / n) such stacks.
    """

    name = "fastfood"
    process_bytes: ClassVar[int] = 28 * 2**20

    def row_bytes(self, n_input: int) -> int:
        # reduced arguments in float64
        return 40 * max(_width(n_input), super().block_draws(n_input))

    def block_draws(self, n_input: int) -> int:
        return max(super().block_draws(n_input), _width(n_input))

    def uniforms(self, draws: Draws, per_draw: int) -> NDArray[np.float64]:
        raise radial_only(self.name)

    def gaussians(self, draws: Draws, n_extra: int = 0) -> tuple[AbstractFrequencies, NDArray[np.float64]]:
        width = _width(draws.n_input)
        n_stacks = -(-draws.n_draws // width)
        padded = Draws(self, draws.seed, draws.block, n_stacks * width, draws.n_input)
        shape = (n_stacks, width)
        normals = normal_quantiles(padded.independent(CounterStream.POINTS, 1)).reshape(shape)
        # imported here to save memory in workers
        from scipy.special import gammaincinv

        squares = 2.0 * gammaincinv(0.5 * width, padded.independent(CounterStream.RADII, 1)).reshape(shape)
        lengths = np.sqrt(squares / (width * np.square(normals).sum(axis=1, keepdims=True)))
        frequencies = FastfoodFrequencies(
            signs=padded.signs(CounterStream.SIGNS, 1).reshape(shape),
            order=np.argsort(padded.words(CounterStream.BUCKETS, 1).reshape(shape), axis=1, kind="stable"),
            normals=normals,
            lengths=lengths,
            wanted=draws.positions,
        )
        return frequencies, normal_quantiles(draws.independent(CounterStream.FACTORS, n_extra))


@dataclass(frozen=True)
class FastfoodFrequencies(AbstractFrequencies):
    """The diagonals and permutations (n_stacks, n) of the stacks, and the selected draws."""

    signs: Floats
    order: NDArray[np.intp]
    normals: Floats
    lengths: Floats
    wanted: NDArray[np.intp]

    @property
    def n_draws(self) -> int:
        return int(self.wanted.size)

    @property
    def nbytes(self) -> int:
        arrays = (self.signs, self.order, self.normals, self.lengths, self.wanted)
        return int(sum(array.nbytes for array in arrays))

    def scaled(self, factors: float | NDArray[np.float64]) -> FastfoodFrequencies:
        lengths = self.lengths.copy()
        lengths.reshape(-1)[self.wanted] *= factors
        return replace(self, lengths=lengths)

    def astype(self, dtype: DTypeLike) -> FastfoodFrequencies:
        return replace(
            self,
            signs=self.signs.astype(dtype),
            normals=self.normals.astype(dtype),
            lengths=self.lengths.astype(dtype),
        )

    def take(self, draws: NDArray[np.intp]) -> FastfoodFrequencies:
        width = self.signs.shape[1]
        stacks, among = np.unique(self.wanted[draws] // width, return_inverse=True)
        return FastfoodFrequencies(
            self.signs[stacks],
            self.order[stacks],
            self.normals[stacks],
            self.lengths[stacks],
            among * width + self.wanted[draws] % width,
        )

    def project(self, rows: Rows, out: Floats) -> None:
        at_once = max(_AT_ONCE // self.signs.size, 1)
        for start in range(0, rows.shape[0], at_once):
            self._project(rows[start : start + at_once], out[start : start + at_once])

    def _project(self, rows: Rows, out: Floats) -> None:
        n_stacks, width = self.signs.shape
        n_rows = rows.shape[0]
        tile = write_dense(rows, scratch("dense tile", (n_rows, width), out.dtype))
        shape = (n_rows, n_stacks * width)
        mixed: Floats = scratch("fastfood mixed", shape, out.dtype)
        spread: Floats = scratch("fastfood spread", shape, out.dtype)
        apply(np.multiply, tile[:, None, :], self.signs, into=mixed.reshape(n_rows, n_stacks, width))
        hadamard(mixed.reshape(-1, width))
        places = self.order + np.arange(0, self.order.size, width)[:, None]
        # mode "clip" writes into ``out`` directly; all positions are valid
        apply(np.take, mixed, places.reshape(-1), axis=1, into=spread, mode="clip")
        spread *= self.normals.reshape(-1)
        hadamard(spread.reshape(-1, width))
        spread *= self.lengths.reshape(-1)
        if np.array_equal(self.wanted, np.arange(self.n_draws)):
            out[...] = spread[:, : self.n_draws]
        else:
            out[...] = spread[:, self.wanted]


def hadamard(values: Floats) -> None:
    """Multiply each row (n_rows, n), n a power of two, by the Hadamard matrix of order n, in place.

    H is a Kronecker product of two matrices of about sqrt(n) columns, applied as two matrix products: 2
    sqrt(n) operations a number at the speed of BLAS instead of log n passes over memory. The result's columns
    are in another fixed order than H's (inner before outer), which saves a transposition and does not matter
    before random permutations and lengths.
    """
    n_rows, width = values.shape
    inner = 1 << (width.bit_length() // 2)
    outer = width // inner
    first: Floats = scratch("hadamard", (n_rows * outer, inner), values.dtype)
    matmul(values.reshape(-1, inner), _matrix(inner, values.dtype), into=first)
    turned: Floats = scratch("hadamard turned", (n_rows, inner, outer), values.dtype)
    turned[...] = first.reshape(n_rows, outer, inner).transpose(0, 2, 1)
    matmul(turned.reshape(-1, outer), _matrix(outer, values.dtype), into=values.reshape(-1, outer))


def _width(n_input: int) -> int:
    """The least power of two >= ``n_input``."""
    return 1 << max(n_input - 1, 0).bit_length()


@lru_cache
def _matrix(order: int, dtype: np.dtype[Any]) -> Floats:
    matrix = np.ones((1, 1), dtype=dtype)
    while len(matrix) < order:
        matrix = np.block([[matrix, matrix], [matrix, -matrix]])
    return matrix
