"""AVM against its plain loop and against exact optima."""

import math
from dataclasses import replace

import numpy as np
import pytest

import reference
from distkern.maths.losses import MARGIN_LOSSES
from distkern.solvers.avm import AVM
from problems import Case, overlapping, run_stages, weighing_classes, weighing_rows


def assert_equals_plain_loop(solver, case):
    states, runner = run_stages(solver, case)
    loss = solver.risk.loss
    K_rows, K_landmarks = case.grams(states[0].landmarks)
    every = 32 * len(states[0].landmarks)
    pieces, project_after = [], []
    for stage in runner.sampled:
        since = 0
        for piece in stage:
            pieces.append(piece)
            since += len(piece)
            project_after.append(since >= every)
            since = 0 if since >= every else since
    total = sum(len(piece) for piece in pieces)
    smoothness = 1 + solver.lam * case.scaled_weights.max() * loss.curvature
    last, average = reference.avm(
        reference.LOSSES[loss.name],
        solver.lam,
        smoothness if math.isfinite(smoothness) else 0.0,
        K_rows,
        K_landmarks,
        case.signs,
        case.scaled_weights,
        pieces,
        tail_start=total // 2 if solver.average else total,
        radius=math.sqrt(2 * loss.norm_bound * solver.lam) if solver.projection else None,
        project_after=project_after,
    )
    expected = average if solver.average else last
    np.testing.assert_allclose(states[-1].coefficients, expected, atol=1e-10, rtol=1e-10)
    value = case.objective(solver, K_rows, K_landmarks, expected)
    assert states[-1].objective == pytest.approx(value, rel=1e-10)
    return states


@pytest.mark.parametrize("loss", [name for name in MARGIN_LOSSES if name in reference.LOSSES])
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("order", ["shuffled", "iid"])
def test_equals_the_plain_loop(loss, average, order):
    case = overlapping(60)
    solver = AVM(
        **case.parts(loss, n_landmarks=12), stages=3, steps_per_stage=77, average=average, order=order
    )
    states = assert_equals_plain_loop(solver, case)
    assert states[-1].objective < states[0].objective


def test_equals_the_plain_loop_with_weights_and_outputs():
    case = weighing_classes(weighing_rows(overlapping(60, classes=3)), 1.0, 2.0, 0.5)
    assert_equals_plain_loop(AVM(**case.parts(n_landmarks=12), stages=2, steps_per_stage=100), case)


def test_equals_the_plain_loop_where_the_projection_acts():
    """The hinge's first steps, 1/t, move w far out of the ball."""
    case = overlapping(60)
    solver = AVM(**case.parts("hinge", lam=1e5, n_landmarks=1), stages=3, steps_per_stage=100)
    projected = assert_equals_plain_loop(solver, case)
    free = assert_equals_plain_loop(replace(solver, projection=False), case)
    assert np.abs(projected[-1].coefficients - free[-1].coefficients).max() > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loss", "lam"),
    [("odm", 2.0), *(pytest.param(loss, 2.0, marks=pytest.mark.slow) for loss in ("squared_hinge", "hinge"))],
)
def test_gap_falls_like_one_over_t(loss, lam):
    """Every row is a landmark; gaps, averaged over seeds, are fitted on log-log axes from 2 to 128 passes."""
    case = overlapping(150, 3)
    K, _ = case.grams(case.features)
    if loss == "hinge":
        _, optimum = reference.exact_hinge_optimum(lam, K, case.signs[:, 0])
    else:
        _, optimum = reference.exact_optimum(reference.LOSSES[loss], lam, K, case.signs[:, 0])
    passes = np.array([2, 8, 32, 128])
    gaps = []
    for length in passes:
        values = []
        for seed in range(4):
            seeded = replace(case, seed=seed)
            solver = AVM(
                **case.parts(loss, lam=lam, diameter=0.0),
                stages=1,
                steps_per_stage=float(length),
                order="iid",
            )
            values.append(run_stages(solver, seeded)[0][-1].objective)
        gaps.append(np.mean(values) / optimum - 1)
    assert min(gaps) > 0
    slope = np.polyfit(np.log(passes), np.log(gaps), 1)[0]
    assert -1.5 < slope < -0.7


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_tiny_data(n, loss):
    case = Case(np.arange(float(n))[:, None], (np.arange(n) % 2).astype(np.int32), (n,))
    states, _ = run_stages(AVM(**case.parts(loss, n_landmarks=3), stages=2), case)
    assert np.all(np.isfinite(states[-1].coefficients))
    assert np.any(states[-1].coefficients != 0)
