"""What users give to ``fit``: arrays, frames, Dask arrays, data sets."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from sklearn.utils.validation import _num_samples

from distkern.common.errors import InputError
from distkern.common.targets import keys_of_groups, plain_targets, refuse_one_group
from distkern.engine.dask.arrays import DaskArraySource, is_dask
from distkern.engine.executors import AbstractExecutor, available_cores, open_executor
from distkern.runs.data import TrainingData
from distkern.runs.explained_arrays import explained, refuse_labels, refuse_path
from distkern.runs.frames import is_mixed, learn_names, learn_names_of_dataset, rows_of_frame
from distkern.runs.scaled import check_stored
from distkern.storage.dataset import Dataset, Split

_FEW_BYTES = 16 * 2**20


def training_data(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    executor: AbstractExecutor | None,
    stack: ExitStack,
) -> tuple[TrainingData, AbstractExecutor]:
    """What is given to ``fit`` as the estimator learns from it, which learns its columns, and where it runs.

    ``stack`` ends with the fit. Raises what ``fit`` raises of its arguments.
    """
    refuse_path(X)
    if isinstance(X, Dataset):
        X = X.train
    frame, scaling = X, None
    if groups is not None and not isinstance(X, Split) and not is_dask(X, y, sample_weight, groups):
        groups = keys_of_groups(groups, _num_samples(X))
        refuse_one_group(groups, "groups")
    if y is not None and estimator.task != "none" and not isinstance(X, Split) and not is_dask(y):
        y = plain_targets(y)
        if estimator.task == "regression":
            refuse_labels(y)
    if is_mixed(X):
        X, y, estimator.table_, scaling = rows_of_frame(
            X, y, sample_weight, groups, estimator.task, executor, stack
        )
        sample_weight = None if isinstance(X, Split) else sample_weight
    if isinstance(X, Split):
        if not (y is None and sample_weight is None and groups is None):
            raise InputError(
                "a data set's split has its own labels, weights and groups",
                where="fit",
                hint="give the split alone",
            )
        check_stored(estimator.value("dtype"), X.dtype, "data sets, and of Dask frames that become some,")
        learn_names_of_dataset(estimator, X.dataset)
        return estimator._data_of_split(X), executor or _opened(estimator, stack)
    if is_dask(X, y, sample_weight, groups):
        if y is None and estimator.task != "none":
            raise InputError("y is missing", where="fit", hint="give labels with Dask arrays")
        y = None if estimator.task == "none" else y
        learn_names(estimator, X)
        executor = executor or _opened(estimator, stack)
        source = DaskArraySource(X, y, sample_weight, groups=groups)
        return estimator._data_of_lazy(source, executor, stack), executor
    with explained(X, is_fit=True):
        features, targets, weights = estimator._validated(X, y, sample_weight)
    learn_names(estimator, frame)
    data = replace(estimator._data_of_arrays(features, targets, weights, groups), scaling=scaling)
    # rows in this process are not worth sending to another one
    usual = "synchronous" if features.nbytes < _FEW_BYTES else "threads"
    return data, executor or _opened(estimator, stack, usual, "threads")


def _opened(
    estimator: Any, stack: ExitStack, scheduler: str | None = None, with_jobs: str | None = None
) -> AbstractExecutor:
    """What runs a fit, of as many threads as the estimator's ``n_jobs`` says, on the scheduler ``with_jobs``
    where it says a number."""
    n_jobs = estimator.value("n_jobs") if "n_jobs" in estimator.hyperparameters else None
    if n_jobs is None:
        return stack.enter_context(open_executor(scheduler))
    workers = n_jobs if n_jobs > 0 else max(1, available_cores() + 1 + n_jobs)
    return stack.enter_context(open_executor(with_jobs, workers=workers))
