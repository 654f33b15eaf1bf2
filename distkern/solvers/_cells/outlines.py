"""The passes that a run will make, for its plan."""

from __future__ import annotations

from dataclasses import replace

from distkern.maps.metric import METRIC_ROWS, MORE_METRIC_ROWS
from distkern.passes import Outline
from distkern.solvers._cells.arenas import probe_name, round_name
from distkern.solvers._cells.choosing import SearchSpace
from distkern.solvers._cells.layout import CellLayout
from distkern.solvers._cells.ranking import MOST_KINDS, ROUNDS
from distkern.solvers._cells.sizes import FEW
from distkern.solvers._cells.trials import Trial


def choosing(layout: CellLayout, space: SearchSpace) -> list[Outline]:
    """The passes that choose settings, or the one that learns a metric that is given."""
    n_features, n_rows = layout.problem.n_features, layout.sample_rows
    if not space.is_open(n_features) or n_rows < FEW:
        if space.map_choice.metric == "none":
            return []
        return [Outline(layout.learning([space.map_choice], None, min(n_rows, MORE_METRIC_ROWS)))]
    maps = space.maps(n_features)
    largest = max(maps, key=lambda choice: (choice.is_full, choice.metric != "none", choice.has_quantiles))
    has_metrics = largest.metric != "none"
    passes = []
    # unless what is best on the sample has no metric
    share = 1.0 if all(choice.metric != "none" for choice in maps) else 0.5
    if has_metrics:
        passes.append(Outline(layout.learning([largest] * MOST_KINDS, None, layout.metric_rows), share))
    if not layout.is_tuned:
        for number in range(len(ROUNDS)):
            trial = Trial(largest, (), ())
            trials = [trial] * MOST_KINDS
            sizes = layout.asked(number, n_rows)
            passes.append(Outline(layout.asking_sample(round_name(number), trials, None, sizes)))
        if layout.learns_again and has_metrics:
            passes.append(Outline(layout.learning([largest], None, min(n_rows, METRIC_ROWS)), share))
        return passes
    buckets = min(layout.n_tuned, layout.n_buckets)
    passes.append(Outline(layout.probing(probe_name(0), None, None)))
    for number in range(len(ROUNDS)):
        if number and has_metrics and layout.learns_again:
            more = replace(largest, more_rows=True)
            learned = layout.learning([more] * MOST_KINDS, None, min(n_rows, MORE_METRIC_ROWS))
            passes.append(Outline(learned, share))
        items, _ = layout.tuned_items(number, [(0, 0)] * buckets)
        passes.append(Outline(layout.tuning(round_name(number), items, None)))
    if len({choice.family for choice in maps}) > 1:
        # one setting, if its map is not the one by which cells were cut
        items, _ = layout.tuned_items(1, [(0, 0)] * buckets)
        own = layout.tuning(round_name(len(ROUNDS)), items, None)
        passes += [Outline(layout.probing(probe_name(1), None, None), 0.5), Outline(own, 0.5)]
    return passes
