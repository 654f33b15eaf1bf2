"""Pegasos against its plain loop, against LIBLINEAR, and dense against sparse rows."""

import dataclasses
import math

import numpy as np
import pytest
from sklearn.svm import LinearSVC

import reference
from distkern.core.sparse import SparseRows
from distkern.core.types import Block
from distkern.maths.bases.linear import LinearBasis
from distkern.maths.features.base import KernelChoice
from distkern.maths.features.landmarks import Landmarks
from distkern.maths.features.linear import Linear
from distkern.maths.features.random import Random
from distkern.maths.kernels import find_kernel
from distkern.maths.losses import find_loss
from distkern.solvers.measuring import Model
from distkern.solvers.pegasos import Iterates, Pegasos, shrink
from distkern.solvers.risk import Risk
from distkern.solvers.streamed import measure_largest
from problems import Case, overlapping, run_stages

LINEAR = Linear()
RBF = KernelChoice(find_kernel("rbf"), 2.0)


def pegasos(case, features=LINEAR, loss="hinge", **options):
    weights = {"class_weights": case.class_weights, "mean_weight": case.mean_weight}
    return Pegasos(Risk(find_loss(loss)(), case.n_outputs, **weights), features, **options)


def plain_loop(solver, case, pieces, values):
    """Return the average and the last w of the paper's loop, one dense vector for each output."""
    n, k = case.signs.shape
    loss, rows = reference.LOSSES[solver.risk.loss.name], np.column_stack([values, np.ones(n)])
    if not solver.fit_intercept:
        rows[:, -1] = 0
    weights = case.scaled_weights
    curvature = solver.risk.loss.curvature
    largest = max(weights[i] * np.sum(rows[i, :-1] ** 2) for i in range(n))
    constant = weights.max() if solver.fit_intercept else 0.0
    offset = curvature * (largest + constant) / solver.lam if math.isfinite(curvature) else 0.0
    radius = math.sqrt(min(solver.risk.loss.norm_bound, 2 * loss(0.0, 1.0)[0]) / solver.lam)
    w, total, count, t = np.zeros((k, rows.shape[1])), 0.0, 0.0, 0
    for piece in pieces:
        for start in range(0, len(piece), solver.batch_size):
            batch = piece[start : start + solver.batch_size]
            t += 1
            eta = 1 / (solver.lam * (offset + t))
            step = np.zeros_like(w)
            for i in batch:
                for j in range(k):
                    step[j] += weights[i] * loss(w[j] @ rows[i], case.signs[i, j])[1] * rows[i]
            w = (1 - eta * solver.lam) * w - eta / len(batch) * step
            for j in range(k):
                norm = np.linalg.norm(w[j])
                if solver.projection and norm > radius:
                    w[j] *= radius / norm
            share = 0.0 if solver.averaging is None else float(t) ** solver.averaging
            total, count = total + share * w, count + share
    return (w if solver.averaging is None else total / count), w


def assert_equals_plain_loop(solver, case, values=None):
    states, runner = run_stages(solver, case)
    pieces = [piece for stage in runner.sampled for piece in stage]
    model, last = plain_loop(solver, case, pieces, case.features if values is None else values)
    found = np.vstack([states[-1].coefficients, states[-1].intercept])
    np.testing.assert_allclose(found, model.T, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(states[-1].scale * states[-1].vectors, last.T, rtol=1e-10, atol=1e-10)
    w = states[-1].scale * states[-1].vectors
    np.testing.assert_allclose(states[-1].norms * states[-1].scale ** 2, (w**2).sum(axis=0), rtol=1e-8)
    return states


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "odm"])
@pytest.mark.parametrize("batch_size", [1, 7])
@pytest.mark.parametrize("averaging", [0, 3, None])
def test_equals_the_plain_loop(loss, batch_size, averaging):
    case = overlapping(60, 3)
    solver = pegasos(
        case, loss=loss, lam=0.02, batch_size=batch_size, averaging=averaging, stages=3, steps_per_stage=77
    )
    assert_equals_plain_loop(solver, case)


@pytest.mark.parametrize(
    "options",
    [
        {"projection": False},
        {"fit_intercept": False},
        {"order": "iid"},
        {"steps_per_stage": 1.5, "batch_size": 4},
    ],
)
def test_equals_the_plain_loop_with_options(options):
    case = overlapping(60, 3)
    assert_equals_plain_loop(pegasos(case, lam=0.02, stages=2, **options), case)


@pytest.mark.parametrize("classes", [2, 4])
def test_equals_the_plain_loop_with_weights_and_several_classes(classes):
    case = overlapping(70, 3, classes=classes)
    case.raw_weights = np.random.default_rng(0).uniform(0.2, 3.0, 70)
    case.class_weights = np.linspace(0.5, 2.0, classes)
    assert_equals_plain_loop(pegasos(case, lam=0.01, batch_size=3, stages=3), case)


@pytest.mark.parametrize("features", [Landmarks(RBF, 12), Random(RBF, n_features=30)])
def test_equals_the_plain_loop_over_features_of_a_kernel(features):
    case = overlapping(60)
    solver = pegasos(case, features, lam=0.02, stages=2)
    basis = features.basis(case.problem, run_stages(solver, case)[0][0].landmarks, 2.0)
    assert_equals_plain_loop(solver, case, basis.values(case.features))


def as_sparse(case):
    rows = SparseRows.of_dense(case.features)

    class Sparse(Case):
        @property
        def problem(self):
            return dataclasses.replace(super().problem, sparse_numbers=2 + 2 * rows.n_entries // len(rows))

    fields = {field.name: getattr(case, field.name) for field in dataclasses.fields(case)}
    return Sparse(**{**fields, "features": rows})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("batch_size", [1, 5])
def test_sparse_rows_give_the_bits_of_dense_ones(dtype, classes, batch_size):
    case = overlapping(120, 9, classes=classes, dtype=dtype)
    case.features[np.random.default_rng(1).random(case.features.shape) < 0.6] = 0
    options = {"lam": 0.003, "batch_size": batch_size, "stages": 3, "steps_per_stage": 1.0}
    dense = run_stages(pegasos(case, **options), case)[0][-1]
    thin = as_sparse(case)
    sparse = run_stages(pegasos(thin, **options), thin)[0][-1]
    for name in ("vectors", "early", "scale_sum", "norms", "coefficients", "intercept"):
        np.testing.assert_array_equal(getattr(sparse, name), getattr(dense, name))
    assert sparse.objective == pytest.approx(dense.objective, rel=1e-5)
    assert sparse.accesses == dense.accesses == 3 * 120 * 9
    # zeros of dense rows do not count either
    assert sparse.accesses_nonzero == dense.accesses_nonzero == 3 * np.count_nonzero(case.features)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("averaging", [1, 3])
def test_comes_within_one_percent_of_liblinear(form, averaging):
    case = overlapping(400, 8)
    if form == "sparse":
        case.features[np.random.default_rng(1).random(case.features.shape) < 0.7] = 0
    lam, y = 0.01, case.signs[:, 0]
    exact = LinearSVC(loss="hinge", C=1 / (400 * lam), dual=True, tol=1e-8, max_iter=1_000_000)
    exact.fit(case.features, y)
    margins = y * exact.decision_function(case.features)
    w = np.append(exact.coef_, exact.intercept_)
    optimum = lam / 2 * (w @ w) + np.maximum(0, 1 - margins).mean()
    case = as_sparse(case) if form == "sparse" else case
    solver = pegasos(case, lam=lam, averaging=averaging, stages=1, steps_per_stage=60.0)
    assert optimum - 1e-9 <= run_stages(solver, case)[0][-1].objective < 1.01 * optimum


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_the_largest_row_bounds_the_steps(form):
    case = overlapping(50, 3)
    rows = SparseRows.of_dense(case.features) if form == "sparse" else case.features
    weights = np.linspace(0.1, 2.0, 50)
    model = Model(LinearBasis(3, np.float64), np.zeros((3, 1)), Risk(find_loss("odm")()), np.zeros(1))
    found = measure_largest(Block(rows, case.codes, weights), model)
    assert found.largest == pytest.approx(max(weights * (case.features**2).sum(axis=1)))


def test_a_flush_changes_neither_w_nor_the_average():
    generator = np.random.default_rng(0)
    v, early = generator.normal(size=(2, 4, 2))
    scale, scale_sum = np.array([1.5e-6, 0.3]), np.array([7.0, 2.0])
    norms = (v**2).sum(axis=0)
    w, average = scale * v, scale_sum * v - early
    shrink(0.5, Iterates(v, early, scale, scale_sum, norms, np.zeros(1)))
    assert scale[0] == 1.0
    assert scale[1] == 0.15
    np.testing.assert_allclose(scale * v, 0.5 * w)
    np.testing.assert_allclose(scale_sum * v - early, average)
    np.testing.assert_allclose(norms, (v**2).sum(axis=0))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_millions_of_steps_keep_their_precision(form):
    """Without rescaling, the scale would fall below 1e-6 after a million steps."""
    case = overlapping(4000, 2)
    case = as_sparse(case) if form == "sparse" else case
    solver = pegasos(case, lam=0.05, stages=1, steps_per_stage=2_300_000)
    state = run_stages(solver, case)[0][-1]
    assert np.all(state.scale > 1e-7)
    shorter = run_stages(dataclasses.replace(solver, steps_per_stage=200_000), case)[0][-1]
    np.testing.assert_allclose(state.coefficients, shorter.coefficients, atol=2e-3)
    w = state.scale * state.vectors
    np.testing.assert_allclose(state.norms * state.scale**2, (w**2).sum(axis=0), rtol=1e-9)


def test_a_stage_is_one_pass_or_enough_steps_to_forget_the_first():
    case = overlapping(100)
    assert pegasos(case, lam=0.1).rows_of_stage(case.problem) == 100
    assert pegasos(case, lam=1e-3).rows_of_stage(case.problem) == 1000
    assert pegasos(case, lam=1e-9, batch_size=2).rows_of_stage(case.problem) == 2 * 2**14
    assert pegasos(case, steps_per_stage=70).rows_of_stage(case.problem) == 70
    assert pegasos(case, steps_per_stage=0.125).rows_of_stage(case.problem) == 13
