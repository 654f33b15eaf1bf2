"""What users give to ``fit``: arrays, frames, Dask arrays, data sets."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from sklearn.utils.validation import _num_samples

from distkern.common.errors import InputError
from distkern.common.targets import keys_of_groups, plain_targets, refuse_one_group
from distkern.engine.dask.arrays import DaskArraySource, is_dask
from distkern.engine.executors import AbstractExecutor, open_executor
from distkern.runs.data import TrainingData
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
    if isinstance(X, Dataset):
        X = X.train
    frame, scaling = X, None
    if groups is not None and not isinstance(X, Split) and not is_dask(X, y, sample_weight, groups):
        groups = keys_of_groups(groups, _num_samples(X))
        refuse_one_group(groups, "groups")
    if y is not None and estimator.task != "none" and not isinstance(X, Split) and not is_dask(y):
        y = plain_targets(y)
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
        return estimator._data_of_split(X), executor or stack.enter_context(open_executor())
    if is_dask(X, y, sample_weight, groups):
        if y is None and estimator.task != "none":
            raise InputError("y is missing", where="fit", hint="give labels with Dask arrays")
        y = None if estimator.task == "none" else y
        learn_names(estimator, X)
        executor = executor or stack.enter_context(open_executor())
        source = DaskArraySource(X, y, sample_weight, groups=groups)
        return estimator._data_of_lazy(source, executor, stack), executor
    with nan_explained():
        features, targets, weights = estimator._validated(X, y, sample_weight)
    learn_names(estimator, frame)
    data = replace(estimator._data_of_arrays(features, targets, weights, groups), scaling=scaling)
    # rows in this process are not worth sending to another one
    few = features.nbytes < _FEW_BYTES
    return data, executor or stack.enter_context(open_executor("synchronous" if few else "threads"))


@contextmanager
def nan_explained() -> Iterator[None]:
    """Say of arrays with NaN, which scikit-learn refuses, how what is missing can be filled in."""
    try:
        yield
    except ValueError as error:
        if not str(error).startswith("Input X contains NaN"):
            raise
        raise InputError(
            "Input X contains NaN, and what is missing is filled in for tables alone",
            where="fit",
            hint="give pandas.DataFrame(X), whose missing values become the mean of their column, or fit to "
            "distkern.write_dataset(pandas.DataFrame(X), y, path, impute='median')",
        ) from None
