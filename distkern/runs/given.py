"""One way in: whatever is given to ``fit`` and ``predict`` as a source, or as rows of features.

That is arrays, sparse matrices, frames of pandas, Polars, Arrow and Dask, Dask arrays, data sets and splits.
:func:`training_data` learns the columns of what it is given, :func:`rows_for` brings rows to those columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names,
    _check_sample_weight,
    _check_y,
    _num_samples,
    check_array,
    validate_data,
)

from distkern.common.errors import InputError
from distkern.common.labels import plain_labels
from distkern.common.python_words import warn
from distkern.common.sparse import Rows, SparseRows, converted
from distkern.common.targets import keys_of_groups, plain_targets, refuse_one_group, refuse_unknown
from distkern.common.types import AbstractSource
from distkern.engine.dask.arrays import (
    DaskArraySource,
    as_frame,
    has_missing,
    is_dask,
    map_frame,
    map_numbers,
    map_rows,
    map_source,
    partitions,
)
from distkern.runs.arrays import explained, refuse_labels, refuse_path
from distkern.runs.framed import (
    as_rows,
    in_order,
    learn_names,
    learn_names_of_dataset,
    named,
    target_name,
    undescribed,
)
from distkern.storage.preparation import Preparation
from distkern.storage.scaling import Scaling

if TYPE_CHECKING:
    from distkern.engine.executors import AbstractExecutor
    from distkern.runs.data import TrainingData
    from distkern.storage.build import Task
    from distkern.storage.dataset import Split
    from distkern.storage.frames import FittedFrame
    from distkern.storage.table import Table
    from distkern.storage.table_fit import TableOptions
    from distkern.storage.table_report import ColumnReport

#: rows of so few bytes in this process are not worth sending to another one
_FEW_BYTES = 16 * 2**20
_PRECISIONS = [np.float64, np.float32]
#: kinds of dtypes that are numbers
_NUMBERS_OF = "biuf"

# -- rows to learn from


def training_data(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    executor: AbstractExecutor | None,
    stack: ExitStack,
) -> tuple[TrainingData, AbstractExecutor]:
    """The arguments of ``fit`` as training data, and where the fit runs; the estimator learns the columns.

    ``stack`` ends with the fit. Raises what ``fit`` raises of its arguments.
    """
    # predictions of a model that is loaded do without what a fit needs
    from distkern.engine.drive import Driver
    from distkern.engine.executors import available_cores, open_executor
    from distkern.runs.data import describing, from_arrays, from_described
    from distkern.runs.scaled import check_stored
    from distkern.runs.spooled import spooled
    from distkern.storage.dataset import Dataset, Split

    n_jobs = estimator.value("n_jobs") if "n_jobs" in estimator.hyperparameters else None
    workers = n_jobs if n_jobs is None or n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)

    def opened(scheduler: str | None = None) -> AbstractExecutor:
        return executor or stack.enter_context(open_executor(scheduler, workers=workers))

    X, options = undescribed(X)
    refuse_path(X)
    if isinstance(X, Dataset):
        X = X.train
    task, wanted = estimator.task, estimator.value("dtype")
    estimator.target_name_ = name = target_name(X, y)
    mixed = is_mixed(X) or options is not None
    if mixed and is_dask(X) and options is None:
        # types that can say what is missing are numbers where nothing is
        mixed = any(dtype.kind not in _NUMBERS_OF for dtype in X._meta.dtypes) or has_missing(X)
    if mixed and is_dask(X):
        executor = opened()
        X = _spooled_frame(X, y, sample_weight, groups, task, options, executor, stack)
        y = sample_weight = groups = None
    if isinstance(X, Split):
        if not (y is None and sample_weight is None and groups is None):
            raise InputError(
                "a data set's split has its own labels, weights and groups",
                where="fit",
                hint="give the split alone",
            )
        check_stored(wanted, X.dtype, "data sets, and of Dask frames that become some,")
        learn_names_of_dataset(estimator, X.dataset)
        estimator.target_name_ = name or estimator.target_name_
        return estimator._data_of_split(X), opened()
    if not mixed and is_dask(X, y, sample_weight, groups):
        if y is None and task != "none":
            raise InputError("y is missing", where="fit", hint="give labels with Dask arrays")
        if task == "regression" and getattr(getattr(y, "dtype", None), "kind", "f") in "OSU":
            hint = "give numbers, or take a classifier, which learns labels"
            raise InputError("the targets are texts and no numbers", where="y", hint=hint)
        learn_names(estimator, X)
        source = DaskArraySource(X, None if task == "none" else y, sample_weight, groups=groups)
        executor = opened()
        if estimator.draws_any_row:
            check_stored(wanted, np.dtype(np.float32), "Dask arrays that single columns are read of")
            columns = estimator.feature_choice().reads_columns
            split = spooled(source, executor, stack, columns=columns)
            return estimator._data_of_split(split), executor
        described = Driver({"train": source}, executor).measure(describing(task))
        return from_described(source, described), executor
    if groups is not None:
        groups = keys_of_groups(groups, _num_samples(X))
        refuse_one_group(groups, "groups")
    if y is not None and task != "none":
        # what is lazy beside rows in memory is computed here
        y = plain_targets(y)
        if task == "regression":
            refuse_labels(y)
        else:
            refuse_unknown(y)
    rows, scaling = X, None
    if mixed:
        y, frame = _learned_frame(X, y, sample_weight, groups, task, options)
        rows, estimator.table_, scaling = frame.features, frame.table, frame.scaling
    features, targets, weights = validated(estimator, rows, y, sample_weight)
    learn_names(estimator, X)
    if task == "classification":
        check_classification_targets(targets)
    data = from_arrays(features, targets, weights, task, groups)
    few = features.nbytes < _FEW_BYTES and workers is None
    return replace(data, scaling=scaling), opened("synchronous" if few else "threads")


def validated(
    estimator: Any, X: Any, y: Any, sample_weight: Any, *, reset: bool = True
) -> tuple[Rows, NDArray[Any], NDArray[np.float64] | None]:
    """Rows, targets and weights of arrays, checked as scikit-learn does; zeros for targets without a task."""
    how: dict[str, Any] = {"dtype": _PRECISIONS, "order": "C", "accept_sparse": "csr", "reset": reset}
    with explained(X, is_fit=True):
        if estimator.task == "none":
            raw, targets = validate_data(estimator, X, **how), None
        else:
            raw, targets = validate_data(estimator, X, y, **how, y_numeric=estimator.task == "regression")
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, raw, dtype=np.float64)
    rows: Rows = SparseRows.of_scipy(raw) if issparse(raw) else raw
    return rows, np.zeros(len(rows), dtype=np.int32) if targets is None else targets, weights


def is_mixed(X: Any) -> bool:
    """Whether ``X`` is a frame with columns of other things than numbers, or with missing values; of a Dask
    frame, whether the types of its columns can say what is missing, as those of NumPy cannot."""
    if not hasattr(X, "columns"):
        return False
    if is_dask(X):
        return any(
            not isinstance(dtype, np.dtype) or dtype.kind not in _NUMBERS_OF for dtype in X._meta.dtypes
        )
    from distkern.storage.frames import has_other_than_numbers

    return has_other_than_numbers(X)


def _learned_frame(
    X: Any, y: Any, sample_weight: Any, groups: Any, task: str, options: TableOptions | None
) -> tuple[NDArray[Any], FittedFrame]:
    """Targets, and a frame in memory as ``distkern shard`` would store it; ``groups`` are keys."""
    from distkern.storage.frames import fit_frame

    if task == "none":
        y = np.zeros(len(X))
    elif y is None:
        raise InputError("y is missing", where="fit", hint="give labels with frames")
    targets = np.asarray(_check_y(y, y_numeric=task == "regression"))
    check_consistent_length(X, targets)
    frame = fit_frame(X, targets, task, groups, sample_weight, options)
    for sentence in frame.told:
        warn(sentence)
    return targets, frame


def _spooled_frame(
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    task: str,
    options: TableOptions | None,
    executor: AbstractExecutor,
    stack: ExitStack,
) -> Split:
    """The training split of a data set of a Dask frame, which is written once and removed with ``stack``."""
    from distkern.runs.spooled import check_hosts
    from distkern.storage.atomic import temporary_folder
    from distkern.storage.frames import frame_chunks, frame_kinds
    from distkern.storage.ingest import write_dataset
    from distkern.storage.table_fit import TableOptions
    from distkern.storage.table_report import told_columns

    if task != "none" and y is None:
        raise InputError("y is missing", where="fit", hint="give labels with frames")
    check_hosts(
        executor,
        "Dask frames with columns of other things than numbers can be fitted by workers of one host only",
        "the data",
        "store the frame as Parquet, make a data set of it with `distkern shard` and fit to its train split",
    )
    kinds = frame_kinds(options)
    kinds.collects = True
    reports: list[ColumnReport] = []
    chunks = frame_chunks(partitions(X, None if task == "none" else y, sample_weight, groups), kinds)
    path = stack.enter_context(temporary_folder()) / "rows.zarr"
    roles = replace(
        options or TableOptions(),
        weight=None if sample_weight is None else "sample_weight",
        group=None if groups is None else "groups",
    )
    how: dict[str, Any] = {"kinds": kinds, "table_options": roles, "report": reports.extend}
    dataset = write_dataset(chunks, path, task=cast("Task", task), **how)
    for sentence in (*kinds.told, *told_columns(reports, left_out=True)):
        warn(sentence)
    return dataset.train


# -- rows for a fitted model


@dataclass(frozen=True)
class GivenRows:
    """Rows that are given to a fitted model.

    Attributes
    ----------
    rows : (n, d) features in this process, or those of a Dask array or frame or of a split of a data set
    preparation : what is still to be done to them before the model sees them; None for nothing
    dtype : of the rows
    """

    rows: Any
    preparation: Preparation | None
    dtype: np.dtype[Any]

    def map(
        self, function: Callable[[Rows], Any], n_columns: int | None, dtype: DTypeLike | None = None
    ) -> Any:
        """``function`` of the rows, (n,) or (n, n_columns): lazy for Dask arrays and splits, and then of
        ``dtype`` (None: that of the rows)."""
        dtype = self.dtype if dtype is None else dtype
        if isinstance(self.rows, AbstractSource):
            return map_source(function, self.rows, dtype, n_columns)
        return map_rows(function, self.rows, dtype, n_columns) if is_dask(self.rows) else function(self.rows)

    @property
    def is_lazy(self) -> bool:
        """Whether the rows are computed later."""
        return isinstance(self.rows, AbstractSource) or is_dask(self.rows)

    def map_to_frame(self, function: Callable[[Rows], Any], names: Sequence[str]) -> Any:
        """``function`` of lazy rows as a lazy Dask frame, with the index of their frame."""
        if is_dask(self.rows) and hasattr(self.rows, "columns"):
            return map_numbers(function, self.rows, names, self.dtype)
        return as_frame(self.map(function, len(names)), names)


def rows_for(estimator: Any, X: Any) -> GivenRows:
    """``X``, whatever it is, as rows of the features that a fitted estimator knows, checked.

    Rows are in their own units, but for those of splits, which are as they are stored, and for those that a
    table encodes, which are scaled as those of the fit. Where the model is of a table, arrays of as many
    columns as encoded rows have are those; ``split[:]`` gives such.

    Raises
    ------
    InputError or ValueError
        If columns are missing or unknown, or hold something else than those of the training data.
    """
    if isinstance(X, AbstractSource):
        # whoever has a split has imported what this needs
        from distkern.runs.applied import preparation_of

        split = cast("Split", X)
        return GivenRows(split, preparation_of(estimator, split.dataset), split.dtype)
    refuse_path(X)
    X = as_rows(estimator, X)
    wanted, table = getattr(estimator, "dtype_", None), estimator.table_
    if table is not None and table.is_mere and not is_mixed(X):
        # numbers that become themselves
        table = None
    single: np.dtype[Any] = np.dtype(np.float32)
    is_encoded = table is not None and _are_encoded(table, X)
    if table is not None and not is_encoded:
        encoded = None if wanted is None else Preparation(dtype=wanted)
        return GivenRows(_encoded(estimator, table, X), encoded, single)
    X = X if is_encoded else in_order(estimator, X)
    own = single if getattr(X, "dtype", None) == single else np.dtype(np.float64)
    if not is_dask(X):
        check = check_array if is_encoded else partial(validate_data, estimator, reset=False)
        with explained(X):
            rows = check(X, dtype=_PRECISIONS, order="C", accept_sparse="csr")
        X = SparseRows.of_scipy(rows) if issparse(rows) else rows
    elif not is_encoded:
        _check_feature_names(estimator, named(X), reset=False)
    return GivenRows(X, Preparation(scaling=estimator.scaling_, dtype=wanted), own)


def _encoded(estimator: Any, table: Table, X: Any) -> Any:
    """Features (n, d) float32 of a frame, or of an array of its columns, scaled; a Dask frame or array of
    them of one of Dask's."""
    from distkern.storage.frames import encode_frame

    encode = partial(encode_frame, table, estimator.scaling_ or Scaling())
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


# -- rows that a fit is measured on after every stage

_EVAL_SET = "eval_set"
_EVAL_SET_HINT = "give (X, y), or the test split of the data set that is trained on"


def held_out_rows(estimator: Any, data: TrainingData, given: Any) -> AbstractSource:
    """``eval_set`` as a source: rows prepared like the rows of ``data``, with codes of the same classes.

    Parameters
    ----------
    estimator : knows the columns, scaling and table of what it is fitted to
    data : what it is fitted to, as it was given
    given : a pair of arrays or a frame and labels, a list of one such pair, or a split of the data set that
        is trained on; rows alone will do where labels are not looked at

    Raises
    ------
    InputError or ValueError
        If it is none of these, or has other columns or labels.
    """
    from distkern.runs.arrays import ArraySource
    from distkern.storage.dataset import Dataset, Split

    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    if isinstance(given, Split):
        own = data.source
        if not isinstance(own, Split) or own.dataset.fingerprint != given.dataset.fingerprint:
            raise InputError(
                f"{given.dataset.path} is not the data set that is trained on",
                where=_EVAL_SET,
                hint=_EVAL_SET_HINT,
            )
        return given
    if estimator.task == "none" and not isinstance(given, tuple):
        given = (given, None)
    if not isinstance(given, tuple) or len(given) != 2 or isinstance(given[0], Dataset):
        raise InputError(f"a {type(given).__name__}", where=_EVAL_SET, hint=_EVAL_SET_HINT)
    X, y = given
    if is_dask(X, y):
        raise InputError("Dask arrays are not in memory", where=_EVAL_SET, hint="compute them first")
    known = rows_for(estimator, X)
    prepare = (known.preparation or Preparation()).apply_rows
    rows: Rows = known.map(partial(prepare, out_dtype=estimator.dtype_), None)
    targets = None
    if estimator.task != "none":
        targets = column_or_1d(plain_targets(y, _EVAL_SET), warn=True)
        check_consistent_length(rows, targets)
        if estimator.task == "classification":
            targets = codes_of_labels(data.classes, targets, _EVAL_SET)
        else:
            targets = _numbers(targets)
    return ArraySource(converted(rows, sparse=data.source.is_sparse), targets, None)


def codes_of_labels(classes: NDArray[Any], labels: NDArray[Any], where: str) -> NDArray[np.int32]:
    """The places of labels among classes; :class:`InputError` for one that is none of them."""
    places = {label: code for code, label in enumerate(plain_labels(classes))}
    given = plain_labels(labels)
    found = [places.get(label, -1) for label in given]
    if -1 in found:
        label = given[found.index(-1)]
        raise InputError(
            f"label {label!r} of row {found.index(-1)} is none of the training rows'",
            where=where,
            hint=f"they have {list(places)[:12]}",
        )
    return np.array(found, dtype=np.int32)


def _numbers(targets: NDArray[Any]) -> NDArray[np.float64]:
    numbers = targets.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InputError("Input y contains NaN or infinity", where=_EVAL_SET, hint="leave such rows out")
    return numbers
