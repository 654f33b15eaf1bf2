"""What the estimators over random features share with each other: loss, kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from distkern.core.errors import InputError
from distkern.core.types import Block, Floats
from distkern.estimators.base import AbstractClassifier
from distkern.estimators.data import TrainingData
from distkern.estimators.estimator import AbstractEstimator
from distkern.estimators.regressor import AbstractRegressor
from distkern.kernels import feature_kernel_names, find_kernel
from distkern.kernels.bandwidth import parse_rule
from distkern.losses import AbstractLoss, find_loss, loss_names
from distkern.samplers import sampler_names
from distkern.solvers.base import AbstractSolver, Problem
from distkern.solvers.coreset import KernelChoice
from distkern.solvers.risk import Risk, n_outputs

#: of the losses' own constants
_LOSS_CONSTANTS = ("theta", "mu", "delta", "epsilon", "quantiles")

FUNCTIONAL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(feature_kernel_names()))],
    "gamma": [Interval(Real, 0, None, closed="neither"), str],
    "kernel_params": [dict, None],
    "sampler": [StrOptions(set(sampler_names()))],
    "nu": [Interval(Real, 0, None, closed="left")],
    "random_state": ["random_state"],
}
CLASSIFIER_CONSTRAINTS: dict[str, list[Any]] = {
    "loss": [StrOptions(set(loss_names("binary", "classes")))],
    "theta": [Interval(Real, 0, 1, closed="left")],
    "mu": [Interval(Real, 0, 1, closed="right")],
    "class_weight": [StrOptions({"balanced"}), dict, None],
}
REGRESSOR_CONSTRAINTS: dict[str, list[Any]] = {
    "loss": [StrOptions(set(loss_names("real")))],
    "delta": [Interval(Real, 0, None, closed="neither")],
    "epsilon": [Interval(Real, 0, None, closed="left")],
    "quantiles": ["array-like"],
}


class AbstractFunctionalEstimator(AbstractEstimator):
    """A model whose solver minimises a :class:`~distkern.solvers.risk.Risk` + nu/2 |f|^2."""

    def _loss(self) -> AbstractLoss:
        constants = {name: getattr(self, name) for name in _LOSS_CONSTANTS if hasattr(self, name)}
        return find_loss(self.loss).from_parameters(**constants)

    def _kernel_choice(self) -> KernelChoice:
        choice = KernelChoice(find_kernel(self.kernel), self.gamma, dict(self.kernel_params or {}))
        if isinstance(self.gamma, str):
            parse_rule(self.gamma)
        if not choice.has_gamma and self.gamma != "scale":
            raise InputError(f"kernel {self.kernel} has no gamma", where="gamma", mend="leave gamma out")
        choice.with_gamma(1.0)
        return choice

    def _risk_for(self, outputs: int, class_weights: NDArray[np.float64] | None, mean_weight: float) -> Risk:
        return Risk(self._loss(), outputs, class_weights, mean_weight)

    def risk(self) -> Risk:
        """The risk that was minimised, of the fitted model."""
        return self._risk_for(self.coef_.shape[1], self.class_weights_, self.mean_weight_)

    def losses(self) -> Callable[[Floats, Block], float]:
        return partial(_losses, self.risk())

    def objective_value(self, losses: float, n_rows: int) -> float:
        """Mean loss + nu/2 |f|^2."""
        return losses / n_rows + 0.5 * float(self.nu) * self._squared_norm()

    def _squared_norm(self) -> float:
        """|f|^2, summed over the outputs."""
        raise NotImplementedError


class AbstractFunctionalClassifier(AbstractFunctionalEstimator, AbstractClassifier):
    """A classifier of that kind."""

    def n_outputs(self, n_classes: int) -> int:
        return n_outputs(self._loss(), n_classes)

    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        solver, problem = super().problem(data, has_test=has_test)
        fitting: Any = solver
        return replace(fitting, risk=replace(fitting.risk, n_outputs=problem.n_outputs)), problem

    def _least_outputs(self) -> int:
        """For a solver that is only made to check its hyperparameters."""
        return self.n_outputs(2)


class AbstractFunctionalRegressor(AbstractFunctionalEstimator, AbstractRegressor):
    """A regressor of that kind."""

    def n_outputs(self) -> int:
        return n_outputs(self._loss())

    def _least_outputs(self) -> int:
        return self.n_outputs()


def _losses(risk: Risk, predictions: Floats, block: Block) -> float:
    return float(risk.values(predictions, risk.targets(block), risk.weights(block)).sum())
