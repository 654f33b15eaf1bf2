"""Frames: what ``fit`` is told of their columns, and how columns are matched by name afterwards."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import _get_feature_names

from distkern.common.errors import InputError
from distkern.common.python_words import warn
from distkern.engine.dask.arrays import is_dask
from distkern.model.columns import Columns

if TYPE_CHECKING:
    from distkern.storage.dataset import Dataset
    from distkern.storage.options import ShardOptions

# -- what fit is told of columns


@dataclass(frozen=True)
class DescribedFrame:
    """A frame with what ``fit`` is told of its columns; arrays and data sets are told of nowhere."""

    frame: Any
    options: ShardOptions


def described(
    X: Any, *, text: Sequence[str], categorical: Mapping[str, str] | Sequence[str], id: str | None
) -> Any:
    """``X`` with what is said of its columns, if anything is.

    Parameters
    ----------
    text, categorical, id : see ``fit``; a list of names stands for categories with one column each

    Raises
    ------
    InputError
        If ``X`` has no columns by name or lacks one of them, or a column has two roles.
    """
    said = {"text": text, "categorical": categorical, "id": id}
    given = [name for name, value in said.items() if value is not None and len(value)]
    if not given:
        return X
    names = _names_of(X)
    if names is None:
        raise InputError(
            "only frames have columns by name",
            where=", ".join(given),
            hint="give pandas.DataFrame(X, columns=...), or leave it out: data sets have stored it",
        )
    for option, value in said.items():
        if isinstance(value, str) and option != "id":
            raise InputError(f"is {value!r}", where=option, hint=f"give a list: [{value!r}]")
        for name in [id] if option == "id" and id is not None else (value or ()):
            if name not in names:
                close = difflib.get_close_matches(str(name), names, n=1)
                hint = (
                    f"did you mean {close[0]!r}?"
                    if close
                    else f"the columns are {', '.join(map(repr, names))}"
                )
                raise InputError(f"X has no column {name!r}", where=option, hint=hint)
    # predicting does without
    from distkern.storage.options import ShardOptions

    kinds = categorical if isinstance(categorical, Mapping) else dict.fromkeys(categorical, "onehot")
    return DescribedFrame(X, ShardOptions(categorical=dict(kinds), text=tuple(text), id=id))


def undescribed(X: Any) -> tuple[Any, ShardOptions | None]:
    """Rows to learn from, of a frame without the columns that are no features, and what is said of its
    columns, if anything is."""
    if isinstance(X, DescribedFrame):
        return _without(X.frame, X.options.left_out), X.options
    return in_frame(X, None), None


def target_name(X: Any, y: Any) -> str | None:
    """The name of targets that are a named column, unless a column of the rows has it too."""
    name = getattr(y, "name", None)
    if name is None and hasattr(y, "columns") and len(y.columns) == 1:
        name = str(y.columns[0])
    if not isinstance(name, str) or not name or is_dask(y):
        return None
    return None if name in (_names_of(X) or ()) else name


# -- rows as users have them


def as_rows(columns: Columns, X: Any) -> Any:
    """Records (a list of dict) as a frame, and a frame without columns that the model does not use by rule.

    These are the target and what was left out by the fit (ids, columns without features).

    Warns
    -----
    UserWarning
        If the target is among them.

    Raises
    ------
    InputError
        For a single record, which is no list of them.
    """
    own, target, table = columns.feature_names_in, columns.target_name, columns.table
    X = in_frame(X, own)
    unused = {target, *(() if table is None else table.ignored)} - {None}
    if not unused or own is None:
        return X
    names = _names_of(X)
    there = [] if names is None else [name for name in names if name in unused]
    known = set() if table is None else set(table.names)
    if table is None or table.is_mere:
        known |= {*own}
    there = [name for name in there if name not in known]
    if target in there:
        warn(f"column {target!r} is the target and is not used to predict it")
    return _without(X, there)


def in_frame(X: Any, names: Any) -> Any:
    """Records as a frame whose columns are in the order of ``names``, if they are these; others unchanged."""
    # some sparse matrices of SciPy are mappings
    if isinstance(X, Mapping) and not hasattr(X, "tocsr"):
        raise InputError("is a dict, not rows", where="X", hint="give a list of records: [X]")
    if not (isinstance(X, list) and X and isinstance(X[0], Mapping)):
        return X
    from pandas import DataFrame

    frame = DataFrame.from_records(X)
    if names is not None and {*frame.columns} == {*names}:
        # keys have no order
        return frame[list(names)]
    return frame


def _names_of(X: Any) -> list[str] | None:
    """The names of the columns of a frame of pandas, Polars, Arrow or Dask."""
    if type(X).__module__.startswith("distkern") or not hasattr(X, "columns"):
        return None
    return list(X.column_names) if hasattr(X, "column_names") else list(X.columns)


def _without(X: Any, names: Sequence[str]) -> Any:
    if not names:
        return X
    if hasattr(X, "column_names"):
        return X.drop_columns(list(names))
    return X[[name for name in X.columns if name not in names]]


# -- names of columns


def columns_of(estimator: str, X: Any, n_features: int) -> Columns:
    """The columns of arrays or of a frame, or of a Dask one."""
    names = _get_feature_names(named(X))
    is_of_frame = names is not None and not is_dask(X)
    return Columns(
        estimator=estimator, n_features_in=n_features, feature_names_in=names, is_of_frame=is_of_frame
    )


def columns_of_dataset(estimator: str, dataset: Dataset) -> Columns:
    """The columns of a data set."""
    table, names = dataset.table, dataset.feature_names
    if table is not None:
        names = table.names if table.is_named else None
    return Columns(
        estimator=estimator,
        n_features_in=dataset.n_features if table is None else len(table.columns),
        feature_names_in=None if names is None else np.asarray(names, dtype=object),
        table=table,
        target_name=dataset.target_name,
        zero_based=bool(dataset.options.get("zero_based")),
        scaling=dataset.scaling,
    )


def unknown_columns(columns: Columns, dataset: Dataset) -> list[str]:
    """Columns of a data set that a model does not know, and leaves out."""
    names = dataset.feature_names if dataset.table is None else dataset.table.names
    if names is None or columns.feature_names_in is None:
        return []
    known = {*columns.feature_names_in}
    return [name for name in names if name not in known]


def in_order(columns: Columns, X: Any) -> Any:
    """``X`` in the order of the fit, where it is a frame or a Dask frame of the same columns.

    By scikit-learn's checks an estimator that was fitted to a frame in memory refuses such a frame in another
    order; all others put it in order. Names that are missing or unknown, and names on one
    side only, are left to scikit-learn's checks.
    """
    ours, theirs = columns.feature_names_in, _get_feature_names(named(X))
    if ours is None or theirs is None or np.array_equal(ours, theirs):
        return X
    if len(theirs) != len(ours) or len(set(theirs)) != len(ours) or set(theirs) != set(ours):
        return X
    if columns.is_of_frame and not is_dask(X):
        raise InputError(
            "The feature names should match those that were passed during fit.\nFeature names must be in the "
            "same order as they were in fit.",
            hint="X[model.feature_names_in_] is",
        )
    return X[list(ours)]


def named(X: Any) -> Any:
    """What has the names of ``X``: of a Dask frame the empty frame that describes it."""
    return getattr(X, "_meta", None) if is_dask(X) else X
