"""Sparse matrices as ``scipy.sparse.save_npz`` stores them, a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.common.sparse import MAX_FEATURES, SparseRows
from distkern.formats.base import CHUNK_BYTES, numeric

#: arrays of a matrix
SPARSE_NAMES = ("data", "indices", "indptr", "shape", "format")


@dataclass(frozen=True, slots=True)
class StoredArray:
    """A stored array of which the next rows can be taken, in order; ``finish`` checks that none is left."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    take: Callable[[int], NDArray[Any]]
    label: str
    finish: Callable[[], None] = lambda: None


def sparse_rows(
    parts: Mapping[str, StoredArray], targets: StoredArray | None, file: str
) -> Iterator[tuple[int, SparseRows]]:
    """Number of the first row and rows, from front to back.

    Raises
    ------
    InputError
        If the arrays are not those of a matrix by rows, or ``targets`` not theirs.
    """
    data, indices, indptr, shape, form = (parts[name] for name in SPARSE_NAMES)
    kind = form.take(1).tobytes().decode("ascii", errors="replace").strip("\0") if form.shape == () else "?"
    if kind != "csr":
        raise InputError(
            f"the matrix is stored as {kind}, and rows can be read of csr alone",
            where=file,
            hint="store it by save_npz(path, matrix.tocsr())",
        )
    damaged = InputError("the arrays are not those of a sparse matrix", where=file, hint="write it again")
    if shape.shape != (2,) or data.dtype.kind not in "biuf" or indices.shape != data.shape:
        raise damaged
    n_rows, width = (int(size) for size in shape.take(2))
    if indptr.shape != (n_rows + 1,) or not 0 < width <= MAX_FEATURES:
        raise damaged
    if targets is not None and targets.shape != (n_rows,):
        raise InputError(
            f"the targets have shape {targets.shape} and the features {n_rows} rows",
            where=targets.label,
            hint="store one target per row",
        )
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
        # SciPy keeps indices in any order, and some twice
        row_of = np.repeat(np.arange(len(lengths)), lengths)
        order = np.lexsort((columns, row_of))
        values, columns = values[order], columns[order]
        if np.any((np.diff(columns) == 0) & (np.diff(row_of) == 0)):
            hint = "call matrix.sum_duplicates() before save_npz"
            raise InputError("a row has an index twice", where=file, hint=hint)
        rows = SparseRows(values, columns.astype(np.int32), ends - end, width)
        yield start, rows.with_data(values)
        end = int(ends[-1])
