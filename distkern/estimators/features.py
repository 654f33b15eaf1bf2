"""The estimators over explicit features and over landmarks: kinds of their models."""

from __future__ import annotations

from distkern.estimators.base import AbstractClassifier, AbstractRegressor
from distkern.model.features import ExplicitModel, LandmarkModel


class AbstractExplicitClassifier(AbstractClassifier):
    """A classifier that is linear in features, found by a solver over explicit ones."""

    kind = ExplicitModel


class AbstractFunctionalRegressor(AbstractRegressor):
    """A regressor f = target_center_ + target_scale_ g, where g minimises

    mean_i s_i l(g(x_i), (y_i - target_center_) / target_scale_) + nu/2 |g|^2,

    the objective, which has no unit. Constants of the loss that are residuals are given in the units of the
    targets and divided by target_scale_ too, so that the first term is the mean loss in those units, divided
    by target_scale_^2 for the square and the Huber loss and by target_scale_ for the others.

    Predictions of several quantiles are sorted in each row, so that they do not cross, see
    :func:`~distkern.model.prediction.rearranged`; the objective is that of g as it is.
    """


class AbstractExplicitRegressor(AbstractFunctionalRegressor):
    """A regressor that is linear in features, found by a solver over explicit ones.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets in any
    unit.
    """

    kind = ExplicitModel


class AbstractCoresetClassifier(AbstractClassifier):
    """A classifier f(x) = sum_k coef_k k(x, c_k) over landmarks chosen before training."""

    kind = LandmarkModel
