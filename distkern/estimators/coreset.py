"""The hyperparameters that the estimators over landmarks share."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from distkern.bases.landmarks import LandmarkBasis
from distkern.core.sparse import from_arrays, to_arrays
from distkern.estimators.base import AbstractClassifier
from distkern.kernels import find_kernel, landmark_kernel_names
from distkern.kernels.bandwidth import RULES
from distkern.landmarks import AbstractLandmarkRule, find_landmark_rule, landmark_rule_names
from distkern.losses import AbstractLoss, find_loss, margin_loss_names
from distkern.solvers.coreset import CoresetProblem
from distkern.solvers.kernel_choice import KernelChoice

_DEFAULT_LANDMARKS = 512

CORESET_CONSTRAINTS: dict[str, list[Any]] = {
    "loss": [StrOptions(set(margin_loss_names()))],
    "kernel": [StrOptions(set(landmark_kernel_names()))],
    "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions(set(RULES))],
    "smoothness": [Interval(Real, 0.5, 9.5, closed="both")],
    "lam": [Interval(Real, 0, None, closed="neither")],
    "mu": [Interval(Real, 0, 1, closed="right")],
    "theta": [Interval(Real, 0, 1, closed="left")],
    "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
    "diameter": [Interval(Real, 0, None, closed="left"), None],
    "landmarks": [StrOptions(set(landmark_rule_names()))],
    "stages": [Interval(Integral, 1, None, closed="left")],
    "steps_per_stage": [
        Interval(Integral, 1, None, closed="left"), Interval(Real, 0, None, closed="neither"), None,
    ],
    "order": [StrOptions({"shuffled", "iid"})],
    "projection": ["boolean"],
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "random_state": ["random_state"],
}  # fmt: skip


class AbstractCoresetClassifier(AbstractClassifier):
    """A classifier f(x) = sum_k coef_k k(x, c_k) over landmarks chosen before training.

    Fitted attributes
    -----------------
    landmarks_ : (r, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was fitted on
    sparse rows
    gamma_ : the kernel's gamma
    and those of :class:`~distkern.estimators.base.AbstractClassifier`; intercept_ is zero
    """

    def basis(self, dtype: DTypeLike = np.float32) -> LandmarkBasis:
        kernel = find_kernel(self.kernel).from_parameters(gamma=self.gamma_, **self.kernel_parameters())
        return LandmarkBasis(kernel, self.landmarks_.astype(dtype))

    def kernel_parameters(self) -> dict[str, Any]:
        """Parameters of the kernel beside gamma."""
        return {"smoothness": self.smoothness} if self.kernel == "matern" else {}

    def objective_value(self, losses: float, n_rows: int) -> float:
        """f = 1/2 |w|^2 + (lam / n_rows) sum_i s_i l_i."""
        norms = self.basis(np.float64).squared_norms(self.coef_)
        return float(0.5 * norms.sum() + float(self.lam) * losses / n_rows)

    def _keep(self, state: Any) -> None:
        self.landmarks_, self.coef_, self.gamma_ = state.landmarks, state.coefficients, state.gamma
        self.intercept_ = np.zeros(self.coef_.shape[1])

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return to_arrays("landmarks", self.landmarks_) | {"coefficients": self.coef_}

    def _facts(self) -> dict[str, Any]:
        return {"gamma": float(self.gamma_)}

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        self.landmarks_, self.coef_ = from_arrays("landmarks", arrays), arrays["coefficients"]
        self.intercept_ = np.zeros(self.coef_.shape[1])
        self.gamma_ = facts["gamma"]

    def _parts(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> CoresetProblem:
        return CoresetProblem(
            loss=self._loss(),
            lam=float(self.lam),
            kernel=KernelChoice(find_kernel(self.kernel), self.gamma, self.kernel_parameters()),
            landmarks=self._landmark_rule(),
            class_weights=class_weights,
            mean_weight=mean_weight,
        )

    def _loss(self) -> AbstractLoss:
        return find_loss(self.loss).from_parameters(theta=float(self.theta), mu=float(self.mu))

    def _landmark_rule(self) -> AbstractLandmarkRule:
        n_landmarks = self.n_landmarks
        if n_landmarks is None and self.diameter is None:
            n_landmarks = _DEFAULT_LANDMARKS
        return find_landmark_rule(self.landmarks)(n_landmarks=n_landmarks, diameter=self.diameter)
