"""What the regressors share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from distkern.common.sparse import Rows
from distkern.engine.dask.arrays import DaskArraySource, is_dask
from distkern.engine.dask.scores import r2
from distkern.engine.executors import open_executor
from distkern.estimators.estimator import AbstractEstimator
from distkern.passes import Reduce
from distkern.runs.data import (
    DESCRIBE_NUMBERS,
    TrainingData,
    numbers_from_arrays,
    numbers_from_described,
    numbers_from_split,
)
from distkern.solvers.base import AbstractSolver, Problem
from distkern.storage.dataset import Split


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
        mean_weight = self.mean_weight_ = float(data.class_totals[0]) / data.source.n_rows
        problem = Problem(
            block_rows=data.source.block_rows,
            n_features=data.source.n_features,
            n_outputs=self.n_outputs(),
            dtype=data.source.dtype,
            has_test=has_test,
            seed=self._seed(),
            max_relative_weight=float(data.class_largest[0]) / mean_weight,
            sparse_numbers=data.source.row_numbers if data.source.is_sparse else None,
            real_targets=True,
        )
        return self._solver(None, mean_weight), problem

    def _data_of_arrays(
        self, features: Rows, targets: NDArray[Any], weights: NDArray[np.float64] | None
    ) -> TrainingData:
        return numbers_from_arrays(features, targets, weights)

    def _data_of_split(self, split: Split) -> TrainingData:
        return numbers_from_split(split)

    def _describing(self) -> Reduce[Any]:
        return DESCRIBE_NUMBERS

    def _data_of_dask(self, source: DaskArraySource, described: Any) -> TrainingData:
        return numbers_from_described(source, described)

    def _keep_data(self, data: TrainingData) -> None:
        """Real targets leave nothing to keep."""

    def predict(self, X: Any) -> Any:
        """Predictions (n_rows,), or (n_rows, n_quantiles); lazy for Dask arrays and splits."""
        outputs = self._fitted().n_outputs()
        return self._map(X, "decision", np.float64, None if outputs == 1 else outputs)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R^2 on arrays, or on a split of a data set, which has its own targets."""
        if isinstance(X, Split):
            from distkern.runs.evaluation import evaluate_split

            with open_executor() as executor:
                return float(evaluate_split(self._fitted(), X, executor)["r2"])
        predicted = self.predict(X)
        if is_dask(predicted, y):
            return r2(y, predicted, sample_weight)
        from sklearn.metrics import r2_score

        return float(r2_score(y, predicted, sample_weight=sample_weight))
