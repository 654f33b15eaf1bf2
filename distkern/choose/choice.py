"""How one of several candidates is chosen, whatever they are: the rule of every choice in this package.

Candidates learn from the same rows and are judged by what each loses on the same others, by a proper score.
Differences are judged with their paired standard error (:func:`~distkern.core.scores.mean_difference`),
and of two that cannot be told apart the cheaper wins. Where there are many, all of them learn from few rows
and the best go on to more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from distkern.core.choices import CERTAIN
from distkern.core.scores import mean_difference
from distkern.core.types import Array

Setting = TypeVar("Setting")
Scored = TypeVar("Scored", bound="TriedSetting[Any]")
Candidate = TypeVar("Candidate", bound="Lossy")

#: factor of the least work up to which work counts as equal; standard errors that half the work is worth
_AS_CHEAP, _HALF_THE_WORK = 1.5, 0.2
#: standard errors of a difference below which two settings cannot be told apart; most steps of a walk
ALIKE, _MOST_MOVES = 0.5, 5
#: ratio of losses above which a setting counts as worse at half the standard errors
_MANY = 2.0


class Lossy(Protocol):
    """A result to be judged: (n_held_out,) losses, and the work, in the same unit for all."""

    @property
    def losses(self) -> Array: ...
    @property
    def work(self) -> float: ...


@dataclass(frozen=True)
class TriedSetting(Generic[Setting]):
    """A setting that was tried.

    Attributes
    ----------
    setting : of any kind
    losses : (n_held_out,) loss of each held-out row; their mean is the score
    work : in the same unit for all settings
    """

    setting: Setting
    losses: Array = field(repr=False)
    work: float = 0.0

    @property
    def score(self) -> float:
        """The mean loss."""
        return float(self.losses.mean())

    @property
    def error(self) -> float:
        """The standard error of the score."""
        return float(self.losses.std() / np.sqrt(len(self.losses)))


def best(tried: Iterable[Scored]) -> Scored:
    """The first one of the smallest score."""
    return min(tried, key=lambda one: one.score)


def walk(at: Callable[[int], Scored], directions: Sequence[int]) -> Scored:
    """Step in the first direction that gains for as long as it does, and return the last setting.

    Steps up are to smoother machines, which win ties; one down must gain more than chance does.
    """
    move = 0
    for direction in directions:
        while abs(move) < _MOST_MOVES:
            ahead, here = at(move + direction), at(move)
            gains = ahead.score < here.score if direction > 0 else is_better(ahead, here, ALIKE)
            if not gains:
                break
            move += direction
        if move:
            break
    return at(move)


def best_of_each(tried: Iterable[Scored], kind: Callable[[Scored], Hashable]) -> list[Scored]:
    """The best one of each kind, the best first."""
    found: dict[Hashable, Scored] = {}
    for one in sorted(tried, key=lambda one: one.score):
        found.setdefault(kind(one), one)
    return list(found.values())


def is_better(one: Lossy, other: Lossy, certain: float = CERTAIN) -> bool:
    """Whether ``one`` loses less on the same rows by more than ``certain`` standard errors of the
    difference.
    """
    mean, error = mean_difference(other.losses, one.losses)
    # infinity times an error of 0 is not a number
    return bool(mean > certain * error)


def is_near(one: Lossy, best: Lossy, certain: float = CERTAIN) -> bool:
    """Whether chance may be why ``one`` is not the best.

    A few rows of large losses make every difference uncertain. So among settings that lose more than twice as
    much as the best, which may not be negative, half as many standard errors tell two apart: if no row loses
    less, these always do.
    """
    is_far = one.losses.mean() > _MANY * best.losses.mean() >= 0.0
    return not is_better(best, one, certain / 2.0 if is_far else certain)


def not_worse(ranked: Sequence[Candidate], certain: float = CERTAIN) -> list[Candidate]:
    """The members of ``ranked``, the best first, that are not worse than the best by more than chance."""
    return [one for one in ranked if one is ranked[0] or is_near(one, ranked[0], certain)]


def cheapest(ranked: Sequence[Candidate], near: Sequence[Candidate]) -> Candidate:
    """The first of ``ranked`` whose work is at most 1.5 times the least work among ``near``.

    A better setting that takes as little work as those is taken even if it is surely worse than the best.
    """
    most = _AS_CHEAP * min(one.work for one in near)
    return next(one for one in ranked if one.work <= most)


def worth_its_work(tried: Sequence[Candidate]) -> Candidate:
    """The setting with the least sum of two penalties, among settings that differ in a number or two.

    They are the standard errors by which it is worse than the best, and a fifth of one for each doubling of
    the work.
    """
    losses = [one.losses for one in tried]
    least = losses[int(np.argmin([each.mean() for each in losses]))]
    mean, error = np.array([mean_difference(each, least) for each in losses]).T
    with np.errstate(divide="ignore", invalid="ignore"):
        worse = np.where(mean > 0, mean / error, 0.0)
    work = np.log2(np.maximum([one.work for one in tried], 1.0))
    return tried[int(np.argmin(worse + _HALF_THE_WORK * work))]


@dataclass(frozen=True)
class Rung:
    """A rung: several candidates train on a share of the rows that are not held out."""

    n_candidates: int
    share: float


def rungs_of(n_candidates: int, n_rows: int, factor: int = 3, least_rows: int = 500) -> list[Rung]:
    """Successive halving (Jamieson and Talwalkar 2016, Algorithm 1).

    From rung to rung one in ``factor`` of the candidates goes on, to ``factor`` times the rows. The resource
    is rows, as in scikit-learn's HalvingGridSearchCV, so that any algorithm can be tried. Unlike there the
    last rung has more than one candidate. The first rung has at least ``least_rows``.

    >>> rungs_of(9, 9000)
    [Rung(n_candidates=9, share=0.3333333333333333), Rung(n_candidates=3, share=1.0)]
    """
    counts = [n_candidates]
    while counts[-1] > factor and n_rows >= least_rows * factor ** len(counts):
        counts.append(-(-counts[-1] // factor))
    return [Rung(count, float(factor) ** (at + 1 - len(counts))) for at, count in enumerate(counts)]


def going_on(scores: Mapping[int, float], n_candidates: int, staying: Collection[int] = ()) -> list[int]:
    """Numbers of the ``n_candidates`` best candidates with finite scores; ties go by number.

    Parameters
    ----------
    staying : numbers of candidates that go on whatever their scores are, unless these are infinite
    """
    usable = sorted((one for one in scores if np.isfinite(scores[one])), key=lambda one: (scores[one], one))
    kept = [one for one in usable if one in staying]
    others = [one for one in usable if one not in staying][: max(n_candidates - len(kept), 0)]
    return [one for one in usable if one in kept or one in others]
