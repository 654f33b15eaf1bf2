"""The machines of all cells as functions of a row; those of a bucket are read when a row lies in it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.bases.base import AbstractBasis
from distkern.common import tiles
from distkern.common.sparse import Rows, converted
from distkern.common.types import Floats
from distkern.solvers._cells.below import Below
from distkern.solvers._cells.buckets import Machines
from distkern.solvers._cells.machine import CellSettings
from distkern.solvers._cells.place import Places

#: machines that a process keeps, of all models together
KEPT_BYTES = 128 * 2**20
#: numbers of the rows that are placed and predicted together; of a model that is not kept, of which all is
#: read for them, more
_NUMBERS, _MANY_NUMBERS = 2**21, 2**23

_lock = threading.Lock()
_kept: Any = None


class Loads(Protocol):
    """Finished parts of a model, by number."""

    def load(self, number: int) -> Mapping[str, NDArray[Any]]:
        """The arrays of a part."""


class CellBasis(AbstractBasis):
    """phi_j(x) = output j of the machine of the cell in which x lies: the coefficients of a model are 1.

    Of several partitions their average.

    Parameters
    ----------
    places : where a row lies
    settings : of the machines
    machines : the buckets' arrays
    name : of the model, for what processes keep of it; empty where its machines are in memory
    n_outputs, bucket_bytes : outputs, and bytes of the largest bucket's machines
    dtype : of the values
    below : a model to whose predictions those of the machines are added
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
        below: Below | None = None,
    ) -> None:
        self.places, self.settings, self.machines = places, settings, machines
        self._name, self._n_outputs, self._bucket_bytes = name, n_outputs, bucket_bytes
        self._dtype, self._below = np.dtype(dtype), below

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
    def batch_rows(self) -> int:
        return self.tile_rows if self._numbers > _NUMBERS else 0

    @property
    def _numbers(self) -> int:
        is_kept = not self._name or self.places.n_buckets * self._bucket_bytes <= KEPT_BYTES
        return _NUMBERS if is_kept else _MANY_NUMBERS

    def fill(self, features: Rows, values: Floats, nearest: NDArray[np.intp] | None = None) -> None:
        # its tiles may lie where the values will be
        below = None if self._below is None else self._below(features.astype(self.dtype))
        rows = self.places.rows(np.asarray(converted(features, sparse=False)), self.dtype)
        total = np.zeros((len(rows), self._n_outputs))
        for partition in range(self.places.n_partitions):
            buckets = self.places.buckets(rows, partition)
            order = np.argsort(buckets, kind="stable")
            present, starts = np.unique(buckets[order], return_index=True)
            for bucket, inside in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
                total[inside] += self._bucket(bucket).predict(rows[inside], self.settings)
        tiles.apply(np.divide, total, self.places.n_partitions, into=total)
        tiles.copied(total, into=values)
        if below is not None:
            values += below
        if nearest is not None:
            tiles.greatest(values, nearest)

    def _bucket(self, number: int) -> Machines:
        global _kept
        if not self._name:
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
        own = KEPT_BYTES + 2 * self._bucket_bytes if self._name else 0
        return own if self._below is None else own + self._below.process_bytes

    @property
    def is_compiled(self) -> bool:
        return self._below is not None and self._below.basis(self.dtype).is_compiled

    def workspace_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        numbers = min(self._numbers, (n_rows or self.tile_rows) * self.places.n_features)
        own = placing_bytes(self.dtype.itemsize, max(numbers, _NUMBERS))
        rows = min(n_rows or self.tile_rows, self.tile_rows)
        return own if self._below is None else own + self._below.workspace_bytes(row_numbers, rows)


def placing_bytes(itemsize: int = 4, numbers: int = _NUMBERS) -> int:
    """Rows as they are placed, with those of a bucket and of a cell, and tiles of kernels."""
    return 8 * _NUMBERS + numbers * 3 * itemsize + 16 * 2**20


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
    below: Below | None = None,
) -> CellBasis:
    """The basis of machines that are known by their fingerprints (n_buckets, 32)."""
    name = "" if in_memory else sha256(machines.tobytes()).hexdigest()
    return CellBasis(places, settings, parts, name, n_outputs, bucket_bytes, dtype, below)
