"""Gaussian process regression over random features as a scikit-learn regressor."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.estimators.declared import fitted
from distkern.estimators.dsg import AbstractDSG
from distkern.estimators.functional import AbstractFunctionalRegressor
from distkern.losses.real import Square
from distkern.runs.prediction import deviations_of_rows
from distkern.solvers.base import AbstractSolver, Problem
from distkern.solvers.dsg_gaussian_process import DSGGaussianProcess, GaussianProcessState
from distkern.storage.preparation import Preparation

if TYPE_CHECKING:
    from distkern.runs.data import TrainingData

_DEVIATION = "deviation"


class DSGGaussianProcessRegressor(AbstractDSG, AbstractFunctionalRegressor, solver=DSGGaussianProcess):
    """Gaussian process regressor over random features, whose predictions have standard deviations.

    The prior of f has the mean of the targets and the covariance target_scale_^2 k(x, x'), target_scale_ the
    standard deviation of the targets, and the noise is normal: scikit-learn's ``GaussianProcessRegressor``
    with the kernel as it is, ``normalize_y=True`` and ``alpha=noise**2``. The posterior is exact for the
    ``n_features`` random features, in whose space covariances are within about n_features^-1/2 of k. Where
    there are many more rows than features, and they leave the process room (narrow kernels, points far from
    all rows), standard deviations are too small, as of any process of finite rank.

    Examples
    --------
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> y = np.sin(X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=200)
    >>> model = DSGGaussianProcessRegressor(gamma=0.5, n_features=256, random_state=0).fit(X, y)
    >>> mean, deviation = model.predict([[1.5], [9.0]], return_std=True)
    >>> bool(abs(mean[0] - 1) < 0.1), bool(deviation[1] > 5 * deviation[0])
    (True, True)
    """

    name = "dsg_gaussian_process"
    noise_: float = fitted("standard deviation of the noise, in the units of the targets")
    nu_: float = fitted("(noise_ / target_scale_)^2 / n, n the sum of the rows' weights")
    log_marginal_likelihood_: float = fitted(
        "of the training targets, in units of target_scale_; NaN if the fit was ended before its last stage, "
        "as noise_"
    )
    spread_: NDArray[np.float64] = fitted(
        "(n_features, n_features), D: the standard deviation of f(x) is |z(x)' D|", array="spread"
    )

    def _loss(self) -> Square:
        return Square()

    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        solver, problem = super().problem(data, has_test=has_test)
        assert isinstance(solver, DSGGaussianProcess)
        solver = solver.for_rows(problem.n_rows * self.mean_weight_)
        self.nu_ = solver.nu
        return solver, problem

    def _keep_coefficients(self, coefficients: NDArray[np.float64], state: Any) -> None:
        assert isinstance(state, GaussianProcessState)
        super()._keep_coefficients(coefficients, state)
        if not math.isnan(state.nu):
            self.nu_ = state.nu
        self.noise_, self.log_marginal_likelihood_ = state.noise * state.target_scale, state.evidence
        self.spread_ = state.target_scale * state.spread

    def regulariser(self) -> float:
        return self.nu_

    def _arrays(self) -> dict[str, NDArray[Any]]:
        numbers = np.array([self.noise_, self.nu_, self.log_marginal_likelihood_])
        return super()._arrays() | {"process": numbers}

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        super()._restore(arrays, facts, where)
        self.noise_, self.nu_, self.log_marginal_likelihood_ = arrays["process"].tolist()
        if self.spread_.size and self.spread_.shape != (len(self.coefficients_),) * 2:
            raise ValueError(
                f"deviations of {len(self.spread_)} features, and coefficients of {len(self.coefficients_)}"
            )

    # -- prediction

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Mean of the posterior of f, (n_rows,), with ``return_std`` also its standard deviation (n_rows,),
        without the noise; lazy for Dask arrays and splits.

        Raises
        ------
        InputError
            If the fit was ended before the stage that finds deviations.
        """
        mean = super().predict(X)
        if not return_std:
            return mean
        if not self.spread_.size:
            raise InputError(
                "the fit was ended before its last stage, which finds standard deviations",
                where="return_std",
                hint="fit without callbacks and early_stopping",
            )
        return mean, self._map(X, _DEVIATION, np.float64, None)

    def predictor(
        self, preparation: Preparation | None, output: str, dtype: np.dtype[Any] | None = None
    ) -> partial[NDArray[Any]]:
        if output != _DEVIATION:
            return super().predictor(preparation, output, dtype)
        deviations: Callable[..., NDArray[Any]] = deviations_of_rows
        return partial(deviations, self._bases(preparation, dtype), self.spread_, self.width_, preparation)
