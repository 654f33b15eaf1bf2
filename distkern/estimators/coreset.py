"""The hyperparameters that the estimators over landmarks share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.bases.landmarks import LandmarkBasis
from distkern.common.sparse import Rows
from distkern.estimators.base import AbstractClassifier
from distkern.estimators.declared import fitted
from distkern.estimators.features import begun_over_features
from distkern.estimators.functional import AbstractFunctionalEstimator
from distkern.features.landmarks import DEFAULT_LANDMARKS, AbstractLandmarkFeatures, Landmarks
from distkern.solvers.base import AbstractSolver, Problem
from distkern.solvers.coreset import AbstractCoresetSolver


class AbstractCoresetClassifier(AbstractFunctionalEstimator, AbstractClassifier):
    """A classifier f(x) = sum_k coef_k k(x, c_k) over landmarks chosen before training."""

    landmarks_: Rows = fitted(
        "(r, n_features) array, or :class:`~distkern.common.sparse.SparseRows` if it was fitted on sparse "
        "rows",
        rows="landmarks",
    )
    gamma_: float = fitted("the kernel's gamma", fact="gamma", write=float)
    intercept_: NDArray[np.float64] = fitted("(n_outputs,) zeros")

    #: landmarks where neither their number nor a diameter is given
    usual_landmarks: ClassVar[int] = DEFAULT_LANDMARKS

    def basis(self, dtype: DTypeLike = np.float32) -> LandmarkBasis:
        return LandmarkBasis(self.kernel_choice().with_gamma(self.gamma_), self.landmarks_.astype(dtype))

    def objective_value(self, losses: float, n_rows: int) -> float:
        """f = 1/2 |w|^2 + (lam / n_rows) sum_i s_i l_i."""
        norms = self.basis(np.float64).squared_norms(self.coef_)
        return float(0.5 * norms.sum() + float(self.value("lam")) * losses / n_rows)

    def _keep(self, state: Any) -> None:
        self.landmarks_, self.coef_, self.gamma_ = state.landmarks, state.coefficients, state.gamma
        self.intercept_ = np.zeros(self.coef_.shape[1])

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        super()._restore(arrays, facts, where)
        if self.landmarks_.shape[1] != self.width_:
            raise ValueError(f"landmarks of {self.landmarks_.shape[1]} features for {self.width_}")
        self.intercept_ = np.zeros(self.coef_.shape[1])

    def _solver(
        self, class_weights: NDArray[np.float64] | None, mean_weight: float
    ) -> AbstractCoresetSolver[Any]:
        kind, features = self.kind_of_solver()
        risk = self._risk_for(class_weights, mean_weight)
        n_landmarks, diameter = self.value("n_landmarks"), self.value("diameter")
        if n_landmarks is None and diameter is None:
            n_landmarks = self.usual_landmarks
        made = features(self.kernel_choice(), n_landmarks, self.landmarks, diameter)
        return kind(risk, made, **self.values_of(self.solver_type))

    def _begun(self, solver: AbstractSolver[Any], problem: Problem) -> tuple[AbstractSolver[Any], Problem]:
        return begun_over_features(self, solver, problem)

    def _own_coefficients(self) -> NDArray[np.float64]:
        """Coefficients (r, k) of the kernels at the landmarks."""
        return self.coef_

    def kind_of_solver(self) -> tuple[type[AbstractCoresetSolver[Any]], type[AbstractLandmarkFeatures]]:
        """The solver, and the functions of landmarks that it works on."""
        return self.solver_type, Landmarks
