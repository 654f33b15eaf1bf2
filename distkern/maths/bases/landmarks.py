"""Kernel functions at landmarks, and Nystroem features: these functions, orthonormalised."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from threading import Lock
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import Rows, SparseRows, comparing_bytes, converted
from distkern.core.tiles import greatest, matmul, scratch
from distkern.core.types import Floats
from distkern.maths.bases.base import AbstractBasis, SlopesAt, Tile, row_bytes
from distkern.maths.kernels.base import AbstractKernel, AbstractPrepared, AbstractTileKernel, require

#: bases received by this process and still in use
_SENT: WeakValueDictionary[str, LandmarkBasis] = WeakValueDictionary()
_PREPARING = Lock()
#: rows compared with each other at once, for the values of each with itself
_FEW_ROWS = 64


class LandmarkBasis(AbstractBasis):
    """phi_k(x) = k(x, c_k) for landmarks c_1 .. c_r.

    Parameters
    ----------
    kernel : the kernel
    landmarks : (r, n_features), an array or sparse rows, in the dtype of the values

    Raises
    ------
    InputError
        If the kernel has no tiles of values; later, if it is not defined for a row.
    """

    def __init__(self, kernel: AbstractKernel, landmarks: Rows) -> None:
        self.kernel = require(kernel, AbstractTileKernel)  # type: ignore[type-abstract]
        self.is_sparse = isinstance(landmarks, SparseRows)
        self.landmarks = converted(landmarks, sparse=self.is_sparse)
        self._token = uuid4()
        self._prepared: AbstractPrepared | None = None
        if self.is_sparse:
            # kernels for dense rows only refuse here
            _ = self.prepared

    @property
    def prepared(self) -> AbstractPrepared:
        """The landmarks prepared for comparisons by the kernel, once in each process."""
        if self._prepared is None:
            with _PREPARING:
                if self._prepared is None:
                    if isinstance(self.landmarks, SparseRows):
                        self._prepared = self.kernel.prepare_sparse(self.landmarks)
                    else:
                        self._prepared = self.kernel.prepare(self.landmarks)
        return self._prepared

    @property
    def size(self) -> int:
        return int(self.landmarks.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.landmarks.dtype

    @property
    def process_bytes(self) -> int:
        n_columns = self.landmarks.shape[1]
        if self.is_sparse:
            return 2 * self.landmarks.nbytes + comparing_bytes(n_columns)
        return self.landmarks.nbytes + self.size * self.kernel.prepared_bytes(n_columns, self.dtype.itemsize)

    @property
    def norm_bytes(self) -> int:
        # a copy in float64, and as much for its prepared form
        return 0 if self.dtype == np.float64 else 4 * self.landmarks.nbytes

    @property
    def is_compiled(self) -> bool:
        return self.is_sparse or self.kernel.is_compiled

    def fill(self, features: Rows, values: Floats) -> None:
        self.kernel.check_domain(features)
        # dense and sparse rows are converted a tile at a time
        self.prepared.scores(converted(features, sparse=self.is_sparse), values)
        self.kernel.finish(values)

    def fill_and_find(self, features: Rows, values: Floats, nearest: NDArray[np.intp]) -> None:
        self.kernel.check_domain(features)
        self.prepared.scores(converted(features, sparse=self.is_sparse), values)
        # values of distant rows may be equal although their scores differ
        greatest(values, into=nearest)
        self.kernel.finish(values)

    def __reduce__(self) -> Any:
        # workers do not need the float64 twin, and prepare the landmarks themselves
        state = {name: value for name, value in vars(self).items() if name != "_twin"}
        return _received, (type(self), state | {"_prepared": None})

    @property
    def _exact(self) -> LandmarkBasis:
        return self if self.dtype == np.float64 else self._twin

    @cached_property
    def _twin(self) -> LandmarkBasis:
        return LandmarkBasis(self.kernel, self.landmarks.astype(np.float64))

    def squared_norms(self, coefficients: Floats, *, exact: bool = True) -> NDArray[np.float64]:
        """|w|^2 of w = sum_k coef_k phi(c_k), for each of the outputs, without storing an r x r matrix.

        Parameters
        ----------
        coefficients : (r, n_outputs) array
        exact : compute the kernel in float64, whatever the dtype of the basis
        """
        basis = self._exact if exact else self
        values = basis.combine(basis.landmarks, coefficients).astype(np.float64)
        norms: NDArray[np.float64] = np.maximum(np.einsum("ij,ij->j", coefficients, values), 0.0)
        return norms


def _received(kind: type[LandmarkBasis], state: dict[str, Any]) -> LandmarkBasis:
    """Unpickle a basis, reusing one received before, so that it is prepared once for many tasks."""
    found = _SENT.get(state["_token"])
    if found is None:
        _SENT[state["_token"]] = found = kind.__new__(kind)
        vars(found).update(state)
    return found


class KernelSpan(LandmarkBasis):
    """phi_k(x) = k(x, c_k) with the norm of the kernel's space: M = k(C, C).

    Its models equal those over :class:`NystroemBasis` with other coefficients;
    there M is I, and each row's values cost r^2 more operations.
    """

    def norm_squares(self, features: Rows) -> NDArray[np.float64]:
        # the part of phi(x) in the span of the landmarks is no longer than phi(x)
        found = np.empty(features.shape[0])
        for start in range(0, len(found), _FEW_ROWS):
            rows = features[start : start + _FEW_ROWS]
            found[start : start + _FEW_ROWS] = np.diagonal(LandmarkBasis(self.kernel, rows).values(rows))
        return found

    def metric_product(self, coefficients: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._exact.combine(self._exact.landmarks, coefficients).astype(np.float64)

    def add_metric(self, matrices: Sequence[NDArray[np.float64]], weight: float) -> None:
        for tile in self._exact.tiles(self._exact.landmarks):
            for matrix in matrices:
                matrix[tile.rows] += weight * tile.values


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
