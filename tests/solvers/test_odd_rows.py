"""Unusual rows: outliers, weights, very few rows, constant targets."""

import numpy as np
import pytest

import distkern as dk
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.kernels import find_kernel


def smooth(n_rows=500, seed=0):
    X = np.random.default_rng(seed).normal(size=(n_rows, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


@pytest.mark.parametrize("loss", ["absolute", "huber", "epsilon_insensitive"])
def test_outliers_do_not_move_cells_of_robust_losses(loss):
    generator = np.random.default_rng(0)
    (X, f), (X_new, f_new) = smooth(), smooth(seed=1)
    y = f + 0.2 * generator.normal(size=500)
    outliers = generator.choice(500, 3, replace=False)
    how = {"search": None, "C": 1.0, "gamma": 1.0, "kernel": "rbf", "scale": "none", "metric": None}
    errors = []
    for size in (0.0, 1e4, 1e6):
        y[outliers] += size
        model = dk.CellRegressor(loss=loss, random_state=0, **how).fit(X, y)
        errors.append(np.median(np.abs(model.predict(X_new) - f_new)))
    assert max(errors) < 0.09


@pytest.mark.parametrize("n_features", [1500, 2100, 3000])
def test_points_of_a_narrower_last_block_are_new(n_features):
    kernel = find_kernel("rbf")(gamma=0.5)
    X = np.random.default_rng(0).normal(size=(20, 5))
    basis = RandomFeatureBasis(kernel, 5, n_features, 0, "quasi_monte_carlo", dtype=np.float64)
    assert len(np.unique(np.round(basis.values(X).T, 9), axis=0)) == n_features


def test_default_steps_are_for_weights_and_losses():
    X, f = smooth(600)
    weights = np.where(np.random.default_rng(1).random(600) < 0.1, 10.0, 1.0)
    assert dk.NORMARegressor(random_state=0).fit(X, f, sample_weight=weights).score(X, f) > 0.9
    X, f = smooth(1500)
    given = {"precondition": False, "n_features": 512, "block_size": 128, "random_state": 0}
    assert dk.DSGRegressor(**given).fit(X, f).score(X, f) > 0.8
    assert dk.DSGClassifier(loss="squared_hinge", **given).fit(X, f > 0).score(X, f > 0) > 0.9


@pytest.mark.parametrize("n_rows", [2, 10])
def test_steps_of_avm_forget_the_first_ones_of_few_rows(n_rows):
    generator = np.random.default_rng(1)
    X = generator.normal(size=(n_rows, 2))
    y = (X[:, 0] + 0.7 * generator.normal(size=n_rows) > 0).astype(int)
    y[:2] = 0, 1
    model = dk.AVMClassifier(lam=1024.0, gamma=0.7, scale="none", random_state=0).fit(X, y)
    # that of f = 0 is lam, and the minimum is 1.05 of 2 rows and 207 of 10
    assert model.history_[-1]["objective"] < {2: 2.0, 10: 400.0}[n_rows]


def test_targets_that_are_all_the_same_are_learned():
    X, _ = smooth(300)
    model = dk.SDCARegressor(random_state=0).fit(X, np.full(300, 3.0))
    assert model.ended_ == "converged"


def test_intervals_in_single_precision_are_honest():
    generator = np.random.default_rng(0)
    X, X_new = (generator.uniform(-2, 2, size=(n_rows, 2)) for n_rows in (4200, 1000))
    f, f_new = (np.sin(2 * rows[:, 0]) + rows[:, 1] ** 2 for rows in (X, X_new))
    model = dk.DSGGaussianProcessRegressor(n_features=512, random_state=0).fit(X, f)
    mean, deviation = model.predict(X_new, return_std=True)
    assert 0.5 < np.sqrt(np.mean(((mean - f_new) / deviation) ** 2)) < 1.5
    assert np.sqrt(np.mean((mean - f_new) ** 2)) < 5e-3
