"""Arrays and frames written as a data set."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.python_words import in_python, warn
from distkern.core.targets import keys_of_groups, plain_targets, refuse_unknown, weights_of_rows
from distkern.core.types import Block, is_dask
from distkern.data import ingest
from distkern.data.build import Notice
from distkern.data.dataset import Dataset
from distkern.data.frames import frame_chunks, frame_kinds, is_frame
from distkern.data.options import Impute, ShardOptions, Task
from distkern.data.scaling import ScalingKind
from distkern.data.store.places import Location, URLPlace
from distkern.data.table_report import ColumnReport, column_notes
from distkern.engine.dask.arrays import partitions
from distkern.runs.given import refuse_path
from distkern.runs.learned import refuse_names

_MOST_ROWS = 65_536


@in_python
def write_dataset(
    X: Any,
    y: Any,
    path: Location,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    task: Task | None = None,
    test_fraction: float | None = None,
    positive: Any = None,
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
    id: str | None = None,
    keep_na: Sequence[str] = (),
    day_first: bool | None = None,
    overwrite: bool = False,
    notice: Notice | None = None,
) -> Dataset:
    """Write rows and targets as a data set, as ``distkern shard`` does for files.

    Parameters
    ----------
    X : array-like, sparse matrix, frame, Dask array or Dask frame of shape (n_rows, n_features)
        The rows. Lazy rows are computed one block at a time. Frames may be from pandas, Polars, Arrow or
        Dask.
    y : array-like of shape (n_rows,) or None
        The targets, if there are any.
    path : str or path-like
        Folder or URL of the new data set; it appears when it is complete.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of the rows.
    groups : array-like of shape (n_rows,), default=None
        Rows of one group are held out together.
    task : {"classification", "regression", "none"}, default=None
        None: regression if ``y`` holds fractions, or is lazy and holds floats; otherwise classification.
    test_fraction : float, default=None
        Share of the rows, drawn at random, for the split ``test``.
    positive : label, default=None
        This label against all others.
    scale : {"none", "minmax", "maxabs", "standard", "unit", "ball"}, default=None
        Scaling of the features, fitted on the training rows and applied to every later prediction. None:
        "minmax" for dense rows, "unit" for sparse ones.
    rows_per_shard : int, default=None
        None: shards of up to 16 MiB.
    shuffle : bool, default=True
        Store the training rows in random order.
    seed : int, default=0
        Seed of the order and of the test rows.
    sparse : bool, default=None
        Store rows sparse or dense; None: decided by the first rows.
    columns : bool, default=False
        Add a copy by columns, which SIMBA reads.
    impute : {"mean", "median", "flag", "none"}, default="mean"
        Replacement for missing numbers of frames; "flag" adds a feature that marks them, "none" refuses them.
    categorical : dict, default=None
        Column name -> "onehot", "target" (target means), "signs" or "drop", for columns of frames.
    drop : list of str, default=()
        Columns of frames to leave out.
    text : list of str, default=()
        Columns of frames whose words become features.
    id : str, default=None
        Column of frames that names the rows. It is not a feature, and later frames may lack it.
    keep_na : list of str, default=()
        Columns of frames in which words such as "NA" are ordinary values.
    day_first : bool, default=None
        Whether 3/4/2024 is in April, for columns that do not show it.
    overwrite : bool, default=False
        Replace an existing data set at ``path``.
    notice : callable, default=None
        Called with notes on the rows. None: warn about columns that are left out, as ``fit`` does.

    Returns
    -------
    dataset : Dataset
        The new data set, opened.

    Raises
    ------
    InputError
        For invalid rows or targets, and if ``path`` exists.

    Examples
    --------
    >>> X, y = np.random.default_rng(0).normal(size=(100, 3)), np.arange(100) % 2
    >>> write_dataset(X, y, "data.zarr", test_fraction=0.2).train.shape
    (80, 3)
    """
    if isinstance(X, str | os.PathLike) or not isinstance(path, str | os.PathLike | URLPlace):
        hint = "give write_dataset(X, y, path)"
        raise InputError("the arguments are in another order", where="write_dataset", hint=hint)
    refuse_path(X)
    refuse_names(X, y=y, sample_weight=sample_weight, groups=groups)
    options = ShardOptions(
        impute=impute,
        categorical=categorical or {},
        drop=tuple(drop),
        id=id,
        text=tuple(text),
        keep_na=tuple(keep_na),
        day_first=day_first,
    )
    of_frame = is_frame(X) or (is_dask(X) and hasattr(X, "columns"))
    if options.on_columns and not of_frame:
        raise InputError(
            "arrays have no column names", where="impute, categorical, drop, text, ...", hint="leave them out"
        )
    options = replace(
        options,
        weight=None if sample_weight is None else "sample_weight",
        group=None if groups is None else "groups",
    )
    y = None if task == "none" else y
    if y is not None and not is_dask(y):
        y = plain_targets(y)
        refuse_unknown(y)
    kinds = frame_kinds(options) if of_frame else None
    if kinds is not None:
        kinds.collects = True
    parts = partitions if is_dask(X) else _slices
    rows = parts(X, y, sample_weight, groups)
    return ingest.write_dataset(
        map(_block, rows) if kinds is None else frame_chunks(rows, kinds, options.left_out),
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
        report=_warn_of_left_out if notice is None else None,
        **options.on_columns,
    )


def _warn_of_left_out(reports: Sequence[ColumnReport]) -> None:
    for note in column_notes(reports, left_out=True):
        warn(note)


def _task_of(y: Any) -> Task:
    if y is None:
        return "none"
    if is_dask(y):
        return "regression" if y.dtype.kind == "f" else "classification"
    has_fractions = y.dtype.kind == "f" and bool(np.any(y != np.floor(y)))
    return "regression" if has_fractions else "classification"


def _slices(X: Any, *others: Any) -> Iterator[tuple[Any, ...]]:
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    for name, values in zip(("y", "sample_weight", "groups"), others, strict=True):
        if values is not None and len(values) != n_rows:
            what = f"X has {n_rows} rows and {name} has {len(values)}"
            raise InputError(what, where=name, hint="give one value for each row")
    # frames and series are cut by position
    columns = [None if values is None else plain_targets(values) for values in others]
    rows = X.tocsr() if hasattr(X, "tocsr") else X if is_frame(X) else np.asarray(X)
    for start in range(0, n_rows, _MOST_ROWS):
        part = slice(start, start + _MOST_ROWS)
        of_part = rows.iloc[part] if hasattr(rows, "iloc") else rows[part]
        yield of_part, *(None if values is None else values[part] for values in columns)


def _block(rows: tuple[Any, ...]) -> Block:
    features, targets, weights, groups = rows
    keys = None if groups is None else keys_of_groups(groups, len(targets))
    return Block(features, targets, weights if weights is None else weights_of_rows(weights), 0, keys)
