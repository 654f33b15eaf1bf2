"""SVRG over random, Nystroem or linear features as a scikit-learn classifier and regressor."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from distkern.estimators.features import FEATURE_CONSTRAINTS, AbstractFeatureEstimator
from distkern.estimators.functional import (
    CLASSIFIER_CONSTRAINTS,
    FUNCTIONAL_CONSTRAINTS,
    REGRESSOR_CONSTRAINTS,
    AbstractFunctionalClassifier,
    AbstractFunctionalEstimator,
    AbstractFunctionalRegressor,
)
from distkern.kernels import kernel_names
from distkern.solvers.svrg import SVRG, SVRGState
from distkern.solvers.targets import Scaled

_CONSTRAINTS: dict[str, list[Any]] = {
    **{name: FEATURE_CONSTRAINTS[name] for name in ("n_features", "n_landmarks", "landmarks")},
    **FUNCTIONAL_CONSTRAINTS,
    "features": [StrOptions({"random", "nystroem", "linear"})],
    "kernel": [StrOptions(set(kernel_names()))],
    "batch_size": [Interval(Integral, 1, None, closed="left"), None],
    "steps_per_stage": [
        Interval(Integral, 1, None, closed="left"), Interval(Real, 0, None, closed="neither"), None,
    ],
    "step_size": [Interval(Real, 0, None, closed="neither"), None],
    "precondition": ["boolean", None],
    "damping": [Interval(Real, 0, None, closed="left"), None],
    "stages": [Interval(Integral, 1, None, closed="left")],
    "tol": [Interval(Real, 0, None, closed="left")],
    "order": [StrOptions({"shuffled", "iid"})],
}  # fmt: skip


class AbstractSVRG(AbstractFeatureEstimator, AbstractFunctionalEstimator):
    """What the classifier and the regressor share."""

    def _kernel_parameters(self) -> dict[str, Any]:
        # refuses what does not suit the kernel
        return self._kernel_choice().parameters

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> SVRG:
        return SVRG(
            self._risk_for(self._least_outputs(), class_weights, mean_weight),
            self.feature_choice(),
            nu=float(self.nu),
            batch_size=self.batch_size,
            steps_per_stage=self.steps_per_stage,
            step_size=None if self.step_size is None else float(self.step_size),
            precondition=self.precondition,
            damping=None if self.damping is None else float(self.damping),
            stages=int(self.stages),
            tolerance=float(self.tol),
            order=self.order,
        )

    def _keep(self, state: SVRGState) -> None:
        self.landmarks_, self.gamma_ = state.landmarks, state.gamma
        self._keep_coefficients(state.coefficients, state)

    def _squared_norm(self) -> float:
        return float(np.einsum("ij,ij->", self.coef_, self.coef_))


class SVRGClassifier(AbstractSVRG, AbstractFunctionalClassifier):
    """Linear classifier over features of a kernel, by variance-reduced gradients (cdsg.txt, Section 5).

    Minimises mean_i s_i l(<w, z(x_i)>, y_i) + nu/2 |w|^2 with linear convergence for smooth losses; the
    features z(x) are regenerated wherever they are needed and never stored.

    Parameters
    ----------
    loss : "logistic", "softmax", "squared_hinge", "hinge" or "odm"
    features : "random" features of the kernel, "nystroem" (landmarks) or "linear"
    kernel : any kernel with such features
    gamma : float > 0, "scale", "median", or one with a divisor of the width: "median/4"
    kernel_params : further parameters of the kernel, by name
    n_features, sampler : of random features: how many, and "monte_carlo", "orthogonal", "fastfood" or \
"quasi_monte_carlo"
    n_landmarks, landmarks : of Nystroem features: how many landmarks (512), and "coverage" or "uniform"
    nu : >= 0, weight of |w|^2 / 2
    batch_size : rows of a step; None: 256, or a quarter of the features
    steps_per_stage : int: rows; float: passes over the rows; None: two passes
    step_size : eta; None: by the loss and the features
    precondition : divide steps by a bound of the Hessian from a sample of rows; None: for up to 8192 features
    damping : added to that bound; None: by the batch
    stages : at most this many; each ends with one pass for the full gradient
    tol : stop once w changes by less than this share in a stage
    order : "shuffled": every row once, then again in another order; "iid": draws with replacement, block by
        block, which leave out some rows and take others twice
    theta, mu : of loss "odm"
    class_weight : None, "balanced" or {label: weight}
    random_state : int, RandomState or None

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> SVRGClassifier(gamma=4.0, n_features=256, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    name = "svrg"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**_CONSTRAINTS, **CLASSIFIER_CONSTRAINTS}

    def __init__(
        self, *, loss: str = "logistic", features: str = "random", kernel: str = "rbf",
        gamma: float | str = "scale", kernel_params: dict[str, Any] | None = None, n_features: int = 2048,
        sampler: str = "monte_carlo", n_landmarks: int | None = None, landmarks: str = "uniform",
        nu: float = 1e-6, batch_size: int | None = None, steps_per_stage: int | float | None = None,
        step_size: float | None = None, precondition: bool | None = None, damping: float | None = None,
        stages: int = 10, tol: float = 1e-3, order: str = "shuffled", theta: float = 0.4, mu: float = 0.4,
        class_weight: dict[Any, float] | str | None = None, random_state: Any = None,
    ) -> None:  # fmt: skip
        self.loss = loss
        self.features = features
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.n_features = n_features
        self.sampler = sampler
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.nu = nu
        self.batch_size = batch_size
        self.steps_per_stage = steps_per_stage
        self.step_size = step_size
        self.precondition = precondition
        self.damping = damping
        self.stages = stages
        self.tol = tol
        self.order = order
        self.theta = theta
        self.mu = mu
        self.class_weight = class_weight
        self.random_state = random_state


class SVRGRegressor(AbstractSVRG, AbstractFunctionalRegressor):
    """Linear regressor over features of a kernel, by variance-reduced stochastic gradients.

    Parameters
    ----------
    loss : "square", "huber", "epsilon_insensitive", "absolute" or "quantile"
    delta : of "huber", where it turns from quadratic to linear, in the units of the targets; None: 1.35
        target_scale_
    epsilon : of "epsilon_insensitive", the residual that costs nothing, in the units of the targets, as for
        scikit-learn's SVR; None: 0.1 target_scale_
    quantiles : of "quantile": one output for each
    nu : >= 0, weight of |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets
        in any unit
    features, kernel, gamma, kernel_params, n_features, sampler, n_landmarks, landmarks, batch_size, \
steps_per_stage, step_size, precondition, damping, stages, tol, order, random_state : as for \
:class:`SVRGClassifier`; "linear" features have a constant one beside, whose coefficient counts in |g|^2
    """

    name = "svrg_regressor"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {**_CONSTRAINTS, **REGRESSOR_CONSTRAINTS}

    def __init__(
        self, *, loss: str = "square", features: str = "random", kernel: str = "rbf",
        gamma: float | str = "scale", kernel_params: dict[str, Any] | None = None, n_features: int = 2048,
        sampler: str = "monte_carlo", n_landmarks: int | None = None, landmarks: str = "uniform",
        nu: float = 1e-6, batch_size: int | None = None, steps_per_stage: int | float | None = None,
        step_size: float | None = None, precondition: bool | None = None, damping: float | None = None,
        stages: int = 10, tol: float = 1e-3, order: str = "shuffled", delta: float | None = None,
        epsilon: float | None = None, quantiles: Any = (0.5,), random_state: Any = None,
    ) -> None:  # fmt: skip
        self.loss = loss
        self.features = features
        self.kernel = kernel
        self.gamma = gamma
        self.kernel_params = kernel_params
        self.n_features = n_features
        self.sampler = sampler
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.nu = nu
        self.batch_size = batch_size
        self.steps_per_stage = steps_per_stage
        self.step_size = step_size
        self.precondition = precondition
        self.damping = damping
        self.stages = stages
        self.tol = tol
        self.order = order
        self.delta = delta
        self.epsilon = epsilon
        self.quantiles = quantiles
        self.random_state = random_state

    def _keep_coefficients(self, coefficients: NDArray[np.float64], state: Scaled) -> None:
        # of linear features the last one is constant
        last = len(coefficients) - (self.features == "linear")
        super()._keep_coefficients(coefficients[:last], state)
        self.intercept_ += state.target_scale * coefficients[last:].sum(axis=0)
