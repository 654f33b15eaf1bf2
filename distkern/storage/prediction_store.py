"""Predictions written in any order, block by block, by the processes that make them."""

from __future__ import annotations

import math
import os
import secrets
import shutil
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.storage.atomic import StagedFolder, explain_errors, staged_folder
from distkern.storage.parts import SharedFolder
from distkern.storage.places import Place
from distkern.storage.predictions import (
    check_place,
    codes,
    create_predictions,
    header,
    write_lines,
    write_npy_header,
    write_rows,
)


class PredictionStore(SharedFolder):
    """Takes the predictions of blocks in any order, in any process that sees the folder they are built in: a
    store of :class:`~distkern.passes.Each`.

    A task's result is the number of its first row, (n,) or (n, n_outputs) predictions and the row numbers of
    their rows in their source; its record is n.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._path = folder

    def put(self, number: int, result: tuple[int, NDArray[Any], NDArray[Any]]) -> int:
        """Write the predictions to where they belong."""
        self.write(number, *result)
        return len(result[1])

    @abstractmethod
    def write(self, number: int, start: int, values: NDArray[Any], keys: NDArray[Any]) -> None:
        """Write the predictions of block ``number``, whose first row is ``start``."""

    def records(self) -> dict[int, int]:
        """None: what a killed run leaves is removed."""
        return {}

    def finish(self, staged: StagedFolder, name: str) -> None:
        """Put the file into its place."""
        staged.publish(name)


@contextmanager
def open_prediction_store(
    path: Place,
    columns: list[str] | None,
    dtype: np.dtype[Any],
    n_rows: int,
    block_rows: int,
    classes: list[Any],
) -> Iterator[tuple[PredictionStore, Callable[[], None]]]:
    """The store of the predictions of ``n_rows`` rows in blocks of ``block_rows``, all but the last full, and
    what puts them into their place once all are there; otherwise as :func:`open_prediction_writer`."""
    check_place(path)
    inner = () if columns is None else (len(columns),)
    with staged_folder(path) as staged, explain_errors(path):
        store: PredictionStore
        if path.suffix == ".zarr":
            store = _ZarrStore(staged.path, inner, dtype, n_rows, block_rows, classes)
        elif path.suffix == ".npy":
            store = _NpyStore(staged.path / path.name, inner, dtype, n_rows)
        else:
            store = _CsvStore(staged.path, header(columns, "row"), -(-n_rows // block_rows))
        yield store, lambda: store.finish(staged, path.name)


class _ZarrStore(PredictionStore):
    """A chunk is a block, so that no two processes write to one."""

    def __init__(
        self,
        folder: Path,
        inner: tuple[int, ...],
        dtype: np.dtype[Any],
        n_rows: int,
        block_rows: int,
        classes: list[Any],
    ) -> None:
        from distkern.storage._zarr import RowsWriter

        super().__init__(folder)
        self._classes = np.asarray(classes) if dtype.kind in "OU" else None
        stored = dtype if self._classes is None else np.dtype(np.int32)
        create_predictions(folder, None if self._classes is None else classes)
        self._predictions = RowsWriter(folder / "predictions", inner, block_rows, stored, n_rows)
        self._keys = RowsWriter(folder / "row", (), block_rows, np.int64, n_rows)

    def write(self, number: int, start: int, values: NDArray[Any], keys: NDArray[Any]) -> None:
        self._predictions.write(number, values if self._classes is None else codes(values, self._classes))
        self._keys.write(number, keys)

    def finish(self, staged: StagedFolder, name: str) -> None:
        self.remove_mark()
        staged.commit_new()


class _NpyStore(PredictionStore):
    """A file of its full size, of which every block has its place."""

    def __init__(self, file: Path, inner: tuple[int, ...], dtype: np.dtype[Any], n_rows: int) -> None:
        super().__init__(file.parent)
        self._file, self._dtype = file, dtype
        with open(file, "wb") as opened:
            write_npy_header(opened, dtype, (n_rows, *inner))
            self._start = opened.tell()
            opened.truncate(self._start + n_rows * math.prod(inner) * dtype.itemsize)

    def write(self, number: int, start: int, values: NDArray[Any], keys: NDArray[Any]) -> None:
        content = np.ascontiguousarray(values, dtype=self._dtype)
        with open(self._file, "r+b") as opened:
            opened.seek(self._start + start * (content.nbytes // max(1, len(content))))
            opened.write(content.data)


class _CsvStore(PredictionStore):
    """A file for each block, put together at the end: how long a line is, is not known before."""

    def __init__(self, folder: Path, first_line: list[str], n_blocks: int) -> None:
        super().__init__(folder)
        self._first_line, self._n_blocks = first_line, n_blocks

    def write(self, number: int, start: int, values: NDArray[Any], keys: NDArray[Any]) -> None:
        # renamed: who was taken for dead may still write
        partial = self._path / f"{number}-{secrets.token_hex(4)}"
        with open(partial, "wb") as file:
            write_rows(file, values, keys)
        os.replace(partial, self._path / f"{number}")

    def finish(self, staged: StagedFolder, name: str) -> None:
        with open(staged.path / name, "wb") as whole:
            write_lines(whole, [self._first_line])
            for number in range(self._n_blocks):
                part = staged.path / f"{number}"
                with open(part, "rb") as file:
                    shutil.copyfileobj(file, whole)
                part.unlink()
        super().finish(staged, name)
