"""Whatever users give to ``fit`` and ``predict``, as a source or as rows of features.

Accepted are arrays, sparse matrices, frames of pandas, Polars, Arrow and Dask, Dask arrays, data sets and
splits. :mod:`distkern.runs.learned` learns the columns of rows, :func:`rows_for` brings rows to known columns
by name, and :func:`described` adds what ``fit`` is told about the columns of a frame.
"""

from __future__ import annotations

import os
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
from distkern.core.names import near_column
from distkern.core.python_words import warn
from distkern.core.sparse import Rows, SparseRows, refuse_masked
from distkern.core.types import AbstractSource, is_dask
from distkern.data.scaling import Preparation, Scaling
from distkern.model.parts import Columns

if TYPE_CHECKING:
    from distkern.data.dataset import Dataset, Split
    from distkern.data.options import ShardOptions
    from distkern.data.table import Table

_PRECISIONS = [np.float64, np.float32]
#: dtype kinds of numbers
_NUMBERS_OF = "biuf"


# -- rows that are refused


def refuse_path(X: Any) -> None:
    """Refuse a path, a lazy query of Polars, a row or column of a frame, masked numbers, and frames and Dask
    arrays without columns, as rows.
    """
    if X is None:
        raise InputError("is None", where="X", hint="give rows")
    refuse_masked(X)
    if hasattr(X, "iloc") and not hasattr(X, "columns"):
        hint = "give a frame: X.iloc[[0]] for a row, X[['name']] for a column"
        raise InputError("is a Series, not rows", where="X", hint=hint)
    if type(X).__name__ == "LazyFrame":
        raise InputError("is a LazyFrame, which holds no rows yet", where="X", hint="give X.collect()")
    if names_of(X) == [] or (is_dask(X) and X.shape[1:] == (0,)):
        raise InputError("has no columns", where="X", hint="give at least one column")
    if isinstance(X, str | os.PathLike):
        path = os.fspath(X)
        hint = f"give distkern.open_dataset({path!r})"
        if not os.path.isdir(path):
            hint = f"give its rows, for instance pandas.read_csv({path!r}), or shard it with `distkern shard`"
        raise InputError(f"{path!r} is a path, not rows", where="X", hint=hint)


def refuse_lazy(X: Any) -> None:
    """Refuse Dask collections, which are not in memory."""
    if is_dask(X):
        what = "is a Dask frame" if hasattr(X, "dtypes") else "is a Dask array"
        hint = "give rows in memory, as X.compute(), or a data set: write_dataset(X, y, path).train"
        raise InputError(f"{what}, whose rows are not in memory", where="X", hint=hint)


# -- roles of a frame's columns


@dataclass(frozen=True)
class DescribedFrame:
    """A frame with the roles of its columns, as given to ``fit``."""

    frame: Any
    options: ShardOptions


def described(
    X: Any, *, text: Sequence[str], categorical: Mapping[str, str] | Sequence[str], id: str | None
) -> Any:
    """Return ``X`` with the roles of its columns, if any are given.

    Parameters
    ----------
    text, categorical, id : see ``fit``; a list of names stands for one-hot categories

    Raises
    ------
    InputError
        If ``X`` has no column names or lacks a named column, or a column has two roles.
    """
    roles = {"text": text, "categorical": categorical, "id": id}
    given = [name for name, value in roles.items() if value is not None and len(value)]
    if not given:
        return X
    names = names_of(X)
    if names is None:
        raise InputError(
            "only frames have columns by name",
            where=", ".join(given),
            hint="give pandas.DataFrame(X, columns=...), or leave it out: data sets store it",
        )
    for option, value in roles.items():
        if isinstance(value, str) and option != "id":
            raise InputError(f"must be a list, got {value!r}", where=option, hint=f"give [{value!r}]")
        for name in [id] if option == "id" and id is not None else (value or ()):
            if name not in names:
                hint = near_column(str(name), names)
                raise InputError(f"X has no column {name!r}", where=option, hint=hint)
    # predictions do without this import
    from distkern.data.options import ShardOptions

    kinds = categorical if isinstance(categorical, Mapping) else dict.fromkeys(categorical, "onehot")
    return DescribedFrame(X, ShardOptions(categorical=dict(kinds), text=tuple(text), id=id))


def undescribed(X: Any) -> tuple[Any, ShardOptions | None]:
    """Return rows to learn from without non-feature columns, and the roles of the columns, if given."""
    if isinstance(X, DescribedFrame):
        return _without(X.frame, X.options.left_out), X.options
    return in_frame(X, None), None


def target_name(X: Any, y: Any) -> str | None:
    """Return the name of targets given as a named column, unless a column of the rows has the same name."""
    name = getattr(y, "name", None)
    if name is None and hasattr(y, "columns") and len(y.columns) == 1:
        name = str(y.columns[0])
    # the name of a Dask array is a key of its graph
    if not isinstance(name, str) or not name or (is_dask(y) and not hasattr(y, "dtypes")):
        return None
    return None if name in (names_of(X) or ()) else name


# -- rows as users have them


def as_rows(columns: Columns, X: Any) -> Any:
    """Return records (a list of dict) as a frame, and a frame without columns that the model ignores.

    The model ignores the target and the columns that ``fit`` left out (ids, columns without features).

    Warns
    -----
    UserWarning
        If the target is among the columns.

    Raises
    ------
    InputError
        For a single record instead of a list.
    """
    own, target, table = columns.feature_names_in, columns.target_name, columns.table
    X = in_frame(X, own)
    unused = {target, *(() if table is None else table.ignored)} - {None}
    if not unused or own is None:
        return X
    names = names_of(X)
    there = [] if names is None else [name for name in names if name in unused]
    known = set() if table is None else set(table.names)
    if table is None or table.is_numeric:
        known |= {*own}
    there = [name for name in there if name not in known]
    if target in there:
        warn(f"column {target!r} is the target and is not used for predictions")
    return _without(X, there)


def in_frame(X: Any, names: Any) -> Any:
    """Return records as a frame, its columns in the order of ``names`` if those match; others unchanged."""
    # some SciPy sparse matrices are mappings
    if isinstance(X, Mapping) and not hasattr(X, "tocsr"):
        raise InputError("is a dict, not rows", where="X", hint="give a list of records: [X]")
    if not (isinstance(X, list) and X and isinstance(X[0], Mapping)):
        return X
    from pandas import DataFrame

    matches = names is not None and set().union(*X) == {*names}
    return DataFrame.from_records(X, columns=list(names) if matches else None)


def _without(X: Any, names: Sequence[str]) -> Any:
    if not names:
        return X
    if hasattr(X, "column_names"):
        return X.drop_columns(list(names))
    return X[[name for name in X.columns if name not in names]]


# -- names of columns


def names_of(X: Any) -> list[str] | None:
    """Return the column names of a frame of pandas, Polars, Arrow or Dask, or None."""
    if type(X).__module__.startswith("distkern") or not hasattr(X, "columns"):
        return None
    return list(X.column_names) if hasattr(X, "column_names") else list(X.columns)


def columns_of(estimator: str, X: Any, n_features: int) -> Columns:
    """Return the columns of arrays or of a frame."""
    names = _get_feature_names(named(X))
    is_of_frame = names is not None and not is_dask(X)
    return Columns(
        estimator=estimator, n_features_in=n_features, feature_names_in=names, is_of_frame=is_of_frame
    )


def unknown_columns(columns: Columns, dataset: Dataset) -> list[str]:
    """Return the columns of a data set that a model does not know and ignores."""
    names = dataset.feature_names if dataset.table is None else dataset.table.names
    if names is None or columns.feature_names_in is None:
        return []
    known = {*columns.feature_names_in}
    return [name for name in names if name not in known]


def in_order(columns: Columns, X: Any) -> Any:
    """Return a frame in the column order of the fit, if the columns are the same.

    scikit-learn requires that an estimator fitted to a frame in memory refuses another order; all other
    frames are reordered. Missing or unknown names, and names on one side only, are left to scikit-learn's
    checks.
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
            hint="give X[model.feature_names_in_]",
        )
    return X[list(ours)]


def named(X: Any) -> Any:
    """Return the object with the names of ``X``: for a Dask frame its empty frame."""
    return getattr(X, "_meta", None) if is_dask(X) else X


def column_check(name: str, columns: Columns | None = None) -> Any:
    """Return an estimator of the given class name whose columns scikit-learn's checks compare."""
    check = _check_of(name)()
    if columns is not None:
        check.n_features_in_ = columns.n_features_in
        if columns.feature_names_in is not None:
            check.feature_names_in_ = columns.feature_names_in
    return check


class _ColumnCheck(BaseEstimator):  # type: ignore[misc]
    """An estimator that accepts sparse rows and does nothing."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


@cache
def _check_of(name: str) -> type[_ColumnCheck]:
    return type(name, (_ColumnCheck,), {})


def is_mixed(X: Any) -> bool:
    """Return whether a frame has non-numeric columns or missing values.

    For a Dask frame, return whether it has dtypes other than NumPy's numbers, which may represent missing
    values.
    """
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
    """Rows that were given to a fitted model.

    Attributes
    ----------
    rows : (n, d) features in this process, a Dask array or frame, or a split of a data set
    preparation : preparation that the rows still need, or None
    dtype : precision of the rows
    """

    rows: Any
    preparation: Preparation | None
    dtype: np.dtype[Any]

    def map(
        self, function: Callable[[Rows], Any], n_columns: int | None, dtype: DTypeLike | None = None
    ) -> Any:
        """Apply ``function`` to the rows: (n,) or (n, n_columns).

        For Dask collections and splits the result is lazy with ``dtype`` (None: that of the rows).
        """
        dtype = self.dtype if dtype is None else dtype
        if not self.is_lazy:
            return function(self.rows)
        # rows in memory do without this import
        from distkern.engine.dask.arrays import map_rows, map_source

        if isinstance(self.rows, AbstractSource):
            return map_source(function, self.rows, dtype, n_columns)
        return map_rows(function, self.rows, dtype, n_columns)

    @property
    def is_lazy(self) -> bool:
        return isinstance(self.rows, AbstractSource) or is_dask(self.rows)

    def prepared(self, dtype: DTypeLike | None) -> Any:
        """Return the rows after their preparation, in ``dtype`` (None: float32)."""
        prepare = (self.preparation or Preparation()).apply_rows
        return self.map(partial(prepare, out_dtype=dtype or np.float32), None)

    def map_to_frame(self, function: Callable[[Rows], Any], names: Sequence[str]) -> Any:
        """Apply ``function`` to lazy rows and return a lazy Dask frame with the index of their frame."""
        from distkern.engine.dask.arrays import as_frame, map_numbers

        if is_dask(self.rows) and hasattr(self.rows, "columns"):
            return map_numbers(function, self.rows, names, self.dtype)
        return as_frame(self.map(function, len(names)), names)


def rows_for(columns: Columns, X: Any) -> GivenRows:
    """Return ``X`` as validated rows with the features of a model.

    Rows are in their own units, with two exceptions: rows of splits are as stored, and rows that a table
    encodes are scaled as in the fit. For a model of a table, an array with as many columns as encoded
    features is taken as encoded; ``split[:]`` returns such rows.

    Raises
    ------
    InputError or ValueError
        If columns are missing or unknown, or hold values of another kind than the training data.
    """
    if isinstance(X, AbstractSource):
        # a caller with a split has already imported its module
        split = cast("Split", X)
        return GivenRows(split, columns.preparation(split.dataset), split.dtype)
    refuse_path(X)
    X = as_rows(columns, X)
    wanted, table = columns.dtype, columns.table
    if table is not None and table.is_numeric and not is_mixed(X):
        # plain numbers need no encoding
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
        try:
            rows = check(X, dtype=_PRECISIONS, order="C", accept_sparse="csr")
        except (ValueError, OverflowError) as error:
            from distkern.runs.refusals import explained

            raise explained(error, X) from None
        X = SparseRows.of_scipy(rows) if issparse(rows) else rows
        if columns.scaling is None and wanted in (None, own):
            return GivenRows(X, None, own)
    elif not is_encoded:
        _check_feature_names(column_check(columns.estimator, columns), named(X), reset=False)
    return GivenRows(X, Preparation(scaling=columns.scaling, dtype=wanted), own)


def _encoded(columns: Columns, table: Table, X: Any) -> Any:
    """Return scaled features (n, d) float32 of a frame or array of columns; lazy for Dask collections."""
    from distkern.data.frames import encode_frame
    from distkern.engine.dask.arrays import map_frame, map_rows

    encode = partial(encode_frame, table, columns.scaling or Scaling())
    if not is_dask(X):
        return encode(X)
    if not hasattr(X, "columns"):
        return map_rows(encode, X, np.dtype(np.float32), table.n_features)
    # counting the encoded rows instead would encode all of them twice
    lengths = tuple(X.map_partitions(len).compute())
    return map_frame(encode, X, table.features).to_dask_array(lengths=lengths)


def _are_encoded(table: Table, X: Any) -> bool:
    """Return whether ``X`` is an array of encoded rows of a table, by its width and dtype.

    Raises
    ------
    InputError
        If an array of numbers could also hold the columns of the table, with another encoding.
    """
    if hasattr(X, "columns"):
        return False
    array = X if hasattr(X, "shape") else np.asarray(X)
    if array.ndim != 2 or array.shape[1] != table.n_features:
        return False
    if len(table.columns) != table.n_features:
        return True
    if array.dtype.kind not in "biuf" or all(column.is_identity for column in table.columns):
        # the encoding keeps these numbers
        return False
    raise InputError(
        f"an array of {table.n_features} columns may hold the table's columns or encoded rows",
        where="X",
        hint="give a frame of the table's columns, or a split of a data set",
    )
