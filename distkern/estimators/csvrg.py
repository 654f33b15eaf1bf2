"""CSVRG as a scikit-learn classifier."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from distkern.estimators.coreset import CORESET_CONSTRAINTS, AbstractCoresetClassifier
from distkern.solvers.csvrg import CSVRG


class CSVRGClassifier(AbstractCoresetClassifier):
    """Kernel machine trained by coreset variance-reduced stochastic gradients (csvrg.txt, Algorithm 1).

    Minimises 1/2 |w|^2 + (lam / m) sum_i l(y_i <w, phi(x_i)>) over w in the span of at most ``n_landmarks``
    landmarks, with linear convergence to a fixed point near the optimum. Several classes are learnt
    one-vs-rest over the same landmarks, sharing every kernel row.

    Parameters
    ----------
    loss : "odm" (optimal margin distribution), "squared_hinge", "hinge" or "logistic" (gives probabilities)
    kernel : "rbf", "laplacian", "cauchy" or "matern"
    gamma : float > 0, "scale" (1 / (n_features * variance) for rbf) or "median" (the median trick)
    smoothness : of the Matern kernel: 0.5, 1.5, 2.5, ...
    lam : > 0, weight of the losses against 1/2 |w|^2 (the papers' lambda; larger fits more closely)
    mu : in (0, 1], ODM's weight of margins that are too large
    theta : in [0, 1), ODM's half width of the band of margins that cost nothing
    n_landmarks : at most this many landmarks (512 if ``diameter`` is not given either)
    diameter : of the balls that cover the rows, instead of ``n_landmarks`` (coverage only)
    landmarks : "coverage" (online hyperballs) or "uniform" (random rows)
    stages : at most this many; each is one pass for the full gradient and one for the inner loop
    steps_per_stage : int: rows; float: passes over the rows; None: one pass, more if badly conditioned
    step_size : eta; None: 0.5 / L
    option : "I" or "II" of Algorithm 1
    order : "shuffled": every row once, then again in another order; "iid": draws with replacement, block by
        block, which leave out some rows and take others twice
    projection : keep w in the ball that holds the optimum
    tol : stop once w changes by less than this share in a stage
    class_weight : None, "balanced" or {label: weight}
    random_state : int, RandomState or None

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> CSVRGClassifier(gamma=4.0, lam=64.0, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    name = "csvrg"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **CORESET_CONSTRAINTS,
        "step_size": [Interval(Real, 0, 1, closed="neither"), None],
        "option": [StrOptions({"I", "II"})],
        "tol": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self, *, loss: str = "odm", kernel: str = "rbf", gamma: float | str = "scale",
        smoothness: float = 1.5, lam: float = 1024.0, mu: float = 0.4, theta: float = 0.4,
        n_landmarks: int | None = None, diameter: float | None = None, landmarks: str = "coverage",
        stages: int = 5, steps_per_stage: int | float | None = None, step_size: float | None = None,
        option: str = "I",
        order: str = "shuffled", projection: bool = True, tol: float = 1e-2,
        class_weight: dict[Any, float] | str | None = None, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.smoothness = smoothness
        self.lam = lam
        self.mu = mu
        self.theta = theta
        self.n_landmarks = n_landmarks
        self.diameter = diameter
        self.landmarks = landmarks
        self.stages = stages
        self.steps_per_stage = steps_per_stage
        self.step_size = step_size
        self.option = option
        self.order = order
        self.projection = projection
        self.tol = tol
        self.class_weight = class_weight
        self.random_state = random_state

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> CSVRG:
        return CSVRG(
            self._parts(class_weights, mean_weight),
            stages=self.stages,
            steps_per_stage=self.steps_per_stage,
            step_size=self.step_size,
            option=self.option,
            order=self.order,
            projection=self.projection,
            tolerance=self.tol,
        )
