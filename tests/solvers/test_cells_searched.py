"""Settings that cells choose, and settings that are given."""

from functools import partial

import numpy as np
import pytest

from cell_problems import Classifier, Regressor, rows
from distkern.core.errors import InputError
from distkern.data.ingest import write_dataset
from distkern.engine.drive import Driver
from distkern.estimators.arena import Arena
from distkern.estimators.cells import CellClassifier, CellRegressor
from distkern.runs.algorithms import load_model
from runs import plan, solver_of, train


def noisy_columns(n_rows, seed=0):
    """Return two informative columns on different scales and six of noise."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 8))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int)
    return (X * [1, 100, 10, 10, 10, 10, 10, 10]).astype(np.float32), y


@pytest.mark.parametrize("search", [pytest.param("full", marks=pytest.mark.slow), "quick"])
def test_what_is_not_given_is_searched(search, tmp_path):
    X, y = noisy_columns(2000)
    model = CellClassifier(search=search, random_state=0).fit(X[:1200], y[:1200])
    plain = Classifier(random_state=0).fit(X[:1200], y[:1200])
    assert model.score(X[1200:], y[1200:]) > 0.93 > plain.score(X[1200:], y[1200:]) + 0.05
    last = model.history_[-1]
    assert last["search_score"] < 0.25
    assert last["C"] == model.cost_
    mapping = model.places_.map
    weights = mapping.importance()
    assert weights[:2].min() > 2 * weights[2:].max()
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))


def test_a_metric_of_wide_rows_is_as_large_as_planned(monkeypatch):
    X, y = rows(150, 450)
    execute, of_step = Driver._execute, {}

    def watched(self, step):
        found = execute(self, step)
        if step.name == "metric":
            stored = step.store.load(0)
            of_step[step.name] = sum(array.nbytes for array in stored.values()), step.cost.result_bytes
        return found

    monkeypatch.setattr(Driver, "_execute", watched)
    given = {"kernel": "rbf", "gamma": "median", "scale": "ranks", "metric": "full"}
    CellClassifier(search="quick", random_state=0, **given).fit(X, y)
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
        InputError, match=r"gamma: 2\.0 cannot be given for rows mapped as the search chooses; set search to"
    ):
        CellClassifier(gamma=2.0).fit(X, y)


def test_each_part_of_the_search_space_is_open_or_given():
    """Given values restrict maps and kernels; single values need no search."""
    cells = solver_of(CellClassifier(scale="standard", search="quick"))
    assert {one.transform for one in cells.space.maps(8)} == {"standard"}
    assert {one.metric for one in cells.space.maps(8)} > {"none", "diagonal"}
    quick = solver_of(CellClassifier(search="quick")).space.maps(8)
    assert not any(one.is_full or one.has_quantiles for one in quick)
    given = {"kernel": "rbf", "gamma": "median", "scale": "none", "metric": None}
    assert solver_of(CellClassifier(**given)).space.is_open(8)
    assert not solver_of(CellClassifier(C=3.0, **given)).space.is_open(8)
    assert not solver_of(CellClassifier(search=None)).space.is_open(8)


def test_the_search_is_made_once_for_a_plan_and_its_run(tmp_path, monkeypatch):
    X, y = noisy_columns(600)
    data = write_dataset([(X, y)], tmp_path / "d.zarr", scale="none")
    calls, exact = [], Arena.exact

    def counted(self, *given, **named):
        calls.append(exact(self, *given, **named))
        return calls[-1]

    monkeypatch.setattr(Arena, "exact", counted)
    model = CellClassifier(search="quick", random_state=0)
    train(model, data.train, scheduler="synchronous")
    # the run uses the search of its plan
    assert len(calls) == 1
    planned = plan(model, data.train)
    assert planned.driver_bytes >= model.recipe().choosing_bytes(model.recipe().data_of(data.train))[0]
    assert model.history_[-1]["search_score"] == calls[0].score
    # with a metric, the width refers to distances in its coordinates
    mapping = model.places_.map
    assert calls[0].kernel.over(mapping).gamma == pytest.approx(model.gamma_)
    calls.clear()
    model.set_params(C=2.0).fit(data.train)
    assert len(calls) == 1
    assert model.cost_ == pytest.approx(2.0)


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
def test_more_rows_than_the_sample_are_tried_on_whole_cells(tmp_path, monkeypatch):
    """Waves too fine for a sample of the rows."""
    generator = np.random.default_rng(0)
    X = generator.random((40000, 2)).astype(np.float32)
    y = (np.sin(90 * X[:, 0]) * np.sin(90 * X[:, 1]) > 0).astype(int)
    data = write_dataset([(X, y)], tmp_path / "d.zarr", scale="none", test_fraction=0.25)
    model = CellClassifier(search="quick", max_cell_rows=1000, random_state=0)
    names = [step.name for step in plan(model, data.train, test=data.test).passes if step.name != "metric"]
    solved = ["sample", "count", "move", "solve", "calibrate", "calibrate rarest", "held-out"]
    assert names == ["choosing", *solved]
    train(model, data.train, test=data.test, out=tmp_path / "m", scheduler="threads", workers=2)
    again = CellClassifier(search="quick", max_cell_rows=1000, random_state=0).fit(data.train)
    np.testing.assert_array_equal(model.machines_, again.machines_)
    monkeypatch.setattr(Arena, "_around", lambda *_: [])
    thin = CellClassifier(search="quick", max_cell_rows=1000, random_state=0).fit(data.train)
    assert 1 - model.history_[-1]["test_error"] > thin.score(data.test) + 0.002
    assert model.history_[-1]["search_score"] < 0.5 * thin.history_[-1]["search_score"]


def sines(n_rows=600):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(n_rows, 4)).astype(np.float32)
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1]


@pytest.mark.slow
def test_the_choice_and_what_it_gained_are_said():
    X, f = sines()
    model = CellClassifier(
        search="quick", scale="ranks", metric="diagonal", C=3.0, kernel="rbf", random_state=0
    )
    last = model.fit(X, f > 0).history_[-1]
    width = 1.0 / np.sqrt(model.gamma_) / model.places_.map.width
    assert last["notes"][:2] == [
        f"chosen: ranks, diagonal metric, exp(-g|x-y|^2), width {width:.3g} medians, C 3",
        f"log loss of the search on held-out rows: {last['search_score']:.3g}",
    ]
    real = CellRegressor(search="quick", metric=None, gamma="median", random_state=0).fit(X, f).history_[-1]
    assert "no metric" in real["notes"][0]
    assert "width 1.41 medians" in real["notes"][0]
    assert real["notes"][1].startswith("squared error of the search on held-out rows: ")
    assert real["notes"][1].endswith(" % of the variance")
    assert max(map(len, real["notes"] + last["notes"])) <= 80
    alone = CellClassifier(search=None, random_state=0).fit(X, f > 0)
    solved, told = alone.history_[-1]["notes"]
    assert solved == f"1 cell, with {alone.n_support_} support vectors"
    assert told.startswith("held-out log loss: 0.")
    assert "notes" not in alone.history_[0]
    several = CellClassifier(search=None, max_cell_rows=100, random_state=0).fit(X, f > 0)
    mean = several.n_support_ / several.n_cells_
    solved, told = several.history_[-1]["notes"]
    assert solved == f"{several.n_cells_} cells, with {mean:.0f} support vectors on average"
    assert told.startswith("held-out log loss: 0.")


def test_without_a_metric_no_column_has_a_weight_in_it():
    X, f = sines(200)
    fit = partial(CellRegressor, search=None, scale="standard", random_state=0)
    assert not hasattr(fit(metric=None).fit(X, f), "metric_importances_")
    found = fit(metric="diagonal").fit(X, f).metric_importances_
    assert found.shape == (4,)
    assert found.sum() == pytest.approx(1.0)
    assert not hasattr(fit(), "metric_importances_")


def test_weights_in_a_metric_do_not_depend_on_the_unit_of_a_column():
    X, f = sines(300)
    fit = partial(CellRegressor, search=None, metric="full", scale="standard", random_state=0)
    one, other = (fit().fit(X * np.float32(units), f).metric_importances_ for units in (1, [1, 8, 1, 1024]))
    # the order of rows depends on their values in the given units
    np.testing.assert_allclose(one, other, rtol=1e-2, atol=1e-4)
    assert one[:2].min() > 3 * one[2:].max()
