"""One-class machines by doubly stochastic gradients as a scikit-learn outlier detector."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import OutlierMixin
from sklearn.utils.validation import _check_sample_weight, validate_data

from distkern.common.sparse import Rows, SparseRows
from distkern.estimators.dsg import AbstractDSG
from distkern.losses.novelty import Novelty
from distkern.runs.data import TrainingData
from distkern.runs.prediction import side_of
from distkern.solvers.base import AbstractSolver, Problem
from distkern.solvers.dsg import DSG
from distkern.solvers.dsg_novelty import DSGNovelty, NoveltyState
from distkern.solvers.hyperparameters import RANDOM_STATE, SCALE, hyperparameters_of


class DSGNoveltyDetector(OutlierMixin, AbstractDSG):  # type: ignore[misc]
    """Novelty detector by doubly stochastic functional gradients (Dai et al. 2014, Section 4).

    Minimises mean_i s_i max(0, tau - f(x_i)) - nu tau + nu/2 |f|^2 over f and its threshold tau, as
    scikit-learn's ``OneClassSVM`` does (its dual coefficients are n nu times ours). A share ``nu`` of the
    training rows, and at most that, lies below tau: exactly of up to 16,384 rows, and within about 10^-5 of
    more. Labels are not looked at, and data sets may have any or none (``distkern shard --task none``).

    Fitted attributes
    -----------------
    offset_ : tau: ``decision_function`` is ``score_samples`` less it
    and those of :class:`AbstractDSG`

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = DSGNoveltyDetector(nu=0.05, n_features=256, block_size=64, random_state=0).fit(X)
    >>> model.predict([[0.0, 0.1], [5.0, 5.0]]).tolist(), float(np.mean(model.predict(X) == -1)) <= 0.05
    ([1, -1], True)
    """

    name = "dsg_novelty"
    task = "none"
    class_weights_ = None
    solver_type: ClassVar[type[DSG]] = DSGNovelty
    least_visits = 32
    hyperparameters = hyperparameters_of(DSGNovelty, scale=SCALE, random_state=RANDOM_STATE)

    def _loss(self) -> Novelty:
        return Novelty(self.value("nu"))

    def _least_outputs(self) -> int:
        return 1

    def n_outputs(self) -> int:
        """Outputs of the model."""
        return 1

    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        self.mean_weight_ = data.mean_weight()
        problem = data.problem(1, has_test, self._seed(), error_name="outliers")
        return self._solver(None, self.mean_weight_), problem

    def _validated(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[Rows, NDArray[Any], NDArray[np.float64] | None]:
        raw = validate_data(
            self, X, dtype=[np.float64, np.float32], order="C", accept_sparse="csr", reset=reset
        )
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, raw, dtype=np.float64)
        rows = SparseRows.of_scipy(raw) if issparse(raw) else raw
        return rows, np.zeros(len(rows), dtype=np.int32), weights

    def _keep_data(self, data: TrainingData) -> None:
        """There is nothing to keep of labels that are not looked at."""

    def _keep_coefficients(self, coefficients: NDArray[np.float64], state: Any) -> None:
        assert isinstance(state, NoveltyState)
        super()._keep_coefficients(coefficients, state)
        self.intercept_, self.offset_ = np.array([-state.threshold]), state.threshold

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        super()._restore(arrays, facts, where)
        self.offset_ = -float(self.intercept_[0])

    def objective_value(self, losses: float, n_rows: int) -> float:
        """Mean of max(0, tau - f) - nu tau + nu/2 |f|^2."""
        return super().objective_value(losses, n_rows) - float(self.value("nu")) * self.offset_

    # -- prediction

    def answer(self, output: str) -> partial[NDArray[Any]]:
        return partial(side_of, self.intercept_, output)

    def decision_function(self, X: Any) -> Any:
        """f(x) - tau, (n_rows,): negative for outliers; lazy for Dask arrays and splits."""
        return self._map(X, "decision", np.float64, None)

    def score_samples(self, X: Any) -> Any:
        """f(x), (n_rows,): the lower, the more abnormal; lazy as ``decision_function``."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Any:
        """-1 for outliers and +1 for other rows, (n_rows,); lazy as ``decision_function``."""
        return self._map(X, "label", np.int64, None)
