"""Prediction with cells too large to keep: rows are routed to buckets, and predictions back."""

import tracemalloc
from collections import Counter
from dataclasses import replace
from zlib import crc32

import dask
import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import dump_svmlight_file

from distkern.core.errors import CorruptDataError, MemoryBudgetError
from distkern.core.sparse import SparseRows
from distkern.data import file_rows
from distkern.data.ingest import write_dataset
from distkern.data.store.parts import SlicedParts, StoredParts
from distkern.estimators.cells import CellClassifier, CellRegressor
from distkern.maths.bases import routing
from distkern.maths.bases.placed import PlacedSizes
from distkern.runs.algorithms import load_model
from distkern.runs.scoring import files_for, predict_files_to, predict_to
from distkern.solvers._cells import buckets, layout
from runs import evaluate, plan, train

KINDS = ("two classes", "several classes", "real targets", "a linear trend")


def rows(n_rows=600):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, 4)).astype(np.float32)
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """Return a data set, a saved model, and the decision values of the kept model, by kind."""
    folder, found = tmp_path_factory.mktemp("routed"), {}
    X, y = rows()
    given = {"search": None, "max_cell_rows": 100, "random_state": 0}
    for kind in KINDS:
        labels = {"two classes": y > 0, "several classes": np.digitize(y, (-0.5, 0.5))}.get(kind, y)
        data = write_dataset(
            [(X, labels)],
            folder / f"{kind}.zarr",
            scale="standard",
            test_fraction=0.2,
            rows_per_shard=100,
            task="regression" if labels is y else "classification",
        )
        trend = "linear" if kind == "a linear trend" else None
        model = CellRegressor(trend=trend, **given) if labels is y else CellClassifier(**given)
        model.fit_with(data.train, test=data.test).save(folder / kind)
        predict_to(
            model.model_, data.train, folder / f"{kind}.npy", output="decision", scheduler="synchronous"
        )
        found[kind] = data, folder / kind, np.load(folder / f"{kind}.npy"), evaluate(model, data.train)
    return found


@pytest.fixture
def nothing_kept(monkeypatch):
    monkeypatch.setattr(buckets, "KEPT_BYTES", 1)
    monkeypatch.setattr(buckets, "_kept", None)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[pytest.mark.slow] * (kind != "several classes")) for kind in KINDS]
)
def test_predictions_are_those_of_a_model_that_is_kept(kind, fitted, nothing_kept, tmp_path, monkeypatch):
    data, folder, expected, figures = fitted[kind]
    assert not load_model(folder).basis().is_kept
    assert len(load_model(folder).machines_) > 3
    found, loaded = {}, Counter()
    load = StoredParts.load

    def counted(self, number):
        loaded[number] += 1
        return load(self, number)

    monkeypatch.setattr(StoredParts, "load", counted)
    # all rows of a place at a time, or those of a block
    for name, most in (("all", 2**24), ("few", 1)):
        monkeypatch.setattr(routing, "_PART_BYTES", most)
        out = tmp_path / f"{name}.npy"
        predict_to(load_model(folder).model_, data.train, out, output="decision", scheduler="synchronous")
        found[name] = np.load(out)
        if name == "all":
            assert set(loaded.values()) == {1}
    np.testing.assert_allclose(found["all"], expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found["few"], expected, rtol=1e-4, atol=1e-4)
    # moved rows are deleted
    assert {file.name for file in tmp_path.iterdir()} == {"all.npy", "few.npy"}
    measured = evaluate(load_model(folder), data.train)
    assert measured.keys() == figures.keys()
    for name in measured.keys() - {"seconds"}:
        assert measured[name] == pytest.approx(figures[name], rel=1e-4)


def test_the_same_bits_for_any_number_of_workers(fitted, nothing_kept, tmp_path):
    data, folder, _, _ = fitted["two classes"]
    made = []
    for scheduler, workers in (("synchronous", 1), ("threads", 1), ("threads", 3)):
        made.append(tmp_path / f"{scheduler}{workers}.csv")
        where = {"scheduler": scheduler, "workers": workers}
        predict_to(load_model(folder).model_, data.train, made[-1], output="decision", **where)
    assert made[0].read_bytes() == made[1].read_bytes() == made[2].read_bytes()


def test_a_bucket_that_was_changed_is_refused(fitted, nothing_kept, tmp_path):
    data, folder, _, _ = fitted["several classes"]
    load_model(folder).save(tmp_path / "m")
    file = tmp_path / "m" / "machines" / "1" / "c" / "0"
    content = bytearray(file.read_bytes())
    content[3] ^= 1
    file.write_bytes(content)
    model = load_model(tmp_path / "m")
    with pytest.raises(CorruptDataError, match="machines/1/c/0"):
        predict_to(model.model_, data.train, tmp_path / "p.npy", scheduler="synchronous")
    with pytest.raises(CorruptDataError, match="machines/1/c/0"):
        evaluate(model, data.train, scheduler="synchronous")
    assert [file.name for file in tmp_path.iterdir()] == ["m"]


def test_the_limit_is_of_all_passes(fitted, nothing_kept, tmp_path):
    data, folder, _, _ = fitted["several classes"]
    model = load_model(folder)
    model._model = replace(model.model_, bucket_bytes=2**30)
    where = {"scheduler": "synchronous", "memory_limit": 2**30}
    with pytest.raises(MemoryBudgetError, match="pass 'say' needs"):
        predict_to(model.model_, data.train, tmp_path / "p.npy", **where)
    with pytest.raises(MemoryBudgetError, match="pass 'say' needs"):
        evaluate(model, data.train, **where)


def test_a_place_is_asked_about_few_rows_at_a_time():
    counts = np.array([[2, 0, 9], [2, 0, 9], [2, 1, 0], [2, 0, 0]])
    wanted = [(0, range(2)), (0, range(2, 4)), (1, range(2, 3)), (2, range(1)), (2, range(1, 2))]
    assert routing.asked(counts, 3, 4) == wanted
    # in order and in any number
    counts = np.random.default_rng(0).integers(0, 4, (40, 7)) * np.array([0, 1, 1, 1, 1, 1, 1])
    found = routing.asked(iter(counts), 7, 9)
    assert found == sorted(found, key=lambda item: (item[0], item[1].start))
    for place in range(7):
        ranges = [parts for number, parts in found if number == place]
        rows = [int(counts[list(parts), place].sum()) for parts in ranges]
        assert sum(rows) == counts[:, place].sum()
        assert all(0 < row <= 9 for row in rows)
        # the next part's rows would have been too many
        assert all(row + counts[after.start, place] > 9 for row, after in zip(rows, ranges[1:], strict=False))


class Counted:
    """A store that computes the offsets of many parts, each with a row in every hundredth place."""

    def __init__(self, n_places):
        self.n_places, self.read = n_places, 0

    def offsets(self, number):
        self.read += 1
        return np.cumsum(np.arange(-1, self.n_places) % 100 == number % 100, dtype=np.int64)


def test_counts_of_parts_and_places_are_not_held_together():
    """With 10^9 rows and 60,000 places they would take gigabytes."""
    n_parts, n_places = 500, 5000
    sizes = PlacedSizes(1, n_places, 4, 2**20, 2**20, np.dtype(np.float32))
    few, many = (routing.Routing(sizes, (2**17,) * n, "test").planned[0] for n in (10, 1000))
    assert few.record_bytes == many.record_bytes < 1000
    assert few.cost.driver_bytes == many.cost.driver_bytes < 1000 * n_places
    store = Counted(n_places)
    records = [{"offsets": crc32(store.offsets(number).data)} for number in range(n_parts)]
    steps = routing.Routing(sizes, (2**17,) * n_parts, "test", object()).steps(lambda name, columns: store)
    next(steps)
    tracemalloc.start()
    saying = steps.send(records)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert store.read == 2 * n_parts
    assert len(saying.items) == n_places
    # the counts of all parts would take 20 MB
    assert taken < few.cost.driver_bytes + 300 * n_places < 8 * n_parts * n_places / 5


@pytest.mark.parametrize("kind", KINDS)
def test_lazy_predictions_of_a_split_read_every_place_once(kind, fitted, nothing_kept, monkeypatch):
    data, folder, expected, _ = fitted[kind]
    model, loaded, load = load_model(folder), Counter(), StoredParts.load
    monkeypatch.setattr(StoredParts, "load", lambda self, n: (loaded.update([n]), load(self, n))[1])
    with dask.config.set(scheduler="synchronous"):
        name = "predict" if model.task == "regression" else "decision_function"
        lazy = getattr(model, name)(data.train)
        assert (lazy.shape, lazy.numblocks[0]) == (expected.shape, data.train.n_blocks)
        # answers are shared by everything computed from them
        half, lazy = lazy[: len(expected) // 2] + 1, None
        np.testing.assert_allclose(half.compute() - 1, expected[: len(expected) // 2], atol=1e-5)
        assert set(loaded.values()) == {1}
        if kind == "several classes":
            labels = model.predict(data.train).compute()
            assert set(labels) == set(model.classes_)
            np.testing.assert_array_equal(labels, model.classes_[expected.argmax(axis=1)])


def test_a_damaged_table_of_places_is_told(fitted, nothing_kept, tmp_path, monkeypatch):
    data, folder, _, _ = fitted["several classes"]
    model, read = load_model(folder), SlicedParts.offsets
    monkeypatch.setattr(SlicedParts, "offsets", lambda self, number: read(self, number) + 1)
    with pytest.raises(CorruptDataError, match="predict again"):
        predict_to(model.model_, data.train, tmp_path / "p.npy", scheduler="synchronous")


@pytest.mark.parametrize("kind", ["csv", "svmlight"])
def test_rows_of_files_are_moved_too(kind, fitted, nothing_kept, tmp_path, monkeypatch):
    data, folder, expected, _ = fitted["real targets"]
    numbers = np.concatenate([data.train.reader(block).source_rows() for block in range(data.train.n_blocks)])
    X, y = rows()
    file, names = tmp_path / f"new.{kind}", np.arange(len(X)) * 7
    if kind == "csv":
        np.savetxt(file, np.column_stack([names, X]), delimiter=",", header="name,a,b,c,d", comments="")
    else:
        dump_svmlight_file(X, y, str(file), zero_based=False)
    # several blocks of rows
    monkeypatch.setattr(file_rows, "CHUNK_BYTES", 8 * 4 * 100)
    model = load_model(folder)
    loaded, load = Counter(), StoredParts.load
    monkeypatch.setattr(StoredParts, "load", lambda self, n: (loaded.update([n]), load(self, n))[1])
    out = tmp_path / "p.csv"
    read = files_for(model.model_, [file], **({"id": "name"} if kind == "csv" else {"zero_based": False}))
    assert predict_files_to(model.model_, read, out, scheduler="synchronous") == len(X)
    assert set(loaded.values()) == {1}
    found = np.loadtxt(out, delimiter=",", skiprows=1, ndmin=2)
    if kind == "csv":
        np.testing.assert_array_equal(found[:, 0], names)
    np.testing.assert_allclose(found[numbers, -1], expected, rtol=1e-4, atol=1e-4)
    assert {made.name for made in tmp_path.iterdir()} == {file.name, out.name}


def test_sparse_rows_of_files_are_written_out_a_few_at_a_time(monkeypatch):
    monkeypatch.setattr(file_rows, "CHUNK_BYTES", 8 * 4 * 10)
    X = np.where(rows(25)[0] > 1, rows(25)[0], 0.0)
    names = np.arange(25)
    sparse = file_rows.FileBlock(SparseRows.of_scipy(csr_matrix(X)), names)
    made = list(file_rows.dense_blocks([sparse, file_rows.FileBlock(X, None)]))
    assert [len(block.features) for block in made] == [10, 10, 5, 25]
    np.testing.assert_array_equal(np.concatenate([block.features for block in made[:3]]), X)
    np.testing.assert_array_equal(np.concatenate([block.ids for block in made[:3]]), names)


def test_held_out_rows_are_moved_while_training(fitted, tmp_path, monkeypatch):
    data, folder, _, _ = fitted["two classes"]
    expected = load_model(folder).history_[-1]["test_error"]
    monkeypatch.setattr(buckets, "KEPT_BYTES", 1)
    monkeypatch.setattr(layout, "KEPT_BYTES", 1)
    given = {"search": None, "max_cell_rows": 100, "random_state": 0, "probability": False}
    planned = [step.name for step in plan(CellClassifier(**given), data.train, test=data.test).passes]
    assert planned == ["sample", "count", "move", "solve", "place", "say", "held-out"]
    told = []
    model = CellClassifier(**given)
    where = {"scheduler": "synchronous", "listeners": [told.append]}
    train(model, data.train, test=data.test, out=tmp_path / "m", **where)
    passes = [event["name"] for event in told if event.kind == "pass_started"]
    assert passes == ["sample", "held-out", "count", "move", "solve", "place", "say", "held-out"]
    assert model.history_[-1]["test_error"] == pytest.approx(expected, abs=1e-12)
    assert not (tmp_path / "m" / "held-out").exists()
