"""Coordinates of kernels at landmarks: equal models and norms in well-conditioned functions."""

import pickle
from functools import cache

import numpy as np
import pytest

import reference
from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.maths.bases.coordinates import Coordinates, KernelCoordinates
from distkern.maths.bases.landmarks import KernelSpan
from distkern.maths.bases.linear import LinearBasis
from distkern.maths.kernels import find_kernel

RBF = find_kernel("rbf")
ROWS = np.random.default_rng(0).standard_normal((700, 3))


@cache
def table_of(gamma, dtype):
    """Return the kernel of all rows with the first 300."""
    return reference.gram("rbf", ROWS.astype(dtype), ROWS[:300].astype(dtype), gamma=gamma)


def span(gamma, dtype=np.float64, size=300, form=np.asarray, copies=0):
    points = np.vstack([ROWS[:size], ROWS[:copies]]).astype(dtype)
    return KernelSpan(RBF(gamma), form(points))


@pytest.mark.parametrize(
    ("gamma", "dtype", "form"),
    [
        (0.02, np.float32, np.asarray),
        (0.5, np.float32, SparseRows.of_dense),
        (20.0, np.float32, np.asarray),
        (0.5, np.float64, SparseRows.of_dense),
        (0.5, np.float64, np.asarray),
    ],
)
def test_functions_are_combinations_of_the_kernels(gamma, dtype, form):
    kernels = span(gamma, dtype, form=form)
    coordinates = KernelCoordinates(kernels)
    own, rows = coordinates.basis, form(ROWS.astype(dtype))
    c = np.random.default_rng(1).standard_normal((own.size, 2))
    table = table_of(gamma, dtype)
    expected = table @ coordinates.outward(c)
    values = np.asarray(own.values(rows), dtype=np.float64)
    digits = 1e-6 if dtype == np.float64 else 2e-2
    np.testing.assert_allclose(values @ c, expected, atol=digits * np.abs(expected).max())
    # the gradient of g . T c is T' g, and coordinates are found again
    g = np.random.default_rng(2).standard_normal((300, 2))
    pulled = coordinates.gradient(g)
    assert np.sum(pulled * c) == pytest.approx(np.sum(g * coordinates.outward(c)), rel=1e-6)
    np.testing.assert_allclose(coordinates.inward(coordinates.outward(c)), c, atol=1e-6)
    # the norm is that of the kernel's space
    K = table[:300]
    coefficients = coordinates.outward(c)
    norms = np.einsum("ij,ik,kj->j", coefficients, K, coefficients)
    np.testing.assert_allclose(np.einsum("ij,ij->j", c, own.metric_product(c)), norms, rtol=1e-5)
    metric = np.zeros((own.size, own.size))
    own.add_metric([metric], 0.5)
    np.testing.assert_allclose(metric @ c, 0.5 * own.metric_product(c), atol=1e-9)
    np.testing.assert_allclose(np.diag(metric), 0.5)
    # the trace of M^-1 Z' Z
    gram = values.T @ values
    exact = np.trace(np.linalg.solve(2.0 * metric, gram))
    assert coordinates.trace(gram) == pytest.approx(exact, rel=0.2)
    again = pickle.loads(pickle.dumps(own))
    np.testing.assert_array_equal(again.values(rows), own.values(rows))


def test_wide_kernels_are_made_orthonormal_and_narrow_ones_are_left():
    narrow, wide = (KernelCoordinates(span(gamma, np.float32)).basis for gamma in (20.0, 0.05))
    assert narrow.first == 0
    assert 0 < wide.first < wide.size < 300
    # double precision sees more of the landmarks
    assert KernelCoordinates(span(0.05)).basis.size > wide.size


def test_equal_landmarks_count_once():
    coordinates = KernelCoordinates(span(20.0, size=100, copies=30))
    assert coordinates.basis.size == 100
    found = coordinates.outward(np.ones((100, 1)))
    assert found.shape == (130, 1)
    assert np.count_nonzero(found) == 100


def test_a_kernel_that_is_zero_everywhere_is_refused():
    kernels = KernelSpan(find_kernel("polynomial")(gamma=1.0, offset=0.0), np.zeros((3, 2)))
    with pytest.raises(InputError, match="is 0 at all landmarks"):
        KernelCoordinates(kernels)


def test_other_functions_are_their_own_coordinates():
    coordinates, w = Coordinates(LinearBasis(4)), np.ones((4, 1))
    assert coordinates.outward(w) is coordinates.inward(w) is coordinates.gradient(w) is w
