"""How the features of a shard are stored, dense or sparse: writers, and a reader that checks every byte."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import CorruptDataError, InputError
from distkern.common.sparse import Rows, SparseRows, count_nonzero, stacked
from distkern.formats.base import first_not_finite
from distkern.storage import chunks
from distkern.storage.places import Place, URLPlace
from distkern.storage.scaling import Scaling

#: anndata's name and version of the layout (its "Sparse arrays" on disk)
SPARSE_TYPE, SPARSE_VERSION = "csr_matrix", "0.1.0"

#: where rows go in their shard, and the rows
Placed = tuple[NDArray[np.int64] | slice, Rows]


class AbstractFeatureWriter(ABC):
    """Writes the features of the shards of a split, one after the other, scaled and in float32.

    Parameters
    ----------
    group, folder : of the split
    shape : of all its rows
    rows_per_shard, scaling : see :class:`distkern.storage.manifest.Manifest`
    """

    def __init__(
        self, group: chunks.Group, folder: Path, shape: tuple[int, int], rows_per_shard: int, scaling: Scaling
    ) -> None:
        self.folder = folder
        self.shape = shape
        self.rows_per_shard = rows_per_shard
        self.scaling = scaling
        self._begin(group)

    @abstractmethod
    def _begin(self, group: chunks.Group) -> None:
        """Make what holds all shards."""

    @abstractmethod
    def write(
        self, index: int, n_rows: int, parts: Iterable[Placed]
    ) -> tuple[int | tuple[int, ...], int | None, int, int]:
        """Write shard ``index``: its checksums, entries if sparse, rows of zeros, numbers that are not 0.

        Raises
        ------
        InputError
            If a scaled value does not fit float32.
        """

    def _check_fits(self, rows: Rows) -> None:
        found = first_not_finite(rows)
        if found is not None:
            raise InputError(
                f"a value is too large for 32-bit numbers after scaling ({self.scaling.kind})",
                where=f"{self.folder.name} rows, feature {found[1] + 1}",
                mend="give --scale minmax or divide the feature by a constant first",
            )


class DenseFeatureWriter(AbstractFeatureWriter):
    """One array, a shard a chunk."""

    def _begin(self, group: chunks.Group) -> None:
        chunk = (self.rows_per_shard, self.shape[1])
        # kept, since an array that is opened again leaves chunks of zeros out
        self._array = chunks.create_array(group, "features", self.shape, chunk, np.float32)

    def write(self, index: int, n_rows: int, parts: Iterable[Placed]) -> tuple[int, None, int, int]:
        features = np.empty((n_rows, self.shape[1]), dtype=np.float32)
        for positions, rows in parts:
            features[positions] = self.scaling.apply(np.asarray(rows))
        self._check_fits(features)
        start = index * self.rows_per_shard
        self._array[start : start + n_rows] = features
        zero_rows = n_rows - int(np.count_nonzero(features.any(axis=1)))
        checksum = chunks.stored_checksum(chunks.chunk_file(self.folder / "features", index, 0))
        return checksum, None, zero_rows, count_nonzero(features)


class SparseFeatureWriter(AbstractFeatureWriter):
    """A group of anndata's csr_matrix layout for each shard: data, indices, indptr of one chunk each."""

    def _begin(self, group: chunks.Group) -> None:
        chunks.create_group(self.folder / "features")

    def write(
        self, index: int, n_rows: int, parts: Iterable[Placed]
    ) -> tuple[tuple[int, ...], int, int, int]:
        places = np.empty(n_rows, dtype=np.int64)
        filled = 0
        gathered: list[Rows] = []
        for positions, rows in parts:
            gathered.append(rows)
            taken = np.arange(filled, filled + len(rows))
            places[positions] = taken
            filled += len(rows)
        features = self.scaling.apply_rows(stacked(gathered))
        assert isinstance(features, SparseRows)
        features = features[places]
        self._check_fits(features)
        attributes: dict[str, Any] = {
            "encoding-type": SPARSE_TYPE,
            "encoding-version": SPARSE_VERSION,
            "shape": [n_rows, self.shape[1]],
        }
        folder = self.folder / "features" / str(index)
        group = chunks.create_group(folder, attributes)
        checksums = []
        for name, values in _parts(features).items():
            array = chunks.create_array(group, name, values.shape, values.shape, values.dtype)
            if values.size:
                array[...] = values
            checksums.append(
                chunks.stored_checksum(chunks.chunk_file(folder / name, 0)) if values.size else 0
            )
        zero_rows = int(np.count_nonzero(np.diff(features.indptr) == 0))
        return tuple(checksums), features.n_entries, zero_rows, count_nonzero(features)


def _parts(rows: SparseRows) -> dict[str, NDArray[Any]]:
    return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}


@dataclass(frozen=True, slots=True)
class StoredShard:
    """A shard of the data set with this fingerprint, to read."""

    fingerprint: str
    index: int
    rows: int
    rows_per_shard: int

    def array(self, folder: Place, checksum: int, dtype: str, inner: tuple[int, ...]) -> NDArray[Any]:
        """The shard's chunk of an array of all rows."""
        index = (self.index,) + (0,) * len(inner)
        values = self._chunk(folder, checksum, dtype, (self.rows_per_shard, *inner), index)
        if isinstance(folder, URLPlace):
            values = values[: self.rows]
        if len(values) != self.rows:
            raise chunks.damaged(f"{len(values)} rows instead of {self.rows}", folder / "zarr.json")
        return values

    def sparse_rows(
        self, folder: Place, checksums: tuple[int, ...], entries: int, n_features: int
    ) -> SparseRows:
        """The shard's own group, whole."""
        group = folder / str(self.index)
        expected = (
            ("data", "float32", entries),
            ("indices", "int32", entries),
            ("indptr", "int64", self.rows + 1),
        )
        data, indices, indptr = (
            self._chunk(group / name, checksum, dtype, (size,), (0,)) if size else np.empty(0, dtype)
            for (name, dtype, size), checksum in zip(expected, checksums, strict=True)
        )
        return SparseRows(data, indices, indptr, n_features)

    def _chunk(
        self, folder: Place, checksum: int, dtype: str, chunk_shape: tuple[int, ...], index: tuple[int, ...]
    ) -> NDArray[Any]:
        size = math.prod(chunk_shape) * np.dtype(dtype).itemsize + chunks.CRC_BYTES
        if isinstance(folder, URLPlace):
            # the manifest says all that the description of the array does
            stored = chunks.verified_chunk(chunks.chunk_file(folder, *index), checksum, size)
            # arrays that are read may be written to
            return stored.view(dtype).reshape(chunk_shape).copy()
        # a whole chunk of another shard or of an older data set has a right checksum, but not this one
        file = chunks.chunk_file(folder, *index)
        if chunks.stored_checksum(file, size) != checksum:
            raise chunks.damaged("the chunk is not the one that was written", file)
        try:
            array = _array(str(folder), self.fingerprint)
        except (OSError, ValueError, KeyError) as error:
            raise CorruptDataError(
                "the description of the array is missing or damaged",
                where=str(folder / "zarr.json"),
                mend="shard the data again",
            ) from error
        if array.chunks != chunk_shape or array.dtype != np.dtype(dtype):
            raise chunks.damaged("the description of the array was changed", folder / "zarr.json")
        return chunks.read_block(array, folder, *index)


@lru_cache(maxsize=64)
def _array(folder: str, fingerprint: str) -> Any:
    """An open array, kept because opening costs more than a small read.

    The fingerprint is in the key so that a data set that replaced another is opened anew.
    """
    return chunks.open_array(Path(folder))
