"""Data-based kernel widths for sorted, tiny, wide, duplicated and skewed rows."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.distance import pdist
from scipy.special import ndtri

from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.maths.kernels import find_kernel, histograms
from distkern.maths.kernels.bandwidth import gamma_by_rule, median_width, merged_moments, moments
from distkern.maths.samplers.normal import normal_quantiles

RBF = find_kernel("rbf")


@pytest.mark.parametrize("n", [1000, 1001])
def test_the_median_of_sorted_rows_is_near_the_median_of_all_pairs(n):
    """Neighbours are a thousand times closer; 500 pairs have a standard error of 5 %."""
    rows = np.random.default_rng(0).normal(size=(n, 1))
    exact = np.sqrt(2) * np.median(pdist(rows))
    for ordered in (rows, np.sort(rows, axis=0), np.sort(rows, axis=0)[::-1]):
        assert median_width(ordered) == pytest.approx(exact, rel=0.2)
    series = np.arange(5000.0)[:, None]
    assert gamma_by_rule("median", RBF, series) == pytest.approx(
        1 / (2 * (5000 * (1 - 0.5**0.5)) ** 2), rel=0.2
    )


@pytest.mark.parametrize("n", [2, 3, 7, 64])
def test_the_median_of_few_rows_uses_all_pairs(n):
    rows = np.random.default_rng(n).exponential(size=(n, 3))
    assert median_width(rows) == pytest.approx(np.sqrt(2) * np.median(pdist(rows)), rel=1e-12)
    assert median_width(SparseRows.of_dense(rows)) == pytest.approx(median_width(rows), rel=1e-12)


def test_the_median_of_duplicated_rows_ignores_equal_pairs():
    rows = np.zeros((1000, 2))
    rows[:100] = [3.0, 4.0]
    assert median_width(rows) == pytest.approx(5 * np.sqrt(2))
    assert median_width(np.ones((1000, 2))) == 0.0
    assert median_width(np.ones((1, 2))) == 0.0
    assert gamma_by_rule("median", RBF, np.ones((1, 2))) == 1.0


@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (5000, 40), (7, 40_000)])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_moments_are_exact_for_any_offset(shape, offset):
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


def test_a_weight_counts_as_repeated_rows():
    generator = np.random.default_rng(0)
    rows, weights = generator.normal(size=(50, 3)), generator.integers(0, 4, 50)
    repeated = moments(np.repeat(rows, weights, axis=0))
    for form in (rows, SparseRows.of_dense(rows)):
        np.testing.assert_allclose(moments(form, weights.astype(float)), repeated, rtol=1e-10)


def test_equal_entries_have_no_spread():
    for rows in (np.full((3000, 90), 0.1), np.full((3000, 90), 0.1, np.float32), np.zeros((4, 2))):
        assert moments(rows)[2] == 0.0
        assert gamma_by_rule("scale", RBF, rows) == 1.0


def test_an_overflowing_spread_is_refused():
    with pytest.raises(InputError, match="scale the features"), np.errstate(over="ignore"):
        gamma_by_rule("scale", RBF, np.array([[1e200], [-1e200]]))


DENSITIES = {
    histograms.hyperbolic_secant: lambda w: 1 / np.cosh(np.pi * w),
    histograms.half_cauchy_width: lambda w: 2 / (np.pi * (1 + 4 * w**2)),
    histograms.jensen_shannon: lambda w: 1 / (np.cosh(np.pi * w) * (1 + 4 * w**2) * np.log(2)),
}


@pytest.mark.parametrize("quantiles", DENSITIES, ids=lambda function: function.__name__)
def test_quantiles_invert_the_integral_of_the_density(quantiles):
    density = DENSITIES[quantiles]
    uniforms = np.array([0.5, 0.501, 0.6, 0.8, 0.95, 0.999])
    for u, w in zip(uniforms, quantiles(uniforms), strict=True):
        assert 0.5 + quad(density, 0, w, epsabs=1e-13)[0] == pytest.approx(u, abs=1e-9)
    np.testing.assert_allclose(quantiles(1 - uniforms), -quantiles(uniforms), rtol=1e-6, atol=1e-12)


def test_the_ends_of_the_unit_interval_are_finite():
    ends = np.array([2.0**-54, 1 - 2.0**-53])
    for quantiles in (*DENSITIES, normal_quantiles):
        values = quantiles(ends)
        assert np.all(np.isfinite(values))
        assert values[0] < 0 < values[1]


def test_jensen_shannon_quantiles_are_smooth_between_the_nodes():
    uniforms = np.linspace(0.5, 1 - 1e-12, 200001)
    assert np.all(np.diff(histograms.jensen_shannon(uniforms)) > 0)


def test_normal_quantiles_equal_scipys():
    tails = 10.0 ** -np.linspace(0.4, 16, 400)
    uniforms = np.concatenate([np.random.default_rng(0).random(20000), tails, 1 - tails[:350], [0.5]])
    np.testing.assert_allclose(normal_quantiles(uniforms), ndtri(uniforms), rtol=4e-15, atol=1e-15)
    assert normal_quantiles(np.full((3, 2), 0.5)).shape == (3, 2)
