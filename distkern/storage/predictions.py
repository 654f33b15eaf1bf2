"""Predictions on disk, written block by block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import InputError
from distkern.storage import chunks
from distkern.storage.atomic import StagedFolder, staged_folder
from distkern.storage.places import Location, place_of

_TEXT_CHUNK = 2**20


class _Growing:
    """An array that rows are added to, written a whole chunk at a time."""

    def __init__(
        self, group: chunks.Group, name: str, inner: tuple[int, ...], chunk_rows: int, dtype: DTypeLike
    ) -> None:
        self._array = chunks.create_array(group, name, (0, *inner), (chunk_rows, *inner), dtype)
        self._inner, self._chunk_rows = inner, chunk_rows
        self._waiting: list[NDArray[Any]] = []
        self._n_waiting = self._n_written = 0

    def append(self, values: NDArray[Any]) -> None:
        self._waiting.append(values)
        self._n_waiting += len(values)
        if self._n_waiting >= self._chunk_rows:
            self._write(self._n_waiting // self._chunk_rows * self._chunk_rows)

    def finish(self) -> None:
        self._write(self._n_waiting)

    def _write(self, count: int) -> None:
        if not count:
            return
        values = np.concatenate(self._waiting)
        self._array.resize((self._n_written + count, *self._inner))
        self._array[self._n_written : self._n_written + count] = values[:count]
        self._n_written += count
        self._n_waiting -= count
        self._waiting = [values[count:].copy()]


class PredictionWriter:
    """Writes rows of predictions into arrays that appear at their place with :meth:`commit`."""

    def __init__(
        self, staged: StagedFolder, predictions: _Growing, keys: _Growing | None, ends: _Growing | None
    ) -> None:
        self._staged = staged
        self._predictions, self._keys, self._ends = predictions, keys, ends
        self._n_bytes = 0

    def write(self, values: NDArray[Any], keys: NDArray[Any] | None = None) -> None:
        """Add predictions, (n,) or (n, n_outputs), and the row numbers or ids of their rows."""
        self._predictions.append(values)
        if keys is None or self._keys is None:
            return
        if self._ends is None:
            self._keys.append(keys)
            return
        texts = [str(key).encode() for key in keys]
        self._keys.append(np.frombuffer(b"".join(texts), dtype=np.uint8))
        ends = self._n_bytes + np.cumsum([len(text) for text in texts], dtype=np.int64)
        self._n_bytes = int(ends[-1]) if len(ends) else self._n_bytes
        self._ends.append(ends)

    def commit(self) -> None:
        """Put the arrays in their place."""
        for array in (self._predictions, self._keys, self._ends):
            if array is not None:
                array.finish()
        self._staged.commit()


@contextmanager
def create_predictions(
    path: Location,
    n_outputs: int | None,
    dtype: DTypeLike,
    rows_per_chunk: int,
    *,
    classes: list[Any] | None = None,
    rows: bool = False,
    id: str | None = None,
    overwrite: bool = False,
) -> Iterator[PredictionWriter]:
    """A zarr group with an array ``predictions``, (n_rows,) or (n_rows, n_outputs), crc32c on every chunk.

    Text labels are stored as int32 positions in ``classes``, which the group's attributes keep: zarr v3 has
    no settled encoding of text. Nothing is left at ``path`` unless the writer is committed.

    Parameters
    ----------
    rows : with an array ``row`` of row numbers
    id : with the texts of this column, as ``id_bytes`` (their UTF-8, one after the other) and ``id_ends``
        (where each ends)

    Raises
    ------
    InputError
        If ``path`` exists (without ``overwrite``), the disk is full or the place cannot be written.
    """
    place = place_of(path)
    if place.exists() and not overwrite:
        raise InputError("already exists", where=str(path), mend="choose another place or remove it")
    with staged_folder(place) as staged:
        attributes: dict[str, Any] = {"encoding-type": "distkern-predictions", "encoding-version": 1}
        attributes |= {} if classes is None else {"classes": classes}
        attributes |= {} if id is None else {"id": id}
        group = chunks.create_group(staged.path, attributes)
        inner = () if n_outputs is None else (n_outputs,)
        predictions = _Growing(group, "predictions", inner, rows_per_chunk, dtype)
        keys = ends = None
        if rows:
            keys = _Growing(group, "row", (), rows_per_chunk, np.int64)
        elif id is not None:
            keys = _Growing(group, "id_bytes", (), _TEXT_CHUNK, np.uint8)
            ends = _Growing(group, "id_ends", (), rows_per_chunk, np.int64)
        yield PredictionWriter(staged, predictions, keys, ends)
