"""Stochastic dual coordinate ascent as a scikit-learn classifier and regressor."""

from __future__ import annotations

from distkern.estimators.base import AbstractExplicitClassifier, AbstractExplicitRegressor


class SDCAClassifier(AbstractExplicitClassifier, solver="sdca"):
    """Linear classifier over features of a kernel, by dual coordinate ascent (Dai et al. 2014, Table 2).

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2, as
    :class:`~distkern.estimators.svrg.SVRGClassifier` does, by exact steps in the dual variables of single
    rows. It stops when the duality gap is at most ``tol`` times the objective. The algorithm is r-SDCA of Dai
    et al. 2014, n-SDCA with ``features="nystroem"``, or k-SDCA with ``features="kernel"``. In k-SDCA the
    model is a combination of kernels at training rows, and |w| is the norm in the kernel's space. Time and
    communication grow with the number of these rows, at most ``max_support``; the hinge and the
    epsilon-insensitive loss need the fewest.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> SDCAClassifier(nu=1e-3, gamma=4.0, n_features=256, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """


class SDCARegressor(AbstractExplicitRegressor, solver="sdca"):
    """Linear regressor over features of a kernel, by stochastic dual coordinate ascent.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g, so its meaning does not depend on the
    unit of the targets.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> SDCARegressor(n_features=256, random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9
    True
    """
