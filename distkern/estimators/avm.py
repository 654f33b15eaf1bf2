"""AVM as a scikit-learn classifier."""

from __future__ import annotations

from distkern.estimators.base import AbstractClassifier
from distkern.model.features import LandmarkModel


class AVMClassifier(AbstractClassifier, solver="avm"):
    """Kernel classifier by the approximation vector machine (Le et al. 2017; Tan et al. 2019).

    Minimises the objective of :class:`CSVRGClassifier` by stochastic gradients that are moved to landmarks,
    with steps 1/t; ``lam`` is 1 / lambda of Le et al. A pass costs less than a pass of CSVRG, but convergence
    is slower: O(1/t).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> AVMClassifier(gamma=4.0, random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    kind = LandmarkModel
