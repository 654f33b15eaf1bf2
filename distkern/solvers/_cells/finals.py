"""The last rounds of the search: what did best on a sample is tried on whole cells of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from distkern.solvers._cells.below import Below
from distkern.solvers._cells.buckets import Cut
from distkern.solvers._cells.layout import Layout
from distkern.solvers._cells.mapping import CellMap, MapChoice
from distkern.solvers._cells.moving import Moving, Sample
from distkern.solvers._cells.place import Places
from distkern.solvers._cells.ranking import CELL_KINDS, CELL_ROUNDS, Ranking
from distkern.solvers._cells.search import round_name
from distkern.solvers._cells.tree import Tree
from distkern.solvers._cells.trials import Trial
from distkern.solvers._cells.tuning import Tuning, outcomes_of
from distkern.solvers.base import Steps
from distkern.solvers.risk import Risk

#: first index of the streams of the tree over the sample
FIRST_TREE = 3


def on_cells(
    layout: Layout,
    sample: Sample,
    below: Below | None,
    risk: Risk,
    ranking: Ranking,
    learned: Callable[[Sequence[MapChoice]], Steps[list[CellMap]]],
) -> Steps[Ranking]:
    """What the best settings achieve on held-out rows of some cells, cut in the coordinates of the first.

    All that are left are tried on a third of these cells, the best of them on all, with metrics learned from
    more rows if the search is not to be quick. The ranking is as it was where the sample has all rows.

    Parameters
    ----------
    learned : the pass that learns them
    """
    problem = layout.problem
    if not layout.is_tuned:
        return ranking
    leader = ranking.cutting
    workplace = problem.workplace
    assert workplace is not None
    coordinates = leader.apply(sample.features)
    # without neighbours more of the rows can be held out
    tree = Tree.fit(coordinates, layout.bucket_sample, problem.seed, FIRST_TREE)
    buckets = layout.tuned(tree.n_leaves)
    places = Places(leader, tree, np.arange(tree.n_leaves, dtype=np.int32))
    rows = workplace.slices("search/probed", layout.columns(problem.dtype))
    records = yield layout.probing(Moving(places, buckets, below), rows)
    counts = list(enumerate(np.sum([record["counts"] for record in records], axis=0).tolist()))
    cut = Cut(rows, len(layout.parts), risk, layout.tuned_rows, 0.0, problem.seed)
    for number, (widths, costs) in enumerate(CELL_ROUNDS):
        trials = tuple(ranking.finalists(widths, costs))
        if number and ranking.space.has_metrics and layout.learns_again:
            trials = yield from _from_more_rows(trials, learned)
        items, n_cells = layout.tuned_items(number, counts)
        name, tuning = round_name(number), Tuning(cut, leader, trials, n_cells)
        store = workplace.arrays(f"search/{name}")
        outcomes = outcomes_of(trials, store, (yield layout.tuning(name, items, store, tuning)))
        if not outcomes:
            break
        ranking = replace(ranking, n_kept=CELL_KINDS, outcomes=outcomes)
    return ranking


def _from_more_rows(
    trials: tuple[Trial, ...], learned: Callable[[Sequence[MapChoice]], Steps[list[CellMap]]]
) -> Steps[tuple[Trial, ...]]:
    """The trials with their metrics learned anew."""
    choices = {trial.map: None for trial in trials if trial.map.metric != "none"}
    maps = dict(zip(choices, (yield from learned(list(choices))), strict=True))
    return tuple(
        replace(trial, map=replace(trial.map, more_rows=True), fitted=maps[trial.map])
        if trial.map in maps
        else trial
        for trial in trials
    )
