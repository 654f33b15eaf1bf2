"""The average gradient outer product of a ridge machine."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from distkern.maths.kernels import kernel_matrix
from distkern.maths.maps import metric as metrics
from distkern.maths.maps.metric import gradient_sum, learn_metric, metric_of, root


def rows_of(n, d, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal((n, d)).astype(dtype)


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
