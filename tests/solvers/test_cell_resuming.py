"""A run of cells interrupted in any pass resumes to the same model."""

import numpy as np
import pytest

from distkern.data.ingest import write_dataset
from distkern.data.store.parts import ArrayParts, SlicedParts
from distkern.engine.drive import Driver, Interrupted
from distkern.estimators.cells import CellClassifier
from distkern.model import cells
from distkern.runs.algorithms import load_model
from distkern.solvers._cells import layout
from problems import waves
from runs import interrupted_after, plan, train

#: of which the slow tests take all
PASSES = ("move", "solve")
OTHERS = ("sample", "metric", "count", "calibrate")


def made(folder, n_rows):
    given = {"scale": "none", "test_fraction": 0.1, "rows_per_shard": n_rows // 10}
    return write_dataset([waves(n_rows, 2)], folder / "d.zarr", **given)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return made(tmp_path_factory.mktemp("resuming"), 1200)


def small_search(monkeypatch):
    """Make the sample smaller than the data."""
    monkeypatch.setattr(layout, "SAMPLE_ROWS", 300)
    monkeypatch.setattr(layout, "_LEAF_SAMPLE", 1)


@pytest.fixture(autouse=True)
def _small_search(monkeypatch):
    small_search(monkeypatch)


def fit(data, out, *, resume=False):
    given = {"kernel": "rbf", "scale": "none", "metric": "diagonal", "probability": True}
    model = CellClassifier(search="quick", max_cell_rows=100, random_state=0, **given)
    train(model, data.train, test=data.test, out=out, scheduler="synchronous", resume=resume)
    return model


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """A run without interruption, and the files it leaves."""
    out = tmp_path_factory.mktemp("whole") / "m"
    with pytest.MonkeyPatch.context() as patch:
        small_search(patch)
        return fit(data, out), {entry.name for entry in out.iterdir()}


@pytest.mark.parametrize("name", [*PASSES, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_a_run_that_is_interrupted_in_any_pass_goes_on_to_the_same_model(
    data, whole, tmp_path, monkeypatch, name
):
    out = tmp_path / "m"
    with interrupted_after(name), pytest.raises(Interrupted):
        fit(data, out)
    resumed = fit(data, out, resume=True)
    np.testing.assert_array_equal(resumed.machines_, whole[0].machines_)
    assert {entry.name for entry in out.iterdir()} == whole[1]


@pytest.mark.parametrize(("store", "name"), [(ArrayParts, "solve"), (SlicedParts, "move")])
def test_tasks_that_were_done_are_not_done_again(store, name, data, tmp_path, monkeypatch):
    put, execute, begun, done = store.put, Driver._execute, [], []

    def watched(self, step):
        begun.append(step.name)
        return execute(self, step)

    def counted(self, number, result):
        if begun[-1] == name:
            done.append(number)
            if len(done) == 3:
                raise KeyboardInterrupt
        return put(self, number, result)

    monkeypatch.setattr(layout, "_PART_BYTES", 2000)
    monkeypatch.setattr(Driver, "_execute", watched)
    monkeypatch.setattr(store, "put", counted)
    with pytest.raises(Interrupted):
        fit(data, tmp_path / "m")
    fit(data, tmp_path / "m", resume=True)
    # the third task was not stored
    assert sorted({*done}) == sorted([*done[:2], *done[3:]])


def test_a_given_metric_is_learned_on_a_worker(tmp_path, monkeypatch):
    """The driver plans no matrices of all pairs for it."""
    data = made(tmp_path, 2000)
    monkeypatch.setattr(layout, "SAMPLE_ROWS", 9216)
    model = CellClassifier(search=None, metric="full", max_cell_rows=100, probability=False)
    planned = {one.name: one for one in plan(model, data.train, workers=2, scheduler="local").passes}
    assert list(planned) == ["sample", "metric", "count", "move", "solve"]
    pairs = 4 * data.train.n_rows**2
    assert planned["metric"].worker_bytes > planned["count"].worker_bytes + pairs / 2
    assert planned["metric"].driver_bytes < planned["count"].driver_bytes + pairs / 10


def test_machines_are_written_once(data, tmp_path, monkeypatch):
    def again(*_):
        raise AssertionError("they lie in the folder of the model already")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cells, "save_parts", again)
    model = CellClassifier(search=None, max_cell_rows=300, random_state=0)
    train(model, data.train, out="m", scheduler="synchronous")
    np.testing.assert_array_equal(load_model("m").machines_, model.machines_)
