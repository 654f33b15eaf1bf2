"""NORMA: a plain loop over all kernel values, exact minima, truncation, parties and resumption."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

import distkern
from distkern.core.errors import InputError
from distkern.maths.features.base import KernelChoice
from distkern.maths.features.landmarks import Support
from distkern.maths.features.linear import Linear
from distkern.maths.features.random import Random
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.solvers.base import Trouble
from distkern.solvers.compare.kernel_norma import KernelNORMA
from distkern.solvers.compare.norma import NORMA
from distkern.solvers.risk import Risk
from feature_problems import (
    all_rows,
    dense_and_sparse,
    keeps_its_bits,
    nu_of,
    problem_of,
    targets_of,
    train,
    waves,
)

RBF = KernelChoice(find_kernel("rbf"), 2.0)
NU = 1e-2


def solver(loss="logistic", outputs=1, *, risk=None, max_support=20_000, features=None, **settings):
    risk = risk or Risk(find_loss(loss)(), outputs)
    kind = KernelNORMA if features is None else NORMA
    defaults = {"nu": NU, "batch_size": 10, "stages": 3, "step_size": 1.0, "step_decay": 0.005}
    return kind(risk, features or Support(RBF, max_support), **{**defaults, **settings})


def met(state, x):
    """Return the rows in the order of the stage's steps; every one stays in the expansion."""
    np.testing.assert_array_equal(state.landmarks, x[state.places])
    return state.places.tolist()


def plain_loop(subject, kernel, y, s, order, batches):
    """Return the coefficient of each row."""
    coefficients, start = np.zeros(y.shape), 0
    for step, size in enumerate(batches, start=1):
        rows = order[start : start + size]
        gamma = subject.step_size / np.sqrt(1.0 + subject.step_decay * (step - 1))
        slopes = s[rows, None] * subject.risk.loss.row_slopes(kernel[rows] @ coefficients, y[rows])
        coefficients *= 1 - gamma * subject.nu
        coefficients[rows] -= gamma / size * slopes
        start += size
    return coefficients


@pytest.mark.parametrize(("loss", "classes", "outputs"), [("logistic", 2, 1), ("softmax", 3, 3)])
def test_equals_a_plain_loop(loss, classes, outputs):
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 640)
    blocks = waves(640, classes=classes, weights=weights)
    subject = solver(risk=Risk(find_loss(loss)(), outputs, None, float(weights.mean())))
    states, _ = train(subject, blocks)
    x, y, s = all_rows(blocks), targets_of(subject, blocks), weights / weights.mean()
    stages = [met(state, x) for state in states[1:]]
    assert [sorted(order) == list(range(640)) for order in stages] == [True] * 3
    assert stages[0] != stages[1]
    kernel = rbf_kernel(x, gamma=2.0)
    # blocks of 64 rows: 6 batches of 10 and one of 4
    wanted = plain_loop(subject, kernel, y, s, np.concatenate(stages), ([10] * 6 + [4]) * 30)
    last = states[-1]
    assert last.step == 210
    np.testing.assert_allclose(last.coefficients, wanted[last.places], rtol=0, atol=1e-12)
    f = kernel @ wanted
    norm = 0.5 * NU * np.einsum("ij,ij->", wanted, f)
    objective = norm + np.mean(s * subject.risk.loss.row_values(f + last.center, y))
    assert last.objective == pytest.approx(objective, rel=1e-9)


def test_comes_near_the_minimum():
    blocks = waves()
    subject = solver("square", nu=0.1, batch_size=4, stages=6)
    last = train(subject, blocks)[0][-1]
    x, y = all_rows(blocks), targets_of(subject, blocks)
    kernel = rbf_kernel(x, gamma=2.0)
    exact = KernelRidge(alpha=0.1 * len(y), kernel="precomputed").fit(kernel, y).dual_coef_
    f = kernel @ exact
    minimum = 0.05 * float(np.sum(exact * f)) + 0.5 * np.mean((f - y) ** 2)
    assert minimum < last.objective < 1.05 * minimum


def test_the_oldest_rows_leave_a_full_expansion():
    blocks = waves(classes=2)
    states, _ = train(solver(max_support=100), blocks)
    full, _ = train(solver(), blocks)
    assert [len(state.landmarks) for state in states] == [0, 100, 100, 100]
    # which rows are met does not depend on what is forgotten
    np.testing.assert_array_equal(states[-1].landmarks, full[-1].landmarks[-100:])
    assert not np.array_equal(states[-1].coefficients, full[-1].coefficients[-100:])
    assert states[-1].step == full[-1].step


def test_no_row_enters_a_full_expansion_where_none_fades():
    """With falling steps and a small nu the oldest coefficient has not shrunk."""
    blocks = waves(classes=2)
    how = {"max_support": 100, "nu": 1e-6, "step_size": 8.0, "stages": 8}
    states, _ = train(solver(**how, step_decay=None), blocks)
    full, _ = train(solver(**{**how, "max_support": 20_000}, step_decay=None), blocks)
    kept = [state.landmarks[np.lexsort(state.landmarks.T)] for state in states[1:]]
    assert all(np.array_equal(rows, kept[0]) for rows in kept)
    # they are the first ones that have their turn
    first = full[1].landmarks[:100]
    np.testing.assert_array_equal(kept[0], first[np.lexsort(first.T)])
    dropping, _ = train(solver(**how, step_decay=1e-12), blocks)
    assert states[-1].objective < 0.5 * states[0].objective
    assert dropping[-1].objective > 1.5 * states[-1].objective


def test_rows_without_a_slope_are_left_out():
    blocks = waves(classes=2)
    last = train(solver("hinge", stages=2), blocks)[0][-1]
    assert len(last.landmarks) < sum(block.n_rows for block in blocks)
    assert last.coefficients.any(axis=1).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_parties_lost_workers_and_resumption_change_no_bit(dtype):
    keeps_its_bits(solver("softmax", 3, max_support=500), waves(classes=3, dtype=dtype))


def test_over_explicit_features_it_is_stochastic_gradient_descent():
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 300)
    blocks = waves(300, classes=3, weights=weights)
    risk = Risk(find_loss("softmax")(), 3, None, float(weights.mean()))
    subject = solver(risk=risk, features=Random(RBF, 64))
    states, runner = train(subject, blocks)
    basis = subject.basis(problem_of(blocks, 3), states[0].landmarks, states[0].gamma)
    z = np.concatenate([basis.values(block.features) for block in blocks])
    y, s = targets_of(subject, blocks), weights / weights.mean()
    w, step, nu = np.zeros((65, 3)), 0, nu_of(subject, z)
    order = np.concatenate([rows for stage in runner.sampled for rows in stage])
    for start in range(0, 900, 10):
        rows, step = order[start : start + 10], step + 1
        gamma = 1 / np.sqrt(1 + 0.005 * (step - 1))
        slopes = s[rows, None] * risk.loss.row_slopes(z[rows] @ w, y[rows])
        w = (1 - gamma * nu) * w - gamma / 10 * z[rows].T @ slopes
    np.testing.assert_allclose(states[-1].coefficients, w, rtol=0, atol=1e-12)
    assert states[-1].step == step


@pytest.mark.parametrize("features", [None, Linear()])
def test_sparse_rows_as_dense_ones(features):
    dense, sparse = (train(solver(features=features), blocks)[0][-1] for blocks in dense_and_sparse())
    np.testing.assert_allclose(dense.coefficients, sparse.coefficients, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [distkern.NORMARegressor, distkern.SDCARegressor])
def test_constant_targets_take_one_row(kind):
    x = np.random.default_rng(0).random((30, 2))
    model = kind(features="kernel", random_state=0).fit(x, np.full(30, 3.0))
    np.testing.assert_allclose(model.predict(x), 3.0, rtol=1e-6)
    assert len(model.landmarks_) == 1


def test_steps_that_turn_the_model_round_are_refused():
    with pytest.raises(InputError, match=r"step_size: 1 times nu 2 exceeds 1.*use 0\.5 or less"):
        solver(nu=2.0)
    assert [solver(loss, step_size=None).first_step for loss in ("logistic", "hinge")] == [8.0, 4.0]
    assert solver().hint(Trouble.DIVERGED) == "set step_size=0.1"
