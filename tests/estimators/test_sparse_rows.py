"""Sparse rows from end to end: SciPy matrices, sparse data sets, every scheduler, the command line."""

import json

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from distkern import AVMClassifier, CSVRGClassifier
from distkern.cli.main import main
from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.data.ingest import write_dataset
from distkern.model.features import LandmarkModel
from distkern.passes.machine import COMPILED_BYTES, PAGES_BYTES, WORKER_BASE_BYTES
from distkern.runs.algorithms import algorithms, load_model
from problems import topics
from runs import plan, train

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
@pytest.mark.parametrize("kind", [CSVRGClassifier, AVMClassifier])
@pytest.mark.parametrize("landmarks", ["uniform", "coverage"])
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
        assert isinstance(model.landmarks_, SparseRows) == sparse.issparse(given)
        own = model.decision_function(given)
        np.testing.assert_allclose(model.decision_function(X), own, atol=1e-4)
        np.testing.assert_allclose(model.decision_function(matrix), own, atol=1e-4)
        assert own.shape == (len(y),)
        lazy = model.decision_function(da.from_array(X, chunks=(500, 400)))
        np.testing.assert_allclose(lazy.compute(), own, atol=1e-4)
        model.save(tmp_path / "m")
        again = load_model(tmp_path / "m")
        assert type(again.landmarks_) is type(model.landmarks_)
        np.testing.assert_array_equal(again.decision_function(given), own)


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


def test_sparse_shards_are_told_at_the_command_line(tmp_path, capsys):
    X, y = topics(300, 400)
    for name, part in (("a", slice(200)), ("t", slice(200, 300))):
        dump_svmlight_file(X[part], y[part], str(tmp_path / f"{name}.svm"), zero_based=False)
    data = str(tmp_path / "d.zarr")
    assert main(["shard", str(tmp_path / "a.svm"), "--test", str(tmp_path / "t.svm"), "--out", data]) == 0
    assert "1 + 1 sparse shards" in capsys.readouterr().out
    assert main(["inspect", data, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["sparse"] is True
    assert main(["inspect", data]) == 0
    assert "sparse, 1" in capsys.readouterr().out
