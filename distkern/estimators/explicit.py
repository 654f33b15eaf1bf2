"""What the estimators of solvers over explicit features share."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.estimators.features import AbstractFeatureEstimator
from distkern.estimators.functional import (
    AbstractFunctionalClassifier,
    AbstractFunctionalEstimator,
    AbstractFunctionalRegressor,
)
from distkern.features import AbstractFeatures
from distkern.solvers.explicit import AbstractExplicit
from distkern.solvers.targets import Scaled


class AbstractExplicitEstimator(AbstractFeatureEstimator, AbstractFunctionalEstimator):
    """A model that is linear in features, found by one of these solvers; a constant feature becomes
    part of the intercept.
    """

    solver_type: ClassVar[type[AbstractExplicit[Any]]]
    #: the same solver of a model over kernels at training rows that it finds, if it has such models
    solver_of_rows: ClassVar[type[AbstractExplicit[Any]] | None] = None

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> AbstractExplicit[Any]:
        features = self.feature_choice()
        kind = self.solver_of_rows if features.finds_rows and self.solver_of_rows else self.solver_type
        risk = self._risk_for(self._least_outputs(), class_weights, mean_weight)
        return kind(risk, features, **self.values_of(self.solver_type))

    def feature_choice(self) -> AbstractFeatures:
        choice = super().feature_choice()
        if not self.solver_type.makes_blocks:
            return choice
        return choice.in_blocks(self.values_of(self.solver_type)["block_size"])

    def _keep(self, state: Any) -> None:
        self.landmarks_, self.gamma_ = state.landmarks, state.gamma
        self._keep_coefficients(state.coefficients, state)

    def _keep_coefficients(self, coefficients: NDArray[np.float64], state: Scaled) -> None:
        last = len(coefficients) - self.feature_choice().with_constant().n_constant
        super()._keep_coefficients(coefficients[:last], state)
        self.intercept_ += state.target_scale * coefficients[last:].sum(axis=0)

    def _squared_norm(self) -> float:
        return float(np.einsum("ij,ij->", self.coef_, self.basis(np.float64).metric_product(self.coef_)))


class AbstractExplicitClassifier(AbstractExplicitEstimator, AbstractFunctionalClassifier):
    """A classifier of that kind."""

    def _squared_norm(self) -> float:
        return super()._squared_norm() + float(np.square(self.intercept_).sum())


class AbstractExplicitRegressor(AbstractExplicitEstimator, AbstractFunctionalRegressor):
    """A regressor of that kind.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets in any
    unit.
    """
