"""Settings that are tried, and the rungs that they are tried in."""

import numpy as np
import pytest

from distkern.common.errors import InputError
from distkern.search.tuning.asked import Range
from distkern.search.tuning.search import Metric
from distkern.search.tuning.space import settings_of


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
        ({"a": Range(0.0, 1.0)}, "grid", None, "a: is a range.*points = 5"),
        ({"a": [1]}, "grid", 3, "candidates: has no effect"),
        ({"a": [1, 2]}, "random", 3, "candidates: 3 are asked for, and there are 2"),
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
        ((0.0, 1.0, True), "above 0"),
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
