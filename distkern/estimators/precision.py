"""The precision that an estimator's rows have when they are trained and predicted."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.common.parameters import AUTO
from distkern.common.sparse import Rows
from distkern.estimators.hyperparameters import Hyperparameters
from distkern.solvers.hyperparameters import DTYPE


class OfPrecision(Hyperparameters):
    """Hyperparameters, and ``dtype`` beside those that a subclass names.

    Fitted attributes
    -----------------
    dtype_ : of the rows that it was fitted to, which those that are given to ``predict`` are brought to; None
        for a stored model that does not say, whose rows are predicted in their own precision
    """

    dtype_: np.dtype[Any] | None = None

    def __init_subclass__(cls, **given: Any) -> None:
        if "hyperparameters" in vars(cls):
            cls.hyperparameters = {**cls.hyperparameters, "dtype": DTYPE}
        super().__init_subclass__(**given)

    def stored_params(self) -> dict[str, Any]:
        params = super().stored_params()
        # data sets have a precision of their own, so files speak of it only where it was asked for
        return {name: value for name, value in params.items() if name != "dtype" or value != AUTO}

    def precision_of_batch(self, rows: Rows) -> np.dtype[Any]:
        """That of the batches before; of the first one what ``dtype`` says, or its own."""
        if self.dtype_ is None:
            wanted = self.value("dtype")
            self.dtype_ = rows.dtype if wanted == AUTO else np.dtype(wanted)
        return self.dtype_
