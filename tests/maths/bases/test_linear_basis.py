"""Linear features as a basis, of dense and sparse rows."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.maths.bases.linear import LinearBasis


def rows(n, d, dtype, share=0.1):
    generator = np.random.default_rng(0)
    dense = np.where(generator.random((n, d)) < share, generator.normal(size=(n, d)), 0).astype(dtype)
    dense[n // 3] = 0
    dense[n // 2] = 1
    return dense


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("outputs", [1, 2, 5])
@pytest.mark.parametrize(("n", "d"), [(3, 4), (700, 1200), (5000, 30)])
def test_combine(n, d, outputs, dtype):
    features = rows(n, d, dtype)
    coefficients = np.random.default_rng(1).normal(size=(d, outputs))
    basis = pickle.loads(pickle.dumps(LinearBasis(d, dtype)))
    expected = features.astype(np.float64) @ coefficients
    tolerance = 1e-4 if dtype == "float32" else 1e-11
    for given in (features, SparseRows.of_dense(features)):
        found = basis.combine(given, coefficients)
        assert found.dtype == dtype
        assert_allclose(found, expected, atol=tolerance, rtol=tolerance)


def test_sums_of_sparse_rows_do_not_depend_on_the_strip():
    features = SparseRows.of_dense(rows(900, 800, "float32", 0.5))
    coefficients = np.random.default_rng(1).normal(size=(800, 3))
    basis = LinearBasis(800, np.float32)
    whole = basis.combine(features, coefficients)
    parts = [basis.combine(features[start : start + 7], coefficients) for start in range(0, 900, 7)]
    assert_array_equal(np.concatenate(parts), whole)


def test_tiles_are_the_rows():
    features = rows(300, 50, "float32")
    basis = LinearBasis(50, np.float32)
    for given in (features, SparseRows.of_dense(features)):
        nearest = np.empty(300, dtype=np.intp)
        for tile in basis.tiles(given, nearest=nearest):
            assert_array_equal(tile.values, features[tile.rows])
        assert_array_equal(nearest, features.argmax(axis=1))


def test_the_norm_is_euclidean():
    coefficients = np.random.default_rng(0).normal(size=(6, 3))
    assert_allclose(LinearBasis(6).squared_norms(coefficients), (coefficients**2).sum(axis=0))


def test_sparse_rows_are_never_written_out():
    """A million columns: a dense tile would take hundreds of megabytes."""
    import tracemalloc

    d = 1_000_000
    generator = np.random.default_rng(0)
    indices = np.sort(generator.choice(d, size=(500, 40), replace=True).astype(np.int32), axis=1)
    indptr = np.arange(0, 500 * 40 + 1, 40, dtype=np.int64)
    features = SparseRows(np.ones(500 * 40, dtype=np.float32), indices.ravel(), indptr, d)
    coefficients = generator.normal(size=(d, 1))
    tracemalloc.start()
    found = LinearBasis(d, np.float32).combine(features, coefficients)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 2**20
    assert_allclose(found[:, 0], coefficients[indices, 0].sum(axis=1), atol=1e-3)


def test_other_columns_are_refused():
    with pytest.raises(InputError, match="3 features, but the basis has 4"):
        LinearBasis(4).combine(np.zeros((2, 3), dtype=np.float32), np.zeros((4, 1)))
