"""Hyperparameters that choose themselves: what is chosen, kept, and the same everywhere."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from distkern import (
    AVMClassifier,
    CSVRGClassifier,
    NewtonClassifier,
    NewtonRegressor,
    load_model,
    open_dataset,
)
from distkern.engine.executors import open_executor
from distkern.estimators import tuning
from distkern.estimators.trial import Sample
from distkern.runs.run import train
from distkern.solvers.hyperparameters import SEARCHED_LAM, SEARCHED_NU
from distkern.storage.ingest import write_dataset

SMALL = {"n_landmarks": 40, "random_state": 0}


def rows(n_rows: int = 1000):
    """Classes in a pattern of squares, which a wide kernel or a light loss cannot follow."""
    generator = np.random.default_rng(0)
    X = generator.random((n_rows, 2)).astype(np.float32)
    return X, (np.floor(3 * X).sum(axis=1) % 2).astype(int)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_dataset(
        [rows()], tmp_path_factory.mktemp("data") / "d.zarr", scale="none", rows_per_shard=200
    )


@pytest.mark.parametrize(
    ("kind", "gain"), [(CSVRGClassifier, 0.01), (AVMClassifier, 0.02), (NewtonClassifier, 0.001)]
)
def test_what_is_chosen_is_better_than_what_was_the_default(kind, gain):
    X, y = rows()
    model = kind(**SMALL).fit(X, y)
    regulariser = "nu" if kind is NewtonClassifier else "lam"
    assert set(model.found_) == {regulariser, "gamma"}
    usual = {name: one.otherwise for name, one in kind.searched.items()}
    assert model.found_ != usual
    before = kind(**SMALL, **usual).fit(X, y)
    test = rows(3000)
    assert model.score(*test) > before.score(*test) + gain
    [note] = model.history_[-1]["notes"]
    assert note.startswith(
        f"chosen: {regulariser} {model.found_[regulariser]:g}, gamma {model.found_['gamma']} (of "
    )
    # and it is what the same values give that are given
    given = kind(**SMALL, **model.found_).fit(X, y)
    assert given.found_ == {}
    np.testing.assert_array_equal(given.decision_function(X), model.decision_function(X))


def test_a_given_value_stands():
    X, y = rows()
    model = CSVRGClassifier(**SMALL, lam=3.0).fit(X, y)
    assert (model.value("lam"), set(model.found_)) == (3.0, {"gamma"})
    assert set(NewtonClassifier(**SMALL, gamma=7.0).fit(X, y).found_) == {"nu"}


def test_what_has_no_effect_is_not_searched():
    X, y = rows()
    assert set(NewtonClassifier(features="linear", random_state=0).fit(X, y).found_) == {"nu"}
    assert set(NewtonClassifier(**SMALL, kernel="chi2").fit(X, y).found_) == {"nu"}


def test_few_rows_get_the_usual_values():
    X, y = rows(300)
    model = CSVRGClassifier(**SMALL).fit(X, y)
    assert model.found_ == {}
    assert "notes" not in model.history_[-1]
    np.testing.assert_array_equal(
        model.coef_, CSVRGClassifier(**SMALL, lam=1024.0, gamma="scale").fit(X, y).coef_
    )


def test_the_usual_values_stay_unless_others_are_better(monkeypatch):
    X, y = rows()
    monkeypatch.setattr(Sample, "scores", lambda self, models: [0.25] * len(models))
    assert CSVRGClassifier(**SMALL).fit(X, y).found_ == {"lam": 1024.0, "gamma": "scale"}


def test_a_weight_of_all_losses_goes_with_the_number_of_rows():
    assert [SEARCHED_LAM.at(10.0, n_rows) for n_rows in (1000, 10**6)] == [1e4, 1e7]
    assert [SEARCHED_NU.at(1e-2, n_rows) for n_rows in (1000, 10**6, 10**9)] == [1e-5, 1e-8, 1e-9]


def test_real_targets_in_any_unit():
    X, _ = rows()
    y = np.sin(9 * X[:, 0]) * X[:, 1]
    found = [
        NewtonRegressor(**SMALL).fit(X, unit * y + shift).found_ for unit, shift in ((1.0, 0.0), (1e5, 3e6))
    ]
    assert found[0] == found[1]
    assert found[0].keys() == {"nu", "gamma"}


def test_the_same_everywhere_and_searched_once_a_run(data, tmp_path: Path, monkeypatch):
    calls = []
    search = tuning.searched
    monkeypatch.setattr(tuning, "searched", lambda *given: calls.append(1) or search(*given))
    models = []
    for scheduler in ("synchronous", "threads"):
        with open_executor(scheduler, workers=2) as executor:
            models.append(CSVRGClassifier(**SMALL).fit_with(data.train, executor=executor))
    calls.clear()
    models.append(
        train(CSVRGClassifier(**SMALL), data.train, scheduler="threads", workers=2, out=tmp_path / "m")
    )
    assert len(calls) == 1
    for model in models[1:]:
        assert model.found_ == models[0].found_
        np.testing.assert_array_equal(model.coef_, models[0].coef_)


def test_a_saved_model_knows_what_was_chosen(data, tmp_path: Path):
    model = AVMClassifier(**SMALL).fit(data.train)
    model.save(tmp_path / "m")
    assert json.loads((tmp_path / "m" / "model.json").read_text())["found"] == model.found_
    loaded = load_model(tmp_path / "m")
    assert (loaded.lam, loaded.value("lam")) == ("auto", model.found_["lam"])
    assert loaded.objective_value(3.0, 100) == model.objective_value(3.0, 100)
    assert open_dataset(data.path).train.n_rows == 1000
