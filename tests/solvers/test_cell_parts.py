"""One cell: its kernel matrix, its machine, and rows that cells share."""

import numpy as np
import pytest

from distkern import CellRegressor, load_model
from distkern.maths.kernels import TILE_KERNELS, find_kernel
from distkern.maths.losses import find_loss
from distkern.solvers._cells import machine as machines
from distkern.solvers._cells.machine import CellSettings, merged, solve_cell


def rows_of(n, d, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


@pytest.mark.parametrize("name", TILE_KERNELS)
def test_kernel_matrix_is_that_of_the_closed_form(name, monkeypatch):
    monkeypatch.setattr(machines, "_STRIP", 32)
    kernel = find_kernel(name)()
    x = np.random.default_rng(0).uniform(0.1, 1, (70, 3))
    found = machines.kernel_matrix(kernel, x.astype(np.float32), np.float32)
    np.testing.assert_array_equal(found[:32, 32:], found[32:, :32].T)
    np.testing.assert_allclose(found, found.T, atol=1e-5)
    np.testing.assert_allclose(found, kernel.closed_form(x, x), rtol=2e-3, atol=2e-3)


def test_outputs_share_a_cell_and_constant_ones_are_constants():
    x = rows_of(200, 3)
    codes = (x[:, 0] > 0).astype(int) + (x[:, 1] > 1)
    targets = np.where(codes[:, None] == np.arange(4), 1.0, -1.0)
    settings = CellSettings(find_kernel("matern")(smoothness=0.5, gamma=0.5), find_loss("hinge")(), 10.0)
    cell = solve_cell(settings, x, targets, None, seed=0)
    assert cell.converged
    np.testing.assert_array_equal(cell.constants, [0, 0, 0, -1])
    assert not cell.coefficients[:, 3].any()
    values = cell.predict(settings, x)
    assert (values.argmax(axis=1) == codes).mean() > 0.98
    for output in range(3):
        alone = solve_cell(settings, x, targets[:, output : output + 1], None, seed=0)
        np.testing.assert_allclose(alone.predict(settings, x)[:, 0], values[:, output], atol=0.05)
    everyone = solve_cell(settings, x[:5], np.ones((5, 1)), None, seed=0)
    np.testing.assert_array_equal(everyone.predict(settings, x), np.ones((200, 1)))
    assert not len(everyone.rows)


@pytest.mark.parametrize("loss", ["square", "epsilon_insensitive"])
def test_real_targets_are_fitted_around_their_middle(loss):
    x = rows_of(300, 2)
    targets = (1000 + np.sin(2 * x[:, :1])).astype(np.float64)
    settings = CellSettings(find_kernel("rbf")(gamma=0.5), find_loss(loss)(), 100.0)
    cell = solve_cell(settings, x, targets, np.full(300, 2.0), seed=0)
    # the mean minimises squares, the median absolute errors
    middle = targets.mean() if loss == "square" else np.sort(targets[:, 0])[149]
    assert cell.constants == pytest.approx(middle, abs=1e-6)
    assert np.abs(cell.predict(settings, x) - targets).max() < 0.25
    far = cell.predict(settings, np.full((1, 2), 50, np.float32))
    assert far == pytest.approx(middle, abs=1e-6)


def test_a_cell_of_equal_rows_is_two_rows():
    x = np.ones((5000, 3), np.float32)
    targets = np.where(np.arange(5000) % 5 == 0, -1.0, 1.0)[:, None]
    rows, signs, weights, places = merged(x, targets, np.ones(5000))
    assert len(rows) == 2
    np.testing.assert_array_equal(signs[:, 0], [-1, 1])
    np.testing.assert_array_equal(weights, [1000, 4000])
    np.testing.assert_array_equal(places, [0, 0])
    settings = CellSettings(find_kernel("rbf")(gamma=0.5), find_loss("hinge")(), 3.0)
    cell = solve_cell(settings, x, targets, None, seed=0)
    assert cell.predict(settings, x[:1]) == pytest.approx(1.0, abs=0.05)


# rows in several cells


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_several_cells_are_kept_once(dtype):
    rows = rows_of(400, 3, dtype=dtype)
    rows[7] = -0.0
    parts = [rows[start:stop] for start, stop in ((0, 200), (100, 300), (250, 250), (150, 400))]
    shared, places = machines.shared_rows(parts)
    assert shared.tobytes() == rows.tobytes()
    assert shared[places].tobytes() == np.concatenate(parts).tobytes()


def test_neighbouring_cells_share_their_support(tmp_path):
    X = rows_of(4000, 2)
    y = X[:, 0] * X[:, 1]
    settings = {"search": None, "loss": "square", "gamma": 1.0, "C": 10.0, "max_cell_rows": 256}
    model = CellRegressor(**settings, random_state=0).fit(X, y)
    parts = [model.parts_.load(number) for number in range(len(model.machines_))]
    assert model.n_support_ == sum(len(part["places"]) for part in parts) > 4800
    for part in parts:
        assert len(part["places"]) == len(part["coefficients"]) == part["ends"][-1]
        assert len(part["support"]) == len(np.unique(part["support"], axis=0)) == part["places"].max() + 1
    assert sum(len(part["support"]) for part in parts) < model.n_support_
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load_model(tmp_path / "m").predict(X), model.predict(X))
