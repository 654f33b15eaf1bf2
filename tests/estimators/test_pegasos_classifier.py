"""Pegasos from end to end: features, sparse rows, every scheduler, models on disk, the command line."""

import numpy as np
import pytest
from scipy import sparse

from distkern import PegasosClassifier
from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.estimators.loading import load_model
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


def test_sparse_matrices_and_arrays_give_the_same_bits():
    X, y = topics()
    dense = small().fit(X, y)
    for matrix in (sparse.csr_matrix(X), sparse.csc_array(X)):
        model = small().fit(matrix, y)
        np.testing.assert_array_equal(model.coefficients_, dense.coefficients_)
        np.testing.assert_array_equal(model.constants_, dense.constants_)
        np.testing.assert_allclose(model.decision_function(matrix), dense.decision_function(X), atol=1e-4)
    assert dense.coefficients_.shape == (200, 1)
    assert dense.score(X, y) > 0.9


@pytest.mark.parametrize(
    ("parameters", "knob"),
    [
        ({}, "features=random"),
        ({"features": "random", "n_features": 2**20}, "n_features="),
        ({"features": "landmarks", "n_landmarks": 1000}, "n_landmarks="),
    ],
)
def test_what_does_not_fit_is_said_with_the_knob(parameters, knob, stored_topics):
    planned = plan(
        PegasosClassifier(**parameters),
        stored_topics["sparse"].train,
        scheduler="synchronous",
        memory_limit=2**26,
    )
    assert not planned.fits
    assert knob in planned.advice


def test_landmarks_of_sparse_rows_stay_sparse(tmp_path):
    X, y = topics()
    model = small("landmarks").fit(sparse.csr_array(X), y)
    assert isinstance(model.landmarks_, SparseRows)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert isinstance(again.landmarks_, SparseRows)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_seed_that_was_not_given_is_kept(tmp_path):
    X, y = topics(300)
    model = small("random", random_state=None).fit(X, y)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "laplacian"}, r"kernel='laplacian' has no effect with features='linear'"),
        ({"gamma": 2.0}, r"gamma=2.0 has no effect with features='linear'"),
        ({"n_features": 64}, "n_features=64 has no effect.*set features to 'random'"),
        ({"features": "random", "n_landmarks": 64}, "n_landmarks=64 has no effect with features='random'"),
        ({"features": "landmarks", "sampler": "fastfood"}, "sampler='fastfood' has no effect"),
        ({"features": "random", "n_features": 63}, "n_features must be a positive even number"),
        ({"features": "landmarks", "kernel": "matern", "smoothness": 2.0}, "half integer"),
    ],
)
def test_unusable_hyperparameters_are_refused(parameters, message):
    X, y = topics(60)
    with pytest.raises(ValueError, match=message):
        PegasosClassifier(**parameters).fit(X, y)


def test_landmarks_of_another_kernel():
    X, y = topics()
    model = small("landmarks", kernel="chi2", gamma="scale").fit(X, y)
    assert model.score(X, y) > 0.8
    with pytest.raises(InputError, match=r"negative|>= 0"):
        model.predict(-X)
