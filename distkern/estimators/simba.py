"""SIMBA as a scikit-learn classifier."""

from __future__ import annotations

from typing import ClassVar

from distkern.core.common_parameters import CLASS_WEIGHT, RANDOM_STATE, SCALE
from distkern.estimators.base import AbstractClassifier
from distkern.model.features import SIMBAModel


class SIMBAClassifier(AbstractClassifier, solver="simba"):
    """Linear support vector machine that reads single rows and columns (Hazan et al. 2011, Algorithm 1).

    Maximises the margin gamma of <w, x> + b with |w| <= 1, where rows may miss the margin by nu on average,
    in units of the largest row norm. Weights and constant are then scaled to margin 1. Several classes are
    learned one-vs-rest with one common nu. A data set needs a feature-major copy (``distkern shard
    --columns``) unless ``features`` are random; Dask arrays are written to a temporary one. ``rows_read`` and
    ``bytes_read`` count the passes. ``feature_accesses`` counts the entries read in the rounds, without the
    trials of nu.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(400, 40, class_sep=2.0, random_state=0)
    >>> model = SIMBAClassifier(max_rounds=2000, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    kind = SIMBAModel
    extra_parameters: ClassVar = {"class_weight": CLASS_WEIGHT, "scale": SCALE, "random_state": RANDOM_STATE}
