"""The solvers of a cell compared with independent ones for the same objective."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC, SVR

from distkern.core.ridge import solve_ridge
from distkern.maths.kernels import kernel_matrix
from distkern.maths.losses import DUAL_LOSSES, find_loss
from distkern.maths.losses.base import RowConjugates
from distkern.solvers._cells.dual import newton, product, solve_dual


def problem(loss, seed, n=40):
    """Return K, y and c of a random problem with weights and equal rows."""
    generator = np.random.default_rng(seed)
    x = generator.standard_normal((n, 3))
    x[: n // 10] = x[n // 2 : n // 2 + n // 10]
    y = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.3 * generator.standard_normal(n)
    if loss.target_kind == "binary":
        y = np.where(y > 0, 1.0, -1.0)
    kernel = kernel_matrix(x, kernel=("rbf", "matern")[seed % 2], gamma=(0.05, 0.5, 2.0)[seed % 3])
    return kernel, y, generator.choice([0.5, 3.0, 20.0]) * generator.uniform(0.2, 2.0, n)


def generic(kernel, y, costs, loss):
    """Return coefficients and the minimum, by L-BFGS-B on the dual with a = u - v, both in boxes, in float64.

    The pieces of each loss's conjugate are written out here once more.
    """
    n = len(y)
    flat, up, down, above, below = {
        "hinge": (0, 0, 0, 1, 0),
        "squared_hinge": (0, 0.5, 0, np.inf, 0),
        "odm": (0.4, 0.18, 0.45, np.inf, np.inf),
        "epsilon_insensitive": (0.1, 0, 0, 1, 1),
        "absolute": (0, 0, 0, 1, 1),
        "huber": (0, 1, 1, 1.35, 1.35),
        "square": (0, 1, 1, np.inf, np.inf),
        "least_squares": (0, 1, 1, np.inf, np.inf),
    }[loss.name]
    sign = y if loss.target_kind == "binary" else np.ones(n)
    linear = y * sign

    def objective(both):
        u, v = both[:n], both[n:]
        values = sign * (kernel @ (sign * (u - v)))
        gradient_u = values - linear + flat + up * u / costs
        gradient_v = -values + linear + flat + down * v / costs
        size = 0.5 * (u - v) @ values - linear @ (u - v) + flat * (u + v).sum()
        size += 0.5 * (up * u**2 + down * v**2) @ (1 / costs)
        return size, np.concatenate([gradient_u, gradient_v])

    bounds = [(0, above * c) for c in costs] + [(0, below * c) for c in costs]
    best = np.zeros(2 * n)
    # restarts continue where it stopped early, with a fresh approximation of the curvature
    for _ in range(30):
        found = minimize(
            objective,
            best,
            jac=True,
            bounds=bounds,
            method="L-BFGS-B",
            options={"maxiter": 20000, "maxfun": 40000, "ftol": 0, "gtol": 1e-8, "maxcor": 40},
        )
        best = found.x
        coefficients = sign * (best[:n] - best[n:])
        if primal(kernel, y, costs, loss, coefficients) + found.fun < -1e-6 * found.fun:
            return coefficients, -found.fun
    raise AssertionError("the generic solver has not found the minimum")


def primal(kernel, y, costs, loss, coefficients):
    values = kernel @ coefficients
    return 0.5 * coefficients @ values + costs @ loss.value(values, y, loss.parameters)


@pytest.mark.parametrize("name", DUAL_LOSSES)
@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(20), marks=pytest.mark.slow)], ids=len)
def test_dual_solver_agrees_with_a_generic_one(name, seeds):
    loss = find_loss(name)()
    for seed in seeds:
        kernel, y, costs = problem(loss, seed)
        expected, minimum = generic(kernel, y, costs, loss)
        found = solve_dual(kernel, y, costs, loss, seed=seed, tolerance=1e-6)
        assert primal(kernel, y, costs, loss, found.coefficients) == pytest.approx(minimum, rel=1e-4)
        assert found.primal == pytest.approx(minimum, rel=1e-4)
        assert -1e-9 * minimum <= found.gap < 1e-4 * minimum
        np.testing.assert_allclose(found.values, kernel @ expected, atol=1e-3)
        # the kernel matrix of cells is in single precision
        single = solve_dual(kernel.astype(np.float32), y, costs, loss, seed=seed, tolerance=0.005)
        assert primal(kernel, y, costs, loss, single.coefficients) < 1.02 * minimum
        np.testing.assert_allclose(single.values, found.values, atol=0.1)


def test_machines_of_scikit_learn_with_weights_and_no_intercept():
    # SVC has an intercept, which is 0 for a mirrored problem with rows of both signs of f
    generator = np.random.default_rng(3)
    x = generator.standard_normal((80, 3))
    y = np.where(x[:, 0] + 0.5 * generator.standard_normal(80) > 0, 1.0, -1.0)
    weights = generator.uniform(0.2, 2.0, 80)
    rows, signs, both = np.vstack([x, -x]), np.append(y, -y), np.append(weights, weights)
    odd = kernel_matrix(rows, kernel="rbf", gamma=0.5) - kernel_matrix(rows, -rows, kernel="rbf", gamma=0.5)
    svc = SVC(C=3.0, kernel="precomputed", tol=1e-7).fit(odd, signs, sample_weight=both)
    assert svc.intercept_ == pytest.approx(0, abs=1e-6)
    found = solve_dual(odd, signs, 3.0 * both, find_loss("hinge")(), seed=0, tolerance=1e-7)
    np.testing.assert_allclose(found.values, svc.decision_function(odd), atol=1e-4)

    real = np.sin(2 * x[:, 0]) + 0.3 * generator.standard_normal(80)
    targets = np.append(real, -real)
    svr = SVR(C=3.0, epsilon=0.1, kernel="precomputed", tol=1e-7).fit(odd, targets, sample_weight=both)
    found = solve_dual(odd, targets, 3.0 * both, find_loss("epsilon_insensitive")(), seed=0, tolerance=1e-7)
    np.testing.assert_allclose(found.values, svr.predict(odd), atol=1e-4)


def test_square_loss_is_kernel_ridge_for_all_outputs_at_once():
    generator = np.random.default_rng(1)
    x, targets = generator.standard_normal((70, 4)), generator.standard_normal((70, 3))
    weights = generator.uniform(0.2, 2.0, 70)
    kernel = kernel_matrix(x, kernel="matern", gamma=0.7)
    ridge = KernelRidge(alpha=1 / 5.0, kernel="precomputed").fit(kernel, targets, sample_weight=weights)
    found = solve_ridge(kernel, targets, 5.0 * weights)
    np.testing.assert_allclose(kernel @ found, ridge.predict(kernel), atol=1e-9)
    for output in range(3):
        dual = solve_dual(
            kernel, targets[:, output], 5.0 * weights, find_loss("square")(), seed=0, tolerance=1e-8
        )
        np.testing.assert_allclose(dual.coefficients, found[:, output], atol=1e-5)


@pytest.mark.parametrize("name", ["hinge", "odm", "epsilon_insensitive"])
def test_wide_kernels_with_large_costs_converge(name):
    """A kernel ten times as wide as the data is almost singular, so coordinate descent is slow."""
    loss = find_loss(name)()
    generator = np.random.default_rng(0)
    x = generator.standard_normal((300, 4))
    y = x[:, 0] + x[:, 1] * x[:, 2] + 0.7 * generator.standard_normal(300)
    y = np.sign(y) if loss.target_kind == "binary" else y / y.std()
    kernel = kernel_matrix(x, kernel="rbf", gamma=0.005)
    costs = np.full(300, 100.0)
    found = solve_dual(kernel.astype(np.float32), y, costs, loss, seed=0)
    assert found.gap < 5e-3 * found.primal
    assert primal(kernel, y, costs, loss, found.coefficients) == pytest.approx(found.primal, rel=1e-2)


def test_newtons_steps_alone_reach_the_minimum():
    loss = find_loss("squared_hinge")()
    kernel, y, costs = problem(loss, 0)
    rows, dual = RowConjugates.of(loss, y, costs), np.zeros(len(y))
    steps = newton(kernel, rows, dual, np.zeros(len(y)), 1e-6, 100)
    assert steps < 100
    expected = solve_dual(kernel, y, costs, loss, seed=0, tolerance=1e-7).values
    np.testing.assert_allclose(kernel @ dual, expected, atol=1e-4)


@pytest.mark.parametrize("cost", [1.0, 300.0, 1e5])
def test_losses_that_bend_take_few_of_newtons_steps(cost):
    """Without a proximal term, steps only change the active set; with one there were 20 to 80."""
    loss, generator = find_loss("squared_hinge")(), np.random.default_rng(0)
    x = generator.standard_normal((400, 5))
    y = np.sign(x[:, 0] + x[:, 1] * x[:, 2] + 0.3 * generator.standard_normal(400))
    kernel, costs = kernel_matrix(x, kernel="laplacian", gamma=0.05), np.full(400, cost)
    rows, dual = RowConjugates.of(loss, y, costs), np.zeros(400)
    assert newton(kernel, rows, dual, np.zeros(400), 1e-6, 100) <= 15
    values = kernel @ dual
    gradient = dual / cost + loss.derivative(values, y, loss.parameters)
    assert np.abs(gradient).max() < 1e-6
    assert primal(kernel, y, costs, loss, dual) <= primal(kernel, y, costs, loss, 0.99 * dual)


def test_a_product_reads_what_is_not_zero():
    generator = np.random.default_rng(0)
    kernel, vector = generator.standard_normal((300, 300)), np.zeros(300)
    kernel += kernel.T
    for n_numbers in (0, 1, 70, 149, 200):
        vector[generator.permutation(300)[:n_numbers]] = 2.5
        np.testing.assert_allclose(product(kernel, vector), kernel @ vector, atol=1e-10)


def test_same_seed_same_bits_and_a_warm_start_is_at_the_end_at_once():
    loss = find_loss("hinge")()
    kernel, y, costs = problem(loss, 1)
    first, second = (solve_dual(kernel, y, costs, loss, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.coefficients, second.coefficients)
    exact = solve_dual(kernel, y, costs, loss, seed=5, tolerance=1e-9).coefficients
    warm = solve_dual(kernel, y, costs, loss, seed=6, start=exact)
    np.testing.assert_allclose(warm.coefficients, exact, atol=1e-6)
