"""Predictions on disk, written shard by shard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import InputError
from distkern.storage import chunks
from distkern.storage.atomic import StagedFolder, staged_folder
from distkern.storage.places import Location, place_of


class PredictionWriter:
    """Writes rows of predictions into an array that appears at its place with :meth:`commit`."""

    def __init__(self, staged: StagedFolder, array: chunks.Array, n_rows: int) -> None:
        self._staged = staged
        self._array = array
        self._n_rows = n_rows
        self._written = 0

    def write(self, start: int, values: NDArray[Any]) -> None:
        """Store predictions of rows ``start`` and following, (n,) or (n, n_outputs)."""
        self._array[start : start + len(values)] = values
        self._written += len(values)

    def commit(self) -> None:
        """Put the array in its place; every row must have been written once."""
        if self._written != self._n_rows:
            raise RuntimeError(f"{self._written} of {self._n_rows} predictions were written")
        self._staged.commit()


@contextmanager
def create_predictions(
    path: Location,
    n_rows: int,
    n_outputs: int | None,
    dtype: DTypeLike,
    rows_per_chunk: int,
    *,
    classes: list[Any] | None = None,
    overwrite: bool = False,
) -> Iterator[PredictionWriter]:
    """A zarr group with one array ``predictions``, (n_rows,) or (n_rows, n_outputs), crc32c on every chunk.

    Text labels are stored as int32 positions in ``classes``, which the group's attributes keep: zarr v3 has
    no settled encoding of text. Nothing is left at ``path`` unless the writer is committed.

    Raises
    ------
    InputError
        If ``path`` exists (without ``overwrite``), the disk is full or the place cannot be written.
    """
    place = place_of(path)
    if place.exists() and not overwrite:
        raise InputError("already exists", where=str(path), mend="choose another place or remove it")
    shape = (n_rows,) if n_outputs is None else (n_rows, n_outputs)
    with staged_folder(place) as staged:
        attributes: dict[str, Any] = {"encoding-type": "distkern-predictions", "encoding-version": 1}
        if classes is not None:
            attributes["classes"] = classes
        group = chunks.create_group(staged.path, attributes)
        array = chunks.create_array(group, "predictions", shape, (rows_per_chunk, *shape[1:]), dtype)
        yield PredictionWriter(staged, array, n_rows)
