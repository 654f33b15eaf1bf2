"""What the machines of all cells share: the map of the rows, the kernel, its width and C.

Each is given, or chosen by a search before the run (:func:`distkern.choose.ladder.choose_exact`). A pass
samples rows, from which the map is learned and the width computed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from distkern.choose.folds import TriedMachine
from distkern.choose.machines import Kernel
from distkern.choose.rungs import KERNELS, maps_of
from distkern.core.held_out import keys_of, order_of_keys
from distkern.core.rng import Purpose, stream
from distkern.core.stores import ArrayStore
from distkern.core.text import held_out_note
from distkern.core.tiles import release
from distkern.core.types import Array, Block, Floats
from distkern.maths.features.base import KernelChoice
from distkern.maths.kernels import find_kernel
from distkern.maths.kernels.bandwidth import (
    gamma_from_width,
    median_width,
    moments,
    parse_rule,
    scale_width,
    width_from_gamma,
)
from distkern.maths.kernels.base import AbstractScaledKernel
from distkern.maths.maps.mapping import (
    MapChoice,
    RowMap,
    as_rows,
    fitting_bytes,
    map_from_arrays,
    map_to_arrays,
)
from distkern.maths.maps.metric import METRIC_ROWS, METRICS, MORE_METRIC_ROWS, MetricKind
from distkern.maths.maps.transform import N_QUANTILES, Transform
from distkern.maths.maps.trend import LinearTrend, TrendSums
from distkern.passes import Cost, Each, Outline, Reduce
from distkern.solvers._cells.layout import MIB, CellLayout, sums_of_zero
from distkern.solvers._cells.tree import Places, dense_rows, places_from_arrays
from distkern.solvers.base import Problem, Steps
from distkern.solvers.measuring import Sums
from distkern.solvers.risk import Risk

#: first index of the streams of the sample
_SAMPLE = 6
#: C and rounds of a metric if neither given nor searched
_COST, _METRIC_ROUNDS = 10.0, 3
#: columns up to which metrics are full matrices
_FULL_COLUMNS = 1024


@dataclass(frozen=True)
class Sampling:
    """The operand of :func:`sample_block`: ``size`` rows of all, and of a block its share of them."""

    risk: Risk
    offsets: NDArray[np.int64]
    size: int
    seed: int


@dataclass(frozen=True)
class CellSample:
    """Sampled rows of some blocks, dense and with weights, and the sums of the model 0 over all rows."""

    rows: Block
    sums: Sums

    @staticmethod
    def add(first: CellSample, second: CellSample) -> CellSample:
        """Join the samples of earlier and of later blocks."""
        return CellSample(Block.joined([first.rows, second.rows]), Sums.add(first.sums, second.sums))


def sample_block(block: Block, operand: Sampling) -> CellSample:
    """Sample rows of a block."""
    ends = operand.offsets[block.index : block.index + 2] * operand.size // operand.offsets[-1]
    order = stream(operand.seed, Purpose.SAMPLE, _SAMPLE, block.index).permutation(block.n_rows)
    sample = block.take(np.sort(order[: int(ends[1] - ends[0])]))
    return CellSample(dense_rows(sample), sums_of_zero(block, operand.risk))


def sampling(layout: CellLayout, risk: Risk | None = None) -> Reduce[CellSample]:
    """Return the pass that samples rows and sums the losses of the model 0."""
    problem, rows = layout.problem, layout.sample_rows
    operand = None
    if risk is not None:
        ends = np.concatenate([[0], np.cumsum(problem.block_rows)])
        operand = Sampling(risk, ends, rows, problem.seed)
    row_bytes = problem.n_features * problem.dtype.itemsize + problem.beside_bytes
    # waiting results count the shuffled sample and its coordinates; in double precision it is centred, or
    # some of its rows are transformed here
    is_fitted = layout.map.metric == "none"
    exact = problem.n_features * (3 * (layout.rows_of_map(METRIC_ROWS) + N_QUANTILES) if is_fitted else rows)
    cost = Cost().holding(
        task={"rows of a block": (max(problem.block_rows), row_bytes + 64 * problem.n_outputs)},
        joined={"the sample": (rows, row_bytes)},
        driver={"in double precision": (exact, 8), "scores": (3, rows, problem.n_outputs, 8)},
    )
    return Reduce("sample", sample_block, CellSample.add, operand, cost=cost)


@dataclass(frozen=True)
class ShuffledSample:
    """Rows of the sample in the order of :func:`~distkern.core.held_out.order_of_keys`, as an operand.

    Attributes
    ----------
    rows : (n, d)
    targets : (n, k): -1 and +1, or standardised real numbers
    weights : (n,), without class weights
    mean_weight : with class weights
    multiplicity : see :class:`~distkern.maths.maps.transform.Transform`
    """

    rows: Floats
    targets: Array
    weights: Array
    mean_weight: float
    multiplicity: tuple[int, ...] = ()

    @classmethod
    def of(cls, risk: Risk, sample: CellSample, problem: Problem) -> ShuffledSample:
        """Return the shuffled sample with the targets of the risk."""
        codes = None if risk.is_real else sample.rows.targets
        rows = sample.rows.take(order_of_keys(keys_of(sample.rows), codes, problem.seed))
        weights, targets = risk.repeats(rows), risk.targets(rows).astype(np.float64)
        mean = 1.0 if weights is None else float(weights.mean()) or 1.0
        return cls(np.asarray(rows.features), targets, np.asarray(rows.weights), mean, problem.multiplicity)

    def fit(self, choice: MapChoice, most: int) -> RowMap:
        """Learn a map from at most ``most`` rows."""
        part = as_rows(self.weights, most)
        return RowMap.fit(choice, self.rows[part], self.targets[part], None, self.multiplicity)

    def centred(self) -> RowMap:
        """Return the map that only subtracts the mean."""
        shares = self.weights / self.weights.sum()
        mean = shares @ self.rows
        ones = np.ones(len(mean))
        return RowMap(Transform("none", mean, ones), ones, 1.0, shares @ np.square(self.rows - mean))


def trend_sums(block: Block, _: None) -> TrendSums:
    """Return the moments of a block for a trend."""
    rows = dense_rows(block)
    targets = np.asarray(rows.targets, dtype=np.float64)
    return TrendSums.of(np.asarray(rows.features), targets, np.asarray(rows.weights))


def trending(layout: CellLayout) -> Reduce[TrendSums]:
    """Return the pass that sums moments for a linear trend."""
    width, rows = layout.problem.n_features + 1, max(layout.problem.block_rows)
    # rows dense, joined with their targets, centred and weighted
    task = {"rows in double precision": (rows, 4 * width, 8), "products": (width, width, 8)}
    sums = {"products": (2, width, width, 8)}
    cost = Cost().holding(task=task, result=sums, driver={"scaled products": (2, width, width, 8)})
    return Reduce("trend", trend_sums, TrendSums.add, cost=cost)


def learn_map(
    item: MapChoice, _: Iterator[Block], operand: ShuffledSample
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Learn a map and return its arrays."""
    arrays = map_to_arrays(operand.fit(item, MORE_METRIC_ROWS))
    release()
    return {}, arrays


def learning(layout: CellLayout, sample: ShuffledSample | None = None) -> Each:
    """Return the pass that learns the metric in a task."""
    sizes = layout.rows_of_map(MORE_METRIC_ROWS), layout.problem.n_features, layout.problem.n_outputs
    workspace, map_bytes = fitting_bytes(layout.map, *sizes), layout.map_bytes
    # mapped rows exist beside the unmapped ones
    cost = layout.cost(workspace, MIB + map_bytes, sample=True, driver=2 * map_bytes)
    store = None if sample is None else layout.store("metric")
    cost = replace(cost, solves=True)
    return Each("metric", learn_map, [layout.map], store, operand=sample, record_bytes=512, cost=cost)


@dataclass(frozen=True)
class Chosen:
    """What the machines of all cells share.

    Attributes
    ----------
    map : of the rows
    kernel : its name and its parameters without gamma
    gamma, cost : of the kernel over mapped rows, and C
    score : on held-out rows: log loss, or squared error as a share of the variance; NaN without a search
    metric : the kind of metric
    """

    map: RowMap
    kernel: Kernel
    gamma: float
    cost: float
    score: float = math.nan
    metric: MetricKind = "none"


@dataclass(frozen=True)
class SearchSpace:
    """The given values, "auto" for those to be chosen; ``kernel`` is None if it is.

    ``found`` is the result of the search before the run; None if nothing was searched.
    """

    kernel: KernelChoice | None
    gamma: float | str
    C: float | str
    scale: Any
    metric: Any
    trend: str | None
    search: str | None
    found: TriedMachine | None = None

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """The kernels to choose from, with the given width, or one median of the distances."""
        if self.kernel is None:
            kinds: tuple[Kernel, ...] = KERNELS
        else:
            kinds = (Kernel(self.kernel.kind.name, 1.0, tuple(self.kernel.parameters.items())),)
        if not isinstance(self.gamma, str) or not self.gamma.startswith("median"):
            return kinds
        # the width of a rule is that of exp(-|x|^2 / width^2) at the median distance
        return tuple(replace(kind, width=math.sqrt(2.0) / parse_rule(self.gamma)[1]) for kind in kinds)

    def maps(self, n_features: int) -> tuple[MapChoice, ...]:
        """Return the maps to choose from, the simplest first."""
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
        """The found map, or the one without a search."""
        if self.found is not None:
            choice = self.found.setting.map
        else:
            transform: Any = "none" if self.scale == "auto" else self.scale
            metric: Any = "none" if self.metric in (None, "auto") else self.metric
            choice = MapChoice(transform, metric)
        # further rounds of a full matrix would overfit few rows
        return replace(choice, rounds=1 if choice.is_full else _METRIC_ROUNDS)

    def is_open(self, n_features: int) -> bool:
        """Return whether there is anything to search."""
        if self.search is None:
            return False
        is_single = len(self.kernels) == 1 and len(self.maps(n_features)) == 1
        return not is_single or self.gamma == "auto" or self.C == "auto"

    @property
    def has_trend(self) -> bool:
        """Whether the machines learn what a linear trend leaves."""
        found = self.found is not None and self.found.setting.has_trend
        return found if self.trend == "auto" else self.trend is not None

    def outline(self, layout: CellLayout) -> list[Outline]:
        """Return the pass that learns a metric, if there is one."""
        return [] if layout.map.metric == "none" else [Outline(learning(layout), is_before=True)]

    def choose(
        self, layout: CellLayout, risk: Risk, sample: CellSample, trend: LinearTrend | None = None
    ) -> Steps[Chosen]:
        """Learn the map from a sample of the rows, and return all that cells share."""
        shuffled = ShuffledSample.of(risk, sample, layout.problem)
        if trend is not None:
            rest = shuffled.targets - (trend.at(shuffled.rows) / risk.scale)[:, None]
            shuffled = replace(shuffled, targets=rest)
        choice = layout.map
        if choice.metric != "none":
            step = learning(layout, shuffled)
            yield step
            mapping = map_from_arrays(cast(ArrayStore, step.store).load(0))
        elif choice.transform == "none" and self.found is None:
            mapping = shuffled.centred()
        else:
            mapping = shuffled.fit(choice, METRIC_ROWS)
        if self.found is None:
            return self._given(shuffled, mapping)
        kernel = self.found.kernel.over(mapping)
        assert isinstance(kernel, AbstractScaledKernel)
        # ridges are for rows with mean weight 1
        cost = 1.0 / (self.found.setting.ridge * shuffled.mean_weight)
        return Chosen(mapping, self.found.kernel, float(kernel.gamma), cost, self.found.score, choice.metric)

    def _given(self, sample: ShuffledSample, mapping: RowMap) -> Chosen:
        choice, kernel = self.map_choice, self.kernels[0]
        cost = _COST if isinstance(self.C, str) else self.C
        rule = "median" if self.gamma == "auto" else self.gamma
        if not isinstance(rule, str):
            return Chosen(mapping, kernel, float(rule), cost, metric=choice.metric)
        mapped, n_features = mapping.apply(sample.rows), sample.rows.shape[1]
        if parse_rule(rule)[0] == "median":
            width = median_width(mapped)
        else:
            # centred rows are shifted back to get the spread of the original numbers
            mean = mapping.transform.shift if choice.transform == choice.metric == "none" else 0.0
            width = scale_width(moments(mapped + mean, sample.weights), n_features)
        gamma = gamma_from_width(rule, find_kernel(kernel.name), width, n_features)
        return Chosen(mapping, kernel, gamma, cost, metric=choice.metric)


@dataclass(frozen=True)
class Settled:
    """The chosen values of all machines: the kernel's number in the search space, gamma and C."""

    kernel: int
    gamma: float
    cost: float


@dataclass(frozen=True)
class CellsState:
    """The state after a stage.

    Attributes
    ----------
    stage : 0 sampled, 1 moved, 2 solved
    center, target_scale, variances : see :class:`~distkern.solvers.targets.TargetScale`
    kernel : its number in the search space
    gamma : of the kernel, over the coordinates
    cost : C
    transform ... bucket_of_leaf, trend : of the :class:`~distkern.solvers._cells.tree.Places`
    metric : the number of its kind
    search_score : see :class:`Chosen`
    rows_of_bucket : (n_buckets,), upper bounds
    machines : (n_buckets, 32) fingerprints of the buckets' machines
    bucket_bytes : of the largest bucket's machines
    regulariser : |w|^2 / (2 C n) for n rows, summed over the cells
    gap : upper bound on the objective minus its minimum, from the duality gaps of all machines
    held_out : (2,) score of the machines on held-out rows and its standard error: log loss, or squared error
        in squared units of the target; NaN if not measured
    sigmoids : (n_outputs, 3), see :class:`~distkern.solvers._cells.calibrating.Sigmoids`
    """

    stage: int
    objective: float
    train_error: float
    test_error: float | None
    absolute_errors: Array
    center: Array
    target_scale: float
    variances: Array
    kernel: int
    gamma: float
    cost: float
    transform: NDArray[np.int64]
    shift: Array
    factor: Array
    quantiles: Array
    factors: Array
    width: Array
    column_variances: Array
    directions: NDArray[np.float32]
    thresholds: NDArray[np.float32]
    margins: NDArray[np.float32]
    children: NDArray[np.int32]
    bucket_of_leaf: NDArray[np.int32]
    rows_of_bucket: NDArray[np.int64]
    machines: NDArray[np.uint8]
    search_score: float = math.nan
    metric: int = 0
    bucket_bytes: int = 0
    regulariser: float = 0.0
    model_size: int = 0
    n_cells: int = 0
    n_unsolved: int = 0
    gap: float = 0.0
    held_out: Array = field(default_factory=lambda: np.full(2, math.nan))
    sigmoids: Array = field(default_factory=lambda: np.zeros((0, 3)))
    trend: Array = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def places(self) -> Places:
        """Finds the bucket of a row."""
        return places_from_arrays(vars(self))

    @property
    def settled(self) -> Settled:
        """The chosen values."""
        return Settled(self.kernel, self.gamma, self.cost)


_FORMULAS = dict(zip(KERNELS, ("exp(-g|x-y|)", "exp(-g|x-y|^2)", "exp(-g|x-y|_1)"), strict=True))


def notes_of(state: CellsState, kernel: Kernel, *, is_real: bool) -> tuple[str, ...]:
    """Return lines of at most 80 characters about the search, if there was one, and the solved machines."""
    solved: tuple[str, ...] = ()
    if state.stage == 2 and state.n_cells == 1:
        solved = (f"1 cell, with {state.model_size:,} support vectors",)
    elif state.stage == 2:
        mean = state.model_size / max(state.n_cells, 1)
        solved = (f"{state.n_cells:,} cells, with {mean:,.0f} support vectors on average",)
    name = "squared error" if is_real else "log loss"
    told, error = state.held_out
    if state.stage == 2 and not math.isnan(told):
        solved += (held_out_note(told, error, is_real=is_real),)
    if math.isnan(state.search_score):
        return solved
    mapping, kind = state.places.map, find_kernel(kernel.name)
    assert issubclass(kind, AbstractScaledKernel)
    width = width_from_gamma(kind, state.gamma, len(mapping.factors)) / mapping.width
    transform = {"none": "unscaled"}.get(mapping.transform.kind, mapping.transform.kind)
    metric = f"{METRICS[state.metric]} metric" if state.metric else "no metric"
    formula = _FORMULAS.get(replace(kernel, width=1.0), kernel.name)
    score = f"{100 * state.search_score:.3g} %" if is_real else f"{state.search_score:.3g}"
    unit = " of the variance" if is_real else ""
    return (
        f"chosen: {transform}, {metric}, {formula}, width {width:.3g} medians, C {state.cost:.3g}",
        f"{name} of the search on held-out rows: {score}{unit}",
        *solved,
    )
