"""Rows sorted by class are as good as shuffled ones, on every way in."""

import dask.array as da
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone

from distkern import CSVRGClassifier
from distkern.core.errors import InputError
from distkern.core.registry import Family
from distkern.data.dataset import Dataset
from distkern.data.ingest import write_dataset
from distkern.data.manifest import read_manifest
from distkern.data.shuffled import ShuffledRows
from distkern.engine.dask.arrays import DaskArraySource
from distkern.engine.executors import open_executor
from distkern.estimators.base import AbstractClassifier
from distkern.passes import Machine
from distkern.runs.spooled import whole_blocks
from small import most_classes

ROWS, CLASSES = 3000, 3
#: smaller and fewer steps than by default
SETTINGS = {
    "auto": {"search": None},
    "cells": {"search": None, "max_cell_rows": 1000},
    "csvrg": {"n_landmarks": 30, "lam": 64.0, "gamma": 0.2, "stages": 2},
    "avm": {"n_landmarks": 30, "lam": 64.0, "gamma": 0.2, "stages": 2},
    "dsg": {"n_features": 128, "block_size": 32, "batch_size": 256, "gamma": 0.2, "stages": 1},
    "pegasos": {"stages": 1},
    "simba": {"max_rounds": 300, "nu": 0.2, "stages": 1, "patience": None},
    "rbcd": {"n_features": 64, "block_size": 64, "stages": 2, "gamma": 0.2},
    "sdca": {"nu": 1e-4, "n_features": 64, "stages": 2, "gamma": 0.2},
    "sbmd": {"n_features": 64, "stages": 1, "gamma": 0.2},
    "norma": {"step_decay": 1.0, "max_support": 200, "stages": 1, "gamma": 0.2},
    "dsg_density_ratio": {"n_features": 128, "block_size": 32, "batch_size": 256, "gamma": 0.2},
    "svrg": {"n_features": 64, "batch_size": 32, "stages": 1, "precondition": False, "gamma": 0.2},
    "newton": {"n_landmarks": 64, "nu": 1e-4, "gamma": 0.2},
}
CLASSIFIERS = Family("distkern.estimators", AbstractClassifier)
#: those that read rows each in its own way: in streams, rounds, batches, sums and tasks
READING = ("csvrg", "simba", "dsg", "newton", "cells")
every_way_of_reading = pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, id=name, marks=() if name in READING else pytest.mark.slow)
        for name, kind in CLASSIFIERS.items()
    ],
)


@pytest.fixture
def ordered(request):
    """Three overlapping classes, one after the other; two for classifiers of no more."""
    generator = np.random.default_rng(0)
    y = np.arange(ROWS) * CLASSES // ROWS
    X = generator.normal(size=(ROWS, 5)) + 1.5 * np.eye(CLASSES, 5)[y]
    kind = request.node.callspec.params["kind"] if hasattr(request.node, "callspec") else CSVRGClassifier
    return X, np.minimum(y, most_classes(kind) - 1)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 1,024 rows, so that one holds one or two classes."""
    monkeypatch.setattr("distkern.runs.sources._BLOCK_BYTES", 1)


def fitted(kind, *data):
    return kind(random_state=0, **SETTINGS.get(kind.name, {})).fit(*data)


@every_way_of_reading
def test_sorted_arrays(kind, ordered, small_blocks):
    X, y = ordered
    for rows in (X, csr_matrix(X)):
        assert fitted(kind, rows, y).score(rows, y) > 0.7


@every_way_of_reading
def test_sorted_chunks(kind, ordered, monkeypatch):
    X, y = ordered
    # so that what is written has several blocks as well
    monkeypatch.setattr("distkern.data.shuffled.rows_of_a_shard", lambda n_rows, numbers: 500)
    lazy = da.from_array(X, chunks=(500, 5)), da.from_array(y, chunks=500)
    model = fitted(kind, *lazy)
    assert model.score(X, y) > 0.7
    np.testing.assert_array_equal(model.predict(lazy[0]).compute(), model.predict(X))


@every_way_of_reading
def test_sorted_data_sets(kind, ordered, tmp_path):
    X, y = ordered
    data = write_dataset(
        [(X, y)], tmp_path / "d.zarr", scale="none", shuffle=False, rows_per_shard=500, columns=True
    )
    assert not data.train.is_shuffled
    model = fitted(kind, data.train)
    assert model.score(X, y) > 0.7
    assert model.score(data.train) == model.score(X.astype(np.float32), y)


def shuffled(source, folder):
    """Every row of what is written: features, targets, weights."""
    found = ShuffledRows(source, whole_blocks(source, open_executor("synchronous")), folder)
    blocks = [found.reader(block)() for block in range(found.n_blocks)]
    assert [block.index for block in blocks] == list(range(found.n_blocks))
    assert tuple(block.n_rows for block in blocks) == found.block_rows
    return found, *(
        np.concatenate([np.asarray(getattr(block, name)) for block in blocks])
        for name in ("features", "targets", "weights")
    )


def test_what_is_written_is_every_row_as_it_was(ordered, tmp_path, monkeypatch):
    monkeypatch.setattr("distkern.data.shuffled.rows_of_a_shard", lambda n_rows, numbers: 400)
    monkeypatch.setattr("distkern.data.shuffled.SHARD_BYTES", 2**14)
    X, y = ordered
    number = np.arange(ROWS) + 0.1
    lazy = [da.from_array(part, chunks=(700, *part.shape[1:])) for part in (X, y, number)]
    source = DaskArraySource(*lazy, classes=np.arange(CLASSES))
    found, features, targets, weights = shuffled(source, tmp_path)
    order = weights.astype(int)
    np.testing.assert_array_equal(np.sort(order), np.arange(ROWS))
    np.testing.assert_array_equal(weights, number[order])
    np.testing.assert_array_equal(features, X[order])
    np.testing.assert_array_equal(targets, y[order])
    assert (features.dtype, targets.dtype, found.dtype) == (np.float64, np.int32, np.float64)
    # uniformly random: neither the place of a row nor its neighbour says where it was
    assert abs(np.corrcoef(order, np.arange(ROWS))[0, 1]) < 4 / np.sqrt(ROWS)
    assert abs(np.corrcoef(order[1:], order[:-1])[0, 1]) < 4 / np.sqrt(ROWS)
    # the parked rows are gone
    assert sorted(int(path.name) for path in tmp_path.iterdir()) == list(range(8))


def test_the_files_of_a_fit_go_when_it_ends(ordered, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    X, y = ordered
    lazy = da.from_array(X, chunks=(1000, 5)), da.from_array(y, chunks=1000)
    weights = da.ones(ROWS, chunks=1000)
    weighted = CSVRGClassifier(random_state=0, **SETTINGS["csvrg"]).fit(*lazy, sample_weight=weights)
    assert not list(tmp_path.iterdir())
    np.testing.assert_array_equal(weighted.coefficients_, fitted(CSVRGClassifier, *lazy).coefficients_)
    with pytest.raises(InputError, match="lam"):
        CSVRGClassifier(lam=-1.0).fit(*lazy)
    assert not list(tmp_path.iterdir())


def test_workers_on_other_hosts_cannot_see_what_would_be_written(ordered, tmp_path):
    X, y = ordered
    data = write_dataset([(X, y)], tmp_path / "d.zarr", shuffle=False, rows_per_shard=500)
    lazy = da.from_array(X, chunks=(1000, 5)), da.from_array(y, chunks=1000)
    model = CSVRGClassifier(random_state=0)
    with open_executor("synchronous") as executor:
        executor.machine = Machine("distributed", 2, same_host=False)
        with pytest.raises(InputError, match="shard it again without --no-shuffle"):
            model.fit_with(data.train, executor=executor)
        with pytest.raises(InputError, match="convert it with `distkern shard`"):
            model.fit_with(*lazy, executor=executor)


def test_which_rows_are_in_random_order(ordered, tmp_path):
    X, y = ordered
    data = write_dataset([(X, y)], tmp_path / "a.zarr", test_fraction=0.5)
    assert data.train.is_shuffled
    # held-out rows keep the order of the input
    assert not data.test.is_shuffled
    # as written by a version that always shuffled
    manifest, _ = read_manifest(data.path)
    del manifest.options["shuffle"]
    assert Dataset(data.path, manifest, "").train.is_shuffled


@pytest.mark.slow
def test_a_resumed_run_finds_the_same_order(ordered, tmp_path):
    X, y = ordered
    data = write_dataset([(X, y)], tmp_path / "d.zarr", scale="none", shuffle=False, rows_per_shard=500)
    model = CSVRGClassifier(random_state=0, **{**SETTINGS["csvrg"], "stages": 3, "tol": 0.0})
    whole = clone(model).fit(data.train)

    class Stop(Exception):
        pass

    def stop(event):
        if event.kind == "checkpoint_saved" and event["stage"] == 1:
            raise Stop

    with pytest.raises(Stop):
        clone(model).fit_with(data.train, listeners=[stop], checkpoints=tmp_path / "checkpoints")
    resumed = clone(model).fit_with(data.train, checkpoints=tmp_path / "checkpoints", resume=True)
    np.testing.assert_array_equal(resumed.coefficients_, whole.coefficients_)
    assert resumed.n_iter_ == whole.n_iter_ == 3
