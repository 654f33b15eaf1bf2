"""Settings that are tried, the rungs that they are tried in, and `tune` from Python."""

import dask
import numpy as np
import pytest

import distkern as dk
from distkern.choose.tuning.search import Metric
from distkern.choose.tuning.space import Range, settings_of
from distkern.core.errors import InputError


def test_a_grid_has_all_combinations():
    space = {"lam": [1.0, 2.0], "gamma": Range(0.01, 100.0, log=True, points=5)}
    found = settings_of(space, "grid", None, 0)
    assert found == [
        {"lam": lam, "gamma": gamma} for gamma in (0.01, 0.1, 1.0, 10.0, 100.0) for lam in (1.0, 2.0)
    ]
    assert settings_of(space, "halving", None, 0) == found


def test_points_of_whole_ranges_are_whole():
    assert Range(1, 8, log=True, points=4).grid() == [1, 2, 4, 8]
    assert Range(1, 3, points=9).grid() == [1, 2, 3]


@pytest.mark.parametrize("log", [False, True])
def test_numbers_are_drawn_from_the_whole_range(log):
    drawn = [one["x"] for one in settings_of({"x": Range(0.5, 50.0, log)}, "random", 2000, 0)]
    assert all(0.5 <= value <= 50.0 for value in drawn)
    middle = 5.0 if log else 25.25
    assert abs(np.mean(np.array(drawn) < middle) - 0.5) < 0.05
    generator = np.random.RandomState(0)
    whole = [Range(1, 4, log).rvs(generator) for _ in range(4000)]
    edges = np.log([1, 2, 3, 4, 5]) / np.log(5) if log else np.linspace(0, 1, 5)
    shares = np.bincount(np.array(whole), minlength=5)[1:] / 4000
    np.testing.assert_allclose(shares, np.diff(edges), atol=0.03)


def test_draws_follow_from_the_seed_and_do_not_repeat():
    space = {"a": [1, 2, 3], "b": ["x", "y"]}
    assert settings_of(space, "random", 4, 1) == settings_of(space, "random", 4, 1)
    assert settings_of(space, "random", 4, 1) != settings_of(space, "random", 4, 2)
    all_of_them = settings_of(space, "random", 6, 1)
    assert sorted(map(str, all_of_them)) == sorted(map(str, settings_of(space, "grid", None, 0)))
    few = settings_of({"n": Range(1, 3)}, "halving", 50, 0)
    assert sorted(one["n"] for one in few) == [1, 2, 3]


@pytest.mark.parametrize(
    ("space", "method", "n_drawn", "message"),
    [
        ({}, "grid", None, "params: nothing to try"),
        ({"a": Range(0.0, 1.0)}, "grid", None, "a is a range.*points = 5"),
        ({"a": [1]}, "grid", 3, "candidates has no effect"),
        ({"a": [1, 2]}, "random", 3, "candidates: 3 are requested, but there are 2"),
    ],
)
def test_what_cannot_be_tried_is_refused(space, method, n_drawn, message):
    with pytest.raises(InputError, match=message):
        settings_of(space, method, n_drawn, 0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((2.0, 1.0), "low < high"),
        ((0.0, float("inf")), "low < high"),
        ((0.0, 1.0, True), "give low > 0"),
        ((0.0, 1.0, False, 1), "at least 2"),
    ],
)
def test_ranges_that_hold_nothing_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        Range(*given)


def test_metrics_say_which_way_is_better():
    loss, accuracy = (Metric.of(name, "classification", 3) for name in (None, "accuracy"))
    assert loss.name == "log_loss"
    assert loss.rank(0.1) < loss.rank(0.2) < loss.rank(None)
    assert accuracy.rank(0.9) < accuracy.rank(0.8) < accuracy.rank(None)
    assert Metric.of(None, "regression", None).name == "rmse"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("acuracy", "classification", 2), "did you mean 'accuracy'"),
        (("rmse", "classification", 2), "unknown metric of classification"),
        (("auc", "classification", 3), "for two classes, and there are 3"),
    ],
)
def test_metrics_that_there_are_not_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        Metric.of(*given)


SPACE = {"gamma": np.array([0.01, 3.0, 1000.0]), "nu": [1e-6, 1e-2]}


@pytest.fixture(autouse=True)
def _synchronous():
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    features = np.random.default_rng(0).normal(size=(1200, 2))
    rings = (np.linalg.norm(features, axis=1) > 1.2).astype(int)
    path = tmp_path_factory.mktemp("tune") / "d.zarr"
    return dk.write_dataset(features, rings, path, scale="none", rows_per_shard=300)


def newton(**settings):
    return dk.NewtonClassifier(n_landmarks=40, stages=4, **settings)


def test_the_best_estimator_is_ready_to_be_fitted(data):
    found = dk.tune(newton(random_state=5), data, SPACE, metric="error")
    assert found.settings["gamma"] == found.estimator.gamma == 3.0
    assert type(found.settings["gamma"]) is float
    assert found.estimator.random_state == 5
    assert not hasattr(found.estimator, "coefficients_")
    assert found.estimator.fit(data).score(data.train) == pytest.approx(1 - found.value, abs=0.03)
    frame = found.to_frame()
    assert list(frame.columns) == ["gamma", "nu", "error", "rows", "work", "seconds"]
    assert len(frame) == 6
    assert frame["error"][1:].is_monotonic_increasing
    assert frame["error"][0] == found.value


def test_what_was_tried_is_found_in_the_folder(data, tmp_path):
    space = {"gamma": Range(0.1, 10.0, log=True), "nu": {"low": 1e-6, "high": 1e-2, "log": True}}
    given = {"method": "random", "candidates": 3, "metric": "auc", "folder": tmp_path / "s"}
    found = dk.tune(newton(), data, space, **given)
    again = dk.tune(newton(), data.train, space, **given, jobs=2)
    assert [one.trials for one in again.candidates] == [one.trials for one in found.candidates]
    assert found.metric == "auc"
    assert found.value == max(one.value for one in found.candidates if one.value is not None)
    with pytest.raises(dk.InputError, match="another seed"):
        dk.tune(newton(random_state=1), data, space, **given)


@pytest.mark.parametrize(
    ("space", "given", "message"),
    [
        ({"gama": [1.0]}, {}, "'gama'; did you mean 'gamma'"),
        ({"random_state": [1]}, {}, "unknown hyperparameter"),
        ({"gamma": 1.0}, {}, r"gamma must be a list of values or a range such as .*, got 1\.0"),
        ({"gamma": "median"}, {}, "gamma must be a list of values .*, got 'median'"),
        ({"gamma": {"from": 1.0}}, {}, "gamma: unknown key of a range 'from'.*low"),
        ({"gamma": {"low": 1.0}}, {}, r"gamma must be a list of values or a range .*, got .*'low': 1"),
        ({"gamma": []}, {}, "gamma must have at least one value"),
        ({"gamma": [1.0]}, {"candidates": 0}, "candidates must be an integer >= 1, got 0"),
        ({"gamma": {"low": 2.0, "high": 1.0}}, {}, "gamma: a range from 2 to 1"),
        ({"gamma": [1.0, -1.0]}, {}, r"gamma must be a positive number, .*, got -1\.0"),
        ({"gamma": [1.0]}, {"method": "gird"}, "did you mean 'grid'"),
        ({"gamma": [1.0]}, {"validation": 1}, "validation must be a share of the rows, .*, got 1"),
        ({"gamma": [1.0]}, {"validation": 1.2}, "validation must be a share of the rows, .*, got 1.2"),
        ({"gamma": [1.0]}, {"jobs": 0}, "jobs must be an integer >= 1, got 0"),
        ({"gamma": [1.0]}, {"factor": 1}, "factor must be an integer >= 2, got 1"),
        ({"gamma": [1.0]}, {"metric": "r2"}, "unknown metric of classification 'r2'"),
        ({"n_features": [10, 20]}, {}, "no effect with features='nystroem'"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(data, space, given, message):
    with pytest.raises(dk.InputError, match=message):
        dk.tune(newton(), data, space, **given)


def test_arrays_and_streams_of_randomness_are_refused(data):
    with pytest.raises(dk.InputError, match="y is a dict; give tune"):
        dk.tune(newton(), np.zeros((9, 2)), SPACE)
    with pytest.raises(dk.InputError, match="random_state must be an integer or None, got RandomState"):
        dk.tune(newton(random_state=np.random.RandomState(0)), data, SPACE)
