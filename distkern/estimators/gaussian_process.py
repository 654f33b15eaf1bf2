"""Gaussian process regression over random features as a scikit-learn regressor."""

from __future__ import annotations

from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.estimators.base import AbstractFunctionalRegressor
from distkern.model.random import DEVIATION, GaussianProcessModel


class DSGGaussianProcessRegressor(AbstractFunctionalRegressor, solver="dsg_gaussian_process"):
    """Gaussian process regressor over random features, with standard deviations of the predictions.

    The prior of f has the mean of the targets and the covariance target_scale_^2 k(x, x'), where
    target_scale_ is the standard deviation of the targets, and the noise is normal. This is scikit-learn's
    ``GaussianProcessRegressor`` with a fixed kernel, ``normalize_y=True`` and ``alpha=noise**2``. The
    posterior is exact for the ``n_features`` random features, whose covariances are within about
    n_features^-1/2 of k. With many more rows than features, standard deviations are too small where the data
    leave the process free (narrow kernels, points far from all rows), as for any process of finite rank.

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
    kind = GaussianProcessModel

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the posterior mean of f, (n_rows,), and optionally its standard deviation.

        Parameters
        ----------
        X : array-like, frame, Dask collection or Split
            Rows (n_rows, n_features); the result is lazy for Dask collections and splits.
        return_std : bool, default=False
            Also return the standard deviation of f, (n_rows,), without the noise.

        Raises
        ------
        InputError
            If the fit ended before the last stage, which computes standard deviations.
        """
        mean = super().predict(X)
        if not return_std:
            return mean
        if not len(self.spread_):
            raise InputError(
                "the fit ended before its last stage, which computes standard deviations",
                where="return_std",
                hint="fit without callbacks and early_stopping",
            )
        return mean, self._map(X, DEVIATION, np.float64, None)
