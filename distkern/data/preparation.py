"""Preparation of rows for a model: order of columns, encoding of tables, scaling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.errors import InputError
from distkern.core.names import order_by_name
from distkern.core.sparse import Rows, SparseRows, with_columns
from distkern.data.scaling import Scaling

if TYPE_CHECKING:
    from distkern.data.dataset import Dataset
    from distkern.data.table import Table

#: message for numbers that would become infinite
TOO_LARGE = "there are numbers too large for single precision"


@dataclass(frozen=True, slots=True)
class Like:
    """Preparation of earlier rows that new rows reproduce.

    Attributes
    ----------
    n_features : features of a row
    names : column names, or None
    target_name : name of the target, or None
    scaling : scaling of the features
    table : encoding of the columns, unless they are plain numbers
    classes : the labels; None without labels
    task : task of the rows
    positive : the label against the rest, if known
    from_zero : whether the indices of svmlight files start at 0; None if unknown
    """

    n_features: int
    names: tuple[str, ...] | None
    target_name: str | None
    scaling: Scaling
    table: Table | None
    classes: NDArray[Any] | None = None
    task: Literal["classification", "regression", "none"] = "classification"
    positive: str | None = None
    from_zero: bool | None = None


@dataclass(frozen=True, slots=True)
class Preparation:
    """Reorders columns as a model's, then scales them as its training rows.

    Attributes
    ----------
    order : (n_features,) column of the rows for each column of the model; None if they match
    scaling : scaling of incoming rows; None if they are scaled already
    dtype : type of the prepared rows; None for the caller's choice
    """

    order: NDArray[np.intp] | None = None
    scaling: Scaling | None = None
    dtype: np.dtype[Any] | None = None

    def apply_rows(self, rows: Rows, out_dtype: DTypeLike = np.float32) -> Rows:
        """Return prepared rows of :attr:`dtype` or else ``out_dtype``; raises as :meth:`Scaling.apply_rows`.

        Raises :class:`InputError` if numbers are too large for a narrower :attr:`dtype`.
        """
        if self.order is not None:
            rows = with_columns(rows, self.order)
        scaling = Scaling() if self.scaling is None else self.scaling
        if self.dtype is None:
            return scaling.apply_rows(rows, out_dtype)
        found = scaling.apply_rows(rows, self.dtype)
        numbers = found.data if isinstance(found, SparseRows) else found
        if self.dtype.itemsize < rows.dtype.itemsize and np.isinf(numbers).any():
            raise InputError(TOO_LARGE, where="X", hint="leave such rows out, or fit with dtype='float64'")
        return found


def preparation_for(
    dataset: Dataset,
    n_features: int,
    names: tuple[str, ...] | None,
    own: Scaling | None,
    table: Table | None = None,
) -> Preparation | None:
    """Return the preparation that the stored rows of a data set still need; None if they need none.

    Rows that were stored with another scaling are converted to the scaling of the fit in one step. Raises
    :class:`InputError` if the columns differ, or if only one of the scalings divided rows by their norms.

    Parameters
    ----------
    n_features, names, own : number, names and scaling of the model's columns, each None if unknown
    table : encoding of the model's columns, unless they are plain numbers
    """
    where = str(dataset.path)
    from distkern.data.table import are_alike

    if not are_alike(table, dataset.table):
        raise InputError(
            "encodes its columns differently from the training data",
            where=where,
            hint="shard the file again with --like MODEL",
        )
    order = None
    if names is not None and dataset.feature_names is not None:
        order = order_by_name(
            dataset.feature_names, names, where=where, owner="the training data", may_have_others=True
        )
        if len(names) < len(dataset.feature_names) and dataset.scaling.kind in ("unit", "ball"):
            raise InputError(
                f"the rows were divided by norms that include columns unknown to the model "
                f"({dataset.scaling.kind})",
                where=where,
                hint="shard it with --drop and these columns, or with --like MODEL",
            )
    elif dataset.n_features != n_features:
        raise InputError(
            f"{dataset.n_features} features, but the model has {n_features}",
            where=where,
            hint="predict on data with the columns of the training data",
        )
    stored = dataset.scaling if order is None else dataset.scaling.reordered(order)
    wanted = Scaling() if own is None else own
    try:
        scaling = wanted.of_stored(stored)
    except InputError:
        hint = "shard it with --scale none: the model will scale them"
        if wanted.kind == "none":
            hint = "shard it with --scale none, or give rows as in fit: split[:]"
        raise InputError(
            f"its rows are scaled with {stored.kind}, the training rows with {wanted.kind}, and norms cannot "
            "be undone",
            where=where,
            hint=hint,
        ) from None
    if scaling.kind == "none":
        return None if order is None else Preparation(order)
    return Preparation(order, scaling)
