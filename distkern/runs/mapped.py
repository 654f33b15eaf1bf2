"""A map in front of a model, a transform of the columns and a metric, learned before the first pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from distkern.core.errors import InputError
from distkern.core.held_out import keys_of, order_of_keys, parted, row_keys
from distkern.core.parameters import AUTO
from distkern.core.types import AbstractSource, Block
from distkern.engine.drive import Driver
from distkern.engine.executors import AbstractExecutor
from distkern.maths.maps.mapping import MapChoice, RowMap, as_rows, fitting_bytes, pulled_targets
from distkern.maths.maps.transform import TRANSFORMS
from distkern.passes import Outline, Reduce
from distkern.runs.data import TrainingData
from distkern.runs.scaled import ScaledSource
from distkern.solvers.base import Problem
from distkern.solvers.sample import sample_of, sampling

#: rows that a map is learned from, and rounds of its metric
_MAP_ROWS, _ROUNDS = 2000, 2
#: of fewer rows the first map is taken
_FEW = 60


def map_choices(scale: str, metric: str | None, source: AbstractSource) -> tuple[MapChoice, ...]:
    """The maps that are wanted, to choose from: metrics, or transforms that no scaling is.

    Raises
    ------
    InputError
        If rows are sparse, whose zeros would become numbers, or the scaling is none that goes with a metric.
    """
    if metric is None and scale not in ("normal", "ranks"):
        return ()
    if source.is_sparse:
        name = "scale" if metric is None else "metric"
        raise InputError(
            "maps of columns would turn the zeros of sparse rows into numbers",
            where=name,
            hint=f"leave {name} out, or give dense rows",
        )
    from distkern.choose.rungs import maps_of

    known = maps_of(source.n_features) if metric == AUTO else []
    if scale == AUTO:
        transforms: list[Any] = list(dict.fromkeys(choice.transform for choice in known)) or ["standard"]
    else:
        transforms = [scale]
    if not set(transforms) <= set(TRANSFORMS):
        raise InputError(
            f"is {scale!r}, and metrics are learned of standardised columns, their normal quantiles or ranks",
            where="scale",
            hint="set it to standard, normal, ranks or none, or leave it out",
        )
    given: list[Any] = [metric or "none"]
    kinds = list(dict.fromkeys(choice.metric for choice in known)) or given
    return tuple(MapChoice(transform, kind, _ROUNDS) for kind in kinds for transform in transforms)


@dataclass(frozen=True)
class Mapped:
    """Training data as a solver sees it.

    Attributes
    ----------
    source : whose rows are mapped whenever they are read
    map : of the rows, if there is one
    found : what was chosen for hyperparameters that are "auto", by name
    """

    source: AbstractSource
    map: RowMap | None = None
    found: Mapping[str, Any] = field(default_factory=dict)

    def held_out(self, source: AbstractSource) -> AbstractSource:
        """Other rows, which were scaled as the training rows were, mapped as they are."""
        return source if self.map is None else ScaledSource(source, self.map)


def mapped(
    data: TrainingData, choices: Sequence[MapChoice], problem: Problem, executor: AbstractExecutor
) -> Mapped:
    """Training data with a map in front, learned from 2,000 rows of them in one pass.

    Among several choices the one taken is the map of the ladder's best machine over centres on a third of
    these rows, or the first that cannot be told from it.
    """
    if not choices:
        return Mapped(data.source)
    rows: Block = Driver({"train": data.source}, executor).measure(_sampling(problem))
    rows = rows.take(order_of_keys(row_keys(np.asarray(rows.features)), None, problem.seed))
    # a map takes unweighted rows, so weights become repetitions
    places = np.arange(rows.n_rows)[as_rows(rows.weights, _MAP_ROWS)]
    some, found = replace(rows.take(places), weights=None), {}
    choice = choices[0]
    if len(choices) > 1:
        choice = _chosen(choices, some, problem)
        found = {"metric": None if choice.metric == "none" else choice.metric, "scale": choice.transform}
    learned = learned_map(choice, some, problem)
    return Mapped(ScaledSource(data.source, learned), learned, found)


def _chosen(choices: Sequence[MapChoice], rows: Block, problem: Problem) -> MapChoice:
    """The best map by rows that are held out of these, which are in random order."""
    from distkern.choose.ladder import best_map
    from distkern.choose.machines import SampleRows

    n_classes = len(problem.class_shares)
    codes = np.asarray(rows.targets) if n_classes else None
    n_learned = 2 * rows.n_rows // 3
    if rows.targets is None or rows.n_rows < _FEW:
        return choices[0]
    part = parted(keys_of(rows), codes, problem.seed, n_learned, rows.n_rows)
    several = [len(side) and np.ptp(np.asarray(rows.targets)[side]) > 0 for side in part]
    return best_map(SampleRows.of(rows, n_classes, None), part, choices) if all(several) else choices[0]


def learned_map(choice: MapChoice, some: Block, problem: Problem) -> RowMap:
    """From rows in random order."""
    # without targets there is no metric, and nothing to pull rows apart
    given = np.zeros(some.n_rows) if some.targets is None else np.asarray(some.targets)
    targets = pulled_targets(given, len(problem.class_shares))
    return RowMap.fit(choice, np.asarray(some.features), targets)


def mapping(choices: Sequence[MapChoice], problem: Problem) -> list[Outline]:
    """The pass that :func:`mapped` makes, if it makes one, with what is learned from its result."""
    return [Outline(_sampling(problem, choices))] if choices else []


def _sampling(problem: Problem, choices: Sequence[MapChoice] = ()) -> Reduce[Block]:
    sample = sample_of(problem, _MAP_ROWS)
    n_rows = min(problem.n_rows, sample.rows_per_block * len(sample.blocks))
    n_bytes = n_rows * (problem.row_bytes + problem.beside_bytes)
    learning = 0
    if choices:
        n_outputs = max(len(problem.class_shares), 1)
        n_rows = n_rows if problem.max_relative_weight == 1.0 else max(n_rows, _MAP_ROWS)
        learning = max(fitting_bytes(choice, n_rows, problem.n_features, n_outputs) for choice in choices)
    if len(choices) > 1:
        from distkern.choose.ladder import memory_of

        learning = max(learning, memory_of(n_rows, problem.n_features, 0))
    return sampling("sample for the map", problem, sample, 2 * n_bytes + learning)
