"""Weights of columns and intercepts of linear models, as scikit-learn and its selectors read them."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse import random as random_rows
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression, Ridge

import distkern as dk
from distkern import NewtonClassifier, PegasosClassifier, SIMBAClassifier, SVRGClassifier, load_model
from distkern.data.ingest import write_dataset
from runs import evaluate

LINEAR = {"features": "linear", "random_state": 0}


@pytest.fixture(scope="module")
def rows():
    """Columns of other units, of which the first and the third matter, and scores."""
    X = np.random.default_rng(0).normal(size=(300, 5))
    return X * [1, 10, 100, 1, 1e3] + [0, 5, -300, 2, 1e4], 3 * X[:, 0] - 2 * X[:, 2]


def labels(scores, n_classes):
    return np.digitize(scores, np.quantile(scores, np.arange(1, n_classes) / n_classes))


def decisions(model, X):
    values = np.asarray(X) @ model.coef_.T + model.intercept_
    return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


@pytest.mark.parametrize("scale", ["none", "standard", "maxabs"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decisions_are_those_of_the_columns_in_their_own_units(rows, scale, n_classes):
    X, scores = rows
    y = labels(scores, n_classes)
    for loss in ("logistic", "softmax"):
        model = dk.NewtonClassifier(loss=loss, scale=scale, nu=1e-3, **LINEAR).fit(X, y)
        expected = LogisticRegression().fit(X, y)
        assert model.coef_.shape == expected.coef_.shape
        assert model.intercept_.shape == expected.intercept_.shape
        np.testing.assert_allclose(decisions(model, X), model.decision_function(X), rtol=1e-9, atol=1e-9)


def test_regressors_with_one_output_have_a_vector_and_a_number(rows):
    X, scores = rows
    model, expected = dk.NewtonRegressor(**LINEAR).fit(X, scores), Ridge().fit(X, scores)
    assert model.coef_.shape == expected.coef_.shape
    assert np.shape(model.intercept_) == np.shape(expected.intercept_)
    assert type(model.intercept_) is type(expected.intercept_)
    np.testing.assert_allclose(decisions(model, X), model.predict(X), rtol=1e-9, atol=1e-9)
    several = dk.SVRGRegressor(loss="quantile", quantiles=(0.1, 0.9), stages=2, **LINEAR).fit(X, scores)
    assert several.coef_.shape == (2, 5)
    assert several.intercept_.shape == (2,)


@pytest.mark.parametrize(
    "model", [dk.SIMBAClassifier(max_rounds=50, random_state=0), dk.PegasosClassifier(random_state=0)]
)
def test_other_linear_machines_have_them(rows, model, tmp_path):
    X, scores = rows
    model.fit(X, labels(scores, 3)).save(tmp_path / "m")
    again = dk.load_model(tmp_path / "m")
    assert again.coef_.shape == (3, 5)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    np.testing.assert_allclose(decisions(again, X), model.decision_function(X), rtol=1e-6, atol=1e-6)


def test_the_linear_machine_that_the_package_chooses_has_them():
    X = random_rows(60, 16384, density=0.01, format="csr", random_state=0)
    model = dk.KernelClassifier(random_state=0).fit(X, np.arange(60) % 2)
    assert model.machine_.value("features") == "linear"
    assert model.coef_.shape == (1, 16384)
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_, model.decision_function(X), atol=1e-9)


def test_a_data_set_that_was_scaled(rows, tmp_path):
    X, scores = rows
    data = dk.write_dataset(X, labels(scores, 2), tmp_path / "d.zarr", scale="minmax")
    model = dk.NewtonClassifier(nu=1e-3, **LINEAR).fit(data)
    np.testing.assert_allclose(decisions(model, X), model.decision_function(X), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("case", ["kernel", "random", "ranks", "unit", "texts", "novelty"])
def test_there_are_none_where_the_model_is_not_linear_in_the_columns(rows, case, tmp_path):
    X, scores = rows
    y, model = labels(scores, 2), dk.NewtonClassifier(nu=1e-3, **LINEAR)
    if case == "kernel":
        model.set_params(features="nystroem", n_landmarks=8)
    elif case == "random":
        model.set_params(features="random", n_features=8)
    elif case == "ranks":
        model.set_params(scale="ranks")
    elif case == "unit":
        X, y = dk.write_dataset(X, y, tmp_path / "d.zarr", scale="unit"), None
    elif case == "texts":
        X = pd.DataFrame(X, columns=list("abcde")).assign(text=np.where(y, "red", "blue"))
    else:
        model, y = dk.DSGNoveltyDetector(n_features=8, random_state=0), None
    assert not hasattr(model, "coef_")
    with pytest.raises(NotFittedError):
        model.coef_  # noqa: B018
    model.fit(X, y)
    assert not hasattr(model, "coef_")
    with pytest.raises(AttributeError, match="coef_"):
        model.coef_  # noqa: B018
    assert np.isfinite(model.intercept_).all()


def test_selections_of_features_take_the_columns_that_matter():
    X = np.random.default_rng(0).normal(size=(400, 6))
    scores = 3 * X[:, 0] - 2 * X[:, 2]
    model = dk.NewtonClassifier(nu=1e-2, **LINEAR)
    for y in (labels(scores, 2), labels(scores, 3)):
        assert np.flatnonzero(RFE(model, n_features_to_select=2).fit(X, y).support_).tolist() == [0, 2]
    chosen = SelectFromModel(model).fit(X, labels(scores, 2)).get_support()
    assert np.flatnonzero(chosen).tolist() == [0, 2]
    regressor = dk.NewtonRegressor(**LINEAR)
    assert np.flatnonzero(RFE(regressor, n_features_to_select=2).fit(X, scores).support_).tolist() == [0, 2]


def test_shap_explains_them(rows):
    shap = pytest.importorskip("shap", reason="shap is no dependency")
    X, scores = rows
    model = dk.NewtonClassifier(nu=1e-3, **LINEAR).fit(X, labels(scores, 2))
    explained = shap.LinearExplainer(model, X)(X[:20])
    sums = explained.values.reshape(20, 5).sum(axis=1) + np.ravel(explained.base_values)
    np.testing.assert_allclose(sums, model.decision_function(X[:20]), rtol=1e-6)


MACHINES = [
    (PegasosClassifier, {"stages": 10}),
    (SIMBAClassifier, {"max_rounds": 4000}),
    (SVRGClassifier, {"features": "linear"}),
    (NewtonClassifier, {"features": "linear"}),
]
EXACT = MACHINES[2:]


def shifted(shift, seed=0, n_rows=1500):
    """Classes on both sides of a plane that is far from the origin."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 4))
    return X + shift, (X @ [1.0, -1.0, 0.5, 1.0] > 1.0).astype(int)


@pytest.mark.parametrize(("kind", "given"), EXACT)
def test_it_is_the_minimum_of_scikit_learns_logistic_regression(kind, given, tmp_path):
    X, y = shifted(2.0)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.1, 1 - y, y)
    nu = 1e-2
    expected = LogisticRegression(C=1 / (nu * len(X)), tol=1e-10).fit(X, y)
    model = kind(nu=nu, tol=1e-8, stages=50, random_state=0, **given).fit(X, y)
    np.testing.assert_allclose(model.coefficients_[:, 0], expected.coef_[0], rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(model.constants_, expected.intercept_, rtol=2e-3)
    sparse = kind(nu=nu, tol=1e-8, stages=50, random_state=0, **given).fit(csr_matrix(X), y)
    np.testing.assert_allclose(sparse.constants_, model.constants_, rtol=1e-3)
    data = write_dataset([(X, y)], tmp_path / "d.zarr", scale="none")
    model = kind(nu=nu, random_state=0, scale="none", **given).fit(data.train)
    assert evaluate(model, data.train)["objective"] == pytest.approx(
        model.history_[-1]["objective"], rel=1e-6
    )
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_competing_classes_have_one_each():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 200)
    X = rng.normal(size=(600, 2)) * 0.3 + np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])[y] + 5.0
    for loss in ("softmax", "logistic"):
        model = NewtonClassifier(features="linear", loss=loss, random_state=0).fit(X, y)
        assert model.constants_.shape == (3,)
        assert model.score(X, y) > 0.99
