"""Linear trends of real targets."""

from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from distkern.maths.maps.trend import LinearTrend, TrendSums


def problem(n_rows=300, seed=0):
    """Return rows in different units, far from 0, with targets and weights."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 4)) * [1.0, 100.0, 1e-3, 5.0] + [0.0, 2e4, 7.0, -3.0]
    y = 50.0 + X[:, 0] - 0.3 * X[:, 1] + 2e3 * X[:, 2] + generator.normal(size=n_rows)
    return X, y, generator.integers(0, 3, n_rows).astype(float)


def test_a_trend_is_ridge_regression_on_standardised_columns():
    X, y, weights = problem()
    trend = LinearTrend.of(X, y, weights)
    scaler = StandardScaler().fit(X, sample_weight=weights)
    reference = Ridge(alpha=1.0).fit(scaler.transform(X), y, sample_weight=weights)
    expected = reference.predict(scaler.transform(X)) - np.average(y, weights=weights)
    # rows without weight may lie where the trend is constant
    known = weights > 0
    np.testing.assert_allclose(trend.at(X)[known], expected[known], rtol=1e-8, atol=1e-8)
    assert np.average(trend.at(X), weights=weights) == pytest.approx(0.0, abs=1e-8)


def test_sums_of_blocks_are_those_of_all_rows():
    X, y, weights = problem()
    weights[100:120] = 0.0
    ends = (0, 7, 100, 120, 300)
    parts = [
        TrendSums.of(X[first:last], y[first:last], weights[first:last]) for first, last in pairwise(ends)
    ]
    joined, whole = reduce(TrendSums.add, parts), TrendSums.of(X, y, weights)
    for name in ("weight", "means", "products", "low", "high"):
        np.testing.assert_allclose(getattr(joined, name), getattr(whole, name), rtol=1e-9)


def test_a_weight_is_so_many_rows():
    X, y, weights = problem()
    repeated = np.repeat(np.arange(len(X)), weights.astype(int))
    of_rows = LinearTrend.of(X[repeated], y[repeated], np.ones(len(repeated)))
    np.testing.assert_allclose(LinearTrend.of(X, y, weights).at(X), of_rows.at(X), rtol=1e-9)


def test_a_trend_ends_a_little_beyond_the_training_rows():
    X, y, _ = problem()
    trend = LinearTrend.of(X, y, np.ones(len(X)))
    ends, range_ = X.max(axis=0), np.ptp(X, axis=0)
    values = trend.at(ends + np.array([0.0, 0.1, 0.25, 1e9])[:, None] * range_)
    step = trend.slopes @ (0.1 * range_)
    np.testing.assert_allclose(values - values[0], [0.0, step, 2.5 * step, 2.5 * step], rtol=1e-9)


def test_a_constant_column_has_no_slope():
    X, y, _ = problem()
    X[:, 1] = 2e4 + 1 / 3
    trend = LinearTrend.of(X, y, np.ones(len(X)))
    assert trend.slopes[1] == 0.0
    assert np.isfinite(trend.at(X)).all()


def test_the_array_of_a_trend_restores_it():
    X, y, _ = problem()
    trend = LinearTrend.of(X, y, np.ones(len(X)))
    np.testing.assert_array_equal(LinearTrend(*trend.to_array()).at(X), trend.at(X))
