"""Several quantiles at once: as many rows below each as it says, and none that cross."""

import numpy as np
import pytest
from scipy.stats import norm

import distkern as dk
from distkern.engine.executors import open_executor
from distkern.runs.evaluation import evaluate_split
from distkern.storage.ingest import write_dataset

LEVELS = (0.9, 0.1, 0.5)


def noisy(n, seed=0):
    """y = sin(x) + (0.2 + 0.1 x) e, x uniform in [0, 5]."""
    generator = np.random.default_rng(seed)
    X = generator.uniform(0, 5, (n, 1))
    return X, np.sin(X[:, 0]) + (0.2 + 0.1 * X[:, 0]) * generator.standard_normal(n)


def regressor(**given):
    settings = {"loss": "quantile", "quantiles": LEVELS, "n_features": 128, "block_size": 32}
    return dk.DSGRegressor(**{**settings, "nu": 1e-5, "random_state": 0, **given})


def test_a_share_of_q_lies_below_the_quantile_q():
    X, y = noisy(6000)
    model = regressor().fit(X, y)
    below = (y[:, None] <= model.predict(X)).mean(axis=0)
    np.testing.assert_allclose(below, LEVELS, atol=5e-4)
    fresh, targets = noisy(40_000, seed=1)
    predicted = model.predict(fresh)
    np.testing.assert_allclose((targets[:, None] <= predicted).mean(axis=0), LEVELS, atol=0.015)
    truth = np.sin(fresh) + (0.2 + 0.1 * fresh) * norm.ppf(LEVELS)
    assert np.sqrt(np.mean((predicted - truth) ** 2)) < 0.1


def test_quantiles_do_not_cross_and_cost_no_more_for_it(tmp_path):
    X, y = noisy(300)
    levels = tuple(np.round(np.linspace(0.9, 0.1, 9), 1).tolist())
    model = regressor(quantiles=levels, nu=0.0, gamma=20.0).fit(X, y)
    crossing = model.basis(np.float64).combine(X, model.coef_) + model.intercept_
    assert np.any(np.diff(crossing, axis=1) > 0)
    sorted_ones = model.predict(X)
    assert np.all(np.diff(sorted_ones, axis=1) <= 0)

    def pinball(f):
        short = y[:, None] - f
        return np.maximum(np.array(levels) * short, (np.array(levels) - 1) * short).mean()

    assert pinball(sorted_ones) < pinball(crossing)
    made = write_dataset([(X.astype(np.float32), y)], tmp_path / "d", task="regression", scale="none")
    with open_executor("synchronous") as executor:
        figures = evaluate_split(model, made.train, executor).figures
    assert figures["pinball"] == pytest.approx(pinball(sorted_ones), rel=1e-3)


def test_the_end_is_counted_over_all_of_more_rows_than_are_sampled():
    X, y = noisy(30_000)
    model = regressor(n_features=64, stages=2).fit(X.astype(np.float32), y)
    below = (y[:, None] <= model.predict(X.astype(np.float32))).mean(axis=0)
    np.testing.assert_allclose(below, LEVELS, atol=1e-3)
