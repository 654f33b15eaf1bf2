"""One-class machines by doubly stochastic gradients as a scikit-learn outlier detector."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import OutlierMixin

from distkern.core.parameters import AUTO, NOTHING, Words, declared
from distkern.estimators.estimator import AbstractEstimator
from distkern.maths.features.random import SAMPLER
from distkern.model.random import MOST_FEATURES, NoveltyModel
from distkern.solvers.dsg_novelty import DSGNovelty
from distkern.solvers.hyperparameters import RANDOM_STATE, SCALE

_SOLVER = declared(DSGNovelty)
#: what the rows decide, and what is taken of many of them
_OF_MANY_ROWS = {"polish": None, "n_features": _SOLVER["n_features"].default, "sampler": "quasi_monte_carlo"}
_CHOICES = {
    "polish": replace(
        _SOLVER["polish"],
        default=AUTO,
        kinds=(Words(AUTO), *_SOLVER["polish"].kinds),
        help=f"{_SOLVER['polish'].help}; auto: exact of so many rows that take at most 64 MiB, unless "
        "steps_per_stage asks for steps",
    ),
    "n_features": replace(
        _SOLVER["n_features"],
        default=None,
        kinds=(*_SOLVER["n_features"].kinds, NOTHING),
        help=f"{_SOLVER['n_features'].help}; none: {MOST_FEATURES} with an exact polish, else "
        f"{_SOLVER['n_features'].default}",
    ),
    "sampler": replace(
        SAMPLER,
        default=AUTO,
        kinds=(Words(AUTO), *SAMPLER.kinds),
        help=f"{SAMPLER.help}; auto: quasi_monte_carlo, or monte_carlo of kernels that it is not for",
    ),
}


class DSGNoveltyDetector(OutlierMixin, AbstractEstimator, solver=DSGNovelty):  # type: ignore[misc]
    """Novelty detector by doubly stochastic functional gradients (Dai et al. 2014, Section 4).

    Minimises mean_i s_i max(0, tau - f(x_i)) - nu tau + nu/2 |f|^2 over f and its threshold tau, as
    scikit-learn's ``OneClassSVM`` does (its dual coefficients are n nu times ours). After an exact polish
    tau is the nu-quantile of rows that were held out, each fifth once. Steps learn from four fifths of the
    rows, or from all but about 16,384 of many rows, and tau is the nu-quantile of the others. So about a
    share ``nu`` of fresh rows lies below tau, and fewer of the training rows. With m held-out rows the
    standard deviation of that share is (nu (1 - nu) / m)^1/2. Labels are not used, and data sets may have
    any or none (``distkern shard --task none``).

    The model of up to 2,048 rows is exact in the span of 8,192 random features (``polish``). Its scores have
    a rank correlation of .99 or more with those of the kernel's own machine (measured for nu from .01 to .5).
    Steps make that of more rows, over 2,048 features, and at a small ``nu`` these are most of its error: f is
    then a sum over about n nu rows far from the others, with errors of kernel values of n_features^-1/2, and
    more steps do not make it smaller. More ``n_features`` do: for 4,000 rows with nu = .01 the rank
    correlation is .80 with 2,048 of them and .98 with 8,192, at ten times the time.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = DSGNoveltyDetector(nu=0.05, n_features=256, block_size=64, random_state=0).fit(X)
    >>> model.predict([[0.0, 0.1], [5.0, 5.0]]).tolist(), float(np.mean(model.predict(X) == -1)) <= 0.05
    ([1, -1], True)
    """

    task = "none"
    kind = NoveltyModel
    beside: ClassVar = {**_CHOICES, "scale": SCALE, "random_state": RANDOM_STATE}
    left_open: ClassVar = _OF_MANY_ROWS

    def decision_function(self, X: Any) -> Any:
        """f(x) - tau, (n_rows,): negative for outliers; lazy for Dask arrays and splits."""
        return self._map(X, "decision", np.float64, None)

    def score_samples(self, X: Any) -> Any:
        """f(x), (n_rows,): the lower, the more abnormal; lazy as ``decision_function``."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Any:
        """-1 for outliers and +1 for other rows, (n_rows,); lazy as ``decision_function``."""
        return self._map(X, "label", np.int64, None)
