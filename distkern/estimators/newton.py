"""Newton's method over Nystroem, random or linear features as a scikit-learn classifier and regressor."""

from __future__ import annotations

from typing import Any

from distkern.estimators.base import AbstractExplicitClassifier, AbstractExplicitRegressor
from distkern.estimators.estimator import AbstractEstimator
from distkern.model.features import NewtonModel


class AbstractNewton(AbstractEstimator):
    """Base of the classifier and the regressor."""

    kind = NewtonModel

    def stored_params(self) -> dict[str, Any]:
        # the limit belongs to the training machine; a finished run does not depend on it
        return super().stored_params() | {"memory_limit": None}


class NewtonClassifier(AbstractNewton, AbstractExplicitClassifier, solver="newton"):
    """Linear classifier over features of a kernel, by Newton's method on summed Gram matrices.

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2, as
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, in a few passes that each sum the Hessian over all
    rows. If the Hessian of random or linear features does not fit ``memory_limit`` (without a limit: more
    than 8,192 features), it uses products with the Hessian instead: one pass for each step of preconditioned
    conjugate gradients (``hessian="products"``).

    Measured on one core with the logistic loss:

    - a9a (32,561 rows), 16,384 random features, nu = 1e-4: products within 512 MiB take 19 passes, 59 CPU
      seconds and 315 MiB to reach objective 0.3334 and test error 14.8 %; matrices take 187 CPU seconds and
      3.6 GiB to reach 0.3343 and 14.8 %.
    - letter (16,000 rows, 26 classes), 16,384 random features, nu = 1e-5: products within 512 MiB take 36
      passes, 56 CPU seconds and 352 MiB to reach test error 8.55 %.
    - covtype (464,809 rows), 2,048 features, gamma = 16, nu = 1e-6: matrices of a sample are faster for few
      features and many rows. They take 11 passes and 12 CPU seconds (0.4260, 19.3 %); products take 19 passes
      and 52 to 59 CPU seconds (0.4261, 19.2 %).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> NewtonClassifier(gamma=4.0, n_landmarks=64, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """


class NewtonRegressor(AbstractNewton, AbstractExplicitRegressor, solver="newton"):
    """Linear regressor over features of a kernel, by Newton's method on summed Gram matrices.

    With the square loss this is ridge regression in one pass. ``nu`` weighs |g|^2 / 2, where f =
    target_center_ + target_scale_ g, so its meaning does not depend on the unit of the targets.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> NewtonRegressor(random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99
    True
    """
