"""The map, the kernel, its width and C of a run: as they are given, or chosen on rows that are held out.

The ridge machines of the ladder say on the sample which maps and kernels suit the data. The machines
themselves follow, with the best of these, in two rounds: on whole cells of all rows, because rows of a sample
are farther apart than those of a cell, or on the sample where that has most of the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from distkern.common.held_out import keys_of, order_of_keys
from distkern.common.tiles import release
from distkern.common.types import Block
from distkern.features.kernel_choice import KernelChoice
from distkern.kernels import find_kernel
from distkern.kernels.bandwidth import gamma_from_width, median_width, moments, parse_rule, scale_width
from distkern.kernels.base import AbstractScaledKernel
from distkern.losses.conjugate import AbstractDualLoss
from distkern.maps.mapping import MapChoice, RowMap, as_rows
from distkern.maps.metric import METRIC_ROWS, MORE_METRIC_ROWS, MetricKind
from distkern.passes import Outline
from distkern.search.folds import TriedMachine
from distkern.search.ladder import KERNELS, exact_machines, maps_of
from distkern.search.machines import Kernel, SampleRows
from distkern.solvers._cells.arenas import (
    LAST_METRIC,
    METRIC,
    OTHER_METRICS,
    WHOLE_METRICS,
    OnCells,
    OnSample,
    learned,
    probe_name,
    round_name,
)
from distkern.solvers._cells.layout import CellLayout
from distkern.solvers._cells.place import CellSample, centred
from distkern.solvers._cells.ranking import (
    FIRST_KINDS,
    LAST_KINDS,
    MOST_KINDS,
    ROUNDS,
    Ranking,
    around,
    is_worse,
    leaders_of,
)
from distkern.solvers._cells.sizes import FEW, SAMPLE_ROWS
from distkern.solvers._cells.trials import CellSetting, MapTrial, Outcome, Sampled, codes_of, most_learned
from distkern.solvers.base import Steps
from distkern.solvers.risk import Risk

#: C and rounds of a metric where they are neither given nor searched
_COST, _METRIC_ROUNDS = 10.0, 3
#: columns up to which metrics are whole matrices
_FULL_COLUMNS = 1024


@dataclass(frozen=True)
class Chosen:
    """What the machines of all cells have in common.

    Attributes
    ----------
    map : of the rows
    kernel : its name, and its parameters but for gamma
    gamma, cost : of the kernel over mapped rows, and C
    score : on held-out rows: log loss, or squared error over that of the mean; NaN where nothing was searched
    metric : its kind
    edges : see :class:`~distkern.solvers._cells.ranking.Ranking.edges`
    """

    map: RowMap
    kernel: Kernel
    gamma: float
    cost: float
    score: float = math.nan
    metric: MetricKind = "none"
    edges: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class SearchSpace:
    """What the user has said; "auto" of what is to be chosen, and no kernel if that is.

    ``ladder`` has the ridge machines of one that was climbed before, where the user has said nothing.
    """

    kernel: KernelChoice | None
    gamma: float | str
    C: float | str
    scale: Any
    metric: Any
    search: str | None
    ladder: tuple[TriedMachine, ...] = ()

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels to choose from, with the width that is given, or one median of the distances."""
        if self.kernel is None:
            kinds: tuple[Kernel, ...] = KERNELS
        else:
            kinds = (Kernel(self.kernel.kind.name, 1.0, tuple(self.kernel.parameters.items())),)
        if not isinstance(self.gamma, str) or not self.gamma.startswith("median"):
            return kinds
        # a rule's width is that of exp(-|x|^2 / width^2) at the median distance
        return tuple(replace(kind, width=math.sqrt(2.0) / parse_rule(self.gamma)[1]) for kind in kinds)

    def maps(self, n_features: int) -> tuple[MapChoice, ...]:
        """The maps to choose from, the simplest first."""
        if self.search is None:
            return (self.map_choice,)
        known = maps_of(n_features, _FULL_COLUMNS)
        if self.search == "quick" and self.scale == self.metric == "auto":
            known = [one for one in known if not (one.is_full or one.has_quantiles)]
        if self.scale != "auto":
            known = [replace(one, transform=self.scale) for one in known]
        if self.metric != "auto":
            known = [replace(one, metric=self.metric or "none") for one in known]
        return tuple(dict.fromkeys(known))

    @property
    def map_choice(self) -> MapChoice:
        """The map where none is searched."""
        transform: Any = "none" if self.scale == "auto" else self.scale
        return MapChoice(transform, "none" if self.metric in (None, "auto") else self.metric, _METRIC_ROUNDS)

    def is_open(self, n_features: int) -> bool:
        """Whether anything is to be chosen."""
        if self.search is None:
            return False
        is_single = len(self.kernels) == 1 and len(self.maps(n_features)) == 1
        return not is_single or self.gamma == "auto" or self.C == "auto"

    def climbs(self, n_features: int) -> bool:
        """Whether the ladder is climbed."""
        return not self.ladder and self.is_open(n_features)

    def choose(self, layout: CellLayout, risk: Risk, sample: CellSample) -> Steps[Chosen]:
        """From a sample of the rows, and from what the best settings achieve on whole cells."""
        sampled = _sampled(risk, sample, layout.problem.seed)
        n_rows, n_features = sampled.rows.shape
        if not self.is_open(n_features) or n_rows < FEW:
            return self._as_given(sampled, (yield from self._given_map(layout, sampled)))
        ranking = self._climbed(layout, sampled)
        arena = OnCells(layout, sample, risk) if layout.is_tuned else OnSample(layout, sampled)
        ranking = yield from self._tried(layout, sampled, arena, ranking)
        found = ranking.choice()
        choice = found.setting.map
        if layout.learns_again and choice.metric != "none" and not layout.learns_first(choice):
            # what chose it held rows out, of which it may learn now
            most = layout.more_metric_rows
            maps = yield from learned(layout, sampled, LAST_METRIC, [choice], most)
            found = replace(found, map=maps[choice])
        width_edge, cost_edge = ranking.edges(found.setting)
        edges = width_edge if self.gamma == "auto" else 0, cost_edge if self.C == "auto" else 0
        return _chosen(found, edges)

    def outline(self, layout: CellLayout) -> list[Outline]:
        """The passes that choose settings, or the one that learns a metric that is given."""
        n_features, n_rows = layout.problem.n_features, layout.sample_rows
        if not self.is_open(n_features) or n_rows < FEW:
            if self.map_choice.metric == "none":
                return []
            learning = layout.learning(METRIC, [self.map_choice], MORE_METRIC_ROWS)
            return [Outline(learning, is_before=True)]
        maps = self.maps(n_features)
        largest = max(
            maps, key=lambda choice: (choice.is_full, choice.metric != "none", choice.has_quantiles)
        )
        has_metrics = largest.metric != "none"
        passes = []
        # unless what is best on the sample has no metric
        share = 1.0 if all(choice.metric != "none" for choice in maps) else 0.5
        again: list[Outline] = []
        if has_metrics:
            metrics = layout.learning(METRIC, [largest] * MOST_KINDS, layout.metric_rows)
            passes.append(Outline(metrics, share))
            last = layout.learning(LAST_METRIC, [largest], layout.more_metric_rows)
            again = [Outline(last, share)] if layout.learns_again else []
        if not layout.is_tuned:
            for number in range(len(ROUNDS)):
                trial = MapTrial(largest, (), ())
                trials = [trial] * MOST_KINDS
                sizes = layout.asked(number, n_rows)
                passes.append(Outline(layout.asking_sample(round_name(number), trials, None, sizes)))
            return passes + again
        buckets = min(layout.n_tuned, layout.n_buckets)
        passes.append(Outline(layout.probing(probe_name(0), None, None)))
        for number in range(len(ROUNDS)):
            if number and has_metrics and layout.tries_transforms:
                others = layout.learning(OTHER_METRICS, [largest] * 2, layout.metric_rows)
                passes.append(Outline(others, share))
            if number and layout.learns_first(largest):
                whole = layout.learning(WHOLE_METRICS, [largest] * MOST_KINDS, MORE_METRIC_ROWS)
                passes.append(Outline(whole, 0.5))
            items, _ = layout.tuned_items(number, [(0, 0)] * buckets)
            passes.append(Outline(layout.tuning(round_name(number), items, None)))
        if len(maps) > 1:
            # one setting, if its map is not the one by which cells were cut
            items, _ = layout.tuned_items(1, [(0, 0)] * buckets)
            own = layout.tuning(round_name(len(ROUNDS)), items, None)
            passes += [Outline(layout.probing(probe_name(1), None, None), 0.5), Outline(own, 0.5)]
        return passes + again

    def _climbed(self, layout: CellLayout, sampled: Sampled) -> Ranking:
        """The best ridge machines of the sample, or of the ladder that was climbed before."""
        # ridges are of rows whose mean weight is 1
        mean = float(sampled.weights.mean()) or 1.0
        cost = None if isinstance(self.C, str) else float(self.C)
        ladder: Sequence[TriedMachine] = self.ladder
        if not ladder:
            codes, weights = codes_of(sampled.targets), sampled.weights / mean
            rows = SampleRows(sampled.rows, sampled.targets, codes, weights, sampled.group_keys)
            # the sample of very many rows is larger, and the driver's memory is planned for so many
            sides = sampled.parts(most_learned(rows.n_rows), SAMPLE_ROWS)
            learned_from, held_out = (np.arange(rows.n_rows)[side] for side in sides)
            ladder = exact_machines(
                rows,
                (learned_from, held_out),
                maps=self.maps(layout.problem.n_features),
                kernels=self.kernels,
                ridges=None if cost is None else (1.0 / (cost * mean),),
                is_wide=self.gamma == "auto",
            )
            release()
        settings = [
            CellSetting(
                _learned_longer(one.setting.map), one.kernel, cost or 1.0 / (one.setting.ridge * mean)
            )
            for one in ladder
        ]
        losses = [one.losses for one in ladder]
        return Ranking(tuple(map(Outcome, settings, losses)))

    def _tried(
        self, layout: CellLayout, sampled: Sampled, arena: OnCells | OnSample, ranking: Ranking
    ) -> Steps[Ranking]:
        """What the best of these settings achieve.

        What is chosen then, if its map is another one than that by which the cells were cut, must be as good
        in cells that are cut by its own, or it is refused: without a metric, say, cells are not local in the
        columns that matter.
        """
        cutting = ranking.cutting.map
        maps: dict[MapChoice, RowMap] = {}
        for number, (n_kinds, certain) in enumerate((FIRST_KINDS, LAST_KINDS)):
            leaders = ranking.leaders(n_kinds, certain)
            if number == 0:
                # one cuts cells, and others may gain more where rows are nearer
                others = [ranking.cutting, *ranking.best_of_city_block, *ranking.best_of_metrics]
                leaders = list(dict.fromkeys([*leaders, *others]))
                wanted = [one.map for one in leaders]
                maps = yield from learned(layout, sampled, METRIC, wanted, layout.metric_rows)
                cut = yield from arena.cut(maps[cutting], 0)
            elif layout.is_tuned and not any(one.map == cutting for one in leaders):
                # what is chosen in its stead has to be as good in cells of its own
                leaders.append(ranking.best_of(cutting).setting)
            if number:
                others = self._siblings(leaders, layout.problem.n_features) if layout.tries_transforms else []
                leaders += others
                more = [one.map for one in leaders if layout.learns_first(one.map)]
                wanted = [one.map for one in others if one.map not in more]
                maps |= yield from learned(layout, sampled, OTHER_METRICS, wanted, layout.metric_rows)
                maps |= yield from learned(layout, sampled, WHOLE_METRICS, more, MORE_METRIC_ROWS)
            trials = [
                around(
                    one,
                    maps[one.map],
                    number,
                    is_wide=self.gamma == "auto",
                    has_costs=self.C == "auto",
                    quadratic=layout.quadratic,
                )
                for one in leaders
            ]
            ranking = ranking.then((yield from arena.tried(number, cut, trials)))
            if any(one.map is None for one in ranking.outcomes):
                # cells of one class say nothing
                [first] = leaders_of(ranking.outcomes, 1, 0.0)
                return replace(ranking, outcomes=(replace(first, map=maps[first.setting.map]),))
        found = ranking.choice()
        setting = found.setting
        if not layout.is_tuned or setting.map == cutting:
            return ranking
        assert found.map is not None
        cut = yield from arena.cut(found.map, 1)
        trial = around(setting, found.map, 0, is_wide=False, has_costs=False)
        own = yield from arena.tried(len(ROUNDS), cut, [trial])
        refused = own and is_worse(own[0].losses, ranking.best_of(cutting).losses)
        return replace(ranking, only=cutting) if refused else ranking

    def _siblings(self, leaders: Sequence[CellSetting], n_features: int) -> list[CellSetting]:
        """The first setting with the other transforms of the columns, which few rows do not tell apart."""
        transforms = dict.fromkeys(one.transform for one in self.maps(n_features))
        first, known = leaders[0], {one.kind for one in leaders}
        found = [replace(first, map=replace(first.map, transform=kind)) for kind in transforms]
        return [one for one in found if one.kind not in known]

    def _given_map(self, layout: CellLayout, sampled: Sampled) -> Steps[RowMap]:
        choice = self.map_choice
        if choice.metric != "none":
            return (yield from learned(layout, sampled, METRIC, [choice], MORE_METRIC_ROWS))[choice]
        if choice.transform == "none":
            return centred(sampled.rows, sampled.given_weights)
        part = as_rows(sampled.given_weights, METRIC_ROWS)
        return RowMap.fit(choice, sampled.rows[part], sampled.targets[part])

    def _as_given(self, sampled: Sampled, mapping: RowMap) -> Chosen:
        choice, kernel = self.map_choice, self.kernels[0]
        cost = _COST if isinstance(self.C, str) else self.C
        rule = "median" if self.gamma == "auto" else self.gamma
        if not isinstance(rule, str):
            return Chosen(mapping, kernel, float(rule), cost, metric=choice.metric)
        mapped, n_features = mapping.apply(sampled.rows), sampled.rows.shape[1]
        if parse_rule(rule)[0] == "median":
            width = median_width(mapped)
        else:
            # rows that are only centred are shifted back, for the spread of the original numbers
            mean = mapping.transform.shift if choice.transform == choice.metric == "none" else 0.0
            width = scale_width(moments(mapped + mean, sampled.given_weights), n_features)
        gamma = gamma_from_width(rule, find_kernel(kernel.name), width, n_features)
        return Chosen(mapping, kernel, gamma, cost, metric=choice.metric)


def _chosen(found: Outcome, edges: tuple[int, int]) -> Chosen:
    setting, mapping = found.setting, found.map
    assert mapping is not None
    kernel = setting.kernel.over(mapping)
    assert isinstance(kernel, AbstractScaledKernel)
    gamma = float(kernel.gamma)
    return Chosen(mapping, setting.kernel, gamma, setting.cost, found.score, setting.map.metric, edges)


def _learned_longer(choice: MapChoice) -> MapChoice:
    # whole matrices fit few rows too closely in more rounds
    return replace(choice, rounds=1 if choice.is_full else _METRIC_ROUNDS)


def _sampled(risk: Risk, sample: CellSample, seed: int) -> Sampled:
    """The rows of the sample in a stratified order, with the targets and weights of the risk."""
    given = Block(sample.features, sample.targets, sample.weights, group_keys=sample.group_keys)
    keys = keys_of(given)
    codes = None if risk.is_real else sample.targets
    rows = given.take(order_of_keys(keys, codes, seed))
    assert rows.targets is not None
    assert rows.weights is not None
    weights = risk.repeats(rows)
    assert isinstance(risk.loss, AbstractDualLoss)
    return Sampled(
        np.asarray(rows.features),
        risk.targets(rows).astype(np.float64),
        np.ones(rows.n_rows) if weights is None else weights,
        risk.loss,
        seed,
        np.asarray(rows.weights),
        rows.group_keys,
    )
