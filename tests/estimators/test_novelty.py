"""Novelty detection against scikit-learn's one-class machine, and on data sets."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from sklearn.svm import OneClassSVM

import distkern as dk
from distkern.common.errors import InputError
from distkern.engine.executors import open_executor
from distkern.runs.evaluation import evaluate_split
from distkern.storage.ingest import write_dataset


def rows(n=1200, seed=0):
    """Two clouds of different sizes and widths."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n, 2))
    X[: n // 3] = 0.5 * X[: n // 3] + [4.0, 0.0]
    return X


def detector(**given):
    return dk.DSGNoveltyDetector(
        **{"gamma": 0.3, "n_features": 512, "block_size": 128, "random_state": 0, **given}
    )


@pytest.mark.parametrize("nu", [0.05, 0.2])
def test_it_is_the_one_class_machine_of_scikit_learn(nu):
    """f is 1 / (n nu) times the exact machine's, and so is the threshold; objectives agree."""
    X = rows(800)
    exact = OneClassSVM(gamma=0.3, nu=nu, tol=1e-6).fit(X)
    f, tau = exact.score_samples(X) / (len(X) * nu), float(exact.offset_[0]) / (len(X) * nu)
    model = detector(nu=nu, sampler="quasi_monte_carlo").fit(X)
    ours = model.score_samples(X)
    # above the threshold f is flat, so that its spread says little
    assert np.sqrt(np.mean((ours - f) ** 2)) < 0.01 * tau
    assert model.offset_ == pytest.approx(tau, rel=0.01)
    assert np.mean(model.predict(X) == exact.predict(X)) > 0.98
    support = exact.dual_coef_[0] / (len(X) * nu)
    least = np.maximum(0, tau - f).mean() - nu * tau + nu / 2 * support @ f[exact.support_]
    assert model.history_[-1]["objective"] == pytest.approx(least, rel=0.01)


@pytest.mark.parametrize("nu", [0.01, 0.1, 0.5])
def test_the_share_of_outliers_is_nu(nu):
    X = rows(1000)
    model = detector(nu=nu, n_features=128, stages=2).fit(X)
    assert np.mean(model.decision_function(X) < 0) == pytest.approx(nu, abs=1.001 / len(X))
    assert np.array_equal(model.predict(X), np.where(model.decision_function(X) >= 0, 1, -1))
    assert np.array_equal(model.score_samples(X), model.decision_function(X) + model.offset_)
    fresh = rows(20_000, seed=1)
    assert np.mean(model.predict(fresh) < 0) == pytest.approx(nu, abs=0.02 + 0.1 * nu)


def test_the_share_is_right_of_more_rows_than_are_sampled():
    X = rows(40_000).astype(np.float32)
    model = detector(nu=0.03, n_features=64, block_size=32, stages=2).fit(X)
    assert np.mean(model.predict(X) < 0) == pytest.approx(0.03, abs=1e-4)


def test_rows_that_are_equal_do_not_become_outliers_together():
    generator = np.random.default_rng(0)
    X = np.repeat(generator.normal(size=(20, 2)), 60, axis=0)
    model = detector(nu=0.1, n_features=128, stages=2).fit(X)
    # two of the twenty make up the share
    assert np.mean(model.predict(X) < 0) <= 0.1 + 1e-9


def test_weights_count_as_repetitions_do():
    X, often = rows(600), np.random.default_rng(1).integers(1, 4, 600)
    model = detector(nu=0.1, n_features=128, stages=2).fit(X, sample_weight=often)
    share = np.average(model.predict(X) < 0, weights=often)
    assert share == pytest.approx(0.1, abs=3.1 / often.sum())


def test_data_sets_of_any_task_dask_arrays_and_files(tmp_path):
    X = rows(900).astype(np.float32)
    for task, y in (("none", None), ("classification", (X[:, 0] > 2).astype(int)), ("regression", X[:, 1])):
        made = write_dataset([(X, y)], tmp_path / task, task=task, scale="none", test_fraction=0.2)
        model = detector(n_features=128, stages=2).fit(made)
        with open_executor("synchronous") as executor:
            figures = evaluate_split(model, made.train, executor).figures
        assert figures["outliers"] == model.history_[-1]["train_error"] == pytest.approx(0.1, abs=0.01)
        assert figures["objective"] == pytest.approx(model.history_[-1]["objective"], abs=1e-6)
        assert figures["threshold"] == model.offset_
    lazy = da.from_array(X, chunks=(300, 2))
    model = detector(n_features=128, stages=2).fit(lazy)
    assert np.mean(model.predict(lazy).compute() < 0) == pytest.approx(0.1, abs=0.01)
    model.save(tmp_path / "m")
    loaded = dk.load_model(tmp_path / "m")
    assert loaded.offset_ == model.offset_
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_what_nu_may_be():
    for nu in (0.0, 1.0):
        with pytest.raises(InputError, match=r"nu: is .* use a number in \(0, 1\)"):
            detector(nu=nu).fit(rows(50))
