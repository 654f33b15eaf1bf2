"""The optimum over the features in use, against ridge regression and by its gradient."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from distkern.losses import find_loss
from distkern.solvers.risk import Risk, n_outputs
from feature_problems import all_rows, dsg, features_of, train, waves


def ridge(z, y, nu, n_blocks, weights=None):
    s = np.ones(len(y)) if weights is None else weights
    gram = (z.T * s) @ z / len(y) + nu * n_blocks * np.eye(z.shape[1])
    return np.linalg.solve(gram, (z.T * s) @ y / len(y))


@pytest.mark.parametrize("polish", ["exact", "sweeps"])
def test_polish_is_ridge_regression(polish):
    weights = np.random.default_rng(1).exponential(size=600)
    blocks = waves(weights=weights)
    risk = Risk(find_loss("square")(), 1, mean_weight=weights.mean())
    solver = dsg(risk=risk, polish=polish, n_sweeps=60, nu=1e-2)
    states, _ = train(solver, blocks)
    z = features_of(solver, states[-1], all_rows(blocks), states[-1].n_blocks)
    y = np.concatenate([block.targets for block in blocks])
    exact = ridge(z, y, solver.nu, states[-1].n_blocks, weights / weights.mean())
    np.testing.assert_allclose(
        solver.model_coefficients(states[-1])[:, 0], exact, atol=1e-9 if polish == "exact" else 1e-6
    )
    objectives = [state.objective for state in states[3:]]
    assert all(after <= before + 1e-12 for before, after in pairwise(objectives))


@pytest.mark.parametrize(
    ("loss", "classes"), [("logistic", 2), ("squared_hinge", 3), ("softmax", 3), ("odm", 2)]
)
def test_polishes_agree_and_leave_no_gradient(loss, classes):
    blocks = waves(classes=classes)
    outputs = n_outputs(find_loss(loss)(), classes)
    finals = []
    for polish in ("exact", "sweeps"):
        solver = dsg(loss, outputs, polish=polish, nu=1e-2, n_sweeps=25)
        states, _ = train(solver, blocks)
        finals.append(states[-1])
        objectives = [state.objective for state in states[3:]]
        assert all(after <= before + 1e-12 for before, after in pairwise(objectives))
    a = solver.model_coefficients(finals[0])
    z = features_of(solver, finals[0], all_rows(blocks), finals[0].n_blocks)
    y = np.concatenate([solver.risk.targets(block) for block in blocks])
    gradient = z.T @ solver.risk.loss.row_slopes(z @ a, y) / len(y) + solver.nu * finals[0].n_blocks * a
    assert np.abs(gradient).max() < 2e-5
    assert finals[0].objective <= finals[1].objective + 1e-8
    assert finals[1].objective == pytest.approx(finals[0].objective, rel=1e-3)
