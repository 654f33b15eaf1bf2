"""Files of a model: their content, damage, and copies in stores of other libraries."""

import json

import numpy as np
import pandas
import pytest
from scipy import sparse
from sklearn.datasets import make_classification

import distkern as dk
from distkern import AVMClassifier, CSVRGClassifier, NewtonClassifier
from distkern.core.errors import CorruptDataError, InputError
from distkern.data.store.arrays import load_arrays, save_arrays
from distkern.data.store.description import sealed
from distkern.runs import persistence
from distkern.runs.algorithms import load_model

KEYS = {
    "encoding-type",
    "encoding-version",
    "algorithm",
    "distkern-version",
    "numpy-version",
    "params",
    "classes",
    "n_features",
    "feature_names",
    "target_name",
    "gamma",
    "n_iter",
    "dtype",
    "scaling",
    "class_weights",
    "mean_weight",
    "history",
    "ended",
    "found",
    "seed",
    "further",
    "arrays",
    "fingerprint",
}


@pytest.mark.parametrize("kind", [CSVRGClassifier, AVMClassifier])
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_a_folder_holds_what_the_format_says(kind, form, tmp_path):
    X, y = make_classification(300, 6, random_state=0)
    X = np.where(X > 0.5, X, 0)
    given = sparse.csr_array(X) if form == "sparse" else X
    model = kind(n_landmarks=30, gamma=0.2, random_state=0, stages=1, class_weight="balanced").fit(given, y)
    model.save(tmp_path / "m")
    description = json.loads((tmp_path / "m" / "model.json").read_text())
    assert set(description) == KEYS
    assert description["encoding-version"] == 6
    parts = (
        {"landmarks"}
        if form == "dense"
        else {f"landmarks.{part}" for part in ("data", "indices", "indptr", "n_features")}
    )
    arrays, kept = tmp_path / "m" / "arrays", description["further"]
    assert set(load_arrays(arrays, but="further.")) == parts | {"coefficients", "intercept"}
    assert set(load_arrays(arrays)) == parts | {"coefficients", "intercept", *kept["arrays"]}
    assert (kept["weight"], len(kept["sources"])) == (300, 1)
    again = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.constants_, np.zeros(1))
    np.testing.assert_array_equal(again.decision_function(given), model.decision_function(given))


def test_a_missing_array_is_named(tmp_path):
    X, y = make_classification(300, 6, random_state=0)
    CSVRGClassifier(n_landmarks=30, gamma=0.2, random_state=0, stages=1).fit(X, y).save(tmp_path / "m")
    arrays = load_arrays(tmp_path / "m" / "arrays")
    del arrays["landmarks"]
    digest = save_arrays(tmp_path / "m" / "arrays", arrays)
    with pytest.raises(CorruptDataError, match="not written with the other files"):
        load_model(tmp_path / "m")
    file = tmp_path / "m" / "model.json"
    description = json.loads(file.read_text()) | {"arrays": digest}
    del description["fingerprint"]
    file.write_text(json.dumps(sealed(description)))
    with pytest.raises(CorruptDataError, match="'landmarks' is missing"):
        load_model(tmp_path / "m")


def test_a_model_that_is_replaced_while_it_is_read_is_read_again(tmp_path, monkeypatch):
    X, y = make_classification(60, 5, random_state=0)
    models = [CSVRGClassifier(n_landmarks=5, stages=1, random_state=seed).fit(X, y) for seed in range(2)]
    models[0].save(tmp_path / "m")
    read = []

    def load(*given, **how):
        read.append(given)
        if len(read) == 1:
            models[1].save(tmp_path / "m")
        return load_arrays(*given, **how)

    monkeypatch.setattr(persistence, "load_arrays", load)
    np.testing.assert_array_equal(load_model(tmp_path / "m").coefficients_, models[1].coefficients_)
    # what stays damaged is refused
    file = next(file for file in (tmp_path / "m" / "arrays").rglob("0") if file.is_file())
    content = file.read_bytes()
    file.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    with pytest.raises(CorruptDataError, match="arrays"):
        load_model(tmp_path / "m")


def labels(values, dtype="<i8"):
    return {"classes": {"dtype": dtype, "values": values}}


@pytest.mark.parametrize(
    "wrong",
    [
        labels([0, 1], "<U300000000"),
        labels([0, 1], "f8,f8"),
        labels([0.5, 1.5]),
        labels([2**70, 1]),
        labels([0, 0]),
        labels([0]),
        labels([]),
        labels([[0], [1]], "object"),
        labels([*range(1000)]),
        {"classes": None},
        {"n_features": 7},
        {"class_weights": [1.0]},
        {"class_shares": [0.2, 0.3, 0.5]},
        {"scaling": {"kind": "standard", "shift": [0.0], "factor": [1.0]}},
        {"gamma": "wide"},
        {"seed": True},
        {"history": [{"stage": 0}]},
        {"updates": [{"number": 1, "rows": 3}]},
    ],
)
def test_facts_that_contradict_each_other_are_refused(wrong, tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    settings = {"loss": "least_squares", "n_landmarks": 4, "gamma": 0.3, "nu": 0.01, "random_state": 0}
    NewtonClassifier(**settings).fit(X, (X[:, 0] > 0).astype(int)).save(tmp_path / "m")
    file = tmp_path / "m" / "model.json"
    whole = json.loads(file.read_text())
    del whole["fingerprint"]
    file.write_text(json.dumps(sealed(whole | {"classes": {"dtype": "string", "values": ["no", "yes"]}})))
    assert set(load_model(tmp_path / "m").predict(X)) == {"no", "yes"}
    file.write_text(json.dumps(sealed(whole | wrong)))
    with pytest.raises(CorruptDataError, match=r"model\.json: .*damaged"):
        load_model(tmp_path / "m")


def test_arrays_that_do_not_fit_together_are_refused(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 3))
    settings = {"loss": "least_squares", "n_landmarks": 4, "gamma": 0.3, "nu": 0.01, "random_state": 0}
    NewtonClassifier(**settings).fit(X, (X[:, 0] > 0).astype(int)).save(tmp_path / "m")
    file, arrays = tmp_path / "m" / "model.json", load_arrays(tmp_path / "m" / "arrays")
    whole = json.loads(file.read_text())
    del whole["fingerprint"]
    for name, wrong in (
        ("coefficients", arrays["coefficients"][:-1]),
        ("coefficients", np.repeat(arrays["coefficients"], 2, axis=1)),
        ("coefficients", arrays["coefficients"] * np.nan),
        ("coefficients", arrays["coefficients"].astype(complex)),
        ("landmarks", arrays["landmarks"][:, :-1]),
        ("landmarks", arrays["landmarks"][..., None]),
        ("intercept", np.zeros(3)),
    ):
        digest = save_arrays(tmp_path / "m" / "arrays", {**arrays, name: np.ascontiguousarray(wrong)})
        file.write_text(json.dumps(sealed(whole | {"arrays": digest})))
        with pytest.raises(CorruptDataError, match=r"model\.json: .*damaged"):
            load_model(tmp_path / "m")


@pytest.mark.parametrize("knows_ranges", [True, False])
def test_more_features_than_there_were_take_no_memory(knows_ranges, tmp_path):
    """Random features of so many columns would be drawn before anything is compared."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    settings = {"features": "random", "n_features": 8, "gamma": 0.3, "nu": 0.01, "random_state": 0}
    NewtonClassifier(loss="least_squares", **settings).fit(X, (X[:, 0] > 0).astype(int)).save(tmp_path / "m")
    file, arrays = tmp_path / "m" / "model.json", load_arrays(tmp_path / "m" / "arrays")
    whole = json.loads(file.read_text()) | {"n_features": 10**13}
    del whole["fingerprint"]
    if not knows_ranges:
        kept = arrays | {"further.low": np.zeros(0), "further.high": np.zeros(0)}
        whole["arrays"] = save_arrays(tmp_path / "m" / "arrays", kept)
    file.write_text(json.dumps(sealed(whole)))
    with pytest.raises(InputError, match="ranges of 3 features" if knows_ranges else "not enough memory"):
        load_model(tmp_path / "m")


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
@pytest.mark.parametrize("is_loaded", [False, True], ids=["fitted", "loaded"])
def test_skops_stores_models_of_trusted_classes(model, rows, is_loaded, tmp_path):
    skops = pytest.importorskip("skops.io")
    model.fit(rows, Y).save(tmp_path / "m")
    data = skops.dumps(load_model(tmp_path / "m") if is_loaded else model)
    trusted = skops.get_untrusted_types(data=data)
    assert all(name.startswith(("distkern.", "numpy.")) for name in trusted), trusted
    again = skops.loads(data, trusted=trusted)
    assert np.array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert again.get_params() == model.get_params()


@pytest.mark.slow
# of type hints of its own
@pytest.mark.filterwarnings("ignore:.*type hint")
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


@pytest.mark.parametrize(
    "model", [dk.KernelClassifier(search="quick", random_state=0), dk.NewtonClassifier(nu=1, random_state=0)]
)
def test_a_loaded_model_has_every_hyperparameter(model, tmp_path):
    """Also those that its file leaves out, and values are clean although the file has them as given."""
    model.fit(X, Y).save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    assert loaded.get_params() == model.get_params()
    assert [type(loaded.value(name)) for name in loaded.get_params()] == [
        type(model.value(name)) for name in model.get_params()
    ]


def test_a_model_of_another_version_gets_defaults_for_what_it_lacks(tmp_path):
    model = dk.NewtonClassifier(gamma=0.3, nu=0.1, n_landmarks=8, random_state=0).fit(X, Y)
    model.save(tmp_path / "m")
    file = tmp_path / "m" / "model.json"
    whole = json.loads(file.read_text()) | {"distkern-version": "0.0.1"}
    del whole["fingerprint"], whole["params"]["tol"]
    file.write_text(json.dumps(sealed(whole)))
    loaded = load_model(tmp_path / "m")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    whole["params"]["nu"] = -1.0
    file.write_text(json.dumps(sealed(whole)))
    with pytest.raises(CorruptDataError, match="nu must be"):
        load_model(tmp_path / "m")
