"""What the settings of some trials achieved: which go on, and which is chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from distkern.common.scores import mean_difference
from distkern.maps.mapping import Family, MapChoice, RowMap
from distkern.search.ladder import LAPLACIAN
from distkern.solvers._cells.trials import Setting, Trial, worth_its_work

Array = NDArray[np.float64]

#: standard errors that are not chance: by which a metric must be better than none, say
_CERTAIN = 2.0
#: factors of the widths and costs of both rounds: around what the best ridge machines have, whose rows are
#: farther apart, and of the best kinds of these around what was best there
ROUNDS = (((3.0, 1.0, 1 / 3, 1 / 9), (1.0,)), ((1.73, 1.0, 0.58), (1 / 3, 1.0, 3.0)))
#: width of a kernel in medians of the distances, at most
_WIDEST = 3.0
#: costs of the first round of the square loss, whose targets may have little noise
_QUADRATIC_COSTS = (3.0, 30.0)
#: costs and settings of a trial, at most
MOST_COSTS, MOST_SETTINGS = 3, 12
#: kinds of settings, which are a map and a kernel, that have the first round, and the second; and standard
#: errors by which none of them is worse than the best, more of ridge machines, whose rows are farther apart
FIRST_KINDS, LAST_KINDS = (3, 4.0), (2, _CERTAIN)
#: by the numbers that are learned
_METRICS = {"none": 0, "diagonal": 1, "full": 2}


@dataclass(frozen=True)
class Outcome:
    """What a setting achieved: the losses of held-out rows, its work, and the map that was used."""

    losses: Array = field(repr=False)
    work: float
    map: RowMap | None

    @property
    def score(self) -> float:
        return float(self.losses.mean())


@dataclass(frozen=True)
class Choice:
    """What was chosen.

    Attributes
    ----------
    setting : the best
    map : it, as it was fitted
    score : of the setting on held-out rows: log loss, or mean squared error over that of the mean
    edges : of the width and of C: -1 at the smallest that was tried, 1 at the largest, 0 between
    """

    setting: Setting
    map: RowMap
    score: float
    edges: tuple[int, int]


@dataclass(frozen=True)
class Ranking:
    """The settings of the last round, and what they achieved.

    Attributes
    ----------
    outcomes : not empty
    widths, costs : all that were tried, in both rounds, by kind
    refused : of maps that are not chosen
    """

    outcomes: dict[Setting, Outcome]
    widths: dict[tuple[MapChoice, str], tuple[float, ...]] = field(default_factory=dict)
    costs: dict[tuple[MapChoice, str], tuple[float, ...]] = field(default_factory=dict)
    refused: Family | None = None

    def then(self, outcomes: dict[Setting, Outcome]) -> Ranking:
        """After another round."""
        widths, costs = dict(self.widths), dict(self.costs)
        for setting in outcomes:
            # a map that is learned from more rows is of the same kind
            kind = _kind(setting)
            widths[kind] = (*widths.get(kind, ()), setting.kernel.width)
            costs[kind] = (*costs.get(kind, ()), setting.cost)
        return replace(self, outcomes=outcomes or self.outcomes, widths=widths, costs=costs)

    def choice(self) -> Choice:
        """The best, or what is as good and simpler."""
        chosen = _simplest(self._open)
        found = self.outcomes[chosen]
        assert found.map is not None
        kind = _kind(chosen)
        edges = (
            _edge(chosen.kernel.width, self.widths.get(kind, ())),
            _edge(chosen.cost, self.costs.get(kind, ())),
        )
        return Choice(chosen, found.map, found.score, edges)

    def leaders(self, n_kept: int, certain: float) -> list[Setting]:
        """The best setting of each of the best kinds, and the best that are simpler."""
        return leaders_of(self._open, n_kept, certain)

    @property
    def best_of_city_block(self) -> list[Setting]:
        """The best setting with distances in the 1-norm: it gains more than others where rows are nearer."""
        found = [setting for setting in leaders_of(self._open, len(self._open)) if not _is_euclidean(setting)]
        return found[:1]

    @property
    def best_of_metrics(self) -> list[Setting]:
        """The best setting of each kind of metric, the best first."""
        best: dict[str, Setting] = {}
        for setting in leaders_of(self._open, len(self._open)):
            best.setdefault(setting.map.metric, setting)
        return list(best.values())

    @property
    def cutting(self) -> Setting:
        """That of the best map, but for whole metrics where there are others, which are good on few rows by
        luck, and for quantiles where others are as good within two standard errors of the difference.
        """
        found = self._open
        others = {setting: found[setting] for setting in found if setting.map.metric != "full"} or found
        leaders = leaders_of(others, len(others), _CERTAIN)
        return next((one for one in leaders if not one.map.has_quantiles), leaders[0])

    def best_of(self, family: Family) -> Setting:
        """The best setting with such a map."""
        mine = [setting for setting in self._open if setting.map.family == family]
        return min(mine, key=lambda setting: self.outcomes[setting].score)

    @property
    def _open(self) -> dict[Setting, Outcome]:
        """Those that may be chosen."""
        return {key: found for key, found in self.outcomes.items() if key.map.family != self.refused}


def around(
    setting: Setting, fitted: RowMap, number: int, *, is_wide: bool, has_costs: bool, quadratic: bool = False
) -> Trial:
    """The trial of a round: kernels of other widths, and other C, unless they are given.

    A kernel that is wider than three medians of the distances is, but for a constant, the same function of C
    over its width, and slow to solve: it is tried with the square loss alone, which is solved at once.
    """
    widths, usual = ROUNDS[number]
    costs = _QUADRATIC_COSTS if quadratic and not number else usual
    widest = math.inf if quadratic else _WIDEST
    wanted = [min(setting.kernel.width * width, widest) for width in widths]
    kernels = tuple(dict.fromkeys(replace(setting.kernel, width=_rounded(width)) for width in wanted))
    near = tuple(_rounded(setting.cost * cost) for cost in costs) if has_costs else (setting.cost,)
    return Trial(setting.map, kernels if is_wide else (setting.kernel,), near, fitted)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def is_worse(losses: Array, others: Array) -> bool:
    """Whether losses are greater on average than those of other rows, by more than chance makes them."""
    variance = sum(each.var() / len(each) for each in (losses, others))
    return bool(losses.mean() - others.mean() > _CERTAIN * math.sqrt(variance))


def _is_euclidean(setting: Setting) -> bool:
    return setting.kernel.name != LAPLACIAN.name


def _is_diagonal(setting: Setting) -> bool:
    return _is_euclidean(setting) and not setting.map.is_full


def _is_plain(setting: Setting) -> bool:
    return _is_euclidean(setting) and setting.map.metric == "none"


#: kinds of settings that are less work or learn fewer numbers, each of the one before
SIMPLE = (_is_euclidean, _is_diagonal, _is_plain)
#: kinds of a round, at most: the best, simpler ones, one in the 1-norm, one of each metric, and the one by
#: which cells are cut
MOST_KINDS = max(FIRST_KINDS[0], LAST_KINDS[0]) + len(SIMPLE) + 2 + len(_METRICS)


def leaders_of(outcomes: dict[Setting, Outcome], n_kept: int, certain: float = math.inf) -> list[Setting]:
    """The best setting of each of the best kinds, and the best ones that are simpler, without those that are
    worse than the best by more than so many standard errors of the difference.
    """
    found: dict[tuple[MapChoice, str], Setting] = {}
    for setting in sorted(outcomes, key=lambda each: outcomes[each].score):
        found.setdefault(setting.kind, setting)
    least = min(outcomes.values(), key=lambda outcome: outcome.score).losses
    best = []
    for setting in found.values():
        mean, error = mean_difference(outcomes[setting].losses, least)
        # infinitely many of them, of a difference without an error, are no number
        if not mean > certain * error:
            best.append(setting)
    kept, rest = best[:n_kept], best[n_kept:]
    for is_simple in SIMPLE:
        if not any(map(is_simple, kept)):
            kept += list(filter(is_simple, rest))[:1]
    return kept


def _simplest(outcomes: dict[Setting, Outcome]) -> Setting:
    """The best, unless a simpler one is as good within two standard errors of the difference; and with that
    map and kernel the width and C that are worth their work.

    The best of many is lucky as well as good, and metrics are many: what a sample's metric gains is less on
    more rows, and must be seen to gain something here, whole matrices beside what a diagonal gains. Distances
    in the 1-norm are more work than others of the same or a simpler metric.
    """
    leaders = leaders_of(outcomes, len(outcomes))
    best = leaders[0]
    for is_simple in SIMPLE:
        others = [] if is_simple(best) else filter(is_simple, leaders)
        for setting in others:
            if _METRICS[setting.map.metric] > _METRICS[best.map.metric]:
                continue
            mean, error = mean_difference(outcomes[setting].losses, outcomes[best].losses)
            if mean <= _CERTAIN * error:
                best = setting
                break
    near = [setting for setting in outcomes if setting.kind == best.kind]
    losses = np.array([outcomes[setting].losses for setting in near])
    return near[worth_its_work(losses, np.array([outcomes[setting].work for setting in near]))]


def _kind(setting: Setting) -> tuple[MapChoice, str]:
    return replace(setting.map, more_rows=False), setting.kernel.name


def _edge(value: float, tried: Sequence[float]) -> int:
    """Where a value is among those that were tried, see :class:`Choice`; one that is given is nowhere."""
    if len(set(tried)) < 2:
        return 0
    return int(value >= max(tried)) - int(value <= min(tried))
