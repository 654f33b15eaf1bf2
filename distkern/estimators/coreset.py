"""The hyperparameters that the estimators over landmarks share."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from distkern.estimators.base import AbstractKernelClassifier
from distkern.kernels import find_kernel, kernel_names
from distkern.kernels.bandwidth import RULES
from distkern.landmarks import AbstractLandmarkRule, find_landmark_rule, landmark_rule_names
from distkern.losses import AbstractLoss, find_loss, loss_names
from distkern.solvers.coreset import CoresetProblem, KernelChoice

_DEFAULT_CORES = 512

CORESET_CONSTRAINTS: dict[str, list[Any]] = {
    "loss": [StrOptions(set(loss_names()))],
    "kernel": [StrOptions(set(kernel_names()))],
    "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions(set(RULES))],
    "smoothness": [Interval(Real, 0.5, 9.5, closed="both")],
    "lam": [Interval(Real, 0, None, closed="neither")],
    "mu": [Interval(Real, 0, 1, closed="right")],
    "theta": [Interval(Real, 0, 1, closed="left")],
    "n_cores": [Interval(Integral, 1, None, closed="left"), None],
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


class AbstractCoresetClassifier(AbstractKernelClassifier):
    """A kernel classifier over landmarks chosen before training."""

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
        n_cores = self.n_cores
        if n_cores is None and self.diameter is None:
            n_cores = _DEFAULT_CORES
        return find_landmark_rule(self.landmarks)(n_cores=n_cores, diameter=self.diameter)
