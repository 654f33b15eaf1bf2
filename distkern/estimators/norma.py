"""NORMA as a scikit-learn classifier and regressor."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.estimators.explicit import (
    AbstractExplicitClassifier,
    AbstractExplicitEstimator,
    AbstractExplicitRegressor,
)
from distkern.estimators.functional import CLASSIFIER, REGRESSOR
from distkern.solvers._norma.kernel import KernelNORMA
from distkern.solvers.hyperparameters import hyperparameters_of
from distkern.solvers.norma import NORMA


class AbstractNORMA(AbstractExplicitEstimator):
    """What the classifier and the regressor share."""

    solver_type = NORMA

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> NORMA:
        solver = super()._solver(class_weights, mean_weight)
        assert isinstance(solver, NORMA)
        return KernelNORMA(**vars(solver)) if solver.features.finds_rows else solver


class NORMAClassifier(AbstractNORMA, AbstractExplicitClassifier):
    """Kernel classifier by stochastic functional gradients (Dai et al. 2014, Table 2: NORMA).

    Minimises mean_i s_i l(f(x_i), y_i) + nu/2 |f|^2 by steps that shrink f and add kernels at a batch of
    rows: f is a combination of kernels at training rows, at most ``max_support``, of which the oldest leave
    it. Over explicit features (``features="random"``, say) it is stochastic gradient descent with the same
    steps.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> NORMAClassifier(loss="hinge", gamma=4.0, stages=5, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    name = "norma"
    hyperparameters = hyperparameters_of(NORMA, **CLASSIFIER)


class NORMARegressor(AbstractNORMA, AbstractExplicitRegressor):
    """Kernel regressor by stochastic functional gradients.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets in any
    unit.
    """

    name = "norma_regressor"
    hyperparameters = hyperparameters_of(NORMA, **REGRESSOR)
