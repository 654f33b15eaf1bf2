"""The last rounds of the search: what did best on a sample is tried on whole cells of all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from distkern.maps.mapping import RowMap
from distkern.maps.metric import METRIC_ROWS, MORE_METRIC_ROWS
from distkern.solvers._cells.buckets import Cut
from distkern.solvers._cells.layout import Layout
from distkern.solvers._cells.moving import Moving, Sample
from distkern.solvers._cells.place import Places
from distkern.solvers._cells.ranking import CELL_KINDS, CELL_ROUNDS, Outcome, Ranking, is_worse
from distkern.solvers._cells.search import Learned, probe_name, round_name
from distkern.solvers._cells.tree import Tree
from distkern.solvers._cells.trials import Setting, Trial
from distkern.solvers._cells.tuning import Tuning, outcomes_of
from distkern.solvers.base import Steps
from distkern.solvers.risk import Risk

#: first index of the streams of the tree over the sample
FIRST_TREE = 3


def on_cells(
    layout: Layout, sample: Sample, risk: Risk, ranking: Ranking, learned: Learned
) -> Steps[Ranking]:
    """What the best settings achieve on held-out rows of some cells, cut in the coordinates of the first.

    All that are left are tried on a third of these cells, the best of them on all, with metrics learned from
    more rows if the search is not to be quick. What is chosen then, if its map is another one than that by
    which these cells were cut, must be as good in cells that are cut by its own, or it is refused: without a
    metric, say, cells are not local in the columns that matter. Where the sample has most of the rows, the
    ranking is as it was, and what is chosen has its metric from more of them.

    Parameters
    ----------
    learned : the pass that learns them, from so many rows
    """
    if not layout.is_tuned:
        return (yield from _chosen_from_more_rows(ranking, learned)) if layout.learns_again else ranking
    probing = _Probing(layout, sample, risk)
    leader = ranking.cutting
    family, cutting = leader.map.family, ranking.outcomes[leader].map()
    cut, counts = yield from probing.cut(cutting, 0)
    for number, (widths, costs) in enumerate(CELL_ROUNDS):
        trials = tuple(ranking.finalists(widths, costs, family))
        if number and ranking.space.has_metrics and layout.learns_again:
            trials = yield from _from_more_rows(trials, learned)
        items, n_cells = layout.tuned_items(number, counts)
        outcomes = yield from probing.tried(round_name(number), items, Tuning(cut, cutting, trials, n_cells))
        if not outcomes:
            return ranking
        ranking = replace(ranking, n_kept=CELL_KINDS, outcomes=outcomes)
    found = ranking.choice()
    if found.setting.map.family == family:
        return ranking
    cut, counts = yield from probing.cut(found.map, 1)
    setting = found.setting
    trial = Trial(setting.map, ((setting.kernel, setting.width),), (setting.cost,), fitted=found.map)
    items, n_cells = layout.tuned_items(1, counts)
    own = yield from probing.tried(
        round_name(len(CELL_ROUNDS)), items, Tuning(cut, found.map, (trial,), n_cells)
    )
    best = ranking.outcomes[ranking.best_of(family)]
    refused = setting in own and is_worse(own[setting].losses(), best.losses())
    return replace(ranking, refused=setting.map.family) if refused else ranking


@dataclass(frozen=True)
class _Probing:
    """The passes that cut some cells, and try settings on them."""

    layout: Layout
    sample: Sample
    risk: Risk

    def cut(self, mapping: RowMap, number: int) -> Steps[tuple[Cut, list[tuple[int, int]]]]:
        """Some buckets of rows, cut in the coordinates of a map, and how many rows they have."""
        layout, problem = self.layout, self.layout.problem
        assert problem.workplace is not None
        coordinates = mapping.apply(self.sample.features)
        # without neighbours more of the rows can be held out
        tree = Tree.fit(coordinates, layout.bucket_sample, problem.seed, FIRST_TREE)
        buckets = layout.tuned(tree.n_leaves)
        places = Places(mapping, tree, np.arange(tree.n_leaves, dtype=np.int32))
        name = probe_name(number)
        rows = problem.workplace.slices(f"search/{name}", layout.columns(problem.dtype))
        records = yield layout.probing(name, Moving(places, buckets), rows)
        counts = list(enumerate(np.sum([record["counts"] for record in records], axis=0).tolist()))
        return Cut(rows, len(layout.parts), self.risk, layout.tuned_rows, 0.0, problem.seed), counts

    def tried(self, name: str, items: list[tuple[int, int]], tuning: Tuning) -> Steps[dict[Setting, Outcome]]:
        """What the settings achieve."""
        workplace = self.layout.problem.workplace
        assert workplace is not None
        store = workplace.arrays(f"search/{name}")
        return outcomes_of(tuning.trials, store, (yield self.layout.tuning(name, items, store, tuning)))


def _chosen_from_more_rows(ranking: Ranking, learned: Learned) -> Steps[Ranking]:
    """The ranking with the metric of what it chooses learned anew."""
    chosen = ranking.choice().setting
    if chosen.map.metric == "none":
        return ranking
    [mapping] = yield from learned([chosen.map], METRIC_ROWS)
    outcome = replace(ranking.outcomes[chosen], map=lambda: mapping)
    return replace(ranking, outcomes={**ranking.outcomes, chosen: outcome})


def _from_more_rows(trials: tuple[Trial, ...], learned: Learned) -> Steps[tuple[Trial, ...]]:
    """The trials with their metrics learned anew."""
    choices = {trial.map: None for trial in trials if trial.map.metric != "none"}
    maps = dict(zip(choices, (yield from learned(list(choices), MORE_METRIC_ROWS)), strict=True))
    return tuple(
        replace(trial, map=replace(trial.map, more_rows=True), fitted=maps[trial.map])
        if trial.map in maps
        else trial
        for trial in trials
    )
