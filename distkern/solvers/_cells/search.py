"""Settings that choose themselves: successive halving on a sample, scored on rows that are held out.

A rung's trials are independent of each other and run on the workers; which setting goes on follows from their
losses and from how many multiplications they took, so that it is the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.stores import ArrayStore
from distkern.losses.conjugate import AbstractDualLoss
from distkern.passes import Each
from distkern.solvers._cells.mapping import CellMap, MapChoice, map_from_arrays
from distkern.solvers._cells.metric import MetricKind
from distkern.solvers._cells.transform import TransformKind
from distkern.solvers._cells.trials import MANY_OUTPUTS, KernelSpec, Setting, Trial, difference, least_work
from distkern.solvers.base import Steps

Array = NDArray[np.float64]

#: ridge with which the best metric is learned too
_RIDGE = 0.01
#: the other number of rounds
_ROUNDS = {1: 3, 3: 1}
#: standard errors by which a metric must be better than none
_CERTAIN = 2.0


@dataclass(frozen=True)
class Size:
    """Of a rung.

    Attributes
    ----------
    n_learned, n_held_out : rows to learn from, and to score on
    n_kept : maps that go on, of those that it tries
    widths, costs : half steps of the grids around the best of the rung before
    """

    n_learned: int
    n_held_out: int
    n_kept: int
    widths: tuple[int, ...] = ()
    costs: tuple[int, ...] = ()


_RUNGS = (
    Size(1000, 2000, 4),
    Size(4000, 5000, 3, (-2, 0, 2), (-2, 0, 2)),
    # more rows lie nearer to each other
    Size(20000, 5000, 1, (-2, -1, 0, 1), (0, 2)),
)
_QUICK = (Size(1000, 2000, 2), Size(4000, 5000, 1, (-2, 0, 2), (-2, 0, 2)))
#: rows of the second rung are those of one machine; with few rows there is no third
_ONE, _MANY = 4000, 6000

#: exp(-|x - y| / b), the Laplacian of the Euclidean distance, is the Matern kernel of smoothness 1/2
KERNELS = (KernelSpec("matern", (("smoothness", 0.5),)), KernelSpec("rbf"))


@dataclass(frozen=True)
class Space:
    """Where to search; a single value is given and not searched."""

    maps: tuple[MapChoice, ...]
    kernels: tuple[KernelSpec, ...] = KERNELS
    widths: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
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
    edges : of the width and of C: -1 at the smallest that is tried, 1 at the largest, 0 between
    """

    setting: Setting
    map: CellMap
    score: float
    plain: float
    edges: tuple[int, int]


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


@dataclass(frozen=True)
class _Outcome:
    """What a setting achieved."""

    score: float
    work: float
    rung: Rung
    number: int
    place: int

    @property
    def losses(self) -> Array:
        return np.asarray(self.rung.store.load(self.number)["losses"][self.place])

    @property
    def map(self) -> CellMap:
        return map_from_arrays(self.rung.store.load(self.number))


@dataclass(frozen=True)
class Rung:
    """Trials, and where their results are."""

    trials: tuple[Trial, ...]
    store: ArrayStore

    def outcomes(self, records: Sequence[dict[str, Any]]) -> dict[Setting, _Outcome]:
        """Of all settings."""
        found = {}
        for number, (trial, record) in enumerate(zip(self.trials, records, strict=True)):
            for place, setting in enumerate(trial.settings):
                score, work = record["scores"][place], record["work"][place]
                found[setting] = _Outcome(score, work, self, number, place)
        return found


def fewer_rows(n_rows: int, n_outputs: int) -> int:
    """Rows of a trial: with many outputs fewer, because each takes its time."""
    return min(n_rows, max(_RUNGS[0].n_learned, int(n_rows * (MANY_OUTPUTS / n_outputs) ** 0.5)))


def sizes_of(n_rows: int, n_outputs: int, *, quick: bool) -> list[Size]:
    """The rungs for a sample of so many rows, of which no more than two thirds are learned from."""
    found = []
    for size in _QUICK if quick else _RUNGS:
        n_learned = min(fewer_rows(size.n_learned, n_outputs), max(1, 2 * n_rows // 3))
        if size.n_learned <= _ONE or n_learned >= _MANY:
            found.append(replace(size, n_learned=n_learned))
    return found


def sample_rows(*, quick: bool) -> int:
    """Rows that the last rung has a use for."""
    last = (_QUICK if quick else _RUNGS)[-1]
    return last.n_learned + last.n_held_out


def n_trials(space: Space, sizes: Sequence[Size]) -> list[int]:
    """Trials of each rung, at most: also the best map without a metric, its variants, the plain setting."""
    most, variants = len(space.maps), len(space.kernels) + 1
    kept = [min(size.n_kept + 1, most) + 1 for size in sizes[:-1]]
    return [most, *(number + (variants if place == 0 else 0) for place, number in enumerate(kept))]


def search(
    space: Space, sizes: Sequence[Size], passes: Callable[[int, tuple[Trial, ...]], tuple[Each, ArrayStore]]
) -> Steps[Choice]:
    """The best of a space, by successive halving (Jamieson and Talwalkar 2016) over growing samples.

    The first rung tries every map on 1,000 rows with coarse grids of kernels, widths and costs; the second
    one the maps that did best, and the best one with other kernels, another ridge and other rounds, on 4,000
    rows around what was best for each; the third the best of these on 20,000 rows in cells: what is best for
    few rows need not be for many.
    A kernel matrix serves all costs.

    Parameters
    ----------
    sizes : of :func:`sizes_of`
    passes : of the number of a rung and its trials the pass that makes them, and its store
    """
    points = tuple(product(space.kernels, _coarse(space.widths)))
    costs = tuple(_coarse(space.costs))
    rows = (sizes[0].n_learned, sizes[0].n_held_out)
    trials = [Trial(choice, points, costs, *rows, is_first=True) for choice in space.maps]
    plain = Setting(MapChoice(), space.kernels[0], _middle(space.widths), _middle(space.costs))
    best: dict[Setting, _Outcome] = {}
    for number, size in enumerate(sizes):
        step, store = passes(number, tuple(trials))
        best = Rung(tuple(trials), store).outcomes((yield step))
        reached = best[plain].score if plain in best else math.nan
        if plain.map not in space.maps:
            best.pop(plain, None)
        leaders = _leaders(best, size.n_kept)
        if number + 1 == len(sizes):
            break
        following = sizes[number + 1]
        trials = [_nearby(leader, space, following) for leader in leaders]
        if number == 0:
            known = {leader.map for leader in leaders}
            trials += [
                trial
                for trial in _variants(best, leaders[0], space, following)
                if trial.map == leaders[0].map or trial.map not in known
            ]
        if number > 0:
            trials = [
                replace(trial, fitted=best[one].map) for trial, one in zip(trials, leaders, strict=True)
            ]
        if not any(plain in trial.settings for trial in trials):
            rows = (following.n_learned, following.n_held_out)
            trials.append(Trial(plain.map, ((plain.kernel, plain.width),), (plain.cost,), *rows))
    chosen = _simplest(best, leaders)
    return Choice(chosen, best[chosen].map, best[chosen].score, reached, _edges(chosen, space))


def _variants(outcomes: dict[Setting, _Outcome], leader: Setting, space: Space, size: Size) -> list[Trial]:
    """The best map with other kernels, another ridge, other rounds: they may need more rows to be better."""
    found = []
    for kernel in space.kernels:
        near = [each for each in outcomes if each.map == leader.map and each.kernel == kernel]
        if kernel != leader.kernel:
            found.append(_nearby(min(near, key=lambda each: outcomes[each].score), space, size))
    if leader.map.metric != "none":
        others = (replace(leader.map, ridge=_RIDGE), replace(leader.map, rounds=_ROUNDS[leader.map.rounds]))
        found += [replace(_nearby(leader, space, size), map=other) for other in others]
    return found


def _nearby(leader: Setting, space: Space, size: Size) -> Trial:
    """Around what was best for a map."""
    points = tuple((leader.kernel, width) for width in _around(leader.width, space.widths, size.widths))
    costs = tuple(_around(leader.cost, space.costs, size.costs))
    return Trial(leader.map, points, costs, size.n_learned, size.n_held_out)


def _leaders(outcomes: dict[Setting, _Outcome], n_kept: int) -> list[Setting]:
    """The best setting of each of the best maps, and of the best one without a metric."""
    found: dict[MapChoice, Setting] = {}
    for setting in sorted(outcomes, key=lambda each: outcomes[each].score):
        found.setdefault(setting.map, setting)
    best = list(found.values())
    plain = [setting for setting in best[n_kept:] if setting.map.metric == "none"][:1]
    has_plain = any(setting.map.metric == "none" for setting in best[:n_kept])
    return best[:n_kept] if has_plain else best[:n_kept] + plain


def _simplest(outcomes: dict[Setting, _Outcome], leaders: list[Setting]) -> Setting:
    """The best, unless one without a metric is as good within two standard errors of the difference; of that
    map the setting that is the least work of those that are as good within a fifth of one.

    The best of many is lucky as well as good, and metrics are many: what a sample's metric gains is less on
    more rows, and must be seen to gain something here.
    """
    best = leaders[0]
    for setting in leaders[1:]:
        if best.map.metric != "none" and setting.map.metric == "none":
            mean, error = difference(outcomes[setting].losses, outcomes[best].losses)
            if mean <= _CERTAIN * error:
                best = setting
                break
    near = [setting for setting in outcomes if setting.map == best.map]
    losses = np.array([outcomes[setting].losses for setting in near])
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


def _middle(values: Sequence[float]) -> float:
    return values[len(values) // 2]


def _edges(setting: Setting, space: Space) -> tuple[int, int]:
    return _edge(setting.width, space.widths), _edge(setting.cost, space.costs)


def _edge(value: float, values: Sequence[float]) -> int:
    """Where a value is in its range, see :class:`Choice`; one that is given has none."""
    if len(values) < 2:
        return 0
    return int(value >= values[-1] * 0.99) - int(value <= values[0] * 1.01)
