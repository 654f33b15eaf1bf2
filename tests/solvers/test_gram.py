"""Gram matrices summed over rows in passes, and their factorisations."""

import pickle

import numpy as np
import pytest

from distkern.core.sparse import SparseRows
from distkern.core.types import Block
from distkern.maths.bases.gram import GramSum
from distkern.maths.features import GIVEN_FEATURES
from distkern.maths.features.base import KernelChoice
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.passes import Reduce
from distkern.solvers.base import Problem
from distkern.solvers.gram import Grams, Weighed, solved, with_slopes
from distkern.solvers.measuring import Model, sums_and_slopes
from distkern.solvers.risk import Risk
from distkern.solvers.sample import RowSample
from feature_problems import features_of_kind
from reference import PlainRunner, cut_blocks

RBF = KernelChoice(find_kernel("rbf"), 0.5)
SIZES = (1500, 700, 100)
ROWS = sum(SIZES)


def weighed_twice(model, rows, values):
    """Weigh rows for two matrices, with the slopes of a model with an intercept."""
    predictions = (values @ model.coefficients.astype(values.dtype)) + model.intercept.astype(values.dtype)
    sums, slopes = sums_and_slopes(model.risk, rows, predictions)
    return Weighed((model.risk.weights(rows), np.abs(predictions[:, 0].astype(np.float64))), sums, slopes)


def given(kind, dtype=np.float64, *, sparse=False, n_features=600):
    """Return weighted rows, their blocks, the problem and features of a kind."""
    generator = np.random.default_rng(0)
    X = generator.standard_normal((ROWS, 5)).astype(dtype)
    weights, targets = generator.uniform(0.5, 2.0, ROWS), generator.standard_normal(ROWS)
    rows = SparseRows.of_dense(X) if sparse else X
    problem = Problem(
        SIZES, 5, X.dtype, 3, n_outputs=1, has_test=False, sparse_numbers=12 if sparse else None
    )
    features = features_of_kind(kind, RBF, n_features=n_features, n_landmarks=40)
    return X, weights, targets, cut_blocks(rows, targets, SIZES, weights), problem, features


def made(blocks, problem, features, risk, grams, coefficients=None, intercept=None):
    runner = PlainRunner(blocks)
    basis = features.basis(problem, *runner.run(features.begin(problem)))
    coefficients = np.zeros((basis.size, 1)) if coefficients is None else coefficients(basis.size)
    model, before = Model(basis, coefficients, risk, intercept), len(runner.steps)
    footprint = features.footprint(problem)
    matrices, sums = runner.run(grams.matrices(problem, model, footprint))
    return basis, matrices, sums, runner.steps[before:], grams.outline(problem, footprint)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("kind", GIVEN_FEATURES)
@pytest.mark.parametrize("strip_bytes", [2**24, 8 * 30 * 7])
def test_matrices_and_gradients_are_those_of_all_values(kind, sparse, strip_bytes):
    X, weights, targets, blocks, problem, features = given(kind, sparse=sparse, n_features=64)
    risk = Risk(find_loss("square")(), mean_weight=weights.mean())
    grams = Grams(weighed_twice, 2, constant=True, strip_bytes=strip_bytes)
    basis, matrices, sums, steps, outline = made(
        blocks,
        problem,
        features,
        risk,
        grams,
        lambda size: np.random.default_rng(1).standard_normal((size, 1)),
        np.array([0.3]),
    )
    z = np.empty((ROWS, basis.size))
    basis.fill(X, z)
    z = np.column_stack([z, np.ones(ROWS)])
    f = z @ np.append(np.random.default_rng(1).standard_normal(basis.size), 0.3)
    s = weights / weights.mean()
    np.testing.assert_allclose(matrices[0], z.T @ (s[:, None] * z), atol=1e-9)
    np.testing.assert_allclose(matrices[1], z.T @ (np.abs(f)[:, None] * z), atol=1e-8)
    slopes = find_loss("square")().row_slopes(f[:, None], targets[:, None])
    np.testing.assert_allclose(sums.gradient, z.T @ (s[:, None] * slopes), atol=1e-8)
    assert sums.n_rows == ROWS
    assert all(matrix.flags.f_contiguous for matrix in matrices)
    # as many passes as are outlined, of what is outlined, however many columns fit
    assert len(steps) == outline.times == len(grams.strips(basis.size))
    assert (len(steps) > 1) == (strip_bytes < 2**24 and basis.size > 7)
    for step in steps:
        assert isinstance(step, Reduce)
        assert step.cost == outline.step.cost
        assert pickle.loads(pickle.dumps(step.operand)).strip == step.operand.strip


def test_normal_equations_are_one_pass():
    """The least squares of weighted rows, from the slopes and the matrix at 0."""
    X, weights, targets, blocks, problem, features = given("linear")
    risk = Risk(find_loss("square")(), mean_weight=weights.mean())
    _, (gram,), sums, steps, _ = made(blocks, problem, features, risk, Grams(with_slopes))
    found = -solved(risk.loss.curvature * gram, 0.0)(sums.gradient)
    roots = np.sqrt(weights)[:, None]
    wanted = np.linalg.lstsq(roots * X, roots[:, 0] * targets, rcond=None)[0]
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-9)
    assert len(steps) == 1
    assert sums.losses == pytest.approx(
        risk.values(np.zeros((ROWS, 1)), targets[:, None], weights / weights.mean()).sum()
    )


def test_products_are_of_single_precision_and_sums_are_not():
    X, _, _, blocks, problem, features = given("random", np.float32)
    _, (gram,), *_ = made(blocks, problem, features, Risk(find_loss("square")()), Grams())
    basis = features.basis(problem, np.empty((0, 5)), 0.5)
    z = basis.values(X).astype(np.float64)
    s = np.concatenate([block.weights for block in blocks])
    exact = z.T @ (s[:, None] * z)
    assert gram.dtype == np.float64
    assert 1e-10 < np.abs(gram - exact).max() / exact.max() < 1e-6


def test_rows_that_do_not_count_are_left_out():
    values = np.random.default_rng(0).standard_normal((40, 6))
    weights = np.where(np.arange(40) % 4, 0.0, 2.5)
    for own in (weights, np.zeros(40)):
        total = GramSum(6)
        before = values.copy()
        total.add(values, own)
        np.testing.assert_allclose(total.parts[0], values.T @ (own[:, None] * values), atol=1e-12)
        np.testing.assert_array_equal(values, before)


def test_a_sample_takes_its_rows_alone():
    _, _, _, blocks, problem, features = given("linear")
    plain = [Block(block.features, block.targets, None, block.index) for block in blocks]
    sample = RowSample((0, 2), 80, 7)
    _, _, sums, steps, outline = made(
        plain, problem, features, Risk(find_loss("square")()), Grams(sample=sample)
    )
    assert sums.n_rows == 160
    assert steps[0].blocks == outline.step.blocks == (0, 2)
    whole = Grams().cost(problem, features.footprint(problem))
    assert outline.step.cost.operations < 0.1 * whole.operations


@pytest.mark.parametrize("size", [1, 7, 513, 1500, 4096])
@pytest.mark.parametrize("n_matrices", [1, 3])
def test_strips_are_all_columns_and_within_their_bytes(size, n_matrices):
    grams = Grams(n_matrices=n_matrices, strip_bytes=2**22)
    strips = grams.strips(size)
    assert strips[0][0] == 0
    assert strips[-1][1] == size
    assert [stop for _, stop in strips[:-1]] == [start for start, _ in strips[1:]]
    assert all(start < stop for start, stop in strips)
    features = features_of_kind("linear", None)
    problem = Problem((10,), size, np.dtype(np.float32), 0, n_outputs=1, has_test=False)
    cost = grams.cost(problem, features.footprint(problem))
    assert cost.result_bytes <= 2**22 + 8 * (size + 1) * (n_matrices + 1)
