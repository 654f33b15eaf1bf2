"""The map, the width and C of a run: as they are given, or searched on its sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.types import Block
from distkern.features.kernel_choice import KernelChoice
from distkern.kernels.bandwidth import gamma_from_width, median_width, moments, parse_rule, scale_width
from distkern.kernels.base import AbstractScaledKernel
from distkern.losses.conjugate import AbstractDualLoss
from distkern.solvers._cells.mapping import CellMap, MapChoice
from distkern.solvers._cells.moving import Sample
from distkern.solvers._cells.place import centred
from distkern.solvers._cells.search import (
    Choice,
    KernelSpec,
    Space,
    costs_of,
    maps_of,
    quick_maps,
    search,
    stratified_order,
)
from distkern.solvers.risk import Risk

Array = NDArray[np.float64]

#: C and rounds of a metric where they are neither given nor searched, rows that a metric is learned from
_COST, _ROUNDS, _METRIC_ROWS = 10.0, 3, 4000
#: fewer rows are not divided
_FEW = 30
#: what a search takes beside the sample: kernel matrices of 4,000 rows, in double precision where they are
#: factorised, and tiles
_SEARCH_ROWS, _SEARCH_BYTES = 4000, 30


@dataclass(frozen=True)
class Chosen:
    """What the machines of all cells have in common.

    Attributes
    ----------
    map : of the rows
    gamma, cost : of the kernel over mapped rows, and C
    score, plain : on held-out rows of the sample, of what was chosen and of standardised rows, the median
        distance and a middle C: shares of errors, or squared errors over those of the mean; NaN where nothing
        was searched
    edges : what is at the edge of its range
    """

    map: CellMap
    gamma: float
    cost: float
    score: float = math.nan
    plain: float = math.nan
    edges: tuple[str, ...] = ()


@dataclass(frozen=True)
class Given:
    """What the user has said; "auto" of what is to be chosen."""

    kernel: KernelChoice
    C: float | str
    scale: Any
    metric: Any
    search: str | None

    def choose(self, risk: Risk, sample: Sample, seed: int) -> Chosen:
        """From a sample of the rows."""
        order = stratified_order(None if risk.is_real else sample.targets, len(sample.targets), seed)
        rows = Block(sample.features[order], sample.targets[order], sample.weights[order])
        targets = risk.targets(rows).astype(np.float64)
        if self.search is None or rows.n_rows < _FEW:
            return self._as_given(rows, targets)
        return self._searched(rows, targets, risk, seed)

    def _as_given(self, rows: Block, targets: Array) -> Chosen:
        features = np.asarray(rows.features)
        transform: Any = "none" if self.scale == "auto" else self.scale
        metric: Any = "none" if self.metric in (None, "auto") else self.metric
        if transform == metric == "none":
            mapping = centred(features)
        else:
            choice = MapChoice(transform, metric, _ROUNDS)
            mapping = CellMap.fit(choice, features[:_METRIC_ROWS], targets[:_METRIC_ROWS])
        cost = _COST if isinstance(self.C, str) else self.C
        rule = "median" if self.kernel.gamma == "auto" else self.kernel.gamma
        if not isinstance(rule, str):
            return Chosen(mapping, float(rule), cost)
        if parse_rule(rule)[0] == "median":
            width = median_width(mapping.apply(features))
        else:
            # of rows that are only centred, the spread of the numbers that they were
            mean = mapping.transform.shift if transform == metric == "none" else 0.0
            width = scale_width(moments(mapping.apply(features) + mean, rows.weights), features.shape[1])
        gamma = gamma_from_width(rule, self.kernel.kind, width, features.shape[1])
        return Chosen(mapping, gamma, cost)

    def _searched(self, rows: Block, targets: Array, risk: Risk, seed: int) -> Chosen:
        assert isinstance(risk.loss, AbstractDualLoss)
        quick = self.search == "quick"
        maps = [
            choice
            for choice in (quick_maps() if quick and self.scale == self.metric == "auto" else maps_of())
            if self.scale in ("auto", choice.transform) and (self.metric or "none") in ("auto", choice.metric)
        ]
        spec = KernelSpec(self.kernel.kind.name, tuple(self.kernel.parameters.items()))
        widths = Space.widths
        if self.kernel.gamma != "auto":
            # a rule's width is that of exp(-|x|^2 / width^2) at the median distance
            widths = (math.sqrt(2.0) / parse_rule(str(self.kernel.gamma))[1],)
        costs = costs_of(risk.loss) if isinstance(self.C, str) else (self.C,)
        space = Space(tuple(maps), (spec,), widths, costs)
        found: Choice = search(
            np.asarray(rows.features), targets, risk.weights(rows), risk.loss, space, seed, quick=quick
        )
        kernel = found.map.kernel(spec.name, found.setting.width, **dict(spec.parameters))
        assert isinstance(kernel, AbstractScaledKernel)
        return Chosen(
            found.map, float(kernel.gamma), found.setting.cost, found.score, found.plain, found.edges
        )


def choosing_bytes(n_rows: int, sample_bytes: int, *, searched: bool) -> int:
    """What the driver takes to choose, beside the sample itself."""
    rows = min(n_rows, _SEARCH_ROWS)
    return 6 * sample_bytes + (_SEARCH_BYTES * rows**2 if searched else 0)
