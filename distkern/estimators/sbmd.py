"""Stochastic block mirror descent as a scikit-learn classifier and regressor."""

from __future__ import annotations

from distkern.estimators.base import AbstractExplicitClassifier, AbstractExplicitRegressor


class SBMDClassifier(AbstractExplicitClassifier, solver="sbmd"):
    """Linear classifier over features of a kernel, by stochastic block mirror descent (Dai et al. 2014, Table
    2).

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2, as
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, for any loss. Each step updates one block of w
    from a batch of rows. The algorithm is r-SBMD of Table 2 of Dai et al. 2014, or n-SBMD with
    ``features="nystroem"``.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = SBMDClassifier(gamma=4.0, n_features=256, batch_size=8, stages=60, random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.95
    True
    """


class SBMDRegressor(AbstractExplicitRegressor, solver="sbmd"):
    """Linear regressor over features of a kernel, by stochastic block mirror descent.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g, so its meaning does not depend on the
    unit of the targets.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> SBMDRegressor(n_features=256, random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9
    True
    """
