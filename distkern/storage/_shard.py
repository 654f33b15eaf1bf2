"""How the features of a shard are stored, dense or sparse."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.common.sparse import Rows, SparseRows, count_nonzero, stacked
from distkern.formats.base import first_not_finite
from distkern.storage.scaling import Scaling

#: anndata's name and version of the layout (its "Sparse arrays" on disk)
SPARSE_TYPE, SPARSE_VERSION = "csr_matrix", "0.1.0"

#: where rows go in their shard, and the rows
Placed = tuple[NDArray[np.int64] | slice, Rows]


@dataclass
class AbstractFeatureWriter(ABC):
    """Writes the features of the shards of a split, one after the other, scaled and in float32.

    Parameters
    ----------
    folder : of the split
    shape : of all its rows
    rows_per_shard, scaling : see :class:`distkern.storage.manifest.Manifest`
    """

    folder: Path
    shape: tuple[int, int]
    rows_per_shard: int
    scaling: Scaling

    @abstractmethod
    def __post_init__(self) -> None:
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

    def __post_init__(self) -> None:
        from distkern.storage._zarr import RowsWriter

        n_rows, *row = self.shape
        folder = self.folder / "features"
        self._array = RowsWriter(folder, tuple(row), self.rows_per_shard, np.float32, n_rows)

    def write(self, index: int, n_rows: int, parts: Iterable[Placed]) -> tuple[int, None, int, int]:
        features = np.empty((n_rows, self.shape[1]), dtype=np.float32)
        for positions, rows in parts:
            features[positions] = self.scaling.apply(np.asarray(rows))
        self._check_fits(features)
        zero_rows = n_rows - int(np.count_nonzero(features.any(axis=1)))
        return self._array.write(index, features), None, zero_rows, count_nonzero(features)


class SparseFeatureWriter(AbstractFeatureWriter):
    """A group of anndata's csr_matrix layout for each shard: data, indices, indptr of one chunk each."""

    def __post_init__(self) -> None:
        from distkern.storage._zarr import create_group

        create_group(self.folder / "features")

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
        checksums = write_sparse(self.folder / "features" / str(index), features)
        zero_rows = int(np.count_nonzero(np.diff(features.indptr) == 0))
        return checksums, features.n_entries, zero_rows, count_nonzero(features)


def write_sparse(folder: Path, features: SparseRows) -> tuple[int, ...]:
    """Write rows as a group of anndata's csr_matrix layout.

    Returns the crc32c of data, indices and indptr, of one chunk each; 0 of those without values.
    """
    from distkern.storage._zarr import RowsWriter, create_group

    create_group(
        folder,
        {
            "encoding-type": SPARSE_TYPE,
            "encoding-version": SPARSE_VERSION,
            "shape": [len(features), features.n_features],
        },
    )
    checksums: list[int] = []
    for name in ("data", "indices", "indptr"):
        values = getattr(features, name)
        writer = RowsWriter(folder / name, (), len(values), values.dtype)
        writer.append(values)
        checksums += writer.finish() or (0,)
    return tuple(checksums)
