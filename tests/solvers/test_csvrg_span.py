"""CSVRG whose gradients are projected on the span of the landmarks: its steps, and the minimum they reach."""

import math

import numpy as np
import pytest

import reference
from distkern.bases.nystroem import NystroemBasis
from distkern.solvers.csvrg import CSVRG, SpanCSVRG
from problems import overlapping, run_stages


def landmark_coefficients(solver, state):
    basis = NystroemBasis(solver.parts.kernel.with_gamma(state.gamma), state.landmarks)
    return basis.landmark_coefficients(state.coefficients)


def weighted(case):
    case.raw_weights = np.random.default_rng(1).exponential(size=len(case.codes))
    return case


@pytest.mark.parametrize("case", [overlapping(60), overlapping(60, classes=3), weighted(overlapping(60))])
@pytest.mark.parametrize("option", ["I", "II"])
def test_equals_the_plain_loop(case, option, monkeypatch):
    parts = case.parts(n_landmarks=12)
    solver = SpanCSVRG(parts, stages=3, steps_per_stage=150, projection="span", option=option, tol=0.0)
    states, runner = run_stages(solver, case)
    K_rows, K_landmarks = case.grams(states[0].landmarks)
    drawn = [solver.drawn_step(case.problem, stage) for stage in range(3)]
    expected = reference.csvrg(
        reference.LOSSES["odm"],
        parts.lam,
        solver.eta(case.problem),
        K_rows,
        K_landmarks,
        case.signs,
        case.scaled_weights,
        runner.sampled,
        radius=math.sqrt(parts.loss.norm_bound * parts.lam),
        project_every=32 * len(K_landmarks),
        chosen=drawn if option == "II" else None,
        directions=K_rows @ np.linalg.inv(K_landmarks),
    )
    for state, sigma in zip(states[1:], expected, strict=True):
        np.testing.assert_allclose(landmark_coefficients(solver, state), sigma, rtol=1e-6, atol=1e-6)
        value = reference.objective(
            reference.LOSSES["odm"], parts.lam, K_rows, K_landmarks, sigma, case.signs, case.scaled_weights
        )
        assert state.objective == pytest.approx(value, rel=1e-8)


@pytest.mark.parametrize("loss", ["odm", "squared_hinge"])
def test_reaches_the_minimum_over_the_span(loss):
    """That of Newton's method over the same landmarks, which moved gradients stay away from."""
    case = overlapping(400)
    solver = SpanCSVRG(case.parts(loss, lam=30.0, n_landmarks=20), stages=40, steps_per_stage=2000, tol=1e-9)
    moved = run_stages(CSVRG(**{**vars(solver), "projection": True}), case)[0][-1]
    found = run_stages(solver, case)[0][-1]
    Z = NystroemBasis(solver.parts.kernel.with_gamma(2.0), found.landmarks).values(case.features)

    def objective(u):
        losses = [reference.LOSSES[loss](f, y)[0] for f, y in zip(Z @ u, case.signs[:, 0], strict=True)]
        return 0.5 * float(u @ u) + 30.0 * float(np.mean(losses))

    def gradient(u):
        slopes = [reference.LOSSES[loss](f, y)[1] for f, y in zip(Z @ u, case.signs[:, 0], strict=True)]
        return u + 30.0 * Z.T @ np.array(slopes) / len(Z)

    from scipy.optimize import minimize

    best = minimize(objective, np.zeros(Z.shape[1]), jac=gradient, method="BFGS", options={"gtol": 1e-8})
    assert found.objective == pytest.approx(best.fun, rel=1e-5)
    assert moved.objective > 1.002 * best.fun
