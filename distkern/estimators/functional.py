"""What the estimators over random features share with each other: loss, kernel."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distkern.estimators.base import AbstractRegressor
from distkern.estimators.declared import fitted
from distkern.estimators.estimator import AbstractEstimator
from distkern.runs.prediction import rearranged
from distkern.solvers.base import AbstractSolver, Problem
from distkern.solvers.risk import Risk
from distkern.solvers.targets import Scaled, scaled_risk

if TYPE_CHECKING:
    from distkern.runs.data import TrainingData


class AbstractFunctionalEstimator(AbstractEstimator):
    """A model whose solver minimises a :class:`~distkern.solvers.risk.Risk` + nu/2 |f|^2."""

    def _keep_coefficients(self, coefficients: NDArray[np.float64], state: Scaled) -> None:
        """Take the coefficients of a state."""
        self.coefficients_ = np.ascontiguousarray(coefficients)
        self.constants_ = state.center.copy()

    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        solver, problem = super().problem(data, has_test=has_test)  # type: ignore[safe-super]
        # before the data are known, a classifier's solver has the outputs of two classes
        fitting: Any = solver
        fitting = replace(fitting, risk=replace(fitting.risk, n_outputs=problem.n_outputs))
        return (fitting, problem) if self._begins is None else self._begun(fitting, problem)

    def _risk_for(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> Risk:
        return Risk(self._loss(), self.n_outputs(), class_weights, mean_weight)

    def objective_value(self, losses: float, n_rows: int) -> float:
        """Mean loss + nu/2 |f|^2."""
        return float(losses / n_rows + 0.5 * self.regulariser() * self._squared_norm())

    def regulariser(self) -> float:
        """nu."""
        return float(self.value("nu"))

    def _squared_norm(self) -> float:
        """|f|^2, summed over the outputs."""
        raise NotImplementedError


class AbstractFunctionalRegressor(AbstractFunctionalEstimator, AbstractRegressor):
    """A regressor of that kind: f = target_center_ + target_scale_ g, and g minimises

    mean_i s_i l(g(x_i), (y_i - target_center_) / target_scale_) + nu/2 |g|^2,

    the objective, which has no unit. Constants of the loss that are residuals are given in the units of the
    targets and divided by target_scale_ too, so that the first term is the mean loss in those units, divided
    by target_scale_^2 for the square and the Huber loss and by target_scale_ for the others.

    Predictions of several quantiles are sorted in each row, so that they do not cross, see
    :func:`~distkern.runs.prediction.rearranged`; the objective is that of g as it is.
    """

    target_center_: NDArray[np.float64] = fitted(
        "(n_outputs,), of the square loss the mean of the targets, of the others their median or the "
        "quantiles that are asked for; of DSG's quantiles those of y - target_scale_ g",
        array="target_center",
    )
    target_scale_: float = fitted(
        "of the square loss the standard deviation of the targets, of the others the spread between their "
        "deciles 1 and 9, divided by 2.563, see :func:`~distkern.solvers.targets.target_scale`",
        array="target_scale",
        write=lambda scale: np.array([scale]),
        read=lambda stored: float(stored[0]),
    )

    def n_outputs(self, n_classes: int = 2) -> int:
        return self._loss().n_outputs()

    def answer(self, output: str) -> partial[NDArray[Any]]:
        own, loss = super().answer(output), self._loss()
        if not loss.predicts_quantiles or loss.levels is None or len(loss.levels) < 2:
            return own
        return partial(rearranged, loss.levels, own)

    def risk(self) -> Risk:
        return scaled_risk(super().risk(), self.target_center_, self.target_scale_)

    def objective_value(self, losses: float, n_rows: int) -> float:
        norm = self._squared_norm() / self.target_scale_**2
        return losses / n_rows + 0.5 * self.regulariser() * norm

    def _keep_coefficients(self, coefficients: NDArray[np.float64], state: Scaled) -> None:
        self.target_center_, self.target_scale_ = state.center, state.target_scale
        super()._keep_coefficients(state.target_scale * coefficients, state)
