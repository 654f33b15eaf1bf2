"""AVM as a scikit-learn classifier."""

from __future__ import annotations

from distkern.estimators.base import AbstractClassifier
from distkern.model.features import LandmarkModel
from distkern.solvers.avm import AVM


class AVMClassifier(AbstractClassifier, solver=AVM):
    """Approximation vector machine: gradients moved to landmarks (Le et al. 2017; Tan et al. 2019).

    Minimises the objective of :class:`CSVRGClassifier` with steps 1/t, so that ``lam`` is 1 / lambda of
    Le et al. Cheaper for each pass than CSVRG and slower to converge: O(1/t).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> AVMClassifier(gamma=4.0, random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    kind = LandmarkModel
