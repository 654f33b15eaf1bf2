"""AVM as a scikit-learn classifier."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.estimators.coreset import AbstractCoresetClassifier
from distkern.solvers.avm import AVM, USUAL_LANDMARKS
from distkern.solvers.hyperparameters import (
    CLASS_WEIGHT,
    METRIC,
    RANDOM_STATE,
    SCALE,
    THRESHOLD,
    hyperparameters_of,
)


class AVMClassifier(AbstractCoresetClassifier):
    """Approximation vector machine: gradients moved to landmarks (Le et al. 2017; Tan et al. 2019).

    Minimises the objective of :class:`CSVRGClassifier` with steps 1/t, so that ``lam`` is 1 / lambda of
    Le et al. Cheaper for each pass than CSVRG and slower to converge: O(1/t).
    """

    name = "avm"
    usual_landmarks = USUAL_LANDMARKS
    hyperparameters = hyperparameters_of(
        AVM,
        class_weight=CLASS_WEIGHT,
        threshold=THRESHOLD,
        scale=SCALE,
        metric=METRIC,
        random_state=RANDOM_STATE,
    )

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> AVM:
        return AVM(self._parts(class_weights, mean_weight), **self.values_of(AVM))
