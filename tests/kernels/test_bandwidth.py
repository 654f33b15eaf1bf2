"""Widths that are read off the data: right for sorted, tiny, wide, duplicated and skewed rows."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from distkern.common.errors import InputError
from distkern.common.sparse import SparseRows
from distkern.kernels import find_kernel
from distkern.kernels.bandwidth import gamma_by_rule, median_width, merged_moments, moments

RBF = find_kernel("rbf")


@pytest.mark.parametrize("n", [1000, 1001])
def test_the_median_of_sorted_rows_is_that_of_all_pairs(n):
    """Distances of neighbours are a thousand times smaller; 500 pairs have a standard error of 5 %."""
    rows = np.random.default_rng(0).normal(size=(n, 1))
    exact = np.sqrt(2) * np.median(pdist(rows))
    for ordered in (rows, np.sort(rows, axis=0), np.sort(rows, axis=0)[::-1]):
        assert median_width(ordered) == pytest.approx(exact, rel=0.2)
    series = np.arange(5000.0)[:, None]
    assert gamma_by_rule("median", RBF, series) == pytest.approx(
        1 / (2 * (5000 * (1 - 0.5**0.5)) ** 2), rel=0.2
    )


@pytest.mark.parametrize("n", [2, 3, 7, 64])
def test_the_median_of_few_rows_is_of_all_pairs(n):
    rows = np.random.default_rng(n).exponential(size=(n, 3))
    assert median_width(rows) == pytest.approx(np.sqrt(2) * np.median(pdist(rows)), rel=1e-12)
    assert median_width(SparseRows.of_dense(rows)) == pytest.approx(median_width(rows), rel=1e-12)


def test_the_median_of_duplicated_rows_is_of_those_that_differ():
    rows = np.zeros((1000, 2))
    rows[:100] = [3.0, 4.0]
    assert median_width(rows) == pytest.approx(5 * np.sqrt(2))
    assert median_width(np.ones((1000, 2))) == 0.0
    assert median_width(np.ones((1, 2))) == 0.0
    assert gamma_by_rule("median", RBF, np.ones((1, 2))) == 1.0


@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (5000, 40), (7, 40_000)])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_moments_are_exact_whatever_the_offset(shape, offset):
    generator = np.random.default_rng(0)
    rows = np.sort(generator.exponential(size=shape) ** 3, axis=0) + offset
    count, mean, squares = moments(rows)
    assert count == rows.size
    assert mean == pytest.approx(rows.mean(), rel=1e-12)
    assert squares / count == pytest.approx(rows.var(), rel=1e-9)
    cut = len(rows) // 2
    parts = merged_moments(moments(rows[:cut]), moments(rows[cut:]))
    np.testing.assert_allclose(parts, [count, mean, squares], rtol=1e-9)
    if not offset:
        rows[rows < 1] = 0
        np.testing.assert_allclose(moments(SparseRows.of_dense(rows)), moments(rows), rtol=1e-10)


def test_a_weight_counts_as_repeated_rows_do():
    generator = np.random.default_rng(0)
    rows, weights = generator.normal(size=(50, 3)), generator.integers(0, 4, 50)
    repeated = moments(np.repeat(rows, weights, axis=0))
    for form in (rows, SparseRows.of_dense(rows)):
        np.testing.assert_allclose(moments(form, weights.astype(float)), repeated, rtol=1e-10)


def test_equal_entries_have_no_spread():
    for rows in (np.full((3000, 90), 0.1), np.full((3000, 90), 0.1, np.float32), np.zeros((4, 2))):
        assert moments(rows)[2] == 0.0
        assert gamma_by_rule("scale", RBF, rows) == 1.0


def test_a_spread_that_is_no_number_is_refused():
    with pytest.raises(InputError, match="scale them"), np.errstate(over="ignore"):
        gamma_by_rule("scale", RBF, np.array([[1e200], [-1e200]]))
