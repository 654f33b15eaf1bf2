"""What a prediction needs of a model is made once, and again after any change of the model."""

import gc
import pickle
import weakref
from dataclasses import replace

import numpy as np
import pytest

import distkern as dk
from distkern.solvers._cells import buckets
from small import small

ROWS = np.random.default_rng(0).normal(size=(80, 3))
SIDES = ROWS[:, 0] > 0
MODELS = ["CellClassifier", "DSGClassifier", "DSGGaussianProcessRegressor", "NewtonClassifier"]


def fitted(name):
    kind = getattr(dk, name)
    return kind(**small(kind)).fit(ROWS, SIDES)


@pytest.fixture(params=MODELS)
def model(request):
    return fitted(request.param)


def test_the_basis_is_made_once(model, monkeypatch):
    made = []
    kind = type(model.model_)
    own = kind.basis
    monkeypatch.setattr(kind, "basis", lambda *asked: made.append(asked[1:]) or own(*asked))
    first = model.predict(ROWS)
    np.testing.assert_array_equal(model.predict(ROWS), first)
    assert len(made) == 1
    # a copy of the model carries nothing of it
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(ROWS), first)
    assert len(made) == 2


def test_a_model_that_was_changed_is_predicted_with_anew():
    model = fitted("NewtonClassifier")
    before, labels = model.decision_function(ROWS), model.predict(ROWS)
    value = model.model_
    with pytest.raises(AttributeError, match="fit again"):
        model.coefficients_ = 2.0 * value.coefficients
    doubled = {"coefficients": 2.0 * value.coefficients, "constants": 2.0 * value.constants}
    model._model = replace(value, **doubled)
    np.testing.assert_allclose(model.decision_function(ROWS), 2.0 * before, rtol=1e-6)
    model.set_params(threshold=0.999)
    assert model.predict(ROWS).sum() < labels.sum()
    model.fit(ROWS, ~SIDES)
    np.testing.assert_array_equal(model.set_params(threshold=None).predict(ROWS), ~labels)


def test_a_model_that_nobody_has_any_more_is_freed(model):
    # the fixture's own reference stays, so it is a copy that goes
    other = pickle.loads(pickle.dumps(model))
    other.predict(ROWS)
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None


def test_support_rows_of_a_stored_cell_are_prepared_once(tmp_path, monkeypatch):
    monkeypatch.setattr(buckets, "_kept", None)
    fitted("CellClassifier").save(tmp_path)
    model = dk.load_model(tmp_path)
    asked = []
    kernel = type(model.basis().settings.kernel)
    own = kernel.prepare
    monkeypatch.setattr(kernel, "prepare", lambda *given: asked.append(given) or own(*given))
    first = model.decision_function(ROWS[:1])
    np.testing.assert_array_equal(model.decision_function(ROWS[:1]), first)
    assert len(asked) == 1
    monkeypatch.setattr(buckets, "PREPARED_BYTES", 1)
    monkeypatch.setattr(buckets, "_kept", None)
    np.testing.assert_array_equal(model.decision_function(ROWS[:1]), first)
    model.decision_function(ROWS[:1])
    assert len(asked) == 3
