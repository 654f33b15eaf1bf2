"""Machines in cells: training, awkward data, the model on disk."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from cell_problems import Classifier, Regressor, rows
from distkern.core.errors import CorruptDataError, InputError
from distkern.data.ingest import write_dataset
from distkern.runs.algorithms import load_model
from distkern.solvers._cells import buckets, dual, layout
from runs import train


@pytest.mark.parametrize("tol", [0.05, 0.002])
def test_one_cell_is_the_support_vector_machine_without_an_intercept(tol):
    X, y = rows(300)
    model = Classifier(loss="hinge", kernel="rbf", gamma=0.7, C=3.0, tol=tol, random_state=0).fit(X, y)
    assert model.n_cells_ == 1
    signs = 2.0 * y - 1.0
    K = np.exp(-0.7 * np.square(np.linalg.norm(X[:, None] - X[None], axis=2)))
    f = model.decision_function(X)
    part = model.parts_.load(0)
    apart = np.abs(
        (X - model.places_.map.transform.shift)[:, None] - part["support"][part["places"]][None]
    ).max(axis=2)
    a = np.zeros(300)
    a[apart.argmin(axis=0)] = part["coefficients"][:, 0]
    a *= signs
    assert a.min() >= 0
    assert a.max() <= 3.0 * (1 + 1e-6)
    np.testing.assert_allclose(K @ (a * signs), f, atol=1e-4)
    # no coordinate of the dual would move by more than the tolerance, as K has a unit diagonal
    assert np.abs(np.clip(a + 1 - signs * f, 0, 3.0) - a).max() < 1.2 * tol
    # it is as good as a machine with an intercept
    assert model.score(X, y) >= SVC(gamma=0.7, C=3.0).fit(X, y).score(X, y) - 0.01


@pytest.mark.parametrize("flipped", [0.0, 0.1])
@pytest.mark.parametrize("C", [1e4, 1e6])
def test_machines_with_a_large_C_are_near_the_minimum(C, flipped):
    X, y = rows(300)
    y ^= np.random.default_rng(1).random(300) < flipped
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        line = Classifier(loss="hinge", C=C, random_state=0).fit(X, y).history_[-1]
    assert line["gap"] < 0.03 * line["objective"]
    # the minimum is at most that of a machine without losses, f = y
    signs = 2.0 * y - 1.0
    K = np.exp(-line["gamma"] * np.linalg.norm(X[:, None] - X[None], axis=2).astype(np.float64))
    assert line["objective"] * C * 300 < 1.03 * 0.5 * signs @ np.linalg.solve(K, signs)


def test_a_gap_that_is_left_is_told(monkeypatch):
    monkeypatch.setattr(dual, "MOST_GAP", np.inf)
    X, y = rows(300)
    with pytest.warns(ConvergenceWarning, match="duality gap.* smaller C than 1e.06, or a smaller tol"):
        model = Classifier(loss="hinge", C=1e6, random_state=0).fit(X, y)
    assert model.history_[-1]["unsolved"] == 0
    assert model.history_[-1]["gap"] > 0.5 * model.history_[-1]["objective"]


def test_cells_learn_what_their_rows_say():
    X, y = rows(3000)
    model = Classifier(max_cell_rows=200, random_state=0).fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > 0.93
    assert model.n_cells_ >= 10
    assert len(model.machines_) >= 3
    t = np.sin(3 * X[:, 0]) + X[:, 1]
    regressor = Regressor(max_cell_rows=200, C=100.0, random_state=0).fit(X[:2000], 50 + 7 * t[:2000])
    assert regressor.score(X[2000:], 50 + 7 * t[2000:]) > 0.97


def test_equal_rows_are_not_cut_for_ever():
    X = np.repeat(np.float32([[0, 0], [1, 1], [5, 5]]), [500, 400, 100], axis=0)
    y = np.repeat([0, 1, 0], [500, 400, 100])
    y[:100] = 1
    X, y = (np.concatenate([part, part]) for part in (X, y))
    model = Classifier(max_cell_rows=16, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict([[0, 0], [1, 1], [5, 5]]), [0, 1, 0])
    # different targets at one place give their mean
    targets = np.where(X[:, 0] == 0, np.arange(len(X)) % 7, 10.0)
    found = Regressor(max_cell_rows=16, C=1e3, random_state=0).fit(X, targets).predict([[0, 0], [1, 1]])
    np.testing.assert_allclose(found, [targets[X[:, 0] == 0].mean(), 10.0], atol=0.02)


def test_too_many_columns_of_sparse_rows_are_refused():
    from scipy.sparse import random as random_sparse

    X = random_sparse(40, 20000, density=0.01, format="csr", random_state=0, dtype=np.float32)
    with pytest.raises(InputError, match="20000 columns are too many; train newton, svrg or csvrg"):
        Classifier().fit(X, np.arange(40) % 2)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    X, y = rows(1500, 4)
    folder = tmp_path_factory.mktemp("cells")
    data = write_dataset([(X, y)], folder / "d.zarr", scale="none", test_fraction=0.2, rows_per_shard=100)
    model = Classifier(max_cell_rows=120, random_state=0)
    train(model, data.train, test=data.test, out=folder / "m", scheduler="threads", workers=2)
    return data, model, folder


@pytest.mark.slow
def test_the_same_bits_in_processes_and_in_memory(stored, tmp_path, local_workers):
    data, model, _ = stored
    again = Classifier(max_cell_rows=120, random_state=0)
    again.fit_with(data.train, test=data.test, executor=local_workers, checkpoints=tmp_path / "checkpoints")
    held = Classifier(max_cell_rows=120, random_state=0).fit(data.train)
    assert len(model.machines_) > 3
    for other in (again, held):
        np.testing.assert_array_equal(model.machines_, other.machines_)
    np.testing.assert_array_equal(model.predict(data.test), held.predict(data.test))


def test_a_model_is_its_folder(stored, tmp_path):
    data, model, folder = stored
    assert not (folder / "m" / "moved").exists()
    loaded = load_model(folder / "m")
    decisions = np.asarray(model.decision_function(data.test))
    np.testing.assert_array_equal(decisions, np.asarray(loaded.decision_function(data.test)))
    loaded.save(tmp_path / "copy")
    model.save(folder / "m", overwrite=True)
    pickled = pickle.loads(pickle.dumps(load_model(tmp_path / "copy")))
    np.testing.assert_array_equal(decisions, np.asarray(pickled.decision_function(data.test)))
    assert loaded.score(data.test) == pytest.approx(1 - model.history_[-1]["test_error"])


def test_damaged_machines_are_refused(stored, tmp_path):
    model = stored[1]
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    file = tmp_path / "m" / "machines" / "1" / "c" / "0"
    content = bytearray(file.read_bytes())
    content[3] ^= 1
    file.write_bytes(content)
    with pytest.raises(CorruptDataError, match="machines/1/c/0"):
        loaded.parts_.load(1)
    (tmp_path / "m" / "machines" / "0").rename(tmp_path / "away")
    (tmp_path / "m" / "machines" / "2").rename(tmp_path / "m" / "machines" / "0")
    with pytest.raises(CorruptDataError, match="not written with the other files"):
        loaded.parts_.load(0)


def test_a_model_without_all_of_its_machines_is_not_loaded(stored, tmp_path):
    model = stored[1]
    model.save(tmp_path / "m")
    (tmp_path / "m" / "machines" / "1").rename(tmp_path / "away")
    with pytest.raises(CorruptDataError, match=r"machines/1: these machines of the model are missing; copy"):
        load_model(tmp_path / "m")
    (tmp_path / "m" / "machines").rename(tmp_path / "all")
    with pytest.raises(CorruptDataError, match=r"machines/0: these machines"):
        load_model(tmp_path / "m")


def flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


DAMAGES = {
    "a machine": lambda folder, made: flip(folder / "machines" / made / "c" / "0"),
    "a machine's record": lambda folder, made: flip(folder / "machines" / f"{made}.json"),
    "a machine is gone": lambda folder, made: (folder / "machines" / made).rename(folder.parent / "away"),
    "moved rows": lambda folder, made: flip(folder / "moved" / "0.rows"),
    "moved rows are gone": lambda folder, made: (folder / "moved" / "1.rows").unlink(),
    "all moved rows": lambda folder, made: [flip(file) for file in (folder / "moved").glob("*.*")],
}


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(damage, id=name, marks=[pytest.mark.slow] * (name not in ("a machine", "moved rows")))
        for name, damage in DAMAGES.items()
    ],
)
@pytest.mark.parametrize("has_test", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_resumed_run_makes_again_what_is_damaged(damage, has_test, stored, tmp_path, monkeypatch):
    from distkern.data.store.parts import ArrayParts
    from distkern.engine.drive import Interrupted
    from distkern.show.metrics import read

    data, model, _ = stored
    monkeypatch.setattr(layout, "_PART_BYTES", 2**14)
    put, done = ArrayParts.put, []

    def interrupted(self, number, result):
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(number)
        return put(self, number, result)

    def run(resume):
        estimator = Classifier(max_cell_rows=120, random_state=0)
        how = {"test": data.test if has_test else None, "scheduler": "synchronous", "resume": resume}
        return train(estimator, data.train, out=tmp_path / "m", **how)

    with monkeypatch.context() as patch:
        patch.setattr(ArrayParts, "put", interrupted)
        with pytest.raises(Interrupted):
            run(False)
    damage(tmp_path / "m", f"{done[0]}")
    # forget the equal model of this process
    monkeypatch.setattr(buckets, "_kept", None)
    resumed = run(True)
    monkeypatch.setattr(buckets, "_kept", None)
    np.testing.assert_array_equal(resumed.machines_, model.machines_)
    assert [line["stage"] for line in read(tmp_path / "m" / "metrics.jsonl")] == [0, 1, 2]
    X = data.train[:100]
    np.testing.assert_array_equal(load_model(tmp_path / "m").decision_function(X), model.decision_function(X))
