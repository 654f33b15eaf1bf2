"""The optimum over the current features, against ridge regression and by its gradient."""

import numpy as np
import pytest

from distkern.maths.losses import find_loss
from distkern.solvers._dsg.settings import StepRule
from distkern.solvers.risk import Risk
from feature_problems import all_rows, dsg, exact_minimum, features_of, targets_of, train, waves
from small import slow_but


def ridge(z, y, nu, n_blocks, weights=None):
    s = np.ones(len(y)) if weights is None else weights
    gram = (z.T * s) @ z / len(y) + nu * n_blocks * np.eye(z.shape[1])
    return np.linalg.solve(gram, (z.T * s) @ y / len(y))


def test_polish_is_ridge_regression():
    weights = np.random.default_rng(1).exponential(size=600)
    blocks = waves(weights=weights)
    risk = Risk(find_loss("square")(), 1, mean_weight=weights.mean())
    solver = dsg(risk=risk, polish="exact", nu=1e-2)
    states, _ = train(solver, blocks)
    z = features_of(solver, states[-1], all_rows(blocks), states[-1].n_blocks)
    y = np.concatenate([block.targets for block in blocks])
    exact = ridge(z, y, solver.nu, states[-1].n_blocks, weights / weights.mean())
    np.testing.assert_allclose(solver.model_coefficients(states[-1])[:, 0], exact, atol=1e-9)
    assert states[-1].objective <= states[-2].objective


@pytest.mark.parametrize(
    ("loss", "classes"),
    slow_but([("softmax", 3), ("logistic", 2), ("squared_hinge", 3), ("odm", 2)], ("softmax", 3)),
)
def test_polish_leaves_no_gradient(loss, classes):
    blocks = waves(classes=classes)
    solver = dsg(loss, find_loss(loss)().n_outputs(classes), polish="exact", nu=1e-2)
    states, _ = train(solver, blocks)
    final, a = states[-1], solver.model_coefficients(states[-1])
    z = features_of(solver, final, all_rows(blocks), final.n_blocks)
    y = np.concatenate([solver.risk.targets(block) for block in blocks])
    gradient = z.T @ solver.risk.loss.row_slopes(z @ a, y) / len(y) + solver.nu * final.n_blocks * a
    assert np.abs(gradient).max() < 2e-5
    assert final.objective <= states[-2].objective


@pytest.mark.slow
@pytest.mark.parametrize(("loss", "gap"), [("logistic", 1e-5), ("squared_hinge", 2e-3)])
def test_exact_is_exact_where_the_curvature_is_far_below_its_bound(loss, gap):
    """First-order steps under the curvature bound stall for a tiny nu and separable classes."""
    blocks = waves(classes=2)
    solver = dsg(loss, 1, polish="exact", nu=1e-6)
    state = train(solver, blocks)[0][-1]
    z, y = features_of(solver, state, all_rows(blocks)), targets_of(solver, blocks)
    a = solver.model_coefficients(state)
    value = solver.risk.loss.row_values(z @ a, y).mean() + 0.5 * solver.strength * np.sum(a**2)
    _, least = exact_minimum(solver.risk, z, y, solver.strength)
    assert value <= least * (1 + gap)
    # where it is not at the tolerance, it says so
    measures = solver.measures(state)
    assert measures.converged != bool(measures.shortfall)


def test_a_polish_that_stops_early_says_so(monkeypatch):
    from distkern.solvers._dsg import polish

    monkeypatch.setattr(polish, "_MOST_PASSES", 3)
    solver = dsg("logistic", 1, polish="exact", nu=1e-6)
    measures = solver.measures(train(solver, waves(classes=2))[0][-1])
    assert not measures.converged
    assert "above the minimum: set a larger nu than 1e-06" in measures.shortfall


@pytest.mark.slow
def test_preconditioned_steps_end_near_the_minimum_of_the_stated_objective():
    """Blocks that are visited often enough, with falling steps, reach the exact polish."""
    blocks = waves()
    given = {"nu": 1e-3, "steps": StepRule(0.5, 0.02), "batch_size": 600, "n_features": 32}
    far = train(dsg(**given, steps_per_stage=120_000), blocks)[0][-1].objective
    exact = train(dsg(**given, polish="exact"), blocks)[0][-1].objective
    # 1.26 where the regulariser is not in the Newton step
    assert exact <= far <= 1.04 * exact
