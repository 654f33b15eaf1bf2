"""A map in front of a model: a transform of the columns and a metric, learned before the first pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.errors import InputError
from distkern.common.parameters import AUTO
from distkern.common.types import AbstractSource, Block
from distkern.engine.drive import Driver
from distkern.engine.executors import AbstractExecutor
from distkern.maps.mapping import (
    MapChoice,
    RowMap,
    fitting_bytes,
    map_from_arrays,
    map_to_arrays,
    pulled_targets,
)
from distkern.maps.transform import TRANSFORMS
from distkern.passes import Outline, Reduce
from distkern.runs.data import TrainingData
from distkern.runs.scaled import ScaledSource
from distkern.solvers.base import Problem
from distkern.solvers.sample import sample_of, sampling

#: rows that a map is learned from, and rounds of its metric
MAP_ROWS, ROUNDS = 2000, 2
#: of the arrays of a model that are its map's
_PREFIX = "map."


def map_choice(scale: str, metric: str | None, source: AbstractSource) -> MapChoice | None:
    """The map that is wanted, if one is: a metric, or a transform that no scaling is.

    Raises
    ------
    InputError
        If rows are sparse, whose zeros would become numbers, or the scaling is none that goes with a metric.
    """
    if metric is None and scale not in ("normal", "ranks"):
        return None
    if source.is_sparse:
        name = "scale" if metric is None else "metric"
        raise InputError(
            "maps of columns would turn the zeros of sparse rows into numbers",
            where=name,
            mend=f"leave {name} out, or give dense rows",
        )
    scale = "standard" if scale == AUTO else scale
    if scale not in TRANSFORMS:
        raise InputError(
            f"is {scale!r}, and metrics are learned of standardised columns, their normal quantiles or ranks",
            where="scale",
            mend="set it to standard, normal, ranks or none, or leave it out",
        )
    transform: Any = scale
    kind: Any = metric or "none"
    return MapChoice(transform, kind, ROUNDS)


@dataclass(frozen=True)
class Mapped:
    """Training data as a solver sees it.

    Attributes
    ----------
    source : whose rows are mapped whenever they are read
    map : of the rows, if there is one
    """

    source: AbstractSource
    map: RowMap | None = None

    def held_out(self, source: AbstractSource) -> AbstractSource:
        """Other rows, which were scaled as the training rows were, mapped as they are."""
        return source if self.map is None else ScaledSource(source, self.map)


def mapped(
    data: TrainingData, choice: MapChoice | None, problem: Problem, executor: AbstractExecutor
) -> Mapped:
    """Training data with a map in front, learned from 2,000 rows of them in one pass."""
    if choice is None:
        return Mapped(data.source)
    rows: Block = Driver({"train": data.source}, executor).measure(_sampling(problem))
    found = learned_map(choice, rows, problem)
    return Mapped(ScaledSource(data.source, found), found)


def learned_map(choice: MapChoice, rows: Block, problem: Problem) -> RowMap:
    """From rows in any order."""
    order = np.random.default_rng(problem.seed).permutation(rows.n_rows)[:MAP_ROWS]
    some = rows.take(order)
    # without targets there is no metric, and nothing to pull rows apart
    given = np.zeros(some.n_rows) if some.targets is None else np.asarray(some.targets)
    targets = pulled_targets(given, len(problem.class_shares))
    return RowMap.fit(choice, np.asarray(some.features), targets)


def mapping(choice: MapChoice | None, problem: Problem) -> list[Outline]:
    """The pass that :func:`mapped` makes, if it makes one, with what is learned from its result."""
    return [] if choice is None else [Outline(_sampling(problem, choice))]


def _sampling(problem: Problem, choice: MapChoice | None = None) -> Reduce[Block]:
    sample = sample_of(problem, MAP_ROWS)
    n_rows = min(problem.n_rows, sample.rows_per_block * len(sample.blocks))
    n_bytes = n_rows * (problem.row_bytes + 16)
    learning = 0
    if choice is not None:
        learning = fitting_bytes(choice, n_rows, problem.n_features, max(len(problem.class_shares), 1))
    return sampling("sample for the map", problem, sample, 2 * n_bytes + learning)


def arrays_of(found: RowMap | None) -> dict[str, NDArray[Any]]:
    """The arrays that a model's folder holds of its map."""
    parts = {} if found is None else map_to_arrays(found)
    return {f"{_PREFIX}{name}": array for name, array in parts.items()}


def map_of(arrays: Mapping[str, NDArray[Any]]) -> RowMap | None:
    """The map of such arrays, if they hold one."""
    parts = {name.removeprefix(_PREFIX): array for name, array in arrays.items() if name.startswith(_PREFIX)}
    return map_from_arrays(parts) if parts else None
