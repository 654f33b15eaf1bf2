"""Pegasos from end to end: features, sparse rows, every scheduler, models on disk, the command line."""

import numpy as np
import pytest

from distkern import PegasosClassifier
from distkern.core.errors import InputError
from distkern.runs.algorithms import load_model
from problems import topics
from runs import plan

FEATURES = {
    "linear": {},
    "random": {"features": "random", "n_features": 128, "gamma": 0.7},
    "landmarks": {"features": "landmarks", "n_landmarks": 50, "gamma": 0.7, "lam": 1e-3},
}


def small(kind="linear", **parameters):
    return PegasosClassifier(
        **{"random_state": 0, "stages": 2, "steps_per_stage": 1.0, **FEATURES[kind], **parameters}
    )


@pytest.mark.parametrize(
    ("parameters", "limit", "knob"),
    [
        ({}, 64, "features=random"),
        ({"features": "random", "n_features": 2**20}, 400, "--set n_features="),
        ({"features": "landmarks", "n_landmarks": 1000}, 350, "--set n_landmarks="),
        ({"features": "landmarks", "n_landmarks": 1}, 64, "a process needs at least"),
    ],
)
def test_what_does_not_fit_is_said_with_the_knob(parameters, limit, knob, stored_topics):
    planned = plan(
        PegasosClassifier(**parameters),
        stored_topics["sparse"].train,
        scheduler="synchronous",
        memory_limit=limit * 2**20,
    )
    assert not planned.fits
    assert knob in planned.advice


def test_a_seed_that_was_not_given_is_kept(tmp_path):
    X, y = topics(300)
    model = small("random", random_state=None).fit(X, y)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").decision_function(X), model.decision_function(X))


def test_landmarks_of_another_kernel():
    X, y = topics()
    model = small("landmarks", kernel="chi2", gamma="scale").fit(X, y)
    assert model.score(X, y) > 0.8
    with pytest.raises(InputError, match=r"negative|>= 0"):
        model.predict(-X)
