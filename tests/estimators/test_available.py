"""Methods that a model lacks say why, and what to set."""

import inspect

import numpy as np
import pytest

import distkern as dk

X, Y = np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2


def test_a_loss_without_probabilities_names_those_that_have_them():
    model = dk.NewtonClassifier(loss="squared_hinge", features="linear").fit(X, Y)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="gives no probabilities: set loss='logistic' or 'softmax'"):
        model.predict_proba(X)
    with pytest.raises(AttributeError, match="set probability=True"):
        _ = dk.CellClassifier(probability=False).predict_proba
    assert dk.NewtonClassifier(features="linear").fit(X, Y).predict_proba(X).shape == (60, 2)


def test_the_method_keeps_signature_and_docstring():
    assert [*inspect.signature(dk.NewtonClassifier.predict_proba).parameters] == ["self", "X"]
    assert dk.NewtonClassifier().predict_proba.__doc__.startswith("Predict class probabilities")


def test_what_cannot_go_on_says_so():
    model = dk.NewtonClassifier(loss="logistic", features="linear")
    with pytest.raises(
        AttributeError, match="no partial_fit, because updates of newton read the old rows again"
    ):
        model.partial_fit(X, Y)
