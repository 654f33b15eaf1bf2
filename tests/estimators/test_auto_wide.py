"""The choice for wide and sparse rows, and for few."""

import numpy as np
import pytest
from scipy.sparse import random as random_sparse
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

import distkern
from distkern import KernelClassifier, KernelRegressor
from small import chosen, recipe_for, slow_but


def test_wide_sparse_rows_get_a_linear_machine():
    X = random_sparse(80, 8500, 0.005, format="csr", random_state=0)
    y = (np.asarray(X.sum(axis=1)).ravel() > X.sum() / 80).astype(int)
    model = KernelClassifier(random_state=0).fit(X, y)
    # of more than 8,192 features no matrix is made
    assert (model.algorithm_, model.machine_.features, model.machine_.hessian_) == (
        "newton",
        "linear",
        "products",
    )
    assert model.chosen_because_ == "its log loss on held-out rows is the lowest"
    assert "matrices of 8,500 features are large" in "".join(model.history_[-1]["notes"])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_, model.decision_function(X), atol=1e-9)
    assert not hasattr(model, "metric_importances_")


def wide(kind, n_rows=400):
    """Rows with 1,100 columns that are combinations of 3; the classes are linearly separable or not."""
    generator = np.random.default_rng(1)
    inner = generator.normal(size=(n_rows, 3))
    X = inner @ generator.normal(size=(3, 1100)) / 30
    score = inner[:, 0] if kind == "linear" else np.square(inner).sum(axis=1) - 2.4
    return X.astype(np.float32), score


@pytest.mark.parametrize(("kind", "features"), [("linear", "linear"), ("round", "nystroem")])
def test_trials_decide_for_wide_rows(kind, features):
    X, score = wide(kind, 600)
    score = score + 0.5 * np.random.default_rng(2).normal(size=600)
    y = np.where(score > 0, "yes", "no")
    model = KernelClassifier(class_weight={"yes": 2.0}, random_state=0)
    recipe = recipe_for(model, X, y)
    assert (recipe.name, recipe.settings.given["features"]) == ("newton", features)
    assert recipe.chosen.because.endswith(
        ("log loss on held-out rows is the lowest", "on the same held-out rows")
    )


@pytest.mark.parametrize(("kind", "features"), [("linear", "linear"), ("round", "nystroem")])
def test_trials_decide_for_wide_rows_of_regressors(kind, features):
    X, score = wide(kind)
    model = KernelRegressor(random_state=0)
    recipe = recipe_for(model, X, score)
    assert recipe.name == "newton_regressor"
    assert recipe.settings.given["features"] == features
    assert recipe.chosen.because.endswith(
        ("error on held-out rows is the lowest", "on the same held-out rows")
    )


def test_a_linear_machine_of_stored_rows_has_the_nu_of_their_units(tmp_path):
    generator = np.random.default_rng(5)
    weights = generator.normal(size=60)
    # columns with standard deviation 1/7: the map "none" divides all of them by one number
    X = (generator.random((5000, 60)) < 0.02).astype(np.float32)
    X[:, :2] = generator.random((5000, 2)) * 0.1
    y = (X @ weights + generator.logistic(size=5000) > 0.5).astype(int)
    data = distkern.write_dataset(X[:500], y[:500], tmp_path / "rare.zarr", scale="minmax", sparse=False)
    model = KernelClassifier(random_state=0).fit(data)
    assert model.machine_.features == "linear"

    def lost(machine):
        return log_loss(y[500:], machine.predict_proba(X[500:]))

    best = min(lost(LogisticRegression(C=C).fit(X[:500], y[:500])) for C in (0.3, 1.0, 3.0))
    assert lost(model) < 1.04 * best < 0.64


@pytest.mark.parametrize("kind", slow_but(["dense", "sparse", "very wide"], "dense", "very wide"))
def test_noisy_labels_of_wide_rows_get_the_class_shares(kind):
    generator = np.random.default_rng(3)
    if kind == "dense":
        X = generator.normal(size=(300, 1200)).astype(np.float32)
    else:
        n_columns = 8500 if kind == "very wide" else 2000
        X = random_sparse(300, n_columns, 0.01, format="csr", random_state=0, dtype=np.float32)
        X.data[:] = 1.0
    y = generator.integers(0, 2, 300)
    model = KernelClassifier(random_state=0).fit(X[:150], y[:150])
    found = log_loss(y[150:], model.predict_proba(X[150:]))
    assert found < 0.75
    assert abs(found - model.held_out_score_) < 0.06


def test_too_few_rows_for_trials_get_kernels_at_landmarks():
    X, score = wide("round", 40)
    assert chosen(KernelClassifier(random_state=0), X, (score > 0).astype(int)) == (
        "newton",
        "there are too few different rows of each class to compare algorithms",
    )
