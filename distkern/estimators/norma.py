"""NORMA as a scikit-learn classifier and regressor."""

from __future__ import annotations

from distkern.estimators.base import AbstractExplicitClassifier, AbstractExplicitRegressor


class NORMAClassifier(AbstractExplicitClassifier, solver="norma"):
    """Kernel classifier by stochastic functional gradients (Dai et al. 2014, Table 2: NORMA).

    Minimises mean_i s_i l(f(x_i), y_i) + nu/2 |f|^2. Each step shrinks f and adds kernels at a batch of rows,
    so f is a combination of kernels at no more than ``max_support`` training rows. With the steps of the
    paper (``step_decay``) the oldest rows make room for new ones. With the default steps no more rows enter,
    and a run with more rows reports that. Over explicit features (such as ``features="random"``) the
    algorithm is stochastic gradient descent with the same steps.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> NORMAClassifier(loss="hinge", gamma=4.0, stages=5, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """


class NORMARegressor(AbstractExplicitRegressor, solver="norma"):
    """Kernel regressor by stochastic functional gradients.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g, so its meaning does not depend on the
    unit of the targets.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> NORMARegressor(random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.9
    True
    """
