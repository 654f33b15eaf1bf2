"""How machines in cells choose: what goes on from the ladder, what is taken, and by which rows."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from distkern.common.blas import single_threaded
from distkern.features.kernel_choice import KernelChoice
from distkern.kernels import find_kernel
from distkern.losses import find_loss
from distkern.maps.mapping import MapChoice, RowMap
from distkern.search.ladder import KERNELS, LAPLACIAN, MATERN, exact_machines
from distkern.search.machines import SampleRows
from distkern.solvers._cells import choosing, trials
from distkern.solvers._cells.arenas import OnSample
from distkern.solvers._cells.choosing import SearchSpace
from distkern.solvers._cells.layout import CellLayout
from distkern.solvers._cells.machine import CellSettings, solve_costs
from distkern.solvers._cells.ranking import MOST_KINDS, MOST_SETTINGS, Ranking, around, leaders_of
from distkern.solvers._cells.sizes import SAMPLE_ROWS, Sizes
from distkern.solvers._cells.trials import CellSetting, MapTrial, Outcome, Sampled
from distkern.solvers.base import Problem


@pytest.fixture(autouse=True)
def _one_thread():
    with single_threaded():
        yield


def problem(n=600, seed=0, scales=(1.0, 1.0, 1.0, 1.0)):
    """Two columns that matter, and two that do not."""
    x = np.random.default_rng(seed).standard_normal((n, 4))
    y = np.sin(3 * x[:, 0]) + x[:, 1]
    return (x * scales).astype(np.float32), y[:, None] / y.std()


def outcome(setting, losses, mapping=None):
    return Outcome(setting, np.asarray(losses, dtype=float), 1.0, mapping)


def climbed(x, targets, weights=None, **given):
    weights = np.ones(len(x)) if weights is None else weights
    sampled = Sampled(x, targets, weights, find_loss("squared_hinge")(), 0, weights)
    said = {"kernel": None, "gamma": "auto", "C": "auto", "scale": "auto", "metric": "auto", "search": "full"}
    layout = SimpleNamespace(problem=SimpleNamespace(n_features=x.shape[1]))
    return SearchSpace(**{**said, **given})._climbed(layout, sampled).outcomes


def test_the_ladder_finds_the_metric_and_keeps_a_map_without_one():
    x, y = problem(scales=(1.0, 1.0, 30.0, 30.0))
    found = climbed(x, y)
    assert found[0].setting.map.transform != "none"
    assert found[0].setting.map.metric != "none"
    plain = [one for one in found if one.setting.map.metric == "none"]
    assert found[0].score < 0.7 * plain[0].score
    # weights are rows, and C is that of a row of weight 1
    of_weight = climbed(x, y, np.full(len(x), 4.0))
    assert [one.setting.cost for one in of_weight] == pytest.approx([one.setting.cost / 4 for one in found])
    assert [one.score for one in of_weight] == pytest.approx([one.score for one in found])


def test_what_is_given_is_not_changed_by_the_ladder():
    x, y = problem()
    kernel = KernelChoice(find_kernel("laplacian"), "median")
    given = {"kernel": kernel, "gamma": "median/2", "C": 7.0, "scale": "ranks", "metric": None}
    (found,) = climbed(x, y, **given)
    assert found.setting == CellSetting(
        MapChoice("ranks", "none", 3), replace(LAPLACIAN, width=0.5**0.5), 7.0
    )
    rows = SampleRows(x, y, None, np.ones(len(x)))
    (one,) = exact_machines(
        rows,
        (np.arange(400), np.arange(400, 600)),
        maps=[MapChoice("ranks")],
        kernels=[found.setting.kernel],
        ridges=[1 / 7],
        is_wide=False,
    )
    assert one.score == pytest.approx(found.score)


def test_no_more_rows_are_held_out_of_a_large_sample_than_memory_is_planned_for():
    x, y = problem(3 * SAMPLE_ROWS + 300)
    kernel = KernelChoice(find_kernel("rbf"), "median")
    given = {"kernel": kernel, "gamma": "median", "C": 7.0, "scale": "none", "metric": None}
    (found,) = climbed(x, y, **given)
    assert len(found.losses) == SAMPLE_ROWS


def test_rows_of_weight_zero_teach_nothing():
    x, y = problem()
    signs = np.where(y > 0, 1.0, -1.0)
    weights = np.ones(600)
    # a third of what is learned from has wrong targets
    weights[100:240] = 0
    signs[100:240] *= -1
    given = {
        "scale": "none",
        "metric": None,
        "kernel": KernelChoice(find_kernel("matern"), "median", {"smoothness": 0.5}),
    }
    found, misled = (climbed(x, signs, each, **given)[0] for each in (weights, None))
    assert found.score < misled.score - 0.05


@pytest.mark.parametrize(
    ("given", "transforms", "metrics"),
    [
        ({}, {"none", "standard", "normal"}, {"none", "diagonal", "interactions", "full"}),
        ({"search": "quick"}, {"none", "standard"}, {"none", "diagonal", "interactions"}),
        ({"scale": "ranks"}, {"ranks"}, {"none", "diagonal", "interactions", "full"}),
        ({"metric": None}, {"none", "standard", "normal"}, {"none"}),
        ({"metric": "full", "search": "quick"}, {"none", "standard", "normal"}, {"full"}),
        ({"scale": "ranks", "metric": "full", "search": None}, {"ranks"}, {"full"}),
    ],
)
def test_maps_that_are_tried(given, transforms, metrics):
    values = {"scale": "auto", "metric": "auto", "search": "full", **given}
    maps = SearchSpace(None, "auto", "auto", values["scale"], values["metric"], values["search"]).maps(20)
    assert {choice.transform for choice in maps} == transforms
    assert {choice.metric for choice in maps} == metrics
    assert len(set(maps)) == len(maps) == len(transforms) * len(metrics)


def test_metrics_that_gain_nothing_for_certain_are_not_chosen():
    generator = np.random.default_rng(0)
    plain, metric = (CellSetting(MapChoice("standard", kind), MATERN, 1.0) for kind in ("none", "full"))
    city_block = replace(plain, kernel=LAPLACIAN)
    wrong = (generator.random(5000) < 0.1).astype(float)
    lucky, better = wrong.copy(), wrong.copy()
    lucky[np.flatnonzero(wrong)[:20]] = 0
    lucky[np.flatnonzero(wrong == 0)[:18]] = 1
    better[np.flatnonzero(wrong)[:100]] = 0
    mapping = RowMap.fit(MapChoice(), np.zeros((4, 2), np.float32), np.ones((4, 1)))
    for more, losses, expected in (
        (metric, lucky, plain),
        (metric, better, metric),
        (city_block, lucky, plain),
        (city_block, better, city_block),
    ):
        found = outcome(plain, wrong, mapping), outcome(more, losses, mapping)
        assert [one.setting for one in leaders_of(found, 1)] == [more, plain]
        assert Ranking(found).choice().setting == expected


def test_a_diagonal_is_taken_unless_a_whole_metric_is_surely_better():
    generator = np.random.default_rng(0)
    mapping = RowMap.fit(MapChoice(), np.zeros((4, 2), np.float32), np.ones((4, 1)))
    diagonal, whole = (CellSetting(MapChoice("none", kind), MATERN, 1.0) for kind in ("diagonal", "full"))
    for gain, expected in ((0.01, diagonal), (0.2, whole)):
        wrong = generator.random(2000) < 0.3
        better = np.where(generator.random(2000) < gain, 0.0, wrong)
        better[:10] = 1.0 - wrong[:10]
        found = outcome(diagonal, wrong, mapping), outcome(whole, better, mapping)
        assert Ranking(found).choice().setting == expected


def test_work_of_a_trial_is_that_of_its_machine_and_what_is_left():
    generator = np.random.default_rng(0)
    x = generator.standard_normal((300, 3)).astype(np.float32)
    y = np.where(generator.random((300, 1)) < 0.5, 1.0, -1.0)
    mapping = RowMap.fit(MapChoice("none"), x, y)
    hinge, rows = find_loss("hinge")(), (x, y, None)
    for width, cost, is_solved in ((0.1, 1.0, True), (30.0, 1e4, False)):
        kernel = replace(MATERN, width=width)
        settings = CellSettings(kernel.over(mapping), hinge, 1.0, trials.TOLERANCE, trials.MOST_SWEEPS)
        (machine,) = solve_costs(settings, *rows, 0, [cost])
        assert machine.converged == is_solved
        _, work = trials.tried(MapTrial(MapChoice("none"), (kernel,), (cost,)), mapping, hinge, rows, rows, 0)
        assert work == machine.work + machine.left
        assert (machine.left == 0) == is_solved


def test_no_more_kinds_are_tried_than_are_planned():
    kinds = [(MapChoice("none", "full", rounds), MATERN) for rounds in (1, 2, 3, 4)]
    kinds += [(MapChoice("none", kind), LAPLACIAN) for kind in ("diagonal", "none")]
    kinds += [(MapChoice("none", kind), MATERN) for kind in ("diagonal", "none")]
    found = tuple(outcome(CellSetting(*kind, 1.0), [place]) for place, kind in enumerate(kinds))
    # the best, what is Euclidean, what has a diagonal or nothing, and what cuts the cells
    leaders = leaders_of(found, 3)
    assert [one.setting.map.metric for one in leaders] == ["full"] * 3 + ["diagonal", "none"]
    assert [one.map.metric for one in Ranking(found).best_of_city_block] == ["diagonal"]
    assert len(leaders) + 2 <= MOST_KINDS


@pytest.mark.parametrize(("kinds", "cutting"), [(["full", "diagonal"], "diagonal"), (["full"], "full")])
def test_cells_are_not_cut_by_a_whole_metric_where_there_is_another(kinds, cutting):
    settings = [CellSetting(MapChoice("none", kind), MATERN, 1.0) for kind in kinds]
    found = tuple(outcome(one, [place]) for place, one in enumerate(settings))
    assert Ranking(found).cutting.map.metric == cutting


@pytest.mark.parametrize(("best", "edge"), [(1.5, 1), (0.5, 0), (0.5 / 9, -1)])
def test_an_edge_that_is_best_is_told(best, edge):
    setting = CellSetting(MapChoice("none"), replace(MATERN, width=0.5), 1.0)
    mapping = RowMap.fit(setting.map, np.random.default_rng(0).random((20, 2)), np.ones((20, 1)))
    trial = around(setting, mapping, 0, is_wide=True, has_costs=False)
    np.testing.assert_allclose([kernel.width for kernel in trial.kernels], [1.5, 0.5, 0.5 / 3, 0.5 / 9])
    assert trial.costs == (1.0,)
    outcomes = [
        outcome(each, [float(abs(each.kernel.width - best) > 1e-3)] * 4, mapping) for each in trial.settings
    ]
    ranking = Ranking((outcome(setting, [0.5]),)).then(outcomes)
    choice = ranking.choice()
    assert choice.setting.kernel.width == pytest.approx(best, abs=1e-3)
    assert ranking.edges(choice.setting) == (edge, 0)
    wide = CellSetting(setting.map, replace(MATERN, width=2.0), 1.0)
    widths = [
        [kernel.width for kernel in around(wide, mapping, 1, is_wide=True, has_costs=False, **given).kernels]
        for given in ({}, {"quadratic": True})
    ]
    # four medians are too wide, unless a factorisation solves it
    assert widths == [[3.0, 2.0, 1.0], [4.0, 2.0, 1.0]]
    again = around(choice.setting, mapping, 1, is_wide=False, has_costs=True)
    assert (len(again.kernels), len(again.costs)) == (1, 3)


@pytest.mark.parametrize(
    ("plain", "own", "chosen", "rounds"),
    [
        # what a metric gains is not seen in cells that it has cut, and is where there is none
        (0.10, 0.20, "diagonal", [0, 1, 2]),
        (0.10, 0.11, "none", [0, 1, 2]),
        (0.30, 0.20, "diagonal", [0, 1]),
    ],
)
def test_what_is_chosen_is_as_good_in_cells_that_its_own_map_cuts(monkeypatch, plain, own, chosen, rounds):
    maps = {kind: MapChoice("standard", kind) for kind in ("none", "diagonal")}
    whole, begun, cut_by = {"diagonal": 0.10, "none": plain}, [], []
    mapping = RowMap.fit(MapChoice(), np.zeros((4, 2), np.float32), np.ones((4, 1)))

    def found(setting, share):
        return outcome(setting, (np.arange(2000) % 100 < 100 * share).astype(float), mapping)

    class Arena:
        def cut(self, mapping, number):
            cut_by.append(number)
            yield from ()

        def tried(self, number, cells, trials):
            begun.append(number)
            of_kind = {"none": own} if number == 2 else whole
            return [found(each, of_kind[each.map.metric]) for trial in trials for each in trial.settings]
            yield

    def learned(layout, sampled, name, choices, most):
        return dict.fromkeys(choices, mapping)
        yield

    monkeypatch.setattr(choosing, "learned", learned)
    layout = SimpleNamespace(
        is_tuned=True, tries_transforms=False, learns_first=lambda _: False, metric_rows=100, quadratic=False
    )
    both = [CellSetting(maps[kind], MATERN, 10.0) for kind in ("diagonal", "none")]
    ranking = Ranking(tuple(found(one, 0.1) for one in both))
    given = SearchSpace(None, "auto", "auto", "auto", "auto", "full")
    steps = given._tried(layout, None, Arena(), ranking)
    with pytest.raises(StopIteration) as ended:
        next(steps)
    assert ended.value.value.choice().setting.map.metric == chosen
    assert begun == rounds
    assert cut_by == list(range(len(rounds) - 1))


@pytest.mark.parametrize(
    ("n_buckets", "n_first", "cells"), [(40, 14, (1, 1)), (4, 4, (1, 3)), (1, 1, (4, 10))]
)
def test_the_first_round_tries_a_third_of_the_cells_in_all_parts(n_buckets, n_first, cells):
    counts = [(number, 9) for number in range(n_buckets)]
    layout = SimpleNamespace(n_tuned=10)
    first, n_cells = CellLayout.tuned_items(layout, 0, counts)
    assert (len(first), n_cells) == (n_first, cells[0])
    assert CellLayout.tuned_items(layout, 1, counts) == (counts, cells[1])


@pytest.mark.parametrize(
    ("n_rows", "is_tuned"), [(2000, False), (13_000, False), (14_000, True), (10**6, True)]
)
def test_what_is_chosen_on_most_of_the_rows_is_not_tried_on_whole_cells(n_rows, is_tuned):
    given = Problem((n_rows,), 20, np.dtype("float32"), 0, n_outputs=1, has_test=False)
    sizes = Sizes(given, 8000, 0.1, quadratic=False, searched="full")
    assert sizes.is_tuned is is_tuned
    n_sampled = sizes.sample_rows
    for number in (0, 1):
        n_learned, n_held_out = sizes.asked(number, n_sampled)
        # no row that is held out teaches a metric
        assert is_tuned or n_learned + min(n_held_out, n_sampled - n_learned) <= n_sampled
        assert is_tuned or max(sizes.metric_rows, n_learned) <= 2 * n_sampled // 3


def test_a_round_on_the_sample_is_as_large_as_planned():
    x, y = problem(300)
    given = Problem((300,), 4, np.dtype("float32"), 0, n_outputs=1, has_test=False)
    layout = CellLayout(given, 300, 0.1, quadratic=True, searched="full")
    assert isinstance(OnSample(layout, None), OnSample)
    step = layout.asking_sample("tune 1", [MapTrial(MapChoice(), (), ())], None, layout.asked(0, 300))
    sampled = Sampled(x, y, np.ones(300), find_loss("square")(), 0, np.ones(300))
    fitted = RowMap.fit(MapChoice(), x, y)
    trial = around(CellSetting(MapChoice(), KERNELS[1], 10.0), fitted, 1, is_wide=True, has_costs=True)
    record, arrays = trials.try_sample(trial, iter(()), trials.Asking(sampled, *layout.asked(0, 300)))
    assert len(record["work"]) == len(arrays["losses"]) == 9 <= MOST_SETTINGS
    assert arrays["losses"].nbytes <= step.cost.result_bytes
    assert arrays["losses"].shape[1] == 100


@pytest.mark.parametrize(("scale", "others"), [("auto", ["none", "standard"]), ("normal", [])])
def test_other_transforms_of_what_leads_are_tried_where_rows_are_many(scale, others):
    space = SearchSpace(None, "auto", "auto", scale, "auto", "full")
    leader = CellSetting(MapChoice("normal", "diagonal", 3), replace(LAPLACIAN, width=0.1), 3.0)
    found = space._siblings([leader], 20)
    assert [one.map.transform for one in found] == others
    assert all(replace(one, map=leader.map) == leader for one in found)
    # what is among the leaders is not tried twice
    assert space._siblings([leader, *found], 20) == []
