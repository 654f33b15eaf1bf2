"""Sparse rows, and the few operations on rows of either form.

:class:`SparseRows` has the part of an array's interface that the package uses (``shape``, ``dtype``, ``len``,
rows by slice, position or mask), so blocks, tiles and passes carry either form without a distinction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import InputError

#: columns are numbered in 32 bits
MAX_FEATURES = 2**31 - 1

_Floats: TypeAlias = NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class SparseRows:
    """Rows in compressed form (CSR): the non-zero numbers of each row in the order of their columns.

    Attributes
    ----------
    data : (n_entries,) float32 or float64, none of them zero
    indices : (n_entries,) int32 columns, increasing within each row
    indptr : (n_rows + 1,) int64; row i has the entries indptr[i] .. indptr[i + 1] - 1, and indptr[0] is 0
    n_features : number of columns
    """

    data: _Floats
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    n_features: int

    ndim: ClassVar[int] = 2

    @classmethod
    def of_dense(cls, rows: _Floats) -> SparseRows:
        """Compress the rows of an array (n_rows, n_features)."""
        present = rows != 0
        indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(present, axis=1))]).astype(np.int64)
        return cls(rows[present], np.nonzero(present)[1].astype(np.int32), indptr, rows.shape[1])

    @classmethod
    def of_scipy(cls, matrix: Any, dtype: DTypeLike | None = None) -> SparseRows:
        """Convert a matrix or array of scipy.sparse; duplicate entries are summed."""
        csr = matrix.tocsr()
        if not csr.has_canonical_format or not np.all(csr.data):
            csr = csr.copy()
            csr.sum_duplicates()
            csr.eliminate_zeros()
        kind = csr.dtype if dtype is None else np.dtype(dtype)
        return cls(
            np.ascontiguousarray(csr.data, dtype=kind),
            np.ascontiguousarray(csr.indices, dtype=np.int32),
            np.ascontiguousarray(csr.indptr, dtype=np.int64),
            int(csr.shape[1]),
        )

    def checked(self) -> SparseRows:
        """Return these rows, read from a file; ValueError for an entry outside all rows or columns.

        Compiled loops use the indices without further checks.
        """
        kinds = [(part.ndim, part.dtype.kind) for part in (self.data, self.indices, self.indptr)]
        is_array, ends = kinds == [(1, "f"), (1, "i"), (1, "i")], self.indptr
        if not (is_array and len(ends) and ends[0] == 0 and ends[-1] == len(self.data) == len(self.indices)):
            raise ValueError("sparse rows whose parts do not fit together")
        if (np.diff(ends) < 0).any():
            raise ValueError("sparse rows that overlap")
        if len(self.indices) and not (self.indices.min() >= 0 and self.indices.max() < self.n_features):
            raise ValueError(f"sparse rows with entries outside of {self.n_features} columns")
        return self

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.indptr) - 1, self.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.data.dtype

    @property
    def nbytes(self) -> int:
        return int(self.data.nbytes + self.indices.nbytes + self.indptr.nbytes)

    @property
    def n_entries(self) -> int:
        return int(self.data.size)

    @property
    def row_of_entries(self) -> NDArray[np.int64]:
        """Return the row (n_entries,) of each entry."""
        return np.repeat(np.arange(len(self)), np.diff(self.indptr))

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        """Refuse, as a dense copy would take the memory that sparsity saves."""
        raise TypeError("sparse rows are not an array: call toarray() on a tile of them")

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: slice | NDArray[Any]) -> SparseRows:
        """Return the rows of a slice, of positions (in their order) or of a mask; a view for a plain
        slice.
        """
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            if step == 1:
                low, high = self.indptr[start], self.indptr[max(start, stop)]
                indptr = self.indptr[start : max(start, stop) + 1] - low
                return SparseRows(self.data[low:high], self.indices[low:high], indptr, self.n_features)
            rows = np.arange(start, stop, step)
        positions = np.asarray(rows)
        if positions.dtype == bool:
            if len(positions) != len(self):
                raise IndexError(f"a mask of {len(positions)} for {len(self)} rows")
            positions = np.flatnonzero(positions)
        positions = np.where(positions < 0, positions + len(self), positions).astype(np.int64)
        lengths = self.indptr[positions + 1] - self.indptr[positions]
        indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        entries = np.repeat(self.indptr[positions] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return SparseRows(self.data[entries], self.indices[entries], indptr, self.n_features)

    def with_data(self, data: _Floats) -> SparseRows:
        """Return rows with other numbers at the same places; zeros are dropped."""
        changed = SparseRows(data, self.indices, self.indptr, self.n_features)
        kept = data != 0
        if kept.all():
            return changed
        indptr = np.concatenate([[0], np.cumsum(kept)])[self.indptr].astype(np.int64)
        return SparseRows(data[kept], self.indices[kept], indptr, self.n_features)

    def astype(self, dtype: DTypeLike) -> SparseRows:
        """Return the rows with numbers of type ``dtype``; numbers that become zero are dropped."""
        return self if self.dtype == dtype else self.with_data(self.data.astype(dtype))

    def copy(self) -> SparseRows:
        """Return a copy that shares no memory."""
        return SparseRows(self.data.copy(), self.indices.copy(), self.indptr.copy(), self.n_features)

    def widened(self, n_features: int) -> SparseRows:
        """Return the rows with zero columns appended up to ``n_features``."""
        return SparseRows(self.data, self.indices, self.indptr, max(n_features, self.n_features))

    def toarray(self) -> _Floats:
        """Return an array (n_rows, n_features); meant for tiles."""
        return write_dense(self, np.empty(self.shape, dtype=self.dtype))

    def to_scipy(self) -> Any:
        """Return a ``csr_matrix`` (n_rows, n_features) of scipy.sparse over the same memory."""
        from scipy.sparse import csr_matrix

        return csr_matrix((self.data, self.indices, self.indptr), self.shape)

    def norms(self) -> NDArray[np.float64]:
        """Return Euclidean norms (n_rows,), without overflow for finite rows."""
        rows, values = self.row_of_entries, np.abs(self.data.astype(np.float64))
        largest = np.zeros(len(self))
        np.maximum.at(largest, rows, values)
        values /= largest[rows]
        return np.asarray(np.sqrt(np.bincount(rows, np.square(values), minlength=len(self))) * largest)

    def keys(self) -> list[bytes]:
        """Return bytes for each row that are equal for equal rows only."""
        ends = self.indptr.tolist()
        return [
            self.indices[low:high].tobytes() + self.data[low:high].tobytes() for low, high in pairwise(ends)
        ]


#: (n_rows, n_features) in either form
Rows: TypeAlias = _Floats | SparseRows


def stacked(parts: Sequence[Rows]) -> Rows:
    """Concatenate rows of one form and width."""
    sparse = [part for part in parts if isinstance(part, SparseRows)]
    if not sparse:
        joined: _Floats = np.concatenate([part for part in parts if not isinstance(part, SparseRows)])
        return joined
    if len(sparse) < len(parts):
        raise TypeError("dense and sparse rows cannot be stacked")
    starts = np.cumsum([0, *(part.n_entries for part in sparse)])
    indptr = [part.indptr[1:] + start for part, start in zip(sparse, starts[:-1], strict=True)]
    return SparseRows(
        np.concatenate([part.data for part in sparse]),
        np.concatenate([part.indices for part in sparse]),
        np.concatenate([np.zeros(1, np.int64), *indptr]),
        max(part.n_features for part in sparse),
    )


def write_dense(rows: Rows, into: _Floats) -> _Floats:
    """Write the rows into an array (n_rows, n_columns), zeros in columns beyond theirs."""
    if isinstance(rows, SparseRows):
        into.fill(0)
        into[rows.row_of_entries, rows.indices] = rows.data
    else:
        into[:, : rows.shape[1]] = rows
        into[:, rows.shape[1] :] = 0
    return into


def converted(rows: Rows, *, sparse: bool) -> Rows:
    """Return the rows as :class:`SparseRows`, or as a C-contiguous array if ``sparse`` is false."""
    if isinstance(rows, SparseRows):
        return rows if sparse else rows.toarray()
    return SparseRows.of_dense(rows) if sparse else np.ascontiguousarray(rows)


def with_columns(rows: Rows, order: NDArray[np.intp]) -> Rows:
    """Return the rows with column ``order[j]`` as column j; ``order`` is a permutation."""
    if not isinstance(rows, SparseRows):
        return np.ascontiguousarray(rows[:, order])
    place = np.empty(rows.n_features, dtype=np.int32)
    place[order] = np.arange(rows.n_features, dtype=np.int32)
    moved = place[rows.indices]
    entries = np.lexsort((moved, rows.row_of_entries))
    return SparseRows(rows.data[entries], moved[entries], rows.indptr, rows.n_features)


def values_at(rows: Rows, places: Sequence[int]) -> _Floats:
    """Return some columns as an array (n_rows, n_places)."""
    if isinstance(rows, SparseRows):
        return np.asarray(rows.to_scipy()[:, list(places)].toarray())
    return rows[:, list(places)]


def with_values(rows: Rows, places: Sequence[int], values: _Floats) -> Rows:
    """Return the rows with new values, (n_rows, n_places) or (n_places,), in some columns."""
    if not isinstance(rows, SparseRows):
        found = rows.copy()
        found[:, list(places)] = values
        return found
    from scipy.sparse import coo_matrix

    kept = ~np.isin(rows.indices, places)
    full = np.broadcast_to(values, (len(rows), len(places)))
    new_rows, new = np.nonzero(full)
    data = np.concatenate([rows.data[kept], full[new_rows, new].astype(rows.dtype)])
    at = np.concatenate([rows.row_of_entries[kept], new_rows])
    columns = np.concatenate([rows.indices[kept], np.asarray(places)[new]])
    return SparseRows.of_scipy(coo_matrix((data, (at, columns)), rows.shape))


def distinct(rows: Rows, codes: NDArray[Any] | None = None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first position of each distinct row (with its code, if given), in an order that depends
    only on the set of rows, and for each row which of these it is.
    """
    if isinstance(rows, SparseRows):
        keys = rows.keys()
        if codes is not None:
            keys = [key + code.tobytes() for key, code in zip(keys, codes, strict=True)]
        position = {key: number for number, key in enumerate(sorted(set(keys)))}
        inverse = np.array([position[key] for key in keys], dtype=np.intp)
        return np.unique(inverse, return_index=True)[1], inverse
    table = rows if codes is None else np.column_stack([rows, codes.astype(rows.dtype)])
    _, first, inverse = np.unique(table, axis=0, return_index=True, return_inverse=True)
    return first, inverse.reshape(-1)


def to_arrays(name: str, rows: Rows) -> dict[str, NDArray[Any]]:
    """Return rows as plain arrays, under names that begin with ``name``."""
    if not isinstance(rows, SparseRows):
        return {name: rows}
    return {
        f"{name}.data": rows.data,
        f"{name}.indices": rows.indices,
        f"{name}.indptr": rows.indptr,
        f"{name}.n_features": np.array([rows.n_features], dtype=np.int64),
    }


def from_arrays(name: str, arrays: Mapping[str, NDArray[Any]]) -> Rows:
    """Rebuild the rows that :func:`to_arrays` stored; KeyError if a part is missing, ValueError if parts
    do not fit.
    """
    if f"{name}.indptr" not in arrays:
        return arrays[name]
    data, indices, indptr = (arrays[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
    return SparseRows(data, indices, indptr, int(arrays[f"{name}.n_features"][0])).checked()


def first_place(rows: Rows, marks: NDArray[np.bool_]) -> tuple[int, int, float] | None:
    """Return row, column and value of the first marked number, or None; ``marks`` mask the array, or the
    data of sparse rows.
    """
    places = np.flatnonzero(marks)
    if not places.size:
        return None
    place = int(places[0])
    if not isinstance(rows, SparseRows):
        row, column = divmod(place, rows.shape[1])
        return row, column, float(rows[row, column])
    row = int(np.searchsorted(rows.indptr, place, side="right")) - 1
    return row, int(rows.indices[place]), float(rows.data[place])


def comparing_bytes(n_features: int) -> int:
    """Return the bytes needed to find the landmarks with a column, besides rows, landmarks and code."""
    return 8 * n_features


def with_ones(rows: Rows) -> Rows:
    """Return the rows with a column of ones appended."""
    n_rows, n_columns = rows.shape
    if not isinstance(rows, SparseRows):
        return np.concatenate([rows, np.ones((n_rows, 1), dtype=rows.dtype)], axis=1)
    ends = rows.indptr[1:]
    return SparseRows(
        np.insert(rows.data, ends, 1),
        np.insert(rows.indices, ends, n_columns),
        rows.indptr + np.arange(n_rows + 1),
        n_columns + 1,
    )


def count_nonzero(rows: Rows) -> int:
    """Return the number of nonzero values."""
    return int(np.count_nonzero(rows.data if isinstance(rows, SparseRows) else rows))


def sum_is_finite(rows: Rows) -> bool:
    """Whether the sum of all values is finite: a cheap first check for non-finite values; it may also
    overflow.
    """
    values = rows.data if isinstance(rows, SparseRows) else rows
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(values)))


def refuse_masked(rows: Any, where: str = "X") -> None:
    """Raise :class:`InputError` for masked numbers, where NumPy would use what lies under the mask."""
    if isinstance(rows, np.ma.MaskedArray) and np.ma.is_masked(rows):
        place = ", ".join(map(str, np.argwhere(np.ma.getmaskarray(rows))[0]))
        hint = f"fill it in: {where}.filled(numpy.nan) makes it a missing value"
        raise InputError(f"the number at [{place}] is masked", where=where, hint=hint)
    if isinstance(getattr(rows, "_meta", None), np.ma.MaskedArray):
        hint = f"fill them in: {where}.map_blocks(numpy.ma.filled, numpy.nan) makes them missing values"
        raise InputError("is a Dask array of masked arrays", where=where, hint=hint)
