"""NumPy files: ``.npy`` with one array, ``.npz`` with features and targets, or a sparse matrix of SciPy."""

from __future__ import annotations

import math
import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError
from distkern.core.sparse import MAX_FEATURES as MOST_COLUMNS
from distkern.core.sparse import SparseRows
from distkern.core.targets import targets_of_rows
from distkern.data.formats._columns import choose_columns
from distkern.data.formats.base import (
    CHUNK_BYTES,
    FILL_OR_DROP,
    AbstractFormat,
    InputFile,
    RawChunk,
    ReadOptions,
    first_line,
    numeric,
)

FEATURE_NAMES = ("X", "x", "features", "data")
#: most features of a dense row, which is held in memory; a small compressed file may claim any number
MOST_FEATURES = 2**24
#: arrays of a sparse matrix
_SPARSE_NAMES = ("data", "indices", "indptr", "shape", "format")
TARGET_NAMES = ("y", "Y", "target", "targets", "label", "labels")


class Npy(AbstractFormat):
    """One array of features (n_rows, n_features); ``--target`` and ``--drop`` give columns by position;
    axes beyond the second are flattened in C order.
    """

    name: ClassVar[str] = "npy"
    extensions: ClassVar[tuple[str, ...]] = (".npy",)
    holds_targets: ClassVar[bool] = False
    takes: ClassVar[tuple[str, ...]] = ("target", "drop", "drop_missing_target")

    @classmethod
    def example(cls, path: Path, features: NDArray[Any], targets: NDArray[Any] | None) -> None:
        np.save(path, features)

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[RawChunk]:
        if options.target_kind != "none" and options.target is None:
            raise InputError(
                "the target column of the .npy file is not given",
                where=file.url,
                hint="give --target -1 for the last column, --task none, or an .npz file with arrays X and y",
            )
        with ExitStack() as stack:
            features = stack.enter_context(_stored(file.open, file.url))
            if options.target is None and not options.drop:
                yield from _rows(features, None, file.url)
                return
            names = [str(at) for at in range(math.prod(features.shape[1:]))]
            columns = choose_columns(names, where=file.url, options=options, has_header=False)
            column = None if options.target_kind == "none" else columns.target
            for chunk in _rows(features, None, file.url, column):
                rest = np.ascontiguousarray(np.asarray(chunk.features)[:, list(columns.features)])
                yield replace(chunk, features=rest, names=columns.feature_names, has_header=False)


class Npz(AbstractFormat):
    """Arrays named as in :data:`FEATURE_NAMES` and :data:`TARGET_NAMES`; features may be sparse rows as
    ``scipy.sparse.save_npz`` stores them.
    """

    name: ClassVar[str] = "npz"
    extensions: ClassVar[tuple[str, ...]] = (".npz",)
    takes: ClassVar[tuple[str, ...]] = ("target", "drop_missing_target")

    @classmethod
    def example(cls, path: Path, features: NDArray[Any], targets: NDArray[Any] | None) -> None:
        arrays: dict[str, Any] = {"X": features} if targets is None else {"X": features, "y": targets}
        np.savez(path, **arrays)

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[RawChunk]:
        with ExitStack() as stack:
            stream = stack.enter_context(file.open())
            with _zip_errors(file.url):
                archive = stack.enter_context(zipfile.ZipFile(stream))
            names = [item.removesuffix(".npy") for item in archive.namelist() if item.endswith(".npy")]
            is_sparse = set(_SPARSE_NAMES) <= {*names}
            wanted = "data" if is_sparse else _pick(names, FEATURE_NAMES, "features", file.url)
            target: str | None = None
            if options.target_kind != "none":
                accepted = TARGET_NAMES if options.target is None else (options.target,)
                target = _pick(names, accepted, "targets", file.url)
            elif options.target is not None:
                raise InputError(
                    "with --task none no targets are read", where=f"{file.url}, --target", hint="leave it out"
                )
            with _zip_errors(file.url):

                def member(name: str) -> _StoredArray:
                    opened = partial(archive.open, f"{name}.npy")
                    return stack.enter_context(_stored(opened, f"{file.url}, array {name!r}"))

                targets = member(target) if target else None
                if is_sparse:
                    parts = {name: member(name) for name in _SPARSE_NAMES}
                    yield from _sparse_rows(parts, targets, file.url)
                else:
                    yield from _rows(member(wanted), targets, file.url)


def _pick(names: list[str], accepted: tuple[str, ...], what: str, file: str) -> str:
    found = [name for name in accepted if name in names]
    if len(found) == 1:
        return found[0]
    if found:
        hint = "keep one of them in the file" + (", or give --target NAME" if what == "targets" else "")
        raise InputError(f"several arrays may be the {what}: {', '.join(found)}", where=file, hint=hint)
    raise InputError(
        f"no array named {' or '.join(accepted)} for the {what}; the file has {', '.join(names) or 'none'}",
        where=file,
        hint="rename the array" + (" or give --target NAME" if what == "targets" else ""),
    )


@contextmanager
def _zip_errors(file: str) -> Iterator[None]:
    try:
        yield
    except InputError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        struct.error,
        EOFError,
        RuntimeError,
        KeyError,
        ValueError,
    ) as error:
        raise InputError(
            f"the .npz file is truncated or damaged ({first_line(error)})",
            where=file,
            hint="write the file again",
        ) from error


@dataclass(frozen=True, slots=True)
class _StoredArray:
    """A stored array, read row by row in order; ``finish`` checks that none is left."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    take: Callable[[int], NDArray[Any]]
    label: str
    finish: Callable[[], None] = lambda: None


@contextmanager
def _stored(opened: Callable[[], AbstractContextManager[Any]], label: str) -> Iterator[_StoredArray]:
    """The array in a .npy file opened by ``opened``."""
    with opened() as stream:
        shape, fortran_order, dtype = _header(stream, label)
        if not fortran_order or len(shape) < 2:
            yield _streamed(stream, shape, dtype, label)
            return
    # stored by columns: reading rows needs a seekable file
    with opened() as stream, tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(stream, copy, 2**20)
        yield _mapped(copy, label)


def _header(stream: Any, label: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    from numpy.lib import format as npy_format

    try:
        version = npy_format.read_magic(stream)
        if version == (1, 0):
            shape, fortran_order, dtype = npy_format.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, fortran_order, dtype = npy_format.read_array_header_2_0(stream)
        else:
            raise ValueError(f"format version {version}")
    except Exception as error:
        # NumPy parses the header as a Python literal, which may fail in many ways
        raise InputError(
            f"not a NumPy array ({first_line(error)})", where=label, hint="write it with numpy.save"
        ) from error
    if any(size < 0 for size in shape):
        raise InputError(f"the array has shape {shape}", where=label, hint="write it with numpy.save")
    if dtype.hasobject or dtype.kind not in "biufUSM" or not dtype.itemsize:
        raise InputError(
            f"the array holds {dtype}, not numbers",
            where=label,
            hint="store numbers (labels may be texts or dates)",
        )
    return tuple(shape), bool(fortran_order), dtype


def _streamed(stream: Any, shape: tuple[int, ...], dtype: np.dtype[Any], label: str) -> _StoredArray:
    def take(n_rows: int) -> NDArray[Any]:
        rows = np.empty((n_rows, *shape[1:]), dtype)
        view, done = rows.reshape(-1).view(np.uint8).data, 0
        while done < len(view):
            got = stream.readinto(view[done:])
            if not got:
                raise _truncated(label)
            done += got
        return rows

    def finish() -> None:
        # reading to the end also makes zipfile compare its checksum
        if stream.read(1):
            raise _too_long(label)

    return _StoredArray(shape, dtype, take, label, finish)


def _truncated(label: str) -> InputError:
    return InputError("the array is truncated", where=label, hint="write the file again")


def _too_long(label: str) -> InputError:
    return InputError("the file is longer than its header says", where=label, hint="write the file again")


def _mapped(stream: Any, label: str) -> _StoredArray:
    stream.seek(0)
    shape, fortran_order, dtype = _header(stream, label)
    start = stream.tell()
    needed = start + dtype.itemsize * int(np.prod(shape, dtype=object))
    size = os.fstat(stream.fileno()).st_size
    if size < needed:
        raise _truncated(label)
    if size > needed:
        raise _too_long(label)
    if 0 in shape:
        return _StoredArray(shape, dtype, lambda n_rows: np.zeros((n_rows, *shape[1:]), dtype), label)
    order: Any = "F" if fortran_order else "C"
    mapped = np.memmap(stream, dtype=dtype, mode="r", offset=start, shape=shape, order=order)
    position = 0

    def take(n_rows: int) -> NDArray[Any]:
        nonlocal position
        position += n_rows
        return np.asarray(mapped[position - n_rows : position])

    return _StoredArray(shape, dtype, take, label)


def _rows(
    features: _StoredArray, targets: _StoredArray | None, file: str, column: int | None = None
) -> Iterator[RawChunk]:
    """Yield rows with their ``targets``, or with targets in a ``column`` of the features."""
    if len(features.shape) < 2:
        raise InputError(
            f"the features have shape {features.shape}", where=features.label, hint="store (rows, features)"
        )
    if features.dtype.kind not in "biuf":
        raise InputError(
            f"the features hold {features.dtype}, not numbers", where=features.label, hint="encode them"
        )
    n_rows = features.shape[0]
    width = math.prod(features.shape[1:])
    if width > MOST_FEATURES:
        raise InputError(
            f"a row has {width:,} features; dense rows have at most {MOST_FEATURES:,}",
            where=features.label,
            hint="store the rows in svmlight format, where zeros take no space",
        )
    _check_targets(targets, n_rows)
    step = max(1, CHUNK_BYTES // max(1, 8 * width))
    for start in range(0, n_rows, step):
        count = min(step, n_rows - start)
        rows = features.take(count).reshape(count, width)
        labels = _next_labels(targets, start, count)
        if column is not None:
            labels = _labels(rows[:, column], start, features.label)
        yield RawChunk(numeric(rows), labels, start + 1, file)
    _finish(features, targets)


def _sparse_rows(
    parts: Mapping[str, _StoredArray], targets: _StoredArray | None, file: str
) -> Iterator[RawChunk]:
    """Yield rows of a matrix stored by ``scipy.sparse.save_npz``, from front to back.

    Raises :class:`InputError` if the arrays are not a matrix by rows, or ``targets`` do not match it.
    """
    from scipy.sparse import csr_matrix

    data, indices, indptr, shape, form = (parts[name] for name in _SPARSE_NAMES)
    kind = form.take(1).tobytes().decode("ascii", errors="replace").strip("\0") if form.shape == () else "?"
    if kind != "csr":
        raise InputError(
            f"the matrix is stored as {kind}; only csr can be read by rows",
            where=file,
            hint="store it by save_npz(path, matrix.tocsr())",
        )
    damaged = InputError("the arrays are not those of a sparse matrix", where=file, hint="write it again")
    if shape.shape != (2,) or data.dtype.kind not in "biuf" or indices.shape != data.shape:
        raise damaged
    n_rows, width = (int(size) for size in shape.take(2))
    if indptr.shape != (n_rows + 1,) or not 0 < width <= MOST_COLUMNS:
        raise damaged
    _check_targets(targets, n_rows)
    step = max(1, CHUNK_BYTES // (32 * (1 + data.shape[0] // max(1, n_rows))))
    end = int(indptr.take(1)[0])
    for start in range(0, n_rows, step):
        ends = np.concatenate(([end], indptr.take(min(step, n_rows - start)).astype(np.int64)))
        lengths = np.diff(ends)
        if end < 0 or lengths.min() < 0 or ends[-1] > data.shape[0]:
            raise damaged
        entries = int(ends[-1] - end)
        values, columns = numeric(data.take(entries)), indices.take(entries).astype(np.int64)
        if entries and (columns.min() < 0 or columns.max() >= width):
            raise damaged
        # SciPy allows unsorted and duplicate indices
        matrix = csr_matrix((values, columns, ends - end), shape=(len(lengths), width))
        matrix.sort_indices()
        if not matrix.has_canonical_format:
            hint = "call matrix.sum_duplicates() before save_npz"
            raise InputError("a row has an index twice", where=file, hint=hint)
        rows = SparseRows.of_scipy(matrix)
        yield RawChunk(rows, _next_labels(targets, start, len(rows)), start + 1, file)
        end = int(ends[-1])
    _finish(*parts.values(), targets)


def _check_targets(targets: _StoredArray | None, n_rows: int) -> None:
    if targets is not None and targets.shape not in ((n_rows,), (n_rows, 1)):
        raise InputError(
            f"the targets have shape {targets.shape} and the features {n_rows} rows",
            where=targets.label,
            hint="store one target per row",
        )


def _next_labels(targets: _StoredArray | None, start: int, count: int) -> NDArray[Any] | None:
    return None if targets is None else _labels(targets.take(count).reshape(count), start, targets.label)


def _finish(*arrays: _StoredArray | None) -> None:
    for array in arrays:
        if array is not None:
            array.finish()


def _labels(values: NDArray[Any], start: int, label: str) -> NDArray[Any]:
    if values.dtype.kind in "biu":
        return values.astype(values.dtype.newbyteorder("="))
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    labels = targets_of_rows(values, len(values), label, start + 1)
    empty = [row for row, text in enumerate(labels) if isinstance(text, str) and not text.strip()]
    if empty:
        row = start + empty[0]
        where = f"{label}, row {row + 1} (index {row})"
        raise InputError("the label is empty", where=where, hint=FILL_OR_DROP)
    return labels
