"""What the settings of some trials achieved: which go on, and which is chosen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from distkern.common.choices import CERTAIN
from distkern.common.types import Array
from distkern.maps.mapping import MapChoice, RowMap
from distkern.search.choice import best, best_of_each, is_better, not_worse, worth_its_work
from distkern.search.ladder import LAPLACIAN
from distkern.solvers._cells.trials import CellSetting, MapTrial, Outcome

#: factors of the widths and costs of both rounds: around what the best ridge machines have, whose rows are
#: farther apart, and of the best kinds of these around what was best there; the widest is the first, of whose
#: kernel values those of the others are powers
ROUNDS = (((3.0, 1.0, 1 / 3, 1 / 9), (1.0,)), ((2.0, 1.0, 0.5), (1 / 3, 1.0, 3.0)))
#: width of a kernel in medians of the distances, at most
_WIDEST = 3.0
#: costs of the first round of the square loss, whose targets may have little noise
_QUADRATIC_COSTS = (3.0, 30.0)
#: costs and settings of a trial, at most
MOST_COSTS, MOST_SETTINGS = 3, 12
#: kinds of settings, which are a map and a kernel, that have the first round, and the second; and standard
#: errors by which none of them is worse than the best, more of ridge machines, whose rows are farther apart
FIRST_KINDS, LAST_KINDS = (3, 4.0), (2, CERTAIN)
#: by the numbers that are learned
_METRICS = {"none": 0, "diagonal": 1, "interactions": 1, "full": 2}


@dataclass(frozen=True)
class Ranking:
    """The settings of the last round, and what they achieved.

    Attributes
    ----------
    outcomes : not empty
    tried : the settings of all rounds
    only : the map of what is chosen, if it must be that
    """

    outcomes: tuple[Outcome, ...]
    tried: tuple[CellSetting, ...] = ()
    only: MapChoice | None = None

    def then(self, outcomes: Sequence[Outcome]) -> Ranking:
        """After another round."""
        tried = (*self.tried, *(one.setting for one in outcomes))
        return replace(self, outcomes=tuple(outcomes) or self.outcomes, tried=tried)

    def choice(self) -> Outcome:
        """The best, or what is as good and simpler."""
        return _simplest(self._open)

    def edges(self, chosen: CellSetting) -> tuple[int, int]:
        """Where its width and C lie: -1 smallest tried with its map and kernel, 1 largest, 0 between."""
        near = [one for one in self.tried if one.kind == chosen.kind]
        widths, costs = [one.kernel.width for one in near], [one.cost for one in near]
        return _edge(chosen.kernel.width, widths), _edge(chosen.cost, costs)

    def leaders(self, n_kept: int, certain: float) -> list[CellSetting]:
        """The best setting of each of the best kinds, and the best that are simpler."""
        return [one.setting for one in leaders_of(self._open, n_kept, certain)]

    @property
    def best_of_city_block(self) -> list[CellSetting]:
        """The best setting with distances in the 1-norm: it gains more than others where rows are nearer."""
        found = [one for one in self._open if not _is_euclidean(one.setting)]
        return [best(found).setting] if found else []

    @property
    def best_of_metrics(self) -> list[CellSetting]:
        """The best setting of each kind of metric, the best first."""
        return [one.setting for one in best_of_each(self._open, lambda one: one.setting.map.metric)]

    @property
    def cutting(self) -> CellSetting:
        """That of the best map, but for whole metrics where there are others, which are good on few rows by
        luck, and for quantiles where others are as good within two standard errors of the difference.
        """
        others = [one for one in self._open if one.setting.map.metric != "full"] or self._open
        leaders = [one.setting for one in leaders_of(others, certain=CERTAIN)]
        return next((one for one in leaders if not one.map.has_quantiles), leaders[0])

    def best_of(self, choice: MapChoice) -> Outcome:
        """The best outcome with a map."""
        return best(one for one in self._open if one.setting.map == choice)

    @property
    def _open(self) -> list[Outcome]:
        """The outcomes that may be chosen."""
        return [one for one in self.outcomes if self.only in (None, one.setting.map)]


def around(
    setting: CellSetting,
    fitted: RowMap,
    number: int,
    *,
    is_wide: bool,
    has_costs: bool,
    quadratic: bool = False,
) -> MapTrial:
    """The trial of a round: kernels of other widths, and other C, unless they are given.

    A kernel that is wider than three medians of the distances is, but for a constant, the same function of C
    over its width, and slow to solve: it is tried with the square loss alone, which is solved at once.
    """
    widths, usual = ROUNDS[number]
    costs = _QUADRATIC_COSTS if quadratic and not number else usual
    widest = math.inf if quadratic else _WIDEST
    wanted = [min(_rounded(setting.kernel.width) * width, widest) for width in widths]
    kernels = tuple(dict.fromkeys(replace(setting.kernel, width=width) for width in wanted))
    near = tuple(_rounded(setting.cost * cost) for cost in costs) if has_costs else (setting.cost,)
    return MapTrial(setting.map, kernels if is_wide else (setting.kernel,), near, fitted)


def _rounded(value: float) -> float:
    return float(f"{value:.4g}")


def is_worse(losses: Array, others: Array) -> bool:
    """Whether losses are greater on average than those of other rows, by more than chance makes them."""
    variance = sum(each.var() / len(each) for each in (losses, others))
    return bool(losses.mean() - others.mean() > CERTAIN * math.sqrt(variance))


def _is_euclidean(setting: CellSetting) -> bool:
    return setting.kernel.name != LAPLACIAN.name


def _is_diagonal(setting: CellSetting) -> bool:
    return _is_euclidean(setting) and not setting.map.is_full


def _is_plain(setting: CellSetting) -> bool:
    return _is_euclidean(setting) and setting.map.metric == "none"


#: kinds of settings that are less work or learn fewer numbers, each of the one before
SIMPLE = (_is_euclidean, _is_diagonal, _is_plain)
#: kinds of a round, at most: the best, simpler ones, one in the 1-norm, one of each metric, and the one by
#: which cells are cut
MOST_KINDS = max(FIRST_KINDS[0], LAST_KINDS[0]) + len(SIMPLE) + 2 + len(_METRICS)


def leaders_of(
    outcomes: Sequence[Outcome], n_kept: int | None = None, certain: float = math.inf
) -> list[Outcome]:
    """The best outcome of each of the best kinds, and the best ones that are simpler, without those that are
    worse than the best by more than so many standard errors of the difference.
    """
    ranked = not_worse(best_of_each(outcomes, lambda one: one.setting.kind), certain)
    kept, rest = ranked[:n_kept], ranked[len(ranked[:n_kept]) :]
    for is_simple in SIMPLE:
        if not any(is_simple(one.setting) for one in kept):
            kept += [one for one in rest if is_simple(one.setting)][:1]
    return kept


def _simplest(outcomes: Sequence[Outcome]) -> Outcome:
    """The best, unless a simpler one is as good within two standard errors of the difference; and with that
    map and kernel the width and C that are worth their work.

    The best of many is lucky as well as good, and metrics are many: what a sample's metric gains is less on
    more rows, and must be seen to gain something here, whole matrices beside what a diagonal gains. Distances
    in the 1-norm are more work than others of the same or a simpler metric.
    """
    leaders = leaders_of(outcomes)
    chosen = leaders[0]
    for is_simple in SIMPLE:
        if not is_simple(chosen.setting):
            most = _METRICS[chosen.setting.map.metric]
            others = [
                one
                for one in leaders
                if is_simple(one.setting)
                and _METRICS[one.setting.map.metric] <= most
                and not is_better(chosen, one)
            ]
            chosen = others[0] if others else chosen
    return worth_its_work([one for one in outcomes if one.setting.kind == chosen.setting.kind])


def _edge(value: float, tried: Sequence[float]) -> int:
    """Where a value is among those that were tried; one that is given is nowhere."""
    if len(set(tried)) < 2:
        return 0
    return int(value >= max(tried)) - int(value <= min(tried))
