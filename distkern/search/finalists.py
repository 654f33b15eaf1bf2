"""The finalists of the ladder: machines with the loss and the settings that would be delivered.

The rungs of :mod:`distkern.search.ladder` compare ridge machines in closed form, which show the map, the
kernel and the width that suit the data. Their ridges are poor guesses for a likelihood, and a score with a
sigmoid fitted to the held-out rows is not the score of the delivered probabilities. The leading settings are
therefore trained once more as they will be delivered:

* machines over centres, or linear ones, by the loss of Newton's method, with its number of landmarks and an
  intercept that is not regularised (:mod:`distkern.search.likelihoods`). The ridge goes up or down by factors
  of 10 from that of the rung for as long as the score improves;
* exact machines by the loss of cells, with other widths and other C beside those of the rung.

Of settings that cannot be told apart the smoothest is taken: the largest ridge, then the largest width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from distkern.common.scores import by_group
from distkern.common.types import Array
from distkern.kernels.base import AbstractTileKernel
from distkern.search.choice import best, not_worse
from distkern.search.folds import Fold, MachineSetting, TriedMachine
from distkern.search.likelihoods import Likelihood, RidgePath
from distkern.search.machines import SampleRows, values_over_all_rows

#: decision values (n_asked, k) of exact machines for each of several C, from rows to learn from and others
Solve = Callable[[AbstractTileKernel, Sequence[float], SampleRows, SampleRows], Sequence[Array]]

#: factor between two ridges of machines over centres; most steps in a direction
_FACTOR, _MOST_MOVES = 10.0, 5
#: factors between two C and two widths of exact machines
_COST_FACTOR, _WIDTH_FACTOR = 3.0, 2.0
#: outputs up to which exact machines are searched by their own loss
_MOST_OUTPUTS = 2
#: held-out rows by which settings are searched
_ENOUGH = 500
#: standard errors of a difference below which two settings cannot be told apart
_ALIKE = 0.5


def over_centres(folds: Sequence[Fold], setting: MachineSetting, n_centres: int) -> TriedMachine:
    """A linear machine, or one over centres, with the best ridge for its own loss.

    Parameters
    ----------
    folds : the first ones, as many as hold out 500 rows, find the ridge; all of them score it
    setting : whose ridge is that of a ridge machine, where the walk begins
    n_centres : landmarks, at most

    Returns
    -------
    the setting, with ``ridge`` = n nu of n rows that are learned from, and its losses on the held-out rows
    """
    learned = folds[0].learned
    first = setting.ridge * _curvature(learned)
    walking = [fold.delivered(setting, n_centres) for fold in walked(folds)]
    size = learned.n_rows, walking[0][0].learned.shape[1] - 1
    tried: dict[int, TriedMachine] = {}

    def score(move: int) -> float:
        if move not in tried:
            one = replace(setting, ridge=first * _FACTOR**move, size=size)
            tried[move] = TriedMachine(one, np.concatenate([_losses(*pair, one.ridge) for pair in walking]))
        return tried[move].score

    at = 0
    for direction in (1, -1):
        while abs(at) < _MOST_MOVES and score(at + direction) < score(at):
            at += direction
        if at:
            break
    found = smoothest(tried.values())
    walking.clear()
    others = [
        _losses(*fold.delivered(setting, n_centres), found.setting.ridge)
        for fold in folds[len(walked(folds)) :]
    ]
    return TriedMachine(found.setting, np.concatenate([found.losses, *others]))


def as_it_is(fold: Fold, setting: MachineSetting, n_centres: int) -> TriedMachine:
    """A linear machine, or one over centres, whose setting :func:`over_centres` has found."""
    return TriedMachine(setting, _losses(*fold.delivered(setting, n_centres), setting.ridge))


def exact(folds: Sequence[Fold], setting: MachineSetting, most: int, solve: Solve | None) -> TriedMachine:
    """An exact machine with the best width and C for its own loss.

    Parameters
    ----------
    folds : the first ones, as many as hold out 500 rows, find width and C; all of them score it
    setting : with width and ridge = 1 / C of a ridge machine, which are tried first
    most : rows that are learned from
    solve : the machines of classes; None: ridge machines, for real targets. With more than two outputs they
        score what ridge machines have found
    """
    tried: dict[tuple[float, float], TriedMachine] = {}
    # one factor of a ridge machine serves all outputs, whose own machines are solved one by one
    own = solve if folds[0].asked.targets.shape[1] <= _MOST_OUTPUTS else None

    def at(width: float, *ridges: float) -> TriedMachine:
        one = replace(setting, kernel=replace(setting.known_kernel, width=width))
        for found in _exact(walked(folds), one, ridges, most, own):
            tried[width, found.setting.ridge] = found
        return best(tried.values())

    width, ridge = setting.known_kernel.width, setting.ridge
    at(width, ridge)
    is_narrower = at(width / _WIDTH_FACTOR, ridge).kernel.width < width
    found = at(width / _WIDTH_FACTOR**2 if is_narrower else width * _WIDTH_FACTOR, ridge)
    found = at(found.kernel.width, ridge * _COST_FACTOR, ridge / _COST_FACTOR)
    if found.setting.ridge != ridge:
        at(found.kernel.width, found.setting.ridge**2 / ridge)
    found = smoothest(tried.values())
    if own is solve and len(walked(folds)) == len(folds):
        return found
    return _exact(folds, found.setting, [found.setting.ridge], most, solve)[0]


def walked(folds: Sequence[Fold]) -> Sequence[Fold]:
    """The folds on which settings are searched."""
    return folds[: math.ceil(_ENOUGH / folds[0].asked.n_rows)]


def smoothest(tried: Iterable[TriedMachine]) -> TriedMachine:
    """The smoothest of those that cannot be told from the best one."""
    near = not_worse(sorted(tried, key=lambda one: one.score), _ALIKE)
    return max(near, key=lambda one: (one.setting.ridge, one.kernel.width if one.setting.kernel else 0.0))


def _losses(machines: RidgePath, asked: Likelihood, ridge: float) -> Array:
    return by_group(asked.scores(machines.decisions(ridge)), asked.group_keys)


def _exact(
    folds: Sequence[Fold], setting: MachineSetting, ridges: Sequence[float], most: int, solve: Solve | None
) -> list[TriedMachine]:
    """Exact machines on some folds, whose held-out rows share a sigmoid, as those of delivered cells do."""
    values, size = [], (0, 0)
    for fold in folds:
        mapping, learned, asked = fold.mapped(setting.map, most)
        kernel, size = setting.known_kernel.over(mapping), 2 * (learned.n_rows,)
        if solve is None:
            values.append(list(values_over_all_rows(kernel, ridges, learned, asked)))
        else:
            values.append(list(solve(kernel, [1.0 / ridge for ridge in ridges], learned, asked)))
    asked = SampleRows.joined([fold.asked for fold in folds])
    return [
        TriedMachine(replace(setting, ridge=ridge, size=size), asked.losses(np.concatenate(own)))
        for ridge, own in zip(ridges, zip(*values, strict=True), strict=True)
    ]


def _curvature(rows: SampleRows) -> float:
    """The mean second derivative of the loss where only the shares of the classes are known."""
    if rows.codes is None:
        return 1.0
    shares: NDArray[np.float64] = np.bincount(rows.codes, weights=rows.weights) / rows.weights.sum()
    return float(np.mean(shares * (1.0 - shares)))
