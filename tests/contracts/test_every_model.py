"""Every algorithm over stored sparse rows: its folder, what is measured and predicted with it, its bits."""

import json

import numpy as np
import pytest

from distkern.runs.algorithms import algorithms, load_model
from distkern.runs.scoring import predict_to
from runs import evaluate, plan, train
from small import each, most_classes, small, taken

ALGORITHMS = algorithms()
SERIAL = {"scheduler": "synchronous"}
#: what the test error of a history is called among the figures of an evaluation
FIGURES = {"classification": "error", "none": "outliers"}


@pytest.fixture(scope="module", params=each(ALGORITHMS))
def kind(request):
    return ALGORITHMS[request.param]


@pytest.fixture(scope="module")
def forms(kind, few_rows):
    """The same rows as dense and as sparse shards."""
    return [few_rows(kind.task, sparse=sparse, n_classes=most_classes(kind)) for sparse in (False, True)]


def model_of(kind):
    """An estimator that chooses nothing that it chooses in another way where zeros are to stay zeros."""
    fixed = {"scale": "none", "gamma": "scale"}
    return kind(**small(kind, **{name: value for name, value in fixed.items() if name in taken(kind, {})}))


@pytest.fixture(scope="module")
def trained(kind, forms, tmp_path_factory):
    """A model of the sparse rows, and its folder."""
    folder = tmp_path_factory.mktemp("trained") / "m"
    return train(model_of(kind), forms[1].train, test=forms[1].test, out=folder, **SERIAL), folder


def outputs_of(model, rows):
    """What a model says of rows, before it is rounded to classes."""
    method = {"regression": "predict", "none": "score_samples"}.get(model.task, "decision_function")
    return np.asarray(getattr(model, method)(rows))


def test_a_model_on_disk_is_measured_and_predicts_as_the_one_that_was_trained(kind, forms, trained, tmp_path):
    (model, folder), data = trained, forms[1]
    assert plan(model_of(kind), data.train, test=data.test, **SERIAL).fits
    loaded = load_model(folder)
    assert type(loaded) is kind
    assert json.dumps(loaded.get_params()) == json.dumps(model.get_params())
    np.testing.assert_array_equal(outputs_of(loaded, data.test), outputs_of(model, data.test))
    figures = evaluate(loaded, data.test, **SERIAL)
    found = figures["rmse"] ** 2 if kind.task == "regression" else figures[FIGURES[kind.task]]
    assert found == pytest.approx(model.history_[-1]["test_error"], rel=1e-5, abs=5e-3)
    assert predict_to(loaded.model_, data.test, tmp_path / "p.npy", **SERIAL) == data.test.n_rows
    np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), model.predict(data.test))
    assert not [path for path in folder.rglob("*") if path.suffix in (".pkl", ".joblib")]


@pytest.mark.slow
def test_the_same_bits_on_worker_processes(kind, forms, trained, local_workers):
    (model, _), data = trained, forms[1]
    other = model_of(kind).fit_with(data.train, test=data.test, executor=local_workers)
    np.testing.assert_array_equal(outputs_of(other, data.test), outputs_of(model, data.test))
    for line, expected in zip(other.history_, model.history_, strict=True):
        for figure in ("objective", "train_error", "test_error"):
            assert line[figure] == expected[figure]


def test_sparse_rows_give_the_model_of_the_same_dense_rows(kind, forms, trained):
    if kind.name.endswith("_regressor") and kind.name.removesuffix("_regressor") in ALGORITHMS:
        pytest.skip("the classifier has the same solver")
    (model, _), (dense, data) = trained, forms
    other = model_of(kind).fit(dense.train)
    expected = outputs_of(other, dense.test)
    far = np.abs(outputs_of(model, data.test) - expected) > 1e-3 * np.abs(expected).max()
    # a row that is as near to one landmark as to another may go to either
    assert far.mean() < 0.03
    assert model.history_[-1]["objective"] == pytest.approx(other.history_[-1]["objective"], rel=1e-3)
