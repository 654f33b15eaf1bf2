"""Transforms of single columns."""

import numpy as np
import pytest

from distkern.maths.maps.transform import Transform


@pytest.mark.parametrize("n_rows", [1, 2, 60, 501, 1500])
@pytest.mark.parametrize("digits", [0, 1, 12])
def test_quantiles_are_numpys(n_rows, digits):
    generator = np.random.default_rng(n_rows)
    rows = np.round(generator.normal(size=(n_rows, 3)) * [1.0, 1e6, 1e-3], digits).astype(np.float32)
    levels = np.linspace(0.0, 1.0, min(500, n_rows))
    expected = np.quantile(rows.astype(np.float64), levels, axis=0)
    np.testing.assert_array_equal(Transform.fit("normal", rows).quantiles, expected)
