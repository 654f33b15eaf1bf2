"""Which rows a set of landmarks does not cover, tile by tile, on the workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import Floats
from distkern.core.workspace import buffer
from distkern.kernels.base import SquaredDistanceScores
from distkern.kernels.sparse import SparseSquaredDistance

#: a tile of rows, and the positions in it that are not covered
Uncovered: TypeAlias = tuple[slice, NDArray[np.int64]]


def uncovered_tiles(features: Rows, landmarks: Rows, squared_radius: float) -> Iterator[Uncovered]:
    """Tiles of rows, and which of the tile's rows the landmarks do not cover.

    A row that is kept although it is covered does no harm: where rounding leaves a doubt, it may be.
    """
    if isinstance(features, SparseRows) and isinstance(landmarks, SparseRows):
        return _sparse(features, landmarks, squared_radius)
    return _dense(np.asarray(features), np.asarray(landmarks), squared_radius)


def _tiles(n_rows: int, size: int, itemsize: int) -> Iterator[slice]:
    tile_rows = int(np.clip(512 * 1024 // (size * itemsize), 128, 1024))
    for start in range(0, n_rows, tile_rows):
        yield slice(start, min(start + tile_rows, n_rows))


def _sparse(features: SparseRows, landmarks: SparseRows, squared_radius: float) -> Iterator[Uncovered]:
    """The distances are sums in float64, so only their last rounding and cancellation are in doubt."""
    distances = SparseSquaredDistance.of(landmarks, 1.0)
    landmark_norm = float(landmarks.norms().max(initial=0.0))
    rounding = 4.0 * float(np.finfo(features.dtype).eps)
    for rows in _tiles(len(features), len(landmarks), features.dtype.itemsize):
        tile = features[rows]
        scores = buffer("tile", (len(tile), len(landmarks)), features.dtype)
        distances.scores(tile, scores)
        squared = -scores.max(axis=1).astype(np.float64)
        lengths = np.diff(tile.indptr) + 8
        cancellation = 4.0 * lengths * float(np.finfo(np.float64).eps) * (tile.norms() + landmark_norm) ** 2
        covered = squared * (1.0 + rounding) + cancellation <= squared_radius
        yield rows, np.flatnonzero(~covered)


def _dense(features: Floats, landmarks: Floats, squared_radius: float) -> Iterator[Uncovered]:
    """The product gives distances up to a bound on its rounding.

    Where that leaves a doubt, the distance to the nearest landmark is taken exactly.
    """
    distances = SquaredDistanceScores.of(landmarks, 1.0)
    spread = np.abs(landmarks.astype(np.float64) - distances.center).max(axis=0)
    landmark_norm = float(np.sqrt(np.sum(spread**2)))
    size, n_features = landmarks.shape
    rounding = 4.0 * (n_features + 8) * float(np.finfo(features.dtype).eps)
    exact_rounding = 4.0 * (n_features + 8) * float(np.finfo(np.float64).eps)
    for rows in _tiles(features.shape[0], size, features.dtype.itemsize):
        scores = buffer("tile", (rows.stop - rows.start, size), features.dtype)
        distances.scores(features[rows], scores)
        nearest = scores.argmax(axis=1)
        squared = -scores[np.arange(len(nearest)), nearest].astype(np.float64)
        shifted = features[rows] - distances.center
        norms = np.sqrt(np.einsum("ij,ij->i", shifted, shifted, dtype=np.float64))
        bound = rounding * (norms + landmark_norm) ** 2
        uncertain = np.flatnonzero(~(squared + bound <= squared_radius))
        near = uncertain[squared[uncertain] - bound[uncertain] <= squared_radius]
        differences = features[rows][near].astype(np.float64) - landmarks[nearest[near]]
        exact = np.einsum("ij,ij->i", differences, differences)
        covered = exact * (1.0 + exact_rounding) <= squared_radius
        yield rows, np.setdiff1d(uncertain, near[covered], assume_unique=True)
