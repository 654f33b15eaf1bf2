"""The driver's side of the online coverage: the landmarks found so far, and the scan that adds to them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import Floats
from distkern.landmarks.base import Layout

_STEP = 256  # the buffers grow between steps, so that a step never runs out of room


class AbstractScanner(ABC):
    """The state of a sequential scan for at most ``limit`` landmarks."""

    def __init__(self, layout: Layout, radius: float, limit: int) -> None:
        self.squared_radius = radius**2
        self.limit = limit
        self.size = 0
        self._layout = layout
        self._order = np.empty(0, dtype=np.int64)

    @property
    @abstractmethod
    def found(self) -> Rows:
        """The landmarks so far."""

    def scan(self, rows: Rows) -> bool:
        """Scan more rows; False when there are more than ``limit`` landmarks."""
        for start in range(0, len(rows), _STEP):
            needed = min(self.limit, self.size + _STEP)
            if needed > len(self._order):
                self._order = _grown(self._order, needed)
            self.size = self._scan(rows[start : start + _STEP], needed)
            if self.size > self.limit:
                return False
        return True

    @abstractmethod
    def _scan(self, piece: Rows, size: int) -> int:
        """Scan a piece after which there may be ``size`` landmarks; the number there are, or limit + 1."""


class DenseScanner(AbstractScanner):
    """Landmarks in rows of an array."""

    def __init__(self, layout: Layout, radius: float, limit: int) -> None:
        super().__init__(layout, radius, limit)
        self._landmarks = np.empty((0, layout.n_features), dtype=layout.dtype)

    @property
    def found(self) -> Floats:
        return self._landmarks[: self.size].copy()

    def _scan(self, piece: Rows, size: int) -> int:
        from distkern.landmarks._scan import scan

        if size > len(self._landmarks):
            self._landmarks = _grown(self._landmarks, size)
        rows = np.require(piece, self._landmarks.dtype, ("C", "A"))
        compiled = scan(self._landmarks.dtype)
        return compiled(rows, self._landmarks, self.size, self._order, self.squared_radius, self.limit)


class SparseScanner(AbstractScanner):
    """Landmarks in compressed rows."""

    def __init__(self, layout: Layout, radius: float, limit: int) -> None:
        super().__init__(layout, radius, limit)
        self._data = np.empty(0, dtype=layout.dtype)
        self._indices = np.empty(0, dtype=np.int32)
        self._indptr = np.zeros(1, dtype=np.int64)
        self._norms = np.empty(0, dtype=np.float64)
        self._row = np.zeros(layout.n_features)

    @property
    def found(self) -> SparseRows:
        n_entries = self._indptr[self.size]
        return SparseRows(
            self._data[:n_entries].copy(), self._indices[:n_entries].copy(),
            self._indptr[: self.size + 1].copy(), self._layout.n_features,
        )  # fmt: skip

    def _scan(self, piece: Rows, size: int) -> int:
        from distkern.landmarks._scan import sparse_scan

        assert isinstance(piece, SparseRows)
        if size > len(self._norms):
            self._norms, self._indptr = _grown(self._norms, size), _grown(self._indptr, size + 1)
        n_entries = int(self._indptr[self.size]) + piece.n_entries
        if n_entries > len(self._data):
            self._data, self._indices = _grown(self._data, n_entries), _grown(self._indices, n_entries)
        data, indices, indptr = (
            np.require(array, requirements=("C", "A")) for array in (piece.data, piece.indices, piece.indptr)
        )
        return sparse_scan(self._data.dtype)(
            data, indices, indptr, self._data, self._indices, self._indptr, self._norms, self._row,
            self.size, self._order, self.squared_radius, self.limit,
        )  # fmt: skip


def scanner_for(layout: Layout, radius: float, limit: int) -> AbstractScanner:
    """A scanner for rows of the layout's form."""
    kind = SparseScanner if layout.is_sparse else DenseScanner
    return kind(layout, radius, limit)


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """A longer array that begins with the old one."""
    larger = np.empty((max(size, 2 * len(array)), *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
