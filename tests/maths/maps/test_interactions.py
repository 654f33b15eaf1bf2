"""Fine interactions that a wide kernel misses are found, and no others."""

import numpy as np
import pytest

from distkern.maths.maps.interactions import (
    emphasising_metric,
    interacting_columns,
    leave_one_out_errors,
    strengths,
)
from distkern.maths.maps.mapping import MapChoice, RowMap
from small import slow_but


def waves(n, seed, *, real=False):
    """Return rows and targets (n, 1): a trend plus waves in two of ten columns without marginal effects."""
    generator = np.random.default_rng(seed)
    rows = generator.standard_normal((n, 10)).astype(np.float32)
    value = rows[:, 0] + 1.5 * np.sin(5.0 * rows[:, 3]) * np.sin(5.0 * rows[:, 7])
    value = value + 0.3 * generator.standard_normal(n)
    return rows, (value / value.std() if real else np.sign(value))[:, None]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("real", [False, True])
def test_fine_columns_are_found(seed, real):
    assert interacting_columns(*waves(1500, seed, real=real)).tolist() == [3, 7]


@pytest.mark.parametrize("seed", slow_but([1, 2, 3], 1))
def test_fine_columns_are_found_among_seventy(seed):
    rows, targets = waves(1500, seed)
    noise = np.random.default_rng(seed + 1).standard_normal((1500, 60)).astype(np.float32)
    # the residual trend of the machine over all columns is among them
    assert interacting_columns(np.hstack([noise, rows]), targets).tolist() == [60, 63, 67]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_noise_has_none(seed):
    rows, _ = waves(1500, seed)
    coins = np.random.default_rng(seed + 10).choice([-1.0, 1.0], (1500, 1))
    assert len(interacting_columns(rows, coins)) == 0


def test_units_of_columns_do_not_matter():
    rows, targets = waves(1500, 0)
    rows[:, 3] *= 1e4
    rows[:, 7] = np.exp(rows[:, 7])
    assert interacting_columns(rows, targets).tolist() == [3, 7]


def test_few_rows_or_values_show_no_interactions():
    rows, targets = waves(1500, 0)
    assert len(interacting_columns(rows[:299], targets[:299])) == 0
    assert len(interacting_columns(np.tile(rows, (1, 13)), targets)) == 0
    assert len(interacting_columns((rows > 0).astype(np.float32), targets)) == 0
    assert len(interacting_columns(np.zeros_like(rows), targets)) == 0
    assert len(interacting_columns(rows, np.ones_like(targets))) == 0


def test_strengths_equal_a_naive_sum():
    generator = np.random.default_rng(3)
    scores, errors = generator.standard_normal((300, 4)), generator.standard_normal((300, 2))
    centred = errors - errors.mean(axis=0)
    narrow = []
    for column in scores.T:
        values = np.exp(-((column[:, None] - column) ** 2) / (2.0 * 0.3**2))
        values = values - values.mean(axis=0) - values.mean(axis=1)[:, None] + values.mean()
        narrow.append(values)
    naive = np.empty((4, 4))
    # every fourth tile of 32 rows estimates the deviation, scaled to all products
    counted = (np.arange(300) // 32 % 4 == 0)[:, None]
    products = np.triu(centred @ centred.T, 1)
    share = np.square(products * counted).sum() / np.square(products).sum()
    for one in range(4):
        for other in range(4):
            values = narrow[one] if one == other else narrow[one] * narrow[other]
            terms = values * products
            naive[one, other] = terms.sum() / np.sqrt(np.square(terms * counted).sum() / share)
    np.testing.assert_allclose(strengths(scores, errors), naive, atol=2e-5)


def test_leave_one_out_errors_equal_refits():
    generator = np.random.default_rng(4)
    rows, targets = generator.standard_normal((40, 3)), generator.standard_normal((40, 2))
    found = leave_one_out_errors(rows, targets)
    centred = targets - targets.mean(axis=0)
    apart = np.linalg.norm(rows[:, None] - rows, axis=2)
    width = np.median(apart[np.triu_indices(40, 1)]) * np.sqrt(2.0)
    kernel = np.exp(-apart / width)
    for row in (0, 17, 39):
        others = np.delete(np.arange(40), row)
        matrix = kernel[np.ix_(others, others)] + np.eye(39)
        expected = centred[row] - kernel[row, others] @ np.linalg.solve(matrix, centred[others])
        np.testing.assert_allclose(found[row], expected, atol=1e-5)


def test_emphasised_columns_dominate_distances():
    variances = np.array([1.0, 4.0, 0.0, 0.5])
    metric = emphasising_metric(variances, np.array([1, 3]))
    shares = metric * variances
    assert shares[[1, 3]].sum() / shares.sum() == pytest.approx(0.95)
    assert metric.max() == 1.0
    np.testing.assert_array_equal(emphasising_metric(variances, np.array([2])), np.ones(4))


def test_a_metric_of_interactions_beats_a_diagonal_metric():
    """On few rows the gradients over all columns show only the trend."""
    rows, targets = waves(1500, 0)
    fresh, truth = waves(1500, 5)
    wrong = {}
    for kind in ("diagonal", "interactions"):
        found = RowMap.fit(MapChoice("standard", kind, 2), rows, targets)
        kernel = found.kernel("rbf", 0.3)
        values = [np.empty((1500, 1500), np.float32) for _ in range(2)]
        for one, some in zip(values, (rows, fresh), strict=True):
            kernel.prepare(found.apply(rows)).scores(found.apply(some), one)
            kernel.finish(one)
        coefficients = np.linalg.solve(values[0] + np.eye(1500, dtype=np.float32), targets)
        wrong[kind] = np.mean(np.sign(values[1] @ coefficients) != truth)
    assert wrong["interactions"] < 0.75 * wrong["diagonal"]


def test_without_interactions_it_is_a_diagonal():
    rows, _ = waves(1500, 0)
    coins = np.random.default_rng(10).choice([-1.0, 1.0], (1500, 1))
    kinds = [RowMap.fit(MapChoice("standard", kind, 2), rows, coins) for kind in ("diagonal", "interactions")]
    np.testing.assert_array_equal(*(one.factors for one in kinds))
