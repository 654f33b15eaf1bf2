"""Machines in cells: where rows go, what becomes of awkward data, the model on disk."""

from __future__ import annotations

import pickle
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import zarr
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC

from distkern.common.errors import CorruptDataError, InputError
from distkern.common.types import Block
from distkern.engine.drive import Driver
from distkern.estimators.cells import CellClassifier, CellRegressor
from distkern.features.kernel_choice import KernelChoice
from distkern.kernels import find_kernel
from distkern.losses import find_loss
from distkern.runs.persistence import load_model
from distkern.runs.run import plan, train
from distkern.runs.scoring import predict_to
from distkern.solvers._cells import basis, buckets, effort
from distkern.solvers._cells.buckets import Machines
from distkern.solvers._cells.layout import Layout
from distkern.solvers._cells.machine import CellSettings
from distkern.solvers._cells.mapping import MapChoice
from distkern.solvers._cells.place import grouped
from distkern.solvers._cells.tree import Overlap, Tree
from distkern.solvers._cells.trials import KernelSpec, Trial
from distkern.solvers._cells.tuning import outcomes_of
from distkern.solvers.risk import Risk
from distkern.storage.ingest import write_dataset
from distkern.storage.parts import StoredParts

Classifier, Regressor = partial(CellClassifier, search=None), partial(CellRegressor, search=None)


def rows(n_rows, n_features=3, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(n_rows, n_features)).astype(np.float32)
    return X, (np.sin(3 * X[:, 0]) + X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("kind", ["normal", "sorted", "skewed", "on a line", "mostly equal", "two values"])
def test_half_spaces_cut_rows_into_equal_parts(kind):
    X = rows(1000)[0]
    X = {
        "normal": X,
        "sorted": np.sort(X, axis=0),
        "skewed": np.exp(4 * X),
        "on a line": np.outer(X[:, 0], [1.0, 2.0, 3.0]).astype(np.float32),
        "mostly equal": np.where(np.arange(1000)[:, None] % 10, X[:1], X),
        "two values": np.sign(X[:, :1]) * [[1, 1, 1]],
    }[kind].astype(np.float32)
    tree = Tree.fit(X, 100, 0)
    leaves = tree.leaves(X)
    counts = np.bincount(leaves, minlength=tree.n_leaves)
    assert counts.min() > 0
    for leaf in np.flatnonzero(counts > 100):
        assert len(np.unique(X[leaves == leaf], axis=0)) == 1, "rows that differ were not cut"
    if kind in ("normal", "sorted", "skewed", "on a line"):
        assert tree.n_leaves == 10
        assert counts.min() >= 99
    # each row by itself, and in parts of any size
    np.testing.assert_array_equal(leaves[[7]], tree.leaves(X[[7]]))
    np.testing.assert_array_equal(
        leaves, np.concatenate([tree.leaves(part) for part in np.array_split(X, 7)])
    )


@pytest.mark.parametrize("kind", ["normal", "skewed", "mostly equal", "three values", "wide"])
def test_rows_near_a_border_belong_to_both_sides(kind):
    X = rows(3000)[0]
    X = {
        "normal": X,
        "skewed": np.exp(4 * X),
        "mostly equal": np.where(np.arange(3000)[:, None] % 10, X[:1], X),
        "three values": np.repeat(X[:3], 1000, axis=0),
        "wide": rows(3000, 40)[0],
    }[kind].astype(np.float32)
    tree = Tree.fit(X, 300, 0, overlap=Overlap(0.2, 300))
    found = list(tree.members(X))
    assert [leaf for leaf, _, _ in found] == list(range(tree.n_leaves))
    lies = np.concatenate([part[own] for _, part, own in found])
    np.testing.assert_array_equal(np.sort(lies), np.arange(3000))
    leaves = tree.leaves(X)
    for leaf, part, own in found:
        np.testing.assert_array_equal(part[own], np.flatnonzero(leaves == leaf))
        assert len(part) <= 300 or len(np.unique(X[part], axis=0)) == 1
    # a part of some of the rows is placed as all of them are
    some = np.arange(0, 3000, 7)
    for (_, part, own), (_, whole, owned) in zip(tree.members(X[some]), found, strict=True):
        np.testing.assert_array_equal(some[part], np.intersect1d(some, whole))
        np.testing.assert_array_equal(some[part[own]], np.intersect1d(some, whole[owned]))
    if kind == "normal":
        first = np.abs(X @ tree.directions[0] - tree.thresholds[0]) < tree.margins[0]
        # ten cells are five pairs
        assert 0.95 < first.sum() / (0.2 * 3000 * 5**-0.125) <= 1
        assert sum(len(part) for _, part, _ in found) > 1.5 * 3000


def test_rows_are_in_as_many_cells_as_the_layout_says_and_their_number_stays_bounded():
    X = rows(40_000, 8)[0]
    problem = SimpleNamespace(n_rows=40_000, sparse_numbers=None)
    layout = Layout(problem, 200, 0.1, False, None)
    found = list(Tree.fit(X, 200, 0, overlap=Overlap(0.1, 200)).members(X))
    assert sum(len(part) for _, part, _ in found) / 40_000 == pytest.approx(layout.copies(200), rel=0.1)
    # a slab at the first border as thick as those of cells has a vanishing share of the rows
    copies = [
        Layout(SimpleNamespace(n_rows=n, sparse_numbers=None), 1000, 0.1, False, None).copies(n / 1000)
        for n in (10**6, 10**9, 10**12)
    ]
    assert copies[0] < copies[1] < copies[2] < np.exp(0.1 / (1 - 2**-0.125))


def test_neighbours_are_learned_from_and_not_counted():
    X, y = rows(3000)
    plain, overlapping = (
        Classifier(max_cell_rows=200, overlap=share, random_state=0).fit(X[:2000], y[:2000])
        for share in (0.0, 0.2)
    )
    assert overlapping.n_cells_ > plain.n_cells_
    assert overlapping.score(X[2000:], y[2000:]) > plain.score(X[2000:], y[2000:])
    # errors and losses are those of the model on its rows, each once
    assert overlapping.history_[-1]["train_error"] == pytest.approx(1 - overlapping.score(X[:2000], y[:2000]))


def test_a_cell_of_neighbours_alone_is_not_worth_its_matrix():
    X, y = rows(1000)
    kernel = KernelChoice(find_kernel("rbf"), 1.0, {}).with_gamma(1.0)
    settings = CellSettings(kernel, find_loss("hinge")(), 10.0)
    cut = buckets.Cut(None, 1, Risk(settings.loss), 1000, 0.1, 0)
    found = []
    for n_own in (0, 1):
        lies = np.arange(1000) < n_own
        block = Block(X, y, np.ones(1000))
        machine, sums = buckets._solve(block, lies, None, buckets.Solving(cut, settings), (0, 0))
        assert sums.n_rows == n_own
        found.append(machine)
    assert len(found[0].rows) <= 256 < found[1].work ** 0.5
    assert found[0].work < 0.1 * found[1].work
    signs = [machine.predict(settings, rows(300, seed=1)[0])[:, 0] > 0 for machine in found]
    assert np.mean(signs[0] == signs[1]) > 0.85


def test_buckets_hold_no_more_rows_than_they_may():
    counts = np.random.default_rng(0).integers(0, 50, 200)
    found = grouped(counts, 120)
    assert set(np.diff(found)) == {0, 1}
    filled = np.bincount(found, counts)
    assert filled.max() <= 120
    assert (filled[:-1] + counts[np.flatnonzero(np.diff(found)) + 1] > 120).all()


@pytest.mark.parametrize("tol", [0.05, 0.002])
def test_one_cell_is_the_support_vector_machine_without_an_intercept(tol):
    X, y = rows(300)
    model = Classifier(kernel="rbf", gamma=0.7, C=3.0, tol=tol, random_state=0).fit(X, y)
    assert model.n_cells_ == 1
    signs = 2.0 * y - 1.0
    K = np.exp(-0.7 * np.square(np.linalg.norm(X[:, None] - X[None], axis=2)))
    f = model.decision_function(X)
    part = model.parts_.load(0)
    apart = np.abs((X - model.places_.map.transform.shift)[:, None] - part["support"][None]).max(axis=2)
    a = np.zeros(300)
    a[apart.argmin(axis=0)] = part["coefficients"][:, 0]
    a *= signs
    assert a.min() >= 0
    assert a.max() <= 3.0 * (1 + 1e-6)
    np.testing.assert_allclose(K @ (a * signs), f, atol=1e-4)
    # no coordinate of the dual would move by more than the tolerance, K being 1 on its diagonal
    assert np.abs(np.clip(a + 1 - signs * f, 0, 3.0) - a).max() < 1.2 * tol
    # and it is as good as a machine with one
    assert model.score(X, y) >= SVC(gamma=0.7, C=3.0).fit(X, y).score(X, y) - 0.01


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
    # of different targets at one place the mean remains
    targets = np.where(X[:, 0] == 0, np.arange(len(X)) % 7, 10.0)
    found = Regressor(max_cell_rows=16, C=1e3, random_state=0).fit(X, targets).predict([[0, 0], [1, 1]])
    np.testing.assert_allclose(found, [targets[X[:, 0] == 0].mean(), 10.0], atol=0.02)


def test_constant_columns_few_rows_and_cells_of_one_class():
    X, y = rows(400)
    X = np.hstack([X, np.full((400, 1), 3.0, np.float32)])
    assert Classifier(max_cell_rows=50, random_state=0).fit(X, y).score(X, y) > 0.9
    few = Classifier(max_cell_rows=2, random_state=0).fit(X[:3], [0, 1, 0])
    np.testing.assert_array_equal(few.predict(X[:3]), [0, 1, 0])
    # classes far apart: every cell has one class only, and is a constant
    y = np.arange(400) % 2
    X += 100 * y[:, None]
    apart = Classifier(max_cell_rows=50, overlap=0.0, random_state=0).fit(X, y)
    assert apart.score(X, y) == 1.0
    assert apart.n_support_ == 0
    assert Classifier(max_cell_rows=50, random_state=0).fit(X, y).score(X, y) == 1.0


def test_weights_of_rows_and_classes_are_repetitions():
    X, y = rows(2000)
    often = np.random.default_rng(1).integers(1, 4, 2000)
    weighted = Classifier(C=2.0, random_state=0).fit(X, y, sample_weight=often)
    # C is of a row of average weight
    repeated = Classifier(C=2.0 / often.mean(), max_cell_rows=8000, random_state=0)
    repeated.fit(X.repeat(often, axis=0), y.repeat(often))
    assert weighted.n_cells_ == repeated.n_cells_ == 1
    probe = rows(200, seed=5)[0]
    apart = np.abs(weighted.decision_function(probe) - repeated.decision_function(probe))
    assert apart.max() < 0.1
    assert apart.mean() < 0.02
    balanced = Classifier(C=0.01, class_weight={0: 1.0, 1: 30.0}, random_state=0).fit(X, y)
    assert balanced.predict(probe).mean() > weighted.predict(probe).mean()


def test_too_many_columns_of_sparse_rows_are_refused():
    from scipy.sparse import random as random_sparse

    X = random_sparse(40, 20000, density=0.01, format="csr", random_state=0, dtype=np.float32)
    with pytest.raises(InputError, match="20000 are too many; train newton, svrg or csvrg"):
        Classifier().fit(X, np.arange(40) % 2)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    X, y = rows(1500, 4)
    folder = tmp_path_factory.mktemp("cells")
    data = write_dataset([(X, y)], folder / "d.zarr", scale="none", test_fraction=0.2, rows_per_shard=100)
    model = Classifier(max_cell_rows=120, random_state=0)
    train(model, data.train, test=data.test, out=folder / "m", scheduler="threads", workers=2)
    return data, model, folder


def test_the_same_bits_in_processes_and_in_memory(stored, tmp_path):
    data, model, _ = stored
    again = Classifier(max_cell_rows=120, random_state=0)
    train(again, data.train, test=data.test, out=tmp_path / "m", scheduler="processes", workers=2)
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
    model.save(folder / "m")
    pickled = pickle.loads(pickle.dumps(load_model(tmp_path / "copy")))
    np.testing.assert_array_equal(decisions, np.asarray(pickled.decision_function(data.test)))
    assert loaded.score(data.test) == pytest.approx(1 - model.history_[-1]["test_error"])


@pytest.mark.parametrize("ending", ["npy", "csv", "zarr"])
def test_a_model_that_is_not_kept_is_read_once_for_many_blocks(stored, ending, tmp_path, monkeypatch):
    data, model, folder = stored
    expected = np.asarray(model.predict(data.train))
    loaded, load, numbers = load_model(folder / "m"), StoredParts.load, []

    def counted(self, number):
        numbers.append(number)
        return load(self, number)

    monkeypatch.setattr(basis, "KEPT_BYTES", 1)
    monkeypatch.setattr(basis, "_kept", None)
    monkeypatch.setattr(StoredParts, "load", counted)
    assert data.train.n_blocks == 12
    out = tmp_path / f"p.{ending}"
    assert predict_to(loaded, data.train, out, scheduler="synchronous") == 1200
    assert sorted(numbers) == list(range(len(model.machines_)))
    if ending == "npy":
        found = np.load(out)
    elif ending == "csv":
        found = np.loadtxt(out, delimiter=",", skiprows=1)[:, -1]
    else:
        found = np.asarray(zarr.open_group(out)["predictions"])
    np.testing.assert_array_equal(found, expected)


def test_damaged_machines_are_refused(stored, tmp_path):
    model = stored[1]
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    file = tmp_path / "m" / "machines" / "1" / "support" / "c" / "0" / "0"
    content = bytearray(file.read_bytes())
    content[3] ^= 1
    file.write_bytes(content)
    with pytest.raises(CorruptDataError, match="machines/1/support"):
        loaded.parts_.load(1)
    (tmp_path / "m" / "machines" / "0").rename(tmp_path / "away")
    (tmp_path / "m" / "machines" / "2").rename(tmp_path / "m" / "machines" / "0")
    with pytest.raises(CorruptDataError, match="not those that were written with the rest"):
        loaded.parts_.load(0)


def test_a_resumed_run_solves_only_what_is_left(stored, tmp_path, monkeypatch):
    from distkern.engine.drive import Interrupted
    from distkern.storage.parts import ArrayParts

    data, model, _ = stored
    put, done = ArrayParts.put, []

    def interrupted(self, number, result):
        done.append(number)
        if len(done) == 3:
            raise KeyboardInterrupt
        return put(self, number, result)

    def run(resume):
        estimator = Classifier(max_cell_rows=120, random_state=0)
        return train(
            estimator, data.train, test=data.test, out=tmp_path / "m", scheduler="synchronous", resume=resume
        )

    with monkeypatch.context() as patch:
        patch.setattr(ArrayParts, "put", interrupted)
        with pytest.raises(Interrupted):
            run(False)
    before = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "m" / "machines").glob("*.json")}
    assert len(before) == 2
    resumed = run(True)
    np.testing.assert_array_equal(resumed.machines_, model.machines_)
    after = {file.name: file.stat().st_mtime_ns for file in (tmp_path / "m" / "machines").glob("*.json")}
    assert before.items() <= after.items()
    assert not (tmp_path / "m" / "moved").exists()


def test_the_plan_lists_the_phases(stored):
    data, _, _ = stored
    planned = plan(Classifier(max_cell_rows=60), data.train, test=data.test, workers=2, scheduler="local")
    assert [step.name for step in planned.passes] == ["sample", "count", "move", "solve", "held-out"]


def test_the_plan_counts_the_work_of_the_search_and_of_the_cells(tmp_path):
    X, y = rows(3000)
    data = write_dataset([(X, y)], tmp_path / "d.zarr", scale="none").train

    def planned(**given):
        found = plan(CellClassifier(**given), data, workers=1, scheduler="local")
        return {one.name: one.times * one.seconds for one in found.passes}, found.by_rates

    none, quick, full = (planned(search=how) for how in (None, "quick", "full"))
    assert none[1] < quick[1] < full[1]
    assert full[0]["search 2"] > quick[0]["search 2"] > 10 * none[0]["sample"]
    # four times the rows of a cell: so many pairs more, and fewer cells
    small, large = (effort.cells(10**5, 1.5, size, 3, 1, quadratic=False) for size in (250, 1000))
    assert (large.flops, large.entries) == pytest.approx((4 * small.flops, 4 * small.entries))
    # Cholesky's cube, in double precision
    assert effort.machine(1000, 3, 1, 2, quadratic=True).flops == pytest.approx(2 * 1e6 * 3 + 2 * 2 * 1e9 / 3)
    assert effort.machine(1000, 3, 1, 2, quadratic=False).flops == pytest.approx(2 * 1e6 * 3)
    assert planned(search=None, metric="full")[0]["metric"] > 0.1
    # of a metric the factorisation in single precision; of many outputs fewer rows' gradients are averaged
    assert effort.metric(9000, 10, 1, 2).flops == pytest.approx(2 * 9000**3 / 3, rel=0.05)
    some, more = (effort.metric(4000, 100, outputs, 1) for outputs in (60, 120))
    assert more.flops == pytest.approx(some.flops, rel=0.2)


def noisy_columns(n_rows, seed=0):
    """Two columns that matter, of very different sizes, and six that do not."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 8))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int)
    return (X * [1, 100, 10, 10, 10, 10, 10, 10]).astype(np.float32), y


@pytest.mark.parametrize("search", [pytest.param("full", marks=pytest.mark.slow), "quick"])
def test_what_is_not_given_is_searched(search, tmp_path):
    X, y = noisy_columns(3000)
    model = CellClassifier(search=search, random_state=0).fit(X[:2000], y[:2000])
    plain = Classifier(random_state=0).fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > 0.93 > plain.score(X[2000:], y[2000:]) + 0.05
    last = model.history_[-1]
    assert last["search_score"] < last["search_plain"] - 0.02
    assert last["C"] == model.cost_
    mapping = model.places_.map
    weights = mapping.importance()
    assert weights[:2].min() > 2 * weights[2:].max()
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_results_of_trials_on_wide_rows_are_as_large_as_planned(monkeypatch):
    X, y = rows(150, 450)
    execute, sizes = Driver._execute, []

    def watched(self, step):
        found = execute(self, step)
        if step.name.startswith("search"):
            stored = step.store.load(0)
            sizes.append((sum(array.nbytes for array in stored.values()), step.cost.result_bytes))
        return found

    monkeypatch.setattr(Driver, "_execute", watched)
    given = {"kernel": "rbf", "gamma": "median", "C": 1.0, "scale": "ranks", "metric": "full"}
    CellClassifier(search="quick", random_state=0, **given).fit(X, y)
    assert len(sizes) == 2
    for stored, planned in sizes:
        assert 2**20 < stored <= planned


def test_cells_that_say_nothing_rank_nothing():
    nothing = SimpleNamespace(load=lambda _: {"losses": np.zeros((2, 0))})
    trial = Trial(MapChoice(), ((KernelSpec("rbf"), 1.0),), (1.0, 3.0))
    assert outcomes_of([trial], nothing, [{"work": [0.0, 0.0]}]) == {}


def test_what_is_given_is_not_searched():
    X, y = noisy_columns(600)
    given = {"C": 7.0, "scale": "ranks", "metric": "full", "gamma": "median/2", "kernel": "matern"}
    model = CellClassifier(search="quick", random_state=0, **given).fit(X, y)
    assert model.cost_ == 7.0
    assert model.places_.map.transform.kind == "ranks"
    assert model.places_.map.factors.shape == (8, 8)
    # exp(-|x - y| / width), where the rule's width is that of exp(-|x|^2 / width^2)
    assert model.gamma_ * model.places_.map.width == pytest.approx(2.0, rel=1e-9)
    with pytest.raises(
        InputError, match=r"gamma: 2\.0 is of rows whose map the search chooses; set search to"
    ):
        CellClassifier(gamma=2.0).fit(X, y)


def test_a_metric_and_a_transform_without_a_search():
    X, y = noisy_columns(2000)
    model = Classifier(scale="standard", metric="diagonal", random_state=0).fit(X[:1500], y[:1500])
    assert model.score(X[1500:], y[1500:]) > 0.93
    regressor = Regressor(scale="normal", metric="mixed", random_state=0)
    assert (
        regressor.fit(X, np.sin(2 * X[:, 0]) + X[:, 1] / 100).score(X, np.sin(2 * X[:, 0]) + X[:, 1] / 100)
        > 0.9
    )


@pytest.mark.slow
def test_more_rows_than_the_sample_are_tried_on_whole_cells(tmp_path):
    """Waves that a sample of the rows is too thin to show."""
    generator = np.random.default_rng(0)
    X = generator.random((40000, 2)).astype(np.float32)
    y = (np.sin(60 * X[:, 0]) * np.sin(60 * X[:, 1]) > 0).astype(int)
    data = write_dataset([(X, y)], tmp_path / "d.zarr", scale="none", test_fraction=0.25)
    for search, learned in (("full", ["metric"]), ("quick", [])):
        model = CellClassifier(search=search, max_cell_rows=1000, random_state=0)
        assert [step.name for step in plan(model, data.train, test=data.test).passes] == [
            *("sample", "search 1", "search 2", "probe", "tune 1", *learned, "tune 2"),
            *("count", "move", "solve", "held-out"),
        ]
    train(model, data.train, test=data.test, out=tmp_path / "m", scheduler="threads", workers=2)
    assert not (tmp_path / "m" / "search").exists()
    given = {"gamma": "median", "C": 10.0, "scale": "none", "metric": None}
    plain = CellClassifier(search=None, max_cell_rows=1000, random_state=0, **given).fit(data.train)
    assert 1 - model.history_[-1]["test_error"] > plain.score(data.test) + 0.005
    again = CellClassifier(search="quick", max_cell_rows=1000, random_state=0).fit(data.train)
    np.testing.assert_array_equal(model.machines_, again.machines_)


@pytest.mark.parametrize(("n_classes", "method"), [(2, "sigmoid"), (3, "isotonic")])
def test_calibration_from_outside_gives_probabilities(n_classes, method):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(3000, 2)).astype(np.float32)
    # the class is drawn with known probabilities
    scores = np.column_stack([2 * X[:, 0], np.sin(2 * X[:, 1]), -X[:, 0]])[:, :n_classes]
    truth = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    y = np.array(list("abc"))[(generator.random(3000)[:, None] > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)]
    model = Classifier(scale="standard", C=0.3, max_cell_rows=400, random_state=0).fit(X[:1000], y[:1000])
    assert not hasattr(model, "predict_proba")
    calibrated = CalibratedClassifierCV(FrozenEstimator(model), method=method).fit(X[1000:2000], y[1000:2000])
    probabilities = calibrated.predict_proba(X[2000:])
    assert list(calibrated.classes_) == list("abc")[:n_classes]
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    shares = np.array([np.mean(y == label) for label in calibrated.classes_])
    error, of_shares = (np.square(guess - truth[2000:]).mean() for guess in (probabilities, shares))
    assert error < 0.3 * of_shares


def test_several_partitions_are_averaged():
    X, y = rows(3000)
    given = {"max_cell_rows": 200, "overlap": 0.0, "random_state": 0}
    one, three = (Classifier(partitions=number, **given).fit(X[:2000], y[:2000]) for number in (1, 3))
    places, basis = three.places_, three.basis(np.float32)
    assert places.n_partitions == 3
    assert three.n_cells_ == pytest.approx(3 * one.n_cells_, rel=0.1)
    coordinates = places.rows(X[2000:])
    alone = np.zeros((3, 1000))
    for number, values in enumerate(alone):
        buckets = places.buckets(coordinates, number)
        assert (np.diff([*places.first_buckets, places.n_buckets])[number]) >= len(set(buckets.tolist()))
        for bucket in set(buckets.tolist()):
            inside = np.flatnonzero(buckets == bucket)
            machines = Machines.of(three.parts_.load(bucket))
            values[inside] = machines.predict(coordinates[inside], basis.settings)[:, 0]
    # the first is what one partition is, and the others are cut elsewhere
    np.testing.assert_allclose(alone[0], one.decision_function(X[2000:]), atol=1e-6)
    assert np.abs(alone[1] - alone[0]).mean() > 0.01
    assert np.abs(alone[2] - alone[1]).mean() > 0.01
    np.testing.assert_allclose(three.decision_function(X[2000:]), alone.mean(axis=0), atol=1e-6)
    errors = ((alone > 0) != (y[2000:] == 1)).mean(axis=1)
    assert 1 - three.score(X[2000:], y[2000:]) < errors.min() + 0.005
    # the figures of the run are means over the partitions
    assert three.history_[-1]["train_error"] == pytest.approx(one.history_[-1]["train_error"], abs=0.05)
    whole = Classifier(partitions=3, max_cell_rows=5000, random_state=0).fit(X[:2000], y[:2000])
    assert whole.places_.n_partitions == whole.n_cells_ == 1
