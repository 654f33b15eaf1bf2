"""Sparse rows from end to end: SciPy matrices, sparse data sets, every scheduler, the command line."""

import json

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from distkern import AVMClassifier, CSVRGClassifier
from distkern.cli.main import main
from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.data.ingest import write_dataset
from distkern.estimators.loading import load_model
from distkern.model.features import LandmarkModel
from distkern.passes.machine import COMPILED_BYTES, PAGES_BYTES, WORKER_BASE_BYTES
from distkern.runs.algorithms import algorithms
from problems import topics
from runs import plan, train
from small import slow_but

every_algorithm = pytest.mark.parametrize(
    "kind", [kind for kind in algorithms().values() if issubclass(kind.kind, LandmarkModel)]
)


def small(kind=CSVRGClassifier, **parameters):
    chosen = {"n_landmarks": 50, "lam": 256.0, "gamma": 0.7, "random_state": 0, "stages": 2}
    return kind(**{**chosen, **parameters})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    X, y = topics(words=400)
    folder = tmp_path_factory.mktemp("data")
    test = [(X[1000:], y[1000:])]
    return write_dataset([(X[:1000], y[:1000])], folder / "d.zarr", test, rows_per_shard=130)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "landmarks"),
    [
        (CSVRGClassifier, "uniform"),
        (AVMClassifier, "coverage"),
        pytest.param(CSVRGClassifier, "coverage", marks=pytest.mark.slow),
        pytest.param(AVMClassifier, "uniform", marks=pytest.mark.slow),
    ],
)
def test_a_sparse_matrix_gives_the_model_of_the_array(kind, landmarks):
    X, y = topics(words=400)
    X = X.astype(np.float64)
    options = {"landmarks": landmarks} | (
        {"n_landmarks": None, "diameter": 2.2, "projection": True} if landmarks == "coverage" else {}
    )
    dense = small(kind, **options).fit(X, y)
    # which class of SciPy's it is does not matter to the landmarks
    others = (sparse.csc_array(X), sparse.coo_array(X)) if landmarks == "uniform" else ()
    for matrix in (sparse.csr_matrix(X), *others):
        model = small(kind, **options).fit(matrix, y)
        assert isinstance(model.landmarks_, SparseRows)
        np.testing.assert_array_equal(model.landmarks_.toarray(), dense.landmarks_)
        # rows as near to one landmark as to another may go to either
        assert np.mean(model.predict(matrix) == dense.predict(X)) > 0.97
        assert model.score(matrix, y) > 0.85


@every_algorithm
def test_rows_may_come_in_either_form(kind, tmp_path):
    X, y = topics(words=400)
    matrix = sparse.csr_array(X)
    for given in (X, matrix):
        model = small(kind).fit(given, y)
        own = model.decision_function(given)
        np.testing.assert_allclose(model.decision_function(X), own, atol=1e-4)
        np.testing.assert_allclose(model.decision_function(matrix), own, atol=1e-4)
        assert own.shape == (len(y),)
        lazy = model.decision_function(da.from_array(X, chunks=(500, 400)))
        np.testing.assert_allclose(lazy.compute(), own, atol=1e-4)
        model.save(tmp_path / "m")
        again = load_model(tmp_path / "m")
        np.testing.assert_array_equal(again.decision_function(given), own)


@pytest.mark.parametrize("gamma", slow_but(["scale", "median"], "median"))
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "cauchy", "matern"])
def test_every_kernel_learns_from_sparse_rows(kernel, gamma):
    X, y = topics(words=400)
    model = small(kernel=kernel, gamma=gamma).fit(sparse.csr_array(X), y)
    dense = small(kernel=kernel, gamma=gamma).fit(X, y)
    assert model.gamma_ == pytest.approx(dense.gamma_, rel=1e-5)
    assert model.score(sparse.csr_array(X), y) > 0.7


@pytest.mark.parametrize(
    ("landmarks", "machines"),
    [
        ("uniform", (("threads", 3),)),
        pytest.param("uniform", (("shared", 2),), marks=pytest.mark.slow),
        ("coverage", (("threads", 2),)),
        pytest.param("coverage", (("processes", 2), ("local", 1), ("local", 3)), marks=pytest.mark.slow),
    ],
)
def test_the_same_bits_on_every_scheduler(data, landmarks, machines, request):
    expected = train(small(landmarks=landmarks), data.train, test=data.test, scheduler="synchronous")
    for scheduler, workers in machines:
        model = small(landmarks=landmarks)
        if scheduler == "shared":
            model.fit_with(data.train, test=data.test, executor=request.getfixturevalue("local_workers"))
        else:
            train(model, data.train, test=data.test, scheduler=scheduler, workers=workers)
        np.testing.assert_array_equal(model.coefficients_, expected.coefficients_)
        assert model.landmarks_.keys() == expected.landmarks_.keys()
        figures = ("objective", "train_error", "test_error")
        for name in figures:
            assert model.history_[-1][name] == expected.history_[-1][name]
    assert expected.score(data.test) > 0.85


def test_the_plan_counts_what_sparse_rows_take(data):
    planned = plan(small(), data.train, test=data.test, scheduler="local", workers=1, memory_limit=2**30)
    snapshot = next(step for step in planned.passes if step.name == "snapshot")
    stored = 8 * data.train.n_entries
    assert stored < snapshot.bytes_read < 3 * stored
    assert snapshot.bytes_read < 4 * data.n_rows * data.n_features / 5
    assert planned.worker_bytes > WORKER_BASE_BYTES - PAGES_BYTES + COMPILED_BYTES
    assert planned.fits


def test_features_that_were_looked_at_are_counted(data):
    (*_, last) = train(small(), data.train, scheduler="synchronous").history_
    assert last["feature_accesses_nonzero"] <= 13 * last["rows_read"]


def test_what_cannot_be_is_refused_by_name(data):
    X, y = topics(60, 400)
    bad = sparse.csr_array(X)
    bad.data[7] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        small().fit(bad, y)
    model = small().fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="399 features, but CSVRGClassifier is expecting 400"):
        model.predict(sparse.csr_array(X[:, :399]))
    blocks = da.from_array(X, chunks=(20, 400)).map_blocks(sparse.csr_matrix)
    with pytest.raises(InputError, match="blocks of the Dask array have type csr_matrix"):
        small().fit(blocks, y)


def test_dense_scaling_does_not_fit_sparse_rows(tmp_path):
    X, y = topics(200, 400)
    dense = write_dataset([(X, y)], tmp_path / "d.zarr", sparse=False)
    model = small().fit(dense.train)
    assert model.scaling_.kind == "minmax"
    with pytest.raises(InputError, match="minmax scaling would turn the zeros"):
        model.predict(sparse.csr_array(X))


@pytest.mark.slow
def test_from_the_command_line(tmp_path, capsys):
    X, y = topics(words=400)
    lines = [
        " ".join([str(label), *(f"{column + 1}:1" for column in np.flatnonzero(row))])
        for row, label in zip(X, y, strict=True)
    ]
    (tmp_path / "a.svm").write_text("\n".join(lines[:1000]) + "\n")
    (tmp_path / "t.svm").write_text("\n".join(lines[1000:]) + "\n")
    data, model = str(tmp_path / "d.zarr"), str(tmp_path / "m")

    def run(*arguments):
        assert main([str(argument) for argument in arguments]) == 0
        return capsys.readouterr().out

    said = run("shard", str(tmp_path / "a.svm"), "--test", str(tmp_path / "t.svm"), "--out", data)
    assert "1 + 1 sparse shards" in said
    assert json.loads(run("inspect", data, "--json"))["sparse"] is True
    assert "sparse, 1" in run("inspect", data)
    job = ("--data", data, "--algorithm", "csvrg", "--scheduler", "synchronous", "--seed", "1")
    settings = ("--set", "n_landmarks=50", "--set", "lam=256.0", "--set", "gamma=0.7")
    assert json.loads(run("plan", *job, *settings, "--json"))["fits"] is True
    run("train", *job, *settings, "--out", model)
    figures = json.loads(run("evaluate", model, "--data", data, "--scheduler", "synchronous", "--json"))
    assert figures["accuracy"] > 0.85
    run(
        "predict",
        model,
        "--data",
        data,
        "--split",
        "test",
        "--out",
        str(tmp_path / "p.npy"),
        "--scheduler",
        "synchronous",
    )
    assert np.mean(np.load(tmp_path / "p.npy") == y[1000:]) == pytest.approx(figures["accuracy"])
    raw = str(tmp_path / "raw.zarr")
    run("shard", str(tmp_path / "t.svm"), "--out", raw, "--scale", "none", "--no-shuffle", "--sparse")
    again = json.loads(
        run("evaluate", model, "--data", raw, "--split", "train", "--scheduler", "synchronous", "--json")
    )
    assert again["accuracy"] == figures["accuracy"]
    assert (
        main(["shard", str(tmp_path / "a.svm"), "--out", str(tmp_path / "x.zarr"), "--scale", "minmax"]) == 2
    )
    assert "--dense" in capsys.readouterr().err
