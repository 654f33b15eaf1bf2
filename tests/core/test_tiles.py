"""Tiles of kernel values: none vanishes so far that products of them are subnormal."""

import numpy as np
import pytest

from distkern.core import ridge, tiles
from distkern.maths.kernels import find_kernel


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exponentials_have_normal_squares(dtype):
    exponents = np.linspace(-2000.0, 0.0, 5001).astype(dtype)
    found = tiles.exponential(exponents.copy())
    assert found.dtype == dtype
    assert (np.square(found) >= np.finfo(dtype).tiny).all()
    with np.errstate(under="ignore"):
        np.testing.assert_allclose(found, np.exp(exponents), rtol=0, atol=2 * np.sqrt(np.finfo(dtype).tiny))


@pytest.mark.parametrize(
    "kernel", [find_kernel("rbf")(30.0), find_kernel("laplacian")(20.0), find_kernel("matern")(10.0)]
)
def test_kernels_of_distant_rows_have_normal_squares(kernel):
    rows = np.random.default_rng(0).normal(size=(200, 6)).astype(np.float32)
    values = np.empty((200, 200), dtype=np.float32)
    kernel.prepare(rows).scores(rows, values)
    kernel.finish(values)
    assert (np.square(values) >= np.finfo(np.float32).tiny).all()
    exact = rows.astype(np.float64)
    np.testing.assert_allclose(values, kernel.closed_form(exact, exact), atol=1e-2)


def test_factors_of_narrow_kernels_have_no_subnormal_numbers():
    """Products of products vanish even where the kernel's values do not."""
    rows = np.random.default_rng(0).normal(size=(500, 6))
    exact = np.exp(-10.0 * np.square(rows[:, None] - rows).sum(axis=2)) + 0.1 * np.eye(500)
    for dtype in (np.float32, np.float64):
        factor = np.tril(ridge._factor(exact.astype(dtype)))
        left = np.abs(factor[factor != 0])
        assert (left >= np.finfo(dtype).tiny).all()
        np.testing.assert_allclose(factor @ factor.T, exact, rtol=0, atol=10 * np.finfo(dtype).eps)
