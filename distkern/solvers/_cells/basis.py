"""The machines of all cells as functions of a row; those of a bucket are read when a row lies in it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from hashlib import sha256
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.processes import new_lock
from distkern.core.sparse import Rows, converted
from distkern.core.types import Floats
from distkern.maths.bases.placed import AbstractPlacedBasis, PlacedSizes
from distkern.maths.kernels.base import AbstractPrepared
from distkern.solvers._cells.buckets import Machines
from distkern.solvers._cells.machine import CellSettings
from distkern.solvers._cells.place import Places

#: machines that a process keeps, of all models together
KEPT_BYTES = 128 * 2**20
#: support rows as kernels compare rows with them, that a process keeps
PREPARED_BYTES = 32 * 2**20
#: numbers of the rows that are placed and predicted together; of a model that is not kept, of which all is
#: read for them, more
_NUMBERS, _MANY_NUMBERS = 2**21, 2**23
#: bytes of a tile of kernel values
_TILE_BYTES = 16 * 2**20

Value = TypeVar("Value")

_lock = new_lock()
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
        prepare = partial(self._prepared, place) if self._is_shared else None
        return self._bucket(place).predict(coordinates, self.settings, prepare)

    def _bucket(self, number: int) -> Machines:
        def read() -> Machines:
            return Machines.of(self.machines.load(number))

        return _of_process("machines", (self._name, number), read) if self._is_shared else read()

    def _prepared(self, place: int, first: int, support: Floats) -> AbstractPrepared:
        """Support rows of a bucket as the kernel compares rows with them, which takes longer than a row."""
        kernel = self.settings.kernel
        key = (self._name, place, first, support.dtype.str, kernel)
        return _of_process("prepared", key, lambda: kernel.prepare(support))

    @property
    def _is_shared(self) -> bool:
        return bool(self._name) and self.is_kept

    @property
    def process_bytes(self) -> int:
        if not self._name:
            return 0
        return 2 * self._bucket_bytes + kept_bytes(self.places.n_buckets * self._bucket_bytes * self.is_kept)

    def workspace_bytes(self, row_numbers: int, n_rows: int | None = None) -> int:
        numbers = (n_rows or self.tile_rows) * self.places.n_features
        return placing_bytes(max(numbers, _NUMBERS), self.dtype.itemsize, most=self._numbers)


def kept_bytes(n_bytes: int) -> int:
    """Return the bytes that a process keeps of machines of ``n_bytes``, some of them prepared."""
    return min(KEPT_BYTES, n_bytes) + min(PREPARED_BYTES, 2 * n_bytes)


def _of_process(kind: str, key: Hashable, make: Callable[[], Value]) -> Value:
    """A value that the process keeps while there is room; two threads may make the same one."""
    global _kept
    with _lock:
        if _kept is None:
            from zict import LRU

            room = {"machines": KEPT_BYTES, "prepared": PREPARED_BYTES}
            _kept = {
                name: LRU(most, {}, weight=lambda _, value: _nbytes(value)) for name, most in room.items()
            }
        values = _kept[kind]
        if key in values:
            found: Value = values[key]
            return found
    made = make()
    with _lock:
        values[key] = made
    return made


def _nbytes(value: Any) -> int:
    own: int | None = getattr(value, "nbytes", None)
    return sum(getattr(part, "nbytes", 0) for part in vars(value).values()) if own is None else own


def placing_bytes(numbers: int, itemsize: int = 4, *, most: int = _NUMBERS) -> int:
    """Return the bytes for placing rows of ``numbers`` values, ``most`` at a time, in their cells."""
    return 8 * _NUMBERS + min(numbers, most) * 3 * itemsize + _TILE_BYTES


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
