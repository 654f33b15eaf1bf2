"""From which probability on the second of two classes is predicted."""

import json
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix
from sklearn.model_selection import TunedThresholdClassifierCV

import distkern
from distkern.cli.main import main
from distkern.engine.executors import open_executor
from distkern.runs.algorithms import algorithms
from runs import evaluate_split

QUICK = {"n_landmarks": 30, "gamma": 0.5, "nu": 1e-3, "random_state": 0}


def rare(n_rows=1500, seed=0):
    """Classes of which the second is rare, and that overlap."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(n_rows, 2))
    chances = 1 / (1 + np.exp(3.0 - 1.5 * features[:, 0]))
    return features, np.where(generator.random(n_rows) < chances, "yes", "no")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("threshold") / "d.zarr"
    return distkern.write_dataset(*rare(), path, scale="none", test_fraction=0.3, rows_per_shard=300)


@pytest.mark.parametrize(
    "model",
    [
        distkern.NewtonClassifier(**QUICK),
        distkern.SVRGClassifier(loss="softmax", n_features=64, stages=2, random_state=0),
        distkern.KernelClassifier(search="quick", random_state=0),
        pytest.param(distkern.CellClassifier(search=None, random_state=0), marks=pytest.mark.slow),
    ],
    ids=["one output", "two outputs", "chosen", "cells"],
)
def test_labels_are_those_of_probabilities(model, data, tmp_path):
    model.set_params(threshold=0.2).fit(data.train)
    rows, labels = data.test[:], data.test.labels
    expected = np.where(model.predict_proba(rows)[:, 1] >= 0.2, "yes", "no")
    np.testing.assert_array_equal(model.predict(rows), expected)
    np.testing.assert_array_equal(model.predict(da.from_array(rows, chunks=(90, 2))).compute(), expected)
    np.testing.assert_array_equal(np.asarray(model.predict(data.test)), expected)
    assert model.score(rows, labels) == np.mean(expected == labels)
    with open_executor("synchronous") as executor:
        found = evaluate_split(model, data.test, executor, compared="error")
    np.testing.assert_array_equal(found.confusion, confusion_matrix(labels, expected))
    assert np.mean(found.losses) == pytest.approx(found.figures["error"])
    assert model.threshold_ == 0.2
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(distkern.load_model(tmp_path / "m").predict(rows), expected)
    # without it, the class whose decision value is the largest, of the same fit
    plain = model.set_params(threshold=None).predict(rows)
    np.testing.assert_array_equal(plain, np.where(model.decision_function(rows) > 0, "yes", "no"))
    assert (plain != expected).any()


def test_balanced_is_the_share_of_the_class_and_gains_in_balanced_accuracy(tmp_path):
    features, labels = rare()
    test, truth = rare(5000, 1)
    model = distkern.NewtonClassifier(threshold="balanced", **QUICK).fit(features, labels)
    assert model.threshold_ == pytest.approx(np.mean(labels == "yes"))
    found = balanced_accuracy_score(truth, model.predict(test))
    scores = [
        balanced_accuracy_score(truth, model.set_params(threshold=at).predict(test))
        for at in np.linspace(0.02, 0.6, 30).tolist()
    ]
    assert found > scores[-1] + 0.1
    assert found > max(scores) - 0.02
    model.set_params(threshold="balanced").save(tmp_path / "m")
    assert distkern.load_model(tmp_path / "m").threshold_ == model.threshold_


def test_balanced_counts_weights_as_the_probabilities_do():
    features, labels = rare(300)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    given = {"threshold": "balanced", **QUICK}
    model = distkern.NewtonClassifier(**given).fit(features, labels, sample_weight=weights)
    assert model.threshold_ == pytest.approx(weights[labels == "yes"].sum() / weights.sum())
    # weights of classes change no probability
    balanced = distkern.NewtonClassifier(class_weight="balanced", **given).fit(features, labels)
    assert balanced.threshold_ == pytest.approx(np.mean(labels == "yes"))
    cells = distkern.CellClassifier(
        search=None, class_weight="balanced", threshold="balanced", random_state=0
    ).fit(features, labels)
    assert cells.threshold_ == pytest.approx(np.mean(labels == "yes"))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            distkern.NewtonClassifier(threshold=1.0),
            r"threshold must be a number in \(0, 1\), 'balanced' or None, got 1\.0",
        ),
        (distkern.NewtonClassifier(threshold="balance"), "threshold: .*did you mean 'balanced'"),
        (distkern.CSVRGClassifier(threshold=0.3), "threshold: loss 'odm' gives no probabilities"),
        (distkern.CellClassifier(threshold=0.3, probability=False), "set probability=True"),
        (distkern.KernelClassifier(threshold=0.3, probability=False), "threshold: .*gives no probabilities"),
    ],
)
def test_what_cannot_be_is_refused_by_name(model, message):
    features, labels = rare(300)
    if type(model) is distkern.KernelClassifier:
        model.set_params(settings={"loss": "squared_hinge"})
    with pytest.raises(distkern.InputError, match=message):
        model.fit(features, labels)


def test_it_is_for_two_classes():
    features = rare(300)[0]
    model = distkern.NewtonClassifier(threshold=0.3, **QUICK)
    with pytest.raises(distkern.InputError, match="threshold is for two classes, and there are 3"):
        model.fit(features, np.arange(300) % 3)


def test_it_is_a_hyperparameter_where_there_are_probabilities_of_classes():
    for name, kind in algorithms().items():
        known = kind.hyperparameters
        can = "probability" in known or ("loss" in known and "logistic" in known["loss"].words)
        assert ("threshold" in known) == (kind.task == "classification" and can), name


def test_scikit_learn_tunes_it():
    features, labels = rare()
    model = distkern.NewtonClassifier(**QUICK)
    tuned = TunedThresholdClassifierCV(model, scoring="balanced_accuracy", cv=3, random_state=0)
    tuned.fit(features, labels)
    share = np.mean(labels == "yes")
    assert tuned.best_threshold_ == pytest.approx(share, abs=0.08)
    expected = tuned.estimator_.set_params(threshold=tuned.best_threshold_).predict(features)
    np.testing.assert_array_equal(tuned.predict(features), expected)


def test_the_command_line_takes_it(data, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    model = distkern.NewtonClassifier(**QUICK).fit(data.train)
    model.save("m")
    rows = data.test[:]
    path = ["--data", str(data.path), "--scheduler", "synchronous"]
    for threshold in ("0.3", "balanced"):
        model.set_params(threshold=float(threshold) if threshold != "balanced" else threshold)
        assert main(["evaluate", "m", *path, "--threshold", threshold, "--html", "e.html"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["accuracy"] == pytest.approx(model.score(data.test))
        assert main(["predict", "m", *path, "--threshold", threshold, "--out", f"{threshold}.npy"]) == 0
        capsys.readouterr()
        np.testing.assert_array_equal(np.load(f"{threshold}.npy"), model.predict(rows))
    page = Path("e.html").read_text()
    assert "Thresholds, test rows" in page
    wrong = {
        "1.5": "--threshold must be a number in (0, 1)",
        "balancd": "--threshold: unknown value 'balancd'; did you mean 'balanced'",
    }
    for threshold, message in wrong.items():
        assert main(["evaluate", "m", *path, "--threshold", threshold]) == 2
        assert message in capsys.readouterr().err
    assert main(["predict", "m", *path, "--threshold", "0.3", "--proba", "--out", "q.npy"]) == 2
    assert "--threshold: chooses classes, which --proba does not write" in capsys.readouterr().err
    distkern.SIMBAClassifier(stages=1, max_rounds=20, nu=0.01, patience=None).fit(*rare(100)).save("s")
    assert main(["evaluate", "s", *path, "--threshold", "0.3"]) == 2
    assert "--threshold needs two classes with probabilities" in capsys.readouterr().err
