"""Rows parked on disk between reading and sharding: the two halves of an out-of-core shuffle."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import InputError
from distkern.core.rng import Purpose, stream
from distkern.core.sparse import Rows, SparseRows

#: most rows for which NumPy draws hypergeometric counts
MAX_SHUFFLED_ROWS = 999_999_999


#: a run of rows and their records, read back
Parked = tuple[Rows, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Run:
    """Rows that were appended together.

    Attributes
    ----------
    rows, width, dtype : shape and type of the features
    first : number of rows in earlier runs
    offset : byte at which the features begin
    entries : None for dense rows, else the number of stored entries: indptr, indices and data, one after
        the other
    """

    rows: int
    width: int
    dtype: str
    first: int
    offset: int
    entries: int | None = None


class ParkedFile:
    """A new file that rows are appended to and read back from while it is open.

    It is removed when the context closes.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.n_bytes = path, 0
        self._file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b")

    def append(self, values: NDArray[Any]) -> None:
        """Append the bytes of an array."""
        self._file.seek(self.n_bytes)
        self.n_bytes += self._file.write(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)

    def read(self, offset: int, dtype: DTypeLike, size: int) -> NDArray[Any]:
        """Read ``size`` numbers from a byte on."""
        self._file.seek(offset)
        content = self._file.read(size * np.dtype(dtype).itemsize)
        if len(content) < size * np.dtype(dtype).itemsize:
            raise OSError(f"{self.path} is shorter than the data written to it")
        return np.frombuffer(content, dtype)

    def close(self) -> None:
        """Close the files; the folder's owner removes them."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self.path.unlink()


class Spool:
    """A growing file of features and one of records, in runs of rows that can be read back by position.

    Parameters
    ----------
    record : structured type of a row's data besides its features
    """

    def __init__(self, folder: Path, name: str, record: np.dtype[Any]) -> None:
        self.record, self.runs, self.n_rows = record, list[Run](), 0
        self._features, self._records = (
            ParkedFile(folder / f"{name}.{kind}") for kind in ("features", "records")
        )

    def append(self, features: Rows, records: NDArray[Any]) -> None:
        """Append a run: features (n, width) of any float type and either form, and records (n,)."""
        rows, width = features.shape
        start, entries = self._features.n_bytes, None
        parts: tuple[NDArray[Any], ...] = ()
        if isinstance(features, SparseRows):
            entries, parts = features.n_entries, (features.indptr, features.indices, features.data)
        else:
            parts = (features,)
        self.runs.append(Run(rows, width, features.dtype.str, self.n_rows, start, entries))
        self.n_rows += rows
        for part in parts:
            self._features.append(part)
        self._records.append(records)

    def read(self, run: Run, start: int, count: int) -> Parked:
        """Return rows ``start : start + count`` of a run."""
        offset = self.record.itemsize * (run.first + start)
        features = self._dense(run, start, count) if run.entries is None else self._sparse(run, start, count)
        return features, self._records.read(offset, self.record, count)

    def pieces(self, most: int) -> Iterator[Parked]:
        """Yield all rows in stored order, at most ``most`` at a time."""
        for run in self.runs:
            for start in range(0, run.rows, most):
                yield self.read(run, start, min(most, run.rows - start))

    def _dense(self, run: Run, start: int, count: int) -> NDArray[Any]:
        dtype = np.dtype(run.dtype)
        first = run.offset + start * run.width * dtype.itemsize
        return self._features.read(first, dtype, count * run.width).reshape(count, run.width)

    def _sparse(self, run: Run, start: int, count: int) -> SparseRows:
        assert run.entries is not None
        dtype = np.dtype(run.dtype)
        indptr = self._features.read(run.offset + 8 * start, np.int64, count + 1)
        low, n_entries = int(indptr[0]), int(indptr[-1] - indptr[0])
        indices_start = run.offset + 8 * (run.rows + 1)
        data_start = indices_start + 4 * run.entries
        indices = self._features.read(indices_start + 4 * low, np.int32, n_entries)
        data = self._features.read(data_start + dtype.itemsize * low, dtype, n_entries)
        return SparseRows(data, indices, indptr - low, run.width)

    @property
    def n_entries(self) -> int:
        """Number of entries of the sparse runs."""
        return sum(run.entries or 0 for run in self.runs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._features.close()
        self._records.close()


def in_field(records: NDArray[Any], name: str) -> NDArray[Any] | None:
    """Return a field (n,) of some records, or None."""
    return records[name] if name in (records.dtype.names or ()) else None


@dataclass(frozen=True, slots=True)
class RunPiece:
    """Consecutive rows of one run, and their positions in the shard."""

    run: Run
    start: int
    rows: int
    positions: NDArray[np.int64] | slice


def in_order(runs: list[Run], shard_rows: list[int]) -> Iterator[list[RunPiece]]:
    """Yield the pieces of each shard if rows keep their order."""
    number, start = 0, 0
    for wanted in shard_rows:
        pieces: list[RunPiece] = []
        filled = 0
        while filled < wanted:
            count = min(wanted - filled, runs[number].rows - start)
            pieces.append(RunPiece(runs[number], start, count, slice(filled, filled + count)))
            filled += count
            start += count
            if start == runs[number].rows:
                number, start = number + 1, 0
        yield pieces


def shuffled(runs: list[Run], shard_rows: list[int], seed: int) -> Iterator[list[RunPiece]]:
    """Yield the pieces of each shard in a uniformly random order of all rows.

    Each run must itself be in uniformly random order. A shard of m rows takes from every run as many of its
    next rows as m draws without replacement from all remaining rows would (multivariate hypergeometric), and
    puts them into random positions: exactly the distribution of a random permutation of all rows, with one
    shard in memory.
    """
    remaining = np.array([run.rows for run in runs], dtype=np.int64)
    if remaining.sum() > MAX_SHUFFLED_ROWS:
        raise InputError(
            f"{int(remaining.sum()):,} rows are more than can be shuffled ({MAX_SHUFFLED_ROWS:,})",
            where="--shuffle",
            hint="give rows that are in random order, and --no-shuffle",
        )
    taken = np.zeros_like(remaining)
    for index, wanted in enumerate(shard_rows):
        generator = stream(seed, Purpose.SHUFFLE, 1, index)
        counts = generator.multivariate_hypergeometric(remaining, wanted, method="marginals")
        positions = generator.permutation(wanted)
        pieces: list[RunPiece] = []
        filled = 0
        for number in np.flatnonzero(counts):
            count = int(counts[number])
            target = positions[filled : filled + count]
            pieces.append(RunPiece(runs[number], int(taken[number]), count, target))
            filled += count
        taken += counts
        remaining -= counts
        yield pieces
