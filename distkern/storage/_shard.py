"""How the features of a shard are put together and stored, dense or sparse."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.common.sparse import Rows, SparseRows, stacked
from distkern.formats.base import first_not_finite
from distkern.storage.scaling import Scaling

#: anndata's name and version of the layout (its "Sparse arrays" on disk)
SPARSE_TYPE, SPARSE_VERSION = "csr_matrix", "0.1.0"

#: where rows go in their shard, and the rows
Placed = tuple[NDArray[np.int64] | slice, Rows]


def scaled_rows(
    parts: Iterable[Placed], shape: tuple[int, int], scaling: Scaling, where: str, *, is_sparse: bool
) -> Rows:
    """The rows of a shard, each at its place, scaled and in float32.

    Parameters
    ----------
    shape : of the shard
    where : whose rows they are, as an error names them

    Raises
    ------
    InputError
        If a scaled value does not fit float32.
    """
    rows: Rows
    if is_sparse:
        places = np.empty(shape[0], dtype=np.int64)
        gathered: list[Rows] = []
        filled = 0
        for positions, part in parts:
            gathered.append(part)
            places[positions] = np.arange(filled, filled + len(part))
            filled += len(part)
        rows = scaling.apply_rows(stacked(gathered))[places]
    else:
        rows = np.empty(shape, dtype=np.float32)
        for positions, part in parts:
            rows[positions] = scaling.apply(np.asarray(part))
    found = first_not_finite(rows)
    if found is not None:
        raise InputError(
            f"a value is too large for 32-bit numbers after scaling ({scaling.kind})",
            where=f"{where} rows, feature {found[1] + 1}",
            hint="give --scale minmax or divide the feature by a constant first",
        )
    return rows


def zero_rows(rows: Rows) -> int:
    """How many rows have no number that is not 0."""
    present = np.diff(rows.indptr) if isinstance(rows, SparseRows) else rows.any(axis=1)
    return len(rows) - int(np.count_nonzero(present))


def write_sparse(folder: Path, rows: SparseRows) -> tuple[int, ...]:
    """Write rows as a group of anndata's csr_matrix layout.

    Returns the crc32c of data, indices and indptr, of one chunk each; 0 of those without values.
    """
    from distkern.storage._zarr import RowsWriter, create_group

    shape = [len(rows), rows.n_features]
    create_group(folder, {"encoding-type": SPARSE_TYPE, "encoding-version": SPARSE_VERSION, "shape": shape})
    checksums: list[int] = []
    for name in ("data", "indices", "indptr"):
        values = getattr(rows, name)
        writer = RowsWriter(folder / name, (), len(values), values.dtype)
        writer.append(values)
        checksums += writer.finish() or (0,)
    return tuple(checksums)
