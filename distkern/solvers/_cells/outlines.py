"""The passes that a run will make, with the work that they are, for its plan."""

from __future__ import annotations

from collections.abc import Sequence

from distkern.losses.conjugate import AbstractDualLoss
from distkern.maps.mapping import MapChoice
from distkern.maps.metric import METRIC_ROWS, MORE_METRIC_ROWS
from distkern.passes import Each, Outline
from distkern.solvers._cells import effort
from distkern.solvers._cells.choosing import FEW, ROUNDS, Given, learning
from distkern.solvers._cells.layout import Layout
from distkern.solvers._cells.ranking import MOST_METRICS
from distkern.solvers._cells.search import first_trials, probe_name, round_name, rung_name, second_trials


def choosing(layout: Layout, given: Given, loss: AbstractDualLoss) -> list[Outline]:
    """Of the settings: those of the search, or the one that learns a metric that is given."""
    problem = layout.problem
    if given.search is None or layout.sample_rows < FEW:
        return [] if given.metric in (None, "auto") else [_metric(layout, [given.map_choice])]
    of_row, quadratic = (problem.n_features, problem.n_outputs), loss.is_quadratic
    space, sizes = given.space(loss, problem.n_features), layout.rungs(layout.sample_rows)
    works = effort.rungs(space, sizes, *of_row, quadratic=quadratic)
    rungs = first_trials(space, sizes[0]), second_trials(space, sizes)
    passes = [
        Outline(work.of(layout.searching(rung_name(rung), trials, None, None)), 1)
        for rung, (trials, work) in enumerate(zip(rungs, works, strict=True))
    ]
    if layout.is_tuned:
        buckets = min(layout.n_tuned, layout.n_buckets)
        passes.append(Outline(layout.probing(probe_name(0), None, None), 1))
        tried = layout.tuned_rows, layout.n_tuned / buckets
        *rounds, last = effort.on_cells(space, *tried, *of_row, quadratic=quadratic)
        for number, work in enumerate(rounds):
            if number and space.has_metrics and layout.learns_again:
                passes.append(_metric(layout, [space.largest_map] * MOST_METRICS))
            items, n_cells = layout.tuned_items(number, [(0, 0)] * buckets)
            work *= n_cells / tried[1]
            passes.append(Outline(work.of(layout.tuning(round_name(number), items, None, None)), 1))
        if len({choice.family for choice in space.maps}) > 1:
            # one setting, if its map is not the one by which cells were cut
            number = len(rounds)
            items, _ = layout.tuned_items(number, [(0, 0)] * buckets)
            own = last.of(layout.tuning(round_name(number), items, None, None))
            passes += [Outline(layout.probing(probe_name(1), None, None), 0.5), Outline(own, 0.5)]
    elif space.has_metrics and layout.learns_again:
        passes.append(_metric(layout, [space.largest_map], METRIC_ROWS))
    return passes


def _metric(layout: Layout, choices: Sequence[MapChoice], most: int = MORE_METRIC_ROWS) -> Outline:
    of_row = layout.problem.n_features, layout.problem.n_outputs
    n_rows = min(layout.sample_rows, most)
    work = effort.metric(min(n_rows, METRIC_ROWS), *of_row, ROUNDS - 1) + effort.metric(n_rows, *of_row, 1)
    return Outline(work.of(layout.searching("metric", learning(choices, n_rows), None, None)), 1)


def solving(layout: Layout) -> Each:
    """The machines."""
    work = effort.cells(*_solved(layout), quadratic=layout.quadratic) * (1 / layout.n_buckets)
    return work.of(layout.solving([(number, 0) for number in range(layout.n_buckets)], None, None))


def calibrating(layout: Layout) -> Each:
    """The rows that are held out of some cells."""
    numbers, n_cells, n_folds = layout.calibrated(layout.n_buckets)
    n_rows, copies, cell_rows, *of_row = _solved(layout)
    share = min(1.0, len(numbers) * n_cells * cell_rows / n_rows / copies) * n_folds / len(numbers)
    work = effort.cells(n_rows, copies, cell_rows, *of_row, quadratic=layout.quadratic) * share
    return work.of(layout.calibrating([(number, 0) for number in numbers], None, None))


def _solved(layout: Layout) -> tuple[int, float, int, int, int]:
    """Rows, copies of them in the cells, rows of a cell, columns and outputs."""
    problem = layout.problem
    copies = layout.copies(problem.n_rows / layout.cell_rows)
    return problem.n_rows, copies, layout.cell_rows, problem.n_features, problem.n_outputs
