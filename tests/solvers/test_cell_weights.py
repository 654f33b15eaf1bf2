"""C and weights in cells: C sum_i s_i l_i is solved as given."""

import dask.array as da
import numpy as np
import pytest

from cell_problems import Classifier, Regressor, rows
from distkern.core.errors import InputError
from distkern.data.ingest import shard
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.solvers._cells import machine as machines

GIVEN = {"kernel": "rbf", "gamma": 0.5, "tol": 1e-4, "random_state": 0}


def kernel_of(left, right):
    left, right = left.astype(np.float64), right.astype(np.float64)
    return np.exp(-0.5 * np.square(left[:, None] - right[None]).sum(axis=2))


def values_of(model, probe):
    return getattr(model, "decision_function", model.predict)(probe)


def stored(folder, X, y, weights):
    table = np.column_stack([X, y, weights])
    np.savetxt(folder / "rows.csv", table, "%.9g", ",", header="a,b,c,y,often", comments="")
    return shard(folder / "rows.csv", folder / "rows.zarr", target="y", weight="often", scale="none")


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    ("loss", "kind"), [("hinge", "arrays"), ("squared_hinge", "dask"), ("squared_hinge", "stored")]
)
def test_weights_are_rows_and_multiply_C(tmp_path, kind, loss):
    # too many rows for merging equal ones before the fit
    X, y = rows(1030)
    often = np.random.default_rng(1).integers(1, 4, len(X))
    probe = rows(200, seed=5)[0]

    def fitted(C, weights):
        model = Classifier(C=C, loss=loss, **GIVEN)
        if kind == "stored":
            folder = tmp_path / f"{weights.sum()}"
            folder.mkdir()
            return model.fit(stored(folder, X, y, weights))
        if kind == "arrays":
            return model.fit(X, y, sample_weight=weights)
        return model.fit(*(da.from_array(each, chunks=len(each)) for each in (X, y, weights)))

    weighted, doubled = fitted(0.5, often), fitted(0.5, np.full(len(X), 2))
    assert weighted.cost_ == 0.5
    repeated = Classifier(C=0.5, loss=loss, **GIVEN).fit(X.repeat(often, axis=0), y.repeat(often))
    np.testing.assert_allclose(values_of(weighted, probe), values_of(repeated, probe), atol=1e-3)
    twice = Classifier(C=1.0, loss=loss, **GIVEN).fit(X, y)
    np.testing.assert_allclose(values_of(doubled, probe), values_of(twice, probe), atol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_weights_of_classes_multiply_C(loss):
    X, y = rows(300)
    heavy = Classifier(C=0.1, loss=loss, class_weight={0: 10, 1: 10}, **GIVEN).fit(X, y)
    plain = Classifier(C=1.0, loss=loss, **GIVEN).fit(X, y)
    np.testing.assert_allclose(heavy.decision_function(X), plain.decision_function(X), atol=1e-3)
    assert heavy.history_[-1]["objective"] == pytest.approx(plain.history_[-1]["objective"], rel=1e-3)


@pytest.mark.parametrize("loss", ["square", "epsilon_insensitive"])
def test_weights_of_real_targets_are_rows(loss):
    X, _ = rows(250)
    y = np.sin(X[:, 0]) + X[:, 1]
    often = np.random.default_rng(1).integers(1, 4, len(X))
    weighted = Regressor(C=0.5, loss=loss, **GIVEN).fit(X, y, sample_weight=often)
    repeated = Regressor(C=0.5, loss=loss, **GIVEN).fit(X.repeat(often, axis=0), y.repeat(often))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-3)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_one_row_more_than_are_merged_changes_nothing(loss):
    X, y = (np.repeat(each[:205], 5, axis=0) for each in rows(205))
    probe = rows(200, seed=5)[0]
    few, more = (Classifier(C=0.5, loss=loss, **GIVEN).fit(X[:n], y[:n]) for n in (1024, 1025))
    apart = np.abs(few.decision_function(probe) - more.decision_function(probe))
    # a row occurs four or five times
    assert apart.max() < 0.05


@pytest.mark.parametrize("cost", [1e4, 1e6, 1e9])
def test_the_square_loss_is_solved_with_the_C_that_is_asked_for(cost):
    """With noiseless targets, exact kernel ridge regression improves with C."""
    X = np.random.default_rng(0).uniform(-2, 2, (300, 3)).astype(np.float32)
    probe = np.random.default_rng(1).uniform(-2, 2, (300, 3)).astype(np.float32)
    y = np.sin(X[:, 0].astype(np.float64)) * np.cos(X[:, 1]) + np.square(X[:, 2]) / 3
    model = Regressor(C=cost, **GIVEN).fit(X, y)
    targets = (y - y.mean()) / y.std()
    kernel = kernel_of(X, X)
    exact = np.linalg.solve(kernel + np.eye(300) / cost, targets)
    expected = y.mean() + y.std() * (kernel_of(probe, X) @ exact)
    np.testing.assert_allclose(model.predict(probe), expected, atol=2e-5 if cost > 1e4 else 5e-4)
    objective = (exact @ kernel @ exact / cost + np.square(exact / cost).sum()) / 600
    assert model.history_[-1]["objective"] == pytest.approx(objective, rel=1e-3)


def test_weights_of_any_size_count():
    """A weight of 1e6 instead of 1e4 divides the residual of a row by a hundred."""
    X = np.zeros((2, 1), np.float32)
    X[1] = 1.0
    kernel = find_kernel("rbf")(gamma=0.5)
    left = []
    for weight in (1e4, 1e6):
        settings = machines.CellSettings(kernel, find_loss("square")(), 1.0)
        targets = np.array([[1.0], [-2.0]])
        solved = machines.solve_cell(settings, X, targets, np.array([weight, 1.0]), seed=0)
        left.append(abs(1.0 - solved.predict(settings, X)[0, 0]))
    assert left[1] < 0.02 * left[0]


@pytest.mark.parametrize("equal", [1, 3])
def test_other_losses_are_solved_with_the_C_that_is_asked_for(equal):
    """Kernel values of 1e-5 need coefficients of 1e5, which copies of a row share."""
    X = np.repeat(np.array([[-0.01], [0.01]], np.float32), equal, axis=0)
    kernel = find_kernel("polynomial")(gamma=0.1, degree=1, offset=0.0)
    settings = machines.CellSettings(kernel, find_loss("hinge")(), 1e6)
    solved = machines.solve_cell(settings, X, np.sign(X).astype(np.float64), None, seed=0)
    np.testing.assert_allclose(solved.predict(settings, X), np.sign(X), atol=0.05)


def test_rows_that_contradict_each_other_are_solved_whatever_they_cost():
    X = np.zeros((2, 1), np.float32)
    settings = machines.CellSettings(find_kernel("rbf")(gamma=1.0), find_loss("hinge")(), 10.0)
    weights = np.array([9e7, 6e7])
    solved = machines.solve_cell(settings, X, np.array([[1.0], [-1.0]]), weights, seed=0)
    assert solved.converged
    assert solved.predict(settings, X[:1])[0, 0] == pytest.approx(1.0, abs=0.05)


def test_what_cannot_be_solved_is_refused():
    X, y = rows(50)
    with pytest.raises(InputError, match=r"C.*1e\+10"):
        Classifier(C=2e10).fit(X, y)
    weights = np.ones(50)
    weights[3] = 1e9
    with pytest.raises(InputError, match="C times the weight of a row is 1e\\+11, and 1e\\+10 at most"):
        Regressor(C=100.0).fit(X, y, sample_weight=weights)


def test_large_coefficients_are_predicted_in_double_precision_in_strips(monkeypatch):
    monkeypatch.setattr(machines, "_STRIP_NUMBERS", 60)
    X, probe = rows(90)[0], rows(70, seed=1)[0]
    coefficients = np.random.default_rng(2).normal(size=(90, 2)) * 1e6
    settings = machines.CellSettings(find_kernel("rbf")(gamma=0.5), find_loss("square")(), 1.0)
    found = machines.predict_cell(settings, X, coefficients, np.ones(2), probe)
    np.testing.assert_allclose(found, 1.0 + kernel_of(probe, X) @ coefficients, atol=1e-6)
