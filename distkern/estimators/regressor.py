"""What the regressors share."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from distkern.estimators.estimator import AbstractEstimator
from distkern.runs.data import TrainingData
from distkern.solvers.base import AbstractSolver, Problem


class AbstractRegressor(RegressorMixin, AbstractEstimator):  # type: ignore[misc]
    """A regressor f(x) = basis(x) @ coef_ + intercept_; with several quantiles one output for each.

    Fitted attributes
    -----------------
    mean_weight_ : mean of the rows' weights, which the weights of the losses are divided by
    and those of :class:`~distkern.estimators.estimator.AbstractEstimator`
    """

    task = "regression"
    class_weights_ = None

    def n_outputs(self) -> int:
        """Outputs of the model."""
        return 1

    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        self.mean_weight_ = data.mean_weight()
        problem = data.problem(self.n_outputs(), has_test, self._seed(), real_targets=True)
        return self._solver(None, self.mean_weight_), problem

    def _keep_data(self, data: TrainingData) -> None:
        """Real targets leave nothing to keep."""

    def predict(self, X: Any) -> Any:
        """Predictions (n_rows,), or (n_rows, n_quantiles); lazy for Dask arrays and splits."""
        outputs = self._fitted().n_outputs()
        return self._map(X, "decision", np.float64, None if outputs == 1 else outputs)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R^2 on arrays, or on a split of a data set, which has its own targets."""
        from sklearn.metrics import r2_score

        from distkern.engine.dask.scores import r2
        from distkern.runs.evaluation import score_of

        return score_of(self._fitted(), X, y, sample_weight, "r2", r2, r2_score)
