"""The search of machines in cells: what it finds, and what that depends on."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from distkern.common.blas import single_threaded
from distkern.losses import find_loss
from distkern.maps import metric as metrics
from distkern.maps.mapping import MapChoice, RowMap
from distkern.passes import Each
from distkern.solvers._cells import ranking as rankings
from distkern.solvers._cells import search as searches
from distkern.solvers._cells.choosing import MOST_TRIALS
from distkern.solvers._cells.machine import CellSettings, solve_cell
from distkern.solvers._cells.search import Size, sizes_of
from distkern.solvers._cells.space import Space, costs_of, maps_of, quick_maps
from distkern.solvers._cells.trials import KernelSpec, Sampled, Setting, try_map, worth_its_work

MATERN = (KernelSpec("matern", (("smoothness", 0.5),)),)


@pytest.fixture(autouse=True)
def _one_thread():
    with single_threaded():
        yield


@pytest.fixture(autouse=True)
def _small_rungs(monkeypatch):
    monkeypatch.setattr(searches, "_RUNGS", (Size(100, 200, 3), Size(200, 300, 1)))
    monkeypatch.setattr(searches, "_QUICK", (Size(60, 200, 2), Size(200, 300, 1)))


class Held:
    """A store of what tasks gave."""

    results: ClassVar = []

    def load(self, number):
        return self.results[number][1]


def search(rows, targets, weights, loss, space, seed, *, quick=False):
    """The search with every trial made here."""
    weights = np.ones(len(rows)) if weights is None else weights
    sizes = sizes_of(len(rows), targets.shape[1], quadratic=loss.is_quadratic, quick=quick, more_maps=False)
    n_rows = min(len(rows), 500)
    operand = Sampled(rows[:n_rows], targets[:n_rows], weights[:n_rows], loss, seed)
    stores = []

    def passes(_, trials):
        stores.append(Held())
        return Each("search", try_map, trials, None), stores[-1]

    steps, records = searches.search(space, sizes, passes), None
    try:
        while True:
            step = steps.send(records)
            stores[-1].results = [try_map(item, iter(()), operand) for item in step.items]
            records = [record for record, _ in stores[-1].results]
    except StopIteration as stop:
        return stop.value.choice()


def problem(n=500, seed=0, scales=(1.0, 1.0, 1.0, 1.0)):
    """Two columns that matter, and two that do not."""
    x = np.random.default_rng(seed).standard_normal((n, 4))
    y = np.sin(3 * x[:, 0]) + x[:, 1]
    return (x * scales).astype(np.float32), y[:, None] / y.std()


def test_finds_the_metric_and_says_what_it_gained():
    x, y = problem(scales=(1.0, 1.0, 30.0, 30.0))
    space = Space(quick_maps(), MATERN, costs=costs_of(find_loss("square")()))
    found = search(x, y, None, find_loss("square")(), space, seed=0)
    assert found.setting.map.metric == "diagonal"
    assert found.setting.map.transform == "standard"
    assert found.score < 0.6 * found.plain
    assert found.map.importance()[:2].sum() > 0.9
    # what it returns is what it scored
    mapping, setting = found.map, found.setting
    settings = CellSettings(
        mapping.kernel("matern", setting.width, smoothness=0.5), find_loss("square")(), setting.cost
    )
    cell = solve_cell(settings, mapping.apply(x[:100]), y[:100], None, 0)
    values = cell.predict(settings, mapping.apply(x[200:]))
    assert np.square(values - y[200:]).mean() == pytest.approx(found.score, rel=1e-3)


@pytest.mark.parametrize("quick", [False, True])
def test_depends_on_data_and_seed_alone_and_takes_no_more_rows_than_it_may(quick):
    x, y = problem(800)
    signs = np.where(y > 0, 1.0, -1.0)
    space = Space(maps_of(("standard", "ranks"), (("none", 1), ("full", 1))))
    first, second, fewer = (
        search(x[:n], signs[:n], np.ones(n), find_loss("hinge")(), space, 3, quick=quick)
        for n in (800, 800, 500)
    )
    assert first.setting == second.setting == fewer.setting
    assert first.score == second.score == fewer.score
    np.testing.assert_array_equal(first.map.factors, fewer.map.factors)
    assert first.score <= first.plain


def test_edges_of_ranges_are_seen_and_given_values_are_kept():
    x, y = problem()
    loss = find_loss("square")()
    narrow = Space((MapChoice("none"),), MATERN, (0.01, 0.02), (1000.0,))
    found = search(x, y, None, loss, narrow, 0)
    assert found.edges == (1, 0)
    assert found.setting.width == pytest.approx(0.02)
    assert found.setting.cost == 1000
    assert found.setting.map == MapChoice("none")
    wide = search(
        x, y, None, loss, Space((MapChoice("none"),), MATERN, (0.1, 1.0, 10.0, 100.0), (1.0, 10.0)), 0
    )
    assert wide.edges == (0, 1)


def test_several_classes_are_scored_by_all_outputs_and_by_weights():
    x, y = problem()
    codes = np.digitize(y[:, 0], [-0.7, 0.7])
    targets = np.where(codes[:, None] == np.arange(3), 1.0, -1.0)
    # the held-out rows of weight 0 have wrong targets
    weights = np.ones(500)
    weights[350:] = 0
    targets[350:] = np.roll(targets[350:], 1, axis=1)
    found = search(x, targets, weights, find_loss("odm")(), Space((MapChoice("none"),)), 0)
    # rows of right and of wrong targets together would say nothing
    assert found.score < 0.7 * np.log(3)


def test_maps_of_rows_that_say_nothing():
    x = np.ones((50, 3), np.float32)
    mapping = RowMap.fit(MapChoice("standard", "full"), x, np.ones((50, 1)))
    assert mapping.width == 1
    assert not mapping.apply(x).any()


class Outcome:
    """Of a setting that took some work."""

    def __init__(self, losses, work=1.0):
        self.losses, self.work, self.score = lambda: losses, work, losses.mean()


def test_metrics_that_gain_nothing_for_certain_are_not_chosen():
    generator = np.random.default_rng(0)
    plain, metric = (Setting(MapChoice("standard", kind), MATERN[0], 1.0, 1.0) for kind in ("none", "full"))
    city_block = replace(plain, kernel=KernelSpec("laplacian"))
    wrong = (generator.random(5000) < 0.1).astype(float)
    lucky, better = wrong.copy(), wrong.copy()
    lucky[np.flatnonzero(wrong)[:20]] = 0
    lucky[np.flatnonzero(wrong == 0)[:18]] = 1
    better[np.flatnonzero(wrong)[:100]] = 0
    for more, losses, expected in (
        (metric, lucky, plain),
        (metric, better, metric),
        (city_block, lucky, plain),
        (city_block, better, city_block),
    ):
        found = {plain: Outcome(wrong), more: Outcome(losses)}
        leaders = rankings.leaders_of(found, 1, rankings.by_kernel)
        assert leaders == [more, plain]
        assert rankings._simplest(found, leaders) == expected


def test_of_settings_as_good_the_one_of_worth_its_work_is_chosen():
    generator = np.random.default_rng(0)
    wrong = (generator.random((3, 5000)) < [[0.100], [0.100], [0.13]]).astype(float)
    wrong[1] = wrong[0]
    wrong[1, np.flatnonzero(wrong[0] == 0)[:21]] = 1
    wrong[1, np.flatnonzero(wrong[0])[:20]] = 0
    assert worth_its_work(wrong, np.array([5.0, 2.0, 1.0])) == 1
    assert worth_its_work(wrong, np.array([1.0, 2.0, 0.5])) == 0


@pytest.mark.parametrize(("best", "edge"), [(0.5, 1), (0.29, 0), (0.5 / 9, 0)])
def test_an_edge_that_whole_cells_turn_away_from_is_not_told(best, edge):
    setting = Setting(MapChoice("none"), MATERN[0], 0.5, 1.0)
    x = np.random.default_rng(0).standard_normal((20, 2)).astype(np.float32)
    mapping = RowMap.fit(setting.map, x, x[:, :1])

    def outcome(loss):
        return rankings.Outcome(loss, 1.0, lambda: np.full(4, loss), lambda: mapping)

    space = Space((setting.map,), MATERN, (0.02, 0.5), (1.0,))
    ranking = rankings.Ranking(space, 1, {setting: outcome(0.5)})
    (trial,) = ranking.finalists(*rankings.CELL_ROUNDS[0], setting.map.family)
    assert [width for _, width in trial.points] == [0.5, 0.29, 0.1667, 0.05556]
    outcomes = {each: outcome(float(abs(each.width - best) > 1e-3)) for each in trial.settings}
    choice = replace(ranking, outcomes=outcomes).choice()
    assert choice.setting.width == pytest.approx(best, abs=1e-3)
    assert choice.edges == (edge, 0)


def test_no_more_settings_are_tried_on_whole_cells_than_are_outlined():
    """The simpler ones and the one that cuts cells come beside the best, in the 1-norm too, and the plain."""
    city_block = KernelSpec("laplacian")
    kinds = [(MapChoice("none", "full", rounds), MATERN[0]) for rounds in (1, 2, 3)]
    kinds += [(MapChoice("ranks", "full", rounds), MATERN[0]) for rounds in (1, 2, 3)]
    kinds += [(MapChoice("ranks", "diagonal"), city_block)]
    for kernel in (MATERN[0], city_block):
        kinds += [(MapChoice("none", kind), kernel) for kind in ("diagonal", "none")]
    space = Space(tuple(dict.fromkeys(kind for kind, _ in kinds)), (*MATERN, city_block))
    settings = [*(Setting(*kind, 3.0, 30.0) for kind in kinds), space.plain]
    outcomes = {
        each: rankings.Outcome(float(place), 1.0, lambda: np.zeros(2), lambda: None)
        for place, each in enumerate(settings)
    }
    ranking = rankings.Ranking(space, 6, outcomes)
    assert ranking.cutting.map == MapChoice("ranks", "diagonal")
    assert len(ranking.finalists((1.0,), (1.0,), ranking.cutting.map.family)) == MOST_TRIALS


def test_cells_are_not_cut_by_a_whole_metric_where_there_is_another():
    maps = {kind: MapChoice("none", kind) for kind in ("full", "diagonal")}

    def ranking(*kinds):
        outcomes = {
            Setting(maps[kind], MATERN[0], 1.0, 1.0): rankings.Outcome(
                float(place), 1.0, lambda: np.zeros(2), lambda kind=kind: kind
            )
            for place, kind in enumerate(kinds)
        }
        return rankings.Ranking(Space(tuple(maps.values())), 3, outcomes)

    assert ranking("full", "diagonal").cutting.map.metric == "diagonal"
    assert ranking("diagonal", "full").cutting.map.metric == "diagonal"
    assert ranking("full").cutting.map.metric == "full"


def test_a_diagonal_is_taken_unless_a_whole_metric_is_surely_better():
    generator = np.random.default_rng(0)
    diagonal, whole = (Setting(MapChoice("none", kind), MATERN[0], 1.0, 1.0) for kind in ("diagonal", "full"))
    for gain, expected in ((0.01, diagonal), (0.2, whole)):
        wrong = generator.random(2000) < 0.3
        better = np.where(generator.random(2000) < gain, 0.0, wrong)
        better[:10] = 1.0 - wrong[:10]
        found = {
            setting: rankings.Outcome(float(losses.mean()), 1.0, lambda losses=losses: losses, lambda: None)
            for setting, losses in ((diagonal, wrong.astype(float)), (whole, better))
        }
        assert rankings._simplest(found, rankings.leaders_of(found, 2, rankings.by_kernel)) == expected


def test_the_last_round_of_a_metric_is_from_all_rows():
    x, y = problem(300)
    first = metrics.metric_of(metrics.gradient_sum(x[:150], y[:150], np.ones(4), 0.1), "full")
    second = metrics.metric_of(metrics.gradient_sum(x, y, first, 0.1), "full")
    np.testing.assert_array_equal(metrics.learn_metric(x, y, "full", rounds=2), second)
    assert np.abs(metrics.learn_metric(x[:100], y[:100], "full", rounds=2) - second).max() > 1e-3
