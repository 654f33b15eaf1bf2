"""A basis of kernels at landmarks: tiles, combinations, norms."""

import gc
import pickle
import weakref

import numpy as np
import pytest

import reference
from distkern.maths.bases.base import multiply
from distkern.maths.bases.landmarks import LandmarkBasis
from distkern.maths.kernels import LANDMARK_KERNELS, TILE_KERNELS, find_kernel

RBF = find_kernel("rbf")(gamma=0.5)


def rows(n, d=4, seed=0):
    return np.random.default_rng(seed).random((n, d))


def all_values(basis, features):
    return np.concatenate([tile.values.copy() for tile in basis.tiles(features)])


@pytest.mark.parametrize("kernel", LANDMARK_KERNELS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_tiles_hold_the_kernel_and_the_nearest_landmark(kernel, dtype):
    features = rows(700).astype(dtype)
    basis = LandmarkBasis(find_kernel(kernel)(gamma=0.5), features[::50])
    exact = reference.gram(kernel, features, features[::50], gamma=0.5)
    seen = 0
    nearest = np.empty(len(features), dtype=np.intp)
    for tile in basis.tiles(features, nearest=nearest):
        assert tile.rows.start == seen
        seen = tile.rows.stop
        # Matern 3/2 is smooth at 0 in the distance, whose square carries the rounding
        np.testing.assert_allclose(tile.values, exact[tile.rows], atol=3e-6 if dtype == "float32" else 1e-13)
        best = exact[tile.rows].max(axis=1)
        chosen = exact[tile.rows][np.arange(len(tile.values)), nearest[tile.rows]]
        np.testing.assert_allclose(chosen, best, rtol=1e-5)
    assert seen == len(features)


def test_tile_rows_depend_on_the_basis_alone_and_fit_a_cache():
    for r, dtype, expected in [(1, "f4", 1024), (143, "f4", 916), (1000, "f4", 131), (1000, "f8", 128)]:
        assert LandmarkBasis(RBF, rows(r).astype(dtype)).tile_rows == expected


def test_tiles_into_an_array_have_the_same_bits_as_tiles_in_a_buffer():
    features = rows(2500).astype(np.float32)
    basis = LandmarkBasis(RBF, features[:300])
    into = np.empty((2500, 300), np.float32)
    nearest = np.empty(len(features), dtype=np.intp)
    assert sum(len(tile.values) for tile in basis.tiles(features, into, nearest)) == len(features)
    np.testing.assert_array_equal(into, all_values(basis, features))
    np.testing.assert_array_equal(nearest[:300], np.arange(300))


def test_a_row_has_the_same_bits_in_every_block_that_starts_at_a_tile():
    features = rows(3000).astype(np.float32)
    basis = LandmarkBasis(RBF, features[:200])
    whole = all_values(basis, features)
    start = basis.tile_rows
    np.testing.assert_array_equal(all_values(basis, features[start:]), whole[start:])


@pytest.mark.parametrize("outputs", [0, 1, 2, 3, 4, 7])
@pytest.mark.parametrize("order", ["C", "F"])
def test_multiply_is_the_product(outputs, order):
    values, columns = rows(50, 8), np.asarray(rows(8, outputs, seed=1), order=order)
    out = np.full((50, outputs), np.nan)
    multiply(values, columns, out)
    np.testing.assert_allclose(out, values @ columns, rtol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_squared_norms_are_the_quadratic_form(dtype):
    landmarks = rows(60).astype(dtype)
    basis = LandmarkBasis(RBF, landmarks)
    coefficients = np.random.default_rng(1).standard_normal((60, 3)) * 100
    K = reference.gram("rbf", landmarks, landmarks, gamma=0.5)
    expected = np.einsum("ij,ik,kj->j", coefficients, K, coefficients)
    np.testing.assert_allclose(basis.squared_norms(coefficients), expected, rtol=1e-9)
    np.testing.assert_allclose(basis.squared_norms(coefficients, exact=False), expected, rtol=1e-2)


def test_squared_norm_of_a_cancelling_combination_is_not_negative():
    landmarks = np.repeat(rows(1), 8, axis=0) + 1e-9 * rows(8)
    basis = LandmarkBasis(RBF, landmarks.astype(np.float32))
    coefficients = np.array([[1.0], [-1.0]] * 4)
    assert 0 <= basis.squared_norms(coefficients, exact=False)[0] < 1e-4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_basis_that_has_measured_norms_goes_with_its_last_reference(dtype):
    basis = LandmarkBasis(RBF, rows(60).astype(dtype))
    basis.squared_norms(np.ones((60, 1)))
    seen = weakref.ref(basis)
    gc.disable()
    try:
        del basis
        assert seen() is None
    finally:
        gc.enable()


def test_edges():
    single = LandmarkBasis(RBF, rows(1))
    assert single.combine(rows(5, seed=2), np.ones((1, 1))).shape == (5, 1)
    nearest = np.full(3, -1, dtype=np.intp)
    assert len(list(single.tiles(rows(3, seed=2), nearest=nearest))) == 1
    assert nearest.tolist() == [0, 0, 0]
    assert list(single.tiles(rows(0))) == []
    assert single.combine(rows(0), np.ones((1, 2))).shape == (0, 2)


def test_pickles_small():
    basis = LandmarkBasis(RBF, rows(100).astype(np.float32))
    basis.squared_norms(np.ones((100, 1)))
    text = pickle.dumps(basis)
    copy = pickle.loads(text)
    np.testing.assert_array_equal(
        all_values(copy, rows(50).astype("f4")), all_values(basis, rows(50).astype("f4"))
    )
    # landmarks, and neither their prepared form nor the float64 twin that the norms use
    assert len(text) < basis.landmarks.nbytes + 2000


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", TILE_KERNELS)
def test_what_a_process_holds_is_planned(name, dtype):
    basis = LandmarkBasis(find_kernel(name)(), rows(300, 40).astype(dtype))
    arrays = {id(array): array for array in vars(basis.prepared).values() if isinstance(array, np.ndarray)}
    arrays[id(basis.landmarks)] = basis.landmarks
    held = sum(array.nbytes for array in arrays.values())
    # what is of the columns alone is small
    assert 0.9 * basis.process_bytes <= held <= basis.process_bytes + 10 * 40 * 8


def test_what_is_sent_again_is_what_is_there():
    basis = LandmarkBasis(RBF, rows(100).astype(np.float32))
    first = pickle.loads(pickle.dumps(basis))
    prepared = first.prepared
    assert pickle.loads(pickle.dumps(basis)).prepared is prepared is not basis.prepared
    assert pickle.loads(pickle.dumps(LandmarkBasis(RBF, rows(100)))) is not first
    seen = weakref.ref(first)
    del first
    assert seen() is None


def test_workspace_holds_what_a_tile_needs():
    basis = LandmarkBasis(RBF, rows(500).astype(np.float32))
    tile = basis.tile_rows * basis.size * 4 + basis.tile_rows * (4 + 2) * 4
    assert tile <= basis.workspace_bytes(4) <= 3 * tile
