"""Arrays of files, whose shapes are checked before anything indexes by them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray


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
