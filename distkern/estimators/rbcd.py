"""Random block coordinate descent as a scikit-learn classifier and regressor."""

from __future__ import annotations

from distkern.estimators.base import AbstractExplicitClassifier, AbstractExplicitRegressor


class RBCDClassifier(AbstractExplicitClassifier, solver="rbcd"):
    """Linear classifier over features of a kernel, by random block coordinate descent (Dai et al. 2014).

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2, as
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, for losses with a continuous derivative. Each step
    updates one block of w from all rows. The algorithm is r-RBCD of Table 2 of Dai et al. 2014, or n-RBCD
    with ``features="nystroem"``. Features are computed again for each step and never stored.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> RBCDClassifier(gamma=4.0, n_features=256, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """


class RBCDRegressor(AbstractExplicitRegressor, solver="rbcd"):
    """Linear regressor over features of a kernel, by random block coordinate descent.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g, so its meaning does not depend on the
    unit of the targets.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> RBCDRegressor(n_features=256, random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9
    True
    """
