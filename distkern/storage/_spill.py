"""Entries of sparse rows in the order of their columns, parked on disk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.common.sparse import SparseRows
from distkern.storage.spool import ParkedFile

_LOW_BITS = 16


@dataclass(frozen=True, slots=True)
class ColumnRun:
    """Entries in the order of their columns, those of a column in the order of their rows.

    Attributes
    ----------
    columns, rows : (n_entries,) int32
    data : (n_entries,) float32
    """

    columns: NDArray[np.int32]
    rows: NDArray[np.int32]
    data: NDArray[np.float32]

    def occurring(self) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]:
        """The columns that occur, where each begins, and how many entries it has."""
        changes = np.flatnonzero(np.diff(self.columns, prepend=-1))
        lengths = np.diff(changes, append=len(self.columns))
        return self.columns[changes], changes, lengths

    def count(self, counts: NDArray[np.int32]) -> None:
        """Add the entries of each column to ``counts``."""
        columns, _, lengths = self.occurring()
        counts[columns] += lengths.astype(np.int32)


def by_column(features: SparseRows, first_row: int) -> ColumnRun:
    """The entries of some rows, counted from ``first_row`` on, in the order of their columns."""
    # 16 bits at a time, which NumPy sorts in linear time
    order = np.argsort((features.indices & (2**_LOW_BITS - 1)).astype(np.uint16), kind="stable")
    if features.n_features > 2**_LOW_BITS:
        high = (features.indices >> _LOW_BITS).astype(np.uint16)[order]
        order = order[np.argsort(high, kind="stable")]
    rows = features.row_of_entries.astype(np.int32) + np.int32(first_row)
    data = np.asarray(features.data, dtype=np.float32)
    return ColumnRun(features.indices[order], rows[order], data[order])


class Spill:
    """Runs parked in a file; ranges of columns are read back."""

    def __init__(self, file: ParkedFile) -> None:
        self._file = file
        # start and number of entries of each run
        self._runs: list[tuple[int, int]] = []
        self._read: list[int] = []

    def append(self, run: ColumnRun) -> None:
        """Park a run."""
        self._runs.append((self._file.n_bytes, len(run.columns)))
        self._read.append(0)
        for part in (run.columns, run.rows, run.data):
            self._file.append(part)

    def read(self, stop: int) -> Iterator[ColumnRun]:
        """The entries of every run before column ``stop`` that have not been read yet."""
        for number, (offset, entries) in enumerate(self._runs):
            low = self._read[number]
            high = self._place(offset, entries, low, stop)
            self._read[number] = high
            kinds = (np.int32, np.int32, np.float32)
            parts = (
                self._file.read(offset + 4 * (before * entries + low), kind, high - low)
                for before, kind in enumerate(kinds)
            )
            yield ColumnRun(*parts)

    def _place(self, offset: int, entries: int, low: int, column: int) -> int:
        """The first entry of a run, from ``low`` on, whose column is ``column`` or a later one."""
        high = entries
        while low < high:
            middle = (low + high) // 2
            found = int(self._file.read(offset + 4 * middle, np.int32, 1)[0])
            low, high = (middle + 1, high) if found < column else (low, middle)
        return low
