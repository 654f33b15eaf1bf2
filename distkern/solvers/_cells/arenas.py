"""Where settings of machines are tried: on whole cells of all rows, or on the sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from distkern.common.stores import ArrayStore
from distkern.common.types import Array
from distkern.maps.mapping import MapChoice, RowMap, as_rows
from distkern.passes import Each
from distkern.solvers._cells.buckets import Cut
from distkern.solvers._cells.layout import CellLayout
from distkern.solvers._cells.place import CellSample, Moving, Places
from distkern.solvers._cells.tree import Tree
from distkern.solvers._cells.trials import Asking, MapTrial, Outcome, Sampled, Tuning, loaded_maps
from distkern.solvers.base import Steps
from distkern.solvers.risk import Risk

#: first index of the streams of the tree over the sample
FIRST_TREE = 3
#: the passes that learn metrics: those that are tried first or given, those with other transforms, whole ones
#: from more rows, and what is chosen
METRIC, OTHER_METRICS, WHOLE_METRICS, LAST_METRIC = "metric", "other metrics", "whole metrics", "last metric"


def learned(
    layout: CellLayout, sampled: Sampled, name: str, choices: Sequence[MapChoice], most: int
) -> Steps[dict[MapChoice, RowMap]]:
    """Maps from so many rows of the sample: a pass of those that have a metric, each a task."""
    different = list(dict.fromkeys(choices))
    metrics = [choice for choice in different if choice.metric != "none"]
    part = as_rows(sampled.given_weights, most)
    found = {
        choice: RowMap.fit(choice, sampled.rows[part], sampled.targets[part])
        for choice in different
        if choice.metric == "none"
    }
    if metrics:
        step = layout.learning(name, metrics, most, sampled)
        yield step
        found |= loaded_maps(metrics, step.store)
    return found


@dataclass(frozen=True)
class CutCells:
    """Some buckets of rows, cut in the coordinates of a map, with how many rows they have."""

    cut: Cut
    map: RowMap
    counts: list[tuple[int, int]]


@dataclass(frozen=True)
class OnCells:
    """Held-out rows of some cells: of a third of these in the first round."""

    layout: CellLayout
    sample: CellSample
    risk: Risk

    def cut(self, mapping: RowMap, number: int) -> Steps[CutCells]:
        """The rows of some cells, which are moved together."""
        layout, problem = self.layout, self.layout.problem
        assert problem.workplace is not None
        coordinates = mapping.apply(self.sample.features)
        # without neighbours more of the rows can be held out
        tree = Tree.fit(coordinates, layout.bucket_sample, problem.seed, FIRST_TREE)
        buckets = layout.tuned(tree.n_leaves)
        places = Places(mapping, tree, np.arange(tree.n_leaves, dtype=np.int32))
        name = probe_name(number)
        rows = problem.workplace.slices(f"search/{name}", layout.columns(problem.dtype))
        records = yield layout.probing(name, Moving(places, buckets, as_given=True), rows)
        counts = list(enumerate(np.sum([record["counts"] for record in records], axis=0).tolist()))
        cut = Cut(rows, len(layout.parts), self.risk, layout.tuned_rows, 0.0, problem.seed)
        return CutCells(cut, mapping, counts)

    def tried(self, number: int, cells: CutCells | None, trials: Sequence[MapTrial]) -> Steps[list[Outcome]]:
        """What the settings achieve in a round."""
        assert cells is not None
        items, n_cells = self.layout.tuned_items(number, cells.counts)
        tuning = Tuning(cells.cut, cells.map, tuple(trials), n_cells)
        step = self.layout.tuning(round_name(number), items, tuning)
        records = yield step
        losses = np.hstack([losses_of_task(step, place) for place in range(len(records))])
        if not losses.size:
            return []
        work = np.sum([record["work"] for record in records], axis=0)
        pairs = [(setting, trial.fitted) for trial in trials for setting in trial.settings]
        return [
            Outcome(setting, losses[place], work[place], fitted)
            for place, (setting, fitted) in enumerate(pairs)
        ]


@dataclass(frozen=True)
class OnSample:
    """Held-out rows of the sample, which has most of all rows."""

    layout: CellLayout
    sampled: Sampled

    def cut(self, mapping: RowMap, number: int) -> Steps[None]:
        """Nothing is cut."""
        yield from ()

    def tried(self, number: int, cells: CutCells | None, trials: Sequence[MapTrial]) -> Steps[list[Outcome]]:
        """What the settings achieve in a round, each trial in a task."""
        sizes = self.layout.asked(number, len(self.sampled.rows))
        step = self.layout.asking_sample(round_name(number), trials, Asking(self.sampled, *sizes), sizes)
        records, found = (yield step), list[Outcome]()
        for item, (trial, record) in enumerate(zip(trials, records, strict=True)):
            several = zip(trial.settings, losses_of_task(step, item), record["work"], strict=True)
            found += [Outcome(*one, trial.fitted) for one in several]
        return found


def losses_of_task(step: Each, number: int) -> Array:
    """What a task of a round has stored: losses of held-out rows, (n_settings, n_held_out)."""
    return np.asarray(cast(ArrayStore, step.store).load(number)["losses"])


def probe_name(number: int) -> str:
    """The pass that gathers the rows of some cells: cut by the sample's best map, or by what is chosen."""
    return ("probe", "probe 2")[number]


def round_name(number: int) -> str:
    """The pass that tries settings of machines in a round, from 0."""
    return f"tune {number + 1}"
