"""The columns that a model was fitted on, and how rows of other sources become its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distkern.data.preparation import Like, Preparation, preparation_for
from distkern.data.scaling import Scaling
from distkern.model.fields import fitted

if TYPE_CHECKING:
    from distkern.data.dataset import Dataset
    from distkern.data.table import Table


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The columns of the rows that a model knows.

    Attributes
    ----------
    estimator : name of the class, for scikit-learn's messages
    is_of_frame : whether they were those of a frame in memory, whose order scikit-learn checks
    """

    estimator: str
    n_features_in: int = fitted("columns of what it was fitted on")
    feature_names_in: NDArray[Any] | None = fitted(
        "(n_features_in_,) their names, where it had some", default=None, always=False
    )
    table: Table | None = fitted(
        "how they became features, where they were not mere numbers, see "
        ":class:`~distkern.data.table.Table`; else None",
        default=None,
    )
    target_name: str | None = fitted(
        "of the column that held the target, where it was fitted on a data set of a table", default=None
    )
    zero_based: bool | None = fitted(
        "whether indices of svmlight files start at 0, where it was fitted on a data set", default=None
    )
    scaling: Scaling | None = fitted(
        "of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to "
        "``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled",
        default=None,
    )
    dtype: np.dtype[Any] | None = fitted(
        "of the rows that it was fitted to, which those that are given to ``predict`` are brought to; None "
        "for a stored model that does not say, whose rows are predicted in their own precision",
        default=None,
    )
    is_of_frame: bool = False

    @property
    def width(self) -> int:
        """Features of a row."""
        return int(self.n_features_in) if self.table is None else self.table.n_features

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the columns, if they have some."""
        return None if self.feature_names_in is None else tuple(self.feature_names_in)

    def preparation(self, dataset: Dataset) -> Preparation | None:
        """Preparation of the stored rows of a data set, see :func:`preparation_for`."""
        names, width = self.names, self.n_features_in
        if self.table is not None:
            own_names = self.table.is_named or not self.table.is_mere
            names, width = self.table.features if own_names else None, self.table.n_features
        return preparation_for(dataset, width, names, self.scaling, self.table)

    def like(self, task: Any, classes: NDArray[Any] | None) -> Like:
        """How the rows of the fit were prepared."""
        scaling = self.scaling or Scaling()
        own = self.width, self.names, self.target_name, scaling, self.table
        return Like(*own, classes, task, from_zero=self.zero_based)
