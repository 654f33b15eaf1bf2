"""What holds of the random features of every kernel by every sampler."""

import dataclasses
import pickle
import tracemalloc

import numpy as np
import pytest
from formulas import CONTRACT

from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.core.tiles import release
from distkern.maths.bases import random_features
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.kernels import FEATURE_KERNELS, find_kernel
from distkern.maths.samplers import SAMPLERS, Draws, find_sampler

#: of the defaults of these, 300 draws say little: other parameters are tried below
HEAVY = ("exponential_semigroup", "matern")
KERNELS = [
    *(find_kernel(name)() for name in FEATURE_KERNELS if name not in HEAVY),
    find_kernel("rbf")(gamma=0.3),
    find_kernel("matern")(gamma=0.6),
    find_kernel("matern")(smoothness=0.5),
    find_kernel("polynomial")(gamma=0.7, degree=2, offset=0.0),
    find_kernel("arc_cosine")(degree=0),
    find_kernel("arc_cosine")(degree=2),
    find_kernel("skewed_chi2")(offset=0.3),
    find_kernel("dot_product")(gamma=0.8, coefficients=(0.5, 0.0, 2.0)),
    find_kernel("exponential_semigroup")(rate=0.3),
    find_kernel("reciprocal_semigroup")(offset=2.5),
]


def suits(kernel, sampler):
    try:
        RandomFeatureBasis(kernel, 5, 64, 1, sampler)
    except InputError:
        return False
    return True


def has_pairs(kernel):
    """Whether there are cosines and sines of the same arguments, of a kernel that is 1 at distance 0."""
    rows = np.random.default_rng(0).random((5, 5))
    return kernel.columns_per_draw == 2 and np.allclose(np.diagonal(kernel.closed_form(rows, rows)), 1)


def label(value):
    return value if isinstance(value, str) else f"{value}"


ALL = [(kernel, sampler) for kernel in KERNELS for sampler in SAMPLERS]
BOTH = [both for both in ALL if suits(*both)]
UNSUITED = [both for both in ALL if not suits(*both)]
STATIONARY = [both for both in BOTH if has_pairs(both[0])]
every_pair = pytest.mark.parametrize(("kernel", "sampler"), BOTH, ids=label)


def test_which_samplers_suit():
    rotations, no_numbers = {"rbf", "matern", "arc_cosine"}, {"dot_product", "polynomial", "hellinger"}
    assert all(suits(kernel, "monte_carlo") for kernel in KERNELS)
    for kernel in KERNELS:
        if kernel.name in CONTRACT:
            for sampler in ("orthogonal", "fastfood"):
                assert suits(kernel, sampler) == (kernel.name in rotations)
            assert suits(kernel, "quasi_monte_carlo") == (kernel.name not in no_numbers)
    assert {kernel.name for kernel in KERNELS if has_pairs(kernel)} >= {
        "rbf",
        "laplacian",
        "cauchy",
        "matern",
        "skewed_chi2",
        "skewed_intersection",
    }


def rows_of(kernel, n, d=5, seed=0, dtype=np.float64):
    generator = np.random.default_rng(seed)
    rows = (
        generator.random((n, d)) if kernel.lower_bound > -np.inf else 0.5 * generator.standard_normal((n, d))
    )
    rows[1] *= generator.random(d) < 0.6
    return rows.astype(dtype)


def deviations(kernel, sampler, *, n_seeds=100, n_features=192):
    """Mean of products of features, their standard errors and the closed form, of 4 pairs of rows."""
    rows = rows_of(kernel, 8)
    products = np.empty((n_seeds, 4))
    for seed in range(n_seeds):
        basis = RandomFeatureBasis(kernel, 5, n_features, 1000 + seed, sampler, np.float64)
        values = np.empty((8, n_features))
        basis.fill(rows, values)
        products[seed] = np.einsum("ij,ij->i", values[:4], values[4:])
    error = products.std(axis=0, ddof=1) / np.sqrt(n_seeds)
    exact = np.diagonal(kernel.closed_form(rows[:4], rows[4:]))
    return products.mean(axis=0), error, exact


@every_pair
def test_products_of_features_are_the_kernel_on_average(kernel, sampler):
    """Within 3 standard errors, which a constant wrong by a fifth would leave."""
    mean, error, exact = deviations(kernel, sampler)
    assert np.all(np.abs(mean - exact) < 3 * error + 1e-9)
    assert np.any(np.abs(mean - 1.2 * exact) > 3 * error)
    assert np.any(np.abs(mean - exact / 1.2) > 3 * error)


def test_a_wrong_constant_is_noticed():
    """The table's Cauchy density, which has mass 2^5, and its chi-square's double."""
    for name, factor in (("cauchy", 2.0**-5), ("chi2", 2.0), ("skewed_chi2", 2.0**4)):
        mean, error, exact = deviations(find_kernel(name)(), "monte_carlo", n_seeds=40)
        assert np.all(np.abs(mean - factor * exact) > 3 * error)


@every_pair
def test_blocks_are_the_same_bits_in_any_order_and_process(kernel, sampler):
    rows = rows_of(kernel, 40, dtype=np.float32)
    make = pickle.dumps(RandomFeatureBasis(kernel, 5, 96, 7, sampler, block_size=32))
    forwards, backwards = np.empty((3, 40, 32), np.float32), np.empty((3, 40, 32), np.float32)
    random_features.blocks.clear()
    for block in range(3):
        pickle.loads(make).fill_block(rows, block, forwards[block])
    random_features.blocks.clear()
    basis = pickle.loads(make)
    for block in (2, 0, 1):
        basis.fill_block(rows, block, backwards[block])
    np.testing.assert_array_equal(forwards, backwards)
    assert not np.array_equal(forwards[0], forwards[1])
    whole = np.empty((40, 96), np.float32)
    basis.fill(rows, whole)
    np.testing.assert_array_equal(whole, np.concatenate(forwards, axis=1))


@every_pair
def test_single_columns_are_those_of_the_whole(kernel, sampler):
    rows = rows_of(kernel, 40, dtype=np.float32)
    columns = np.array([95, 3, 3, 40, 17, 70])
    for forget in (True, False):
        basis = RandomFeatureBasis(kernel, 5, 96, 7, sampler, block_size=32)
        if forget:
            random_features.blocks.clear()
        single = basis.columns(rows, columns)
        whole = np.empty((40, 96), np.float32)
        basis.fill(rows, whole)
        np.testing.assert_allclose(single, whole[:, columns].T, atol=2e-6 * max(1.0, np.abs(whole).max()))


@every_pair
def test_sparse_rows_and_float64_have_the_same_features(kernel, sampler):
    """Also where the arguments are large, as those of frequencies without a mean are."""
    rows = rows_of(kernel, 60, dtype=np.float32)
    basis = RandomFeatureBasis(kernel, 5, 64, 1, sampler)
    dense, sparse, exact = np.empty((60, 64), np.float32), np.empty((60, 64), np.float32), np.empty((60, 64))
    basis.fill(rows, dense)
    basis.fill(SparseRows.of_dense(rows), sparse)
    RandomFeatureBasis(kernel, 5, 64, 1, sampler, np.float64).fill(rows.astype(np.float64), exact)
    size = max(1.0, np.abs(exact).max())
    np.testing.assert_allclose(sparse, dense, atol=1e-6 * size)
    if kernel.name == "arc_cosine" and kernel.degree == 0:
        # a step: an inner product next to 0 may fall to either side
        assert np.mean(np.abs(dense - exact) > 1e-6) < 1e-3
    else:
        np.testing.assert_allclose(dense, exact, atol=1e-5 * size)


@pytest.mark.parametrize(("kernel", "sampler"), STATIONARY, ids=label)
def test_pairs_of_a_stationary_kernel_have_length_one(kernel, sampler):
    rows = rows_of(kernel, 30, dtype=np.float32)
    for normalize, n_blocks in (("basis", 1.0), ("block", 3.0)):
        basis = RandomFeatureBasis(kernel, 5, 96, 3, sampler, block_size=32, normalize=normalize)
        values = np.empty((30, 96), np.float32)
        basis.fill(rows, values)
        np.testing.assert_allclose(np.square(values).sum(axis=1), n_blocks, rtol=1e-5)


@pytest.mark.parametrize(("kernel", "sampler"), UNSUITED, ids=label)
def test_a_sampler_that_does_not_suit_is_refused_at_once(kernel, sampler):
    with pytest.raises(
        InputError, match=f"sampler {sampler} (supports only|does not support) .*use .*monte_carlo"
    ):
        RandomFeatureBasis(kernel, 5, 64, 1, sampler)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_draws_of_a_block_are_gaussian_and_differ_by_seed_and_block(sampler):
    seen = []
    for seed, block in ((1, 0), (1, 1), (2, 0)):
        draws = Draws(find_sampler(sampler), seed, block, 2048, 6)
        frequencies, extra = draws.gaussians(2)
        values = np.empty((6, 2048))
        frequencies.project(np.eye(6), values)
        seen.append(values)
        assert extra.shape == (2048, 2)
        np.testing.assert_allclose(extra.mean(axis=0), 0.0, atol=0.08)
        np.testing.assert_allclose(values.mean(axis=1), 0.0, atol=0.1)
        np.testing.assert_allclose(values @ values.T / 2048, np.eye(6), atol=0.15)
        np.testing.assert_allclose(np.mean(values**4, axis=1), 3.0, atol=1.0)
    assert not np.array_equal(seen[0], seen[1])
    assert not np.array_equal(seen[0], seen[2])


def test_the_draws_are_the_same_for_ever():
    """Words of Philox, of seed 11 and block 3: what models on disk rely on."""
    draws = Draws(find_sampler("monte_carlo"), 11, 3, 4, 3)
    frequencies, _ = draws.gaussians()
    values = np.empty((3, 4))
    frequencies.project(np.eye(3), values)
    expected = np.array(EXPECTED)
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    some = dataclasses.replace(draws, chosen=(2, 0)).uniforms(3)
    np.testing.assert_array_equal(some, draws.uniforms(3)[[2, 0]])


EXPECTED = [
    [-0.4521932190449754, -0.6401942589877347, -0.24779175359665262, 0.11763877928896085],
    [-0.016149963798279862, -0.0993456644962916, -0.2531970121678384, -2.067496593801321],
    [-1.2555148285095274, -0.5426877823698684, 0.270375140611234, -1.343082600053703],
]


def traced_peak(work, *arguments):
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    work(*arguments)
    return tracemalloc.get_traced_memory()[1] - before


@pytest.mark.parametrize("n_input", [20, 400])
@every_pair
def test_a_block_and_a_tile_take_no_more_than_the_basis_says(kernel, sampler, n_input):
    basis = RandomFeatureBasis(kernel, n_input, 256, 3, sampler, block_size=128)
    rows = np.random.default_rng(0).random((64, n_input), dtype=np.float32) + 0.1
    random_features.blocks.clear()
    release()
    tracemalloc.start()
    try:
        # what is imported for it is not of the block
        basis._kept(1)
        made = traced_peak(basis._kept, 0)
        filled = traced_peak(lambda: list(basis.tiles(rows, tile_rows=64)))
    finally:
        tracemalloc.stop()
    assert made <= basis.process_bytes - basis.sampler.process_bytes + 2**15
    assert filled <= basis.workspace_bytes(n_input, 64) + 2**15
