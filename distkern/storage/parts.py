"""Results of many tasks in one folder, each put there by the process that made it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.storage.arrays import load_arrays, save_arrays
from distkern.storage.atomic import write_text_atomic
from distkern.storage.description import Description, as_read, sealed_text
from distkern.storage.places import Location, Place, absolute

_DESCRIPTION = Description("distkern-part", "a task's result", 1, 1, "remove it and resume the run")
_MARK = "here"


class SharedFolder:
    """A folder that some processes see; it is made where it is missing.

    Another host may have another folder of the same path, so it is known by a mark that is in this one alone.
    """

    def __init__(self, folder: Location) -> None:
        self.folder: Place = absolute(folder)
        self._mark = secrets.token_hex(8)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text_atomic(self.folder / _MARK, self._mark)

    def is_here(self) -> bool:
        """Whether this process sees the folder."""
        try:
            return (self.folder / _MARK).read_bytes() == self._mark.encode()
        except OSError:
            return False

    def remove_mark(self) -> None:
        """From now on nobody sees the folder as this one."""
        (self.folder / _MARK).unlink()


@dataclass(frozen=True, slots=True)
class _Part:
    """What the description of a part says, beside its type and version."""

    number: int
    of: str
    record: dict[str, Any]
    arrays: str


class ArrayParts(SharedFolder):
    """Arrays by the numbers of the tasks that made them, as a store of :class:`~distkern.passes.Each`.

    The result of a task is a pair of its record, an object of JSON, and its named arrays. The description is
    written after the arrays, so a part is there whole or not at all.

    Parameters
    ----------
    of : what the parts are of (data, job, pass); parts of anything else do not count and are replaced
    """

    def __init__(self, folder: Location, of: str) -> None:
        super().__init__(folder)
        self._of = of

    def put(
        self, number: int, result: tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]
    ) -> dict[str, Any]:
        """Write a part; its record, as it will be read."""
        record, arrays = result
        fingerprint = save_arrays(self.folder / f"{number}", arrays)
        part = {"number": number, "of": self._of, "record": as_read(record), "arrays": fingerprint}
        text = sealed_text({"encoding-type": _DESCRIPTION.encoding, "encoding-version": 1, **part})
        write_text_atomic(self.folder / f"{number}.json", text)
        return as_read(record)

    def records(self) -> dict[int, dict[str, Any]]:
        """The records of the parts that are there."""
        parts = (self._part(file) for file in self.folder.iterdir() if file.suffix == ".json")
        return {part.number: part.record for part in parts if part.of == self._of}

    def fingerprint(self, number: int) -> str:
        """What a part's arrays are known by, for :class:`StoredParts`."""
        return self._part(self.folder / f"{number}.json").arrays

    def load(self, number: int) -> dict[str, NDArray[Any]]:
        """The arrays of a part.

        Raises
        ------
        InputError
            If it is not there.
        CorruptDataError
            If anything in it is missing or changed.
        """
        file = self.folder / f"{number}.json"
        if not file.exists():
            raise InputError("there is no such part", where=str(file), mend="resume the run")
        return load_arrays(self.folder / f"{number}", fingerprint=self._part(file).arrays)

    def _part(self, file: Place) -> _Part:
        content = _DESCRIPTION.parse(file.read_bytes(), str(file))
        _DESCRIPTION.unseal(content, str(file))
        return _DESCRIPTION.read(_Part, content, str(file))


@dataclass(frozen=True)
class StoredParts:
    """Finished parts, each known by its fingerprint, wherever their folder lies now.

    Attributes
    ----------
    folder : of the parts
    fingerprints : of each part's arrays, in order
    """

    folder: Place
    fingerprints: tuple[str, ...]

    def load(self, number: int) -> dict[str, NDArray[Any]]:
        """The arrays of a part; raises as :func:`~distkern.storage.arrays.load_arrays`."""
        return load_arrays(self.folder / f"{number}", fingerprint=self.fingerprints[number])


@dataclass(frozen=True)
class HeldParts:
    """Parts in memory."""

    arrays: tuple[Mapping[str, NDArray[Any]], ...]

    def load(self, number: int) -> Mapping[str, NDArray[Any]]:
        """The arrays of a part."""
        return self.arrays[number]


def save_parts(parts: StoredParts | HeldParts, n_parts: int, folder: Place) -> None:
    """Write the arrays of parts 0 .. n - 1 into a folder, one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(n_parts):
        save_arrays(folder / f"{number}", parts.load(number))
