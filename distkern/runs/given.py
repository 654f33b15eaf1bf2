"""One way in: whatever is given to ``predict`` and ``fit`` as a source, or as rows of features.

That is arrays, sparse matrices, frames of pandas, Polars, Arrow and Dask, Dask arrays, data sets and splits.
:mod:`distkern.runs.learned` learns the columns of rows, :func:`rows_for` brings rows to known columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import DTypeLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import _check_feature_names, check_array, validate_data

from distkern.common.errors import InputError
from distkern.common.sparse import Rows, SparseRows
from distkern.common.types import AbstractSource
from distkern.engine.dask.arrays import as_frame, is_dask, map_frame, map_numbers, map_rows, map_source
from distkern.model.columns import Columns
from distkern.runs.arrays import explained, refuse_path
from distkern.runs.framed import as_rows, in_order, named
from distkern.storage.preparation import Preparation
from distkern.storage.scaling import Scaling

if TYPE_CHECKING:
    from distkern.storage.dataset import Split
    from distkern.storage.table import Table

_PRECISIONS = [np.float64, np.float32]
#: kinds of dtypes that are numbers
_NUMBERS_OF = "biuf"


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
    from distkern.storage.frames import has_other_than_numbers

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
    from distkern.storage.frames import encode_frame

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
