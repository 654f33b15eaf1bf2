"""Linear models have an intercept: beside scikit-learn's, where means are shifted and classes are skewed."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from distkern import NewtonClassifier, PegasosClassifier, SIMBAClassifier, SVRGClassifier, load_model
from distkern.data.ingest import write_dataset
from runs import evaluate

LINEAR = [
    (PegasosClassifier, {"stages": 10}),
    (SIMBAClassifier, {"max_rounds": 4000}),
    (SVRGClassifier, {"features": "linear"}),
    (NewtonClassifier, {"features": "linear"}),
]
EXACT = LINEAR[2:]


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
