"""Distances in the 1-norm are a matrix product for columns with two values."""

import numpy as np
import pytest

from distkern.maths.kernels.product import Laplacian


def table(n_paired, n_others, dtype):
    """Return landmarks with two-valued columns before real ones, and rows with other values in both."""
    generator = np.random.default_rng(0)
    is_second = generator.random((300, n_paired)) < np.linspace(0.02, 0.98, n_paired)
    landmarks = np.hstack([is_second * 3.5 - 1.25, generator.normal(size=(300, n_others))]).astype(dtype)
    return landmarks, np.vstack([landmarks[:150], 1.7 * landmarks[150:], -landmarks[:20]])


@pytest.mark.parametrize("columns", [(40, 0), (30, 7), (0, 5), (1, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tiles_equal_the_closed_form_for_any_values_of_rows(columns, dtype):
    landmarks, rows = table(*columns, dtype)
    kernel, tile = Laplacian(gamma=0.03), np.full((len(rows), len(landmarks)), np.nan, dtype)
    kernel.prepare(landmarks).scores(rows, tile)
    assert tile.max() <= 0.0
    kernel.finish(tile)
    wanted = kernel.closed_form(rows.astype(np.float64), landmarks.astype(np.float64))
    np.testing.assert_allclose(tile, wanted, rtol=0, atol=3e-6 if dtype == np.float32 else 1e-14)


def test_constant_landmark_columns_distinguish_rows():
    landmarks = np.full((4, 2), 2.0)
    tile = np.empty((3, 4))
    Laplacian(gamma=0.5).prepare(landmarks).scores(np.array([[2.0, 2.0], [3.0, 2.0], [-1.0, 0.0]]), tile)
    np.testing.assert_allclose(tile, np.repeat([[0.0], [-0.5], [-2.5]], 4, axis=1))


def test_only_other_columns_need_the_compiled_loop(monkeypatch):
    monkeypatch.setattr("distkern.maths.kernels.product.city_block", None)
    landmarks, rows = table(6, 0, np.float32)
    Laplacian().prepare(landmarks).scores(rows, np.empty((len(rows), len(landmarks)), np.float32))
    landmarks, rows = table(6, 1, np.float32)
    with pytest.raises(TypeError, match="not callable"):
        Laplacian().prepare(landmarks).scores(rows, np.empty((len(rows), len(landmarks)), np.float32))
