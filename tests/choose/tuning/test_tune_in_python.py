"""``tune`` from Python: arrays, frames, distributions, scores, sizes."""

import dask.array as da
import numpy as np
import pandas
import pytest
import scipy.sparse
import scipy.stats

import distkern as dk
from distkern.choose.tuning.space import SearchTable, settings_of, values_of
from distkern.core.errors import InputError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3)).astype(np.float32)
Y = (X[:, 0] + 0.3 * RNG.normal(size=300) > 0).astype(int)
NUS = {"nu": [1e-2, 1e-6, 10.0]}


def model():
    return dk.NewtonClassifier(features="linear", random_state=0)


def test_rows_in_memory_are_searched_as_a_data_set_of_them(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    data = dk.write_dataset(X, Y, tmp_path / "d.zarr", scale="none")
    expected = dk.tune(model(), data, NUS)
    for rows, labels in ((X, Y), (scipy.sparse.csr_matrix(X), Y), (da.from_array(X), da.from_array(Y))):
        found = dk.tune(model(), rows, labels, NUS)
        assert found.settings == expected.settings
        assert found.value == pytest.approx(expected.value, rel=1e-5)
        assert found.estimator.fit(X, Y).score(X, Y) > 0.9
    assert [path.name for path in tmp_path.iterdir()] == ["d.zarr"]


def test_frames_of_texts_and_regression():
    frame = pandas.DataFrame({"x": X[:, 0], "kind": np.where(Y, "a", "b")})
    found = dk.tune(model(), frame, pandas.Series(Y, name="y"), NUS)
    assert found.value < 0.1
    ridge = dk.NewtonRegressor(features="linear", random_state=0)
    assert dk.tune(ridge, X, (X[:, 0] > 0).astype(int), {"nu": [1e-6, 1.0]}).metric == "rmse"


def test_groups_are_held_out_together():
    noise = RNG.normal(size=(100, 4))
    copies, labels = np.repeat(noise, 4, axis=0) + 1e-3 * RNG.normal(size=(400, 4)), RNG.integers(0, 2, 100)
    copied, groups = np.repeat(labels, 4), np.repeat(np.arange(100), 4)
    near = dk.NewtonClassifier(gamma=50.0, n_landmarks=300, scale="none", random_state=0)
    learned = dk.tune(near, copies, copied, {"nu": [1e-4]}, metric="error")
    honest = dk.tune(near, copies, copied, {"nu": [1e-4]}, metric="error", groups=groups)
    assert learned.value < 0.1 < 0.3 < honest.value


@pytest.mark.parametrize(
    ("scoring", "metric"),
    [("roc_auc", "auc"), ("neg_log_loss", "log_loss"), ("accuracy", "accuracy"), ("auc", "auc")],
)
def test_scores_have_the_names_of_scikit_learn_too(scoring, metric):
    found = dk.tune(model(), X, Y, NUS, scoring=scoring)
    assert found.metric == metric
    assert found.value == dk.tune(model(), X, Y, NUS, metric=metric).value
    assert metric in repr(found)
    assert found.best_params_ is found.settings


def test_distributions_of_scipy_and_optuna():
    space = {"nu": scipy.stats.loguniform(1e-6, 1.0), "n_landmarks": scipy.stats.randint(5, 9)}
    drawn = settings_of(SearchTable(params=space).space, "random", 50, 0)
    assert SearchTable(params=space).chosen_method == "random"
    assert all(1e-6 <= one["nu"] <= 1 and 5 <= one["n_landmarks"] < 9 for one in drawn)
    assert {type(one["nu"]) for one in drawn} == {float}
    assert {one["n_landmarks"] for one in drawn} == {5, 6, 7, 8}
    with pytest.raises(InputError, match="nu is a range or distribution, but a grid needs values"):
        dk.tune(model(), X, Y, {"nu": space["nu"]}, method="grid")
    optuna = pytest.importorskip("optuna.distributions")
    assert values_of("nu", optuna.CategoricalDistribution(["a", "b"])) == ["a", "b"]
    assert values_of("nu", optuna.IntDistribution(16, 64, step=16)) == [16, 32, 48, 64]
    assert values_of("nu", optuna.FloatDistribution(0.0, 1.0, step=0.25)) == [0.0, 0.25, 0.5, 0.75, 1.0]
    drawn = values_of("nu", optuna.FloatDistribution(1e-6, 1.0, log=True))
    assert (drawn.low, drawn.high, drawn.log, drawn.is_whole) == (1e-6, 1.0, True, False)
    assert values_of("nu", optuna.IntDistribution(2, 9)).is_whole


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X,), r"y is missing; give tune\(estimator, X, y, parameters\)"),
        ((X, NUS), "y is a dict"),
        (
            (X, Y, {"nu": 3}),
            r"nu must be a list of values or a range such as \{'low': 0.1, 'high': 10.0, 'log': True\}, got",
        ),
        ((X, Y, {"nuu": [3.0]}), "did you mean 'nu'?"),
    ],
)
def test_mistakes_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        dk.tune(model(), *arguments)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"memory_limit": 2}, "must have a unit, got 2; write for instance 2MiB"),
        ({"memory_limit": "lots"}, "memory_limit must be a size such as '512MiB' or '2GB', got 'lots'"),
        ({"scoring": "auc", "metric": "auc"}, "scoring is given together with metric"),
        ({"scoring": len}, "scoring is a builtin.*; give the name"),
        ({"scoring": "roc_ac"}, "did you mean 'roc_auc'?"),
    ],
)
def test_wrong_options_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        dk.tune(model(), X, Y, NUS, **given)


@pytest.mark.parametrize("limit", ["64MiB", 64 * 2**20])
def test_memory_limits_are_texts_or_bytes(limit):
    assert dk.KernelClassifier(memory_limit=limit).value("memory_limit") == 64 * 2**20
    with pytest.raises(InputError, match="memory_limit must have a unit, got 2"):
        dk.KernelClassifier(memory_limit=2).fit(X, Y)
    with pytest.raises(InputError, match="does not fit"):
        dk.tune(model(), X, Y, NUS, memory_limit="1MiB")
