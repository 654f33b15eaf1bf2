"""CSVRG as a scikit-learn classifier."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.estimators.coreset import AbstractCoresetClassifier
from distkern.solvers.csvrg import CSVRG
from distkern.solvers.hyperparameters import CLASS_WEIGHT, RANDOM_STATE, SCALE, hyperparameters_of


class CSVRGClassifier(AbstractCoresetClassifier):
    """Kernel machine trained by coreset variance-reduced stochastic gradients (csvrg.txt, Algorithm 1).

    Minimises 1/2 |w|^2 + (lam / m) sum_i l(y_i <w, phi(x_i)>) over w in the span of at most ``n_landmarks``
    landmarks, for losses without kinks with linear convergence to a fixed point near the optimum. Several
    classes are learnt one-vs-rest over the same landmarks, sharing every kernel row.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> CSVRGClassifier(gamma=4.0, lam=64.0, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    name = "csvrg"
    hyperparameters = hyperparameters_of(
        CSVRG, class_weight=CLASS_WEIGHT, scale=SCALE, random_state=RANDOM_STATE
    )

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> CSVRG:
        return CSVRG(self._parts(class_weights, mean_weight), **self.values_of(CSVRG))
