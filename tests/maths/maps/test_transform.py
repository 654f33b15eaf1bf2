"""Transforms of single columns."""

import numpy as np
import pytest

from distkern.maths.maps.transform import TRANSFORMS, Transform


@pytest.mark.parametrize("n_rows", [1, 2, 60, 501, 1500])
@pytest.mark.parametrize("digits", [0, 1, 12])
def test_quantiles_are_numpys(n_rows, digits):
    generator = np.random.default_rng(n_rows)
    rows = np.round(generator.normal(size=(n_rows, 3)) * [1.0, 1e6, 1e-3], digits).astype(np.float32)
    levels = np.linspace(0.0, 1.0, min(500, n_rows))
    expected = np.quantile(rows.astype(np.float64), levels, axis=0)
    np.testing.assert_array_equal(Transform.fit("normal", rows).quantiles, expected)


@pytest.mark.parametrize("kind", TRANSFORMS)
def test_transformed_columns_are_centred_and_constant_ones_vanish(kind):
    x = np.exp(np.random.default_rng(0).standard_normal((4000, 3)).astype(np.float32)) * [1.0, 100.0, 1e-3]
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
    x = np.exp(np.random.default_rng(0).standard_normal((20000, 1)).astype(np.float32))
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


@pytest.mark.parametrize("kind", ["standard", "normal", "ranks"])
def test_columns_that_stand_for_one_value_have_the_variance_of_one(kind):
    rows = np.random.default_rng(0).normal(size=(400, 5)) ** 3
    found = Transform.fit(kind, rows, (1, 3, 3, 3, 1)).apply(rows, np.float64)
    plain = Transform.fit(kind, rows).apply(rows, np.float64)
    np.testing.assert_allclose(found.var(axis=0), [1.0, 1 / 3, 1 / 3, 1 / 3, 1.0])
    np.testing.assert_allclose(found * np.sqrt([1, 3, 3, 3, 1]), plain)
