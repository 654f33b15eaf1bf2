"""CSVRG as a scikit-learn classifier."""

from __future__ import annotations

from distkern.estimators.base import AbstractClassifier
from distkern.model.features import CSVRGModel


class CSVRGClassifier(AbstractClassifier, solver="csvrg"):
    """Kernel classifier by coreset variance-reduced stochastic gradients (Tan et al. 2019, Algorithm 1).

    Minimises 1/2 |w|^2 + (lam / m) sum_i l(y_i <w, phi(x_i)>) over w in the span of at most ``n_landmarks``
    landmarks. For smooth losses it converges linearly to the optimum of that span. With ``projection=True``,
    as in the paper, it converges to a fixed point whose distance from the optimum depends on the distance of
    the rows from their landmarks. Several classes are learned one-vs-rest over the same landmarks and share
    every kernel row.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> CSVRGClassifier(gamma=4.0, lam=64.0, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    kind = CSVRGModel
