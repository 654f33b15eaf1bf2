"""The machines of all cells as functions of a row; those of a bucket are read when a row lies in it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.bases.placed import AbstractPlacedBasis, PlacedSizes
from distkern.common.sparse import Rows, converted
from distkern.common.types import Floats
from distkern.solvers._cells.buckets import Machines
from distkern.solvers._cells.machine import CellSettings
from distkern.solvers._cells.place import Places

#: machines that a process keeps, of all models together
KEPT_BYTES = 128 * 2**20
#: numbers of the rows that are placed and predicted together; of a model that is not kept, of which all is
#: read for them, more
_NUMBERS, _MANY_NUMBERS = 2**21, 2**23
#: bytes of a tile of kernel values
_TILE_BYTES = 16 * 2**20

_lock = threading.Lock()
_kept: Any = None


class Loads(Protocol):
    """Finished parts of a model, by number."""

    def load(self, number: int) -> Mapping[str, NDArray[Any]]:
        """The arrays of a part."""


class CellBasis(AbstractPlacedBasis):
    """phi_j(x) = output j of the machine of the cell in which x lies: the coefficients of a model are 1.

    Parameters
    ----------
    places : where a row lies
    settings : of the machines
    machines : the buckets' arrays
    name : of the model, for what processes keep of it; empty where its machines are in memory
    n_outputs, bucket_bytes : outputs, and bytes of the largest bucket's machines
    dtype : of the values
    """

    def __init__(
        self,
        places: Places,
        settings: CellSettings,
        machines: Loads,
        name: str,
        n_outputs: int,
        bucket_bytes: int,
        dtype: DTypeLike,
    ) -> None:
        self.places, self.settings, self.machines = places, settings, machines
        self._name, self._n_outputs, self._bucket_bytes = name, n_outputs, bucket_bytes
        self._dtype = np.dtype(dtype)

    @property
    def size(self) -> int:
        return self._n_outputs

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def tile_rows(self) -> int:
        return max(1, self._numbers // self.places.n_features)

    @property
    def is_kept(self) -> bool:
        return not self._name or self.places.n_buckets * self._bucket_bytes <= KEPT_BYTES

    @property
    def sizes(self) -> PlacedSizes:
        places = self.places
        return placed_sizes(self.size, places.n_buckets, places.n_features, self._bucket_bytes, self.dtype)

    @property
    def _numbers(self) -> int:
        return _NUMBERS if self.is_kept else _MANY_NUMBERS

    def placed(self, features: Rows) -> tuple[Floats, NDArray[np.int32]]:
        rows = self.places.rows(np.asarray(converted(features, sparse=False)), self.dtype)
        return rows, self.places.buckets(rows)

    def values_at(self, place: int, coordinates: Floats) -> NDArray[np.float64]:
        return self._bucket(place).predict(coordinates, self.settings)

    def _bucket(self, number: int) -> Machines:
        global _kept
        if not (self._name and self.is_kept):
            return Machines.of(self.machines.load(number))
        key = (self._name, number)
        with _lock:
            if _kept is None:
                from zict import LRU

                _kept = LRU(KEPT_BYTES, {}, weight=lambda _, machines: machines.nbytes)
            if key in _kept:
                machines: Machines = _kept[key]
                return machines
        machines = Machines.of(self.machines.load(number))
        with _lock:
            _kept[key] = machines
        return machines

    @property
    def process_bytes(self) -> int:
        kept = self.places.n_buckets * self.is_kept
        return (2 + kept) * self._bucket_bytes if self._name else 0

    def workspace_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        numbers = min(self._numbers, (n_rows or self.tile_rows) * self.places.n_features)
        return placing_bytes(self.dtype.itemsize, max(numbers, _NUMBERS))


def placing_bytes(itemsize: int = 4, numbers: int = _NUMBERS) -> int:
    """Rows as they are placed, with those of a bucket and of a cell, and tiles of kernels."""
    return 8 * _NUMBERS + numbers * 3 * itemsize + _TILE_BYTES


def placed_sizes(
    n_outputs: int, n_buckets: int, n_features: int, bucket_bytes: int, dtype: DTypeLike
) -> PlacedSizes:
    """What the passes that ask buckets are planned with."""
    return PlacedSizes(n_outputs, n_buckets, n_features, bucket_bytes, _TILE_BYTES, np.dtype(dtype))


def cell_basis(
    places: Places,
    settings: CellSettings,
    parts: Loads,
    machines: NDArray[np.uint8],
    bucket_bytes: int,
    n_outputs: int,
    dtype: DTypeLike,
    *,
    in_memory: bool = False,
) -> CellBasis:
    """The basis of machines that are known by their fingerprints (n_buckets, 32)."""
    name = "" if in_memory else sha256(machines.tobytes()).hexdigest()
    return CellBasis(places, settings, parts, name, n_outputs, bucket_bytes, dtype)
