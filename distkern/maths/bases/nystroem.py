"""Nystroem features: orthonormalised kernels at landmarks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import Rows
from distkern.core.tiles import matmul, scratch
from distkern.core.types import Floats
from distkern.maths.bases.base import AbstractBasis, SlopesAt, Tile, row_bytes
from distkern.maths.bases.landmarks import LandmarkBasis
from distkern.maths.kernels.base import AbstractKernel

#: eigenvalues of K_LL below this share of the largest are treated as 0
_CUT = 1e-7


def nystroem_row_bytes(size: int, row_numbers: int, itemsize: int) -> int:
    """Bytes of a row of a tile: the kernel values and the features."""
    return row_bytes(size, row_numbers, itemsize) + size * itemsize


class NystroemBasis(AbstractBasis):
    """z(x) = K_LL^(-1/2) k(L, x), so that z(x) . z(y) = k(x, y) if x or y is a landmark.

    The symmetric root of the pseudo-inverse is computed from eigenvalues in float64 (Williams and Seeger
    2001): z has one column per landmark at any rank; eigenvalues below 1e-7 of the largest are treated as 0,
    the precision of kernel values in float32. A model over z is evaluated as one over the kernels at
    landmarks, with the coefficients of :meth:`landmark_coefficients`.

    Parameters
    ----------
    kernel : a kernel with tiles of values
    landmarks : (r, n_features), an array or sparse rows, in the dtype of the features

    Raises
    ------
    InputError
        If the kernel has no tiles of values, is not defined for a landmark, or is 0 at all of them.
    """

    is_wide = True

    def __init__(self, kernel: AbstractKernel, landmarks: Rows) -> None:
        kernel.check_domain(landmarks, where="landmarks")
        self.kernel_values = LandmarkBasis(kernel, landmarks)
        exact = LandmarkBasis(kernel, landmarks.astype(np.float64))
        gram = np.empty((exact.size, exact.size))
        for _ in exact.tiles(exact.landmarks, into=gram):
            pass
        eigenvalues, vectors = np.linalg.eigh(0.5 * (gram + gram.T))
        largest = float(eigenvalues[-1])
        if not largest > 0.0:
            raise InputError(f"kernel {kernel.name} is 0 at all landmarks", where="landmarks")
        kept = eigenvalues > _CUT * largest
        root = vectors[:, kept] / eigenvalues[kept] ** 0.25
        self.rank = int(np.count_nonzero(kept))
        self._factor = root @ root.T

    @property
    def kernel(self) -> AbstractKernel:
        """The kernel."""
        return self.kernel_values.kernel

    @property
    def landmarks(self) -> Rows:
        """(r, n_features)."""
        return self.kernel_values.landmarks

    @property
    def size(self) -> int:
        return self.kernel_values.size

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.kernel_values.dtype

    @property
    def process_bytes(self) -> int:
        return self.kernel_values.process_bytes + self._factor.nbytes + self.size**2 * self.dtype.itemsize

    @property
    def is_compiled(self) -> bool:
        return self.kernel_values.is_compiled

    def workspace_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        return (n_rows or self.tile_rows) * nystroem_row_bytes(self.size, row_numbers, self.dtype.itemsize)

    def combining_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        return self.kernel_values.combining_bytes(row_numbers, n_rows)

    def fill(self, features: Rows, values: Floats) -> None:
        self.kernel.check_domain(features)
        shape = (features.shape[0], self.size)
        kernels: Floats = scratch("nystroem kernels", shape, self.dtype)
        self.kernel_values.fill(features, kernels)
        matmul(kernels, self._narrow, into=values)

    def column_tiles(self, features: Rows, runs: Sequence[slice]) -> Iterator[tuple[int, Tile]]:
        self.kernel.check_domain(features)
        for tile in self.kernel_values.tiles(features, tile_rows=self.tile_rows):
            for number, run in enumerate(runs):
                shape = (len(tile.values), run.stop - run.start)
                values: Floats = scratch("nystroem columns", shape, self.dtype)
                yield number, Tile(tile.rows, matmul(tile.values, self._narrow[:, run], into=values))

    def cheap_values(self, features: Rows) -> Rows:
        self.kernel.check_domain(features)
        return self.kernel_values.values(features)

    def outward(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._factor @ coefficients
        return found

    def inward(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        # the root is symmetric
        return self.outward(sums)

    def gradient(
        self, features: Rows, coefficients: Floats, slopes: SlopesAt, n_slopes: int | None = None
    ) -> NDArray[np.float64]:
        """The gradient through kernels at the landmarks: r instead of r^2 operations a row."""
        self.kernel.check_domain(features)
        plain = self.landmark_coefficients(coefficients) if len(coefficients) else coefficients
        return self.inward(self.kernel_values.gradient(features, plain, slopes, n_slopes))

    def combine(self, features: Rows, coefficients: Floats) -> Floats:
        """f = z(X) coef as a combination of kernels at the landmarks: r instead of r^2 operations a row."""
        self.kernel.check_domain(features)
        return self.kernel_values.combine(features, self.landmark_coefficients(coefficients))

    def landmark_coefficients(self, coefficients: Floats) -> NDArray[np.float64]:
        """beta (r, n_outputs) with sum_k beta_k k(l_k, x) = z(x) . coef."""
        return self.outward(coefficients.astype(np.float64))

    @cached_property
    def _narrow(self) -> Floats:
        return self._factor.astype(self.dtype)

    def __getstate__(self) -> dict[str, Any]:
        # recomputed from the factor
        return {name: value for name, value in vars(self).items() if name != "_narrow"}
