"""SVRG over random, Nystroem or linear features as a scikit-learn classifier and regressor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.estimators.features import AbstractFeatureEstimator
from distkern.estimators.functional import (
    CLASSIFIER,
    REGRESSOR,
    AbstractFunctionalClassifier,
    AbstractFunctionalEstimator,
    AbstractFunctionalRegressor,
)
from distkern.solvers.hyperparameters import hyperparameters_of
from distkern.solvers.svrg import SVRG, SVRGState
from distkern.solvers.targets import Scaled


class AbstractSVRG(AbstractFeatureEstimator, AbstractFunctionalEstimator):
    """What the classifier and the regressor share."""

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> SVRG:
        return SVRG(
            self._risk_for(self._least_outputs(), class_weights, mean_weight),
            self.feature_choice(),
            **self.values_of(SVRG),
        )

    def _keep(self, state: SVRGState) -> None:
        self.landmarks_, self.gamma_ = state.landmarks, state.gamma
        self._keep_coefficients(state.coefficients, state)

    def _squared_norm(self) -> float:
        return float(np.einsum("ij,ij->", self.coef_, self.coef_))


class SVRGClassifier(AbstractSVRG, AbstractFunctionalClassifier):
    """Linear classifier over features of a kernel, by variance-reduced gradients (cdsg.txt, Section 5).

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2 with linear convergence for smooth losses; the
    features z(x) are regenerated wherever they are needed and never stored.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> SVRGClassifier(gamma=4.0, n_features=256, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    name = "svrg"
    hyperparameters = hyperparameters_of(SVRG, **CLASSIFIER)


class SVRGRegressor(AbstractSVRG, AbstractFunctionalRegressor):
    """Linear regressor over features of a kernel, by variance-reduced stochastic gradients.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets in any
    unit.
    """

    name = "svrg_regressor"
    hyperparameters = hyperparameters_of(SVRG, **REGRESSOR)

    def _keep_coefficients(self, coefficients: NDArray[np.float64], state: Scaled) -> None:
        last = len(coefficients) - self.feature_choice().with_constant().n_constant
        super()._keep_coefficients(coefficients[:last], state)
        self.intercept_ += state.target_scale * coefficients[last:].sum(axis=0)
