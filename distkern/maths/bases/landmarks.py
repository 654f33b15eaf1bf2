"""Kernel functions at landmarks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Any
from uuid import uuid4
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from distkern.core.sparse import Rows, SparseRows, comparing_bytes, converted
from distkern.core.tiles import greatest
from distkern.core.types import Floats
from distkern.maths.bases.base import AbstractBasis
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

    Its models equal those over :class:`~distkern.maths.bases.nystroem.NystroemBasis` with other coefficients;
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
