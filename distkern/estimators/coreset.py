"""The hyperparameters that the estimators over landmarks share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.bases.landmarks import LandmarkBasis
from distkern.common.sparse import from_arrays, to_arrays
from distkern.estimators.base import AbstractClassifier
from distkern.features.landmarks import DEFAULT_LANDMARKS
from distkern.landmarks import AbstractLandmarkRule, find_landmark_rule
from distkern.solvers.coreset import CoresetProblem


class AbstractCoresetClassifier(AbstractClassifier):
    """A classifier f(x) = sum_k coef_k k(x, c_k) over landmarks chosen before training.

    Fitted attributes
    -----------------
    landmarks_ : (r, n_features) array, or :class:`~distkern.common.sparse.SparseRows` if it was fitted on
    sparse rows
    gamma_ : the kernel's gamma
    and those of :class:`~distkern.estimators.base.AbstractClassifier`; intercept_ is zero
    """

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

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return to_arrays("landmarks", self.landmarks_) | {"coefficients": self.coef_}

    def _facts(self) -> dict[str, Any]:
        return {"gamma": float(self.gamma_)}

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        self.landmarks_, self.coef_ = from_arrays("landmarks", arrays), arrays["coefficients"]
        if self.landmarks_.shape[1] != self.width_:
            raise ValueError(f"landmarks of {self.landmarks_.shape[1]} features for {self.width_}")
        self.intercept_ = np.zeros(self.coef_.shape[1])
        self.gamma_ = facts["gamma"]

    def _parts(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> CoresetProblem:
        return CoresetProblem(
            loss=self._loss(),
            lam=self.value("lam"),
            kernel=self.kernel_choice(),
            landmarks=self._landmark_rule(),
            class_weights=class_weights,
            mean_weight=mean_weight,
        )

    def _landmark_rule(self) -> AbstractLandmarkRule:
        n_landmarks, diameter = self.value("n_landmarks"), self.value("diameter")
        if n_landmarks is None and diameter is None:
            n_landmarks = self.usual_landmarks
        return find_landmark_rule(self.landmarks)(n_landmarks=n_landmarks, diameter=diameter)
