"""One way in: whatever is given to ``predict`` and ``fit`` as a source, or as rows of features.

That is arrays, sparse matrices, frames of pandas, Polars, Arrow and Dask, Dask arrays, data sets and splits.
:mod:`distkern.runs.learned` learns the columns of rows, :func:`rows_for` brings rows to known columns by
their names; :func:`described` adds what ``fit`` is told of the columns of a frame.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names, _get_feature_names, check_array, validate_data

from distkern.core.errors import InputError
from distkern.core.python_words import warn
from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import AbstractSource
from distkern.data.preparation import Preparation
from distkern.data.scaling import Scaling
from distkern.engine.dask.arrays import as_frame, is_dask, map_frame, map_numbers, map_rows, map_source
from distkern.model.columns import Columns
from distkern.runs.arrays import explained, refuse_path

if TYPE_CHECKING:
    from distkern.data.dataset import Dataset, Split
    from distkern.data.options import ShardOptions
    from distkern.data.table import Table

_PRECISIONS = [np.float64, np.float32]
#: kinds of dtypes that are numbers
_NUMBERS_OF = "biuf"


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
    from distkern.data.options import ShardOptions

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


def column_check(name: str, columns: Columns | None = None) -> Any:
    """What scikit-learn's checks of rows ask for their columns, and call by the name of a class."""
    check = _check_of(name)()
    if columns is not None:
        check.n_features_in_ = columns.n_features_in
        if columns.feature_names_in is not None:
            check.feature_names_in_ = columns.feature_names_in
    return check


class _ColumnCheck(BaseEstimator):  # type: ignore[misc]
    """An estimator of nothing that takes sparse rows."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


@cache
def _check_of(name: str) -> type[_ColumnCheck]:
    return type(name, (_ColumnCheck,), {})


def is_mixed(X: Any) -> bool:
    """Whether ``X`` is a frame with columns of other things than numbers, or with missing values; of a Dask
    frame, whether the types of its columns can say what is missing, as those of NumPy cannot."""
    if not hasattr(X, "columns"):
        return False
    if is_dask(X):
        return any(
            not isinstance(dtype, np.dtype) or dtype.kind not in _NUMBERS_OF for dtype in X._meta.dtypes
        )
    from distkern.data.frames import has_other_than_numbers

    return has_other_than_numbers(X)


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


def rows_for(columns: Columns, X: Any) -> GivenRows:
    """``X``, whatever it is, as rows of the features that a model knows, checked.

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
        split = cast("Split", X)
        return GivenRows(split, columns.preparation(split.dataset), split.dtype)
    refuse_path(X)
    X = as_rows(columns, X)
    wanted, table = columns.dtype, columns.table
    if table is not None and table.is_mere and not is_mixed(X):
        # numbers that become themselves
        table = None
    single: np.dtype[Any] = np.dtype(np.float32)
    is_encoded = table is not None and _are_encoded(table, X)
    if table is not None and not is_encoded:
        encoded = None if wanted is None else Preparation(dtype=wanted)
        return GivenRows(_encoded(columns, table, X), encoded, single)
    X = X if is_encoded else in_order(columns, X)
    own = single if getattr(X, "dtype", None) == single else np.dtype(np.float64)
    if not is_dask(X):
        check = check_array
        if not is_encoded:
            check = partial(validate_data, column_check(columns.estimator, columns), reset=False)
        with explained(X):
            rows = check(X, dtype=_PRECISIONS, order="C", accept_sparse="csr")
        X = SparseRows.of_scipy(rows) if issparse(rows) else rows
    elif not is_encoded:
        _check_feature_names(column_check(columns.estimator, columns), named(X), reset=False)
    return GivenRows(X, Preparation(scaling=columns.scaling, dtype=wanted), own)


def _encoded(columns: Columns, table: Table, X: Any) -> Any:
    """Features (n, d) float32 of a frame, or of an array of its columns, scaled; a Dask frame or array of
    them of one of Dask's."""
    from distkern.data.frames import encode_frame

    encode = partial(encode_frame, table, columns.scaling or Scaling())
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
    if array.dtype.kind not in "biuf" or all(column.is_itself for column in table.columns):
        # numbers are encoded as they are
        return False
    raise InputError(
        f"an array of {table.n_features} columns may be of the table's columns or of encoded rows",
        where="X",
        hint="give a frame of the table's columns, or a split of a data set",
    )
