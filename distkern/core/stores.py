"""Where tasks leave their results, and arrays of files, checked before anything indexes by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Store(Protocol):
    """Where the tasks of an :class:`~distkern.passes.Each` leave their results; it travels to the workers.

    A killed worker's task runs again, so a result may be put twice: it is then the same result, in the same
    place.
    """

    def is_here(self) -> bool:
        """Whether this process can put something; where a worker cannot, the driver does it."""

    def put(self, number: int, result: Any) -> Any:
        """Store the result of a task, whole or not at all, and give its record."""

    def records(self) -> Mapping[int, Any]:
        """The records of the results that are there already, whole, by the numbers of their tasks."""


class ArrayStore(Store, Protocol):
    """A store of named arrays: the result of a task is (record, arrays)."""

    def load(self, number: int) -> Mapping[str, NDArray[Any]]:
        """The arrays of a task, in any process that sees the store."""

    def fingerprint(self, number: int) -> str:
        """SHA-256, in hexadecimal digits, of all that these arrays are."""


class SliceStore(Store, Protocol):
    """A store of sorted rows: the result of a task is (record, offsets, arrays).

    Slice s of each array is its rows ``offsets[s] : offsets[s + 1]``.
    """

    def slices(self, place: int, numbers: Iterable[int]) -> Iterator[Mapping[str, NDArray[Any]]]:
        """Slice ``place`` of each of the tasks of some numbers; raises if it is not seen."""

    def offsets(self, number: int) -> NDArray[np.int64]:
        """The offsets that a task gave."""


class Workplace(Protocol):
    """Where a run keeps the stores of its tasks, by name; what is in them is there when it is resumed."""

    def arrays(self, name: str) -> ArrayStore:
        """The store of arrays of that name."""

    def slices(self, name: str, layout: Mapping[str, tuple[str, tuple[int, ...]]]) -> SliceStore:
        """The store of sorted rows of that name; ``layout`` has each array's dtype and the shape of a row."""


def shaped(
    arrays: Mapping[str, NDArray[Any]], name: str, *shape: int | None, whole: bool = False
) -> NDArray[Any]:
    """Return the array of that name if it has that shape; None fits any length.

    Parameters
    ----------
    whole : it holds whole numbers, else real ones

    Raises
    ------
    KeyError
        If there is no such array.
    ValueError
        If it has another shape or type.
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
    """Return the whole numbers of that name, all in ``least .. below - 1``; raises as :func:`shaped`."""
    found = shaped(arrays, name, *shape, whole=True)
    if found.size and not (found.min() >= least and found.max() < below):
        raise ValueError(f"array {name!r} has numbers outside {least} to {below - 1}")
    return found
