"""What the settings of some trials achieved: which go on, and which is chosen."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.common.scores import mean_difference
from distkern.maps.mapping import Family, MapChoice, RowMap
from distkern.maps.metric import METRICS
from distkern.solvers._cells.space import Space
from distkern.solvers._cells.trials import KernelSpec, Setting, Trial, worth_its_work

Array = NDArray[np.float64]

#: standard errors that are not chance: by which a metric must be better than none, say
_CERTAIN = 2.0
#: factors of the widths and costs of trials on whole cells: around what was best on the sample, whose rows
#: are farther apart, and of the best kinds of these around what was best there
CELL_ROUNDS = (((3.0, 1.0, 0.58, 1 / 3, 1 / 9), (1.0,)), ((1.73, 1.0, 0.58), (1 / 3, 1.0, 3.0)))
#: kinds that go on from the first of these
CELL_KINDS = 2


@dataclass(frozen=True)
class Choice:
    """What was chosen, from what, and what it gained.

    Attributes
    ----------
    setting : the best
    map : it, as it was fitted
    score : of the setting on held-out rows: log loss, or mean squared error over that of the mean
    plain : the same of standardised rows, the first kernel, the median distance and the middle cost
    edges : of the width and of C: -1 at the smallest that is tried, 1 at the largest, 0 between
    """

    setting: Setting
    map: RowMap
    score: float
    plain: float
    edges: tuple[int, int]


@dataclass(frozen=True)
class Outcome:
    """What a setting achieved: its mean loss, the losses of held-out rows, and the map that was used."""

    score: float
    work: float
    losses: Callable[[], Array]
    map: Callable[[], RowMap]


@dataclass(frozen=True)
class Ranking:
    """The settings of some trials, and what they achieved.

    Attributes
    ----------
    n_kept : maps with their kernels that go on
    refused : of maps that are not chosen
    """

    space: Space
    n_kept: int
    outcomes: dict[Setting, Outcome]
    refused: Family | None = None

    def choice(self) -> Choice:
        """The best, or what is as good and simpler."""
        chosen = _simplest(self._searched, leaders_of(self._searched, self.n_kept, by_kernel))
        plain = self.outcomes.get(self.space.plain)
        found = self.outcomes[chosen]
        reached = math.nan if plain is None else plain.score
        return Choice(chosen, found.map(), found.score, reached, self._edges(chosen))

    def finalists(self, widths: Sequence[float], costs: Sequence[float], cutting: Family) -> list[Trial]:
        """Trials of the best maps with their kernels, those that cut the cells among them, and of the plain
        setting.

        Those without whole matrices go on with distances in the 1-norm too, if these were tried: the nearer
        the rows, the better they are beside others.

        Parameters
        ----------
        widths, costs : factors of those of the best
        """
        space, trials = self.space, []
        maps: dict[MapChoice, RowMap] = {}
        leaders = leaders_of(self._searched, self.n_kept, by_kernel)
        others = [setting for setting in self._searched if not is_euclidean(setting)]
        best = sorted(others, key=lambda setting: self.outcomes[setting].score)
        if not any(setting.map.family == cutting for setting in leaders):
            leaders.append(self.best_of(cutting))
        known = {by_kernel(leader) for leader in leaders}
        for leader in filter(_is_diagonal, tuple(leaders)):
            mine = [each for each in best if each.map == leader.map and by_kernel(each) not in known]
            leaders += mine[:1]
        for setting in leaders:
            near_width = _narrower(setting.width, widths, space.widths)
            points = tuple((setting.kernel, width) for width in near_width)
            near = tuple(_times(setting.cost, costs, space.costs))
            if setting.map not in maps:
                maps[setting.map] = self.outcomes[setting].map()
            trials.append(Trial(setting.map, points, near, fitted=maps[setting.map]))
        plain = space.plain
        if plain in self.outcomes and not any(plain in trial.settings for trial in trials):
            fitted = self.outcomes[plain].map()
            trials.append(Trial(plain.map, ((plain.kernel, plain.width),), (plain.cost,), fitted=fitted))
        return trials

    @property
    def cutting(self) -> Setting:
        """That of the best map, but for whole metrics where there are others: they are good on few rows by
        luck.
        """
        found = self._searched
        others = {setting: found[setting] for setting in found if setting.map.metric != "full"} or found
        return leaders_of(others, 1, by_kernel)[0]

    def best_of(self, family: Family) -> Setting:
        """The best setting with such a map."""
        mine = [setting for setting in self._searched if setting.map.family == family]
        return min(mine, key=lambda setting: self.outcomes[setting].score)

    @property
    def _searched(self) -> dict[Setting, Outcome]:
        """Those that may be chosen."""
        barred = () if self.space.plain.map in self.space.maps else (self.space.plain,)
        return {
            setting: found
            for setting, found in self.outcomes.items()
            if setting not in barred and setting.map.family != self.refused
        }

    def _edges(self, chosen: Setting) -> tuple[int, int]:
        near = [each for each in self.outcomes if by_kernel(each) == by_kernel(chosen)]
        return (
            _edge(chosen.width, [each.width for each in near], self.space.widths),
            _edge(chosen.cost, [each.cost for each in near], self.space.costs),
        )


def is_euclidean(setting: Setting) -> bool:
    return setting.kernel.name != "laplacian"


def _is_diagonal(setting: Setting) -> bool:
    return is_euclidean(setting) and not setting.map.is_full


def _is_plain(setting: Setting) -> bool:
    return is_euclidean(setting) and setting.map.metric == "none"


#: kinds of settings that are less work or learn fewer numbers, each of the one before
SIMPLE = (is_euclidean, _is_diagonal, _is_plain)
#: metrics of the second round on whole cells, at most: plain settings have none, what cuts them may have one
MOST_METRICS = CELL_KINDS + len(SIMPLE)


def is_worse(losses: Array, others: Array) -> bool:
    """Whether losses are greater on average than those of other rows, by more than chance makes them."""
    variance = sum(each.var() / len(each) for each in (losses, others))
    return bool(losses.mean() - others.mean() > _CERTAIN * math.sqrt(variance))


def by_kernel(setting: Setting) -> tuple[MapChoice, KernelSpec]:
    return setting.map, setting.kernel


def leaders_of(
    outcomes: dict[Setting, Outcome], n_kept: int, kind: Callable[[Setting], Hashable]
) -> list[Setting]:
    """The best setting of each of the best kinds, and the best ones that are simpler."""
    found: dict[Hashable, Setting] = {}
    for setting in sorted(outcomes, key=lambda each: outcomes[each].score):
        found.setdefault(kind(setting), setting)
    best = list(found.values())
    kept, rest = best[:n_kept], best[n_kept:]
    for is_simple in SIMPLE:
        if not any(map(is_simple, kept)):
            kept += list(filter(is_simple, rest))[:1]
    return kept


def _simplest(outcomes: dict[Setting, Outcome], leaders: list[Setting]) -> Setting:
    """The best, unless a simpler one is as good within two standard errors of the difference.

    Of that map and kernel the setting that is worth its work.
    The best of many is lucky as well as good, and metrics are many: what a sample's metric gains is less on
    more rows, and must be seen to gain something here, whole matrices beside what a diagonal gains. Distances
    in the 1-norm are more work than others of the same or a simpler metric.
    """
    best = leaders[0]
    for is_simple in SIMPLE:
        others = [] if is_simple(best) else filter(is_simple, leaders)
        for setting in others:
            if METRICS.index(setting.map.metric) > METRICS.index(best.map.metric):
                continue
            mean, error = mean_difference(outcomes[setting].losses(), outcomes[best].losses())
            if mean <= _CERTAIN * error:
                best = setting
                break
    near = [setting for setting in outcomes if by_kernel(setting) == by_kernel(best)]
    losses = np.array([outcomes[setting].losses() for setting in near])
    return near[worth_its_work(losses, np.array([outcomes[setting].work for setting in near]))]


def _times(value: float, factors: Sequence[float], values: Sequence[float]) -> list[float]:
    """A value and others near it, unless it is given."""
    return [float(f"{value * factor:.4g}") for factor in (factors if len(values) > 1 else (1.0,))]


def _narrower(value: float, factors: Sequence[float], values: Sequence[float]) -> list[float]:
    """A width and others near it, none wider than all that are tried.

    A kernel that is wider still is, but for a constant, the same function of C over its width, and is slow to
    solve. The narrowest is that of the sample, whose rows are farther apart.
    """
    widest = max(value, values[-1]) * 1.001
    return [each for each in _times(value, factors, values) if each <= widest]


def _edge(value: float, tried: Sequence[float], values: Sequence[float]) -> int:
    """Where a value is in its range, see :class:`Choice`; one that is given has none."""
    if len(values) < 2:
        return 0
    is_smallest = value <= min(tried) and value <= values[0] * 1.01
    is_largest = value >= max(tried) and value >= values[-1] * 0.99
    return int(is_largest) - int(is_smallest)
