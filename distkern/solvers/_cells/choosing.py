"""The map, the width and C of a run: as they are given, or searched on its sample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.held_out import groups_of_equal, stratified_order
from distkern.common.stores import ArrayStore
from distkern.common.types import Block
from distkern.features.kernel_choice import KernelChoice
from distkern.kernels import find_kernel
from distkern.kernels.bandwidth import gamma_from_width, median_width, moments, parse_rule, scale_width
from distkern.kernels.base import AbstractScaledKernel
from distkern.losses.conjugate import AbstractDualLoss
from distkern.maps.mapping import MapChoice, RowMap, map_from_arrays
from distkern.maps.metric import METRIC_ROWS, MORE_METRIC_ROWS, MetricKind
from distkern.passes import Each
from distkern.solvers._cells.moving import Sample
from distkern.solvers._cells.place import centred
from distkern.solvers._cells.ranking import Ranking
from distkern.solvers._cells.search import Learned, Size, search
from distkern.solvers._cells.space import KERNELS, Space, costs_of, maps_of, quick_maps
from distkern.solvers._cells.trials import KernelSpec, Sampled, Trial
from distkern.solvers.base import Steps
from distkern.solvers.risk import Risk

Array = NDArray[np.float64]

#: C and rounds of a metric where they are neither given nor searched
_COST, ROUNDS = 10.0, 3
#: fewer rows are not divided
FEW = 30
#: maps that are tried on whole cells, at most
MOST_TRIALS = 12
#: columns up to which metrics are tried that are whole matrices, and distances that are no matrix product
_FULL_COLUMNS, _CITY_BLOCK_COLUMNS = 1024, 128


@dataclass(frozen=True)
class Chosen:
    """What the machines of all cells have in common.

    Attributes
    ----------
    map : of the rows
    kernel : its name, and its parameters but for gamma
    gamma, cost : of the kernel over mapped rows, and C
    score, plain : on held-out rows of the sample, of what was chosen and of standardised rows, the median
        distance and a middle C: log losses, or squared errors over those of the mean; NaN where nothing was
        searched
    metric : its kind
    edges : see :class:`~distkern.solvers._cells.search.Choice`
    """

    map: RowMap
    kernel: KernelSpec
    gamma: float
    cost: float
    score: float = math.nan
    plain: float = math.nan
    metric: MetricKind = "none"
    edges: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Given:
    """What the user has said; "auto" of what is to be chosen, and no kernel if that is.

    The range of C that is searched is divided by the power of ten in the mean weight of a row.
    """

    kernel: KernelChoice | None
    gamma: float | str
    C: float | str
    scale: Any
    metric: Any
    search: str | None
    mean_weight: float = 1.0

    @property
    def kernels(self) -> tuple[KernelSpec, ...]:
        """The kernels to choose from."""
        if self.kernel is None:
            return KERNELS
        return (KernelSpec(self.kernel.kind.name, tuple(self.kernel.parameters.items())),)

    def choose(
        self,
        risk: Risk,
        sample: Sample,
        seed: int,
        rungs: Callable[[int], list[Size]],
        passes: Callable[[str, tuple[Trial, ...], Sampled], tuple[Each, ArrayStore]],
        on_cells: Callable[[Ranking, Learned], Steps[Ranking]],
    ) -> Steps[Chosen]:
        """From a sample of the rows, by the passes of :func:`~distkern.solvers._cells.search.search`.

        And from what the best of these settings achieve on whole cells. ``rungs`` are those of the search on
        a sample of so many rows.
        """
        groups = groups_of_equal(sample.features)
        codes = None if risk.is_real else sample.targets
        order = stratified_order(codes, len(groups), seed, groups)
        rows = Block(sample.features[order], sample.targets[order], sample.weights[order])
        targets = risk.targets(rows).astype(np.float64)
        assert isinstance(risk.loss, AbstractDualLoss)
        weights = risk.repeats(rows)
        importance = np.ones(rows.n_rows) if weights is None else weights
        sampled = Sampled(np.asarray(rows.features), targets, importance, risk.loss, seed)
        if self.search is None or rows.n_rows < FEW:
            return self._as_given(rows, (yield from self._given_map(sampled, passes)))
        space, sizes = self.space(risk.loss, sampled.rows.shape[1]), rungs(rows.n_rows)
        ranking = yield from search(space, sizes, lambda name, trials: passes(name, trials, sampled))
        found = (yield from on_cells(ranking, partial(_learned, sampled, passes))).choice()
        setting = found.setting
        kernel = found.map.kernel(setting.kernel.name, setting.width, **dict(setting.kernel.parameters))
        assert isinstance(kernel, AbstractScaledKernel)
        return Chosen(
            found.map,
            setting.kernel,
            float(kernel.gamma),
            setting.cost,
            found.score,
            found.plain,
            setting.map.metric,
            found.edges,
        )

    def space(self, loss: AbstractDualLoss, n_features: int) -> Space:
        """Where to search."""
        quick = self.search == "quick"
        maps = [
            choice
            for choice in (quick_maps() if quick and self.scale == self.metric == "auto" else maps_of())
            if self.scale in ("auto", choice.transform)
            and (self.metric or "none") in ("auto", choice.metric)
            and (self.metric != "auto" or not choice.is_full or n_features <= _FULL_COLUMNS)
        ]
        kernels = self.kernels
        if len(kernels) > 1 and n_features > _CITY_BLOCK_COLUMNS:
            kernels = tuple(kernel for kernel in kernels if kernel.name != "laplacian")
        widths = Space.widths
        if self.gamma != "auto":
            # a rule's width is that of exp(-|x|^2 / width^2) at the median distance
            widths = (math.sqrt(2.0) / parse_rule(str(self.gamma))[1],)
        unit = 10.0 ** math.trunc(math.log10(self.mean_weight))
        costs = tuple(cost / unit for cost in costs_of(loss)) if isinstance(self.C, str) else (self.C,)
        return Space(tuple(maps), kernels, widths, costs)

    def maps(self, loss: AbstractDualLoss, n_features: int) -> tuple[MapChoice, ...]:
        """Those that may be fitted."""
        if self.search is None:
            return (self.map_choice,)
        space = self.space(loss, n_features)
        return (*space.maps, space.plain.map, self.map_choice)

    @property
    def map_choice(self) -> MapChoice:
        """The map where none is searched."""
        transform: Any = "none" if self.scale == "auto" else self.scale
        return MapChoice(transform, "none" if self.metric in (None, "auto") else self.metric, ROUNDS)

    def _given_map(
        self, sampled: Sampled, passes: Callable[[str, tuple[Trial, ...], Sampled], tuple[Each, ArrayStore]]
    ) -> Steps[RowMap]:
        choice = self.map_choice
        if choice.metric != "none":
            return (yield from _learned(sampled, passes, [choice], MORE_METRIC_ROWS))[0]
        if choice.transform == "none":
            return centred(sampled.rows)
        return RowMap.fit(choice, sampled.rows[:METRIC_ROWS], sampled.targets[:METRIC_ROWS])

    def _as_given(self, rows: Block, mapping: RowMap) -> Chosen:
        features, choice = np.asarray(rows.features), self.map_choice
        cost = _COST if isinstance(self.C, str) else self.C
        spec = self.kernels[0]
        rule = "median" if self.gamma == "auto" else self.gamma
        if not isinstance(rule, str):
            return Chosen(mapping, spec, float(rule), cost, metric=choice.metric)
        if parse_rule(rule)[0] == "median":
            width = median_width(mapping.apply(features))
        else:
            # of rows that are only centred, the spread of the numbers that they were
            mean = mapping.transform.shift if choice.transform == choice.metric == "none" else 0.0
            width = scale_width(moments(mapping.apply(features) + mean, rows.weights), features.shape[1])
        gamma = gamma_from_width(rule, find_kernel(spec.name), width, features.shape[1])
        return Chosen(mapping, spec, gamma, cost, metric=choice.metric)


def learning(choices: Sequence[MapChoice], n_rows: int) -> tuple[Trial, ...]:
    """The trials that learn maps alone, from so many rows of the sample."""
    return tuple(Trial(choice, (), (), n_metric=n_rows) for choice in choices)


def _learned(
    sampled: Sampled,
    passes: Callable[[str, tuple[Trial, ...], Sampled], tuple[Each, ArrayStore]],
    choices: Sequence[MapChoice],
    most: int,
) -> Steps[list[RowMap]]:
    """Maps from more rows: each takes a matrix of all their pairs, for which workers have memory."""
    trials = learning(choices, min(len(sampled.rows), most))
    step, store = passes("metric", trials, sampled)
    yield step
    return [map_from_arrays(store.load(number)) for number in range(len(trials))]
