"""NORMA as a scikit-learn classifier and regressor."""

from __future__ import annotations

from distkern.estimators.features import AbstractExplicitClassifier, AbstractExplicitRegressor
from distkern.solvers.compare.norma import NORMA


class NORMAClassifier(AbstractExplicitClassifier, solver=NORMA):
    """Kernel classifier by stochastic functional gradients (Dai et al. 2014, Table 2: NORMA).

    Minimises mean_i s_i l(f(x_i), y_i) + nu/2 |f|^2 by steps that shrink f and add kernels at a batch of
    rows: f is a combination of kernels at training rows, at most ``max_support``. With the paper's steps
    (``step_decay``) the oldest leave it for others; with those of the default no others enter, and a run of
    more rows says so. Over explicit features (``features="random"``, say) it is stochastic gradient descent
    with the same steps.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> NORMAClassifier(loss="hinge", gamma=4.0, stages=5, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """


class NORMARegressor(AbstractExplicitRegressor, solver=NORMA):
    """Kernel regressor by stochastic functional gradients.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets in any
    unit.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> NORMARegressor(random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9
    True
    """
