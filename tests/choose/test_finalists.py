"""The finalists of the ladder: machines with the loss that is delivered."""

import numpy as np
import pytest
from scipy.optimize import minimize

from distkern.choose import finalists
from distkern.choose.folds import Fold, MachineSetting, TriedMachine
from distkern.choose.likelihoods import Likelihood, RidgePath, _inverse
from distkern.choose.machines import SampleRows
from distkern.choose.rungs import GAUSSIAN
from distkern.maths.maps.mapping import MapChoice

CENTRED = MachineSetting("centres", MapChoice("none"), GAUSSIAN, 1.0)


def rows_of(n_rows, n_classes, seed=0):
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(n_rows, 3)).astype(np.float32)
    score = 2.0 * features[:, 0] + features[:, 1] ** 2 + generator.normal(size=n_rows)
    weights = generator.uniform(0.5, 1.5, n_rows)
    if not n_classes:
        return SampleRows(features, (score / score.std())[:, None], None, weights / weights.mean())
    codes = np.searchsorted(np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]), score)
    own = codes[:, None] == (np.arange(n_classes) if n_classes > 2 else 1)
    return SampleRows(features, np.where(own, 1.0, -1.0), codes, weights / weights.mean())


@pytest.mark.parametrize("ridge", [3e-3, 30.0])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_machines_are_minima(n_classes, ridge):
    rows = rows_of(300, n_classes)
    columns = np.column_stack([rows.features.astype(float), np.ones(300)])
    likelihood = Likelihood(rows)
    machines = RidgePath(columns, columns[:5], likelihood)
    # from another machine, as in a walk
    machines.decisions(1.0)
    found = machines.decisions(ridge)

    def objective(flat):
        at = flat.reshape(4, -1)
        values = columns @ at
        if not n_classes:
            losses = 0.5 * (values - rows.targets)[:, 0] ** 2
        elif n_classes == 2:
            losses = np.log1p(np.exp(-rows.targets * values))[:, 0]
        else:
            losses = np.log(np.exp(values).sum(axis=1)) - values[np.arange(300), rows.codes]
        return 0.5 * ridge * (at[:-1] ** 2).sum() + rows.weights @ losses

    least = minimize(objective, np.zeros(4 * likelihood.n_outputs), tol=1e-10)
    here = objective(machines.coefficients.ravel())
    zero = objective(np.zeros(4 * likelihood.n_outputs))
    assert here - least.fun < 2e-3 * (zero - least.fun)
    expected = columns[:5] @ least.x.reshape(4, -1)
    if n_classes > 2:
        found, expected = (each - each.mean(axis=1, keepdims=True) for each in (found, expected))
    np.testing.assert_allclose(found, expected, atol=0.1 * np.abs(expected).max())


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_large_ridge_gives_the_shares(n_classes):
    rows = rows_of(400, n_classes)
    columns = np.column_stack([rows.features.astype(float), np.ones(400)])
    likelihood = Likelihood(rows)
    chances = likelihood.chances(RidgePath(columns, columns[:3], likelihood).decisions(1e9))
    shares = np.bincount(rows.codes, weights=rows.weights) / 400
    expected = shares[1:] if n_classes == 2 else shares
    np.testing.assert_allclose(chances, np.tile(expected, (3, 1)), rtol=1e-3)


def folds(noise, n_rows=600):
    """Three folds of rows whose classes are noise, or not."""
    generator = np.random.default_rng(1)
    features = generator.normal(size=(n_rows, 3)).astype(np.float32)
    signs = np.sign(np.sin(2.0 * features[:, 0]) + noise * generator.normal(size=n_rows))[:, None]
    rows = SampleRows(features, signs, (signs[:, 0] > 0).astype(int), np.ones(n_rows))
    sides = np.arange(n_rows) % 3
    held_out = [np.flatnonzero(sides == one) for one in range(3)]
    return [Fold(rows.part(np.setdiff1d(np.arange(n_rows), some)), rows.part(some)) for some in held_out]


@pytest.mark.parametrize("ridge", [1e-4, 1e4])
def test_the_ridge_of_the_rung_is_only_where_the_walk_begins(ridge):
    """A weight that is far too small gave probabilities that were far too sure of themselves."""
    setting = MachineSetting("centres", MapChoice("standard"), GAUSSIAN, ridge)
    found = finalists.over_centres(folds(0.5), setting, 100, 4000)
    assert 1e-2 < found.setting.ridge < 1e2
    assert found.score < 0.4
    assert found.setting.size == (400, 100)


def test_noise_gets_the_constant():
    found = finalists.over_centres(folds(1e6), CENTRED, 100, 4000)
    assert found.score == pytest.approx(np.log(2.0), abs=0.01)


def test_exact_machines_search_width_and_cost():
    asked = []

    def solve(kernel, costs, learned, held_out):
        asked.append((kernel.gamma, *costs))
        right = np.sign(np.sin(2.0 * held_out.features[:, :1].astype(float)))
        return [right * min(cost, 3.0) for cost in costs]

    setting = MachineSetting("exact", MapChoice("none"), GAUSSIAN, 1.0)
    found = finalists.exact(folds(0.3), [setting], 300, solve)
    assert found.setting.size == (300, 300)
    # four widths on each of three folds
    assert len({gamma for gamma, *_ in asked}) == 12
    # settings that cannot be told apart: the widest kernel, and the largest ridge
    assert found.setting.ridge >= 1.0
    assert len(found.losses) == 600


def test_exact_machines_that_are_surely_worse_are_not_searched():
    asked = []

    def solve(kernel, costs, learned, held_out):
        asked.append((kernel.gamma, *costs))
        return [np.zeros((held_out.n_rows, 1)) for _ in costs]

    setting = MachineSetting("exact", MapChoice("none"), GAUSSIAN, 1.0)
    beside = TriedMachine(setting, np.full(600, 0.1))
    found = finalists.exact(folds(0.3), [setting], 300, solve, beside)
    assert found.score == pytest.approx(np.log(2.0), abs=0.01)
    # two widths on each of three folds, and one C
    assert len(asked) == 6
    assert {cost for _, *costs in asked for cost in costs} == {1.0}


def test_what_has_learned_from_all_rows_of_a_fold_is_not_learned_again(monkeypatch):
    there = folds(0.5)
    walked = finalists.over_centres(there[:2], CENTRED, 100, 400)
    expected, _ = finalists.on_more(there, walked, 0, 100)
    learned, usual = [], Fold.delivered

    def delivered(self, *how):
        learned.append(self.learned.n_rows)
        return usual(self, *how)

    monkeypatch.setattr(Fold, "delivered", delivered)
    found, _ = finalists.on_more(there, walked, 2, 100)
    assert learned == [400]
    assert found.score == pytest.approx(expected.score, rel=0.01)
    assert len(found.losses) == 600


def test_one_output_is_preconditioned_as_several_are():
    generator = np.random.default_rng(0)
    columns, curvatures = generator.normal(size=(60, 8)), generator.uniform(0.5, 1.0, 60)
    matrix = columns.T @ (curvatures[:, None] * columns) + np.eye(8)
    solve = _inverse(columns, curvatures, np.ones(8))
    right = generator.normal(size=(8, 3))
    np.testing.assert_allclose(matrix @ solve(right), right, rtol=1e-5)
    np.testing.assert_allclose(matrix @ solve(right[:, :1]), right[:, :1], rtol=1e-5)
