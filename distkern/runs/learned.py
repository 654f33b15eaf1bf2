"""Rows given to ``fit`` as a source with columns and targets."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight, _check_y, _num_samples, validate_data

from distkern.core.errors import InputError
from distkern.core.names import plain_labels
from distkern.core.python_words import warn
from distkern.core.sparse import Rows, SparseRows, converted, refuse_masked
from distkern.core.targets import keys_of_groups, plain_targets, refuse_one_group, refuse_unknown
from distkern.core.types import AbstractSource, is_dask
from distkern.engine.dask.arrays import DaskArraySource, has_missing, partitions
from distkern.model.parts import Columns
from distkern.runs.given import (
    column_check,
    columns_of,
    is_mixed,
    names_of,
    refuse_path,
    rows_for,
    target_name,
    undescribed,
)
from distkern.runs.refusals import explained, refuse_labels

if TYPE_CHECKING:
    from distkern.data.dataset import Split
    from distkern.data.frames import FittedFrame
    from distkern.data.options import ShardOptions
    from distkern.data.table_report import ColumnReport
    from distkern.engine.executors import AbstractExecutor
    from distkern.runs.data import TrainingData
    from distkern.runs.recipe import Recipe

#: rows of fewer bytes are not worth sending to another process
_FEW_BYTES = 16 * 2**20
_PRECISIONS = [np.float64, np.float32]
_EVAL_SET = "eval_set"
_EVAL_SET_HINT = "give (X, y), or the test split of the training data set"
#: values that are compared before those of all rows
_FIRST = 64
#: rows of a frame of numbers that show whether some are ids
_SAMPLE = 100_000
#: dtype kinds of numbers
_NUMBERS_OF = "biuf"


@dataclass(frozen=True)
class GivenTraining:
    """Rows to learn from.

    Attributes
    ----------
    data : the rows
    columns : their columns
    task : "classification", "regression" or "none"
    test : split, or ``eval_set`` as users give it: rows to evaluate after every stage; or None
    """

    data: TrainingData
    columns: Columns
    task: str
    test: Any = None

    @property
    def has_test(self) -> bool:
        return self.test is not None

    def test_rows(self, columns: Columns) -> AbstractSource:
        """Return ``test`` as a source, prepared like the training rows and with codes of the same classes.

        Parameters
        ----------
        columns : columns of the training rows with their scaling and precision

        Raises
        ------
        InputError or ValueError
            If it is neither rows with labels nor a split of the training data set, or has other columns or
            labels.
        """
        from distkern.data.dataset import Dataset, Split
        from distkern.runs.sources import ArraySource

        given = self.test
        if isinstance(given, list) and len(given) == 1:
            given = given[0]
        if isinstance(given, Split):
            own = self.data.source
            if not isinstance(own, Split) or own.dataset.fingerprint != given.dataset.fingerprint:
                raise InputError(
                    f"{given.dataset.path} is not the training data set", where=_EVAL_SET, hint=_EVAL_SET_HINT
                )
            return given
        if self.task == "none" and not isinstance(given, tuple):
            given = (given, None)
        if not isinstance(given, tuple) or len(given) != 2 or isinstance(given[0], Dataset):
            raise InputError(f"has type {type(given).__name__}", where=_EVAL_SET, hint=_EVAL_SET_HINT)
        X, y = given
        if is_dask(X, y):
            raise InputError("Dask arrays are not in memory", where=_EVAL_SET, hint="compute them first")
        rows: Rows = rows_for(columns, X).prepared(columns.dtype)
        targets = None
        if self.task != "none":
            targets = column_or_1d(plain_targets(y, _EVAL_SET), warn=True)
            check_consistent_length(rows, targets)
            if self.task == "classification":
                targets = codes_of_labels(self.data.classes, targets, _EVAL_SET)
            else:
                targets = _numbers(targets)
        return ArraySource(converted(rows, sparse=self.data.source.is_sparse), targets, None)


def split_to_learn(recipe: Recipe, split: Split, test: Any = None) -> GivenTraining:
    """Return a split of a data set as rows to learn from."""
    data = recipe.data_of(split)
    return GivenTraining(data, Columns.of_dataset(recipe.estimator, split.dataset), recipe.task, test)


def training_rows(
    recipe: Recipe,
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    executor: AbstractExecutor | None,
    stack: ExitStack,
    test: Any = None,
) -> tuple[GivenTraining, AbstractExecutor]:
    """Return the arguments of ``fit`` as rows to learn from, and the executor of the fit.

    ``stack`` closes after the fit. Raises what ``fit`` raises about its arguments.
    """
    # a loaded model predicts without these imports
    from distkern.data.dataset import Dataset, Split
    from distkern.engine.drive import Driver
    from distkern.engine.executors import open_executor
    from distkern.engine.executors.local import available_cores
    from distkern.runs.data import check_classes, describing, from_arrays, from_described, refuse_continuous
    from distkern.runs.scaled import check_stored
    from distkern.runs.spooled import spooled

    n_jobs = recipe.settings.given.get("n_jobs")
    workers = n_jobs if n_jobs is None or n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)

    def opened(scheduler: str | None = None) -> AbstractExecutor:
        return executor or stack.enter_context(open_executor(scheduler, workers=workers))

    X, options = undescribed(X)
    refuse_path(X)
    refuse_masked(sample_weight, "sample_weight")
    refuse_names(X, y=y, sample_weight=sample_weight, groups=groups)
    if isinstance(X, Dataset):
        X = X.train
    task, wanted = recipe.task, recipe.settings.value("dtype")
    name = target_name(X, y)
    mixed = is_mixed(X) or options is not None
    if mixed and is_dask(X) and options is None:
        # nullable numbers without missing values are plain numbers
        mixed = any(dtype.kind not in _NUMBERS_OF for dtype in X._meta.dtypes) or has_missing(X)
    if mixed and is_dask(X):
        executor = opened()
        X = _spooled_frame(X, y, sample_weight, groups, task, options, executor, stack)
        y = sample_weight = groups = None
    if isinstance(X, Split):
        if not (y is None and sample_weight is None and groups is None):
            raise InputError(
                "a split of a data set has its own labels, weights and groups",
                where="fit",
                hint="give the split alone",
            )
        given = split_to_learn(recipe, X, test)
        if name is not None:
            given = replace(given, columns=replace(given.columns, target_name=name))
        return given, opened()
    if not mixed and is_dask(X, y, sample_weight, groups):
        if y is None and task != "none":
            raise InputError("y is missing", where="fit", hint="give labels with Dask arrays")
        if task == "regression" and getattr(getattr(y, "dtype", None), "kind", "f") in "OSU":
            hint = "give numbers, or use a classifier for labels"
            raise InputError("the targets are texts, not numbers", where="y", hint=hint)
        source = DaskArraySource(X, None if task == "none" else y, sample_weight, groups=groups)
        columns = replace(columns_of(recipe.estimator, X, source.n_features), target_name=name)
        executor = opened()
        if recipe.draws_any_row:
            check_stored(wanted, np.dtype(np.float32))
            split = spooled(source, executor, stack, columns=recipe.reads_columns)
            return GivenTraining(recipe.data_of(split), columns, task, test), executor
        described = Driver({"train": source}, executor).measure(describing(task))
        return GivenTraining(from_described(source, described), columns, task, test), executor
    if groups is not None:
        groups = keys_of_groups(groups, _num_samples(X))
        refuse_one_group(groups)
    if y is not None and task != "none":
        # lazy targets of rows in memory are computed here
        y = plain_targets(y)
        if task == "regression":
            refuse_labels(y)
        else:
            refuse_unknown(y)
        if y.dtype.kind == "f" and np.isinf(y).any():
            row = int(np.argwhere(np.isinf(y))[0, 0])
            what, where = "Input y contains infinity", f"y, row {row + 1} (index {row})"
            raise InputError(what, where=where, hint="correct it, or leave the row out")
        warn_of_target(X, y)
    rows, frame = X, None
    if mixed:
        y, frame = _learned_frame(X, y, sample_weight, groups, task, options)
        rows = frame.features
    features, targets, weights = validated(column_check(recipe.estimator), task, rows, y, sample_weight)
    columns = replace(columns_of(recipe.estimator, X, features.shape[1]), target_name=name)
    if task == "classification":
        refuse_continuous(targets)
    if frame is None and recipe.chooses:
        frame = _frame_with_ids(X, features, targets, task, groups, weights)
        features = features if frame is None else frame.features
    data = from_arrays(features, targets, weights, task, groups)
    if task == "classification":
        check_classes(data.classes, len(features))
    if frame is not None:
        data = replace(data, scaling=frame.scaling).of_table(frame.table)
        # columns without features are none of the model's
        names = None if columns.feature_names_in is None else np.asarray(frame.table.names, dtype=object)
        columns = replace(
            columns, table=frame.table, n_features_in=len(frame.table.columns), feature_names_in=names
        )
    few = features.nbytes < _FEW_BYTES and workers is None
    return GivenTraining(data, columns, task, test), opened("synchronous" if few else "threads")


def refuse_names(X: Any, **values: Any) -> None:
    """Refuse the name of a column instead of its values, for arguments with a value for each row."""
    for argument, value in values.items():
        if isinstance(value, str):
            hint = "give one value for each row"
            if value in (names_of(X) or ()):
                hint = f"give the values: {argument}=X[{value!r}], and leave the column out of X"
            raise InputError(f"is the text {value!r}, not a value for each row", where=argument, hint=hint)
    name, times = next(iter(Counter(names_of(X) or [""]).most_common(1)))
    if times > 1:
        raise InputError(f"two columns are named {name!r}", where="X", hint="rename one of them")


def warn_of_target(X: Any, y: NDArray[Any]) -> None:
    """Warn if a column of a frame in memory equals the targets (n,)."""
    copies = []
    for name in names_of(X) or ():
        # columns of some types do not become arrays, and comparisons with pandas.NA have no truth value
        with suppress(Exception):
            column = X[name]
            # a few values tell most columns apart, which saves converting the texts of all rows
            parts = (slice(_FIRST), slice(None)) if len(y) else ()
            if parts and all(np.array_equal(np.asarray(column[part]), y[part]) for part in parts):
                copies.append(name)
    for name in copies:
        warn(f"column {name!r} equals y; leave it out")


def validated(
    check: Any, task: str, X: Any, y: Any, sample_weight: Any, *, reset: bool = True
) -> tuple[Rows, NDArray[Any], NDArray[np.float64] | None]:
    """Return rows, targets (zeros without a task) and weights of arrays after scikit-learn's checks."""
    how: dict[str, Any] = {"dtype": _PRECISIONS, "order": "C", "accept_sparse": "csr", "reset": reset}
    try:
        if task == "none":
            raw, targets = validate_data(check, X, **how), None
        else:
            raw, targets = validate_data(check, X, y, **how, y_numeric=task == "regression")
    except (ValueError, OverflowError) as error:
        raise explained(error, X, is_fit=True) from None
    weights = None
    if sample_weight is not None:
        weights = _check_sample_weight(sample_weight, raw, dtype=np.float64)
    rows: Rows = SparseRows.of_scipy(raw) if issparse(raw) else raw
    return rows, np.zeros(len(rows), dtype=np.int32) if targets is None else targets, weights


def _learned_frame(
    X: Any, y: Any, sample_weight: Any, groups: Any, task: str, options: ShardOptions | None
) -> tuple[NDArray[Any], FittedFrame]:
    """Return targets and a frame in memory, encoded as ``distkern shard`` does; ``groups`` are keys."""
    from distkern.data.frames import fit_frame

    if task == "none":
        y = np.zeros(len(X))
    elif y is None:
        raise InputError("y is missing", where="fit", hint="give fit(X, y)")
    if not len(X):
        raise InputError("has no rows", where="X", hint="give rows to learn from")
    targets = np.asarray(_check_y(y, y_numeric=task == "regression"))
    check_consistent_length(X, targets)
    frame = fit_frame(X, targets, task, groups, sample_weight, options)
    for sentence in frame.notes:
        warn(sentence)
    return targets, frame


def _frame_with_ids(
    X: Any, features: Any, targets: NDArray[Any], task: str, groups: Any, weights: Any
) -> FittedFrame | None:
    """Return a frame of plain numbers encoded if some are ids (:func:`informative_values`), None if not.

    A sample of a large frame tells first, since an encoding needs as much memory as the frame.
    """
    from distkern.data.frames import fit_frame, is_frame
    from distkern.data.table_numbers import may_be_ids, too_many_functions

    if not is_frame(X) or too_many_functions(features.shape[1]):
        return None
    if not any(map(may_be_ids, features[:_SAMPLE].T)):
        return None
    frame: FittedFrame | None = None
    for step in dict.fromkeys((-(-len(features) // _SAMPLE), 1)):
        part = slice(None, None, step)
        rows = X if step == 1 else _safe_indexing(X, np.arange(len(features))[part])
        of_rows = (None if one is None else one[part] for one in (groups, weights))
        frame = fit_frame(rows, targets[part], task, *of_rows)
        if not frame.table.has_means:
            return None
    return frame


def _spooled_frame(
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    task: str,
    options: ShardOptions | None,
    executor: AbstractExecutor,
    stack: ExitStack,
) -> Split:
    """Write a Dask frame as a temporary data set, removed with ``stack``, and return its training split."""
    from distkern.data.frames import frame_chunks, frame_kinds
    from distkern.data.ingest import write_dataset
    from distkern.data.store.atomic import temporary_folder
    from distkern.data.table_report import column_notes
    from distkern.runs.spooled import check_hosts

    if task != "none" and y is None:
        raise InputError("y is missing", where="fit", hint="give fit(X, y)")
    check_hosts(
        executor,
        "Dask frames with non-numeric columns can be fitted by workers of one host only",
        "the data",
        "store the frame as Parquet, convert it with `distkern shard`, and fit to the train split",
    )
    kinds = frame_kinds(options)
    kinds.collects = True
    reports: list[ColumnReport] = []
    chunks = frame_chunks(partitions(X, None if task == "none" else y, sample_weight, groups), kinds)
    path = stack.enter_context(temporary_folder()) / "rows.zarr"
    dataset = write_dataset(
        chunks,
        path,
        kinds=kinds,
        report=reports.extend,
        task=task,
        weight=None if sample_weight is None else "sample_weight",
        group=None if groups is None else "groups",
        **({} if options is None else options.on_columns),
    )
    for sentence in (*kinds.notes, *column_notes(reports, left_out=True)):
        warn(sentence)
    return dataset.train


def codes_of_labels(classes: NDArray[Any], labels: NDArray[Any], where: str) -> NDArray[np.int32]:
    """Return the position of each label among the classes; :class:`InputError` for an unknown label."""
    places = {label: code for code, label in enumerate(plain_labels(classes))}
    given = plain_labels(labels)
    found = [places.get(label, -1) for label in given]
    if -1 in found:
        label = given[found.index(-1)]
        raise InputError(
            f"label {label!r} of row {found.index(-1)} is unknown to the model",
            where=where,
            hint=f"its labels are {list(places)[:12]}",
        )
    return np.array(found, dtype=np.int32)


def _numbers(targets: NDArray[Any]) -> NDArray[np.float64]:
    numbers = targets.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InputError("Input y contains NaN or infinity", where=_EVAL_SET, hint="remove such rows")
    return numbers
