"""The finalists of the ladder: machines with their delivered loss."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from distkern.choose import finalists
from distkern.choose.choice import TIE, is_better
from distkern.choose.folds import Fold, MachineSetting, TriedMachine
from distkern.choose.likelihoods import Likelihood, RidgePath, _inverse, _weighted_gram
from distkern.choose.machines import SampleRows
from distkern.choose.rungs import GAUSSIAN
from distkern.maths.maps.mapping import MapChoice

CENTRED = MachineSetting("centres", MapChoice("none"), GAUSSIAN, 1.0, n_centres=100)


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
    # start from another machine, as in a line search
    machines.decisions(1.0)
    found = machines.decisions(ridge)

    def objective(flat):
        coefficients = flat.reshape(4, -1)
        values = columns @ coefficients
        if not n_classes:
            losses = 0.5 * (values - rows.targets)[:, 0] ** 2
        elif n_classes == 2:
            losses = np.log1p(np.exp(-rows.targets * values))[:, 0]
        else:
            losses = np.log(np.exp(values).sum(axis=1)) - values[np.arange(300), rows.codes]
        return 0.5 * ridge * (coefficients[:-1] ** 2).sum() + rows.weights @ losses

    least = minimize(objective, np.zeros(4 * likelihood.n_outputs), tol=1e-10)
    reached = objective(machines.coefficients.ravel())
    zero = objective(np.zeros(4 * likelihood.n_outputs))
    assert reached - least.fun < 2e-3 * (zero - least.fun)
    expected = columns[:5] @ least.x.reshape(4, -1)
    if n_classes > 2:
        found, expected = (each - each.mean(axis=1, keepdims=True) for each in (found, expected))
    np.testing.assert_allclose(found, expected, atol=0.1 * np.abs(expected).max())


@pytest.mark.parametrize("n_start", [1, 3, 5])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_the_start_changes_nothing_but_the_work(n_classes, n_start):
    """Coefficients of fewer functions, of as many, and of more."""
    rows = rows_of(300, n_classes)
    columns = np.column_stack([rows.features.astype(float), np.ones(300)])
    start = np.random.default_rng(1).normal(size=(n_start + 1, Likelihood(rows).n_outputs))
    expected = RidgePath(columns, columns, Likelihood(rows)).decisions(3.0)
    found = RidgePath(columns, columns, Likelihood(rows), start).decisions(3.0)
    scale = Likelihood(rows).constant_losses().sum()
    assert Likelihood(rows).losses(found).sum() == pytest.approx(
        Likelihood(rows).losses(expected).sum(), abs=2e-3 * scale
    )


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_large_ridge_gives_the_shares(n_classes):
    rows = rows_of(400, n_classes)
    columns = np.column_stack([rows.features.astype(float), np.ones(400)])
    likelihood = Likelihood(rows)
    probabilities = likelihood.predictions(RidgePath(columns, columns[:3], likelihood).decisions(1e9))
    shares = np.bincount(rows.codes, weights=rows.weights) / 400
    expected = shares[1:] if n_classes == 2 else shares
    np.testing.assert_allclose(probabilities, np.tile(expected, (3, 1)), rtol=1e-3)


def folds(noise, n_rows=600):
    """Three folds of rows with noisy classes."""
    generator = np.random.default_rng(1)
    features = generator.normal(size=(n_rows, 3)).astype(np.float32)
    signs = np.sign(np.sin(2.0 * features[:, 0]) + noise * generator.normal(size=n_rows))[:, None]
    rows = SampleRows(features, signs, (signs[:, 0] > 0).astype(int), np.ones(n_rows))
    sides = np.arange(n_rows) % 3
    return [
        Fold(rows.part(np.flatnonzero(sides != side)), rows.part(np.flatnonzero(sides == side)))
        for side in range(3)
    ]


@pytest.mark.parametrize("ridge", [1e-4, 1e4])
def test_the_search_of_the_ridge_leaves_a_bad_start(ridge):
    """A ridge that is far too small makes overconfident probabilities."""
    setting = MachineSetting("centres", MapChoice("standard"), GAUSSIAN, ridge, n_centres=100)
    found = finalists.over_centres(folds(0.5), setting, 4000)
    assert 1e-2 < found.setting.ridge < 1e2
    assert found.score < 0.4
    assert found.setting.size == (400, 100)


def test_noise_gets_a_constant():
    found = finalists.over_centres(folds(1e6), CENTRED, 4000)
    assert found.score == pytest.approx(np.log(2.0), abs=0.01)


def test_exact_machines_search_width_and_cost():
    solved = []

    def solve(kernel, costs, train, held_out):
        solved.append((kernel.gamma, *costs))
        right = np.sign(np.sin(2.0 * held_out.features[:, :1].astype(float)))
        return [right * min(cost, 3.0) for cost in costs]

    setting = MachineSetting("exact", MapChoice("none"), GAUSSIAN, 1.0)
    found = finalists.exact(folds(0.3), [setting], 300, solve)
    assert found.setting.size == (300, 300)
    # four widths on each of three folds
    assert len({gamma for gamma, *_ in solved}) == 12
    # among settings that tie, the largest ridge wins
    assert found.setting.ridge >= 1.0
    assert len(found.losses) == 600


def test_exact_machines_that_are_significantly_worse_are_not_searched():
    solved = []

    def solve(kernel, costs, train, held_out):
        solved.append((kernel.gamma, *costs))
        return [np.zeros((held_out.n_rows, 1)) for _ in costs]

    setting = MachineSetting("exact", MapChoice("none"), GAUSSIAN, 1.0)
    rival = TriedMachine(setting, np.full(600, 0.1))
    found = finalists.exact(folds(0.3), [setting], 300, solve, rival)
    assert found.score == pytest.approx(np.log(2.0), abs=0.01)
    # two widths on each of three folds, and one C
    assert len(solved) == 6
    assert {cost for _, *costs in solved for cost in costs} == {1.0}


def test_a_group_in_several_folds_counts_once_in_each():
    """Rows near several anchors are held out with each of them."""
    three = folds(0.5)
    keys = np.arange(200, dtype=np.uint64) // np.uint64(2)
    for fold in three:
        object.__setattr__(fold.held_out, "group_keys", keys)
    setting = MachineSetting("exact", MapChoice("none"), GAUSSIAN, 1.0)
    exact = finalists.exact_on(three, setting_of(setting), 300, None)
    centred = finalists.over_centres(three, CENTRED, 400)
    assert len(exact.losses) == len(centred.losses) == 300
    for fold in three:
        object.__setattr__(fold.held_out, "group_keys", None)
    single = finalists.exact_on(three, setting_of(setting), 300, None)
    np.testing.assert_allclose(exact.losses, single.losses.reshape(300, 2).mean(axis=1))


def setting_of(setting):
    return TriedMachine(setting, np.zeros(0))


def test_folds_that_are_done_are_not_trained_again(monkeypatch):
    three = folds(0.5)
    candidate = finalists.over_centres(three[:2], CENTRED, 400)
    expected, _ = finalists.retrained(three, candidate, 0)
    n_train, ridge_path = [], Fold.ridge_path

    def counted(self, *arguments, **keywords):
        n_train.append(self.train.n_rows)
        return ridge_path(self, *arguments, **keywords)

    monkeypatch.setattr(Fold, "ridge_path", counted)
    found, _ = finalists.retrained(three, candidate, 2)
    assert n_train == [400]
    assert found.score == pytest.approx(expected.score, rel=0.01)
    assert len(found.losses) == 600


def test_preconditioners_agree_for_one_and_several_outputs():
    generator = np.random.default_rng(0)
    columns, curvatures = generator.normal(size=(60, 8)), generator.uniform(0.5, 1.0, 60)
    matrix = columns.T @ (curvatures[:, None] * columns) + np.eye(8)
    solve = _inverse(_weighted_gram(columns, curvatures), np.ones(8))
    right = generator.normal(size=(8, 3))
    np.testing.assert_allclose(matrix @ solve(right), right, rtol=1e-5)
    np.testing.assert_allclose(matrix @ solve(right[:, :1]), right[:, :1], rtol=1e-5)


@pytest.mark.parametrize("is_dense", [True, False])
def test_a_trend_wins_ties_near_anchors_alone(is_dense):
    generator = np.random.default_rng(0)
    features = generator.uniform(-1, 1, size=(600, 2)).astype(np.float32)
    # hardly a slope, so that it does not matter
    targets = np.cos(3 * features[:, 1:]) + 0.3 * generator.normal(size=(600, 1))
    rows = SampleRows(features, targets / targets.std(), None, np.ones(600))
    fold = Fold(rows.part(np.arange(400)), rows.part(np.arange(400, 600)))
    plain = MachineSetting("exact", MapChoice("none"), GAUSSIAN, 1.0)
    settings = [plain, replace(plain, has_trend=True)]
    losses = [finalists.exact([fold], [one], 400, None) for one in settings]
    assert not any(is_better(one, other, TIE) for one, other in (losses, losses[::-1]))
    found = finalists.exact([fold], settings, 400, None, is_dense=is_dense)
    assert found.setting.has_trend == (not is_dense)


def test_a_trend_is_found_that_no_setting_of_the_kernel_has():
    generator = np.random.default_rng(0)
    features = generator.normal(size=(600, 8)).astype(np.float32)
    targets = 3 * features.sum(axis=1, keepdims=True) + np.sin(3 * features[:, :1])
    targets += generator.normal(size=(600, 1))
    rows = SampleRows(features, targets / targets.std(), None, np.ones(600))
    fold = Fold(rows.part(np.arange(400)), rows.part(np.arange(400, 600)))
    good = MachineSetting("exact", MapChoice("none"), GAUSSIAN, 0.01)
    poor = replace(good, ridge=1e4, has_trend=True)
    found = finalists.exact([fold], [good, poor], 400, None)
    assert found.setting.has_trend
    assert found.setting.ridge < 1e3
