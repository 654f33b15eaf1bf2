"""The map, the kernel, its width and C of a run: as they are given, or as a search before the run has found.

The search is that of :func:`distkern.choose.ladder.choose_exact`, over a sample and rows around some of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from distkern.choose.folds import TriedMachine
from distkern.choose.machines import Kernel
from distkern.choose.rungs import KERNELS, maps_of
from distkern.core.held_out import keys_of, order_of_keys
from distkern.core.stores import ArrayStore
from distkern.core.types import Block
from distkern.maths.features.kernel_choice import KernelChoice
from distkern.maths.kernels import find_kernel
from distkern.maths.kernels.bandwidth import gamma_from_width, median_width, moments, parse_rule, scale_width
from distkern.maths.kernels.base import AbstractScaledKernel
from distkern.maths.losses.conjugate import AbstractDualLoss
from distkern.maths.maps.mapping import MapChoice, RowMap, as_rows, map_from_arrays
from distkern.maths.maps.metric import METRIC_ROWS, MORE_METRIC_ROWS, MetricKind
from distkern.passes import Outline
from distkern.solvers._cells.layout import CellLayout
from distkern.solvers._cells.place import CellSample, centred
from distkern.solvers._cells.trials import MapSample
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
    """

    map: RowMap
    kernel: Kernel
    gamma: float
    cost: float
    score: float = math.nan
    metric: MetricKind = "none"


@dataclass(frozen=True)
class SearchSpace:
    """What the user has said; "auto" of what is to be chosen, and no kernel if that is.

    ``found`` is what the search before the run has chosen; None: nothing was searched.
    """

    kernel: KernelChoice | None
    gamma: float | str
    C: float | str
    scale: Any
    metric: Any
    search: str | None
    found: TriedMachine | None = None

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
            wanted: Any = self.metric or "none"
            of_kind = [one for one in known if one.metric == wanted]
            known = of_kind or [replace(one, metric=wanted, rounds=known[0].rounds) for one in known]
        return tuple(dict.fromkeys(known))

    @property
    def map_choice(self) -> MapChoice:
        """The map of the rows: as it was found, or where none is searched."""
        if self.found is not None:
            return _learned_longer(self.found.setting.map)
        transform: Any = "none" if self.scale == "auto" else self.scale
        metric: Any = "none" if self.metric in (None, "auto") else self.metric
        return _learned_longer(MapChoice(transform, metric))

    def is_open(self, n_features: int) -> bool:
        """Whether anything is to be chosen."""
        if self.search is None:
            return False
        is_single = len(self.kernels) == 1 and len(self.maps(n_features)) == 1
        return not is_single or self.gamma == "auto" or self.C == "auto"

    def choose(self, layout: CellLayout, risk: Risk, sample: CellSample) -> Steps[Chosen]:
        """The map of the rows, learned from a sample of them, and what goes with it."""
        sampled = _sampled(risk, sample, layout.problem.seed)
        mapping = yield from self._map(layout, sampled)
        if self.found is None:
            return self._as_given(sampled, mapping)
        return _as_found(self.found, sampled, mapping)

    def outline(self, layout: CellLayout) -> list[Outline]:
        """The pass that learns a metric, if there is one."""
        if self.map_choice.metric == "none":
            return []
        return [Outline(layout.learning([self.map_choice], MORE_METRIC_ROWS), is_before=True)]

    def _map(self, layout: CellLayout, sampled: MapSample) -> Steps[RowMap]:
        choice = self.map_choice
        if choice.metric != "none":
            step = layout.learning([choice], MORE_METRIC_ROWS, sampled)
            yield step
            return map_from_arrays(cast(ArrayStore, step.store).load(0))
        if choice.transform == "none" and self.found is None:
            return centred(sampled.rows, sampled.given_weights)
        part = as_rows(sampled.given_weights, METRIC_ROWS)
        return RowMap.fit(choice, sampled.rows[part], sampled.targets[part])

    def _as_given(self, sampled: MapSample, mapping: RowMap) -> Chosen:
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


def _learned_longer(choice: MapChoice) -> MapChoice:
    # whole matrices fit few rows too closely in more rounds
    return replace(choice, rounds=1 if choice.is_full else _METRIC_ROUNDS)


def _as_found(found: TriedMachine, sampled: MapSample, mapping: RowMap) -> Chosen:
    kernel = found.kernel.over(mapping)
    assert isinstance(kernel, AbstractScaledKernel)
    # ridges are of rows whose mean weight is 1
    cost = 1.0 / (found.setting.ridge * (float(sampled.weights.mean()) or 1.0))
    metric = found.setting.map.metric
    return Chosen(mapping, found.kernel, float(kernel.gamma), cost, found.score, metric)


def _sampled(risk: Risk, sample: CellSample, seed: int) -> MapSample:
    """The rows of the sample in a stratified order, with the targets and weights of the risk."""
    given = Block(sample.features, sample.targets, sample.weights, group_keys=sample.group_keys)
    keys = keys_of(given)
    codes = None if risk.is_real else sample.targets
    rows = given.take(order_of_keys(keys, codes, seed))
    assert rows.targets is not None
    assert rows.weights is not None
    weights = risk.repeats(rows)
    assert isinstance(risk.loss, AbstractDualLoss)
    return MapSample(
        np.asarray(rows.features),
        risk.targets(rows).astype(np.float64),
        np.ones(rows.n_rows) if weights is None else weights,
        risk.loss,
        seed,
        np.asarray(rows.weights),
        rows.group_keys,
    )
