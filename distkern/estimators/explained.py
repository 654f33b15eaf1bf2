"""The implementation of ``explain``: draw a bounded sample of the given rows and measure the model on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import _safe_indexing, check_consistent_length, column_or_1d

from distkern.core.errors import InputError, invalid_value
from distkern.core.names import near_column
from distkern.core.parameters import Whole
from distkern.core.rng import Purpose, stream
from distkern.core.targets import plain_targets
from distkern.core.types import is_dask
from distkern.data.dataset import Dataset, Split
from distkern.data.scaling import Scaling
from distkern.engine.dask.arrays import DaskArraySource
from distkern.engine.events import EventLog
from distkern.engine.executors import open_executor
from distkern.model.value import FittedModel
from distkern.runs.data import check_task
from distkern.runs.dependence import InputColumn, input_columns
from distkern.runs.given import refuse_path, rows_for
from distkern.runs.importance import ExplanationEffort, LabelledRows, explained
from distkern.runs.sources import ArraySource
from distkern.show.explanation import Explanation


def explanation_of(
    model: FittedModel,
    X: Any,
    y: Any,
    features: Sequence[str | int] | None,
    *,
    grid_resolution: int,
    n_repeats: int,
    max_samples: int,
    random_state: int,
) -> Explanation:
    """Return the result of ``explain``, with its exceptions."""
    whole = {"grid_resolution": grid_resolution, "n_repeats": n_repeats, "max_samples": max_samples}
    for name, value in {**whole, "random_state": random_state}.items():
        kind = Whole({"grid_resolution": 2, "random_state": 0}.get(name, 1))
        if not kind.accepts(value):
            raise invalid_value(name, value, kind.description)
    if isinstance(features, str):
        raise InputError(f"must be a list, got {features!r}", where="features", hint=f"give [{features!r}]")
    given = _rows_of(model, X, y, max_samples, random_state)
    how = ExplanationEffort(
        random_state,
        n_rows=max_samples,
        n_repeats=n_repeats,
        n_values=grid_resolution,
        n_averaged=max_samples,
        columns=None if features is None else _places(features, given.columns),
    )
    with open_executor("synchronous" if given.source.in_memory else None) as executor:
        found = explained(model, given, how, executor, EventLog(()))
    if isinstance(found, str):
        raise InputError(found, where="explain", hint="give other rows, or fewer")
    return found


def _rows_of(model: FittedModel, X: Any, y: Any, n_rows: int, seed: int) -> LabelledRows:
    """Return the rows given to ``explain`` as a source; rows in this process are sampled to ``n_rows``."""
    if isinstance(X, Dataset):
        X = X.train if X.test is None else X.test
    if isinstance(X, Split):
        if y is not None:
            raise InputError(
                "a split of a data set has its own labels", where="y", hint="give the split alone"
            )
        check_task(X.dataset, model.task)
        return LabelledRows.of_split(model, X)
    if y is None:
        raise InputError("y is missing", where="y", hint="give labels or targets with the rows")
    refuse_path(X)
    if not is_dask(X, y):
        y = column_or_1d(plain_targets(y), warn=True)
        check_consistent_length(X, y)
        if len(y) > n_rows:
            X = X.tocsr() if issparse(X) else X
            rows = np.sort(stream(seed, Purpose.IMPORTANCE).choice(len(y), n_rows, replace=False))
            X, y = _safe_indexing(X, rows), y[rows]
    known = rows_for(model.columns, X)
    rows, preparation = known.rows, known.preparation
    source = DaskArraySource(rows, y) if is_dask(rows, y) else ArraySource(rows, y, None)
    names = None if model.columns.table is not None else model.columns.names
    columns = input_columns(model.columns.table, names, model.width)
    is_scaled = preparation is None or preparation.scaling is None
    scaling = model.columns.scaling if is_scaled and model.columns.scaling is not None else Scaling()
    return LabelledRows(source, "given", columns, scaling, preparation)


def _places(wanted: Sequence[str | int], columns: list[InputColumn]) -> tuple[int, ...]:
    names = [column.name for column in columns]
    places = []
    for each in wanted:
        place = names.index(each) if each in names else each
        if not (isinstance(place, int | np.integer) and 0 <= place < len(names)):
            whole = (one.name for one in columns if one.encoding and each in one.encoding.features)
            column = next(whole, None)
            hint = near_column(str(each), names) if column is None else f"it is a feature of {column!r}"
            raise InputError(f"unknown column {each!r}", hint=hint)
        places.append(int(place))
    return tuple(dict.fromkeys(places))
