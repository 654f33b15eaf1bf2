"""SIMBA as a scikit-learn classifier."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.estimators.base import AbstractClassifier
from distkern.estimators.features import AbstractFeatureEstimator
from distkern.losses import find_loss
from distkern.losses.base import AbstractLoss
from distkern.runs.data import TrainingData
from distkern.solvers.hyperparameters import CLASS_WEIGHT, RANDOM_STATE, SCALE
from distkern.solvers.risk import Risk
from distkern.solvers.simba import SIMBA
from distkern.storage.columns import no_columns
from distkern.storage.dataset import Split


class SIMBAClassifier(AbstractFeatureEstimator, AbstractClassifier, solver=SIMBA):
    """Linear support vector machine learned from single rows and columns (Hazan et al. 2011, Algorithm 1).

    Maximises the margin gamma of <w, x> + b with |w| <= 1 where rows may fall short of it by nu on
    average, all in units of the largest norm of a row; weights and constant are scaled so that the margin
    is 1. Several classes one-vs-rest, with one nu for all. Data sets need a feature-major copy
    (``distkern shard --columns``) unless ``features`` are random. Dask arrays are written to a temporary one.
    ``rows_read`` and ``bytes_read`` are of the passes; what the rounds look at is in
    ``feature_accesses``, which leaves out the trials of nu.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(400, 40, class_sep=2.0, random_state=0)
    >>> model = SIMBAClassifier(max_rounds=2000, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    draws_any_row = True
    beside: ClassVar = {"class_weight": CLASS_WEIGHT, "scale": SCALE, "random_state": RANDOM_STATE}

    def _data_of_split(self, split: Split) -> TrainingData:
        if self.feature_choice().reads_columns and not split.has_columns:
            raise no_columns(split.dataset.path)
        return super()._data_of_split(split)

    def objective_value(self, losses: float, n_rows: int) -> float:
        """Mean weighted hinge loss, added up over the outputs."""
        return losses / n_rows

    def _loss(self) -> AbstractLoss:
        return find_loss("hinge")()

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> SIMBA:
        risk = Risk(self._loss(), 1, class_weights, mean_weight)
        return SIMBA(self.feature_choice(), risk, **self.values_of(SIMBA))
