"""Settings that choose themselves: successive halving on a sample, scored on rows that are held out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.rng import Purpose, stream
from distkern.common.types import Floats
from distkern.losses.conjugate import AbstractDualLoss
from distkern.losses.square import Square
from distkern.solvers._cells.machine import CellSettings, predict_cell, solve_costs
from distkern.solvers._cells.mapping import CellMap, MapChoice
from distkern.solvers._cells.metric import MetricKind
from distkern.solvers._cells.partition import fit_partition
from distkern.solvers._cells.transform import TransformKind

Array = NDArray[np.float64]

#: rows of the sample and held-out rows of each rung, and how many maps go on to the next
_RUNGS = ((1000, 2000, 6), (4000, 4000, 4), (20000, 5000, 1))
_QUICK = ((1000, 2000, 3), (8000, 4000, 1))
#: half steps of the grids around the best of the rung before, of widths and of costs
_NEAR = ((-2, 0, 2), (-2, 0, 2))
_NEARER = ((-1, 0, 1), (-1, 0, 1, 2))
#: rows that a metric is learned from, and rows of a cell where a rung has more
_METRIC_ROWS, _CELL_ROWS = 4000, 4000
#: outputs from which on the first rung takes the square loss, which solves all at once
_MANY_OUTPUTS = 4
#: of the dual solver: a ranking needs no more, and settings whose sweeps do not get on are not waited for
_TOLERANCE, _TURNS = 0.1, 1


@dataclass(frozen=True)
class KernelSpec:
    """A kernel by name, with the parameters that are not searched."""

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()


#: exp(-|x - y| / b), the Laplacian of the Euclidean distance, is the Matern kernel of smoothness 1/2
KERNELS = (KernelSpec("matern", (("smoothness", 0.5),)), KernelSpec("rbf"))


@dataclass(frozen=True)
class Setting:
    """One point of the search.

    Attributes
    ----------
    map : of the rows
    kernel : with what width in units of the median distance of two mapped rows
    cost : C
    """

    map: MapChoice
    kernel: KernelSpec
    width: float
    cost: float


@dataclass(frozen=True)
class Space:
    """Where to search; a single value is given and not searched."""

    maps: tuple[MapChoice, ...]
    kernels: tuple[KernelSpec, ...] = KERNELS
    widths: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0)
    costs: tuple[float, ...] = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


@dataclass(frozen=True)
class Choice:
    """What was chosen, from what, and what it gained.

    Attributes
    ----------
    setting : the best
    map : it, fitted to the largest sample
    score : of the setting on held-out rows: share of errors, or mean squared error over that of the mean
    plain : the same of standardised rows, the first kernel, the median distance and the middle cost
    edges : names of what is at the edge of its range: a wider one may be better
    n_tried : settings that were tried, of each rung
    """

    setting: Setting
    map: CellMap
    score: float
    plain: float
    edges: tuple[str, ...]
    n_tried: tuple[int, ...]


def maps_of(
    transforms: Sequence[TransformKind] = ("none", "standard", "normal", "ranks"),
    metrics: Sequence[tuple[MetricKind, int]] = (
        ("none", 1),
        ("diagonal", 1),
        ("diagonal", 3),
        ("full", 1),
        ("full", 3),
        ("mixed", 3),
    ),
) -> tuple[MapChoice, ...]:
    """All pairs of a transform and a (metric, rounds)."""
    return tuple(MapChoice(transform, kind, rounds) for transform in transforms for kind, rounds in metrics)


def quick_maps() -> tuple[MapChoice, ...]:
    """Few of them."""
    return maps_of(("none", "standard"), (("none", 1), ("diagonal", 3)))


def costs_of(loss: AbstractDualLoss) -> tuple[float, ...]:
    """The range of C: of a quadratic loss it is the reciprocal of the ridge."""
    return (1.0, 10.0, 100.0, 1e3, 1e4, 1e5) if loss.is_quadratic else Space.costs


def stratified_order(codes: NDArray[Any] | None, n_rows: int, seed: int) -> NDArray[np.intp]:
    """A random order of rows in which every run of rows holds each class in about its share.

    Parameters
    ----------
    codes : (n_rows,) class codes; None: any random order
    """
    generator = stream(seed, Purpose.VALIDATION)
    order = generator.permutation(n_rows)
    if codes is None:
        return order
    keys = np.empty(n_rows)
    for code in np.unique(codes):
        mine = order[codes[order] == code]
        keys[mine] = (np.arange(len(mine)) + generator.random()) / len(mine)
    return np.argsort(keys, kind="stable")


@dataclass
class _Sample:
    """Shuffled rows: the first are learned from, the last are held out."""

    rows: Floats
    targets: Array
    weights: Array
    loss: AbstractDualLoss
    seed: int
    maps: dict[tuple[MapChoice, int], CellMap] = field(default_factory=dict)

    def map(self, choice: MapChoice, n_learned: int) -> CellMap:
        """Learned from so many rows."""
        n_rows = min(n_learned, _METRIC_ROWS)
        key = (choice, n_rows)
        if key not in self.maps:
            self.maps[key] = CellMap.fit(choice, self.rows[:n_rows], self.targets[:n_rows])
        return self.maps[key]

    def scores(
        self,
        choice: MapChoice,
        points: Iterable[tuple[KernelSpec, float]],
        costs: Sequence[float],
        n_learned: int,
        n_held_out: int,
    ) -> dict[Setting, Array]:
        """Losses of held-out rows, of one map with some kernels and widths, all costs with each matrix."""
        mapping = self.map(choice, n_learned)
        learned = mapping.apply(self.rows[:n_learned])
        held_out = slice(max(n_learned, len(self.rows) - n_held_out), len(self.rows))
        asked = mapping.apply(self.rows[held_out])
        partition = fit_partition(learned, n_learned, _CELL_ROWS, self.seed)
        owners, theirs = partition.assign(learned)[:, 0], partition.assign(asked)[:, 0]
        cells = [
            (np.flatnonzero(owners == cell), np.flatnonzero(theirs == cell))
            for cell in range(partition.n_cells)
        ]
        loss = self.loss
        if self.targets.shape[1] >= _MANY_OUTPUTS and n_learned < _METRIC_ROWS:
            loss = Square()
        found = {}
        for spec, width in points:
            kernel = mapping.kernel(spec.name, width, **dict(spec.parameters))
            settings = CellSettings(kernel, loss, 1.0, _TOLERANCE, _TURNS)
            values = np.empty((len(costs), len(asked), self.targets.shape[1]))
            for mine, theirs in cells:
                machines = solve_costs(
                    settings, learned[mine], self.targets[mine], self.weights[mine], self.seed, costs
                )
                for place, machine in enumerate(machines):
                    values[place, theirs] = predict_cell(settings, machine, asked[theirs])
            for cost, predicted in zip(costs, values, strict=True):
                found[Setting(choice, spec, width, cost)] = self._losses(
                    predicted, self.targets[held_out], self.weights[held_out]
                )
        return found

    def _losses(self, values: Array, targets: Array, weights: Array) -> Array:
        """(n,), so that their mean is the score: weighted errors, or squared errors."""
        shares = weights * (len(weights) / weights.sum())
        if not np.isin(targets, (-1.0, 1.0)).all():
            return np.asarray(shares * np.square(values - targets).sum(axis=1))
        if targets.shape[1] == 1:
            wrong = (values[:, 0] > 0) != (targets[:, 0] > 0)
        else:
            wrong = values.argmax(axis=1) != targets.argmax(axis=1)
        return np.asarray(shares * wrong)


def search(
    rows: Floats,
    targets: Array,
    weights: Array | None,
    loss: AbstractDualLoss,
    space: Space,
    seed: int,
    *,
    quick: bool = False,
) -> Choice:
    """The best of a space, by successive halving (Jamieson and Talwalkar 2016) over growing samples.

    The first rung tries every map on 1,000 rows with coarse grids of widths and costs; the next ones try the
    maps that did best on 4,000 and on 20,000 rows, with finer grids around what was best for each: what is
    best for few rows need not be for many. The last rung's rows lie in cells. A kernel matrix serves all
    costs. Which rows are taken follows from their order alone, and what wins from their numbers: no clock has
    a say.

    Parameters
    ----------
    rows : (n, d), in the order of :func:`stratified_order`; 25,000 are used at most
    targets : (n, k): -1 and +1, or standardised real numbers
    weights : (n,), or None for all ones
    quick : two rungs, up to 8,000 rows
    """
    rungs = _QUICK if quick else _RUNGS
    n_rows = min(len(rows), rungs[-1][0] + rungs[-1][1])
    importance = np.ones(n_rows) if weights is None else weights[:n_rows]
    sample = _Sample(rows[:n_rows], targets[:n_rows], importance, loss, seed)
    # of few rows two thirds are learned from
    most = max(1, 2 * n_rows // 3) if n_rows < rungs[-1][0] + rungs[-1][1] else rungs[-1][0]
    sizes = [min(n_learned, most) for n_learned, _, _ in rungs]
    best: dict[Setting, Array] = {}
    leaders: list[Setting] = []
    n_tried = []
    for rung, ((_, n_held_out, n_kept), n_learned) in enumerate(zip(rungs, sizes, strict=True)):
        best = {}
        if rung == 0:
            points = [(spec, width) for spec in space.kernels for width in _coarse(space.widths)]
            for choice in space.maps:
                best |= sample.scores(choice, points, _coarse(space.costs), n_learned, n_held_out)
        for leader in leaders:
            widths, costs = _NEAR if rung < len(rungs) - 1 else _NEARER
            points = [(leader.kernel, width) for width in _around(leader.width, space.widths, widths)]
            near = _around(leader.cost, space.costs, costs)
            best |= sample.scores(leader.map, points, near, n_learned, n_held_out)
        leaders = _leaders(best, n_kept)
        n_tried.append(len(best))
    plain = Setting(MapChoice(), space.kernels[0], _middle(space.widths), _middle(space.costs))
    n_learned, n_held_out = sizes[-1], rungs[-1][1]
    if plain not in best:
        best |= sample.scores(plain.map, [(plain.kernel, plain.width)], [plain.cost], n_learned, n_held_out)
    if plain.map in space.maps:
        leaders = _leaders(best, rungs[-1][2])
    chosen = _simplest(best, leaders)
    return Choice(
        chosen,
        sample.map(chosen.map, n_learned),
        _mean(best[chosen]),
        _mean(best[plain]),
        _edges(chosen, space),
        tuple(n_tried),
    )


def _leaders(losses: dict[Setting, Array], n_kept: int) -> list[Setting]:
    """The best setting of each of the best maps, and of the best one without a metric."""
    found: dict[MapChoice, Setting] = {}
    for setting in sorted(losses, key=lambda each: _mean(losses[each])):
        found.setdefault(setting.map, setting)
    best = list(found.values())
    plain = [setting for setting in best[n_kept:] if setting.map.metric == "none"][:1]
    has_plain = any(setting.map.metric == "none" for setting in best[:n_kept])
    return best[:n_kept] if has_plain else best[:n_kept] + plain


def _simplest(losses: dict[Setting, Array], leaders: list[Setting]) -> Setting:
    """The best, unless one without a metric is as good within a standard error of the difference.

    The best of many is lucky as well as good, and metrics are many: what a sample's metric gains is less on
    more rows, and must be seen to gain something here.
    """
    best = leaders[0]
    for setting in leaders[1:]:
        difference = losses[setting] - losses[best]
        error = float(difference.std()) / np.sqrt(len(difference))
        if best.map.metric != "none" and setting.map.metric == "none" and difference.mean() <= error:
            return setting
    return best


def _mean(losses: Array) -> float:
    return float(losses.mean())


def _coarse(values: Sequence[float]) -> list[float]:
    """Every second value, from the second on where there are several."""
    return list(values[1::2]) if len(values) > 2 else list(values)


def _around(value: float, values: Sequence[float], half_steps: Sequence[int]) -> list[float]:
    """The value and its neighbours, so many half steps of the grid away, within the range."""
    if len(values) < 2:
        return [value]
    step = (values[-1] / values[0]) ** (0.5 / (len(values) - 1))
    near = [value * step**power for power in half_steps]
    # rounding aside, the ends of the range are in it
    return [float(f"{each:.4g}") for each in near if values[0] * 0.999 <= each <= values[-1] * 1.001]


def _middle(values: Sequence[float]) -> float:
    return values[len(values) // 2]


def _edges(setting: Setting, space: Space) -> tuple[str, ...]:
    """What is at the edge of its range."""
    return tuple(
        name
        for name, value, values in (
            ("width", setting.width, space.widths),
            ("cost", setting.cost, space.costs),
        )
        if len(values) > 1 and (value <= values[0] * 1.01 or value >= values[-1] * 0.99)
    )
