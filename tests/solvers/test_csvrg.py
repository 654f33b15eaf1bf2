"""CSVRG, with and without the span, against the plain loop of Algorithm 1 and against exact optima."""

import itertools
import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import reference
from distkern.core.rng import Purpose, stream
from distkern.maths.bases.landmarks import NystroemBasis
from distkern.maths.features.landmarks import Nystroem
from distkern.maths.losses import MARGIN_LOSSES
from distkern.solvers.csvrg import CSVRG, SpanCSVRG
from feature_problems import exact_minimum
from problems import Case, overlapping, run_stages, weighing_classes, weighing_rows

moved = partial(CSVRG, projection=True)


def taken(solver, case):
    """Return, for each stage, the t of the iterates whose mean is the next snapshot."""
    n_steps, stages = solver.rows_of_stage(case.problem), range(solver.stages)
    if solver.option == "I":
        return None
    if solver.option == "mean":
        return [range(n_steps - n_steps // 4, n_steps, 8) for _ in stages]
    return [[int(stream(case.seed, Purpose.OPTION_II, stage).integers(n_steps))] for stage in stages]


def landmark_coefficients(solver, state):
    if not isinstance(solver, SpanCSVRG):
        return state.coefficients
    basis = NystroemBasis(solver.features.kernel.with_gamma(state.gamma), state.landmarks)
    return basis.landmark_coefficients(state.coefficients)


def assert_equals_plain_loop(solver, case, *, kernel="rbf", gamma=2.0, atol=1e-10):
    states, runner = run_stages(solver, case)
    loss, is_span = solver.risk.loss, isinstance(solver, SpanCSVRG)
    K_rows, K_landmarks = case.grams(states[0].landmarks, kernel, gamma)
    # the ball of the span is of the norm at the minimum, that of moved gradients is larger
    square = (1 if is_span else 2) * loss.norm_bound * solver.lam
    expected = reference.csvrg(
        reference.LOSSES[loss.name],
        solver.lam,
        solver.eta(case.problem),
        K_rows,
        K_landmarks,
        case.signs,
        case.scaled_weights,
        runner.sampled,
        radius=math.sqrt(square) if solver.projection else None,
        project_every=32 * len(states[0].landmarks),
        taken=taken(solver, case),
        directions=K_rows @ np.linalg.inv(K_landmarks) if is_span else None,
    )
    assert len(states) == solver.stages + 1
    for state, sigma in zip(states[1:], expected, strict=True):
        np.testing.assert_allclose(landmark_coefficients(solver, state), sigma, atol=atol, rtol=atol)
        value = case.objective(solver, K_rows, K_landmarks, sigma)
        assert state.objective == pytest.approx(value, rel=1e-8 if is_span else 1e-10)
    return states


@pytest.mark.parametrize("loss", [name for name in MARGIN_LOSSES if name in reference.LOSSES])
@pytest.mark.parametrize("option", ["mean", "I", "II"])
@pytest.mark.parametrize("order", ["shuffled", "iid"])
def test_equals_the_plain_loop(loss, option, order):
    case = overlapping(60)
    solver = moved(
        **case.parts(loss, n_landmarks=12), stages=3, steps_per_stage=150, option=option, order=order, tol=0.0
    )
    states = assert_equals_plain_loop(solver, case)
    assert states[-1].objective < 0.95 * states[0].objective


@pytest.mark.parametrize("steps", [1, 2])
def test_equals_the_plain_loop_of_a_step_or_two(steps):
    """The mean of late iterates must not be the snapshot alone."""
    case = overlapping(60)
    states = assert_equals_plain_loop(
        moved(**case.parts(n_landmarks=12), stages=3, steps_per_stage=steps, tol=0.0), case
    )
    assert states[1].coefficients.any()


@pytest.mark.parametrize("kernel", ["laplacian", "cauchy", "matern"])
def test_equals_the_plain_loop_for_other_kernels(kernel):
    case = overlapping(40)
    solver = moved(**case.parts(kernel=kernel, n_landmarks=10, gamma=1.0), stages=2, tol=0.0)
    assert_equals_plain_loop(replace(solver, steps_per_stage=100), case, kernel=kernel, gamma=1.0)


@pytest.mark.parametrize(
    "case",
    [
        weighing_classes(weighing_rows(overlapping(60)), 0.5, 3.0),
        weighing_classes(overlapping(60, classes=3), 1.0, 2.0, 0.5),
    ],
)
def test_equals_the_plain_loop_with_weights_and_several_outputs(case):
    solver = moved(**case.parts(n_landmarks=12), stages=2, steps_per_stage=150, tol=0.0)
    states = assert_equals_plain_loop(solver, case)
    assert states[-1].coefficients.shape == (len(states[-1].landmarks), case.n_outputs)


@pytest.mark.parametrize("option", ["mean", "I", "II"])
def test_equals_the_plain_loop_where_the_projection_acts(option):
    """Steps that are too long repeatedly move w out of the ball."""
    case = overlapping(60)
    solver = moved(
        **case.parts(n_landmarks=3, lam=2.0),
        stages=3,
        steps_per_stage=400,
        step_size=0.9,
        option=option,
        tol=0.0,
    )
    states = assert_equals_plain_loop(solver, case)
    assert states[-1].projections > 3
    free = assert_equals_plain_loop(replace(solver, projection=False), case)
    assert free[-1].projections == 0
    assert np.linalg.norm(free[-1].coefficients - states[-1].coefficients) > 1e-3


def test_equals_the_plain_loop_with_steps_that_forget_everything():
    """a = (1 - eta)^t underflows within a few steps."""
    case = overlapping(30)
    solver = moved(
        **case.parts("squared_hinge", lam=0.4, n_landmarks=5),
        stages=2,
        steps_per_stage=60,
        step_size=0.999,
        tol=0.0,
    )
    assert_equals_plain_loop(solver, case)


# --- convergence --------------------------------------------------------------------------------------------


def relative_gaps(states, value):
    return np.array([state.objective for state in states]) / value - 1


@pytest.mark.parametrize("loss", ["odm", pytest.param("squared_hinge", marks=pytest.mark.slow)])
def test_linear_convergence_to_the_exact_optimum_when_every_row_is_a_landmark(loss):
    case = overlapping(500, 4)
    solver = moved(
        **case.parts(loss, lam=16.0, diameter=0.0), stages=14, steps_per_stage=2.0, step_size=None, tol=0.0
    )
    states, _ = run_stages(solver, case)
    K, _ = case.grams(case.features)
    _, optimum = reference.exact_optimum(reference.LOSSES[loss], 16.0, K, case.signs[:, 0])
    gaps = relative_gaps(states, optimum)
    assert gaps.min() > -1e-9
    assert gaps[-1] < 1e-6
    # a straight line on a logarithmic axis, down to the floor
    above = gaps[gaps > 1e-7]
    assert (above[1:] / above[:-1]).max() < 0.75
    stages, logs = np.arange(len(above)), np.log(above)
    line = np.polyfit(stages, logs, 1)
    assert line[0] < math.log(0.6)
    assert np.abs(logs - np.polyval(line, stages)).max() < 2.0


def test_single_precision_reaches_the_optimum_to_its_own_accuracy():
    case = overlapping(400, 4, dtype="float32")
    states, _ = run_stages(moved(**case.parts(lam=16.0, diameter=0.0), stages=12, steps_per_stage=2.0), case)
    K, _ = case.grams(case.features)
    _, optimum = reference.exact_optimum(reference.odm, 16.0, K, case.signs[:, 0])
    assert abs(relative_gaps(states, optimum)[-1]) < 2e-6


@pytest.mark.slow
def test_hinge_comes_near_its_optimum_and_stalls():
    case = overlapping(300)
    states, _ = run_stages(moved(**case.parts("hinge", lam=8.0, diameter=0.0), stages=8, tol=0.0), case)
    K, _ = case.grams(case.features)
    _, optimum = reference.exact_hinge_optimum(8.0, K, case.signs[:, 0])
    gaps = relative_gaps(states, optimum)
    assert 0 < gaps[-1] < 0.02


def test_fixed_point_solves_the_coreset_equation():
    """w + (lam/m) sum l'(z_i) y_i phi(c_i) = 0: sigma + mu = 0, for a real coreset."""
    case = overlapping(400, 3)
    states, _ = run_stages(
        moved(**case.parts(lam=16.0, n_landmarks=40), stages=30, steps_per_stage=3.0, tol=0.0), case
    )
    residual = [np.abs(state.coefficients + state.gradient).max() for state in states]
    assert residual[-1] < 1e-8 * residual[0]


@pytest.mark.slow
def test_gap_falls_with_the_diameter():
    """Half the diameter leaves less than half of the gap."""
    case = overlapping(500, 3)
    K, _ = case.grams(case.features)
    _, optimum = reference.exact_optimum(reference.odm, 16.0, K, case.signs[:, 0])
    gaps, sizes = [], []
    for diameter in (2.0, 1.0, 0.5, 0.25):
        states, _ = run_stages(
            moved(**case.parts(lam=16.0, diameter=diameter), stages=20, steps_per_stage=3.0, tol=1e-7), case
        )
        gaps.append(states[-1].objective / optimum - 1)
        sizes.append(len(states[-1].landmarks))
    assert sizes == sorted(sizes)
    assert sizes[0] < 60
    assert min(gaps) > 0
    assert all(finer < coarser / 2 for coarser, finer in itertools.pairwise(gaps))
    assert gaps[-1] < 0.01


# --- stopping, step rules, edges --------------------------------------------------------------------------


def test_stops_at_the_tolerance_and_reports_the_change():
    case = overlapping(200)
    solver = moved(**case.parts(lam=8.0, n_landmarks=30), stages=50, steps_per_stage=3.0, tol=1e-3)
    states, _ = run_stages(solver, case)
    assert 2 < len(states) < 40
    assert states[0].change == math.inf
    assert all(state.change > 1e-3 for state in states[:-1])
    _, K_landmarks = case.grams(states[-1].landmarks)
    new, old = states[-1].coefficients[:, 0], states[-2].coefficients[:, 0]
    change = math.sqrt((new - old) @ K_landmarks @ (new - old) / (new @ K_landmarks @ new))
    assert states[-1].change == pytest.approx(change, rel=1e-6)


@pytest.mark.parametrize(
    ("steps_per_stage", "expected"), [(7, 7), (2.0, 400), (0.5, 100), (1, 1), (1.0, 200), (0.001, 1)]
)
def test_an_integer_counts_rows_and_a_float_passes(steps_per_stage, expected):
    case = overlapping(200)
    solver = moved(**case.parts(n_landmarks=5), steps_per_stage=steps_per_stage)
    assert solver.rows_of_stage(case.problem) == expected


def test_default_steps_give_a_linear_rate_unless_that_takes_too_many():
    case = overlapping(2000)
    easy, hard = (moved(**case.parts(lam=lam, n_landmarks=5)) for lam in (1.0, 1e6))
    assert easy.rows_of_stage(case.problem) == 2000
    assert easy.eta(case.problem) == pytest.approx(1 / (1 + 2 / 0.36))
    assert replace(easy, option="I").eta(case.problem) == pytest.approx(0.5 / (1 + 2 / 0.36))
    assert hard.rows_of_stage(case.problem) == 10_000
    medium = moved(**case.parts(lam=200.0, n_landmarks=5))
    assert medium.rows_of_stage(case.problem) == math.ceil(3 / medium.eta(case.problem))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_tiny_data(n, loss):
    case = Case(np.arange(float(n))[:, None], (np.arange(n) % 2).astype(np.int32), (n,))
    states, _ = run_stages(moved(**case.parts(loss, n_landmarks=3), stages=2), case)
    assert np.all(np.isfinite(states[-1].coefficients))
    assert states[-1].objective < states[0].objective


def test_a_single_landmark_and_constant_features():
    case = overlapping(50)
    case.features[:] = 1.0
    case.codes[:30], case.codes[30:] = 1, 0
    states, _ = run_stages(moved(**case.parts("squared_hinge", n_landmarks=10), stages=20, tol=1e-9), case)
    assert states[-1].coefficients.shape == (1, 1)
    # f(s) = s^2/2 + lam (0.6 (1-s)^2 + 0.4 (1+s)^2): s = 2 lam 0.2 / (1 + 2 lam)
    assert states[-1].coefficients[0, 0] == pytest.approx(1.6 / 9, rel=1e-6)
    assert states[-1].train_error == pytest.approx(0.4)


def test_a_landmark_with_no_rows_of_its_own_keeps_the_coefficient_zero():
    """Rows of weight 0 leave their landmark's coefficient at 0."""
    case = overlapping(60)
    case.features[50:] = 100.0
    case.raw_weights = np.where(np.arange(60) < 50, 1.0, 0.0)
    states, _ = run_stages(moved(**case.parts(n_landmarks=10), stages=3), case)
    far = states[-1].landmarks[:, 0] == 100.0
    assert far.sum() == 1
    assert states[-1].coefficients[far, 0] == 0.0


@pytest.mark.parametrize(
    "case", [overlapping(60), overlapping(60, classes=3), weighing_rows(overlapping(60))]
)
@pytest.mark.parametrize("option", ["mean", "I", "II"])
def test_equals_the_plain_loop_over_the_span(case, option):
    parts = case.parts(n_landmarks=12, features=Nystroem)
    solver = SpanCSVRG(**parts, stages=3, steps_per_stage=150, projection="span", option=option, tol=0.0)
    assert_equals_plain_loop(solver, case, atol=1e-6)


@pytest.mark.parametrize("loss", ["odm", "squared_hinge"])
def test_reaches_the_minimum_over_the_span(loss):
    """Moved gradients end above it."""
    case = overlapping(400)
    settings = {"lam": 30.0, "n_landmarks": 20}
    run = {"stages": 40, "steps_per_stage": 2000, "tol": 1e-9}
    solver = SpanCSVRG(**case.parts(loss, **settings, features=Nystroem), **run)
    moved = run_stages(CSVRG(**case.parts(loss, **settings), **run, projection=True), case)[0][-1]
    found = run_stages(solver, case)[0][-1]
    Z = NystroemBasis(solver.features.kernel.with_gamma(2.0), found.landmarks).values(case.features)
    least = 30.0 * exact_minimum(solver.risk, Z, case.signs, 1 / 30.0)[1]
    assert found.objective == pytest.approx(least, rel=1e-5)
    assert moved.objective > 1.002 * least


@pytest.mark.parametrize("seed", range(3))
def test_the_mean_of_a_stage_is_far_nearer_to_the_minimum_than_its_last_iterate(seed):
    """The gap after three stages is to the objective after twelve."""
    case = overlapping(2000)
    case.seed = seed
    parts = {**case.parts(lam=300.0, n_landmarks=20, features=Nystroem), "steps_per_stage": 4000, "tol": 0.0}

    def objective(option, stages):
        return run_stages(SpanCSVRG(**parts, option=option, stages=stages), case)[0][-1].objective

    least = objective("mean", 12)
    assert objective("mean", 3) - least < 0.1 * (objective("I", 3) - least)
