"""Parts of SVRG: passes in tiles, the sampled metric and batches."""

import gc
import tracemalloc

import numpy as np
import pytest

from distkern.core import tiles
from distkern.core.errors import InputError
from distkern.core.sparse import SparseRows
from distkern.core.types import Block
from distkern.maths.bases import base
from distkern.maths.bases.base import add_transposed, product
from distkern.maths.bases.landmarks import LandmarkBasis, NystroemBasis
from distkern.maths.bases.linear import LinearBasis
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.features.base import KernelChoice
from distkern.maths.features.random import Random
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.solvers.base import Problem
from distkern.solvers.gram import inverted
from distkern.solvers.measuring import Model, gradient_pass, measure, measure_gradient
from distkern.solvers.risk import Risk
from distkern.solvers.svrg import first_snapshot, preconditioner, sampled_grams
from reference import PlainRunner, cut_blocks

LOGISTIC = Risk(find_loss("logistic")())
RBF = find_kernel("rbf")


def features(r, dtype=np.float64, d=4):
    return RandomFeatureBasis(RBF(0.5), d, r, 3, dtype=dtype)


def block_of(n, dtype=np.float64, d=4, weights=None):
    generator = np.random.default_rng(0)
    x = generator.standard_normal((n, d)).astype(dtype)
    return Block(x, (x[:, 0] > 0).astype(np.int32), weights)


def problem_of(sizes, d=4, dtype=np.float32, seed=0):
    return Problem(tuple(sizes), d, np.dtype(dtype), seed, n_outputs=1, has_test=False)


def test_features_by_blocks_are_those_of_whole_tiles(monkeypatch):
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 700)
    block, z = block_of(700, weights=weights), features(1500)
    w = np.random.default_rng(2).standard_normal((1500, 1))
    model = Model(z, w, LOGISTIC)
    whole = first_snapshot(block, model)
    assert not z.by_blocks
    assert whole.largest == pytest.approx(weights.max(), rel=1e-12)
    monkeypatch.setattr(base, "_MOST_TILE_BYTES", 2**16)
    assert z.by_blocks
    by_blocks = first_snapshot(block, model)
    np.testing.assert_allclose(by_blocks.gradient, whole.gradient, rtol=1e-11, atol=1e-11)
    assert by_blocks.losses == pytest.approx(whole.losses, rel=1e-12)
    assert by_blocks.errors == pytest.approx(whole.errors, rel=1e-12)
    assert by_blocks.n_rows == whole.n_rows
    assert by_blocks.largest == pytest.approx(whole.largest, rel=1e-12)
    held_out = measure(block, model)
    assert (held_out.losses, held_out.errors) == (pytest.approx(whole.losses), pytest.approx(whole.errors))


def landmarks_of(r):
    return np.random.default_rng(1).standard_normal((r, 4)).astype(np.float32)


@pytest.mark.slow
@pytest.mark.parametrize(
    "basis",
    [
        LinearBasis(4, np.float32),
        LinearBasis(200, np.float32, constant=True),
        features(300, np.float32),
        features(2**16, np.float32),
        LandmarkBasis(RBF(0.5), landmarks_of(600)),
        NystroemBasis(RBF(0.5), landmarks_of(127)),
        NystroemBasis(RBF(0.5), landmarks_of(600)),
    ],
    ids=["linear", "wide", "random", "by blocks", "landmarks", "nystroem", "large"],
)
@pytest.mark.parametrize("k", [1, 26])
def test_losses_beside_a_gradient_do_not_depend_on_where_its_tiles_end(basis, k):
    d = basis.size - 1 if isinstance(basis, LinearBasis) and basis.constant else 4
    generator, n = np.random.default_rng(2), 515 if basis.size == 2**16 else 5003
    x = generator.standard_normal((n, d)).astype(np.float32)
    labels = generator.integers(0, max(k, 2), n).astype(np.int32)
    risk = Risk(find_loss("logistic")(), n_outputs=k)
    block = Block(x, labels, generator.random(n))
    coefficients = generator.normal(0.0, 0.1, (basis.size, k))
    found = measure_gradient(block, Model(basis, coefficients, risk))
    expected = measure(block, Model(basis, coefficients, risk))
    assert found.n_rows == n
    assert found.weight == pytest.approx(expected.weight, rel=1e-12)
    assert found.losses == pytest.approx(expected.losses, rel=1e-5)
    np.testing.assert_allclose(found.errors, expected.errors, rtol=1e-3)
    predictions = basis.combine(x, coefficients)
    slopes = risk.slopes(predictions, risk.targets(block), risk.weights(block))
    scale = np.abs(found.gradient).max()
    np.testing.assert_allclose(found.gradient, basis.transposed(x, slopes), atol=1e-4 * scale)


def peak_bytes(n, r):
    """Return the peak bytes of a snapshot of n rows over r features, without the features a process keeps."""
    tiles.release()
    block, z = block_of(n, np.float32), features(r, np.float32)
    model = Model(z, np.full((r, 1), 1e-3), LOGISTIC)
    measure_gradient(block.take(slice(0, 1)), model)
    tiles.release()
    gc.collect()
    tracemalloc.start()
    measure_gradient(block, model)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    tiles.release()
    return peak


@pytest.mark.parametrize(("r", "by_blocks"), [(4096, False), (2**16, True)])
def test_a_pass_holds_a_tile_and_neither_all_rows_nor_all_features(r, by_blocks):
    n = 600
    assert features(r, np.float32).by_blocks == by_blocks
    peak = peak_bytes(n, r)
    choice = Random(KernelChoice(RBF, 0.5), r)
    problem = problem_of([n])
    stated = gradient_pass(problem, None, choice.footprint(problem)).cost
    assert peak < stated.workspace_bytes + stated.result_bytes
    # all features of these rows would take 9 and 150 MiB
    assert peak < (6 if r == 4096 else 24) * 2**20
    assert stated.workspace_bytes < 24 * 2**20


def test_memory_does_not_grow_with_the_rows():
    first, second = peak_bytes(2000, 1024), peak_bytes(8000, 1024)
    assert second < 1.3 * first


@pytest.mark.parametrize("outputs", [1, 2, 4])
def test_products_of_sparse_rows(outputs):
    generator = np.random.default_rng(0)
    dense = np.where(generator.random((50, 30)) < 0.2, generator.standard_normal((50, 30)), 0.0)
    dense[7] = 0
    sparse = SparseRows.of_dense(dense)
    w, slopes = generator.standard_normal((30, outputs)), generator.standard_normal((50, outputs))
    found, total = np.empty((50, outputs)), np.ones((30, outputs))
    product(sparse, w, found)
    add_transposed(sparse, slopes, total)
    np.testing.assert_allclose(found, dense @ w, atol=1e-13)
    np.testing.assert_allclose(total, 1 + dense.T @ slopes, atol=1e-13)


def test_the_metric_is_that_of_all_rows_where_the_sample_is_all_rows():
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    whole, z = block_of(300, weights=weights), features(24)
    blocks = cut_blocks(whole.features, whole.targets, (120, 100, 80), weights)
    problem = problem_of([120, 100, 80], dtype=np.float64)
    footprint = Random(KernelChoice(RBF, 0.5), 24).footprint(problem)
    runner = PlainRunner(blocks)
    solve = runner.run(preconditioner(problem, z, LOGISTIC, footprint, 0.25, 1e-3))
    assert runner.made == ["Gram matrix"]
    matrix = z.values(whole.features)
    metric = 0.25 * matrix.T @ (weights[:, None] * matrix) / 300 + 1e-3 * np.eye(24)
    right = np.random.default_rng(2).standard_normal((24, 2))
    np.testing.assert_allclose(metric @ solve(right), right, atol=1e-10)


def test_the_sample_has_the_wanted_rows_from_many_blocks():
    def sampled(sizes, size, **given):
        sample = sampled_grams(problem_of(sizes, **given), size).sample
        return sample.blocks, sample.rows_per_block

    blocks, per_block = sampled([5000] * 100, 2048)
    assert len(blocks) == 16
    assert blocks == tuple(sorted(set(blocks)))
    assert len(blocks) * per_block == 16384
    assert sampled([5000] * 100, 2048, seed=1)[0] != blocks
    small, per_block = sampled([100] * 500, 512)
    assert len(small) * per_block == pytest.approx(8192, rel=0.02)
    assert per_block == 100
    uneven, per_block = sampled([10, 18000, 18000], 16)
    assert len(uneven) == 3
    assert 10 + 2 * per_block == 8192
    # no more than four times the sample: all rows
    assert sampled([10, 8000, 8000], 16) == ((0, 1, 2), 8000)
    assert sampled([10, 20], 16) == ((0, 1), 20)


@pytest.mark.parametrize("outputs", [1, 3, 12])
def test_the_metric_is_inverted_in_its_own_memory(outputs):
    z = np.random.default_rng(0).standard_normal((600, 400))
    gram = np.asfortranarray(z.T @ z / 600)
    metric = gram + 0.1 * np.eye(400)
    right = np.random.default_rng(1).standard_normal((400, outputs))
    inverted(np.eye(2, order="F"), 0.0)
    tracemalloc.start()
    solve = inverted(gram, 0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.1 * gram.nbytes
    found = solve(right)
    assert found.flags.c_contiguous
    np.testing.assert_allclose(metric @ found, right, atol=1e-11)


def test_a_singular_metric_is_damped_until_it_is_not():
    z = np.random.default_rng(0).standard_normal((5, 12))
    gram = z.T @ z
    solve = inverted(np.asfortranarray(gram), 0.0)
    right = gram @ np.ones((12, 1))
    np.testing.assert_allclose(gram @ solve(right), right, rtol=1e-4)


def test_a_metric_of_zeros_or_of_infinite_numbers():
    found = inverted(np.zeros((3, 3), order="F"), 0.0)(np.zeros((3, 1)))
    np.testing.assert_array_equal(found, 0.0)
    with pytest.raises(InputError, match="features are too large"):
        inverted(np.full((3, 3), np.inf, order="F"), 1.0)
