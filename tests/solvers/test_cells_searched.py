"""What machines in cells choose by themselves, and what they leave alone."""

import sys
from types import ModuleType

import numpy as np
import pytest

from cell_problems import Classifier, Regressor, rows
from distkern.common.errors import InputError
from distkern.engine.drive import Driver
from distkern.estimators.cells import CellClassifier
from distkern.passes.machine import LIBRARY_BYTES
from distkern.runs.persistence import load_model
from distkern.runs.run import plan, train
from distkern.solvers._cells import sizes
from distkern.solvers._cells.choosing import SearchSpace
from distkern.storage.ingest import write_dataset


def noisy_columns(n_rows, seed=0):
    """Two columns that matter, of very different sizes, and six that do not."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 8))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int)
    return (X * [1, 100, 10, 10, 10, 10, 10, 10]).astype(np.float32), y


@pytest.mark.parametrize(("search", "counted"), [("quick", LIBRARY_BYTES), (None, 0)])
def test_what_follows_a_climb_is_planned_with_what_the_driver_loads_there(
    search, counted, tmp_path, monkeypatch
):
    X, y = noisy_columns(3000)
    data = write_dataset([(X, y)], tmp_path / "d.zarr")
    found = []
    for module in (ModuleType("pandas"), None):
        monkeypatch.setitem(sys.modules, "pandas", module)
        planned = plan(CellClassifier(search=search), data.train, scheduler="local", workers=1)
        found.append({step.name: step.driver_bytes for step in planned.passes})
    loaded, fresh = found
    assert loaded["solve"] == fresh["solve"]
    for name in ("sample", "count", "move"):
        assert loaded[name] - fresh[name] == LIBRARY_BYTES - counted


@pytest.mark.parametrize("search", [pytest.param("full", marks=pytest.mark.slow), "quick"])
def test_what_is_not_given_is_searched(search, tmp_path):
    X, y = noisy_columns(3000)
    model = CellClassifier(search=search, random_state=0).fit(X[:2000], y[:2000])
    plain = Classifier(random_state=0).fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > 0.93 > plain.score(X[2000:], y[2000:]) + 0.05
    last = model.history_[-1]
    assert last["search_score"] < 0.25
    assert last["C"] == model.cost_
    mapping = model.places_.map
    weights = mapping.importance()
    assert weights[:2].min() > 2 * weights[2:].max()
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


@pytest.mark.slow
@pytest.mark.parametrize("search", ["full", "quick"])
def test_many_samples_of_rows_are_searched(search, monkeypatch):
    """Where rows are many beside their sample, a full search also tries what few rows do not tell apart."""
    monkeypatch.setattr(sizes, "SAMPLE_ROWS", 500)
    tried, begun = [], SearchSpace._siblings

    def siblings(self, leaders, n_features):
        tried.append(begun(self, leaders, n_features))
        return tried[-1]

    monkeypatch.setattr(SearchSpace, "_siblings", siblings)
    X, y = noisy_columns(2600)
    model = CellClassifier(search=search, max_cell_rows=1000, random_state=0).fit(X[:2100], y[:2100])
    assert model.score(X[2100:], y[2100:]) > 0.9
    assert [bool(found) for found in tried] == [True] * (search == "full")


def test_results_of_trials_on_wide_rows_are_as_large_as_planned(monkeypatch):
    X, y = rows(150, 450)
    execute, of_step = Driver._execute, {}

    def watched(self, step):
        found = execute(self, step)
        if step.name.startswith(("metric", "tune")):
            stored = step.store.load(0)
            of_step[step.name] = sum(array.nbytes for array in stored.values()), step.cost.result_bytes
        return found

    monkeypatch.setattr(Driver, "_execute", watched)
    given = {"kernel": "rbf", "gamma": "median", "scale": "ranks", "metric": "full"}
    CellClassifier(search="quick", random_state=0, **given).fit(X, y)
    assert set(of_step) == {"metric", "tune 1", "tune 2"}
    assert of_step["metric"][0] > 2**20
    assert all(stored <= planned for stored, planned in of_step.values())


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
    regressor = Regressor(scale="normal", metric="full", random_state=0)
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
    for search, learned, last in (("full", ["whole metrics"], ["last metric"]), ("quick", [], [])):
        model = CellClassifier(search=search, max_cell_rows=1000, random_state=0)
        assert [step.name for step in plan(model, data.train, test=data.test).passes] == [
            *("sample", "metric", "probe", "tune 1", *learned, "tune 2", "probe 2", "tune 3", *last),
            *("count", "move", "solve", "calibrate", "calibrate rarest", "held-out"),
        ]
    train(model, data.train, test=data.test, out=tmp_path / "m", scheduler="threads", workers=2)
    assert not (tmp_path / "m" / "search").exists()
    given = {"gamma": "median", "C": 10.0, "scale": "none", "metric": None}
    plain = CellClassifier(search=None, max_cell_rows=1000, random_state=0, **given).fit(data.train)
    assert 1 - model.history_[-1]["test_error"] > plain.score(data.test) + 0.005
    again = CellClassifier(search="quick", max_cell_rows=1000, random_state=0).fit(data.train)
    np.testing.assert_array_equal(model.machines_, again.machines_)
