"""Pegasos as a scikit-learn classifier."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from distkern.estimators.features import FEATURE_CONSTRAINTS, AbstractFeatureClassifier
from distkern.losses import margin_loss_names
from distkern.solvers.pegasos import Pegasos


class PegasosClassifier(AbstractFeatureClassifier):
    """Linear support vector machine on rows, random features or landmarks, by Pegasos.

    Minimises lam/2 |w|^2 + mean_i s_i l(y_i (<w, phi(x_i)> + b)), several classes one-vs-rest in one pass
    over the rows (Shalev-Shwartz, Singer, Srebro 2007; compared with in simba.txt and dsg.txt).

    Parameters
    ----------
    features : "linear" (the rows themselves, dense or sparse), "random" (random features of ``kernel``) or
        "landmarks" (k(x, c) at landmarks c, regularised as plain numbers)
    loss : "hinge", "squared_hinge", "logistic", ... : any loss of the margin
    kernel, gamma, smoothness : of "random" and "landmarks"; gamma is a number, "scale" or "median";
        smoothness is the Matern kernel's
    n_features, sampler : of "random": how many, and how they are drawn
    n_landmarks, landmarks : of "landmarks": at most this many (None: 512), chosen by "uniform" or "coverage"
    lam : > 0, weight of |w|^2 / 2 against the mean loss: larger fits less closely, unlike CSVRG's
    mu, theta : of the loss "odm", as for :class:`~distkern.estimators.csvrg.CSVRGClassifier`
    batch_size : rows of a step
    stages : the model is measured after each
    steps_per_stage : int: rows; float: passes over the rows; None: one pass, or more where that would be less
        than 1 / lam steps (at most 2^14 of them)
    projection : keep w in the ball that holds the optimum
    averaging : the model is the mean of the iterates weighted with step^averaging; None: the last iterate
    fit_intercept : learn b, as the weight of a constant feature 1, regularised with the others
    order : "shuffled": every row once, then again in another order; "iid": draws with replacement, block by
        block, which leave out some rows and take others twice
    class_weight : None, "balanced" or {label: weight}
    random_state : int, RandomState or None

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> model = PegasosClassifier(features="random", gamma=4.0, n_features=256, random_state=0)
    >>> model.fit(X, y).score(X, y) > 0.98
    True
    """

    name = "pegasos"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **FEATURE_CONSTRAINTS,
        "loss": [StrOptions(set(margin_loss_names()))],
        "lam": [Interval(Real, 0, None, closed="neither")],
        "mu": [Interval(Real, 0, 1, closed="right")],
        "theta": [Interval(Real, 0, 1, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "stages": [Interval(Integral, 1, None, closed="left")],
        "steps_per_stage": [
            Interval(Integral, 1, None, closed="left"), Interval(Real, 0, None, closed="neither"), None,
        ],
        "projection": ["boolean"],
        "averaging": [Interval(Integral, 0, 8, closed="both"), None],
        "fit_intercept": ["boolean"],
        "order": [StrOptions({"shuffled", "iid"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "random_state": ["random_state"],
    }  # fmt: skip

    def __init__(
        self, *, features: str = "linear", loss: str = "hinge", kernel: str = "rbf",
        gamma: float | str = "scale", smoothness: float = 1.5, n_features: int = 1024,
        sampler: str = "monte_carlo", n_landmarks: int | None = None, landmarks: str = "uniform",
        lam: float = 1e-4, mu: float = 0.4, theta: float = 0.4, batch_size: int = 1, stages: int = 5,
        steps_per_stage: int | float | None = None, projection: bool = True, averaging: int | None = 3,
        fit_intercept: bool = True, order: str = "shuffled",
        class_weight: dict[Any, float] | str | None = None, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.features = features
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.smoothness = smoothness
        self.n_features = n_features
        self.sampler = sampler
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.lam = lam
        self.mu = mu
        self.theta = theta
        self.batch_size = batch_size
        self.stages = stages
        self.steps_per_stage = steps_per_stage
        self.projection = projection
        self.averaging = averaging
        self.fit_intercept = fit_intercept
        self.order = order
        self.class_weight = class_weight
        self.random_state = random_state

    def objective_value(self, losses: float, n_rows: int) -> float:
        """lam/2 (|w|^2 + b^2) + mean_i s_i l_i."""
        norms = np.square(self.coef_).sum(axis=0) + np.square(self.intercept_)
        return float(0.5 * float(self.lam) * norms.sum() + losses / n_rows)

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> Pegasos:
        return Pegasos(
            self.feature_choice(),
            self._loss(),
            lam=float(self.lam),
            batch_size=int(self.batch_size),
            stages=self.stages,
            steps_per_stage=self.steps_per_stage,
            projection=self.projection,
            averaging=self.averaging,
            fit_intercept=self.fit_intercept,
            order=self.order,
            class_weights=class_weights,
            mean_weight=mean_weight,
        )
