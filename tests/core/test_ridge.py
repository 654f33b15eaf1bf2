"""Ridge systems solved by factors in single and double precision, and by iterations."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from distkern.core import ridge
from distkern.core.errors import DistkernError
from distkern.maths.kernels import kernel_matrix

N_ROWS = 600


@pytest.fixture
def factors(monkeypatch):
    """The precision of each factorisation."""
    seen, factor = [], ridge._factor
    monkeypatch.setattr(ridge, "_factor", lambda matrix: seen.append(matrix.dtype.name) or factor(matrix))
    return seen


def system(kernel, n_outputs=1, n_rows=N_ROWS):
    """K of rows of which some are equal, targets, and weights."""
    generator = np.random.default_rng(0)
    x = generator.standard_normal((n_rows, 4))
    x[:50] = x[50:100]
    targets = np.sin(2 * x[:, :1]) + 0.3 * generator.standard_normal((n_rows, n_outputs))
    return kernel_matrix(x, kernel=kernel, gamma=0.1), targets, generator.uniform(0.5, 2.0, n_rows)


def expected(matrix, targets, costs):
    return np.linalg.solve(matrix + np.diag(1 / costs), targets)


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(("kernel", "cost"), [("rbf", 1.0), ("rbf", 3e4), ("laplacian", 100.0)])
def test_a_factor_of_single_precision_gives_double_precision(monkeypatch, factors, kernel, cost, overwrite):
    monkeypatch.setattr(ridge, "_MOST_CONDITION", np.inf)
    matrix, targets, weights = system(kernel, 2)
    given, wanted = matrix.copy(), targets.copy()
    found = ridge.solve_ridge(given, wanted, cost * weights, overwrite=overwrite)
    again = ridge.solve_ridge(matrix.copy(), wanted, cost * weights)
    assert factors == ["float32"] * 2
    # one step less leaves errors of 1e-9 and more
    exact = expected(matrix, targets, cost * weights)
    np.testing.assert_allclose(matrix @ found, matrix @ exact, rtol=0, atol=6e-14 * cost)
    np.testing.assert_array_equal(found, again)
    np.testing.assert_array_equal(wanted, targets)


def test_targets_without_numbers_to_fit_and_of_any_size_are_solved(factors):
    matrix, targets, weights = system("rbf", 3)
    targets *= [0.0, 1e200, 1e-200]
    found = ridge.solve_ridge(matrix, targets, weights)
    assert factors == ["float32"]
    assert not found[:, 0].any()
    exact = expected(matrix, targets, weights)[:, 1:]
    np.testing.assert_allclose(found[:, 1:] * [1e-200, 1e200], exact * [1e-200, 1e200], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("limits", "kernel", "cost", "tried"),
    [
        ({}, "rbf", 1e7, ["float64"]),
        # neither a factor that does not exist nor one that helps too little
        ({"_MOST_CONDITION": np.inf}, "rbf", 1e10, ["float32", "float64"]),
        ({"_MOST_CONDITION": np.inf}, "rbf", 1e5, ["float32", "float64"]),
    ],
)
@pytest.mark.parametrize("overwrite", [False, True])
def test_what_single_precision_cannot_solve_is_factorised_in_double(
    monkeypatch, factors, limits, kernel, cost, tried, overwrite
):
    for name, value in limits.items():
        monkeypatch.setattr(ridge, name, value)
    matrix, targets, weights = system(kernel)
    found = ridge.solve_ridge(matrix.copy(), targets, cost * weights, overwrite=overwrite)
    assert factors == tried
    exact = expected(matrix, targets, cost * weights)
    np.testing.assert_allclose(matrix @ found, matrix @ exact, rtol=0, atol=6e-14 * cost)


def test_small_systems_and_many_outputs_are_factorised_in_double_at_once(factors):
    for n_outputs, n_rows in ((1, 200), (4, N_ROWS)):
        matrix, targets, weights = system("rbf", n_outputs, n_rows)
        found = ridge.solve_ridge(matrix, targets, weights)
        np.testing.assert_allclose(found, expected(matrix, targets, weights), atol=1e-11)
    assert factors == ["float64"] * 2


def test_matrices_that_are_not_positive_definite_are_refused():
    with pytest.raises(DistkernError, match="not positive definite at C = 1:"):
        ridge.solve_ridge(-3 * np.eye(N_ROWS), np.ones((N_ROWS, 1)), np.ones(N_ROWS))


def rows_of(n, d):
    return np.random.default_rng(0).standard_normal((n, d))


def tiles_of(matrix):
    tiles = ridge.SymmetricTiles(len(matrix), matrix.dtype)
    for number, strip in enumerate(tiles.strips):
        start = ridge.TILE * number
        strip[:] = matrix[start : start + ridge.TILE, start:]
    return tiles


@pytest.mark.parametrize("n", [1, 255, 256, 257, 700])
def test_half_of_a_symmetric_matrix_is_all_of_it(n):
    matrix = rows_of(n, n)
    matrix = matrix + matrix.T
    tiles = tiles_of(matrix)
    assert sum(strip.size for strip in tiles.strips) == ridge.tiled_numbers(n)
    values = rows_of(n, 3)
    np.testing.assert_allclose(tiles @ values, matrix @ values, atol=1e-10)
    for n_columns in {1, min(n, 300), n}:
        np.testing.assert_array_equal(tiles.columns(n_columns), matrix[:, :n_columns])
    for row, column in ((0, len(tiles.strips) - 1), (len(tiles.strips) - 1, 0)):
        down, right = (slice(ridge.TILE * place, ridge.TILE * (place + 1)) for place in (row, column))
        np.testing.assert_array_equal(tiles.tile(row, column), matrix[down, right])


def test_a_matrix_that_rounding_made_indefinite_has_a_finite_solution():
    matrix = np.random.default_rng(0).uniform(0.0, 1.0, (700, 700)).astype(np.float32)
    matrix = np.maximum(matrix, matrix.T)
    np.fill_diagonal(matrix, 1.0)
    assert np.linalg.eigvalsh(matrix)[0] < -1.0
    assert np.isfinite(ridge.solve_ridge_iteratively(tiles_of(matrix), rows_of(700, 2), 0.1)).all()


@pytest.mark.parametrize(("n", "d"), [(300, 2), (1300, 40), (1700, 2), (1700, 40)])
def test_iterations_leave_little_of_the_targets(n, d):
    """Fewer and more rows than the preconditioner has; equal rows; an output of zeros."""
    x = rows_of(n, d)
    x[1::7] = x[0]
    targets = np.column_stack([np.sin(3 * x[:, 0]), np.zeros(n), np.sign(x[:, 1])])
    apart = cdist(x, x)
    kernel = np.exp(-apart / np.median(apart)).astype(np.float32)
    found = ridge.solve_ridge_iteratively(tiles_of(kernel), targets, 0.1)
    left = kernel.astype(np.float64) @ found + 0.1 * found - targets
    assert (np.linalg.norm(left, axis=0) <= 4e-3 * np.linalg.norm(targets, axis=0)).all()
    exact = ridge.solve_ridge(kernel, targets, np.full(n, 10.0))
    np.testing.assert_allclose(found, exact, atol=0.02 * np.abs(exact).max())
