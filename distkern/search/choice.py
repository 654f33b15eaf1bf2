"""How one of several candidates is chosen, whatever they are: the rule of every choice in this package.

Candidates learn from the same rows and are judged by what each loses on the same others, by a proper score.
Differences are judged with their paired standard error (:func:`~distkern.common.scores.mean_difference`),
and of two that cannot be told apart the cheaper wins. Where there are many, all of them learn from few rows
and the best go on to more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from distkern.common.choices import CERTAIN
from distkern.common.scores import mean_difference

Array = NDArray[np.float64]
Setting = TypeVar("Setting")
Scored = TypeVar("Scored", bound="Tried[Any]")
Candidate = TypeVar("Candidate", bound="Lossy")

#: times the least work that is as little; standard errors of a difference that half the work is worth, where
#: much the same is tried with ever more of it
_AS_CHEAP, _HALF_THE_WORK = 1.5, 0.2


class Lossy(Protocol):
    """Whatever is judged: (n_held_out,) losses, and the work, in any unit that is the same for all."""

    @property
    def losses(self) -> Array: ...
    @property
    def work(self) -> float: ...


@dataclass(frozen=True)
class Tried(Generic[Setting]):
    """A setting that was tried.

    Attributes
    ----------
    setting : of whatever is chosen
    losses : (n_held_out,) what each row that was held out loses; their mean is the score
    work : what it takes, in any unit that is the same for all
    """

    setting: Setting
    losses: Array = field(repr=False)
    work: float = 0.0

    @property
    def score(self) -> float:
        """The mean loss."""
        return float(self.losses.mean())


def best(tried: Iterable[Scored]) -> Scored:
    """The first one of the smallest score."""
    return min(tried, key=lambda one: one.score)


def best_of_each(tried: Iterable[Scored], kind: Callable[[Scored], Hashable]) -> list[Scored]:
    """The best one of each kind, the best first."""
    found: dict[Hashable, Scored] = {}
    for one in sorted(tried, key=lambda one: one.score):
        found.setdefault(kind(one), one)
    return list(found.values())


def is_better(one: Lossy, other: Lossy, certain: float = CERTAIN) -> bool:
    """Whether it loses less on the same rows by more than so many standard errors of the difference."""
    mean, error = mean_difference(other.losses, one.losses)
    # infinitely many of them, of a difference without an error, are no number
    return bool(mean > certain * error)


def not_worse(ranked: Sequence[Candidate], certain: float = CERTAIN) -> list[Candidate]:
    """Those of several, the best first, that are not worse than the best one by more than chance."""
    return [one for one in ranked if one is ranked[0] or not is_better(ranked[0], one, certain)]


def cheapest(ranked: Sequence[Candidate], near: Sequence[Candidate]) -> Candidate:
    """The first of several, the best first, whose work is at most 1.5 times the least work of ``near`` ones.

    Differences from one that is much like it are surer, so that a better one for as little work may surely
    be worse than the best: it is taken all the same.
    """
    most = _AS_CHEAP * min(one.work for one in near)
    return next(one for one in ranked if one.work <= most)


def worth_its_work(tried: Sequence[Candidate]) -> Candidate:
    """The one that is worth its work, of settings that differ in a number or two, in any order.

    That is the least of how many standard errors it is worse than the best one, and a fifth of one for each
    doubling of the work.
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
    """So many candidates learn from a share of the rows that are not held out."""

    n_candidates: int
    share: float


def rungs_of(n_candidates: int, n_rows: int, factor: int = 3, least_rows: int = 500) -> list[Rung]:
    """Successive halving (Jamieson and Talwalkar 2016, Algorithm 1).

    From rung to rung a ``factor``-th of the candidates goes on, to ``factor`` times the rows. The resource is
    rows, as in scikit-learn's HalvingGridSearchCV, so that any algorithm can be tried, also one that does not
    go on from a model; unlike there the last rung has more than one candidate, because one alone needs no
    trial. There are as many rungs as leave the first one ``least_rows``.

    >>> rungs_of(9, 9000)
    [Rung(n_candidates=9, share=0.3333333333333333), Rung(n_candidates=3, share=1.0)]
    """
    counts = [n_candidates]
    while counts[-1] > factor and n_rows >= least_rows * factor ** len(counts):
        counts.append(-(-counts[-1] // factor))
    return [Rung(count, float(factor) ** (at + 1 - len(counts))) for at, count in enumerate(counts)]


def going_on(scores: Mapping[int, float], n_candidates: int, staying: Collection[int] = ()) -> list[int]:
    """The numbers of the best so many candidates, those of infinite scores left out; equal ones by number.

    Parameters
    ----------
    staying : of these, those that go on whatever their scores are, unless they are infinite
    """
    usable = sorted((one for one in scores if np.isfinite(scores[one])), key=lambda one: (scores[one], one))
    kept = [one for one in usable if one in staying]
    others = [one for one in usable if one not in staying][: max(n_candidates - len(kept), 0)]
    return [one for one in usable if one in kept or one in others]
