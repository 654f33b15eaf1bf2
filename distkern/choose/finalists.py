"""The finalists of the ladder: machines with the loss and the settings that would be delivered.

The rungs of :mod:`distkern.choose.ladder` compare ridge machines in closed form, which show the map, the
kernel and the width that suit the data. Their ridges are poor guesses for a likelihood, and a score with a
sigmoid fitted to the held-out rows is not the score of the delivered probabilities. The leading settings are
therefore trained once more as they will be delivered:

* machines over centres, or linear ones, by the loss of Newton's method, with its number of landmarks and an
  intercept that is not regularised (:mod:`distkern.choose.likelihoods`). The ridge goes up or down by factors
  of 10 from that of the rung for as long as the score improves;
* exact machines by the loss of cells, with other widths and other C beside those of the rung.

Of settings that cannot be told apart the smoothest is taken: the largest ridge, then the largest width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from distkern.choose.choice import ALIKE, best, is_better, not_worse, walk
from distkern.choose.folds import Fold, MachineSetting, TriedMachine
from distkern.choose.likelihoods import Likelihood, RidgePath
from distkern.choose.machines import SampleRows, values_over_all_rows
from distkern.core.scores import by_group
from distkern.core.types import Array
from distkern.maths.kernels.base import AbstractTileKernel

#: decision values (n_asked, k) of exact machines for each of several C, from rows to learn from and others
Solve = Callable[[AbstractTileKernel, Sequence[float], SampleRows, SampleRows], Sequence[Array]]

#: factor between two ridges of machines over centres
_FACTOR = 10.0
#: factors between two C and two widths of exact machines
_COST_FACTOR, _WIDTH_FACTOR = 3.0, 2.0
#: rows on which the settings of ridge machines are searched, at most: with one output, and with several
_RIDGE_ROWS = (2600, 2000)
#: outputs up to which exact machines are searched by their own loss
_MOST_OUTPUTS = 2
#: held-out rows by which settings are searched
_ENOUGH = 400
#: ratio to the loss of the machine beside it above which an exact machine is not searched further, and ratio
#: to the best exact machine above which its width is not searched; most kinds whose width is
_FAR, _NEAR, _WALKED = 1.1, 1.2, 2


def as_delivered(setting: MachineSetting, rows: SampleRows) -> MachineSetting:
    """Return a ridge machine's setting with the ridge scaled to its delivered loss on these rows."""
    return replace(setting, ridge=setting.ridge * _curvature(rows))


def over_centres(folds: Sequence[Fold], setting: MachineSetting, n_centres: int, most: int) -> TriedMachine:
    """A linear machine, or one over centres, with the best ridge for its own loss.

    Parameters
    ----------
    folds : the rows by which the ridge is found
    setting : where the walk begins
    n_centres : landmarks, at most
    most : rows that are learned from

    Returns
    -------
    the setting, with ``ridge`` = n nu of n rows that are learned from, and its losses on the held-out rows
    """
    return beside_fewer(folds, setting, n_centres, most, n_centres)[0]


def beside_fewer(
    folds: Sequence[Fold], setting: MachineSetting, n_centres: int, most: int, n_few: int
) -> tuple[TriedMachine, TriedMachine]:
    """The machine of :func:`over_centres`, and that of the same ridge over the first ``n_few`` centres."""
    walking = [fold.delivered(setting, n_centres, most) for fold in folds]
    n_functions = walking[0][0].learned.shape[1] - 1
    size = min(folds[0].learned.n_rows, most), n_functions
    tried: dict[int, TriedMachine] = {}

    def at(move: int) -> TriedMachine:
        if move not in tried:
            one = replace(setting, ridge=setting.ridge * _FACTOR**move, size=size)
            tried[move] = TriedMachine(one, np.concatenate([_losses(*pair, one.ridge) for pair in walking]))
        return tried[move]

    walk(at, (1, -1))
    found = smoothest(tried.values())
    if n_few >= n_functions:
        return found, found
    few = [_losses(machines.of_first(n_few), asked, found.setting.ridge) for machines, asked in walking]
    return found, TriedMachine(found.setting, np.concatenate(few))


def on_more(
    folds: Sequence[Fold],
    walked: TriedMachine,
    n_known: int,
    n_centres: int,
    parts: Sequence[SampleRows] = (),
) -> tuple[TriedMachine, list[TriedMachine]]:
    """The machine that :func:`over_centres` has found, learned from all rows of the folds.

    Parameters
    ----------
    n_known : number of first folds whose rows ``walked`` has already learned from

    Returns
    -------
    its losses on the rows that the folds hold out; and on each of some ``parts``, of rows that the first
    fold has not learned from
    """
    setting, losses = walked.setting, [walked.losses] if n_known else []
    there: list[TriedMachine] = []
    for number, fold in enumerate(folds[n_known:]):
        asked = [fold.asked, *(parts if number == 0 else ())]
        machines, _ = fold.beside(fold.learned, SampleRows.joined(asked)).delivered(setting, n_centres)
        setting = replace(setting, size=(folds[0].learned.n_rows, machines.learned.shape[1] - 1))
        ends = np.cumsum([part.n_rows for part in asked])[:-1]
        decisions = np.split(machines.decisions(setting.ridge), ends)
        scored = [(Likelihood(part), own) for part, own in zip(asked, decisions, strict=True)]
        own = [by_group(part.scores(own), part.group_keys) for part, own in scored]
        losses.append(own[0])
        there += [TriedMachine(setting, one) for one in own[1:]]
    return TriedMachine(setting, np.concatenate(losses)), there


def exact(
    folds: Sequence[Fold],
    settings: Sequence[MachineSetting],
    most: int,
    solve: Solve | None,
    beside: TriedMachine | None = None,
    *,
    is_wide: bool = True,
    has_costs: bool = True,
) -> TriedMachine:
    """The best of some exact machines, with the best width and C for its own loss.

    Widths are searched for the best two, since the rows of the rungs may be too few to show how narrow
    kernels must be, and then C for the best of them.

    Parameters
    ----------
    folds : the rows by which they are judged
    settings : with width and ridge = 1 / C of ridge machines, where the search begins
    most : rows that are learned from
    solve : the machines of classes; None: ridge machines, for real targets. With more than two outputs ridge
        machines find the widths, and these machines C
    beside : a machine over the same held-out rows. Where all settings begin worse than it by more than
        chance, they are not searched further
    is_wide, has_costs : whether other widths, and other C, are tried
    """
    # one factor of a ridge machine serves all outputs, whose own machines are solved one by one
    own = solve if folds[0].asked.targets.shape[1] <= _MOST_OUTPUTS else None
    # each of their settings is a factorisation in double precision
    most = min(most, _RIDGE_ROWS[folds[0].asked.targets.shape[1] > 1]) if own is None else most
    tried: dict[MachineSetting, TriedMachine] = {}

    def at(
        setting: MachineSetting, width: float = 1.0, ridge: float = 1.0, solve: Solve | None = own
    ) -> TriedMachine:
        kernel = setting.known_kernel
        one = replace(
            setting, kernel=replace(kernel, width=kernel.width * width), ridge=setting.ridge * ridge
        )
        if one not in tried:
            [tried[one]] = _exact(folds, one, [one.ridge], most, solve)
        return tried[one]

    def begun(setting: MachineSetting) -> TriedMachine:
        # kernels that are far too wide are all as bad, and no small step shows a gain
        return best([at(setting), at(setting, width=_WIDTH_FACTOR**-2)])

    def is_far(found: TriedMachine) -> bool:
        if own is not solve or beside is None or found.score <= _FAR * beside.score:
            return False
        return is_better(beside, found)

    def ranked(tried: Iterable[TriedMachine]) -> list[TriedMachine]:
        return sorted(tried, key=lambda one: one.score)

    first = ranked(at(setting) for setting in settings)
    found = first[0]
    if is_wide:
        starts = ranked(begun(one.setting) for one in first if one.score <= _NEAR * found.score)
        near = [] if is_far(starts[0]) else starts[:_WALKED]
        found = best([found, *(walk(partial(_wider, at, one.setting), (-1, 1)) for one in near)])
    if is_far(found):
        return found
    if own is not solve:
        # the best C of ridge machines is another one
        tried.clear()
    if has_costs:
        walk(partial(_smoother, partial(at, solve=solve), found.setting), (1, -1))
    elif own is not solve:
        return exact_on(folds, found, most, solve)
    kind = found.setting.map, found.kernel.name
    return smoothest(one for one in tried.values() if (one.setting.map, one.kernel.name) == kind)


def _wider(at: Callable[..., TriedMachine], setting: MachineSetting, move: int) -> TriedMachine:
    return at(setting, width=_WIDTH_FACTOR**move)


def _smoother(at: Callable[..., TriedMachine], setting: MachineSetting, move: int) -> TriedMachine:
    return at(setting, ridge=_COST_FACTOR**move)


def exact_on(folds: Sequence[Fold], found: TriedMachine, most: int, solve: Solve | None) -> TriedMachine:
    """The machine that :func:`exact` has found, with its losses on other folds."""
    return _exact(folds, found.setting, [found.setting.ridge], most, solve)[0]


def walked(folds: Sequence[Fold]) -> Sequence[Fold]:
    """The folds by which settings are searched."""
    return folds[: math.ceil(_ENOUGH / folds[0].asked.n_rows)]


def first_near(tried: Sequence[TriedMachine]) -> TriedMachine:
    """The first of those that are not worse than the best one by more than a standard error."""
    near = not_worse(sorted(tried, key=lambda one: one.score), 1.0)
    return next(one for one in tried if any(one is other for other in near))


def smoothest(tried: Iterable[TriedMachine]) -> TriedMachine:
    """The smoothest of those that cannot be told from the best one."""
    near = not_worse(sorted(tried, key=lambda one: one.score), ALIKE)
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
