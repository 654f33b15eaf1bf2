"""Arrays and frames written as a data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from distkern.common.errors import InputError
from distkern.common.targets import plain_targets, refuse_unknown
from distkern.engine.dask.arrays import is_dask, partitions
from distkern.storage import ingest
from distkern.storage.build import Notice
from distkern.storage.dataset import Dataset
from distkern.storage.frames import frame_chunks, frame_kinds, is_frame
from distkern.storage.options import Impute, ShardOptions, Task
from distkern.storage.places import Location
from distkern.storage.scaling import ScalingKind

_MOST_ROWS = 65_536


def write_dataset(
    X: Any,
    y: Any,
    path: Location,
    *,
    task: Task | None = None,
    test_fraction: float | None = None,
    positive: str | None = None,
    scale: ScalingKind | None = None,
    rows_per_shard: int | None = None,
    shuffle: bool = True,
    seed: int = 0,
    sparse: bool | None = None,
    columns: bool = False,
    impute: Impute = "mean",
    categorical: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    text: Sequence[str] = (),
    keep_na: Sequence[str] = (),
    day_first: bool | None = None,
    overwrite: bool = False,
    notice: Notice | None = None,
) -> Dataset:
    """Write rows and their targets as a data set, as ``distkern shard`` makes one of files.

    Parameters that are not listed are those of :func:`distkern.storage.ingest.shard`.

    Parameters
    ----------
    X : (n_rows, n_features) array, sparse matrix of SciPy, Dask array, or frame of pandas, Polars or Dask;
        what is lazy is computed a block at a time
    y : (n_rows,) targets, likewise; None without
    path : folder or URL to make; it appears when it is whole
    task : "classification", "regression" or "none"; None says by ``y``: regression if it holds fractions, or
        floats that are lazy

    Returns
    -------
    The data set, opened.

    Raises
    ------
    InputError
        For what cannot be a row or a target, and for a ``path`` that exists.
    """
    options = ShardOptions(
        impute=impute,
        categorical=categorical or {},
        drop=tuple(drop),
        text=tuple(text),
        keep_na=tuple(keep_na),
        day_first=day_first,
    )
    of_frame = is_frame(X) or (is_dask(X) and hasattr(X, "columns"))
    if options.on_columns and not of_frame:
        raise InputError(
            "arrays have no columns by name",
            where="impute, categorical, drop, text, ...",
            hint="leave them out",
        )
    y = None if task == "none" else y
    if y is not None and not is_dask(y):
        y = plain_targets(y)
        refuse_unknown(y)
    kinds = frame_kinds(options) if of_frame else None
    if kinds is not None:
        kinds.collects = True
    pairs = partitions(X, y) if is_dask(X) else _slices(X, y)
    return ingest.write_dataset(
        pairs if kinds is None else frame_chunks(pairs, kinds, options.left_out),
        path,
        test_fraction=test_fraction,
        task=_task_of(y) if task is None else task,
        positive=positive,
        scale=scale,
        rows_per_shard=rows_per_shard,
        shuffle=shuffle,
        seed=seed,
        sparse=sparse,
        columns=columns,
        overwrite=overwrite,
        kinds=kinds,
        notice=notice,
        **options.on_columns,
    )


def _task_of(y: Any) -> Task:
    if y is None:
        return "none"
    if is_dask(y):
        return "regression" if y.dtype.kind == "f" else "classification"
    has_fractions = y.dtype.kind == "f" and bool(np.any(y != np.floor(y)))
    return "regression" if has_fractions else "classification"


def _slices(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if y is not None and len(y) != n_rows:
        raise InputError(f"X has {n_rows} rows and y has {len(y)}", where="y", hint="give one for each row")
    rows = X.tocsr() if hasattr(X, "tocsr") else X if is_frame(X) else np.asarray(X)
    for start in range(0, n_rows, _MOST_ROWS):
        part = slice(start, start + _MOST_ROWS)
        of_part = rows.iloc[part] if hasattr(rows, "iloc") else rows[part]
        yield of_part, None if y is None else y[part]
