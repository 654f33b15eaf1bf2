"""Rows that a fit is measured on after every stage."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from distkern.common.errors import InputError
from distkern.common.sparse import Rows, converted
from distkern.common.targets import plain_targets
from distkern.common.types import AbstractSource
from distkern.engine.dask.arrays import is_dask
from distkern.runs.arrays import ArraySource
from distkern.runs.data import TrainingData
from distkern.runs.frames import at_rows
from distkern.storage.dataset import Dataset, Split
from distkern.storage.preparation import Preparation

_WHERE = "eval_set"


def held_out_rows(estimator: Any, data: TrainingData, given: Any) -> AbstractSource:
    """``eval_set`` as a source: rows prepared as those of ``data`` were, with codes of the same classes.

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
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    if isinstance(given, Split):
        own = data.source
        if not isinstance(own, Split) or own.dataset.fingerprint != given.dataset.fingerprint:
            raise InputError(
                f"{given.dataset.path} is not the data set that is trained on", where=_WHERE, hint=_MEND
            )
        return given
    if estimator.task == "none" and not isinstance(given, tuple):
        given = (given, None)
    if not isinstance(given, tuple) or len(given) != 2 or isinstance(given[0], Dataset):
        raise InputError(f"a {type(given).__name__}", where=_WHERE, hint=_MEND)
    X, y = given
    if is_dask(X, y):
        raise InputError("Dask arrays are not in memory", where=_WHERE, hint="compute them first")
    prepared: Callable[[Preparation | None], Callable[[Rows], Rows]] = partial(_prepared_by, estimator.dtype_)
    rows = at_rows(estimator, X, prepared, None)
    if estimator.task == "none":
        return ArraySource(converted(rows, sparse=data.source.is_sparse), None, None)
    targets = column_or_1d(plain_targets(y, _WHERE), warn=True)
    check_consistent_length(rows, targets)
    codes = _codes(targets, data.classes) if estimator.task == "classification" else _numbers(targets)
    return ArraySource(converted(rows, sparse=data.source.is_sparse), codes, None)


_MEND = "give (X, y), or the test split of the data set that is trained on"


def _prepared_by(dtype: DTypeLike, preparation: Preparation | None) -> Callable[[Rows], Rows]:
    return partial(_prepare, dtype, preparation or Preparation())


def _prepare(dtype: DTypeLike, preparation: Preparation, rows: Rows) -> Rows:
    return preparation.apply_rows(rows, dtype)


def _codes(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    places = {label: code for code, label in enumerate(classes.tolist())}
    found = [places.get(label, -1) for label in labels.tolist()]
    if -1 in found:
        label = labels.tolist()[found.index(-1)]
        raise InputError(
            f"label {label!r} of row {found.index(-1)} is none of the training rows'",
            where=_WHERE,
            hint=f"they have {list(places)[:12]}",
        )
    return np.array(found, dtype=np.int32)


def _numbers(targets: NDArray[Any]) -> NDArray[np.float64]:
    numbers = targets.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise InputError("Input y contains NaN or infinity", where=_WHERE, hint="leave such rows out")
    return numbers
