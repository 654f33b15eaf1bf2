"""Settings that choose themselves: successive halving on a sample, scored on rows that are held out.

A rung's trials are independent of each other and run on the workers; which setting goes on follows from their
losses and from how many multiplications they took, so that it is the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from distkern.common.stores import ArrayStore
from distkern.maps.mapping import MapChoice, RowMap, map_from_arrays
from distkern.passes import Each
from distkern.solvers._cells.ranking import SIMPLE, Outcome, Ranking, is_euclidean, leaders_of
from distkern.solvers._cells.space import Space
from distkern.solvers._cells.trials import MANY_OUTPUTS, Setting, Trial
from distkern.solvers.base import Steps

Array = NDArray[np.float64]
#: learns maps from so many rows of the sample
Learned: TypeAlias = Callable[[Sequence[MapChoice], int], Steps[list[RowMap]]]

#: ridge with which the best metric is learned too
_RIDGE = 0.01
#: the other number of rounds
_ROUNDS = {1: 3, 3: 1}


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
_QUICK = (Size(1000, 2000, 2), Size(2000, 5000, 2, n_metric=4000))
#: half steps of the last rung's widths: the more the rows, the narrower are the best, and wide ones take long
_NARROWER = (-4, -2, 0)
#: where nothing is tried on whole cells, which are few
_LAST = (Size(600, 1500, 4), Size(3000, 5000, 4, n_metric=2000))
#: where the best are to be tried on whole cells more go on, from fewer rows
_MORE_MAPS, _MORE_KEPT, _FEWER_LEARNED = 2, 2, 2000


def fewer_rows(n_rows: int, n_outputs: int, *, quadratic: bool) -> int:
    """Rows of a trial: fewer with many outputs, because each takes its time, or of factorised matrices."""
    share = 0.5 if quadratic else (MANY_OUTPUTS / n_outputs) ** 0.5
    return min(n_rows, max(_RUNGS[0].n_learned, int(n_rows * share)))


def sizes_of(
    n_rows: int,
    n_outputs: int,
    *,
    quadratic: bool,
    quick: bool,
    more_maps: bool = False,
    is_last: bool = False,
) -> list[Size]:
    """The rungs for a sample of so many rows, of which no more than two thirds are learned from.

    ``more_maps``: more than one of each kind of metrics go on; ``is_last``: nothing is tried on whole cells.
    """
    most = max(1, 2 * n_rows // 3)
    first, second = _QUICK if quick else _LAST if is_last else _RUNGS
    if is_last:
        second = replace(second, widths=_NARROWER)
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


def search(
    space: Space, sizes: Sequence[Size], passes: Callable[[str, tuple[Trial, ...]], tuple[Each, ArrayStore]]
) -> Steps[Ranking]:
    """The best of a space, by successive halving (Jamieson and Talwalkar 2016) over growing samples.

    The first rung tries every map on 1,000 rows with coarse grids of kernels, widths and costs; the second
    one the best map of each kind of metric, which so few rows cannot rank, and the best of these with other
    kernels, another ridge and other rounds, on 4,000 rows around what was best for each. The best of these
    are to be tried on whole cells: what is best for few rows need not be for many; where they are not, 600
    and 3,000 rows do. A kernel matrix serves all costs.

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
        known = {leader.map.family for leader in leaders}
        rest = {setting: found for setting, found in best.items() if setting.map.family not in known}
        leaders += leaders_of(rest, first.n_kept, lambda setting: setting.map.metric)
    trials = _variants(best, leaders[0], space, second)
    maps = {trial.map for trial in trials}
    trials += [
        _nearby([leader, *_nearest_simpler(best, leader)], space, second)
        for leader in leaders[1:]
        if leader.map not in maps
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
    number = min(first.n_maps * (first.n_kept + len(SIMPLE)), len(space.maps)) + 3
    points = tuple(product(space.kernels, map(float, second.widths)))
    costs = tuple(map(float, second.costs))
    return [Trial(space.largest_map, points, costs, *second.rows)] * number


def rung_name(number: int) -> str:
    """Of the pass that makes the trials of a rung, from 0."""
    return f"search {number + 1}"


def probe_name(number: int) -> str:
    """Of the pass that gathers the rows of some cells: cut by the sample's best map, or by what is chosen."""
    return ("probe", "probe 2")[number]


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


def _loaded_map(store: ArrayStore, item: int) -> RowMap:
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
    of_map = [each for each in outcomes if each.map == leader.map and is_euclidean(each)]
    if is_euclidean(leader) or not of_map:
        return []
    return [min(of_map, key=lambda each: outcomes[each].score)]


def _nearby(settings: list[Setting], space: Space, size: Size) -> Trial:
    """Around what was best for the kernels of a map, with the costs around the first one's."""
    points = tuple(
        (each.kernel, width) for each in settings for width in _around(each.width, space.widths, size.widths)
    )
    costs = tuple(_around(settings[0].cost, space.costs, size.costs))
    return Trial(settings[0].map, points, costs, *size.rows)


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
