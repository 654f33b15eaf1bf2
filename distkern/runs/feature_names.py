"""Names of columns: learnt by ``fit``, looked at in whatever comes later."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_feature_names, _get_feature_names

from distkern.common.errors import InputError
from distkern.engine.dask.arrays import is_dask
from distkern.storage.dataset import Dataset
from distkern.storage.preparation import Preparation, preparation_for
from distkern.storage.scaling import Scaling


def learn_names(estimator: Any, X: Any) -> None:
    """Set ``feature_names_in_`` from the columns of a frame or a Dask frame; drop it if there are none."""
    _check_feature_names(estimator, _named(X), reset=True)
    estimator._is_of_frame = not is_dask(X) and hasattr(estimator, "feature_names_in_")


def learn_names_of_dataset(estimator: Any, dataset: Dataset) -> None:
    """Set ``feature_names_in_`` and ``target_name_`` from a data set."""
    estimator.target_name_ = dataset.target_name
    estimator._is_of_frame = False
    estimator.table_ = table = dataset.table
    estimator.zero_based_ = bool(dataset.options.get("zero_based"))
    names = dataset.feature_names
    if table is not None:
        names = table.names if table.is_named else None
    if names is not None:
        estimator.feature_names_in_ = np.asarray(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def unknown_columns(estimator: Any, dataset: Dataset) -> list[str]:
    """Columns of a data set that a fitted estimator does not know, which are left out."""
    names = dataset.feature_names if dataset.table is None else dataset.table.names
    known = getattr(estimator, "feature_names_in_", None)
    return [] if names is None or known is None else [name for name in names if name not in set(known)]


def put_in_order(estimator: Any, X: Any) -> Any:
    """``X`` in the order of the fit, where it is a frame or a Dask frame of the same columns.

    scikit-learn's checks ask of an estimator that was fitted to a frame in memory that it refuses such a
    frame in another order; all others put it in order. Names that are missing or unknown, and names on one
    side only, are scikit-learn's to refuse or to warn of.
    """
    ours, theirs = getattr(estimator, "feature_names_in_", None), _get_feature_names(_named(X))
    if ours is None or theirs is None or np.array_equal(ours, theirs):
        return X
    if len(theirs) != len(ours) or len(set(theirs)) != len(ours) or set(theirs) != set(ours):
        return X
    if getattr(estimator, "_is_of_frame", False) and not is_dask(X):
        raise InputError(
            "The feature names should match those that were passed during fit.\nFeature names must be in the "
            "same order as they were in fit.",
            mend="X[model.feature_names_in_] is",
        )
    return X[list(ours)]


def check_dask_names(estimator: Any, X: Any) -> None:
    """What scikit-learn checks of the names of a frame, of a Dask frame or array."""
    _check_feature_names(estimator, _named(X), reset=False)


def preparation_of(estimator: Any, dataset: Dataset) -> Preparation | None:
    """What a fitted estimator does to the stored rows of a data set, see :func:`preparation_for`."""
    names = getattr(estimator, "feature_names_in_", None)
    own: Scaling | None = estimator.scaling_
    width = estimator.n_features_in_
    if estimator.table_ is not None:
        names, width = estimator.table_.features, estimator.table_.n_features
    return preparation_for(dataset, width, None if names is None else tuple(names), own, estimator.table_)


def _named(X: Any) -> Any:
    """What has the names of ``X``: of a Dask frame the empty frame that describes it."""
    return getattr(X, "_meta", None) if is_dask(X) else X
