"""Newton's method over Nystroem, random or linear features as a scikit-learn classifier and regressor."""

from __future__ import annotations

from typing import Any

from distkern.estimators.base import AbstractExplicitClassifier, AbstractExplicitRegressor
from distkern.estimators.estimator import AbstractEstimator
from distkern.model.newton import NewtonModel
from distkern.solvers.newton import Newton


class AbstractNewton(AbstractEstimator):
    """What the classifier and the regressor share."""

    kind = NewtonModel

    def stored_params(self) -> dict[str, Any]:
        # of where it was trained: a run that has ended is the same under any other limit
        return super().stored_params() | {"memory_limit": None}


class NewtonClassifier(AbstractNewton, AbstractExplicitClassifier, solver=Newton):
    """Linear classifier over features of a kernel, by Newton's method on summed Gram matrices.

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2, as
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, in few passes, each of which makes the Hessian of
    all rows; or, with more random or linear features than have a matrix in ``memory_limit`` (without one:
    than 8,192), by products with the Hessian, a pass for each step of preconditioned conjugate gradients
    (``hessian="products"``).

    Measured on one core, logistic loss: a9a (32,561 rows), 16,384 random features, nu = 1e-4: products in a
    limit of 512 MiB end after 19 passes, 59 CPU seconds and 315 MiB at an objective of 0.3334 and 14.8 % of
    test errors, matrices after 187 CPU seconds and 3.6 GiB at 0.3343 and 14.8 %; letter (16,000 rows, 26
    classes), as many features, nu = 1e-5, the same limit: 36 passes, 56 CPU seconds, 352 MiB, 8.55 %. For few
    features and many rows matrices, which are of a sample then, are faster: covtype (464,809 rows), 2,048
    features, gamma = 16, nu = 1e-6: 11 passes, 12 CPU seconds (0.4260, 19.3 %), products 19 passes and 52 to
    59 CPU seconds (0.4261, 19.2 %).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> NewtonClassifier(gamma=4.0, n_landmarks=64, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """


class NewtonRegressor(AbstractNewton, AbstractExplicitRegressor, solver=Newton):
    """Linear regressor over features of a kernel, by Newton's method on summed Gram matrices.

    For the square loss that is ridge regression, in one pass. ``nu`` weighs |g|^2 / 2, where
    f = target_center_ + target_scale_ g: it means the same for targets in any unit.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> NewtonRegressor(random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99
    True
    """
