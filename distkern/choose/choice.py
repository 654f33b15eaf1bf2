"""The rule of every choice in this package.

All candidates train on the same rows and are scored on the same held-out rows, by a proper score. Differences
are judged by their paired standard error (:func:`~distkern.core.scores.mean_difference`). If two candidates
do not differ significantly, the cheaper one wins. Long lists are shortened on few rows first.
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

#: work up to this multiple of the least work counts as equal
_EQUAL_WORK = 1.5
#: two settings tie if they differ by less than this number of standard errors
TIE = 0.5
#: most steps of a line search
_MOST_STEPS = 5
#: a setting with more than this multiple of the best loss needs only half the standard errors to be worse
_FAR_WORSE = 2.0


class Lossy(Protocol):
    """A candidate with its losses (n_held_out,) and its work, in the same unit for all candidates."""

    @property
    def losses(self) -> Array: ...
    @property
    def work(self) -> float: ...


@dataclass(frozen=True)
class TriedSetting(Generic[Setting]):
    """A setting that was tried.

    Attributes
    ----------
    setting : of any type
    losses : (n_held_out,) loss of each held-out row; the score is their mean
    work : cost, in the same unit for all settings
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
    """Return the first setting with the smallest score."""
    return min(tried, key=lambda result: result.score)


def ranked(tried: Iterable[Scored]) -> list[Scored]:
    """Sort settings by score, best first."""
    return sorted(tried, key=lambda result: result.score)


def line_search(at: Callable[[int], Scored], directions: Sequence[int]) -> Scored:
    """Move in the first direction that improves the score until it stops improving.

    Position 0 is the start. Positive positions have smoother machines, which win ties; a move in the negative
    direction must improve the score by half a standard error.

    Parameters
    ----------
    at : returns the setting at a position
    directions : 1 and -1, in the order in which they are tried
    """
    position = 0
    for direction in directions:
        while abs(position) < _MOST_STEPS:
            after, before = at(position + direction), at(position)
            improves = after.score < before.score if direction > 0 else is_better(after, before, TIE)
            if not improves:
                break
            position += direction
        if position:
            break
    return at(position)


def best_of_each(tried: Iterable[Scored], kind: Callable[[Scored], Hashable]) -> list[Scored]:
    """Return the best setting of each kind, best first."""
    leaders: dict[Hashable, Scored] = {}
    for result in ranked(tried):
        leaders.setdefault(kind(result), result)
    return list(leaders.values())


def is_better(candidate: Lossy, other: Lossy, certain: float = CERTAIN) -> bool:
    """Whether a candidate loses less, by more than ``certain`` standard errors of the difference."""
    mean, error = mean_difference(other.losses, candidate.losses)
    # infinity times an error of 0 is NaN
    return bool(mean > certain * error)


def is_near(candidate: Lossy, best: Lossy, certain: float = CERTAIN) -> bool:
    """Whether chance may explain the difference between a candidate and the best one.

    A few rows with large losses make every difference uncertain. A candidate with more than twice the best
    loss (if that is not negative) is therefore worse at half the standard errors.
    """
    is_far = candidate.losses.mean() > _FAR_WORSE * best.losses.mean() >= 0.0
    return not is_better(best, candidate, certain / 2.0 if is_far else certain)


def not_worse(ranked: Sequence[Candidate], certain: float = CERTAIN) -> list[Candidate]:
    """Return the candidates, ranked best first, that are not significantly worse than the first."""
    return [one for one in ranked if one is ranked[0] or is_near(one, ranked[0], certain)]


def cheapest(ranked: Sequence[Candidate], near: Sequence[Candidate]) -> Candidate:
    """Return the best candidate whose work is at most 1.5 times the least work among ``near``.

    It need not be in ``near``: a better candidate at the same work is preferred, even if it is significantly
    worse than the best.
    """
    most = _EQUAL_WORK * min(candidate.work for candidate in near)
    return next(candidate for candidate in ranked if candidate.work <= most)


@dataclass(frozen=True)
class Rung:
    """A rung of successive halving: several candidates train on a share of the training rows."""

    n_candidates: int
    share: float


def rungs_of(n_candidates: int, n_rows: int, factor: int = 3, least_rows: int = 500) -> list[Rung]:
    """Plan successive halving (Jamieson and Talwalkar 2016, Algorithm 1).

    Each rung keeps one in ``factor`` of the candidates and multiplies the rows by ``factor``. The resource is
    rows, as in scikit-learn's HalvingGridSearchCV, so that any algorithm can be tried. Unlike there, the last
    rung has more than one candidate. The first rung has at least ``least_rows`` rows.

    >>> rungs_of(9, 9000)
    [Rung(n_candidates=9, share=0.3333333333333333), Rung(n_candidates=3, share=1.0)]
    """
    counts = [n_candidates]
    while counts[-1] > factor and n_rows >= least_rows * factor ** len(counts):
        counts.append(-(-counts[-1] // factor))
    return [Rung(count, float(factor) ** (at + 1 - len(counts))) for at, count in enumerate(counts)]


def going_on(scores: Mapping[int, float], n_candidates: int, staying: Collection[int] = ()) -> list[int]:
    """Return the numbers of the ``n_candidates`` best candidates with finite scores; ties go by number.

    Parameters
    ----------
    staying : numbers of candidates that are kept at any finite score
    """
    usable = sorted(
        (number for number in scores if np.isfinite(scores[number])),
        key=lambda number: (scores[number], number),
    )
    kept = [number for number in usable if number in staying]
    others = [number for number in usable if number not in staying][: max(n_candidates - len(kept), 0)]
    return [number for number in usable if number in kept or number in others]
