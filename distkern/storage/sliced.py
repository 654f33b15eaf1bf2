"""Rows that tasks have sorted into slices, of which other tasks read one of all of them: a shuffle."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.storage import chunks
from distkern.storage.atomic import write_bytes_atomic, write_text_atomic
from distkern.storage.description import Description, as_read, sealed_text
from distkern.storage.parts import SharedFolder
from distkern.storage.places import Location, Place, read_range

_DESCRIPTION = Description("distkern-slices", "sorted rows", 1, 1, "remove them and resume the run")
#: of a slice: where its bytes begin and end, their crc32c, and that of this entry and of whose it is
_ENTRY = np.dtype([("start", "<u8"), ("stop", "<u8"), ("crc32c", "<u4"), ("check", "<u4")])


@dataclass(frozen=True, slots=True)
class _Part:
    """What the description of a part says, beside its type and version."""

    number: int
    of: str
    record: dict[str, Any]


class SlicedParts(SharedFolder):
    """Rows by the numbers of the tasks that sorted them, as a store of :class:`~distkern.passes.Each`.

    The result of a task is (record, offsets, arrays): slice s of each array is its rows ``offsets[s] :
    offsets[s + 1]``. A part is one file, which begins with a table of its slices, so that a slice is read by
    two small reads and nothing beside it. The description is written last, so a part is there whole or not
    at all.

    Parameters
    ----------
    of : what the parts are of; parts of anything else do not count and are replaced
    layout : of each array its dtype and the shape of a row
    """

    def __init__(self, folder: Location, of: str, layout: Mapping[str, tuple[str, tuple[int, ...]]]) -> None:
        super().__init__(folder)
        self._of = of
        self._layout = dict(layout)

    def put(
        self, number: int, result: tuple[Mapping[str, Any], NDArray[np.int64], Mapping[str, NDArray[Any]]]
    ) -> dict[str, Any]:
        """Write a part; its record, as it will be read."""
        record, offsets, arrays = result
        columns = [np.ascontiguousarray(arrays[name], dtype) for name, (dtype, _) in self._layout.items()]
        table = np.zeros(len(offsets) - 1, dtype=_ENTRY)
        start = table.nbytes
        content = bytearray(start + sum(column.nbytes for column in columns))
        for place, (low, high) in enumerate(pairwise(offsets)):
            stop = start
            for column in columns:
                values = column[low:high].reshape(-1).view(np.uint8)
                content[stop : stop + len(values)] = values.data
                stop += len(values)
            checksum = chunks.crc32c(np.frombuffer(content, np.uint8)[start:stop])
            table[place] = (start, stop, checksum, 0)
            table[place]["check"] = self._check(number, place, table[place])
            start = stop
        content[: table.nbytes] = table.tobytes()
        write_bytes_atomic(self._file(number), content)
        part = {"number": number, "of": self._of, "record": as_read(record)}
        text = sealed_text({"encoding-type": _DESCRIPTION.encoding, "encoding-version": 1, **part})
        write_text_atomic(self.folder / f"{number}.json", text)
        return as_read(record)

    def records(self) -> dict[int, dict[str, Any]]:
        """The records of the parts that are there."""
        parts = (self._part(file) for file in self.folder.iterdir() if file.suffix == ".json")
        return {part.number: part.record for part in parts if part.of == self._of}

    def slices(self, place: int, numbers: int) -> Iterator[dict[str, NDArray[Any]]]:
        """Slice ``place`` of each of the parts 0 .. ``numbers`` - 1, in order.

        Raises
        ------
        InputError
            If this process does not see the folder.
        CorruptDataError
            If a part is missing or changed.
        """
        if not self.is_here():
            raise InputError(
                "this worker does not see the folder in which the run keeps its rows",
                where=str(self.folder),
                mend="train with --out in a folder that all workers see",
            )
        for number in range(numbers):
            yield self._slice(place, number)

    def _slice(self, place: int, number: int) -> dict[str, NDArray[Any]]:
        file = self._file(number)
        low = place * _ENTRY.itemsize
        try:
            entry = np.frombuffer(read_range(file, low, low + _ENTRY.itemsize), dtype=_ENTRY)
            if len(entry) != 1 or int(entry[0]["check"]) != self._check(number, place, entry[0]):
                raise chunks.damaged("its table of slices is damaged, or of another run", file)
            start, stop = int(entry[0]["start"]), int(entry[0]["stop"])
            content = np.frombuffer(read_range(file, start, stop), dtype=np.uint8)
        except FileNotFoundError:
            raise chunks.damaged("the rows are missing", file) from None
        if len(content) != stop - start or chunks.crc32c(content) != int(entry[0]["crc32c"]):
            raise chunks.damaged("the stored rows are damaged (their checksum is wrong)", file)
        row_bytes = sum(np.dtype(dtype).itemsize * math.prod(shape) for dtype, shape in self._layout.values())
        n_rows, arrays, done = len(content) // row_bytes, {}, 0
        for name, (dtype, shape) in self._layout.items():
            size = n_rows * np.dtype(dtype).itemsize * math.prod(shape)
            arrays[name] = content[done : done + size].view(dtype).reshape(n_rows, *shape)
            done += size
        return arrays

    def _check(self, number: int, place: int, entry: Any) -> int:
        whose = np.frombuffer(f"{self._of}/{number}/{place}".encode(), dtype=np.uint8)
        return chunks.crc32c(np.frombuffer(entry.tobytes()[:-4], dtype=np.uint8), chunks.crc32c(whose))

    def _file(self, number: int) -> Place:
        return self.folder / f"{number}.rows"

    def _part(self, file: Place) -> _Part:
        content = _DESCRIPTION.parse(file.read_bytes(), str(file))
        _DESCRIPTION.unseal(content, str(file))
        return _DESCRIPTION.read(_Part, content, str(file))
