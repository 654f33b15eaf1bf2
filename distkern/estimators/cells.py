"""Exact machines in cells as a scikit-learn classifier and regressor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from distkern.core import blas
from distkern.core.common_parameters import CLASS_WEIGHT, RANDOM_STATE, THRESHOLD
from distkern.core.parameters import AUTO
from distkern.estimators.base import AbstractClassifier, AbstractFunctionalRegressor
from distkern.estimators.estimator import AbstractEstimator
from distkern.maths.losses.base import AbstractDualLoss
from distkern.model.cells import CellModel
from distkern.runs.data import TrainingData
from distkern.runs.recipe import Recipe
from distkern.solvers.base import AbstractSolver
from distkern.solvers.cells import Cells

if TYPE_CHECKING:
    from distkern.choose.folds import TriedMachine
    from distkern.estimators.arena import ArenaSizes


@dataclass(frozen=True)
class CellRecipe(Recipe):
    """How machines in cells are learned: open settings are searched before the run.

    Attributes
    ----------
    search_result : the machine that a search chose; None if everything is given or the rows do not allow a
        search
    reports_score : whether to measure the score on held-out rows even if nothing else needs these rows
    """

    search_result: TriedMachine | None = None
    reports_score: bool = False
    chooses = True

    def chosen_for(self, data: TrainingData, *, has_test: bool) -> CellRecipe:
        cells = cast("Cells", self.solver)
        if self.search_result is not None or not cells.space.is_open(data.source.n_features):
            return self
        # a loaded model predicts without this import
        from distkern.estimators.arena import Arena

        with blas.single_threaded():
            weights = self.class_weights(data) if self.task == "classification" else None
            mean = data.mean_weight(weights)
            arena = Arena.of(data, self.settings.seed(), self._arena_sizes(data), weights)
            if not arena.sample.tells:
                return self
            space, loss = cells.space, cells.risk.loss
            assert isinstance(loss, AbstractDualLoss)
            # ridges are for rows with mean weight 1
            ridges = None if isinstance(cells.C, str) else (1.0 / (cells.C * mean),)
            maps = space.maps(data.source.n_features)
            found = arena.exact(maps, space.kernels, ridges, loss, space.trend, is_wide=space.gamma == AUTO)
        return replace(self, search_result=found)

    @property
    def solver(self) -> AbstractSolver[Any]:
        known: Any = super().solver
        found: Cells = replace(known, search_result=self.search_result, reports_score=self.reports_score)
        return found

    def choosing_bytes(self, data: TrainingData) -> tuple[int, bool]:
        cells = cast("Cells", self.solver)
        if not cells.space.is_open(data.source.n_features):
            return 0, False
        return self._arena_sizes(data).bytes_for(data.source, always_exact=True)

    def _arena_sizes(self, data: TrainingData) -> ArenaSizes:
        from distkern.estimators.arena import ArenaSizes

        source = data.source
        rows = cast("Cells", self.solver).rows_of_cell(source.n_rows, source.n_features)
        return ArenaSizes.of(source, len(data.classes), cell_rows=rows)


class AbstractCells(AbstractEstimator):
    """Base of the classifier and the regressor."""

    kind = CellModel

    def recipe(self) -> CellRecipe:
        return CellRecipe(**vars(super().recipe()))

    @property
    def metric_importances_(self) -> NDArray[np.float64]:
        """Weight of each column of X in the learned metric, (n_features_in_,), with sum 1; missing without a
        metric.

        The weight of a feature is its variance, scaled, times its diagonal entry of the metric, which is the
        average squared slope of the targets along it (Radhakrishnan et al. 2024); that of a column is the sum
        over its features. It does not measure what the model would lose without the column.
        """
        weights, table = self.model_.metric_weights, self.model_.columns.table
        if weights is None:
            raise AttributeError("the model has no learned metric")
        return weights if table is None else table.by_column(weights)

    @property
    def gamma_(self) -> float:
        """The kernel's gamma over mapped rows."""
        return self._cells.settled.gamma

    @property
    def cost_(self) -> float:
        """The value of C."""
        return self._cells.settled.cost

    @property
    def _cells(self) -> CellModel:
        model = self.model_
        assert isinstance(model, CellModel)
        return model


class CellClassifier(AbstractCells, AbstractClassifier, solver="cells"):
    """Exact kernel machines in cells of the input, with several classes by one-vs-rest.

    The rows are divided into cells of at most ``max_cell_rows`` rows. The machine of a cell minimises 1/2
    |w|^2 + C sum_i s_i l(f(x_i), y_i) over its rows, and predicts new rows in that cell. s_i is the weight of
    a row times the weight of its class: a row of weight 2 equals two rows, and doubling all weights doubles
    C. C s_i is limited to 10^10.

    The losses are not likelihoods. With ``probability=True`` some cells are solved again without a fifth of
    their rows, and ``predict_proba`` is a sigmoid of the decision values fitted to those rows (Platt 1999).
    Several classes have one sigmoid each and a common power (Guo et al. 2017), normalised to sum 1, so the
    most probable class can differ from the predicted label if both are close. Sample weights count in this
    fit; class weights do not.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> CellClassifier(max_cell_rows=100, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    extra_parameters: ClassVar = {
        "trend": None,
        "class_weight": CLASS_WEIGHT,
        "threshold": THRESHOLD,
        "random_state": RANDOM_STATE,
    }


class CellRegressor(AbstractCells, AbstractFunctionalRegressor, solver="cells"):
    """Exact kernel machines in cells of the input, for real targets.

    f = target_center_ + target_scale_ g + t, where g minimises the objective of :class:`CellClassifier` for
    what t leaves. t is 0, or with ``trend`` a linear function of the columns, fitted to all rows by ridge
    regression (:class:`~distkern.maths.maps.trend.LinearTrend`), which ends a little beyond their ranges.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> CellRegressor(random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    extra_parameters: ClassVar = {"probability": None, "random_state": RANDOM_STATE}
