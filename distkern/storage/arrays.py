"""Named arrays in one folder: models and checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import CorruptDataError, InputError
from distkern.storage import chunks
from distkern.storage.atomic import staged_folder
from distkern.storage.places import Location, Place, absolute, is_whole

_TYPE = "distkern-arrays"
_VERSION = 1
_CHUNK_BYTES = 64 * 2**20


def save_arrays(
    path: Location,
    arrays: Mapping[str, NDArray[Any]] | Iterable[tuple[str, NDArray[Any]]],
) -> None:
    """Write arrays (numbers or booleans, any shape) as a zarr v3 group that appears whole or not at all.

    What is at ``path`` is replaced. Every chunk is checksummed. Pairs of name and array are taken and written
    one after the other, so they need not be in memory together.

    Raises
    ------
    InputError
        If the disk is full or the place cannot be written.
    """
    with staged_folder(path) as staged:
        group = chunks.create_group(staged.path)
        names = []
        for name, values in arrays.items() if isinstance(arrays, Mapping) else arrays:
            names.append(name)
            _save(group, name, values)
            # the next array may be made before this name is bound to it
            del values
        group.update_attributes({"encoding-type": _TYPE, "encoding-version": _VERSION, "names": names})
        staged.commit()


def _save(group: chunks.Group, name: str, values: NDArray[Any]) -> None:
    shape = values.shape
    row_bytes = values.nbytes // shape[0] if values.ndim and shape[0] else 0
    first = max(1, _CHUNK_BYTES // row_bytes) if row_bytes else 1
    chunk = (min(first, shape[0]), *shape[1:]) if shape else ()
    array = chunks.create_array(group, name, shape, chunk, values.dtype)
    if values.size:
        array[...] = values


def array_names(path: Location) -> list[str]:
    """The names of what :func:`save_arrays` wrote, in its order.

    Raises
    ------
    InputError
        If there is no such folder, or a newer version wrote it.
    CorruptDataError
        If it cannot be read.
    """
    folder = absolute(path)
    if not is_whole(folder):
        raise InputError("there are no stored arrays", where=str(folder), mend="check the path")
    try:
        group = chunks.open_group(folder)
        attributes = dict(group.attrs)
    except InputError:
        raise
    except (OSError, ValueError, KeyError) as error:
        raise chunks.damaged(f"not readable as arrays ({error})", folder) from error
    if attributes.get("encoding-type") != _TYPE:
        raise CorruptDataError("does not hold arrays of distkern", where=str(folder), mend="check the path")
    version = attributes.get("encoding-version")
    if not isinstance(version, int) or version > _VERSION:
        raise InputError(
            f"written by a newer version (format {version})", where=str(folder), mend="upgrade distkern"
        )
    names = attributes["names"]
    if not isinstance(names, list):
        raise chunks.damaged("the list of arrays is damaged", folder)
    return [str(name) for name in names]


def load_arrays(path: Location, names: Iterable[str] | None = None) -> dict[str, NDArray[Any]]:
    """Read what :func:`save_arrays` wrote, or the arrays of the given names.

    Raises
    ------
    InputError
        If there is no such folder, or a newer version wrote it.
    CorruptDataError
        If anything in it is missing or changed.
    """
    folder = absolute(path)
    wanted = array_names(folder) if names is None else names
    return {name: _load(folder / name) for name in wanted}


def _load(folder: Place) -> NDArray[Any]:
    try:
        array = chunks.open_array(folder)
    except InputError:
        raise
    except (OSError, ValueError, KeyError) as error:
        raise chunks.damaged("the array is missing or its description is damaged", folder) from error
    if 0 in array.shape:
        return np.zeros(array.shape, dtype=array.dtype)
    return chunks.read_whole(array, folder)
