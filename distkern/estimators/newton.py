"""Newton's method over Nystroem, random or linear features as a scikit-learn classifier and regressor."""

from __future__ import annotations

from functools import partial

from distkern.estimators.explicit import (
    AbstractExplicitClassifier,
    AbstractExplicitEstimator,
    AbstractExplicitRegressor,
)
from distkern.estimators.functional import CLASSIFIER, REGRESSOR
from distkern.features import AbstractFeatures
from distkern.losses import curved_loss_names
from distkern.solvers.hyperparameters import a_loss, hyperparameters_of
from distkern.solvers.newton import Newton


class AbstractNewton(AbstractExplicitEstimator):
    """What the classifier and the regressor share."""

    solver_type = Newton

    def feature_choice(self) -> AbstractFeatures:
        return super().feature_choice().spanning()


class NewtonClassifier(AbstractNewton, AbstractExplicitClassifier):
    """Linear classifier over features of a kernel, by Newton's method on summed Gram matrices.

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2, as
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, in few passes, each of which makes the Hessian of
    all rows; for as many features as have a matrix in the driver's memory.

    Fitted attributes
    -----------------
    coef_ : (r, n_outputs); of Nystroem features the coefficients of the kernels at ``landmarks_``

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> NewtonClassifier(gamma=4.0, n_landmarks=64, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    name = "newton"
    hyperparameters = hyperparameters_of(
        Newton, **{**CLASSIFIER, "loss": a_loss("logistic", partial(curved_loss_names, "binary", "classes"))}
    )


class NewtonRegressor(AbstractNewton, AbstractExplicitRegressor):
    """Linear regressor over features of a kernel, by Newton's method on summed Gram matrices.

    For the square loss that is ridge regression, in one pass. ``nu`` weighs |g|^2 / 2, where
    f = target_center_ + target_scale_ g: it means the same for targets in any unit.
    """

    name = "newton_regressor"
    hyperparameters = hyperparameters_of(
        Newton, **{**REGRESSOR, "loss": a_loss("square", partial(curved_loss_names, "real"))}
    )
