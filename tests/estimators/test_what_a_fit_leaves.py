"""What a fit, a refusal or an interruption leaves, and what a folder gives back of it."""

import os

import dask.array as da
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import distkern as dk
from distkern.core.errors import InputError

GIVEN = {"random_state": 0, "n_landmarks": 16}


def table(seed=0, n_rows=200):
    X = np.random.default_rng(seed).normal(size=(n_rows, 3))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


def test_what_is_chosen_is_of_the_rows_of_this_fit():
    generator = np.random.default_rng(0)
    first = generator.normal(size=(120, 3))
    second = generator.uniform(-1, 1, size=(300, 3))
    wave = np.sin(8 * second[:, 1])
    model = dk.KernelRegressor(random_state=0).fit(first, first[:, 0])
    assert model.fit(second, wave).score(second, wave) > 0.95


@pytest.mark.parametrize("total", [1e-6, 1e13])
def test_units_of_weights_say_nothing_of_columns(total):
    X = np.random.default_rng(0).normal(size=(1500, 2)) * [1, 500]
    y = np.sin(X[:, 0]) + X[:, 1] / 500
    model = dk.NewtonRegressor(n_landmarks=32, gamma=0.5, scale="standard", random_state=0)
    plain, weighted = (clone(model).fit(X, y, weights) for weights in (None, np.full(1500, total)))
    np.testing.assert_allclose(weighted.scaling_.factor, plain.scaling_.factor, rtol=1e-9)
    assert weighted.score(X, y) == pytest.approx(plain.score(X, y), abs=1e-6)


def stop(*_):
    raise KeyboardInterrupt


def test_an_interrupted_fit_leaves_the_model_of_before():
    X, y = table()
    X *= [1, 100, 1e4]
    model = dk.SVRGClassifier(n_features=64, random_state=0, stages=2).fit(X, y)
    before = model.decision_function(X)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X * [1e3, 1, 1] + 50, y, callbacks=[stop])
    np.testing.assert_array_equal(model.decision_function(X), before)
    fresh = clone(model)
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y, callbacks=[stop])
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    with pytest.raises(NotFittedError):
        fresh.update(X, y)


def test_a_folder_keeps_its_model_until_another_is_whole(tmp_path, monkeypatch):
    X, y = table()
    monkeypatch.chdir(tmp_path)
    model = dk.NewtonClassifier(loss="least_squares", **GIVEN).fit(X, y)
    model.save("m")
    with monkeypatch.context() as patched:
        patched.setattr("distkern.runs.persistence.save_arrays", stop)
        with pytest.raises(KeyboardInterrupt):
            clone(model).fit(X, 1 - y).save("m")
    again = dk.load_model("m")
    (tmp_path / "elsewhere").mkdir()
    os.chdir("elsewhere")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    again.update(X, y)
    (tmp_path / "arrays").mkdir()
    with pytest.raises(InputError, match=r"holds files that are not a model's \('arrays' and 2 more"):
        model.save(tmp_path)


def test_cells_are_found_from_another_folder(tmp_path, monkeypatch):
    X, y = table()
    monkeypatch.chdir(tmp_path)
    dk.CellClassifier(max_cell_rows=80, search=None, random_state=0).fit(X, y).save("m")
    model = dk.load_model("m")
    (tmp_path / "elsewhere").mkdir()
    os.chdir("elsewhere")
    assert model.score(X, y) > 0.9
    model.save(tmp_path / "m")
    assert dk.load_model(tmp_path / "m").score(X, y) > 0.9


@pytest.mark.parametrize("kind", [dk.NewtonClassifier, dk.KernelClassifier])
def test_parameters_of_numpy_come_back(tmp_path, kind):
    X, y = table()
    weights = dict(zip(np.unique(y), np.array([1.0, 2.0]), strict=True))
    own = {"algorithm": "newton", "settings": {"n_landmarks": np.int64(16)}}
    own = own if kind is dk.KernelClassifier else {**GIVEN, "loss": "logistic"}
    model = kind(class_weight=weights, **{"random_state": 0, **own}).fit(X, y)
    model.save(tmp_path / "m")
    again = dk.load_model(tmp_path / "m")
    assert again.class_weight == {0: 1.0, 1: 2.0}
    assert again.seed_ == model.seed_
    np.testing.assert_array_equal(clone(again).fit(X, y).predict(X), model.predict(X))
    # the keys of a job file are texts
    told = kind(class_weight={"0": 1.0, "1": 2.0}, **{"random_state": 0, **own}).fit(X, y)
    np.testing.assert_array_equal(told.class_weights_, [1, 2])


def test_shares_of_classes_are_by_weight():
    generator = np.random.default_rng(0)
    # rows that are equal are one
    X, y = generator.integers(0, 3, size=(400, 2)).astype(float), (generator.random(400) < 0.5).astype(int)
    later = np.ones(400, int)
    later[:2] = 0
    model = dk.PegasosClassifier(loss="logistic", features="random", n_features=64, threshold="balanced")
    model.fit(X, y).update(generator.normal(size=(400, 2)), later)
    assert model.threshold_ == pytest.approx(np.r_[y, later].mean())


def test_the_score_of_targets_that_are_all_the_same(tmp_path):
    X, _ = table()
    model = dk.NewtonRegressor(**GIVEN).fit(X, X[:, 0])
    data = dk.write_dataset(X[:50], np.full(50, 2.5), tmp_path / "d.zarr")
    assert model.score(data.train) == 0.0
    with pytest.raises(InputError, match="give the split alone"):
        model.score(data.train, np.zeros(50))


def lazy(values, **how):
    return da.from_array(values, chunks=(50, *values.shape[1:]), **how)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda X, y: (X, lazy(np.random.default_rng(0).normal(size=200))), "continuous"),
        (lambda X, y: (X + 1j, y), "Complex data not supported"),
        (lambda X, y: (X, y, lazy(np.full(200, np.nan))), "the weight is missing"),
        (lambda X, y: (X, y, lazy(np.zeros(200))), "all rows have weight 0"),
        (lambda X, y: (X, y, 1.0), "has 0 dimensions"),
        (lambda X, y: (X, X[:, :2]), "has 2 dimensions"),
    ],
)
def test_lazy_rows_are_refused_as_others_are(given, message):
    X, y = map(lazy, table())
    with pytest.raises(ValueError, match=message):
        dk.NewtonClassifier(**GIVEN).fit(*given(X, y))


def test_lazy_rows_without_a_number_have_no_prediction():
    X, y = table()
    model = dk.NewtonClassifier(**GIVEN).fit(X, y)
    X[3, 1] = np.nan
    with pytest.raises(InputError, match="NaN"):
        model.predict(lazy(X)).compute()
    with pytest.raises(InputError, match="are texts, not numbers"):
        dk.NewtonRegressor(**GIVEN).fit(lazy(X), lazy(np.array(["a"] * 200)))
