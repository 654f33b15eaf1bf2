"""Awkward data for cells, with and without a search."""

import numpy as np
import pytest

from distkern import CellClassifier, CellRegressor
from distkern.data.ingest import write_dataset
from runs import train

SEARCHES = [None, "quick"]


def rows(n_rows, n_features=3, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features)).astype(np.float32)
    return X, (X[:, 0] + 0.5 * np.sin(3 * X[:, -1]) > 0).astype(int)


@pytest.mark.parametrize("how", SEARCHES)
def test_few_rows_and_few_columns(how):
    for n_rows in (2, 5, 40):
        X, _ = rows(n_rows)
        y = np.arange(n_rows) % 2
        model = CellClassifier(search=how, random_state=0).fit(X, y)
        assert model.n_cells_ == 1
        assert model.score(X, y) == 1.0 or n_rows == 40
        real = CellRegressor(search=how, random_state=0).fit(X, y * 3.0)
        assert np.isfinite(real.predict(X)).all()
    # more cells than rows
    X, y = rows(9)
    y[:2] = 0, 1
    assert np.isfinite(
        CellClassifier(search=how, max_cell_rows=2, random_state=0).fit(X, y).decision_function(X)
    ).all()
    X, y = rows(300, 1)
    assert CellClassifier(search=how, max_cell_rows=60, random_state=0).fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize(
    ("how", "scale"),
    [(None, "auto"), (None, "standard"), (None, "normal"), (None, "ranks"), ("quick", "auto")],
)
def test_columns_that_say_nothing(how, scale):
    X, y = rows(200)
    given = {"search": how, "scale": scale, "max_cell_rows": 64, "random_state": 0}
    constant = np.full((200, 2), 1e6, np.float32)
    model = CellClassifier(**given).fit(np.hstack([X, constant]), y)
    assert model.score(np.hstack([X, constant]), y) > 0.9
    # the constant changes after the fit
    assert np.isfinite(model.decision_function(np.hstack([X, constant + 1000]))).all()
    # with constant columns only, the larger class is predicted
    nothing = CellClassifier(**given).fit(constant, np.arange(200) % 3 > 0)
    assert nothing.predict(constant).all()
    mean = CellRegressor(**given).fit(constant, np.arange(200.0)).predict(constant)
    np.testing.assert_allclose(mean, 99.5, atol=0.5)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "odm", "square"])
def test_a_cell_of_very_many_equal_rows(loss):
    n_rows = 100_000
    X = np.zeros((n_rows, 2), np.float32)
    X[: n_rows // 100] = rows(n_rows // 100, 2)[0]
    y = (np.random.default_rng(0).random(n_rows) < 0.3).astype(int)
    y[: n_rows // 100] = X[: n_rows // 100, 0] > 0
    if loss == "square":
        model = CellRegressor(search=None, max_cell_rows=500, random_state=0).fit(X, y)
        assert model.predict([[0.0, 0.0]]) == pytest.approx(y[n_rows // 100 :].mean(), abs=0.02)
    else:
        model = CellClassifier(loss=loss, search=None, max_cell_rows=500, random_state=0).fit(X, y)
        assert model.predict([[0.0, 0.0]]) == 0
        assert model.score(X[:1000], y[:1000]) > 0.95
    assert model.n_support_ < 3000


@pytest.mark.parametrize("how", [None, pytest.param("quick", marks=pytest.mark.slow)])
def test_classes_that_are_sorted_rare_or_far_apart(how, tmp_path):
    X, y = rows(600)
    given = {"search": how, "max_cell_rows": 100, "random_state": 0}
    order = np.argsort(y, kind="stable")
    data = write_dataset(
        [(X[order], y[order])], tmp_path / "d.zarr", scale="none", shuffle=False, rows_per_shard=50
    )
    model = train(CellClassifier(**given), data.train, out=tmp_path / "m", scheduler="synchronous")
    assert model.score(X, y) > 0.95
    if how is not None:
        return
    # one distant row of a thousand has the weight of all others
    X, y = rows(3003)
    y[:] = 0
    y[:3], X[:3] = 1, X[:3] + 6
    rare = CellClassifier(**given, class_weight="balanced").fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(rare.predict(X)), [0, 1, 2])
    # most cells have one class
    X[:, 0] += 50 * (np.arange(3003) % 3)
    y = np.arange(3003) % 3
    apart = CellClassifier(**given).fit(X, y)
    assert apart.score(X, y) == 1.0
    assert apart.n_support_ < 600


@pytest.mark.parametrize("how", [None, pytest.param("quick", marks=pytest.mark.slow)])
def test_targets_that_are_constant_or_large(how):
    X, _ = rows(200)
    for target in (0.0, 7.0, -1e12):
        model = CellRegressor(search=how, random_state=0).fit(X, np.full(200, target))
        np.testing.assert_allclose(model.predict(X), target)
    large = 1e9 + 1e3 * X[:, 0].astype(float)
    model = CellRegressor(search=how, C=1e3, random_state=0).fit(X, large)
    assert model.score(X, large) > 0.99


@pytest.mark.parametrize("how", [None, pytest.param("quick", marks=pytest.mark.slow)])
def test_columns_of_very_different_sizes(how):
    X, y = rows(300)
    X *= np.float32([1e-18, 1, 1e18])
    model = CellClassifier(search=how, scale="standard", max_cell_rows=128, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    # unscaled, the largest column decides alone, and nothing overflows
    assert np.isfinite(CellClassifier(search=how, random_state=0).fit(X, y).decision_function(X)).all()
