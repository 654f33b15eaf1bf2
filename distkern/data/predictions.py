"""Predictions as .zarr, .csv or .npy, written block by block and atomically."""

from __future__ import annotations

import csv
import io
import os
import secrets
import shutil
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.names import label_texts, plain_labels
from distkern.data.store.atomic import StagedFolder, staged_folder
from distkern.data.store.parts import SharedFolder
from distkern.data.store.places import Place, explain_errors, read_file

_TEXT_CHUNK = 2**20
#: rows to convert to text at a time, as Python's numbers take ten times the memory of an array's
_ROWS_AS_TEXT = 4096
#: lines of a .csv to read back, which take about a second
_MOST_READ_BACK = 10**6


class Predictions(SharedFolder):
    """Receives the predictions of blocks, a store of :class:`~distkern.passes.Each`.

    If the number of rows is known, blocks come in any order from any process that sees the staging folder,
    each with the row numbers in their source; otherwise they come in order from one process.

    A task's result is the number of its first row, predictions (n,) or (n, n_outputs), and the numbers or ids
    (n,) of the rows, or None; its record is n.

    Attributes
    ----------
    overwrite : :meth:`commit` replaces existing predictions
    """

    overwrite = False

    def __init__(self, staged: StagedFolder) -> None:
        super().__init__(staged.path)
        self._staged = staged

    def put(self, number: int, result: tuple[int, NDArray[Any], NDArray[Any] | None]) -> int:
        """Write the predictions of block ``number``."""
        self.write(number, *result)
        return len(result[1])

    @abstractmethod
    def write(self, number: int, start: int, values: NDArray[Any], keys: NDArray[Any] | None) -> None:
        """Write the predictions of block ``number``, whose first row is ``start``."""

    def records(self) -> dict[int, int]:
        """Return no records, as the remains of a killed run are removed."""
        return {}

    @abstractmethod
    def commit(self) -> None:
        """Move the complete predictions to their place."""


@contextmanager
def open_predictions(
    path: Place,
    columns: list[str] | None,
    dtype: np.dtype[Any],
    rows_per_chunk: int,
    classes: NDArray[Any] | None,
    *,
    n_rows: int | None = None,
    id: str | None = None,
    overwrite: bool = False,
) -> Iterator[Predictions]:
    """Open a new ``.zarr``, ``.csv`` (with a header) or ``.npy`` for predictions.

    Raises :class:`InputError` if the name has another ending, exists, or cannot be written.

    Parameters
    ----------
    columns : column names of two-dimensional predictions; None for one column
    rows_per_chunk : rows of a zarr chunk; with ``n_rows``, the rows of every block but the last
    classes : the sorted labels, if predictions are labels: in .csv they are written as read; in .zarr texts
        and dates are stored as positions in this list, in .npy texts are no longer than these
    n_rows : rows of all blocks; None for rows in order whose number is unknown
    id : for such rows: column name of their ids; not for .npy files
    overwrite : replace an existing file, or .zarr of predictions, once the new one is complete
    """
    if path.exists():
        if not overwrite:
            raise InputError(
                "already exists", where=str(path), hint="give --overwrite, choose another place or remove it"
            )
        _refuse_others(path)
    if path.suffix == ".npy" and id is not None:
        raise InputError(
            "a .npy file has no place for ids", where=str(path), hint="end the name in .csv or .zarr"
        )
    if path.suffix not in (".zarr", ".csv", ".npy"):
        raise InputError(
            "has no ending" if not path.suffix else f"has the unknown ending {path.suffix!r}",
            where=str(path),
            hint="end the name in .zarr, .csv or .npy",
        )
    inner = () if columns is None else (len(columns),)
    store: Predictions
    with staged_folder(path) as staged, explain_errors(path):
        if path.suffix == ".zarr":
            store = _Zarr(staged, inner, dtype, rows_per_chunk, classes, n_rows, id)
        elif path.suffix == ".npy":
            if classes is not None and dtype.kind == "O":
                dtype = np.asarray(classes.tolist()).dtype
            store = _Npy(staged, inner, dtype, n_rows)
        else:
            key = id if n_rows is None else "row"
            first_line = ([] if key is None else [key]) + (columns or ["prediction"])
            store = _Csv(staged, first_line, are_labels=classes is not None)
        store.overwrite = overwrite
        yield store


def _refuse_others(path: Place) -> None:
    """Raise :class:`InputError` if a place to be replaced is a folder without predictions."""
    is_file = path.is_file() and path.suffix in (".csv", ".npy")
    try:
        text = b"" if is_file else read_file(path / "zarr.json")
    except OSError:
        text = b""
    if not is_file and b'"distkern-predictions"' not in text:
        hint = "choose another place or remove it"
        raise InputError("holds other things than predictions", where=str(path), hint=hint)


def only_label(path: Place, classes: NDArray[Any]) -> str | None:
    """Return the label of all rows in a file of predicted labels, as text; None if there are several.

    Stops reading at a second label. Files in a store, and longer .csv files, are not read back.
    """
    if not isinstance(path, Path):
        return None
    pieces: Iterable[NDArray[Any]]
    if path.suffix == ".zarr":
        from distkern.data.store._zarr import chunks_of

        pieces = chunks_of(path / "predictions")
        if classes.dtype.kind in "OUM":
            pieces = (classes[positions] for positions in pieces)
        return _only(label_texts(piece) for piece in pieces)
    if path.suffix == ".npy":
        values = np.load(path, mmap_mode="r")
        return _only(
            label_texts(values[at : at + _ROWS_AS_TEXT]) for at in range(0, len(values), _ROWS_AS_TEXT)
        )
    with open(path, encoding="utf-8", newline="") as file:
        rows = csv.reader(file)
        next(rows)
        label = _only([row[-1]] for row in islice(rows, _MOST_READ_BACK))
        return label if next(rows, None) is None else None


def _only(pieces: Iterable[list[str]]) -> str | None:
    found: set[str] = set()
    for piece in pieces:
        found.update(piece)
        if len(found) > 1:
            return None
    return next(iter(found), None)


class _Zarr(Predictions):
    """A zarr group with an array ``predictions``, (n_rows,) or (n_rows, n_outputs), with a crc32c per chunk.

    Text and date labels are stored as int32 positions in ``classes``, an attribute of the group, as zarr v3
    has no settled encoding of them. Row numbers are in ``row``; ids are in ``id_bytes`` (their concatenated
    UTF-8) and ``id_ends`` (the end of each). If blocks come in any order, a chunk is a block, so no two
    processes write to one.
    """

    def __init__(
        self,
        staged: StagedFolder,
        inner: tuple[int, ...],
        dtype: np.dtype[Any],
        rows_per_chunk: int,
        classes: NDArray[Any] | None,
        n_rows: int | None,
        id: str | None,
    ) -> None:
        from distkern.data.store._zarr import RowsWriter, create_group

        super().__init__(staged)
        self._in_order, self._n_bytes = n_rows is None, 0
        self._classes = classes if dtype.kind in "OUM" else None
        attributes: dict[str, Any] = {"encoding-type": "distkern-predictions", "encoding-version": 1}
        attributes |= {} if self._classes is None else {"classes": plain_labels(self._classes)}
        attributes |= {} if id is None else {"id": id}
        create_group(staged.path, attributes)
        stored = dtype if self._classes is None else np.dtype(np.int32)
        self._predictions = RowsWriter(staged.path / "predictions", inner, rows_per_chunk, stored, n_rows)
        self._keys: list[RowsWriter] = []
        if n_rows is not None:
            self._keys = [RowsWriter(staged.path / "row", (), rows_per_chunk, np.int64, n_rows)]
        elif id is not None:
            text = RowsWriter(staged.path / "id_bytes", (), _TEXT_CHUNK, np.uint8)
            self._keys = [text, RowsWriter(staged.path / "id_ends", (), rows_per_chunk, np.int64)]

    def write(self, number: int, start: int, values: NDArray[Any], keys: NDArray[Any] | None) -> None:
        if self._classes is not None:
            values = np.searchsorted(self._classes, values).astype(np.int32)
        if not self._in_order:
            self._predictions.write(number, values)
            self._keys[0].write(number, np.asarray(keys))
            return
        self._predictions.append(values)
        if keys is not None and self._keys:
            texts = [str(key).encode() for key in keys]
            ends = self._n_bytes + np.cumsum([len(text) for text in texts], dtype=np.int64)
            self._n_bytes = int(ends[-1]) if len(ends) else self._n_bytes
            self._keys[0].append(np.frombuffer(b"".join(texts), dtype=np.uint8))
            self._keys[1].append(ends)

    def commit(self) -> None:
        for array in (self._predictions, *self._keys) if self._in_order else ():
            array.finish()
        self.remove_mark()
        if self.overwrite:
            self._staged.commit(_refuse_others)
        else:
            self._staged.commit_new()


class _Npy(Predictions):
    """A file with a fixed position for every block."""

    def __init__(
        self, staged: StagedFolder, inner: tuple[int, ...], dtype: np.dtype[Any], n_rows: int | None
    ) -> None:
        super().__init__(staged)
        self._file, self._inner, self._dtype = staged.path / staged.target.name, inner, dtype
        self._in_order, self._n_rows = n_rows is None, n_rows or 0
        with open(self._file, "wb") as file:
            self._write_header(file)
            self._start = file.tell()

    def _write_header(self, file: IO[bytes]) -> None:
        # NumPy leaves room in the header for any number of rows
        shape = (self._n_rows, *self._inner)
        header = {"descr": npy_format.dtype_to_descr(self._dtype), "fortran_order": False, "shape": shape}
        npy_format.write_array_header_2_0(file, header)

    def write(self, number: int, start: int, values: NDArray[Any], keys: NDArray[Any] | None) -> None:
        content = np.ascontiguousarray(values, dtype=self._dtype)
        if self._in_order:
            self._n_rows = start + len(content)
        with open(self._file, "r+b") as file:
            file.seek(self._start + start * (content.nbytes // max(1, len(content))))
            # dates do not support the buffer protocol
            file.write(content.view(np.uint8).data if content.size else b"")

    def commit(self) -> None:
        with open(self._file, "r+b") as file:
            self._write_header(file)
        self._staged.publish(self._file.name, overwrite=self.overwrite)


class _Csv(Predictions):
    """A file per block, concatenated at the end, as the length of lines is unknown before."""

    def __init__(self, staged: StagedFolder, first_line: list[str], *, are_labels: bool) -> None:
        super().__init__(staged)
        self._folder, self._first_line, self._are_labels = staged.path, first_line, are_labels

    def write(self, number: int, start: int, values: NDArray[Any], keys: NDArray[Any] | None) -> None:
        # renamed when complete, as a process believed dead may still write
        partial = self._folder / f"{number}-{secrets.token_hex(4)}"
        with open(partial, "wb") as file:
            for first in range(0, len(values), _ROWS_AS_TEXT):
                part = slice(first, first + _ROWS_AS_TEXT)
                if self._are_labels:
                    rows = [[text] for text in label_texts(values[part])]
                else:
                    rows = values[part].reshape(len(values[part]), -1).tolist()
                if keys is not None:
                    rows = [[key, *row] for key, row in zip(keys[part].tolist(), rows, strict=True)]
                _write_lines(file, rows)
        os.replace(partial, self._folder / f"{number}")

    def commit(self) -> None:
        name = self._staged.target.name
        with open(self._folder / name, "wb") as whole:
            _write_lines(whole, [self._first_line])
            for number in count():
                part = self._folder / f"{number}"
                if not part.exists():
                    break
                with open(part, "rb") as file:
                    shutil.copyfileobj(file, whole)
                part.unlink()
        self._staged.publish(name, overwrite=self.overwrite)


def _write_lines(file: IO[bytes], rows: list[list[Any]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    file.write(text.getvalue().encode())
