"""The rule by which one of several is chosen, whatever they are, and the ladder that it climbs."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from distkern.choose.choice import (
    Rung,
    TriedSetting,
    best_of_each,
    cheapest,
    going_on,
    is_better,
    not_worse,
    rungs_of,
    worth_its_work,
)
from distkern.choose.folds import MachineSetting, TriedMachine
from distkern.choose.ladder import climb
from distkern.choose.machines import Kernel, SampleRows, linear, over_all_rows, over_centres
from distkern.choose.rungs import GAUSSIAN, MATERN, first_exact, leading_maps
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
def test_the_best_go_on_and_what_stays_but_nothing_that_failed(staying, expected):
    scores = {0: math.inf, 1: 0.5, 2: 0.7, 3: 0.1, 4: 0.5}
    assert going_on(scores, 2, staying) == expected


def test_differences_are_judged_on_the_same_rows():
    losses, noise = np.random.default_rng(0).normal(size=(2, 1000))
    # by none, 3 and 30 standard errors
    tried = [TriedSetting(gap, losses + gap + noise * (gap > 0)) for gap in (0.0, 0.1, 1.0)]
    assert [len(not_worse(tried, certain)) for certain in (math.inf, 6.0, 2.0)] == [3, 2, 1]
    assert is_better(tried[0], tried[1])
    assert not is_better(tried[1], tried[0])
    assert best_of_each(tried[::-1], lambda one: one.setting > 0.5) == [tried[0], tried[2]]


def test_a_setting_that_loses_many_times_as_much_is_not_as_good_by_chance():
    generator = np.random.default_rng(0)
    losses = generator.uniform(0.0, 0.02, 100)
    # three rows of a hundred that it is sure of and wrong
    beside = losses.copy()
    beside[:3] = 2.7
    best_one, cheap = TriedSetting(0, losses, 100.0), TriedSetting(1, beside, 1.0)
    assert cheap.score > 8 * best_one.score
    assert not is_better(best_one, cheap)
    assert [one.setting for one in not_worse([best_one, cheap])] == [0]
    # of losses that are as large chance may say as much
    high = [TriedSetting(one.setting, one.losses + 1.0, one.work) for one in (best_one, cheap)]
    assert len(not_worse(high)) == 2
    # and of errors
    wrong = np.zeros((2, 200))
    wrong[0, :10], wrong[1, 5:17] = 1.0, 1.0
    near = [TriedSetting(place, each) for place, each in enumerate(wrong)]
    assert len(not_worse(near)) == 2


def test_of_what_cannot_be_told_apart_the_cheaper_wins():
    ranked = [
        TriedSetting(0, np.array([1.0, 2.0, 3.0, 4.0]), 100.0),
        # a little worse everywhere, and by chance worse in one row alone
        TriedSetting(1, np.array([1.1, 2.1, 3.1, 4.1]), 10.0),
        TriedSetting(2, np.array([1.0, 2.0, 3.0, 5.0]), 10.0),
        TriedSetting(3, np.array([3.0, 4.0, 5.0, 6.0]), 1.0),
    ]
    near = not_worse(ranked)
    assert [one.setting for one in near] == [0, 2]
    # it is for no more work, though it is surely not the best
    assert cheapest(ranked, near).setting == 1
    assert cheapest(ranked[2:], ranked[2:3]).setting == 2


def test_work_is_weighed_with_what_it_gains():
    """Half the work is worth a fifth of a standard error."""
    losses = np.zeros(400)
    losses[:8], losses[8:12] = 1.0, -1.0
    mean, error = 4 / 400, losses.std() / 20
    worth = mean / error / 0.2
    for more, chosen in ((0.1, 1), (-0.1, 0)):
        tried = [TriedSetting(0, np.zeros(400), 2.0 ** (worth + more)), TriedSetting(1, losses, 1.0)]
        assert worth_its_work(tried).setting == chosen
    # every row is worse by as much
    assert worth_its_work([TriedSetting(0, np.zeros(9), 1e9), TriedSetting(1, np.ones(9), 1.0)]).setting == 0


def drawn(n_rows, seed=0):
    generator = np.random.default_rng(seed)
    X = generator.normal(size=(2 * n_rows, 3)).astype(np.float32)
    codes = (np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * generator.normal(size=2 * n_rows) > 0).astype(int)
    targets = np.where(codes > 0, 1.0, -1.0)[:, None]
    both = SampleRows(X, targets, codes, np.ones(2 * n_rows))
    return both.part(np.arange(n_rows)), both.part(np.arange(n_rows, 2 * n_rows))


@pytest.mark.parametrize("ridge", [0.1, 10.0])
def test_machines_are_ridge_regressions(ridge):
    learned, asked = drawn(200)
    mapping = RowMap.fit(MapChoice("none"), learned.features, learned.targets)
    kernel = Kernel("rbf", 1.0)
    gamma = kernel.over(mapping).gamma
    mapped = [replace(part, features=mapping.apply(part.features)) for part in (learned, asked)]
    center = learned.targets.mean()
    exact = KernelRidge(alpha=ridge, kernel="rbf", gamma=gamma)
    exact.fit(mapped[0].features, learned.targets - center)
    expected = log_losses(exact.predict(mapped[1].features) + center, asked.codes).mean()
    [whole] = over_all_rows(kernel.over(mapping), [ridge], *mapped)
    assert whole.mean() == pytest.approx(expected, rel=1e-4)
    # centres at all rows are the same machine, but for what makes their matrix definite
    [centred] = over_centres(kernel.over(mapping), 200, [ridge], *mapped, (Powers(), Powers()))
    assert centred.mean() == pytest.approx(expected, rel=0.02)
    [straight] = linear([ridge], learned, asked)
    of_columns = Ridge(alpha=ridge).fit(learned.features, learned.targets)
    expected = log_losses(of_columns.predict(asked.features).reshape(-1, 1), asked.codes).mean()
    assert straight.mean() == pytest.approx(expected, rel=1e-3)


def test_the_ladder_depends_on_rows_and_seed_alone():
    learned, asked = drawn(700)
    names = ("features", "targets", "codes", "weights")
    both = SampleRows(*(np.concatenate([getattr(part, name) for part in (learned, asked)]) for name in names))
    parts = [(np.arange(700), np.arange(700, 1400))]
    first, again = (climb(both, parts, 1400, 0) for _ in range(2))
    assert first.chosen.setting == again.chosen.setting
    assert first.chosen.setting.kind == "centres"
    np.testing.assert_array_equal(first.chosen.losses, again.chosen.losses)
    assert re.match(r"tried: linear \([\d,]+ rows x \d+ functions\): [\d.]+$", first.compared[0].summary)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("frequency", "kind", "n_learned"), [(0.3, "centres", []), (7.0, "exact", [1000, 1200])]
)
def test_exact_machines_learn_from_more_rows_where_they_gain_something(frequency, kind, n_learned):
    generator = np.random.default_rng(0)
    X = generator.normal(size=(1800, 2)).astype(np.float32)
    values = np.sin(frequency * X).sum(axis=1) + 0.1 * generator.normal(size=1800)
    rows = SampleRows(X, (values / values.std())[:, None], None, np.ones(1800))
    parts = [(np.arange(1200), np.arange(1200, 1800))]
    found = climb(rows, parts, 10**6, 0, maps=[MapChoice("none")], exact_rows=1200)
    assert found.chosen.setting.kind == kind
    # where more functions gain nothing, exact machines are not tried
    assert [one.setting.size[0] for one in found.rungs if one.setting.kind == "exact"] == n_learned


def tried(transform, kernel, losses):
    return TriedMachine(MachineSetting("centres", MapChoice(transform), kernel, 1.0), losses)


def test_a_map_goes_on_unless_it_is_worse_by_more_than_chance():
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

    monkeypatch.setattr("distkern.choose.machines._FEW_DIFFERENCES", 60 * 5 * 20 - 1)
    compiled = losses()
    monkeypatch.setattr("distkern.maths.kernels.product.city_block", None)
    monkeypatch.setattr("distkern.choose.machines._FEW_DIFFERENCES", 60 * 5 * 20)
    np.testing.assert_allclose(losses(), compiled, rtol=1e-4, atol=1e-6)


def exact_ridges(monkeypatch, turns, noise):
    """How many exact ridge machines learn from so many rows, on the way to what is chosen for classes that
    change so often."""
    generator = np.random.default_rng(0)
    features = generator.uniform(-1.0, 1.0, size=(1800, 2)).astype(np.float32)
    waves = np.sin(turns * features).prod(axis=1, keepdims=True)
    signs = np.sign(waves + noise * generator.normal(size=(1800, 1)))
    rows = SampleRows(features, signs, (signs[:, 0] > 0).astype(int), np.ones(1800))
    parts = [(np.arange(1200), np.arange(1200, 1800))]
    settings = {}

    def counted(kernel, ridges, learned, asked):
        settings[learned.n_rows] = settings.get(learned.n_rows, 0) + len(ridges)
        return over_all_rows(kernel, ridges, learned, asked)

    monkeypatch.setattr("distkern.choose.folds.over_all_rows", counted)
    # there are no rows around others, as with sparse rows
    climb(rows, parts, 100_000, 0, maps=[MapChoice("none"), MapChoice("standard")])
    return settings


def test_of_exact_machines_those_that_lead_learn_from_all_rows(monkeypatch):
    settings = exact_ridges(monkeypatch, 12.0, 0.05)
    assert 1 <= settings[1200] <= 2
    # three kernels with all ridges, their other widths and maps with the nearest ones
    assert settings[1000] >= 18


@pytest.mark.parametrize(
    ("turns", "noise", "tried"), [(2.0, 0.5, False), (12.0, 0.5, True), (1.0, 0.0, True)]
)
def test_exact_machines_are_tried_where_more_functions_gain_or_classes_are_apart(
    turns, noise, tried, monkeypatch
):
    """On noisy rows whose best machine has few functions they took half of all seconds."""
    # two widths of one kernel at least, with five ridges and three
    assert (exact_ridges(monkeypatch, turns, noise)[1000] > 8) == tried


@pytest.mark.parametrize(
    ("leading", "first"),
    [
        (["interactions", "none", "diagonal", "full"], ["interactions", "diagonal"]),
        (["interactions", "none"], ["interactions"]),
        (["diagonal", "interactions", "none"], ["diagonal"]),
    ],
)
def test_exact_machines_are_not_judged_by_interactions_alone(leading, first):
    """They are as good over centres, so that nothing else was tried of 10,000 rows of ijcnn1."""
    maps = [MapChoice("normal", metric) for metric in leading]
    assert [choice.metric for choice in first_exact(maps)] == first
