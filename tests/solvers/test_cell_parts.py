"""The parts of machines in cells: columns' transforms, the metric, the partition, one cell."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from distkern import CellRegressor, load_model
from distkern.core.blas import single_threaded
from distkern.core.ridge import TILE, SymmetricTiles, solve_ridge, solve_ridge_iteratively, tiled_numbers
from distkern.maths.kernels import TILE_KERNELS, find_kernel, kernel_matrix
from distkern.maths.losses import find_loss
from distkern.maths.maps import metric as metrics
from distkern.maths.maps.metric import gradient_sum, learn_metric, metric_of, root
from distkern.maths.maps.transform import TRANSFORMS, Transform
from distkern.solvers._cells import machine as machines
from distkern.solvers._cells.machine import CellSettings, merged, solve_cell


@pytest.fixture(autouse=True)
def _one_thread():
    with single_threaded():
        yield


def rows_of(n, d, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


# transforms


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_transformed_columns_are_centred_and_constant_ones_vanish(kind):
    x = np.exp(rows_of(4000, 3)) * [1.0, 100.0, 1e-3]
    x[:, 2] = 5.1
    found = Transform.fit(kind, x)
    z = found.apply(x, np.float64)
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=1e-6)
    assert not z[:, 2].any()
    if kind == "none":
        # one factor for all columns: their proportions stay
        np.testing.assert_allclose(z[:, 1].std() / z[:, 0].std(), x[:, 1].std() / x[:, 0].std())
    else:
        np.testing.assert_allclose(z[:, :2].std(axis=0), 1, atol=1e-6)
    # a constant column of the sample does not count in distances even if later rows differ
    later = x[:5] + np.array([0, 0, 1])
    np.testing.assert_array_equal(found.apply(later, np.float64)[:, 2], 0)


def test_ranks_and_normal_quantiles_are_those_of_the_distribution():
    x = np.exp(rows_of(20000, 1))
    z = Transform.fit("normal", x).apply(x[:1000], np.float64)[:, 0]
    exact = np.log(x[:1000, 0])
    middle = np.abs(exact) < 2.5
    np.testing.assert_allclose(z[middle], exact[middle], atol=0.15)
    assert np.abs(z - exact).mean() < 0.02
    ranks = Transform.fit("ranks", x)
    z = ranks.apply(np.array([[0.0], [1.0], [1e9]]), np.float64)[:, 0]
    np.testing.assert_allclose(z, np.sqrt(12) * np.array([-0.5, 0.0, 0.5]), atol=0.03)
    # equal values get the middle of their ranks
    x = np.repeat([0.0, 1.0], [600, 400])[:, None]
    z = Transform.fit("ranks", x)
    raw = z.apply(x, np.float64)[:, 0] / z.factor[0] + z.shift[0]
    np.testing.assert_allclose([raw[0], raw[-1]], [0.3, 0.8], atol=0.01)


# the metric


def test_gradients_are_those_of_the_machine():
    x, t = rows_of(40, 3, dtype=np.float64), rows_of(40, 2, seed=1, dtype=np.float64)
    metric = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 0.5]])
    found = gradient_sum(x, t, metric, 0.1)
    left = (x - x.mean(axis=0)) @ np.linalg.cholesky(metric)
    width = np.median(np.linalg.norm(left[:20] - left[20:], axis=1))
    kernel = kernel_matrix(left, kernel="matern", smoothness=0.5, gamma=1 / width)
    a = np.linalg.solve(kernel + 0.1 * np.eye(40), t)
    expected, step = np.zeros((3, 3)), 1e-6
    for i in range(40):
        others = np.arange(40) != i

        def f(point, others=others):
            z = (point - x.mean(axis=0))[None] @ np.linalg.cholesky(metric)
            values = kernel_matrix(z, left[others], kernel="matern", smoothness=0.5, gamma=1 / width)
            return values[0] @ a[others]

        slopes = np.array([(f(x[i] + step * e) - f(x[i] - step * e)) / (2 * step) for e in np.eye(3)])
        expected += slopes @ slopes.T
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_metric_finds_the_columns_that_matter(shift):
    x = rows_of(600, 5, dtype=np.float64) + shift
    targets = np.sin(2 * (x[:, :1] - shift)) + 0.5 * (x[:, 1:2] - shift)
    diagonal = learn_metric(x, targets, "diagonal", rounds=2)
    assert diagonal.shape == (5,)
    assert diagonal.max() == 1
    assert diagonal[0] > diagonal[1] > 10 * diagonal[2:].max()
    full = learn_metric(x, targets, "full", rounds=1)
    assert np.trace(full) == pytest.approx(5)
    np.testing.assert_allclose(root(full) @ root(full).T, full, atol=1e-9)


def test_no_gradient_leaves_the_identity():
    np.testing.assert_array_equal(metric_of(np.zeros((3, 3)), "full"), np.ones(3))
    equal = np.ones((20, 2))
    np.testing.assert_array_equal(learn_metric(equal, np.ones((20, 1)), "diagonal"), np.ones(2))


@pytest.mark.parametrize("is_diagonal", [False, True])
def test_gradients_of_a_metric_are_those_of_the_formula(is_diagonal):
    generator = np.random.default_rng(0)
    n, d = 600, 3
    x = generator.standard_normal((n, d)) + 50.0
    x[1] = x[0]
    y = np.column_stack([np.sin(x[:, 0]), x[:, 1] > 50.0]).astype(float)
    metric = np.diag([1.0, 0.3, 0.1])
    if not is_diagonal:
        metric[0, 1] = metric[1, 0] = 0.2
    z = x - x.mean(axis=0)
    apart = cdist(z @ root(metric), z @ root(metric))
    half = n // 2
    width = np.median(np.diagonal(apart[:half, half:]))
    kernel = np.exp(-apart / width)
    a = np.linalg.solve(kernel + 0.1 * np.eye(n), y)
    slopes = np.divide(kernel, apart, out=np.zeros((n, n)), where=apart > 1e-6)
    expected = np.zeros((d, d))
    for output in range(2):
        pulls = slopes * a[:, output]
        gradients = (pulls @ z - pulls.sum(axis=1, keepdims=True) * z) @ metric / width
        expected += gradients.T @ gradients
    given = np.diagonal(metric) if is_diagonal else metric
    found = gradient_sum(x.astype(np.float32), y, given, 0.1, is_diagonal=is_diagonal)
    expected = np.diagonal(expected) if is_diagonal else expected
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-3 * np.abs(expected).max())


def test_gradients_are_the_same_for_any_number_of_outputs_at_once(monkeypatch):
    x, y = rows_of(300, 3), rows_of(300, 5, seed=1, dtype=np.float64)
    together = gradient_sum(x, y, np.ones(3), 0.1)
    # two outputs at a time, then one
    for columns in (8, 1):
        monkeypatch.setattr(metrics, "_COLUMNS", columns)
        np.testing.assert_allclose(gradient_sum(x, y, np.ones(3), 0.1), together, rtol=1e-5)
    alone = sum(gradient_sum(x, y[:, [output]], np.ones(3), 0.1) for output in range(5))
    np.testing.assert_allclose(together, alone, rtol=2e-2)


def test_the_last_round_of_a_metric_is_from_all_rows():
    x, y = (rows_of(300, 4), np.sin(3 * rows_of(300, 4)[:, :1]).astype(np.float64))
    first = metric_of(gradient_sum(x[:150], y[:150], np.ones(4), 0.1), "full")
    second = metric_of(gradient_sum(x, y, first, 0.1), "full")
    np.testing.assert_array_equal(learn_metric(x, y, "full", rounds=2), second)
    assert np.abs(learn_metric(x[:100], y[:100], "full", rounds=2) - second).max() > 1e-3


def tiles_of(matrix):
    tiles = SymmetricTiles(len(matrix), matrix.dtype)
    for number, strip in enumerate(tiles.strips):
        start = TILE * number
        strip[:] = matrix[start : start + TILE, start:]
    return tiles


@pytest.mark.parametrize("n", [1, 255, 256, 257, 700])
def test_half_of_a_symmetric_matrix_is_all_of_it(n):
    matrix = rows_of(n, n, dtype=np.float64)
    matrix = matrix + matrix.T
    tiles = tiles_of(matrix)
    assert sum(strip.size for strip in tiles.strips) == tiled_numbers(n)
    values = rows_of(n, 3, dtype=np.float64)
    np.testing.assert_allclose(tiles @ values, matrix @ values, atol=1e-10)
    for n_columns in {1, min(n, 300), n}:
        np.testing.assert_array_equal(tiles.columns(n_columns), matrix[:, :n_columns])
    for row, column in ((0, len(tiles.strips) - 1), (len(tiles.strips) - 1, 0)):
        down, right = (slice(TILE * place, TILE * (place + 1)) for place in (row, column))
        np.testing.assert_array_equal(tiles.tile(row, column), matrix[down, right])


@pytest.mark.parametrize(("n", "d"), [(300, 2), (1300, 40), (1700, 2), (1700, 40)])
def test_iterations_leave_little_of_the_targets(n, d):
    """Fewer and more rows than the preconditioner has; equal rows; an output of zeros."""
    x = rows_of(n, d, dtype=np.float64)
    x[1::7] = x[0]
    targets = np.column_stack([np.sin(3 * x[:, 0]), np.zeros(n), np.sign(x[:, 1])])
    apart = cdist(x, x)
    kernel = np.exp(-apart / np.median(apart)).astype(np.float32)
    found = solve_ridge_iteratively(tiles_of(kernel), targets, 0.1)
    left = kernel.astype(np.float64) @ found + 0.1 * found - targets
    assert (np.linalg.norm(left, axis=0) <= 4e-3 * np.linalg.norm(targets, axis=0)).all()
    exact = solve_ridge(kernel, targets, np.full(n, 10.0))
    np.testing.assert_allclose(found, exact, atol=0.02 * np.abs(exact).max())


# one cell


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
