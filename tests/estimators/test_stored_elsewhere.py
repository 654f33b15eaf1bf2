"""Models in stores of other libraries: skops, and MLflow, which stores by skops."""

import numpy as np
import pandas
import pytest

import distkern as dk

X = np.random.default_rng(0).normal(size=(120, 3))
Y = (X[:, 0] > 0).astype(int)
FRAME = pandas.DataFrame({"x": X[:, 0], "kind": np.where(Y, "a", "b")})


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        (dk.NewtonClassifier(random_state=0), X),
        (dk.KernelClassifier(search="quick", random_state=0), FRAME),
        (dk.CellClassifier(search=None, random_state=0), X),
    ],
    ids=["newton", "auto of a table", "cells"],
)
def test_skops_stores_models_of_trusted_classes(model, rows):
    skops = pytest.importorskip("skops.io")
    data = skops.dumps(model.fit(rows, Y))
    trusted = skops.get_untrusted_types(data=data)
    assert all(name.startswith(("distkern.", "numpy.")) for name in trusted), trusted
    again = skops.loads(data, trusted=trusted)
    assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert again.get_params() == model.get_params()


@pytest.mark.slow
def test_mlflow_stores_models_without_pickle(tmp_path):
    mlflow = pytest.importorskip("mlflow")
    sklearn = pytest.importorskip("mlflow.sklearn")
    skops = pytest.importorskip("skops.io")
    model = dk.NewtonClassifier(random_state=0).fit(X, Y)
    trusted = skops.get_untrusted_types(data=skops.dumps(model))
    how = {"skops_trusted_types": trusted, "serialization_format": "skops", "pip_requirements": ["distkern"]}
    sklearn.save_model(model, tmp_path / "m", **how)
    assert np.array_equal(mlflow.pyfunc.load_model(str(tmp_path / "m")).predict(X), model.predict(X))
    assert not [*tmp_path.rglob("*.pkl")]
