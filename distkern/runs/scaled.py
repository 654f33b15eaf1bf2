"""Scalings and maps of the columns, learned before the first pass and applied in front of a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np

from distkern.core.errors import InputError
from distkern.core.held_out import keys_of, order_of_keys, parted, row_keys
from distkern.core.parameters import AUTO
from distkern.core.types import AbstractSource, Block
from distkern.data.dataset import Split
from distkern.data.scaling import SPARSE_KINDS, TOO_LARGE, Scaling, ScalingKind
from distkern.data.spreads import TILE_BYTES, Spreads
from distkern.engine.drive import Driver
from distkern.engine.executors import AbstractExecutor
from distkern.maths.maps.mapping import MapChoice, RowMap, as_rows, fitting_bytes, pulled_targets
from distkern.maths.maps.transform import TRANSFORMS
from distkern.passes import Cost, Outline, Reduce
from distkern.runs.data import TrainingData
from distkern.runs.sources import ScaledSource
from distkern.solvers.base import Problem
from distkern.solvers.sample import sample_of, sampling

#: rows from which on single precision is the default
_MANY_ROWS = 4000


@dataclass(frozen=True)
class Rescaled:
    """Training data as a solver sees it.

    Attributes
    ----------
    data : training data, whose source scales if scaling was chosen
    found : "scale", the chosen kind, if one was chosen
    notes : what was done, if anything
    spreads : spreads of the columns as given, if a pass has computed them
    """

    data: TrainingData
    found: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    spreads: Spreads | None = None

    def held_out(self, source: AbstractSource) -> AbstractSource:
        """Return a split of the same data set, scaled as the training rows; other rows are scaled already."""
        own = self.data.source
        if isinstance(own, ScaledSource) and isinstance(source, Split):
            return ScaledSource(source, own.scaling, own.dtype)
        return source


def rescaled(data: TrainingData, wanted: str, dtype: str, executor: AbstractExecutor) -> Rescaled:
    """Scale the columns of training data by one pass, and cast them to a precision.

    ``wanted`` is "auto", "none" or a kind of scaling; ``dtype`` is "auto", "float32" or "float64". Scaling
    "auto" leaves data sets that are stored scaled, and columns of similar units, unchanged, see
    :meth:`~distkern.data.spreads.Spreads.chosen`. Precision "auto" is that of :func:`precision_of`, unless
    :meth:`~distkern.data.spreads.Spreads.suit_single` rejects it.

    Raises
    ------
    InputError
        If the rows are already scaled or sparse rows cannot have the scaling, or numbers are too large for
        the precision.
    """
    source, scales = data.source, bool(spreading(data, wanted))
    precision = precision_of(source, dtype)
    narrows = precision.itemsize < source.dtype.itemsize
    kind: ScalingKind = "none"
    spreads: Spreads | None = None
    if scales or narrows:
        spreads = Driver({"train": source}, executor).measure(_spreading(source))
        assert spreads is not None
        if scales:
            kind = spreads.chosen() if wanted == AUTO else cast(ScalingKind, wanted)
        if narrows and dtype == AUTO and not spreads.suit_single(kind):
            precision = source.dtype
        elif narrows and kind == "none" and spreads.largest > float(np.finfo(precision).max):
            raise InputError(TOO_LARGE, where="X", hint="scale the columns, or give dtype='float64'")
    if kind == "none":
        same = precision == source.dtype
        kept = data if same else replace(data, source=ScaledSource(source, Scaling(), precision))
        return Rescaled(kept, spreads=spreads)
    assert spreads is not None, "scalings are fitted"
    scaling, chosen = spreads.scaling(kind), {"scale": kind} if wanted == AUTO else {}
    ranges = spreads.ranges[spreads.ranges > 0]
    found = f"{ranges.min(initial=np.inf):.3g} to {ranges.max(initial=0.0):.3g}" if ranges.size else "0"
    note = f"columns scaled ({kind}): their ranges were {found}"
    scaled = ScaledSource(source, scaling, precision)
    return Rescaled(replace(data, source=scaled, scaling=scaling), chosen, (note,), spreads)


def precision_of(source: AbstractSource, wanted: str) -> np.dtype[Any]:
    """Return the precision of training; "auto": that of the rows, or single precision from 4,000 rows on."""
    if wanted != AUTO:
        return np.dtype(wanted)
    return source.dtype if source.n_rows < _MANY_ROWS else np.dtype(np.float32)


def check_stored(wanted: str, dtype: np.dtype[Any]) -> None:
    """Refuse a precision other than the one in which Dask arrays are stored for random access."""
    if wanted not in (AUTO, dtype.name):
        raise InputError(
            f"is {wanted!r}, but Dask arrays with random access are stored as {dtype.name}",
            where="dtype",
            hint="leave it out",
        )


def spreading(data: TrainingData, wanted: str) -> list[Outline]:
    """Return the pass of :func:`rescaled`, if it makes one; raises as that does."""
    stored = None if data.scaling is None or data.scaling.kind == "none" else data.scaling.kind
    if wanted == "none" or (wanted == AUTO and stored is not None):
        return []
    if stored is not None:
        raise InputError(
            f"is {wanted!r}, but the rows are stored scaled ({stored})",
            where="scale",
            hint="leave it out, or shard the data with --scale none",
        )
    if data.source.is_sparse and wanted not in (AUTO, *SPARSE_KINDS):
        raise InputError(
            f"is {wanted!r}, which would make the zeros of sparse rows nonzero",
            where="scale",
            hint="use 'maxabs' or 'none'",
        )
    return [Outline(_spreading(data.source))]


def as_planned(data: TrainingData, wanted: str) -> Callable[[AbstractSource], AbstractSource]:
    """Return how a run may read a split of the data, for a plan."""
    scales = bool(spreading(data, wanted))
    return lambda source: ScaledSource(source, Scaling()) if scales else source


def _spreading(source: AbstractSource) -> Reduce[Spreads]:
    task = {"tiles": (3, TILE_BYTES), "sums": (8, source.n_features, 8)}
    cost = Cost().holding(task=task, result={"sums": (4, source.n_features, 8)})
    return Reduce("spreads of the columns", _spreads_of, Spreads.add, cost=cost)


def _spreads_of(block: Block, _: None) -> Spreads:
    return Spreads.of(block.features, block.weights)


#: rows from which a map is learned, and rounds of its metric
_MAP_ROWS, _ROUNDS = 2000, 2
#: with fewer rows the first map is used
_FEW = 60


def map_choices(scale: str, metric: str | None, data: TrainingData) -> tuple[MapChoice, ...]:
    """Return the maps to choose from: metrics, or transforms that are not scalings or follow a stored one.

    Raises
    ------
    InputError
        If rows are sparse, or the scaling does not go with a metric.
    """
    source = data.source
    follows = scale == "standard" and data.is_scaled and not source.is_sparse
    if metric is None and scale not in ("normal", "ranks") and not follows:
        return ()
    if source.is_sparse:
        name = "scale" if metric is None else "metric"
        raise InputError(
            "maps of columns would make the zeros of sparse rows nonzero",
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
            f"is {scale!r}, but metrics are learned on standardised columns, normal quantiles or ranks",
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
    source : source whose rows are mapped as they are read
    map : the map, or None
    found : values chosen for "auto" hyperparameters, by name
    """

    source: AbstractSource
    map: RowMap | None = None
    found: Mapping[str, Any] = field(default_factory=dict)

    def held_out(self, source: AbstractSource) -> AbstractSource:
        """Return other rows, scaled as the training rows, with the same map."""
        return source if self.map is None else ScaledSource(source, self.map)


def mapped(
    data: TrainingData, choices: Sequence[MapChoice], problem: Problem, executor: AbstractExecutor
) -> Mapped:
    """Learn a map from 2,000 rows of the training data in one pass, and put it in front of the data.

    Among several choices it takes the map of the ladder's best machine over centres on a third of these rows,
    or the first map that is not significantly worse.
    """
    if not choices:
        return Mapped(data.source)
    rows: Block = Driver({"train": data.source}, executor).measure(_sampling(problem))
    rows = rows.take(order_of_keys(row_keys(np.asarray(rows.features)), None, problem.seed))
    # a map needs unweighted rows, so weights become repetitions
    places = np.arange(rows.n_rows)[as_rows(rows.weights, _MAP_ROWS)]
    some, found = replace(rows.take(places), weights=None), {}
    choice = choices[0]
    if len(choices) > 1:
        choice = _chosen(choices, some, problem)
        found = {"metric": None if choice.metric == "none" else choice.metric, "scale": choice.transform}
    learned = learned_map(choice, some, problem)
    return Mapped(ScaledSource(data.source, learned), learned, found)


def _chosen(choices: Sequence[MapChoice], rows: Block, problem: Problem) -> MapChoice:
    """Return the best map by rows held out of these, which are in random order."""
    from distkern.choose.machines import SampleRows
    from distkern.choose.rungs import best_map

    n_classes = len(problem.class_shares)
    codes = np.asarray(rows.targets) if n_classes else None
    n_learned = 2 * rows.n_rows // 3
    if rows.targets is None or rows.n_rows < _FEW:
        return choices[0]
    part = parted(keys_of(rows), codes, problem.seed, n_learned, rows.n_rows)
    several = [len(side) and np.ptp(np.asarray(rows.targets)[side]) > 0 for side in part]
    if not all(several):
        return choices[0]
    return best_map(SampleRows.of(rows, n_classes, None, None, problem.multiplicity), part, choices)


def learned_map(choice: MapChoice, some: Block, problem: Problem) -> RowMap:
    """Return the map learned from rows in random order."""
    # without targets there is no metric to learn
    given = np.zeros(some.n_rows) if some.targets is None else np.asarray(some.targets)
    targets = pulled_targets(given, len(problem.class_shares))
    return RowMap.fit(choice, np.asarray(some.features), targets, None, problem.multiplicity)


def mapping(choices: Sequence[MapChoice], problem: Problem) -> list[Outline]:
    """Return the pass of :func:`mapped`, if it makes one, with the cost of learning the map."""
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
        from distkern.choose.folds import memory_of

        learning = max(learning, memory_of(n_rows, problem.n_features))
    return sampling("sample for the map", problem, sample, 2 * n_bytes + learning)
