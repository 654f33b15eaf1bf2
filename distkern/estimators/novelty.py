"""One-class machines by doubly stochastic gradients as a scikit-learn outlier detector."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import OutlierMixin

from distkern.core.common_parameters import RANDOM_STATE, SCALE
from distkern.core.parameters import AUTO, NOTHING, Words, declared
from distkern.estimators.estimator import AbstractEstimator
from distkern.maths.features.random import SAMPLER
from distkern.model.random import MOST_FEATURES, NoveltyModel
from distkern.solvers.dsg_novelty import DSGNovelty

_SOLVER = declared(DSGNovelty)
#: hyperparameters that depend on the rows, with their values for many rows
_OF_MANY_ROWS = {"polish": None, "n_features": _SOLVER["n_features"].default, "sampler": "quasi_monte_carlo"}
_CHOICES = {
    "polish": replace(
        _SOLVER["polish"],
        default=AUTO,
        kinds=(Words(AUTO), *_SOLVER["polish"].kinds),
        help=f"{_SOLVER['polish'].help}; auto: exact for up to 2,048 rows that take at most 64 MiB, unless "
        "steps_per_stage is given",
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
        help=f"{SAMPLER.help}; auto: quasi_monte_carlo, or monte_carlo for kernels that do not support it",
    ),
}


class DSGNoveltyDetector(OutlierMixin, AbstractEstimator, solver="dsg_novelty"):  # type: ignore[misc]
    """Novelty detector by doubly stochastic functional gradients (Dai et al. 2014, Section 4).

    Minimises mean_i s_i max(0, tau - f(x_i)) - nu tau + nu/2 |f|^2 over f and its threshold tau, as
    scikit-learn's ``OneClassSVM`` does (whose dual coefficients are n nu times ours). After an exact polish,
    tau is the nu-quantile of held-out rows, where each fifth of the rows is held out once. Steps learn from
    four fifths of the rows, or from all but about 16,384 of many rows, and tau is the nu-quantile of the
    rest. About a share ``nu`` of new rows therefore lies below tau, and a smaller share of the training rows.
    With m held-out rows the standard deviation of that share is (nu (1 - nu) / m)^1/2. Labels are not used,
    and data sets need none (``distkern shard --task none``).

    For up to 2,048 rows the model is exact in the span of 8,192 random features (``polish``). The rank
    correlation of its scores with those of the kernel's exact machine is at least .99 (measured for nu from
    .01 to .5). Larger data sets use steps over 2,048 features. At a small ``nu`` these features cause most of
    the error: f is a sum over about n nu rows far from the others, with errors of kernel values of
    n_features^-1/2. More steps do not reduce this error; more ``n_features`` do. For 4,000 rows with nu = .01
    the rank correlation is .80 with 2,048 features and .98 with 8,192, at ten times the time.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> model = DSGNoveltyDetector(nu=0.05, n_features=256, block_size=64, random_state=0).fit(X)
    >>> model.predict([[0.0, 0.1], [5.0, 5.0]]).tolist(), float(np.mean(model.predict(X) == -1)) <= 0.05
    ([1, -1], True)
    """

    task = "none"
    kind = NoveltyModel
    extra_parameters: ClassVar = {**_CHOICES, "scale": SCALE, "random_state": RANDOM_STATE}
    left_open: ClassVar = _OF_MANY_ROWS

    def decision_function(self, X: Any) -> Any:
        """Compute f(x) - tau, (n_rows,): negative for outliers; lazy for Dask collections and splits."""
        return self._map(X, "decision", np.float64, None)

    def score_samples(self, X: Any) -> Any:
        """Compute f(x), (n_rows,): lower is more abnormal; lazy as :meth:`decision_function`."""
        return self.decision_function(X) + self.offset_

    def predict(self, X: Any) -> Any:
        """Predict -1 for outliers and +1 for other rows, (n_rows,); lazy as :meth:`decision_function`."""
        return self._map(X, "label", np.int64, None)
