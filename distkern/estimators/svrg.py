"""SVRG over random, Nystroem or linear features as a scikit-learn classifier and regressor."""

from __future__ import annotations

from distkern.estimators.base import AbstractExplicitClassifier, AbstractExplicitRegressor


class SVRGClassifier(AbstractExplicitClassifier, solver="svrg"):
    """Linear classifier over features of a kernel, by variance-reduced gradients (Li and Poczos 2016, Section
    5).

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2 with linear convergence for smooth losses. The
    features z(x) are computed again wherever they are needed and never stored.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> SVRGClassifier(gamma=4.0, n_features=256, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """


class SVRGRegressor(AbstractExplicitRegressor, solver="svrg"):
    """Linear regressor over features of a kernel, by variance-reduced stochastic gradients.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g, so its meaning does not depend on the
    unit of the targets.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> SVRGRegressor(n_features=256, random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9
    True
    """
