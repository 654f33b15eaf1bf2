"""Pegasos as a scikit-learn classifier."""

from __future__ import annotations

from distkern.estimators.base import AbstractClassifier
from distkern.model.features import PegasosModel


class PegasosClassifier(AbstractClassifier, solver="pegasos"):
    """Linear support vector machine over rows, random features or landmarks, by Pegasos.

    Minimises lam/2 |w|^2 + mean_i s_i l(y_i (<w, phi(x_i)> + b)), with several classes one-vs-rest in the
    same pass over the rows (Shalev-Shwartz, Singer, Srebro 2007; a baseline of Hazan et al. 2011 and Dai et
    al. 2014).

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = PegasosClassifier(features="random", gamma=4.0, n_features=256, random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.98
    True
    """

    kind = PegasosModel
