"""Results of many tasks in one folder, each written by the process that computed it."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.data.store.arrays import array_bytes, check_arrays, crc32c, damaged, load_arrays, save_arrays
from distkern.data.store.atomic import flushed, write_bytes_atomic, write_text_atomic
from distkern.data.store.description import Description, as_read
from distkern.data.store.places import Location, NotAFileError, Place, absolute, read_file, read_range

_MARK = "here"
#: entry of a slice: first and end byte, crc32c of the bytes, and crc32c of this entry and its owner
_ENTRY = np.dtype([("start", "<u8"), ("stop", "<u8"), ("crc32c", "<u4"), ("check", "<u4")])


class SharedFolder:
    """A folder that several processes see, created if missing.

    Another host may have another folder at the same path, so a mark identifies this one.
    """

    def __init__(self, folder: Location) -> None:
        self.folder: Place = absolute(folder)
        self._mark = secrets.token_hex(8)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text_atomic(self.folder / _MARK, self._mark)

    def is_here(self) -> bool:
        """Whether this process sees the folder."""
        try:
            return read_file(self.folder / _MARK) == self._mark.encode()
        except OSError:
            return False

    def remove_mark(self) -> None:
        """Remove the mark, so that no process recognises the folder."""
        (self.folder / _MARK).unlink()


@dataclass(frozen=True, slots=True)
class _PartDescription:
    """Description of a part besides its type and version; ``arrays``: their fingerprint."""

    number: int
    of: str
    record: dict[str, Any]
    arrays: str = ""


class _Parts(SharedFolder):
    """Results by task number, a store of :class:`~distkern.passes.Each`.

    A part's description is written last, so the part is complete or absent.

    Parameters
    ----------
    of : identity of the parts (data, job, pass); parts of others do not count and are replaced
    stays : they outlive the process
    """

    description: ClassVar[Description]

    def __init__(self, folder: Location, of: str, *, stays: bool = True) -> None:
        with flushed(stays):
            super().__init__(folder)
        self._of, self._stays = of, stays

    def records(self) -> dict[int, dict[str, Any]]:
        """Return the records of complete parts; damaged parts are left out."""
        found = {}
        for file in self.folder.iterdir():
            if file.suffix == ".json":
                with suppress(InputError):
                    part = self._part(file)
                    if part.of == self._of:
                        self._check(part)
                        found[part.number] = part.record
        return found

    @abstractmethod
    def _check(self, part: _PartDescription) -> None:
        """Read all of a part; :class:`InputError` if it is damaged."""

    def _describe(self, number: int, record: Mapping[str, Any], **more: str) -> dict[str, Any]:
        """Write the description of a part; return its record as it will be read."""
        content = {"number": number, "of": self._of, "record": record, **more}
        write_text_atomic(self.folder / f"{number}.json", self.description.text(content))
        return as_read(record)

    def _part(self, file: Place) -> _PartDescription:
        content, _ = self.description.load(file)
        return self.description.read(_PartDescription, content, str(file))


class ArrayParts(_Parts):
    """Arrays by task number; a result is (record, named arrays)."""

    description = Description("distkern-part", "a task's result", 1, "remove it and resume the run")

    def put(
        self, number: int, result: tuple[Mapping[str, Any], Mapping[str, NDArray[Any]]]
    ) -> dict[str, Any]:
        """Write a part; return its record as it will be read."""
        record, arrays = result
        with flushed(self._stays):
            fingerprint = save_arrays(self.folder / f"{number}", arrays)
            return self._describe(number, record, arrays=fingerprint)

    def _check(self, part: _PartDescription) -> None:
        check_arrays(self.folder / f"{part.number}", fingerprint=part.arrays)

    def fingerprint(self, number: int) -> str:
        """Return the identity of a part's arrays, for :class:`StoredParts`."""
        return self._part(self.folder / f"{number}.json").arrays

    def load(self, number: int) -> dict[str, NDArray[Any]]:
        """Read the arrays of a part.

        Raises :class:`InputError` if it does not exist and :class:`CorruptDataError` if anything in it is
        missing or changed.
        """
        file = self.folder / f"{number}.json"
        if not file.exists():
            raise InputError("there is no such part", where=str(file), hint="resume the run")
        return load_arrays(self.folder / f"{number}", fingerprint=self._part(file).arrays)


class SlicedParts(_Parts):
    """Rows that tasks sorted into slices, one of which other tasks read from all parts: a shuffle.

    A result is (record, offsets, arrays): slice s of each array is its rows ``offsets[s] : offsets[s + 1]``.
    A part is one file that begins with a table of its slices, so that two small reads get a slice.

    Parameters
    ----------
    layout : dtype and row shape of each array
    """

    description = Description("distkern-slices", "sorted rows", 2, "remove them and resume the run")

    def __init__(
        self,
        folder: Location,
        of: str,
        layout: Mapping[str, tuple[str, tuple[int, ...]]],
        *,
        stays: bool = True,
    ) -> None:
        super().__init__(folder, of, stays=stays)
        self._row = np.dtype([(name, *kind) for name, kind in layout.items()])

    def put(
        self, number: int, result: tuple[Mapping[str, Any], NDArray[np.int64], Mapping[str, NDArray[Any]]]
    ) -> dict[str, Any]:
        """Write a part; return its record as it will be read."""
        record, offsets, arrays = result
        table = np.zeros(len(offsets) - 1, dtype=_ENTRY)
        content = bytearray(table.nbytes + int(offsets[-1]) * self._row.itemsize)
        as_bytes = np.frombuffer(content, np.uint8)
        rows = as_bytes[table.nbytes :].view(self._row)
        for name in self._row.names or ():
            rows[name] = arrays[name]
        table["start"] = table.nbytes + offsets[:-1] * self._row.itemsize
        table["stop"] = table.nbytes + offsets[1:] * self._row.itemsize
        for place, entry in enumerate(table):
            entry["crc32c"] = crc32c(as_bytes[int(entry["start"]) : int(entry["stop"])])
            entry["check"] = self._checksum(number, place, entry)
        as_bytes[: table.nbytes] = table.view(np.uint8)
        with flushed(self._stays):
            write_bytes_atomic(self._file(number), content)
            return self._describe(number, record)

    def slices(self, place: int, numbers: Iterable[int]) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield slice ``place`` of several parts, in the order of their numbers.

        Raises :class:`InputError` if this process does not see the folder and :class:`CorruptDataError` if a
        part is missing or changed.
        """
        if not self.is_here():
            raise InputError(
                "this worker cannot read the folder with the rows of the run",
                where=str(self.folder),
                hint="give --out in a folder that all workers see",
            )
        for number in numbers:
            yield self._slice(place, number)

    def offsets(self, number: int) -> NDArray[np.int64]:
        """Return the offsets of a part from its table of slices, which is checked when a slice is read."""
        file = self._file(number)
        try:
            first = np.frombuffer(read_range(file, 0, _ENTRY.itemsize), dtype=_ENTRY)
            table = np.frombuffer(read_range(file, 0, int(first[0]["start"])), dtype=_ENTRY)
        except (FileNotFoundError, NotAFileError, IndexError, ValueError):
            raise damaged("its table of slices is missing or damaged", file) from None
        ends = np.append(table["start"][:1], table["stop"]).astype(np.int64)
        return np.asarray((ends - ends[0]) // self._row.itemsize)

    def _slice(self, place: int, number: int) -> dict[str, NDArray[Any]]:
        file = self._file(number)
        low = place * _ENTRY.itemsize
        try:
            entry = np.frombuffer(read_range(file, low, low + _ENTRY.itemsize), dtype=_ENTRY)
            if len(entry) != 1 or int(entry[0]["check"]) != self._checksum(number, place, entry[0]):
                raise damaged("its table of slices is damaged, or from another run", file)
            start, stop = int(entry[0]["start"]), int(entry[0]["stop"])
            content = np.frombuffer(read_range(file, start, stop), dtype=np.uint8)
        except FileNotFoundError:
            raise damaged("the rows are missing", file) from None
        except NotAFileError as error:
            raise damaged(f"the rows cannot be read ({error.strerror})", file) from None
        if len(content) != stop - start or crc32c(content) != int(entry[0]["crc32c"]):
            raise damaged("the stored rows are damaged (their checksum is wrong)", file)
        rows = content.view(self._row)
        return {name: np.ascontiguousarray(rows[name]) for name in self._row.names or ()}

    def _check(self, part: _PartDescription) -> None:
        # the first entry holds the length of the table, and is checked with the first slice
        self._slice(0, part.number)
        for place in range(1, len(self.offsets(part.number)) - 1):
            self._slice(place, part.number)

    def _checksum(self, number: int, place: int, entry: Any) -> int:
        owner = np.frombuffer(f"{self._of}/{number}/{place}".encode(), dtype=np.uint8)
        return crc32c(np.frombuffer(entry.tobytes()[:-4], dtype=np.uint8), crc32c(owner))

    def _file(self, number: int) -> Place:
        return self.folder / f"{number}.rows"


@dataclass(frozen=True)
class StoredParts:
    """Finished parts, each identified by its fingerprint, wherever their folder lies now.

    Attributes
    ----------
    folder : folder of the parts
    fingerprints : fingerprints of each part's arrays, in order
    """

    folder: Place
    fingerprints: tuple[str, ...]

    def missing(self) -> Place | None:
        """Return the first missing part, without reading the others; None if all exist."""
        present = {entry.name for entry in self.folder.iterdir()} if self.folder.is_dir() else set()
        parts = map(str, range(len(self.fingerprints)))
        return next((self.folder / part for part in parts if part not in present), None)

    def load(self, number: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of a part; raises as :func:`~distkern.data.store.arrays.load_arrays`."""
        return load_arrays(self.folder / f"{number}", fingerprint=self.fingerprints[number])

    @property
    def n_bytes(self) -> int:
        """Bytes of all parts in memory; raises as :meth:`load`."""
        return sum(array_bytes(self.folder / f"{number}") for number in range(len(self.fingerprints)))

    def loaded(self) -> HeldParts:
        """Return all parts in memory; raises as :meth:`load`."""
        return HeldParts(tuple(self.load(number) for number in range(len(self.fingerprints))))


@dataclass(frozen=True)
class HeldParts:
    """Parts in memory."""

    arrays: tuple[Mapping[str, NDArray[Any]], ...]

    def load(self, number: int) -> Mapping[str, NDArray[Any]]:
        """Return the arrays of a part."""
        return self.arrays[number]


def save_parts(parts: StoredParts | HeldParts, n_parts: int, folder: Place) -> None:
    """Write the arrays of parts 0 .. n - 1 into a folder, one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(n_parts):
        save_arrays(folder / f"{number}", parts.load(number))
