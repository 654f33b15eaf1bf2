"""Machines in cells over another model: what they learn, beside a reference; what is saved and refused."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone

from distkern import (
    CellClassifier,
    CellRegressor,
    KernelClassifier,
    NewtonClassifier,
    NewtonRegressor,
    PegasosClassifier,
)
from distkern.cli.main import main
from distkern.common.errors import CorruptDataError, InputError
from distkern.features.kernel_choice import KernelChoice
from distkern.kernels import find_kernel, kernel_matrix
from distkern.losses import find_loss
from distkern.runs.persistence import load_model
from distkern.runs.run import plan, train
from distkern.solvers._cells.dual import solve_dual
from distkern.solvers._cells.machine import CellSettings, solve_cell
from distkern.storage.ingest import write_dataset

Classifier, Regressor = partial(CellClassifier, search=None), partial(CellRegressor, search=None)


def rows(n_rows, seed=0):
    """A plane with waves on it."""
    X = np.random.default_rng(seed).normal(size=(n_rows, 3)).astype(np.float32)
    return X, 2 * X[:, 1] + X[:, 2] + np.sin(4 * X[:, 0])


def plane(kind, X, y, **given):
    return kind(n_landmarks=5, gamma=0.01, random_state=0, **given).fit(X, y)


def test_cells_learn_the_residuals_of_a_regressor():
    X, f = rows(150)
    y, weights = 100 + 7 * f, np.random.default_rng(1).uniform(0.5, 2, 150)
    base = plane(NewtonRegressor, X, y)
    model = Regressor(base=base, kernel="rbf", gamma=0.5, C=3.0, random_state=0).fit(X, y, weights)
    b, scale = base.predict(X), model.target_scale_
    costs = 3.0 * weights
    left = (y - b) / scale
    center = weights @ left / weights.sum()
    K = kernel_matrix(X.astype(np.float64), kernel="rbf", gamma=0.5)
    coefficients = np.linalg.solve(K + np.diag(1 / costs), left - center)
    np.testing.assert_allclose(model.predict(X), b + scale * (center + K @ coefficients), atol=2e-4 * scale)
    assert model.history_[0]["train_rmse"] == pytest.approx(
        np.sqrt(np.average((y - b) ** 2, weights=weights))
    )
    assert model.score(X, y) > base.score(X, y) + 0.05


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "odm"])
def test_decision_values_are_an_offset_in_the_loss_of_a_classifier(loss):
    X, f = rows(120)
    y = (f > 0).astype(int)
    base = plane(NewtonClassifier, X, y)
    given = {"kernel": "rbf", "gamma": 0.5, "C": 3.0, "random_state": 0}
    model = Classifier(base=base, loss=loss, **given).fit(X, y)
    b, signs = base.decision_function(X), 2.0 * y - 1.0
    K = kernel_matrix(X.astype(np.float64), kernel="rbf", gamma=0.5)
    function, costs = find_loss(loss)(), np.full(120, 3.0)

    def objective(g):
        return 0.5 * g @ np.linalg.solve(K + 1e-10 * np.eye(120), g) + costs @ function.value(
            b + g, signs, function.parameters
        )

    g = model.decision_function(X) - b
    # no other machine is better: not one whose offsets are left out, nor any nearby
    exact = solve_dual(K, signs, costs, function, seed=0, tolerance=1e-7, offsets=b)
    assert exact.gap < 1e-4 * exact.primal
    assert exact.primal == pytest.approx(objective(exact.values), rel=1e-3)
    assert objective(g) < 1.02 * exact.primal
    generator = np.random.default_rng(0)
    for size in (1e-3, 1e-1):
        for _ in range(20):
            assert objective(exact.values + size * K @ generator.normal(size=120)) > exact.primal * (1 - 1e-6)
    ignorant = solve_dual(K, signs, costs, function, seed=0, tolerance=1e-7)
    assert objective(ignorant.values) > 1.1 * exact.primal


def test_the_constant_of_a_cell_of_one_class_is_the_least_that_will_do():
    settings = CellSettings(None, find_loss("hinge")(), 1.0)
    targets, below = (
        np.array([[1.0, -1.0]] * 4),
        np.array([[2.0, 0.5], [-3.0, -4.0], [0.5, -2.0], [1.0, -1.0]]),
    )
    found = solve_cell(settings, np.arange(8.0).reshape(4, 2), targets, None, 0, below)
    assert found.constants.tolist() == [4.0, -1.5]
    assert (targets * (below + found.constants)).min(axis=0).tolist() == [1.0, 1.0]
    # where all rows have their margin nothing is added
    assert (
        solve_cell(
            settings, np.arange(2.0)[:, None], targets[:2, :1], None, 0, np.full((2, 1), 1.5)
        ).constants
        == 0
    )


def test_rows_that_are_equal_in_the_cell_and_not_below_are_not_merged():
    kernel = KernelChoice(find_kernel("rbf"), 1.0, {}).with_gamma(1.0)
    settings = CellSettings(kernel, find_loss("square")(), 1.0)
    targets, below = np.array([[3.0], [3.0]]), np.array([[1.0], [2.0]])
    assert solve_cell(settings, np.zeros((2, 1)), targets, None, 0, below).constants == 1.5


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    X, f = rows(1200)
    y = np.digitize(f, (-1.0, 1.0))
    folder = tmp_path_factory.mktemp("below")
    data = write_dataset(
        [(X, y)], folder / "d.zarr", scale="standard", test_fraction=0.25, rows_per_shard=100
    )
    base = NewtonClassifier(n_landmarks=5, gamma=0.01, random_state=0)
    train(base, data.train, out=folder / "base", scheduler="synchronous")
    model = Classifier(max_cell_rows=120, base=str(folder / "base"), random_state=0)
    train(model, data.train, test=data.test, out=folder / "m", scheduler="threads", workers=2)
    return data, base, model, folder


def test_a_model_over_another_is_its_folder(stored, tmp_path):
    data, base, model, folder = stored
    assert model.score(data.test) > base.score(data.test) + 0.03
    assert 1 - model.history_[0]["test_error"] == pytest.approx(base.score(data.test))
    assert 1 - model.history_[-1]["test_error"] == pytest.approx(model.score(data.test))
    (folder / "m").rename(tmp_path / "moved")
    (tmp_path / "moved").rename(folder / "m")
    decisions = np.asarray(model.decision_function(data.test))
    loaded = load_model(folder / "m")
    loaded.save(tmp_path / "copy")
    for other in (loaded, load_model(tmp_path / "copy"), pickle.loads(pickle.dumps(loaded))):
        np.testing.assert_array_equal(decisions, np.asarray(other.decision_function(data.test)))
    again = clone(loaded).fit(data.train)
    np.testing.assert_array_equal(again.machines_, model.machines_)


@pytest.mark.slow
def test_the_same_bits_over_a_model_in_memory_and_in_processes(stored, tmp_path):
    data, base, model, _ = stored
    again = Classifier(max_cell_rows=120, base=base, random_state=0)
    train(again, data.train, test=data.test, out=tmp_path / "m", scheduler="processes", workers=2)
    np.testing.assert_array_equal(model.machines_, again.machines_)
    assert load_model(tmp_path / "m").base_.coef_.tolist() == base.coef_.tolist()


def test_another_model_below_is_another_run(stored, tmp_path):
    data, _, model, _ = stored
    model.save(tmp_path / "m")
    other = NewtonClassifier(n_landmarks=4, gamma=0.01, random_state=0).fit(data.train)
    with pytest.raises(InputError, match=r"finished model of another job \(base differs"):
        train(
            Classifier(max_cell_rows=120, base=other, random_state=0),
            data.train,
            test=data.test,
            out=tmp_path / "m",
            resume=True,
            scheduler="synchronous",
        )
    other.save(tmp_path / "m" / "base")
    with pytest.raises(CorruptDataError, match="not the model under these cells"):
        load_model(tmp_path / "m")


def test_the_search_and_the_plan_know_the_model_below(stored):
    data, base, _, _ = stored
    given = {"kernel": "rbf", "scale": "none", "metric": "diagonal", "max_cell_rows": 120}
    model = CellClassifier(search="quick", base=base, random_state=0, **given).fit(data.train)
    assert model.score(data.test) > base.score(data.test) + 0.03
    plans = [
        {
            one.name: one
            for one in plan(Classifier(base=below), data.train, workers=2, scheduler="local").passes
        }
        for below in (None, base)
    ]
    for name in ("sample", "move"):
        assert plans[1][name].worker_bytes > plans[0][name].worker_bytes


def test_models_that_do_not_go_below_are_refused(stored, tmp_path, capsys):
    data, base, _, folder = stored
    X, f = rows(90)
    y = np.digitize(f, (-1.0, 1.0))
    cases = {
        "is not a model": "nowhere",
        "does no classification": plane(NewtonRegressor, X, f),
        "not fitted": NewtonClassifier(),
        "of 2 features, and the rows have 3": plane(NewtonClassifier, X[:, :2], y),
        "its classes are": plane(NewtonClassifier, X, y > 0),
        "scaled in another way": base,
    }
    for message, below in cases.items():
        with pytest.raises(InputError, match=f"base: .*{message}"):
            Classifier(base=below).fit(X, y)
    arguments = ["--algorithm", "cells", "--set", "base=nowhere", "--out", str(tmp_path / "m")]
    assert main(["train", "--data", str(data.path), *arguments]) == 2
    assert "'base': 'nowhere' is not a model" in capsys.readouterr().err
    arguments[3:4] = [f"base={folder / 'base'}", "--set", "search=none", "--scheduler", "synchronous"]
    assert main(["train", "--data", str(data.path), *arguments]) == 0
    assert load_model(tmp_path / "m").base_.n_landmarks == 5
    assert main(["inspect", str(tmp_path / "m")]) == 0


def test_a_model_of_one_output_for_two_classes_that_compete():
    X, f = rows(200)
    y = (f > 0).astype(int)
    below = plane(NewtonClassifier, X, y, loss="softmax")
    assert below.coef_.shape[1] == 2
    model = Classifier(base=below, random_state=0).fit(X, y)
    assert model.score(X, y) > below.score(X, y)
    sparse = PegasosClassifier(random_state=0).fit(X, y)
    assert Classifier(base=sparse, random_state=0).fit(X, y).score(X, y) > 0.95


@pytest.mark.parametrize("kind", [Classifier, KernelClassifier])
def test_cells_over_cells(kind, tmp_path):
    X, f = rows(300)
    y = (f > 0).astype(int)
    below = kind(search=None, random_state=0).fit(X, y)
    model = Classifier(base=below, C=100.0, random_state=0).fit(X, y)
    model.save(tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert loaded.base_.n_iter_ == 2
