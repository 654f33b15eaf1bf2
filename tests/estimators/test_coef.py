"""Weights of columns and intercepts of linear models, as scikit-learn and its selectors read them."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression, Ridge

import distkern as dk

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


def shifted(shift, seed=0, n_rows=1500):
    """Classes on both sides of a plane that is far from the origin."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 4))
    return X + shift, (X @ [1.0, -1.0, 0.5, 1.0] > 1.0).astype(int)


@pytest.mark.parametrize("kind", [dk.SVRGClassifier, dk.NewtonClassifier])
def test_it_is_the_minimum_of_scikit_learns_logistic_regression(kind):
    X, y = shifted(2.0)
    y = np.where(np.random.default_rng(0).random(len(y)) < 0.1, 1 - y, y)
    nu = 1e-2
    expected = LogisticRegression(C=1 / (nu * len(X)), tol=1e-10).fit(X, y)
    given = {"nu": nu, "tol": 1e-8, "stages": 50, **LINEAR}
    model = kind(**given).fit(X, y)
    np.testing.assert_allclose(model.coefficients_[:, 0], expected.coef_[0], rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(model.constants_, expected.intercept_, rtol=2e-3)
    sparse = kind(**given).fit(csr_matrix(X), y)
    np.testing.assert_allclose(sparse.constants_, model.constants_, rtol=1e-3)
