"""What users see of an estimator in an editor, a shell and a notebook, and why a method is missing."""

import inspect

import numpy as np
import pandas
import pytest
from sklearn.inspection import permutation_importance

import distkern as dk
from distkern.core.text import listed
from distkern.estimators.base import AbstractClassifier
from distkern.estimators.declared import METHODS
from distkern.model.features import LandmarkModel
from distkern.model.parts import History
from distkern.runs.algorithms import estimators

RNG = np.random.default_rng(0)
FRAME = pandas.DataFrame({f"column number {at}": RNG.normal(size=300) for at in range(20)})
FRAME["kind"] = RNG.choice(list("abc"), 300)
Y = (FRAME["column number 3"] + (FRAME["kind"] == "b") > 0.5).astype(int)
ROWS, HALVES = RNG.normal(size=(60, 2)), np.arange(60) % 2


@pytest.fixture(scope="module")
def model():
    return dk.NewtonClassifier(features="linear", random_state=0).fit(FRAME, Y)


@pytest.mark.parametrize("name", estimators())
def test_dir_has_hyperparameters_fitted_attributes_and_methods_for_users(name):
    kind = estimators()[name]
    shown = {one for one in dir(kind()) if not one.startswith("_") and not one.endswith("_")}
    assert {*kind.hyperparameters} <= shown <= {*kind.hyperparameters, *METHODS}
    assert {"fit", "get_params"} <= shown


def test_dir_leaves_out_what_is_internal_but_has_it(model):
    assert model.mean_weight_ == 1.0
    assert not {"mean_weight_", "map_", "zero_based_"} & {*dir(model)}
    assert "set_partial_fit_request" in dir(dk.PegasosClassifier())
    assert "set_partial_fit_request" not in dir(dk.SIMBAClassifier())


def test_dir_knows_which_loss_gives_probabilities(model):
    assert {"predict_proba", "partial_fit", "classes_", "coefficients_"} <= {*dir(model)} | {"partial_fit"}
    assert "predict_proba" not in dir(dk.NewtonClassifier(loss="squared_hinge"))


def test_reprs_fit_a_screen(model):
    explanation = model.explain(FRAME, Y, n_repeats=2, features=[*FRAME.columns])
    history = History({"stage": at, "objective": 1 / (at + 1), "train_error": 0.1} for at in range(40))
    tuned = dk.tune(dk.NewtonClassifier(features="linear"), FRAME, Y, {"nu": [1e-3, 1e-5]})
    for shown in map(repr, (explanation, history, model.history_, model.table_, tuned, model)):
        lines = shown.splitlines()
        assert len(lines) <= 24, shown
        assert max(map(len, lines)) <= 100, shown
    assert "column number 3  " in repr(explanation)
    assert "kind" in repr(model.table_)
    assert " 39 " in repr(history)
    assert History() == []


def test_long_lines_are_cut_and_many_rows_left_out():
    lines = listed("title", ["name", "x"], [["n" * 200, at] for at in range(100)]).splitlines()
    assert len(lines) == 15
    assert lines[-2] == "  ... 88 more"
    assert {len(line) for line in lines[2:-2]} == {100}


def test_notebooks_show_estimators_as_scikit_learns(model):
    shown = model._repr_html_()
    assert "sk-estimator" in shown
    assert "NewtonClassifier" in shown
    assert "features" in shown


def test_importances_are_in_the_order_of_the_columns_as_scikit_learns():
    X = RNG.normal(size=(400, 5))
    y = (2 * X[:, 3] + X[:, 1] > 0).astype(int)
    model = dk.NewtonClassifier(features="linear", random_state=0).fit(X, y)
    found = model.explain(X, y, n_repeats=10)
    theirs = permutation_importance(model, X, y, n_repeats=10, random_state=0, scoring="neg_log_loss")
    np.testing.assert_allclose(found.importances_mean, theirs.importances_mean, rtol=0.1, atol=0.01)
    assert found.importances_std.argmax() == theirs.importances_std.argmax() == 3
    assert found.importances_mean.argmax() == 3
    some = model.explain(X, y, features=[4, 1], n_repeats=2)
    assert np.isnan(some.importances_mean).tolist() == [True, False, True, True, False]
    assert some.importances_mean[1] > some.importances_mean[4]


def test_importances_of_a_table_are_of_its_columns(model, tmp_path):
    found = model.explain(FRAME, Y, n_repeats=2, features=["kind", "column number 3"])
    assert found.importances_mean.shape == model.feature_names_in_.shape
    assert model.feature_names_in_[np.nanargmax(found.importances_mean)] == "column number 3"
    assert np.flatnonzero(~np.isnan(found.importances_std)).tolist() == [3, 20]


def test_a_loss_without_probabilities_names_those_that_have_them():
    model = dk.NewtonClassifier(loss="squared_hinge", features="linear").fit(ROWS, HALVES)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="gives no probabilities: set loss='logistic' or 'softmax'"):
        model.predict_proba(ROWS)
    with pytest.raises(AttributeError, match="set probability=True"):
        _ = dk.CellClassifier(probability=False).predict_proba
    assert dk.NewtonClassifier(features="linear").fit(ROWS, HALVES).predict_proba(ROWS).shape == (60, 2)


def test_the_method_keeps_signature_and_docstring():
    assert [*inspect.signature(dk.NewtonClassifier.predict_proba).parameters] == ["self", "X"]
    assert dk.NewtonClassifier().predict_proba.__doc__.startswith("Predict class probabilities")


def test_what_cannot_go_on_says_so():
    model = dk.NewtonClassifier(loss="logistic", features="linear")
    with pytest.raises(
        AttributeError, match="no partial_fit, because updates of newton read the old rows again"
    ):
        model.partial_fit(ROWS, HALVES)


def test_a_subclass_keeps_its_own_constructor():
    class Made(AbstractClassifier, solver="avm"):
        kind = LandmarkModel

    class Own(Made):
        def __init__(self, gamma=0.5):
            super().__init__(gamma=gamma)

    # the first call makes the constructor of the base class
    assert (Own().gamma, Own(2.0).gamma, Made().gamma) == (0.5, 2.0, "auto")
    assert list(inspect.signature(Own).parameters) == ["gamma"]
