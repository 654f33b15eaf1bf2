"""Settings that choose themselves: successive halving on a sample, scored on rows that are held out.

A rung's trials are independent of each other and run on the workers; which setting goes on follows from their
losses and from how many multiplications they took, so that it is the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from distkern.common.stores import ArrayStore
from distkern.passes import Each
from distkern.solvers._cells.mapping import CellMap, MapChoice, map_from_arrays
from distkern.solvers._cells.space import Space
from distkern.solvers._cells.trials import MANY_OUTPUTS, KernelSpec, Setting, Trial, difference, least_work
from distkern.solvers.base import Steps

Array = NDArray[np.float64]

#: ridge with which the best metric is learned too
_RIDGE = 0.01
#: the other number of rounds
_ROUNDS = {1: 3, 3: 1}
#: standard errors by which a metric must be better than none
_CERTAIN = 2.0
#: factors of the widths and costs of trials on whole cells: around what was best on the sample, whose rows
#: are farther apart, and of the best kinds of these around what was best there
CELL_ROUNDS = (((3.0, 1.0, 0.58, 1 / 3, 1 / 9), (1.0,)), ((1.73, 1.0, 0.58), (1 / 3, 1.0, 3.0)))
#: kinds that go on from the first of these
CELL_KINDS = 2


@dataclass(frozen=True)
class Size:
    """Of a rung.

    Attributes
    ----------
    n_learned, n_held_out : rows to learn from, and to score on
    n_kept : kinds of metrics that go on, each with its best maps; of the last rung maps with their kernels
    n_maps : of each of these kinds
    widths, costs : half steps of the grids around the best of the rung before
    n_metric : rows from which metrics are learned
    """

    n_learned: int
    n_held_out: int
    n_kept: int
    widths: tuple[int, ...] = (-2, 0, 2)
    costs: tuple[int, ...] = (-2, 0, 2)
    n_metric: int = 0
    n_maps: int = 1

    @property
    def rows(self) -> tuple[int, int, int]:
        """Those of a trial."""
        return self.n_learned, self.n_held_out, self.n_metric


_RUNGS = (Size(1000, 2000, 4), Size(4000, 5000, 4))
_QUICK = (Size(1000, 2000, 2), Size(4000, 5000, 2))
#: where the best are to be tried on whole cells more go on, from fewer rows
_MORE_MAPS, _MORE_KEPT, _FEWER_LEARNED = 2, 2, 2000


@dataclass(frozen=True)
class Choice:
    """What was chosen, from what, and what it gained.

    Attributes
    ----------
    setting : the best
    map : it, as it was fitted
    score : of the setting on held-out rows: share of errors, or mean squared error over that of the mean
    plain : the same of standardised rows, the first kernel, the median distance and the middle cost
    edges : of the width and of C: -1 at the smallest that is tried, 1 at the largest, 0 between
    """

    setting: Setting
    map: CellMap
    score: float
    plain: float
    edges: tuple[int, int]


@dataclass(frozen=True)
class Outcome:
    """What a setting achieved: its mean loss, the losses of held-out rows, and the map that was used."""

    score: float
    work: float
    losses: Callable[[], Array]
    map: Callable[[], CellMap]


def fewer_rows(n_rows: int, n_outputs: int, *, quadratic: bool) -> int:
    """Rows of a trial: fewer with many outputs, because each takes its time, or of factorised matrices."""
    share = 0.5 if quadratic else (MANY_OUTPUTS / n_outputs) ** 0.5
    return min(n_rows, max(_RUNGS[0].n_learned, int(n_rows * share)))


def sizes_of(n_rows: int, n_outputs: int, *, quadratic: bool, quick: bool, more_maps: bool) -> list[Size]:
    """The rungs for a sample of so many rows, of which no more than two thirds are learned from.

    ``more_maps``: more than one of each kind of metrics go on.
    """
    most = max(1, 2 * n_rows // 3)
    first, second = _QUICK if quick else _RUNGS
    if more_maps and not quick:
        first = replace(first, n_held_out=second.n_held_out, n_maps=_MORE_MAPS)
        second = replace(
            second, n_learned=_FEWER_LEARNED, n_kept=second.n_kept + _MORE_KEPT, n_metric=second.n_learned
        )
    return [
        replace(
            size,
            n_learned=min(fewer_rows(size.n_learned, n_outputs, quadratic=quadratic), most),
            n_held_out=min(size.n_held_out, n_rows),
            n_metric=min(size.n_metric or size.n_learned, most),
        )
        for size in (first, second)
    ]


@dataclass(frozen=True)
class Ranking:
    """The settings of some trials, and what they achieved."""

    space: Space
    n_kept: int
    outcomes: dict[Setting, Outcome]

    def choice(self) -> Choice:
        """The best, or what is as good and simpler."""
        chosen = _simplest(self._searched, _leaders(self._searched, self.n_kept, _by_kernel))
        plain = self.outcomes.get(self.space.plain)
        found = self.outcomes[chosen]
        reached = math.nan if plain is None else plain.score
        return Choice(chosen, found.map(), found.score, reached, self._edges(chosen))

    def finalists(self, widths: Sequence[float], costs: Sequence[float]) -> list[Trial]:
        """Trials of the best maps with their kernels, and of the plain setting.

        Parameters
        ----------
        widths, costs : factors of those of the best
        """
        space, trials = self.space, []
        for setting in _leaders(self._searched, self.n_kept, _by_kernel):
            points = tuple((setting.kernel, width) for width in _times(setting.width, widths, space.widths))
            near = tuple(_times(setting.cost, costs, space.costs))
            trials.append(Trial(setting.map, points, near, fitted=self.outcomes[setting].map()))
        plain = space.plain
        if plain in self.outcomes and not any(plain in trial.settings for trial in trials):
            fitted = self.outcomes[plain].map()
            trials.append(Trial(plain.map, ((plain.kernel, plain.width),), (plain.cost,), fitted=fitted))
        return trials

    @property
    def cutting(self) -> CellMap:
        """The best map, but for whole metrics where there are others: they are good on few rows by luck."""
        found = self._searched
        others = {setting: found[setting] for setting in found if setting.map.metric != "full"} or found
        return others[_leaders(others, 1, _by_kernel)[0]].map()

    @property
    def _searched(self) -> dict[Setting, Outcome]:
        """Those that may be chosen."""
        maps = self.space.maps
        if self.space.plain.map in maps:
            return self.outcomes
        return {setting: found for setting, found in self.outcomes.items() if setting != self.space.plain}

    def _edges(self, chosen: Setting) -> tuple[int, int]:
        near = [each for each in self.outcomes if _by_kernel(each) == _by_kernel(chosen)]
        return (
            _edge(chosen.width, [each.width for each in near], self.space.widths),
            _edge(chosen.cost, [each.cost for each in near], self.space.costs),
        )


def search(
    space: Space, sizes: Sequence[Size], passes: Callable[[str, tuple[Trial, ...]], tuple[Each, ArrayStore]]
) -> Steps[Ranking]:
    """The best of a space, by successive halving (Jamieson and Talwalkar 2016) over growing samples.

    The first rung tries every map on 1,000 rows with coarse grids of kernels, widths and costs; the second
    one the best map of each kind of metric, which so few rows cannot rank, and the best of these with other
    kernels, another ridge and other rounds, on 4,000 rows around what was best for each. The best of these
    are to be tried on whole cells: what is best for few rows need not be for many. A kernel matrix serves all
    costs.

    Parameters
    ----------
    sizes : of :func:`sizes_of`
    passes : of the name of a rung and its trials the pass that makes them, and its store
    """
    first, second = sizes
    trials = first_trials(space, first)
    best = yield from _rung(0, trials, passes)
    leaders: list[Setting] = []
    for _ in range(first.n_maps):
        known = {leader.map for leader in leaders}
        rest = {setting: found for setting, found in best.items() if setting.map not in known}
        leaders += _leaders(rest, first.n_kept, lambda setting: setting.map.metric)
    trials = _variants(best, leaders[0], space, second)
    known = {trial.map for trial in trials}
    trials += [
        _nearby([leader, *_nearest_simpler(best, leader)], space, second)
        for leader in leaders[1:]
        if leader.map not in known
    ]
    plain = space.plain
    if not any(plain in trial.settings for trial in trials):
        trials.append(Trial(plain.map, ((plain.kernel, plain.width),), (plain.cost,), *second.rows))
    return Ranking(space, second.n_kept, (yield from _rung(1, trials, passes)))


def first_trials(space: Space, size: Size) -> list[Trial]:
    """Every map with coarse grids."""
    points = tuple(product(space.kernels, _coarse(space.widths)))
    costs = tuple(_coarse(space.costs))
    return [Trial(choice, points, costs, *size.rows, is_first=True) for choice in space.maps]


def second_trials(space: Space, sizes: Sequence[Size]) -> list[Trial]:
    """As many as there are at most, and as large, for a plan: also the best simpler ones, variants of the
    best, the plain setting."""
    first, second = sizes
    number = min(first.n_maps * (first.n_kept + len(_SIMPLE)), len(space.maps)) + 3
    points = tuple(product(space.kernels, map(float, second.widths)))
    costs = tuple(map(float, second.costs))
    return [Trial(space.largest_map, points, costs, *second.rows)] * number


def rung_name(number: int) -> str:
    """Of the pass that makes the trials of a rung, from 0."""
    return f"search {number + 1}"


def round_name(number: int) -> str:
    """Of the pass that tries settings on whole cells, from 0."""
    return f"tune {number + 1}"


def _rung(
    number: int, trials: list[Trial], passes: Callable[[str, tuple[Trial, ...]], tuple[Each, ArrayStore]]
) -> Steps[dict[Setting, Outcome]]:
    step, store = passes(rung_name(number), tuple(trials))
    records = yield step
    found = {}
    for item, (trial, record) in enumerate(zip(trials, records, strict=True)):
        for place, setting in enumerate(trial.settings):
            found[setting] = Outcome(
                record["scores"][place],
                record["work"][place],
                partial(_loaded_losses, store, item, place),
                partial(_loaded_map, store, item),
            )
    return found


def _loaded_losses(store: ArrayStore, item: int, place: int) -> Array:
    return np.asarray(store.load(item)["losses"][place])


def _loaded_map(store: ArrayStore, item: int) -> CellMap:
    return map_from_arrays(store.load(item))


def _variants(outcomes: dict[Setting, Outcome], leader: Setting, space: Space, size: Size) -> list[Trial]:
    """The best map, with other kernels, another ridge, other rounds: they may need more rows to be better."""
    of_map = [each for each in outcomes if each.map == leader.map]
    others = [kernel for kernel in space.kernels if kernel != leader.kernel]
    near = [
        min((each for each in of_map if each.kernel == kernel), key=lambda each: outcomes[each].score)
        for kernel in others
    ]
    found = [_nearby([leader, *near], space, size)]
    if leader.map.metric != "none":
        maps = (replace(leader.map, ridge=_RIDGE), replace(leader.map, rounds=_ROUNDS[leader.map.rounds]))
        found += [replace(_nearby([leader], space, size), map=other) for other in maps]
    return found


def _nearest_simpler(outcomes: dict[Setting, Outcome], leader: Setting) -> list[Setting]:
    """Of its map the best with Euclidean distances, if its own are not."""
    of_map = [each for each in outcomes if each.map == leader.map and _is_euclidean(each)]
    if _is_euclidean(leader) or not of_map:
        return []
    return [min(of_map, key=lambda each: outcomes[each].score)]


def _nearby(settings: list[Setting], space: Space, size: Size) -> Trial:
    """Around what was best for the kernels of a map, with the costs around the first one's."""
    points = tuple(
        (each.kernel, width) for each in settings for width in _around(each.width, space.widths, size.widths)
    )
    costs = tuple(_around(settings[0].cost, space.costs, size.costs))
    return Trial(settings[0].map, points, costs, *size.rows)


def _is_euclidean(setting: Setting) -> bool:
    return setting.kernel.name != "laplacian"


def _is_diagonal(setting: Setting) -> bool:
    return _is_euclidean(setting) and not setting.map.is_full


def _is_plain(setting: Setting) -> bool:
    return _is_euclidean(setting) and setting.map.metric == "none"


#: kinds of settings that are less work or learn fewer numbers, each of the one before
_SIMPLE = (_is_euclidean, _is_diagonal, _is_plain)
#: metrics of the second round on whole cells, at most: plain settings have none
MOST_METRICS = CELL_KINDS + len(_SIMPLE) - 1


def _by_kernel(setting: Setting) -> tuple[MapChoice, KernelSpec]:
    return setting.map, setting.kernel


def _leaders(
    outcomes: dict[Setting, Outcome], n_kept: int, kind: Callable[[Setting], Hashable]
) -> list[Setting]:
    """The best setting of each of the best kinds, and the best ones that are simpler."""
    found: dict[Hashable, Setting] = {}
    for setting in sorted(outcomes, key=lambda each: outcomes[each].score):
        found.setdefault(kind(setting), setting)
    best = list(found.values())
    kept, rest = best[:n_kept], best[n_kept:]
    for is_simple in _SIMPLE:
        if not any(map(is_simple, kept)):
            kept += list(filter(is_simple, rest))[:1]
    return kept


def _simplest(outcomes: dict[Setting, Outcome], leaders: list[Setting]) -> Setting:
    """The best, unless a simpler one is as good within two standard errors of the difference.

    Of that map and kernel the setting that is the least work of those that are as good within a fifth of one.
    The best of many is lucky as well as good, and metrics are many: what a sample's metric gains is less on
    more rows, and must be seen to gain something here, whole matrices beside what a diagonal gains. Distances
    in the 1-norm are more work than others.
    """
    best = leaders[0]
    for is_simple in _SIMPLE:
        others = [] if is_simple(best) else filter(is_simple, leaders)
        for setting in others:
            mean, error = difference(outcomes[setting].losses(), outcomes[best].losses())
            if mean <= _CERTAIN * error:
                best = setting
                break
    near = [setting for setting in outcomes if _by_kernel(setting) == _by_kernel(best)]
    losses = np.array([outcomes[setting].losses() for setting in near])
    return near[least_work(losses, np.array([outcomes[setting].work for setting in near]))]


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


def _times(value: float, factors: Sequence[float], values: Sequence[float]) -> list[float]:
    """A value and others near it, unless it is given."""
    return [float(f"{value * factor:.4g}") for factor in (factors if len(values) > 1 else (1.0,))]


def _edge(value: float, tried: Sequence[float], values: Sequence[float]) -> int:
    """Where a value is in its range, see :class:`Choice`; one that is given has none."""
    if len(values) < 2:
        return 0
    is_smallest = value <= min(tried) and value <= values[0] * 1.01
    is_largest = value >= max(tried) and value >= values[-1] * 0.99
    return int(is_largest) - int(is_smallest)
