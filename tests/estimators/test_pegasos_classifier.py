"""Pegasos from end to end: features, sparse rows, every scheduler, models on disk, the command line."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from distkern import PegasosClassifier
from distkern.cli.main import main
from distkern.common.errors import InputError
from distkern.common.sparse import SparseRows
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.executors import AbstractExecutor
from distkern.runs.persistence import load_model
from distkern.runs.run import evaluate, plan, train
from distkern.runs.scoring import predict_to
from distkern.storage.dataset import Dataset
from distkern.storage.ingest import write_dataset

FEATURES: dict[str, dict[str, Any]] = {
    "linear": {},
    "random": {"features": "random", "n_features": 128, "gamma": 0.7},
    "landmarks": {"features": "landmarks", "n_landmarks": 50, "gamma": 0.7, "lam": 1e-3},
}
every_kind = pytest.mark.parametrize("kind", list(FEATURES))
either_form = pytest.mark.parametrize("form", ["dense", "sparse"])


def topics(n: int = 1200, words: int = 200, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Texts of 12 words, two thirds of them from the half of the words that belongs to their class."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 2, n)
    features = np.zeros((n, words), dtype=np.float32)
    for row, label in enumerate(labels):
        own = generator.integers(0, words // 2, 8) + label * (words // 2)
        features[row, np.concatenate([own, generator.integers(0, words, 4)])] = 1
    return features / np.linalg.norm(features, axis=1, keepdims=True), labels


def small(kind: str = "linear", **parameters: Any) -> PegasosClassifier:
    return PegasosClassifier(
        **{"random_state": 0, "stages": 2, "steps_per_stage": 1.0, **FEATURES[kind], **parameters}
    )


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Dataset]:
    X, y = topics()
    folder = tmp_path_factory.mktemp("data")
    return {
        form: write_dataset(
            [(X[:1000], y[:1000])],
            folder / f"{form}.zarr",
            [(X[1000:], y[1000:])],
            rows_per_shard=130,
            sparse=form == "sparse",
            scale="none",
        )
        for form in ("dense", "sparse")
    }


def test_sparse_matrices_and_arrays_give_the_same_bits() -> None:
    X, y = topics()
    dense = small().fit(X, y)
    for matrix in (sparse.csr_matrix(X), sparse.csc_array(X)):
        model = small().fit(matrix, y)
        np.testing.assert_array_equal(model.coef_, dense.coef_)
        np.testing.assert_array_equal(model.intercept_, dense.intercept_)
        np.testing.assert_allclose(model.decision_function(matrix), dense.decision_function(X), atol=1e-4)
    assert dense.coef_.shape == (200, 1)
    assert dense.score(X, y) > 0.9


def test_sparse_and_dense_shards_give_the_same_bits(datasets: dict[str, Dataset]) -> None:
    dense, thin = (small().fit(datasets[form].train) for form in ("dense", "sparse"))
    np.testing.assert_array_equal(dense.coef_, thin.coef_)
    counts = thin.history_[-1]
    assert counts["feature_accesses"] == dense.history_[-1]["feature_accesses"] == 2 * 1000 * 200
    assert counts["feature_accesses_nonzero"] == 2 * datasets["sparse"].train.n_entries


@every_kind
@either_form
def test_train_evaluate_predict_plan_and_load(
    kind: str, form: str, datasets: dict[str, Dataset], tmp_path: Path
) -> None:
    data = datasets[form]
    planned = plan(small(kind), data.train, test=data.test, scheduler="synchronous")
    names = {step.name for step in planned.passes}
    assert {"inner loop", "measure", "held out"} <= names
    model = train(small(kind), data.train, test=data.test, scheduler="synchronous", out=tmp_path / "m")
    again = load_model(tmp_path / "m")
    on_train = evaluate(again, data.train, scheduler="synchronous")
    last = model.history_[-1]
    assert on_train["objective"] == pytest.approx(last["objective"], rel=1e-6)
    assert on_train["error"] == pytest.approx(last["train_error"], abs=2e-3)
    on_test = evaluate(again, data.test, scheduler="synchronous")
    assert on_test["error"] == pytest.approx(last["test_error"], abs=5e-3)
    assert on_test["accuracy"] > 0.85
    assert predict_to(again, data.test, tmp_path / "p.npy", scheduler="synchronous") == 200
    X, y = topics()
    assert np.mean(np.load(tmp_path / "p.npy") == y[1000:]) == pytest.approx(on_test["accuracy"])
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert last["model_size"] == len(model.coef_)


@every_kind
@either_form
def test_the_same_bits_on_every_scheduler(kind: str, form: str, datasets: dict[str, Dataset]) -> None:
    data = datasets[form]
    expected = train(small(kind), data.train, test=data.test, scheduler="synchronous")
    model = train(small(kind), data.train, test=data.test, scheduler="threads", workers=3)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    for name in ("objective", "train_error", "test_error"):
        assert model.history_[-1][name] == expected.history_[-1][name]


@pytest.mark.parametrize(
    ("kind", "form"), [("linear", "sparse"), pytest.param("random", "dense", marks=pytest.mark.slow)]
)
def test_the_same_bits_on_local_workers(
    kind: str, form: str, datasets: dict[str, Dataset], local_workers: AbstractExecutor
) -> None:
    data = datasets[form]
    expected = train(small(kind), data.train, scheduler="synchronous")
    model = small(kind).fit_with(data.train, executor=local_workers)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.history_[-1]["objective"] == expected.history_[-1]["objective"]


@every_kind
def test_a_resumed_run_has_the_same_bits(kind: str, datasets: dict[str, Dataset], tmp_path: Path) -> None:
    train_split = datasets["sparse"].train
    whole = train(small(kind, stages=3), train_split, scheduler="synchronous")

    def stop(event: Any) -> None:
        if event.kind == "checkpoint_saved" and event.fields["stage"] == 1:
            raise KeyboardInterrupt

    job = {"out": tmp_path / "m", "scheduler": "synchronous"}
    with pytest.raises(KeyboardInterrupt):
        train(small(kind, stages=3), train_split, listeners=[stop], **job)
    assert CheckpointFolder(tmp_path / "m" / "checkpoints", {}).stages()[-1] == 1
    resumed = train(small(kind, stages=3), train_split, resume=True, **job)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    np.testing.assert_array_equal(resumed.intercept_, whole.intercept_)
    assert resumed.history_[-1]["feature_accesses"] == whole.history_[-1]["feature_accesses"]


@pytest.mark.parametrize(
    ("parameters", "knob"),
    [
        ({}, "features=random"),
        ({"features": "random", "n_features": 2**20}, "n_features="),
        ({"features": "landmarks", "n_landmarks": 1000}, "n_landmarks="),
    ],
)
def test_what_does_not_fit_is_said_with_the_knob(
    parameters: dict[str, Any], knob: str, datasets: dict[str, Dataset]
) -> None:
    planned = plan(
        PegasosClassifier(**parameters), datasets["sparse"].train, scheduler="synchronous", memory_limit=2**26
    )
    assert not planned.fits
    assert knob in planned.advice


def test_several_classes_with_class_weights() -> None:
    X, y = topics()
    y = y + 2 * (X[:, :100].sum(axis=1) > 0.7)
    model = small("random", class_weight="balanced", steps_per_stage=40.0).fit(sparse.csr_array(X), y)
    assert model.coef_.shape == (128, len(np.unique(y)))
    assert model.intercept_.shape == (len(np.unique(y)),)
    assert model.score(sparse.csr_array(X), y) > 0.8


def test_landmarks_of_sparse_rows_stay_sparse(tmp_path: Path) -> None:
    X, y = topics()
    model = small("landmarks").fit(sparse.csr_array(X), y)
    assert isinstance(model.landmarks_, SparseRows)
    model.save(tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert isinstance(again.landmarks_, SparseRows)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_seed_that_was_not_given_is_kept(tmp_path: Path) -> None:
    X, y = topics(300)
    model = small("random", random_state=None).fit(X, y)
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").decision_function(X), model.decision_function(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "laplacian"}, r"kernel='laplacian' has no effect with features='linear'"),
        ({"gamma": 2.0}, r"gamma=2.0 has no effect with features='linear'"),
        ({"n_features": 64}, "n_features=64 has no effect.*set features to 'random'"),
        ({"features": "random", "n_landmarks": 64}, "n_landmarks=64 has no effect with features='random'"),
        ({"features": "landmarks", "sampler": "fastfood"}, "sampler='fastfood' has no effect"),
        ({"features": "random", "n_features": 63}, "n_features must be a positive even number"),
        ({"features": "nystrom"}, "features"),
        ({"loss": "square"}, "loss"),
        ({"lam": 0.0}, "lam"),
        ({"averaging": -1}, "averaging"),
        ({"batch_size": 0}, "batch_size"),
        ({"features": "landmarks", "kernel": "matern", "smoothness": 2.0}, "half integer"),
    ],
)
def test_unusable_hyperparameters_are_refused(parameters: dict[str, Any], message: str) -> None:
    X, y = topics(60)
    with pytest.raises(ValueError, match=message):
        PegasosClassifier(**parameters).fit(X, y)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "odm"])
def test_smooth_losses(loss: str) -> None:
    X, y = topics()
    # their loops are compiled for other tests
    model = small(loss=loss, stages=10).fit(X.astype(np.float64), y)
    assert model.score(X, y) > 0.9
    assert all(math.isfinite(line["objective"]) for line in model.history_)
    assert model.history_[-1]["objective"] < model.history_[0]["objective"]


def test_landmarks_of_another_kernel() -> None:
    X, y = topics()
    model = small("landmarks", kernel="chi2", gamma="scale").fit(X, y)
    assert model.score(X, y) > 0.8
    with pytest.raises(InputError, match=r"negative|at least 0"):
        model.predict(-X)


def test_from_the_command_line(
    datasets: dict[str, Dataset], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, model = str(datasets["sparse"].path), str(tmp_path / "m")

    def run(*arguments: str) -> str:
        assert main(list(arguments)) == 0
        return capsys.readouterr().out

    job = ("--data", data, "--algorithm", "pegasos", "--scheduler", "synchronous", "--seed", "1")
    settings = ("--set", "lam=1e-3", "--set", "stages=3", "--set", "averaging=1")
    assert json.loads(run("plan", *job, *settings, "--json"))["fits"] is True
    run("train", *job, *settings, "--out", model)
    figures = json.loads(run("evaluate", model, "--data", data, "--scheduler", "synchronous", "--json"))
    assert figures["accuracy"] > 0.85
    assert json.loads(run("inspect", model, "--json"))["class"] == "PegasosClassifier"
    assert main(["train", *job, "--set", "gamma=2.0", "--out", str(tmp_path / "n")]) == 2
    assert "no effect with features='linear'" in capsys.readouterr().err
