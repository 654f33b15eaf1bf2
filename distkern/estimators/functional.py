"""What the estimators over random features share with each other: loss, kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from distkern.solvers.kernel_choice import KernelChoice
from distkern.solvers.risk import Risk, n_outputs
from distkern.solvers.targets import Scaled, scaled_risk

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
    "delta": [Interval(Real, 0, None, closed="neither"), None],
    "epsilon": [Interval(Real, 0, None, closed="left"), None],
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

    def _keep_coefficients(self, coefficients: NDArray[np.float64], state: Scaled) -> None:
        """Take the coefficients of a state."""
        self.coef_ = np.ascontiguousarray(coefficients)
        self.intercept_ = np.zeros(coefficients.shape[1])

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
    """A regressor of that kind: f = target_center_ + target_scale_ g, and g minimises

    mean_i s_i l(g(x_i), (y_i - target_center_) / target_scale_) + nu/2 |g|^2,

    the objective, which has no unit. Constants of the loss that are residuals are given in the units of the
    targets and divided by target_scale_ too, so that the first term is the mean loss in those units, divided
    by target_scale_^2 for the square and the Huber loss and by target_scale_ for the others.

    Fitted attributes
    -----------------
    target_center_ : (n_outputs,), of the square loss the mean of the targets, of the others their median or
        the quantiles that are asked for
    target_scale_ : of the square loss the standard deviation of the targets, of the others the spread between
        their deciles 1 and 9, divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`
    and those of :class:`~distkern.estimators.regressor.AbstractRegressor`, in the units of the targets
    """

    def n_outputs(self) -> int:
        return n_outputs(self._loss())

    def risk(self) -> Risk:
        return scaled_risk(super().risk(), self.target_center_, self.target_scale_)

    def objective_value(self, losses: float, n_rows: int) -> float:
        constant = float(np.square(self.intercept_ - self.target_center_).sum())
        norm = (self._squared_norm() + constant) / self.target_scale_**2
        return losses / n_rows + 0.5 * float(self.nu) * norm

    def _keep_coefficients(self, coefficients: NDArray[np.float64], state: Scaled) -> None:
        self.target_center_, self.target_scale_ = state.center, state.target_scale
        super()._keep_coefficients(state.target_scale * coefficients, state)
        self.intercept_ = state.center.copy()

    def _arrays(self) -> dict[str, NDArray[Any]]:
        scale = np.array([self.target_scale_])
        return super()._arrays() | {"target_center": self.target_center_, "target_scale": scale}

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        super()._restore(arrays, facts, where)
        self.target_center_, self.target_scale_ = arrays["target_center"], float(arrays["target_scale"][0])

    def _least_outputs(self) -> int:
        return self.n_outputs()


def _losses(risk: Risk, predictions: Floats, block: Block) -> float:
    if risk.is_real:
        predictions = risk.scaled(predictions.astype(np.float64))
    return float(risk.values(predictions, risk.targets(block), risk.weights(block)).sum())
