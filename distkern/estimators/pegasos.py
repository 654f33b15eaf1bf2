"""Pegasos as a scikit-learn classifier."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.estimators.base import AbstractClassifier
from distkern.estimators.features import AbstractFeatureEstimator, unit_of
from distkern.estimators.functional import AbstractFunctionalEstimator
from distkern.solvers.pegasos import Pegasos, PegasosState


class PegasosClassifier(
    AbstractFeatureEstimator, AbstractFunctionalEstimator, AbstractClassifier, solver=Pegasos
):
    """Linear support vector machine on rows, random features or landmarks, by Pegasos.

    Minimises lam/2 |w|^2 + mean_i s_i l(y_i (<w, phi(x_i)> + b)), several classes one-vs-rest in one pass
    over the rows (Shalev-Shwartz, Singer, Srebro 2007; compared with by Hazan et al. 2011, Dai et al. 2014).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = PegasosClassifier(features="random", gamma=4.0, n_features=256, random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.98
    True
    """

    def _keep(self, state: PegasosState) -> None:
        super()._keep(state)
        self.constants_ = state.center + state.intercept

    def regulariser(self) -> float:
        """lam."""
        return float(self.value("lam"))

    def _squared_norm(self) -> float:
        """|w|^2 + b^2, summed over the outputs."""
        return float(
            np.square(self.coefficients_).sum() + np.square(self.constants_ - unit_of(self)[0]).sum()
        )

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> Pegasos:
        risk = self._risk_for(class_weights, mean_weight)
        return Pegasos(risk, self.feature_choice(), **self.values_of(Pegasos))
