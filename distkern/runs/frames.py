"""Frames of pandas, Polars, Arrow and Dask that are given to estimators as they are, and names of columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import DTypeLike
from sklearn.utils.validation import _check_feature_names, _get_feature_names

from distkern.common.errors import InputError
from distkern.common.sparse import Rows, SparseRows
from distkern.common.targets import plain_targets
from distkern.common.types import AbstractSource
from distkern.engine.dask.arrays import is_dask, map_frame, map_rows, map_source, partitions
from distkern.runs.explained_arrays import explained, refuse_path
from distkern.storage.preparation import Preparation, preparation_for
from distkern.storage.scaling import Scaling

if TYPE_CHECKING:
    from distkern.engine.executors import AbstractExecutor
    from distkern.storage.build import Task
    from distkern.storage.dataset import Dataset, Split
    from distkern.storage.table import Table
    from distkern.storage.table_report import ColumnReport


def learn_names(estimator: Any, X: Any) -> None:
    """Set ``feature_names_in_`` from the columns of a frame or a Dask frame; drop it if there are none."""
    _check_feature_names(estimator, _named(X), reset=True)
    estimator._is_of_frame = not is_dask(X) and hasattr(estimator, "feature_names_in_")


def learn_names_of_dataset(estimator: Any, dataset: Dataset) -> None:
    """Set ``feature_names_in_`` and ``target_name_`` from a data set."""
    estimator.target_name_ = dataset.target_name
    estimator._is_of_frame = False
    estimator.table_ = table = dataset.table
    estimator.zero_based_ = bool(dataset.options.get("zero_based"))
    names = dataset.feature_names
    if table is not None:
        names = table.names if table.is_named else None
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def put_in_order(estimator: Any, X: Any) -> Any:
    """``X`` in the order of the fit, where it is a frame or a Dask frame of the same columns.

    scikit-learn's checks ask of an estimator that was fitted to a frame in memory that it refuses such a
    frame in another order; all others put it in order. Names that are missing or unknown, and names on one
    side only, are scikit-learn's to refuse or to warn of.
    """
    ours, theirs = getattr(estimator, "feature_names_in_", None), _get_feature_names(_named(X))
    if ours is None or theirs is None or np.array_equal(ours, theirs):
        return X
    if len(theirs) != len(ours) or len(set(theirs)) != len(ours) or set(theirs) != set(ours):
        return X
    if getattr(estimator, "_is_of_frame", False) and not is_dask(X):
        raise InputError(
            "The feature names should match those that were passed during fit.\nFeature names must be in the "
            "same order as they were in fit.",
            hint="X[model.feature_names_in_] is",
        )
    return X[list(ours)]


def check_dask_names(estimator: Any, X: Any) -> None:
    """What scikit-learn checks of the names of a frame, of a Dask frame or array."""
    _check_feature_names(estimator, _named(X), reset=False)


def preparation_of(estimator: Any, dataset: Dataset) -> Preparation | None:
    """What a fitted estimator does to the stored rows of a data set, see :func:`preparation_for`."""
    names = getattr(estimator, "feature_names_in_", None)
    own: Scaling | None = estimator.scaling_
    width = estimator.n_features_in_
    if estimator.table_ is not None:
        names, width = estimator.table_.features, estimator.table_.n_features
    return preparation_for(dataset, width, None if names is None else tuple(names), own, estimator.table_)


def unknown_columns(estimator: Any, dataset: Dataset) -> list[str]:
    """Columns of a data set that a fitted estimator does not know, which are left out."""
    names = dataset.feature_names if dataset.table is None else dataset.table.names
    if names is None or not hasattr(estimator, "feature_names_in_"):
        return []
    known = {*estimator.feature_names_in_}
    return [name for name in names if name not in known]


def _named(X: Any) -> Any:
    """What has the names of ``X``: of a Dask frame the empty frame that describes it."""
    return getattr(X, "_meta", None) if is_dask(X) else X


def is_mixed(X: Any) -> bool:
    """Whether ``X`` is a frame with columns of other things than numbers, or with missing values (which are
    not looked for in Dask frames)."""
    if is_dask(X):
        meta: Any = getattr(X, "_meta", None)
        return hasattr(meta, "columns") and any(dtype.kind not in "biuf" for dtype in meta.dtypes)
    from distkern.storage.frames import has_other_than_numbers

    return has_other_than_numbers(X)


def rows_of_frame(
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    task: str,
    executor: AbstractExecutor | None,
    stack: ExitStack,
) -> tuple[Any, Any, Table | None, Scaling | None]:
    """A frame as ``distkern shard`` would store it with nothing set: features (n, d) float32, targets, table
    and scaling; of a Dask frame a split and nothing else, which lasts as long as ``stack``. ``groups``: the
    keys of those of a frame in memory."""
    from sklearn.utils.validation import _check_y, check_consistent_length

    from distkern.engine.executors import open_executor
    from distkern.storage.frames import fit_frame

    if task == "none":
        y = None if is_dask(X) else np.zeros(len(X))
    elif y is None:
        raise InputError("y is missing", where="fit", hint="give labels with frames")
    if is_dask(X):
        for name, given in (("sample_weight", sample_weight), ("groups", groups)):
            if given is not None:
                raise InputError(
                    f"{name} of Dask frames with such columns is not supported",
                    where=name,
                    hint="give a frame of numbers, or one in memory",
                )
        split = _spooled(X, y, task, executor or stack.enter_context(open_executor()), stack)
        return split, None, None, None
    # a lazy series or array is computed here, as all rows are in memory
    targets = np.asarray(_check_y(plain_targets(y), y_numeric=task == "regression"))
    check_consistent_length(X, targets)
    fitted = fit_frame(X, targets, task, groups, sample_weight)
    for sentence in fitted.told:
        warnings.warn(sentence, UserWarning, stacklevel=6)
    return fitted.features, targets, fitted.table, fitted.scaling


def _spooled(X: Any, y: Any, task: str, executor: AbstractExecutor, stack: ExitStack) -> Split:
    """The training split of a data set of a Dask frame, which is written once and removed with ``stack``."""
    from distkern.runs.spooled import check_hosts, temporary_folder
    from distkern.storage.frames import frame_chunks, frame_kinds
    from distkern.storage.ingest import write_dataset
    from distkern.storage.table_report import told_columns

    check_hosts(
        executor,
        "Dask frames with columns of other things than numbers can be fitted by workers of one host only",
        "the data",
        "store the frame as Parquet, make a data set of it with `distkern shard` and fit to its train split",
    )
    kinds = frame_kinds()
    kinds.collects = True
    reports: list[ColumnReport] = []
    chunks = frame_chunks(partitions(X, y), kinds)
    path = temporary_folder(stack) / "rows.zarr"
    dataset = write_dataset(chunks, path, task=cast("Task", task), kinds=kinds, report=reports.extend)
    for sentence in (*kinds.told, *told_columns(reports, left_out=True)):
        warnings.warn(sentence, UserWarning, stacklevel=7)
    return dataset.train


def encoded_frame(estimator: Any, table: Table, X: Any) -> Any:
    """Features (n, d) float32 of a frame, or of an array of its columns, scaled; a Dask frame or array of
    them of one of Dask's.

    Raises
    ------
    InputError
        If columns are missing or unknown, or hold something else than those of the training data.
    """
    from distkern.storage.frames import encode_frame

    ignored = {*table.ignored, getattr(estimator, "target_name_", None)}
    encode = partial(encode_frame, table, estimator.scaling_ or Scaling(), ignored)
    if not is_dask(X):
        return encode(X)
    if not hasattr(X, "columns"):
        return map_rows(encode, X, np.dtype(np.float32), table.n_features)
    return map_frame(encode, X, table.features)


def _are_encoded(table: Table, X: Any) -> bool:
    """Whether ``X`` is an array of encoded rows of a table, by its width and by what it holds.

    Raises
    ------
    InputError
        If an array of numbers may as well be of the table's columns, and these become other numbers.
    """
    if hasattr(X, "columns"):
        return False
    array = X if hasattr(X, "shape") else np.asarray(X)
    if array.ndim != 2 or array.shape[1] != table.n_features:
        return False
    if len(table.columns) != table.n_features:
        return True
    if array.dtype.kind not in "biuf" or all(column.encoding == "number" for column in table.columns):
        # numbers are encoded as they are
        return False
    raise InputError(
        f"an array of {table.n_features} columns may be of the table's columns or of encoded rows",
        where="X",
        hint="give a frame of the table's columns, or a split of a data set",
    )


def as_features(estimator: Any, X: Any) -> tuple[Any, Preparation | None, np.dtype[Any]]:
    """What is not a split as rows of features, checked, what is still to be done to them, and their dtype.

    Rows are in their own units, but for those that a table encodes, which are scaled as those of the fit.
    Where the model is of a table, arrays of as many columns as encoded rows have are those; ``split[:]``
    gives such.
    """
    from scipy.sparse import issparse
    from sklearn.utils.validation import check_array, validate_data

    refuse_path(X)
    wanted = getattr(estimator, "dtype_", None)
    single: np.dtype[Any] = np.dtype(np.float32)
    is_encoded = estimator.table_ is not None and _are_encoded(estimator.table_, X)
    if estimator.table_ is not None and not is_encoded:
        encoded = None if wanted is None else Preparation(dtype=wanted)
        return encoded_frame(estimator, estimator.table_, X), encoded, single
    X = X if is_encoded else put_in_order(estimator, X)
    own = single if getattr(X, "dtype", None) == single else np.dtype(np.float64)
    if is_dask(X) and not is_encoded:
        check_dask_names(estimator, X)
    elif not is_dask(X):
        check = check_array if is_encoded else partial(validate_data, estimator, reset=False)
        with explained(X):
            rows = check(X, dtype=[np.float64, np.float32], order="C", accept_sparse="csr")
        X = SparseRows.of_scipy(rows) if issparse(rows) else rows
    return X, Preparation(scaling=estimator.scaling_, dtype=wanted), own


def at_rows(
    estimator: Any,
    X: Any,
    function_after: Callable[[Preparation | None], Callable[[Rows], Any]],
    n_columns: int | None,
    dtype: DTypeLike | None = None,
) -> Any:
    """What ``function_after`` makes of what is still to be done to rows, at those of ``X``: lazy for Dask
    arrays and splits, (n,) or (n, n_columns), and then of ``dtype`` (None: that of the rows).

    Rows are in their own units, and are scaled here as those of the fit were; see :func:`as_features`.
    """
    if isinstance(X, AbstractSource):
        split = cast("Split", X)
        function, own = function_after(preparation_of(estimator, split.dataset)), X.dtype
        return map_source(function, X, own if dtype is None else dtype, n_columns)
    X, preparation, own = as_features(estimator, X)
    function = function_after(preparation)
    return map_rows(function, X, own if dtype is None else dtype, n_columns) if is_dask(X) else function(X)
