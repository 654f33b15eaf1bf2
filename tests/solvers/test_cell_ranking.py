"""What goes on to whole cells, how that is tried, and what metrics and kernel matrices are made of."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from distkern.kernels import find_kernel
from distkern.losses import find_loss
from distkern.maps.mapping import MapChoice, RowMap
from distkern.maps.metric import gradient_sum, root
from distkern.solvers._cells import finals, trials
from distkern.solvers._cells import ranking as rankings
from distkern.solvers._cells import search as searches
from distkern.solvers._cells.layout import Layout
from distkern.solvers._cells.machine import CellSettings, kernel_matrix, solve_costs
from distkern.solvers._cells.sizes import Sizes
from distkern.solvers._cells.space import KERNELS, Space, maps_of
from distkern.solvers._cells.trials import Setting, Trial, worth_its_work
from distkern.solvers.base import Problem

MATERN, LAPLACIAN, _ = KERNELS


def outcome(score):
    return rankings.Outcome(score, 1.0, lambda: np.full(2, score), lambda: object())


def test_what_has_no_whole_matrix_goes_on_in_the_1_norm_too():
    maps = {kind: MapChoice("none", kind) for kind in ("full", "diagonal", "none")}
    scores = {
        ("full", MATERN): 0.10,
        ("diagonal", MATERN): 0.11,
        ("none", MATERN): 0.12,
        ("full", LAPLACIAN): 0.20,
        ("diagonal", LAPLACIAN): 0.21,
    }
    outcomes = {
        Setting(maps[kind], kernel, width, 1.0): outcome(score + (width != 0.3))
        for (kind, kernel), score in scores.items()
        for width in (0.3, 3.0)
    }
    ranking = rankings.Ranking(Space(tuple(maps.values())), 2, outcomes)
    last = ranking.finalists((1.0,), (1.0,), ("full", False))
    found = {(trial.map.metric, trial.points[0][0].name): trial for trial in last}
    assert set(found) == {
        ("full", "matern"),
        ("diagonal", "matern"),
        ("none", "matern"),
        ("diagonal", "laplacian"),
    }
    assert found["diagonal", "laplacian"].points == ((LAPLACIAN, 0.3),)
    assert found["diagonal", "laplacian"].fitted is found["diagonal", "matern"].fitted


def test_of_a_kind_of_metrics_a_map_goes_on_that_keeps_lines_and_one_that_does_not():
    space = Space(maps_of(metrics=(("diagonal", 3),)), (MATERN,))
    scores = {"ranks": 0.1, "normal": 0.2, "standard": 0.3, "none": 0.4}
    (first, second) = searches.sizes_of(9000, 1, quadratic=False, quick=False, more_maps=True)
    steps = searches.search(space, (first, second), lambda name, trials: (trials, None))
    first_trials = next(steps)
    records = [
        {"scores": [scores[trial.map.transform]] * len(trial.settings), "work": [1.0] * len(trial.settings)}
        for trial in first_trials
    ]
    transforms = [trial.map.transform for trial in steps.send(records)]
    assert set(transforms) == {"ranks", "standard"}


def test_metrics_of_one_map_that_is_given_are_searched_still():
    space = Space((MapChoice("none", "diagonal", 3),), (MATERN,))
    sizes = searches.sizes_of(9000, 1, quadratic=False, quick=False, more_maps=True)
    steps = searches.search(space, sizes, lambda name, trials: (trials, None))
    records = [
        {"scores": [0.1] * len(trial.settings), "work": [1.0] * len(trial.settings)} for trial in next(steps)
    ]
    assert {trial.map.metric for trial in steps.send(records)} == {"diagonal", "none"}


def test_work_is_weighed_with_what_it_gains():
    """Half the work is worth a fifth of a standard error."""
    losses = np.zeros((2, 400))
    losses[1, :8], losses[1, 8:12] = 1.0, -1.0
    mean, error = 4 / 400, losses[1].std() / 20
    worth = mean / error / 0.2
    assert worth_its_work(losses, np.array([2.0 ** (worth + 0.1), 1.0])) == 1
    assert worth_its_work(losses, np.array([2.0 ** (worth - 0.1), 1.0])) == 0
    # every row is worse by as much
    assert worth_its_work(np.array([np.zeros(9), np.ones(9)]), np.array([1e9, 1.0])) == 0


@pytest.mark.parametrize(
    ("n_buckets", "n_first", "cells"), [(40, 14, (1, 1)), (4, 4, (1, 3)), (1, 1, (4, 10))]
)
def test_the_first_round_tries_a_third_of_the_cells_in_all_parts(n_buckets, n_first, cells):
    counts = [(number, 9) for number in range(n_buckets)]
    layout = SimpleNamespace(n_tuned=10)
    first, n_cells = Layout.tuned_items(layout, 0, counts)
    assert (len(first), n_cells) == (n_first, cells[0])
    assert Layout.tuned_items(layout, 1, counts) == (counts, cells[1])


@pytest.mark.parametrize("is_diagonal", [False, True])
def test_gradients_of_a_metric_are_those_of_the_formula(is_diagonal):
    generator = np.random.default_rng(0)
    n, d = 600, 3
    x = generator.standard_normal((n, d)) + 50.0
    x[1] = x[0]
    y = np.column_stack([np.sin(x[:, 0]), x[:, 1] > 50.0]).astype(float)
    metric = np.diag([1.0, 0.3, 0.1])
    if not is_diagonal:
        metric[0, 1] = metric[1, 0] = 0.2
    z = x - x.mean(axis=0)
    apart = cdist(z @ root(metric), z @ root(metric))
    half = n // 2
    width = np.median(np.diagonal(apart[:half, half:]))
    kernel = np.exp(-apart / width)
    a = np.linalg.solve(kernel + 0.1 * np.eye(n), y)
    slopes = np.divide(kernel, apart, out=np.zeros((n, n)), where=apart > 1e-6)
    expected = np.zeros((d, d))
    for output in range(2):
        pulls = slopes * a[:, output]
        gradients = (pulls @ z - pulls.sum(axis=1, keepdims=True) * z) @ metric / width
        expected += gradients.T @ gradients
    given = np.diagonal(metric) if is_diagonal else metric
    found = gradient_sum(x.astype(np.float32), y, given, 0.1, is_diagonal=is_diagonal)
    expected = np.diagonal(expected) if is_diagonal else expected
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["matern", "laplacian", "rbf"])
@pytest.mark.parametrize("n_rows", [1, 256, 600])
def test_kernel_matrices_are_made_of_halves_of_tiles(name, n_rows):
    x = np.random.default_rng(0).standard_normal((n_rows, 3)).astype(np.float32)
    kernel = find_kernel(name).from_parameters(gamma=0.7)
    matrix = kernel_matrix(kernel, x, np.float32)
    np.testing.assert_array_equal(matrix[:256, 256:], matrix[256:, :256].T)
    np.testing.assert_allclose(matrix, kernel.closed_form(x.astype(float), x.astype(float)), atol=1e-3)


def test_machines_that_are_not_solved_count_as_more_work():
    generator = np.random.default_rng(0)
    x = generator.standard_normal((300, 2)).astype(np.float32)
    y = np.where(generator.random((300, 1)) < 0.5, 1.0, -1.0)
    hinge, mapping = find_loss("hinge")(), RowMap.fit(MapChoice("none"), x, y)
    rows = x, y, None
    for width, cost, is_solved in ((0.1, 1.0, True), (30.0, 1e4, False)):
        trial = Trial(MapChoice("none"), ((MATERN, width),), (cost,))
        kernel = mapping.kernel(MATERN.name, width, **dict(MATERN.parameters))
        settings = CellSettings(kernel, hinge, 1.0, trials.TOLERANCE, trials.MOST_SWEEPS)
        (machine,) = solve_costs(settings, *rows, 0, [cost])
        assert machine.converged == is_solved
        _, work = trials.tried(trial, mapping, hinge, rows, rows, 0)
        assert work == machine.work + machine.left
        assert (machine.left == 0) == is_solved
        (solved,) = solve_costs(replace(settings, most_sweeps=None), *rows, 0, [cost])
        assert machine.work <= solved.work <= work[0] < 8 * solved.work


@pytest.mark.parametrize(
    ("plain", "own", "chosen", "passes"),
    [
        # what a metric gains is not seen in cells that it has cut, and is where there is none
        (0.10, 0.20, "diagonal", ["tune 1", "tune 2", "tune 3"]),
        (0.10, 0.11, "none", ["tune 1", "tune 2", "tune 3"]),
        (0.30, 0.20, "diagonal", ["tune 1", "tune 2"]),
    ],
)
def test_what_is_chosen_is_as_good_in_cells_that_its_own_map_cuts(monkeypatch, plain, own, chosen, passes):
    maps = {kind: MapChoice("standard", kind) for kind in ("none", "diagonal")}
    whole = {"diagonal": 0.10, "none": plain}
    begun, cut_by = [], []

    def found(share):
        losses = (np.arange(2000) % 100 < 100 * share).astype(float)
        return rankings.Outcome(share, 1.0, lambda: losses, lambda: None)

    class Probing:
        def __init__(self, *_):
            pass

        def cut(self, mapping, number):
            cut_by.append(number)
            return None, []
            yield

        def tried(self, name, items, tuning):
            begun.append(name)
            of_kind = {"none": own} if name == "tune 3" else whole
            settings = [setting for trial in tuning.trials for setting in trial.settings]
            return {setting: found(of_kind[setting.map.metric]) for setting in settings}
            yield

    monkeypatch.setattr(finals, "_Probing", Probing)
    layout = SimpleNamespace(is_tuned=True, learns_again=False, tuned_items=lambda number, counts: ([], 1))
    sample = {
        Setting(maps[kind], MATERN, 1.0, 10.0): found(share)
        for kind, share in (("diagonal", 0.1), ("none", 0.2))
    }
    ranking = rankings.Ranking(Space(tuple(maps.values())), 2, sample)
    steps = finals.on_cells(layout, None, None, ranking, None)
    with pytest.raises(StopIteration) as ended:
        next(steps)
    assert ended.value.value.choice().setting.map.metric == chosen
    assert begun == passes
    assert cut_by == list(range(len(passes) - 1))


@pytest.mark.parametrize(
    ("n_rows", "is_tuned"), [(2000, False), (13_000, False), (14_000, True), (10**6, True)]
)
def test_what_is_chosen_on_most_of_the_rows_is_not_tried_on_whole_cells(n_rows, is_tuned):
    problem = Problem((n_rows,), 20, np.dtype("float32"), 0, n_outputs=1, has_test=False)
    sizes = Sizes(problem, 8000, 0.1, quadratic=False, searched="full")
    assert sizes.is_tuned is is_tuned
    # narrower widths alone where no cells follow, which would try them
    _, last = sizes.rungs(sizes.sample_rows)
    assert max(last.widths) == (2 if is_tuned else 0)
    assert min(last.widths) == (-2 if is_tuned else -4)
