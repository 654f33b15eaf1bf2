"""``distkern.tune`` as people call it."""

import dask
import numpy as np
import pytest

import distkern as dk
from distkern.search.tuning.asked import Range

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
    assert not hasattr(found.estimator, "coef_")
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
        ({"gamma": 1.0}, {}, r"gamma: is 1\.0; give a list"),
        ({"gamma": "median"}, {}, "gamma: is 'median'; give a list"),
        ({"gamma": {"from": 1.0}}, {}, "gamma: unknown key of a range 'from'.*low"),
        ({"gamma": {"low": 1.0}}, {}, "gamma: not a range: .*high = 10"),
        ({"gamma": []}, {}, "gamma: an empty list"),
        ({"gamma": [1.0]}, {"candidates": 0}, "candidates: is 0"),
        ({"gamma": {"low": 2.0, "high": 1.0}}, {}, "gamma: a range from 2 to 1"),
        ({"gamma": [1.0, -1.0]}, {}, r"gamma: is -1\.0"),
        ({"gamma": [1.0]}, {"method": "gird"}, "did you mean 'grid'"),
        ({"gamma": [1.0]}, {"validation": 1}, "validation: is 1"),
        ({"gamma": [1.0]}, {"validation": 1.2}, "validation: is 1.2"),
        ({"gamma": [1.0]}, {"jobs": 0}, "jobs: is 0"),
        ({"gamma": [1.0]}, {"factor": 1}, "factor: is 1"),
        ({"gamma": [1.0]}, {"metric": "r2"}, "unknown metric of classification 'r2'"),
        ({"n_features": [10, 20]}, {}, "no effect with features='nystroem'"),
    ],
)
def test_what_cannot_be_tried_is_refused(data, space, given, message):
    with pytest.raises(dk.InputError, match=message):
        dk.tune(newton(), data, space, **given)


def test_arrays_and_streams_of_randomness_are_refused(data):
    with pytest.raises(dk.InputError, match="data: a ndarray; give open_dataset"):
        dk.tune(newton(), np.zeros((9, 2)), SPACE)
    with pytest.raises(dk.InputError, match="random_state: is a RandomState"):
        dk.tune(newton(random_state=np.random.RandomState(0)), data, SPACE)
