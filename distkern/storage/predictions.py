"""Predictions in the kind of place that a name asks for, written block by block, whole or not at all."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.storage.atomic import StagedFolder, already_there, explain_errors, staged_folder
from distkern.storage.places import Place

_TEXT_CHUNK = 2**20
#: made to text at a time: numbers of Python take ten times what they take in an array
_ROWS_AS_TEXT = 4096


class _ZarrWriter:
    """A zarr group with an array ``predictions``, (n_rows,) or (n_rows, n_outputs), crc32c on every chunk.

    Text labels are stored as int32 positions in ``classes``, which the group's attributes keep: zarr v3 has
    no settled encoding of text. Beside them are, of ids, ``id_bytes`` (their UTF-8, one after the other) and
    ``id_ends`` (where each ends).
    """

    def __init__(
        self,
        staged: StagedFolder,
        inner: tuple[int, ...],
        dtype: np.dtype[Any],
        rows_per_chunk: int,
        classes: list[Any],
        id: str | None,
    ) -> None:
        from distkern.storage._zarr import RowsWriter

        self._staged, folder = staged, staged.path
        self._classes = np.asarray(classes) if dtype.kind in "OU" else None
        create_predictions(folder, None if self._classes is None else classes, id)
        stored = dtype if self._classes is None else np.dtype(np.int32)
        self._predictions = RowsWriter(folder / "predictions", inner, rows_per_chunk, stored)
        self._ids: tuple[RowsWriter, RowsWriter] | None = None
        if id is not None:
            ends = RowsWriter(folder / "id_ends", (), rows_per_chunk, np.int64)
            self._ids = RowsWriter(folder / "id_bytes", (), _TEXT_CHUNK, np.uint8), ends
        self._n_bytes = 0

    def write(self, values: NDArray[Any], ids: NDArray[Any] | None = None) -> None:
        self._predictions.append(values if self._classes is None else codes(values, self._classes))
        if ids is None or self._ids is None:
            return
        texts = [str(key).encode() for key in ids]
        ends = self._n_bytes + np.cumsum([len(text) for text in texts], dtype=np.int64)
        self._n_bytes = int(ends[-1]) if len(ends) else self._n_bytes
        self._ids[0].append(np.frombuffer(b"".join(texts), dtype=np.uint8))
        self._ids[1].append(ends)

    def commit(self) -> None:
        for array in (self._predictions, *(self._ids or ())):
            array.finish()
        self._staged.commit_new()


def create_predictions(folder: Path, classes: list[Any] | None, id: str | None = None) -> None:
    """The group that predictions are in, without arrays."""
    from distkern.storage._zarr import create_group

    attributes: dict[str, Any] = {"encoding-type": "distkern-predictions", "encoding-version": 1}
    attributes |= {} if classes is None else {"classes": classes}
    attributes |= {} if id is None else {"id": id}
    create_group(folder, attributes)


class Writer(Protocol):
    """Takes blocks of predictions in order."""

    def write(self, values: NDArray[Any], ids: NDArray[Any] | None = None) -> None:
        """Add predictions and the ids of their rows."""

    def commit(self) -> None:
        """Put the file in its place."""


@contextmanager
def open_prediction_writer(
    path: Place,
    columns: list[str] | None,
    dtype: np.dtype[Any],
    rows_per_chunk: int,
    classes: list[Any],
    *,
    id: str | None = None,
) -> Iterator[Writer]:
    """A writer for ``.zarr``, ``.csv`` (with a header) or ``.npy``.

    Parameters
    ----------
    columns : names of the columns of two-dimensional predictions; None for one column
    classes : labels; in zarr, text predictions are stored as positions in this list
    id : with the texts of this column; a .npy file has no place for them

    Raises
    ------
    InputError
        If the name has another ending, exists, or cannot be written.
    """
    check_place(path, id)
    inner = () if columns is None else (len(columns),)
    with staged_folder(path) as staged, explain_errors(path):
        if path.suffix == ".zarr":
            yield _ZarrWriter(staged, inner, dtype, rows_per_chunk, classes, id)
            return
        with open(staged.path / path.name, "wb") as file:
            if path.suffix == ".csv":
                yield _CsvWriter(file, staged, path.name, header(columns, id))
            else:
                yield _NpyWriter(file, staged, path.name, inner, dtype)


def check_place(path: Place, id: str | None = None) -> None:
    """Refuse what :func:`open_prediction_writer` refuses."""
    if path.exists():
        raise already_there(path)
    if path.suffix == ".npy" and id is not None:
        raise InputError(
            "a .npy file has no place for ids", where=str(path), hint="end the name in .csv or .zarr"
        )
    if path.suffix not in (".zarr", ".csv", ".npy"):
        raise InputError(
            f"cannot write {path.suffix or 'a file without ending'!r}",
            where=str(path),
            hint="end the name in .zarr, .csv or .npy",
        )


def header(columns: list[str] | None, id: str | None) -> list[str]:
    """The first line of a .csv file."""
    return ([] if id is None else [id]) + (columns or ["prediction"])


def codes(values: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    """Labels as their positions among the classes."""
    return np.searchsorted(classes, values).astype(np.int32)


class _FileWriter:
    """A file that is moved into its place once everything is on disk."""

    def __init__(self, file: IO[bytes], staged: StagedFolder, name: str) -> None:
        self._file, self._staged, self._name = file, staged, name

    def commit(self) -> None:
        self._file.flush()
        self._staged.publish(self._name)


class _CsvWriter(_FileWriter):
    def __init__(self, file: IO[bytes], staged: StagedFolder, name: str, columns: list[str]) -> None:
        super().__init__(file, staged, name)
        write_lines(file, [columns])

    def write(self, values: NDArray[Any], ids: NDArray[Any] | None = None) -> None:
        write_rows(self._file, values, ids)


def write_rows(file: IO[bytes], values: NDArray[Any], keys: NDArray[Any] | None) -> None:
    """Predictions as lines of a .csv file."""
    for start in range(0, len(values), _ROWS_AS_TEXT):
        part = slice(start, start + _ROWS_AS_TEXT)
        rows = values[part].reshape(len(values[part]), -1).tolist()
        if keys is not None:
            rows = [[key, *row] for key, row in zip(keys[part].tolist(), rows, strict=True)]
        write_lines(file, rows)


def write_lines(file: IO[bytes], rows: list[list[Any]]) -> None:
    """Lines of a .csv file."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    file.write(text.getvalue().encode())


class _NpyWriter(_FileWriter):
    def __init__(
        self, file: IO[bytes], staged: StagedFolder, name: str, inner: tuple[int, ...], dtype: np.dtype[Any]
    ) -> None:
        super().__init__(file, staged, name)
        self._dtype, self._inner, self._n_rows = dtype, inner, 0
        write_npy_header(file, dtype, (0, *inner))

    def write(self, values: NDArray[Any], ids: NDArray[Any] | None = None) -> None:
        self._file.write(np.ascontiguousarray(values, dtype=self._dtype).tobytes())
        self._n_rows += len(values)

    def commit(self) -> None:
        self._file.seek(0)
        write_npy_header(self._file, self._dtype, (self._n_rows, *self._inner))
        super().commit()


def write_npy_header(file: IO[bytes], dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """What a .npy file begins with, of the same length for any number of rows."""
    # NumPy leaves room in the header for any number of rows
    header = {"descr": npy_format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    npy_format.write_array_header_2_0(file, header)
