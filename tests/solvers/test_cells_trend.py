"""Machines in cells around a linear trend of the targets."""

import numpy as np
import pytest

from cell_problems import Regressor
from distkern.core.sparse import SparseRows
from distkern.estimators.auto import KernelRegressor
from distkern.estimators.cells import CellClassifier, CellRegressor
from distkern.maths.maps.trend import LinearTrend
from distkern.runs.algorithms import load_model

GIVEN = {"kernel": "rbf", "gamma": 0.5, "C": 10.0, "random_state": 0}


def sloping(n_rows=1200, seed=0):
    """Return rows and targets with a steep slope and a small wave."""
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, 3)).astype(np.float32)
    y = 100.0 + X @ [30.0, -20.0, 10.0] + 3.0 * np.sin(2 * X[:, 0]) + 0.3 * generator.normal(size=n_rows)
    return X, y


def test_machines_learn_what_the_trend_leaves():
    X, y = sloping()
    model = Regressor(trend="linear", **GIVEN).fit(X, y)
    trend = LinearTrend.of(X, y, np.ones(len(X)))
    np.testing.assert_allclose(model.places_.trend.at(X), trend.at(X), rtol=1e-9)
    rest = Regressor(**GIVEN).fit(X, y - trend.at(X))
    # their targets have other scales, and C does not depend on these
    np.testing.assert_allclose(model.predict(X), trend.at(X) + rest.predict(X), atol=1e-3)
    assert model.target_center_[0] == pytest.approx(y.mean())


def test_figures_are_those_of_the_targets():
    X, y = sloping()
    new, truth = sloping(400, seed=1)
    model = Regressor(trend="linear", max_cell_rows=200, **GIVEN).fit(X, y, eval_set=(new, truth))
    last = model.history_[-1]
    assert last["test_r2"] == pytest.approx(model.score(new, truth), abs=1e-6)
    assert last["test_error"] == pytest.approx(np.mean((model.predict(new) - truth) ** 2), rel=1e-4)
    assert last["train_r2"] == pytest.approx(model.score(X, y), abs=1e-4)
    plain = Regressor(max_cell_rows=200, **GIVEN).fit(X, y)
    assert model.score(new, truth) > plain.score(new, truth) + 0.001


def test_a_trend_is_saved(tmp_path):
    X, y = sloping()
    model = Regressor(trend="linear", max_cell_rows=200, **GIVEN).fit(X, y)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_an_update_keeps_the_trend():
    X, y = sloping()
    model = Regressor(trend="linear", max_cell_rows=200, **GIVEN).fit(X[:800], y[:800])
    before = model.places_.trend
    model.update(X[800:], y[800:], old=(X[:800], y[:800]))
    np.testing.assert_array_equal(model.places_.trend.slopes, before.slopes)
    assert model.score(X, y) > 0.999


def test_sparse_rows_have_the_same_trend():
    X, y = sloping(300)
    X[np.abs(X) < 0.5] = 0.0
    sparse = SparseRows.of_dense(X).to_scipy()
    dense = Regressor(trend="linear", **GIVEN).fit(X, y)
    np.testing.assert_allclose(
        Regressor(trend="linear", **GIVEN).fit(sparse, y).predict(sparse), dense.predict(X), atol=1e-3
    )


def test_a_search_finds_whether_a_trend_helps():
    X, y = sloping(600)
    assert CellRegressor(search="quick", random_state=0).fit(X, y).found_["trend"] == "linear"
    flat = np.sin(3 * X[:, 0]) * X[:, 1]
    assert CellRegressor(search="quick", random_state=0).fit(X, flat).found_["trend"] is None
    assert CellRegressor(search="quick", trend=None, random_state=0).fit(X, y).places_.trend is None


def test_classifiers_have_no_trend():
    assert "trend" not in CellClassifier().get_params()


@pytest.mark.slow
def test_the_choice_finds_a_trend():
    X, y = sloping(6000)
    y = y + 20 * np.abs(np.sin(4 * X[:, 0]) * X[:, 1])
    model = KernelRegressor(random_state=0).fit(X, y)
    assert model.algorithm_ == "cells"
    assert model.machine_.get_params()["trend"] == "linear"
