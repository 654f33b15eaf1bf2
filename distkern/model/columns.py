"""The columns that a model was fitted on, and how other rows are brought to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distkern.data.scaling import Like, Preparation, Scaling, preparation_for
from distkern.model.fields import fitted

if TYPE_CHECKING:
    from distkern.data.dataset import Dataset
    from distkern.data.table import Table


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns that a model expects.

    Attributes
    ----------
    estimator : class name of the estimator, for scikit-learn's messages
    is_of_frame : whether the fit had a frame in memory, whose column order scikit-learn checks
    """

    estimator: str
    n_features_in: int = fitted("number of columns in ``fit``")
    feature_names_in: NDArray[Any] | None = fitted(
        "(n_features_in_,) names of the columns, if they had names", default=None, always=False
    )
    table: Table | None = fitted(
        "encoding of columns that are not plain numbers, see :class:`~distkern.data.table.Table`, or None",
        default=None,
    )
    target_name: str | None = fitted(
        "name of the target's column, if the data set was made from a table", default=None
    )
    zero_based: bool | None = fitted(
        "whether indices of svmlight files start at 0, for models fitted on a data set", default=None
    )
    scaling: Scaling | None = fitted(
        "scaling of the data set, or chosen by ``scale``; applied to rows given to ``predict``. "
        "``coefficients_`` apply to scaled rows. None without scaling",
        default=None,
    )
    dtype: np.dtype[Any] | None = fitted(
        "precision of the training rows, to which rows given to ``predict`` are cast; None for stored models "
        "without one, which predict rows in their own precision",
        default=None,
    )
    is_of_frame: bool = False

    @cached_property
    def width(self) -> int:
        return int(self.n_features_in) if self.table is None else self.table.n_features

    @property
    def names(self) -> tuple[str, ...] | None:
        return None if self.feature_names_in is None else tuple(self.feature_names_in)

    def preparation(self, dataset: Dataset) -> Preparation | None:
        """Return the preparation of the stored rows of a data set, see :func:`preparation_for`."""
        names, width = self.names, self.n_features_in
        if self.table is not None:
            own_names = self.table.is_named or not self.table.is_numeric
            names, width = self.table.features if own_names else None, self.table.n_features
        return preparation_for(dataset, width, names, self.scaling, self.table)

    def like(self, task: Any, classes: NDArray[Any] | None) -> Like:
        """Return how the rows of the fit were prepared."""
        scaling = self.scaling or Scaling()
        own = self.width, self.names, self.target_name, scaling, self.table
        return Like(*own, classes, task, from_zero=self.zero_based)
