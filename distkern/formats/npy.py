"""NumPy files: ``.npy`` with one array, ``.npz`` with features and targets, or a sparse matrix of SciPy."""

from __future__ import annotations

import math
import os
import shutil
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.formats._columns import choose_columns
from distkern.formats._sparse_npz import SPARSE_NAMES, StoredArray, sparse_rows
from distkern.formats.base import (
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
#: of a dense row, which is held whole; a compressed file may claim any number of zeros
MOST_FEATURES = 2**24
TARGET_NAMES = ("y", "Y", "target", "targets", "label", "labels")


class Npy(AbstractFormat):
    """One array of features, (n_rows, n_features), of which ``--target`` may name a column by its position;
    axes beyond the second are flattened in C order."""

    name: ClassVar[str] = "npy"
    extensions: ClassVar[tuple[str, ...]] = (".npy",)
    holds_targets: ClassVar[bool] = False

    @classmethod
    def example(cls, path: Path, features: NDArray[Any], targets: NDArray[Any] | None) -> None:
        np.save(path, features)

    def read(self, file: InputFile, options: ReadOptions) -> Iterator[RawChunk]:
        if options.target_kind != "none" and options.target is None:
            raise InputError(
                "which column of the .npy file holds the targets is not said",
                where=file.url,
                hint="give --target -1 if the last does, --task none, or an .npz file with arrays X and y",
            )
        with ExitStack() as stack:
            stream = stack.enter_context(file.open())
            features = _mapped(stream if file.is_local else stack.enter_context(_copied(stream)), file.url)
            if options.target is None:
                yield from _rows(features, None, file.url)
                return
            names = [str(at) for at in range(math.prod(features.shape[1:]))]
            columns = choose_columns(names, where=file.url, options=options, has_header=False)
            for chunk in _rows(features, None, file.url):
                values = np.asarray(chunk.features)
                targets = values[:, columns.target] if options.target_kind != "none" else None
                rest = np.ascontiguousarray(values[:, list(columns.features)])
                yield replace(
                    chunk, features=rest, targets=targets, names=columns.feature_names, has_header=False
                )


class Npz(AbstractFormat):
    """Arrays by name, as :data:`FEATURE_NAMES` and :data:`TARGET_NAMES` list them; the features may be sparse
    rows as ``scipy.sparse.save_npz`` stores them."""

    name: ClassVar[str] = "npz"
    extensions: ClassVar[tuple[str, ...]] = (".npz",)

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
            is_sparse = set(SPARSE_NAMES) <= {*names}
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
                targets = stack.enter_context(_member(archive, target, file.url)) if target else None
                if is_sparse:
                    parts = {
                        name: stack.enter_context(_member(archive, name, file.url)) for name in SPARSE_NAMES
                    }
                    for start, rows in sparse_rows(parts, targets, file.url):
                        yield RawChunk(rows, _next_labels(targets, start, len(rows)), start + 1, file.url)
                    _finish(*parts.values(), targets)
                    return
                features = stack.enter_context(_member(archive, wanted, file.url))
                yield from _rows(features, targets, file.url)


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


@contextmanager
def _member(archive: zipfile.ZipFile, name: str, file: str) -> Iterator[StoredArray]:
    label = f"{file}, array {name!r}"
    with archive.open(f"{name}.npy") as stream:
        shape, fortran_order, dtype = _header(stream, label)
        if not fortran_order or len(shape) < 2:
            yield _streamed(stream, shape, dtype, label)
            return
    # columns lie one after the other: rows can only be taken from a file that allows seeking
    with archive.open(f"{name}.npy") as stream, _copied(stream) as copy:
        yield _mapped(copy, label)


@contextmanager
def _copied(stream: Any) -> Iterator[Any]:
    with tempfile.TemporaryFile() as copy:
        shutil.copyfileobj(stream, copy, 2**20)
        yield copy


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
        # NumPy parses the header as a Python literal: a damaged one may fail in any part of that
        raise InputError(
            f"not a NumPy array ({first_line(error)})", where=label, hint="write it with numpy.save"
        ) from error
    if any(size < 0 for size in shape):
        raise InputError(f"the array has shape {shape}", where=label, hint="write it with numpy.save")
    if dtype.hasobject or dtype.kind not in "biufUS" or not dtype.itemsize:
        raise InputError(
            f"the array holds {dtype}, not numbers",
            where=label,
            hint="store numbers (text is allowed for labels)",
        )
    return tuple(shape), bool(fortran_order), dtype


def _streamed(stream: Any, shape: tuple[int, ...], dtype: np.dtype[Any], label: str) -> StoredArray:
    inner = shape[1:]
    row_bytes = dtype.itemsize * math.prod(inner)

    def take(n_rows: int) -> NDArray[Any]:
        wanted = n_rows * row_bytes
        pieces = bytearray()
        while len(pieces) < wanted:
            piece = stream.read(wanted - len(pieces))
            if not piece:
                raise InputError("the array is truncated", where=label, hint="write the file again")
            pieces += piece
        return np.frombuffer(pieces, dtype).reshape(n_rows, *inner)

    def finish() -> None:
        # reading on to the end is also what makes zipfile compare its checksum
        if stream.read(1):
            raise _too_long(label)

    return StoredArray(shape, dtype, take, label, finish)


def _too_long(label: str) -> InputError:
    return InputError("the file is longer than its header says", where=label, hint="write the file again")


def _mapped(stream: Any, label: str) -> StoredArray:
    stream.seek(0)
    shape, fortran_order, dtype = _header(stream, label)
    start = stream.tell()
    needed = start + dtype.itemsize * int(np.prod(shape, dtype=object))
    size = os.fstat(stream.fileno()).st_size
    if size < needed:
        raise InputError("the array is truncated", where=label, hint="write the file again")
    if size > needed:
        raise _too_long(label)
    if 0 in shape:
        return StoredArray(shape, dtype, lambda n_rows: np.zeros((n_rows, *shape[1:]), dtype), label)
    order: Any = "F" if fortran_order else "C"
    mapped = np.memmap(stream, dtype=dtype, mode="r", offset=start, shape=shape, order=order)
    position = 0

    def take(n_rows: int) -> NDArray[Any]:
        nonlocal position
        position += n_rows
        return np.asarray(mapped[position - n_rows : position])

    return StoredArray(shape, dtype, take, label)


def _rows(features: StoredArray, targets: StoredArray | None, file: str) -> Iterator[RawChunk]:
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
            f"a row has {width:,} features, and a dense one may have {MOST_FEATURES:,}",
            where=features.label,
            hint="store the rows in svmlight format, where zeros take no room",
        )
    if targets is not None and targets.shape not in ((n_rows,), (n_rows, 1)):
        raise InputError(
            f"the targets have shape {targets.shape} and the features {n_rows} rows",
            where=targets.label,
            hint="store one target per row",
        )
    step = max(1, CHUNK_BYTES // max(1, 8 * width))
    for start in range(0, n_rows, step):
        count = min(step, n_rows - start)
        chunk = numeric(features.take(count).reshape(count, width))
        yield RawChunk(chunk, _next_labels(targets, start, count), start + 1, file)
    _finish(features, targets)


def _next_labels(targets: StoredArray | None, start: int, count: int) -> NDArray[Any] | None:
    return None if targets is None else _labels(targets.take(count).reshape(count), start, targets.label)


def _finish(*arrays: StoredArray | None) -> None:
    for array in arrays:
        if array is not None:
            array.finish()


def _labels(values: NDArray[Any], start: int, label: str) -> NDArray[Any]:
    if values.dtype.kind == "b":
        return values.astype(np.int8)
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    if values.dtype.kind not in "US":
        return values.astype(values.dtype.newbyteorder("="))
    try:
        words = np.array([str(word).strip() for word in values.astype(str)], dtype=object)
    except UnicodeDecodeError as error:
        raise InputError("the labels are not ASCII bytes", where=label, hint="store them as str") from error
    empty = np.flatnonzero(words == "")
    if empty.size:
        row = start + int(empty[0])
        where = f"{label}, row {row + 1} (index {row})"
        raise InputError("the label is empty", where=where, hint=FILL_OR_DROP)
    return words
