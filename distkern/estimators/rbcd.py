"""Random block coordinate descent as a scikit-learn classifier and regressor."""

from __future__ import annotations

from distkern.estimators.features import AbstractExplicitClassifier, AbstractExplicitRegressor
from distkern.solvers.compare.rbcd import RBCD


class RBCDClassifier(AbstractExplicitClassifier, solver=RBCD):
    """Linear classifier over features of a kernel, by random block coordinate descent (Dai et al. 2014).

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2, as
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, a block of w at a time, each by a step over all
    rows; for losses whose slope does not jump. It is r-RBCD of Table 2 of Dai et al. 2014, and n-RBCD with
    ``features="nystroem"``. Features are made anew for each step and never stored.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> RBCDClassifier(gamma=4.0, n_features=256, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """


class RBCDRegressor(AbstractExplicitRegressor, solver=RBCD):
    """Linear regressor over features of a kernel, by block coordinate descent.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets in any
    unit.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> RBCDRegressor(n_features=256, random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9
    True
    """
