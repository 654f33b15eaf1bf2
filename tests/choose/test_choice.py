"""The rule of every choice, the rungs of successive halving, and the ladder of machines."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from distkern.choose import ladder, rungs
from distkern.choose.choice import (
    Rung,
    TriedSetting,
    best,
    best_of_each,
    cheapest,
    going_on,
    is_better,
    not_worse,
    rungs_of,
)
from distkern.choose.folds import Fold, MachineSetting, TriedMachine
from distkern.choose.ladder import climb
from distkern.choose.machines import Kernel, SampleRows, linear, over_all_rows, over_centres
from distkern.choose.rungs import GAUSSIAN, LAPLACIAN, MATERN, first_exact, leading_maps
from distkern.core.scores import log_losses
from distkern.maths.kernels.base import Powers
from distkern.maths.kernels.product import Laplacian
from distkern.maths.maps.mapping import MapChoice, RowMap


def test_a_third_goes_on_to_three_times_the_rows():
    assert rungs_of(20, 10**6) == [Rung(20, 1 / 9), Rung(7, 1 / 3), Rung(3, 1.0)]
    assert rungs_of(3, 10**6) == [Rung(3, 1.0)]
    assert rungs_of(8, 10**6, factor=2) == [Rung(8, 0.25), Rung(4, 0.5), Rung(2, 1.0)]


def test_rungs_of_few_rows_are_left_out():
    assert rungs_of(20, 1600) == [Rung(20, 1 / 3), Rung(7, 1.0)]
    assert rungs_of(20, 1000) == [Rung(20, 1.0)]
    assert rungs_of(20, 1000, least_rows=100) == [Rung(20, 1 / 9), Rung(7, 1 / 3), Rung(3, 1.0)]


@pytest.mark.parametrize(
    ("staying", "expected"), [((), [3, 1]), ((2,), [3, 2]), ((1,), [3, 1]), ((0,), [3, 1])]
)
def test_the_best_candidates_and_the_staying_ones_go_on_unless_they_failed(staying, expected):
    scores = {0: math.inf, 1: 0.5, 2: 0.7, 3: 0.1, 4: 0.5}
    assert going_on(scores, 2, staying) == expected


def test_differences_are_judged_on_the_same_rows():
    losses, noise = np.random.default_rng(0).normal(size=(2, 1000))
    # apart by 0, 3 and 30 standard errors
    tried = [TriedSetting(gap, losses + gap + noise * (gap > 0)) for gap in (0.0, 0.1, 1.0)]
    assert [len(not_worse(tried, certain)) for certain in (math.inf, 6.0, 2.0)] == [3, 2, 1]
    assert is_better(tried[0], tried[1])
    assert not is_better(tried[1], tried[0])
    assert best_of_each(tried[::-1], lambda one: one.setting > 0.5) == [tried[0], tried[2]]


def test_a_setting_with_many_times_the_loss_is_worse_despite_few_large_losses():
    losses = np.random.default_rng(0).uniform(0.0, 0.02, 100)
    # overconfident and wrong on three of a hundred rows
    overconfident = losses.copy()
    overconfident[:3] = 2.7
    best_one, cheap = TriedSetting(0, losses, 100.0), TriedSetting(1, overconfident, 1.0)
    assert cheap.score > 8 * best_one.score
    assert not is_better(best_one, cheap)
    assert [one.setting for one in not_worse([best_one, cheap])] == [0]
    # the same difference between large losses may be chance
    high = [TriedSetting(one.setting, one.losses + 1.0, one.work) for one in (best_one, cheap)]
    assert len(not_worse(high)) == 2
    # so may a difference between errors of 0 and 1
    wrong = np.zeros((2, 200))
    wrong[0, :10], wrong[1, 5:17] = 1.0, 1.0
    near = [TriedSetting(place, each) for place, each in enumerate(wrong)]
    assert len(not_worse(near)) == 2


def test_the_cheapest_of_settings_that_do_not_differ_significantly_wins():
    ranked = [
        TriedSetting(0, np.array([1.0, 2.0, 3.0, 4.0]), 100.0),
        # a little worse on every row; worse on a single row, which may be chance
        TriedSetting(1, np.array([1.1, 2.1, 3.1, 4.1]), 10.0),
        TriedSetting(2, np.array([1.0, 2.0, 3.0, 5.0]), 10.0),
        TriedSetting(3, np.array([3.0, 4.0, 5.0, 6.0]), 1.0),
    ]
    near = not_worse(ranked)
    assert [one.setting for one in near] == [0, 2]
    # significantly worse than the best, but better than the cheapest at the same work
    assert cheapest(ranked, near).setting == 1
    assert cheapest(ranked[2:], ranked[2:3]).setting == 2


def drawn(n_rows, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(2 * n_rows, 3)).astype(np.float32)
    codes = (np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * generator.normal(size=2 * n_rows) > 0).astype(int)
    targets = np.where(codes > 0, 1.0, -1.0)[:, None]
    both = SampleRows(X, targets, codes, np.ones(2 * n_rows))
    return both.part(np.arange(n_rows)), both.part(np.arange(n_rows, 2 * n_rows))


@pytest.mark.parametrize("ridge", [0.1, 10.0])
def test_machines_are_ridge_regressions(ridge):
    train, held_out = drawn(200)
    mapping = RowMap.fit(MapChoice("none"), train.features, train.targets)
    kernel = Kernel("rbf", 1.0).over(mapping)
    mapped = [replace(part, features=mapping.apply(part.features)) for part in (train, held_out)]
    center = train.targets.mean()
    machine = KernelRidge(alpha=ridge, kernel="rbf", gamma=kernel.gamma)
    machine.fit(mapped[0].features, train.targets - center)
    expected = log_losses(machine.predict(mapped[1].features) + center, held_out.codes).mean()
    [exact] = over_all_rows(kernel, [ridge], *mapped)
    assert exact.mean() == pytest.approx(expected, rel=1e-4)
    # with all rows as centres, only the jitter differs
    [centred] = over_centres(kernel, 200, [ridge], *mapped, (Powers(), Powers()))
    assert centred.mean() == pytest.approx(expected, rel=0.02)
    [of_columns] = linear([ridge], train, held_out)
    machine = Ridge(alpha=ridge).fit(train.features, train.targets)
    expected = log_losses(machine.predict(held_out.features).reshape(-1, 1), held_out.codes).mean()
    assert of_columns.mean() == pytest.approx(expected, rel=1e-3)


def test_the_ladder_depends_on_rows_and_seed_alone():
    rows = SampleRows.joined(drawn(700))
    parts = [(np.arange(700), np.arange(700, 1400))]
    first, again = (climb(rows, parts, 1400, 0) for _ in range(2))
    assert first.chosen.setting == again.chosen.setting
    assert first.chosen.setting.kind == "centres"
    np.testing.assert_array_equal(first.chosen.losses, again.chosen.losses)
    assert re.match(r"tried: linear \([\d,]+ rows x \d+ functions\): [\d.]+$", first.compared()[0].summary)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frequency", "kind", "n_train"), [(0.3, "centres", []), (7.0, "exact", [1000, 1200])]
)
def test_exact_machines_train_on_more_rows_if_they_gain(frequency, kind, n_train):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1800, 2)).astype(np.float32)
    values = np.sin(frequency * X).sum(axis=1) + 0.1 * generator.normal(size=1800)
    rows = SampleRows(X, (values / values.std())[:, None], None, np.ones(1800))
    parts = [(np.arange(1200), np.arange(1200, 1800))]
    found = climb(rows, parts, 10**6, 0, maps=[MapChoice("none")], exact_rows=1200)
    assert found.chosen.setting.kind == kind
    # exact machines are not tried if more functions gain nothing
    assert [one.setting.size[0] for one in found.rungs if one.setting.kind == "exact"] == n_train


def tried(transform, kernel, losses):
    return TriedMachine(MachineSetting("centres", MapChoice(transform), kernel, 1.0), losses)


def test_leading_maps_are_not_significantly_worse_than_the_best():
    best, noise = np.random.default_rng(0).normal(size=(2, 1000))
    settings = [
        tried("none", MATERN, best + 5.0),
        tried("standard", GAUSSIAN, best + 0.5 * noise + 0.01),
        tried("normal", MATERN, best),
        tried("normal", GAUSSIAN, best + 0.001),
    ]
    assert leading_maps(settings) == [MapChoice("normal"), MapChoice("standard")]
    settings[1] = tried("standard", GAUSSIAN, best + 0.1 * noise + 0.05)
    assert leading_maps(settings) == [MapChoice("normal")]


def test_few_city_block_distances_need_no_compiled_loop(monkeypatch):
    features = np.random.default_rng(0).normal(size=(60, 5)).astype(np.float32)
    rows = SampleRows(features, np.sign(features[:, :1]).astype(float), None, np.ones(60))

    def losses():
        return next(over_centres(Laplacian(gamma=0.7), 20, [1.0], rows, rows, (Powers(), Powers())))

    monkeypatch.setattr("distkern.choose.machines.FEW_DIFFERENCES", 60 * 5 * 20 - 1)
    compiled = losses()
    monkeypatch.setattr("distkern.maths.kernels.product.city_block", None)
    monkeypatch.setattr("distkern.choose.machines.FEW_DIFFERENCES", 60 * 5 * 20)
    np.testing.assert_allclose(losses(), compiled, rtol=1e-4, atol=1e-6)


def exact_ridges(monkeypatch, frequency, noise):
    """Climb for classes of this frequency; count the ridges of exact machines by their training rows."""
    generator = np.random.default_rng(0)
    features = generator.uniform(-1.0, 1.0, size=(1800, 2)).astype(np.float32)
    waves = np.sin(frequency * features).prod(axis=1, keepdims=True)
    signs = np.sign(waves + noise * generator.normal(size=(1800, 1)))
    rows = SampleRows(features, signs, (signs[:, 0] > 0).astype(int), np.ones(1800))
    parts = [(np.arange(1200), np.arange(1200, 1800))]
    n_ridges = {}

    def counted(kernel, ridges, train, held_out):
        n_ridges[train.n_rows] = n_ridges.get(train.n_rows, 0) + len(ridges)
        return over_all_rows(kernel, ridges, train, held_out)

    monkeypatch.setattr("distkern.choose.machines.over_all_rows", counted)
    # without rows around anchors, as for sparse rows
    climb(rows, parts, 100_000, 0, maps=[MapChoice("none"), MapChoice("standard")])
    return n_ridges


def test_only_leading_exact_machines_train_on_all_rows(monkeypatch):
    n_ridges = exact_ridges(monkeypatch, 12.0, 0.05)
    assert 1 <= n_ridges[1200] <= 2
    # three kernels with all ridges; other widths and maps with the neighbours of the best ridge
    assert n_ridges[1000] >= 18


@pytest.mark.parametrize(
    ("frequency", "noise", "is_tried"), [(2.0, 0.5, False), (12.0, 0.5, True), (1.0, 0.0, True)]
)
def test_exact_machines_are_tried_if_more_functions_gain_or_classes_are_separable(
    frequency, noise, is_tried, monkeypatch
):
    """Noisy rows whose best machine has few functions do not pay for a rung of exact machines."""
    # the probe has two widths of two kernels, with five and three ridges
    assert (exact_ridges(monkeypatch, frequency, noise)[1000] > 16) == is_tried


@pytest.mark.parametrize(
    ("leading", "first"),
    [
        (["interactions", "none", "diagonal", "full"], ["interactions", "diagonal"]),
        (["interactions", "none"], ["interactions"]),
        (["diagonal", "interactions", "none"], ["diagonal"]),
    ],
)
def test_exact_machines_are_not_judged_by_interactions_alone(leading, first):
    """With few columns, exact machines gain nothing over centres: on ijcnn1 no other map was tried."""
    maps = [MapChoice("normal", metric) for metric in leading]
    assert [choice.metric for choice in first_exact(maps)] == first


def test_a_kernel_that_suits_neither_of_the_best_maps_is_tried_with_another():
    """City-block distances of mixed columns say little, so the Laplacian needs a map that mixes none."""
    generator = np.random.default_rng(0)
    X = generator.normal(size=(900, 4)).astype(np.float32)
    targets = np.sin(2.0 * X @ np.array([1.0, -1.0, 1.0, -1.0]))[:, None]
    rows = SampleRows(X, targets, None, np.ones(900))
    fold = Fold(rows.part(np.arange(600)), rows.part(np.arange(600, 900)))
    maps = [MapChoice("none", "diagonal"), MapChoice("none", "full", 1), MapChoice("standard", "full", 1)]
    tried, _ = rungs.over_centres([fold], maps, rungs.KERNELS)
    assert {one.setting.map.metric for one in tried if one.kernel.name == "laplacian"} == {"diagonal"}
    assert best(tried).setting.map.is_full


def test_the_kernel_that_gains_most_by_more_centres_is_tried_with_all(monkeypatch):
    """The Laplacian is behind with 384 centres and ahead with 1,024, as its score falls faster."""
    sizes = (128, 384, 1024)
    scores = {"rbf": (0.093, 0.086, 0.083), "laplacian": (0.129, 0.088, 0.055)}
    trained = []

    def over_few(self, setting, n_centres, n_few, start=None):
        trained.append((setting.kernel.name, n_centres))
        fewer = min(sizes, key=lambda size: abs(size - n_few))
        of_size = dict(zip(sizes, scores[setting.kernel.name], strict=True))
        return tuple(TriedMachine(setting, np.full(90, of_size[size])) for size in (n_centres, fewer))

    monkeypatch.setattr(ladder._Ladder, "over_few", over_few)
    generator = np.random.default_rng(0)
    features = generator.normal(size=(300, 3)).astype(np.float32)
    rows = SampleRows(features, features[:, :1].astype(float), None, np.ones(300))
    folds = [Fold(rows.part(np.arange(210)), rows.part(np.arange(210, 300)))]
    own = ladder._Ladder(rows, folds, 100_000, 1000, 1000, None, None)

    def tried(kernel, score):
        return TriedMachine(MachineSetting("centres", MapChoice("none"), kernel, 1.0, (210, 52)), score)

    linear_machine = tried(None, np.full(90, 1.0))
    found, may_win = own.inexact_candidates(
        linear_machine, [tried(GAUSSIAN, np.full(90, 0.1)), tried(LAPLACIAN, np.full(90, 0.104))]
    )
    assert [one.kernel.name for one in found] == ["laplacian"]
    assert may_win
    assert trained == [("rbf", 384), ("laplacian", 384), ("rbf", 1024), ("laplacian", 1024)]


def test_exact_machines_are_also_asked_of_the_laplacian():
    """Of columns that jump, the Gaussian gains nothing by all rows, and the Laplacian does."""
    generator = np.random.default_rng(0)
    features = generator.uniform(size=(1400, 2)).astype(np.float32)
    targets = np.floor(6 * features).sum(axis=1, keepdims=True)
    rows = SampleRows(features, targets, None, np.ones(1400))
    folds = [Fold(rows.part(np.arange(1000)), rows.part(np.arange(1000, 1400)))]
    own = ladder._Ladder(rows, folds, 100_000, 1000, 1000, None, None)
    centred = best(folds[0].over_centres([(MapChoice("none"), GAUSSIAN)]))
    exact, few = own.exact_probe(centred)
    assert exact.kernel.name == "laplacian"
    assert few.setting.kind == "centres"
    assert exact.score < few.score
