"""The coverage's work on rows: the driver's compiled sequential scan, and the workers' filter before it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.compiled import argument_types, compile_loop, tuple_type
from distkern.core.sparse import Rows, SparseRows
from distkern.core.tiles import aligned, scratch
from distkern.core.types import Floats
from distkern.maths.kernels.base import SquaredDistanceScores
from distkern.maths.kernels.sparse import SparseSquaredDistance
from distkern.maths.landmarks.base import RowLayout

#: rows whose distances are computed in double precision at once
EXACT_ROWS = 16
_STEP = 256  # the buffers grow between steps, so that a step never runs out of room

#: a tile of rows, and its uncovered positions
Uncovered: TypeAlias = tuple[slice, NDArray[np.int64]]


def _to_front(order: Any, position: int, number: int) -> None:
    for later in range(position, 0, -1):
        order[later] = order[later - 1]
    order[0] = number


def _scan(rows: Any, landmarks: Any, n_landmarks: int, order: Any, squared_radius: float, limit: int) -> int:
    for i in range(rows.shape[0]):
        found = -1
        for position in range(n_landmarks):
            number = order[position]
            total = 0.0
            for k in range(rows.shape[1]):
                difference = np.float64(rows[i, k]) - np.float64(landmarks[number, k])
                total += difference * difference
                if total > squared_radius:
                    break
            if total <= squared_radius:
                found = position
                break
        if found >= 0:
            number = order[found]
        else:
            if n_landmarks == limit:
                return limit + 1
            number = found = n_landmarks
            for k in range(rows.shape[1]):
                landmarks[number, k] = rows[i, k]
            n_landmarks += 1
        _to_front(order, found, number)
    return n_landmarks


class Compressed(NamedTuple):
    """Landmarks in compressed rows with their squared norms, in arrays with spare capacity."""

    data: Floats
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    norms: NDArray[np.float64]


def _sparse_scan(data, indices, indptr, landmarks, row, n_landmarks, order, squared_radius, limit):  # type: ignore[no-untyped-def]
    ends = landmarks.indptr
    for i in range(len(indptr) - 1):
        norm = 0.0
        for entry in range(indptr[i], indptr[i + 1]):
            value = np.float64(data[entry])
            row[indices[entry]] = value
            norm += value * value
        found = -1
        for position in range(n_landmarks):
            number = order[position]
            product = 0.0
            for entry in range(ends[number], ends[number + 1]):
                product += np.float64(landmarks.data[entry]) * row[landmarks.indices[entry]]
            if norm + landmarks.norms[number] - 2.0 * product <= squared_radius:
                found = position
                break
        for entry in range(indptr[i], indptr[i + 1]):
            row[indices[entry]] = 0.0
        if found >= 0:
            number = order[found]
        else:
            if n_landmarks == limit:
                return limit + 1
            number = found = n_landmarks
            start = ends[n_landmarks]
            for entry in range(indptr[i], indptr[i + 1]):
                landmarks.data[start] = data[entry]
                landmarks.indices[start] = indices[entry]
                start += 1
            landmarks.norms[n_landmarks] = norm
            n_landmarks += 1
            ends[n_landmarks] = start
        _to_front(order, found, number)
    return n_landmarks


@cache
def scan(dtype: np.dtype[Any]) -> Callable[..., int]:
    """Compile the scan for rows of this dtype.

    The function takes rows, landmarks, n_landmarks, order, squared_radius and limit. It appends to
    ``landmarks`` every row farther than the radius from all of them (distances in float64, summed over the
    features in order) and returns the new number of landmarks, at most ``limit`` + 1. ``order`` holds the
    landmarks' numbers, most recently matched first, which saves time and does not change the result.
    """
    arguments = argument_types("x[:, :] x[:, :]! i8 i8[:]! f8 i8", x=dtype)
    return compile_loop(_scan, arguments, helpers={"_to_front": _to_front}, exact=True)


@cache
def sparse_scan(dtype: np.dtype[Any]) -> Callable[..., int]:
    """Compile the scan for sparse rows of this dtype.

    The function takes the rows' data, indices and indptr, a :class:`Compressed` that it appends to, zeros
    ``row`` (n_features,), and n_landmarks, order, squared_radius and limit as in :func:`scan`. Distances are
    |x|^2 + |c|^2 - 2 x c, each a float64 sum in the order of the columns: exactly 0 for equal rows.
    """
    landmarks = tuple_type(Compressed, "x[:]! i4[:]! i8[:]! f8[:]!", x=dtype)
    text = "x[:] i4[:] i8[:] landmarks f8[:]! i8 i8[:]! f8 i8"
    arguments = argument_types(text, x=dtype, landmarks=landmarks)
    return compile_loop(_sparse_scan, arguments, helpers={"_to_front": _to_front}, exact=True)


class AbstractScanner(ABC):
    """The state of a sequential scan for at most ``limit`` landmarks."""

    def __init__(self, layout: RowLayout, radius: float, limit: int) -> None:
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
        """Scan more rows; return False once there are more than ``limit`` landmarks."""
        for start in range(0, len(rows), _STEP):
            needed = min(self.limit, self.size + _STEP)
            self._order = _grown(self._order, needed)
            self.size = self._scan(rows[start : start + _STEP], needed)
            if self.size > self.limit:
                return False
        return True

    @abstractmethod
    def _scan(self, piece: Rows, size: int) -> int:
        """Scan a piece, with capacity for ``size`` landmarks; return their number, or limit + 1."""


class DenseScanner(AbstractScanner):
    """Landmarks in rows of an array."""

    def __init__(self, layout: RowLayout, radius: float, limit: int) -> None:
        super().__init__(layout, radius, limit)
        self._landmarks = np.empty((0, layout.n_features), dtype=layout.dtype)

    @property
    def found(self) -> Floats:
        return self._landmarks[: self.size].copy()

    def _scan(self, piece: Rows, size: int) -> int:
        self._landmarks = _grown(self._landmarks, size)
        rows = np.require(piece, self._landmarks.dtype, ("C", "A"))
        compiled = scan(self._landmarks.dtype)
        return compiled(rows, self._landmarks, self.size, self._order, self.squared_radius, self.limit)


class SparseScanner(AbstractScanner):
    """Landmarks in compressed rows."""

    def __init__(self, layout: RowLayout, radius: float, limit: int) -> None:
        super().__init__(layout, radius, limit)
        empty = np.empty(0, dtype=layout.dtype), np.empty(0, dtype=np.int32)
        self._landmarks = Compressed(*empty, np.zeros(1, dtype=np.int64), np.empty(0))
        self._row = np.zeros(layout.n_features)

    @property
    def found(self) -> SparseRows:
        data, indices, indptr, _ = self._landmarks
        return SparseRows(data, indices, indptr[: self.size + 1], self._layout.n_features)[:].copy()

    def _scan(self, piece: Rows, size: int) -> int:
        assert isinstance(piece, SparseRows)
        data, indices, indptr, norms = self._landmarks
        n_entries = int(indptr[self.size]) + piece.n_entries
        room = _grown(data, n_entries), _grown(indices, n_entries)
        self._landmarks = Compressed(*room, _grown(indptr, size + 1), _grown(norms, size))
        return sparse_scan(data.dtype)(
            *aligned(piece.data, piece.indices, piece.indptr),
            self._landmarks,
            self._row,
            self.size,
            self._order,
            self.squared_radius,
            self.limit,
        )


def scanner_for(layout: RowLayout, radius: float, limit: int) -> AbstractScanner:
    """Return a scanner for dense or sparse rows."""
    kind = SparseScanner if layout.is_sparse else DenseScanner
    return kind(layout, radius, limit)


def _grown(array: NDArray[Any], size: int) -> NDArray[Any]:
    """Return the array, copied into a longer one if it is shorter than ``size``."""
    if size <= len(array):
        return array
    larger = np.empty((max(size, 2 * len(array)), *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def uncovered_tiles(features: Rows, landmarks: Rows, squared_radius: float) -> Iterator[Uncovered]:
    """Yield tiles of rows, and the positions of rows in the tile that the landmarks do not cover.

    If rounding leaves a doubt, covered rows may be kept, which is harmless.
    """
    if isinstance(features, SparseRows) and isinstance(landmarks, SparseRows):
        return _sparse(features, landmarks, squared_radius)
    return _dense(np.asarray(features), np.asarray(landmarks), squared_radius)


def tile_rows(size: int, itemsize: int, n_features: int = 1) -> int:
    """Rows compared at once with ``size`` landmarks: a few MiB in total."""
    return int(np.clip(min(2**19 // (size * itemsize), 2**20 // n_features), 128, 1024))


def _tiles(n_rows: int, step: int) -> Iterator[slice]:
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _sparse(features: SparseRows, landmarks: SparseRows, squared_radius: float) -> Iterator[Uncovered]:
    """Filter sparse rows; distances are float64 sums, uncertain by their last rounding and cancellation."""
    distances = SparseSquaredDistance.of(landmarks, 1.0)
    landmark_norm = float(landmarks.norms().max(initial=0.0))
    rounding = 4.0 * float(np.finfo(features.dtype).eps)
    for rows in _tiles(len(features), tile_rows(len(landmarks), features.dtype.itemsize)):
        tile = features[rows]
        scores = scratch("tile", (len(tile), len(landmarks)), features.dtype)
        distances.scores(tile, scores)
        squared = -scores.max(axis=1).astype(np.float64)
        lengths = np.diff(tile.indptr) + 8
        cancellation = 4.0 * lengths * float(np.finfo(np.float64).eps) * (tile.norms() + landmark_norm) ** 2
        covered = squared * (1.0 + rounding) + cancellation <= squared_radius
        yield rows, np.flatnonzero(~covered)


def _dense(features: Floats, landmarks: Floats, squared_radius: float) -> Iterator[Uncovered]:
    """Filter dense rows by products, with a bound of their rounding.

    In doubtful cases, the distance to the nearest landmark is computed exactly.
    """
    distances = SquaredDistanceScores.of(landmarks, 1.0)
    landmark_norm = float(np.linalg.norm(distances.spread(landmarks)))
    size, n_features = landmarks.shape
    rounding = 4.0 * (n_features + 8) * float(np.finfo(features.dtype).eps)
    exact_rounding = 4.0 * (n_features + 8) * float(np.finfo(np.float64).eps)
    for rows in _tiles(features.shape[0], tile_rows(size, features.dtype.itemsize, n_features)):
        scores = scratch("tile", (rows.stop - rows.start, size), features.dtype)
        distances.scores(features[rows], scores)
        nearest = scores.argmax(axis=1)
        squared = -scores[np.arange(len(nearest)), nearest].astype(np.float64)
        shifted = features[rows] - distances.center
        norms = np.sqrt(np.einsum("ij,ij->i", shifted, shifted, dtype=np.float64))
        bound = rounding * (norms + landmark_norm) ** 2
        uncertain = np.flatnonzero(~(squared + bound <= squared_radius))
        near = uncertain[squared[uncertain] - bound[uncertain] <= squared_radius]
        exact = np.empty(len(near))
        for start in range(0, len(near), EXACT_ROWS):
            some = near[start : start + EXACT_ROWS]
            differences = features[rows][some].astype(np.float64) - landmarks[nearest[some]]
            exact[start : start + EXACT_ROWS] = np.einsum("ij,ij->i", differences, differences)
        covered = exact * (1.0 + exact_rounding) <= squared_radius
        yield rows, np.setdiff1d(uncertain, near[covered], assume_unique=True)
