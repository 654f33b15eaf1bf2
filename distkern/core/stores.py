"""Where tasks store their results, and checks of arrays read from files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Store(Protocol):
    """Where tasks of an :class:`~distkern.passes.Each` store their results; it is sent to the workers.

    The task of a killed worker runs again and may store the same result twice, in the same place.
    """

    def is_here(self) -> bool:
        """Whether this process can store results; if a worker cannot, the driver does."""

    def put(self, number: int, result: Any) -> Any:
        """Store the result of a task, completely or not at all, and return its record."""

    def records(self) -> Mapping[int, Any]:
        """Return the records of complete results by task number."""


class ArrayStore(Store, Protocol):
    """A store of named arrays; the result of a task is (record, arrays)."""

    def load(self, number: int) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of a task, in any process that sees the store."""

    def fingerprint(self, number: int) -> str:
        """Return the SHA-256 of these arrays in hexadecimal."""


class SliceStore(Store, Protocol):
    """A store of sorted rows; the result of a task is (record, offsets, arrays).

    Slice s of each array is its rows ``offsets[s] : offsets[s + 1]``.
    """

    def slices(self, place: int, numbers: Iterable[int]) -> Iterator[Mapping[str, NDArray[Any]]]:
        """Return slice ``place`` of each of some tasks; raises if this process does not see the store."""

    def offsets(self, number: int) -> NDArray[np.int64]:
        """Return the offsets of a task."""


class Workplace(Protocol):
    """The stores of a run's tasks by name; their contents survive until the run is resumed."""

    def arrays(self, name: str) -> ArrayStore:
        """Return the store of arrays called ``name``."""

    def slices(self, name: str, layout: Mapping[str, tuple[str, tuple[int, ...]]]) -> SliceStore:
        """Return the store of sorted rows called ``name``; ``layout`` has each array's dtype and row
        shape.
        """


def shaped(
    arrays: Mapping[str, NDArray[Any]], name: str, *shape: int | None, whole: bool = False
) -> NDArray[Any]:
    """Return the array called ``name``; KeyError if absent, ValueError for another shape or type.

    Parameters
    ----------
    shape : expected shape; None matches any length
    whole : expect integers instead of floats
    """
    found = arrays[name]
    fits = found.ndim == len(shape) and all(
        wanted in (None, size) for wanted, size in zip(shape, found.shape, strict=True)
    )
    if not fits or found.dtype.kind not in ("iu" if whole else "f"):
        wanted = tuple("any" if size is None else size for size in shape)
        raise ValueError(f"array {name!r} is {found.dtype} of shape {found.shape}, not of {wanted}")
    return found


def indexed(
    arrays: Mapping[str, NDArray[Any]], name: str, *shape: int | None, below: int, least: int = 0
) -> NDArray[Any]:
    """Return the integers called ``name``, all in ``least .. below - 1``; raises as :func:`shaped`."""
    found = shaped(arrays, name, *shape, whole=True)
    if found.size and not (found.min() >= least and found.max() < below):
        raise ValueError(f"array {name!r} has numbers outside {least} to {below - 1}")
    return found
