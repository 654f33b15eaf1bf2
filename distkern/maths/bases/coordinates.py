"""Coordinates for Newton's method over a basis: its functions, or better conditioned ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import Rows
from distkern.core.tiles import apply, copied, matmul, scratch
from distkern.core.types import Array, Floats
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.bases.landmarks import LandmarkBasis
from distkern.maths.bases.linear import LinearBasis

#: residuals of landmarks below this share of the largest kernel value are rounding, by the bytes of a number
_CUT = {4: 1e-5, 8: 1e-13}
#: rounding of a product of values of mean square 1 in a sum over all rows, per root of r
_NOISE = {4: 1e-6, 8: 1e-16}
#: share of the functions whose residuals may drown in rounding: steps make up for few directions
_DROWNED = 0.02
#: functions orthonormalised at once
_PANEL = 256
#: damping of this many times a direction's curvature keeps it at 0
_HELD = 100.0
#: share of a column's squares that is rounding around its mean
_ROUNDING = 1e-9
#: random vectors that a trace averages over
_PROBES = 16


class Coordinates:
    """The coordinates of the functions themselves: coef = c.

    Attributes
    ----------
    basis : its values are summed, and its norm regularises the coefficients c
    """

    basis: AbstractBasis
    #: the order of the landmarks, which may depend on rounding
    pivots: NDArray[np.int64] = np.zeros(0, np.int64)

    def __init__(self, basis: AbstractBasis) -> None:
        self.basis = basis

    def outward(self, own: Array) -> Array:
        """T c, (size, n_outputs): the coefficients of the functions."""
        return own

    def inward(self, coefficients: Array) -> Array:
        """c, for coefficients T c."""
        return coefficients

    def gradient(self, outer: Array) -> Array:
        """T' g: the gradient in c, given g in the coefficients."""
        return outer

    def dual(self, gradient: Array) -> Array:
        """M^-1 g, (size, n_outputs), with the norm |w|^2 = c' M c."""
        return gradient

    def trace(self, matrix: Array) -> float:
        """trace(M^-1 A): the sum of |z(x)|^2 for a Gram matrix A; approximate unless M = I."""
        return float(np.trace(matrix))

    def damping(self, matrix: Array, damping: float) -> tuple[float, Array]:
        """The amount added to nu to damp a Gram matrix (size, size), and the weights d, (size, 1), of an
        additional sum_j d_j c_j^2 / 2, or (0, 1).
        """
        return damping, np.zeros((0, 1))


def holds_most(damping: float, squares: Array) -> bool:
    """Whether adding ``damping`` to the mean squares of columns keeps most nonzero columns at 0."""
    there = squares[squares > 0]
    return bool(len(there)) and damping > _HELD * float(np.median(there))


def spreads(squares: Array, sums: Array) -> Array:
    """Squares of columns around their means, (size, 1), given squares and sums of the columns.

    The last column is constant and keeps its square. Rounding in other constant columns is set to 0.
    """
    found: Array = squares - np.square(sums) / (float(sums[-1, 0]) or 1.0)
    found[found <= _ROUNDING * squares] = 0.0
    found[-1] = squares[-1]
    return found


class ColumnCoordinates(Coordinates):
    """The coordinates of columns, which may have very different units or lie far from 0."""

    def damping(self, matrix: Array, damping: float) -> tuple[float, Array]:
        diagonal = matrix.diagonal()[:, None]
        spread = diagonal
        if isinstance(self.basis, LinearBasis) and self.basis.constant:
            spread = spreads(diagonal, matrix[-1][:, None])
        if not holds_most(damping, spread):
            return super().damping(matrix, damping)
        # otherwise most columns would stay at 0, so damp each in its own unit, and columns of zeros like the
        # mean
        mean = float(diagonal.mean())
        return 0.0, damping * np.where(spread > 0, spread / (mean or 1.0), 1.0)


class KernelCoordinates(Coordinates):
    """Coordinates of kernels at landmarks, by a Cholesky factor K_PP = L L' with pivots (Higham 1990).

    Landmarks P are linearly independent up to rounding; the others have coefficients 0. With the first q of
    them, as many as are needed to resolve the last ones, the functions are

        z_1 = L_11^-1 k_1,    z_2 = D (k_2 - L_21 z_1),

    orthonormal ones and residuals of norm 1. Single precision resolves both, while the Gram matrix of nearly
    equal kernels is rounding in all but a few directions.

    Parameters
    ----------
    kernels : kernels at r landmarks

    Raises
    ------
    InputError
        If the kernel is 0 at all landmarks.
    """

    def __init__(self, kernels: LandmarkBasis) -> None:
        from scipy.linalg.lapack import dpstrf

        itemsize = kernels.dtype.itemsize
        exact = LandmarkBasis(kernels.kernel, kernels.landmarks.astype(np.float64))
        gram = np.empty((exact.size, exact.size), order="F")
        for tile in exact.tiles(exact.landmarks):
            gram[:, tile.rows] = tile.values.T
        largest = float(gram.diagonal().max())
        if not largest > 0.0:
            raise InputError(f"kernel {kernels.kernel.name} is 0 at all landmarks", where="landmarks")
        square = float(np.square(gram).mean())
        factor, order, rank, _ = dpstrf(gram, lower=1, tol=_CUT[itemsize] * largest, overwrite_a=1)
        factor = np.tril(factor[:rank, :rank])
        first = _orthonormal(factor, square / largest**2, _NOISE[itemsize])
        self._size, self._kept, self._first = exact.size, order[:rank] - 1, first
        self.pivots = np.append(self._kept, first).astype(np.int64)
        self._factor = factor
        rest = factor[first:, first:]
        self._lengths = np.sqrt(np.einsum("ij,ij->i", rest, rest))
        self._rest = rest / self._lengths[:, None]
        points = LandmarkBasis(kernels.kernel, kernels.landmarks[self._kept])
        super().__init__(OrthonormalKernels(points, factor, first, self._lengths, self._rest))

    def outward(self, own: Array) -> Array:
        from scipy.linalg import solve_triangular

        last = own[self._first :] / self._lengths[:, None]
        lower, cross = self._factor[: self._first, : self._first], self._factor[self._first :, : self._first]
        found = np.zeros((self._size, own.shape[1]))
        leading = own[: self._first] - cross.T @ last
        found[self._kept[: self._first]] = solve_triangular(lower, leading, trans=1, lower=True)
        found[self._kept[self._first :]] = last
        return found

    def inward(self, coefficients: Array) -> Array:
        kept = coefficients[self._kept]
        factor, last = self._factor[:, : self._first], kept[self._first :]
        return np.vstack([factor.T @ kept, self._lengths[:, None] * last])

    def gradient(self, outer: Array) -> Array:
        from scipy.linalg import solve_triangular

        kept = outer[self._kept]
        lower, cross = self._factor[: self._first, : self._first], self._factor[self._first :, : self._first]
        leading = solve_triangular(lower, kept[: self._first], lower=True)
        return np.vstack([leading, (kept[self._first :] - cross @ leading) / self._lengths[:, None]])

    def dual(self, gradient: Array) -> Array:
        from scipy.linalg import cho_solve

        if self._first == len(gradient):
            return gradient
        last = cho_solve((self._rest, True), gradient[self._first :])
        return np.vstack([gradient[: self._first], last])

    def trace(self, matrix: Array) -> float:
        from scipy.linalg import solve_triangular

        first = self._first
        exact = float(np.trace(matrix[:first, :first]))
        if first == len(matrix):
            return exact
        # by random signs (Hutchinson 1990), since the inverse takes r^3 operations
        signs = np.random.default_rng(0).choice([-1.0, 1.0], (len(matrix) - first, _PROBES))
        probes = solve_triangular(self._rest, signs, trans=1, lower=True)
        return exact + float(np.einsum("ij,ij->", probes, matrix[first:, first:] @ probes)) / _PROBES


def _orthonormal(factor: Array, square: float, noise: float) -> int:
    """q: the fewest functions for which noise in the residuals' Gram matrix is below the last residuals.

    The mean square of a residual's values is assumed to be the kernel's, ``square``, times the squared
    remaining share of its norm.
    """
    columns = np.square(factor).sum(axis=0)
    left = np.cumsum(columns[::-1])[::-1] / np.arange(len(columns), 0, -1)
    last = np.square(factor[-1 - int(_DROWNED * len(factor)), -1 - int(_DROWNED * len(factor))])
    drowned = noise * math.sqrt(len(factor)) * square * np.square(left) > last**2
    return int(np.count_nonzero(drowned))


class OrthonormalKernels(AbstractBasis):
    """The functions z of :class:`KernelCoordinates`.

    Parameters
    ----------
    kernels : kernels at the landmarks P, in their order
    factor : L
    first : q
    lengths : 1 / D
    rest : the factor of the residuals' Gram matrix
    """

    is_wide = True

    def __init__(
        self, kernels: LandmarkBasis, factor: Array, first: int, lengths: Array, rest: Array
    ) -> None:
        self.kernels, self.first, self._rest, self._lengths = kernels, first, rest, lengths
        self._below = factor[first:, :first]
        self._cross = factor[:, :first].astype(self.dtype)
        self._scales = (1.0 / lengths).astype(self.dtype)
        self._panels = [
            np.linalg.inv(factor[own, own]).T.astype(self.dtype, order="C") for own in self._starts()
        ]

    def _starts(self) -> Iterator[slice]:
        for start in range(0, self.first, _PANEL):
            yield slice(start, min(start + _PANEL, self.first))

    @property
    def size(self) -> int:
        return self.kernels.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.kernels.dtype

    @property
    def process_bytes(self) -> int:
        return self.kernels.process_bytes

    @property
    def is_compiled(self) -> bool:
        return self.kernels.is_compiled

    def fill(self, features: Rows, values: Floats) -> None:
        self.kernels.fill(features, values)
        for own, inverse in zip(self._starts(), self._panels, strict=True):
            left = self._residuals(values, own)
            copied(matmul(left, inverse, into=scratch("panel", left.shape, self.dtype)), into=left)
        if self.first:
            rest = self._residuals(values, slice(self.first, self.size))
            apply(np.multiply, rest, self._scales, into=rest)
        else:
            apply(np.multiply, values, self._scales, into=values)

    def _residuals(self, values: Floats, own: slice) -> Floats:
        """Subtract from some columns their projection on the orthonormal ones before them."""
        left = values[:, own]
        before = min(own.start, self.first)
        if before and left.shape[1]:
            share: Floats = scratch("explained", left.shape, self.dtype)
            matmul(values[:, :before], self._cross[own, :before].T, into=share)
            apply(np.subtract, left, share, into=left)
        return left

    def metric_product(self, coefficients: Array) -> Array:
        last = coefficients[self.first :]
        return np.vstack([coefficients[: self.first], self._rest @ (self._rest.T @ last)])

    def add_metric(self, matrices: Sequence[Array], weight: float) -> None:
        first = self.first
        places = np.arange(first)
        for matrix in matrices:
            matrix[places, places] += weight
        exact = LandmarkBasis(self.kernels.kernel, self.kernels.landmarks.astype(np.float64))
        for tile in exact.tiles(exact.landmarks[first:]):
            own = self._below[tile.rows]
            share = tile.values[:, first:] - own @ self._below.T
            share *= weight / self._lengths[tile.rows, None]
            share /= self._lengths
            for matrix in matrices:
                matrix[first:][tile.rows, first:] += share

    def __getstate__(self) -> dict[str, Any]:
        # workers only compute values
        return {name: value for name, value in vars(self).items() if name not in ("_rest", "_below")}
