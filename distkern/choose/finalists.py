"""The finalists of the ladder: machines with the loss and the settings that would be delivered.

The rungs of :mod:`distkern.choose.ladder` compare ridge machines in closed form, which find the map, the
kernel and the width. Their ridges suit a likelihood poorly, and a sigmoid fitted to held-out rows does not
score the delivered probabilities. The leading settings are therefore trained again as they would be
delivered:

* Linear machines and machines over centres use the loss of Newton's method, its number of landmarks and an
  unregularised intercept (:mod:`distkern.choose.likelihoods`). A line search from the ridge of the rung, by
  factors of 10, finds the ridge.
* Exact machines use the loss of cells. Line searches find the width and C.

Among settings that tie, the smoothest wins: the one with the largest ridge, then the largest width.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from distkern.choose.choice import TIE, best, best_of_each, is_better, line_search, not_worse, ranked
from distkern.choose.folds import Fold, MachineSetting, TriedMachine
from distkern.choose.likelihoods import Likelihood, RidgePath
from distkern.choose.machines import SampleRows, values_over_all_rows
from distkern.core.scores import by_group
from distkern.core.types import Array
from distkern.maths.kernels.base import AbstractTileKernel

#: decision values (n_held_out, k) of exact machines for each C, given a kernel, training and held-out rows
Solve = Callable[[AbstractTileKernel, Sequence[float], SampleRows, SampleRows], Sequence[Array]]

#: factor between two ridges of machines over centres
_RIDGE_FACTOR = 10.0
#: factors between two C and between two widths of exact machines
_COST_FACTOR, _WIDTH_FACTOR = 3.0, 2.0
#: most training rows of exact ridge machines, with one output and with several
_RIDGE_ROWS, _RIDGE_ROWS_OF_SEVERAL = 2600, 2000
#: most outputs for which exact machines of classes are searched by their own loss
_MOST_OUTPUTS = 2
#: least ratio of training rows from which a learning curve is estimated
_CURVE_RATIO = 1.5
#: held-out rows that suffice to search settings
_SEARCH_ROWS = 400
#: exact machines are not searched if their loss exceeds the rival's by this factor
_FAR = 1.1
#: widths are searched for the best two exact machines within this factor of the best loss
_NEAR, _MOST_WIDTH_SEARCHES = 1.2, 2


def as_delivered(setting: MachineSetting, rows: SampleRows) -> MachineSetting:
    """Rescale the ridge of a ridge machine to its delivered loss on these rows."""
    return replace(setting, ridge=setting.ridge * _mean_curvature(rows))


def over_centres(folds: Sequence[Fold], setting: MachineSetting, max_rows: int) -> TriedMachine:
    """Search the ridge of a linear machine or a machine over centres for its delivered loss.

    Parameters
    ----------
    folds : folds that score the ridges
    setting : start of the search
    max_rows : most training rows

    Returns
    -------
    the setting, with ``ridge`` = n nu for n training rows, and its losses on the held-out rows
    """
    return with_fewer_centres(folds, setting, max_rows, setting.n_centres)[0]


def with_fewer_centres(
    folds: Sequence[Fold],
    setting: MachineSetting,
    max_rows: int,
    n_few: int,
    start: TriedMachine | None = None,
) -> tuple[TriedMachine, TriedMachine]:
    """Return the machine of :func:`over_centres`, and one with its ridge over the first ``n_few`` centres.

    ``start`` is a machine over fewer centres on these folds.
    """
    paths = [
        fold.ridge_path(setting, max_rows, None if start is None else start.coefficients_on(number))
        for number, fold in enumerate(folds)
    ]
    n_functions = paths[0][0].n_functions
    size = min(folds[0].train.n_rows, max_rows), n_functions
    tried: dict[int, TriedMachine] = {}

    def at(position: int) -> TriedMachine:
        if position not in tried:
            moved = replace(setting, ridge=setting.ridge * _RIDGE_FACTOR**position, size=size)
            losses = np.concatenate([_losses(*path, moved.ridge) for path in paths])
            coefficients = tuple(path.coefficients for path, _ in paths)
            tried[position] = TriedMachine(moved, losses, coefficients=coefficients)
        return tried[position]

    line_search(at, (1, -1))
    found = smoothest(tried.values())
    if n_few >= n_functions:
        return found, found
    few = [_losses(path.over_first(n_few), held_out, found.setting.ridge) for path, held_out in paths]
    return found, TriedMachine(found.setting, np.concatenate(few))


def extrapolated_score(pair: tuple[TriedMachine, TriedMachine]) -> float:
    """Return a machine's score over more centres, if it falls by the same factor again: more^2 / few.

    ``pair`` is the machine and the one over few of its centres. A score that rises is taken as it is.
    """
    more, few = pair
    return more.score * min(1.0, more.score / max(few.score, np.finfo(float).tiny))


def on_all_rows(few: TriedMachine, more: TriedMachine, n_rows: int) -> TriedMachine:
    """Extrapolate the losses of a machine to training on all rows.

    A power law in the number of training rows is fitted to the losses with few rows and with more, on the
    held-out rows that both share.
    """
    n_few, n_more = few.setting.size[0], more.setting.size[0]
    before, after = few.score, float(more.losses[: len(few.losses)].mean())
    factor = 1.0
    if n_more >= _CURVE_RATIO * n_few and n_rows > n_more and 0.0 < after < before:
        factor = float((n_rows / n_more) ** (math.log(after / before) / math.log(n_more / n_few)))
    return replace(more, losses=more.losses * factor)


def retrained(
    folds: Sequence[Fold], found: TriedMachine, n_done: int, others: Sequence[SampleRows] = ()
) -> tuple[TriedMachine, list[TriedMachine]]:
    """Train the machine of :func:`over_centres` on all training rows of the folds.

    Parameters
    ----------
    n_done : number of leading folds on which ``found`` was trained with all rows
    others : further rows to score; the first fold's training rows contain none of them

    Returns
    -------
    the machine with its losses on the held-out rows of all folds, and with its losses on each of ``others``
    """
    setting, losses = found.setting, [found.losses] if n_done else []
    on_others: list[TriedMachine] = []
    for number, fold in enumerate(folds[n_done:]):
        parts = [fold.held_out, *(others if number == 0 else ())]
        wider = fold.with_rows(fold.train, SampleRows.joined(parts))
        path, _ = wider.ridge_path(setting, start=found.coefficients_on(n_done + number))
        setting = replace(setting, size=(folds[0].train.n_rows, path.n_functions))
        ends = np.cumsum([part.n_rows for part in parts])[:-1]
        decisions = np.split(path.decisions(setting.ridge), ends)
        first, *rest = [_scores(Likelihood(part), own) for part, own in zip(parts, decisions, strict=True)]
        losses.append(first)
        on_others += [TriedMachine(setting, own) for own in rest]
    return TriedMachine(setting, np.concatenate(losses)), on_others


@dataclass
class _ExactMachines:
    """Exact machines on some folds, each trained once."""

    folds: Sequence[Fold]
    max_rows: int
    solve: Solve | None
    tried: dict[MachineSetting, TriedMachine] = field(default_factory=dict)

    def at(self, setting: MachineSetting, *, width: float = 1.0, ridge: float = 1.0) -> TriedMachine:
        """Return the machine with the width and the ridge of a setting, times these factors."""
        kernel = setting.known_kernel
        moved = replace(
            setting, kernel=replace(kernel, width=kernel.width * width), ridge=setting.ridge * ridge
        )
        if moved not in self.tried:
            self.tried[moved] = _exact(self.folds, moved, self.max_rows, self.solve)
        return self.tried[moved]

    def start(self, setting: MachineSetting) -> TriedMachine:
        """Return where a search of widths starts: here, or at a quarter of the width if that is better."""
        # kernels that are far too wide all score alike, so small steps show no gain
        return best([self.at(setting), self.at(setting, width=_WIDTH_FACTOR**-2)])

    def search_width(self, setting: MachineSetting) -> TriedMachine:
        """Search the width by factors of 2."""
        return line_search(lambda position: self.at(setting, width=_WIDTH_FACTOR**position), (-1, 1))

    def search_ridge(self, setting: MachineSetting) -> TriedMachine:
        """Search the ridge by factors of 3."""
        return line_search(lambda position: self.at(setting, ridge=_COST_FACTOR**position), (1, -1))


def exact(
    folds: Sequence[Fold],
    settings: Sequence[MachineSetting],
    max_rows: int,
    solve: Solve | None,
    rival: TriedMachine | None = None,
    *,
    is_wide: bool = True,
    has_costs: bool = True,
    is_dense: bool = True,
) -> TriedMachine:
    """Search the width and C of exact machines for their delivered loss, and return the best machine.

    The width is searched for the best two settings, since the rungs have too few rows to show how narrow a
    kernel must be. C is then searched for the best machine.

    Parameters
    ----------
    folds : folds that score the machines
    settings : starts of the search, with the width and the ridge = 1 / C of ridge machines
    max_rows : most training rows
    solve : trains machines of classes; None: ridge machines, for real targets. With more than two outputs,
        ridge machines find the width and ``solve`` finds C
    rival : a machine with the same held-out rows. If all settings start significantly worse, the search ends
    is_wide, has_costs : whether to search the width, and C
    is_dense : whether the folds are those of the sample. Rows around an anchor have neighbours on all sides,
        unlike rows near the borders of cells, which gain most by a trend: there a trend wins ties
    """
    n_outputs = folds[0].held_out.targets.shape[1]
    # a factor of a ridge machine serves all outputs, while machines of classes are solved one by one
    width_solve = solve if n_outputs <= _MOST_OUTPUTS else None
    if width_solve is None:
        # each setting takes a factorisation in double precision
        max_rows = min(max_rows, _RIDGE_ROWS if n_outputs == 1 else _RIDGE_ROWS_OF_SEVERAL)
    machines = _ExactMachines(folds, max_rows, width_solve)
    preferred = partial(_preferred, has_trend=not is_dense)

    def is_far(result: TriedMachine) -> bool:
        if width_solve is not solve or rival is None or result.score <= _FAR * rival.score:
            return False
        return is_better(rival, result)

    given = ranked(machines.at(setting) for setting in settings)
    found = preferred(given)
    if is_wide:
        near = [result.setting for result in given if result.score <= _NEAR * found.score]
        starts = ranked(machines.start(setting) for setting in near)
        if not is_far(starts[0]):
            # with a trend and without
            leaders = best_of_each(starts, lambda start: start.setting.has_trend)
            some = dict.fromkeys(start.setting for start in [*starts[:_MOST_WIDTH_SEARCHES], *leaders])
            found = preferred([*given, *map(machines.search_width, some)])
            if len({setting.has_trend for setting in settings}) > 1:
                # few rows may have missed that the trend, or none, suits this machine better
                other = replace(found.setting, has_trend=not found.setting.has_trend)
                found = preferred([found, machines.at(other)])
    if is_far(found):
        return found
    if width_solve is not solve:
        if not has_costs:
            return exact_on(folds, found, max_rows, solve)
        # the best C of ridge machines is a different one
        machines = _ExactMachines(folds, max_rows, solve)
    if has_costs:
        machines.search_ridge(found.setting)
    kind = found.setting.kind_of_features
    same = [result for result in machines.tried.values() if result.setting.kind_of_features == kind]
    return smoothest(same)


def _preferred(tried: Sequence[TriedMachine], *, has_trend: bool) -> TriedMachine:
    """Return the best machine, or the best one with the preferred trend or none if they tie."""
    found = best(tried)
    preferred = [result for result in tried if result.setting.has_trend == has_trend]
    return best(preferred) if preferred and not is_better(found, best(preferred), TIE) else found


def exact_on(folds: Sequence[Fold], found: TriedMachine, max_rows: int, solve: Solve | None) -> TriedMachine:
    """Train the machine of :func:`exact` on other folds."""
    return _exact(folds, found.setting, max_rows, solve)


def search_folds(folds: Sequence[Fold]) -> Sequence[Fold]:
    """Return the leading folds with enough held-out rows to search settings."""
    return folds[: math.ceil(_SEARCH_ROWS / folds[0].held_out.n_rows)]


def simplest(tried: Sequence[TriedMachine]) -> TriedMachine:
    """Return the first machine within a standard error of the best; ``tried`` has the simplest first."""
    near = not_worse(ranked(tried), 1.0)
    return next(result for result in tried if any(result is other for other in near))


def smoothest(tried: Iterable[TriedMachine]) -> TriedMachine:
    """Return the smoothest machine among those that tie with the best."""
    near = not_worse(ranked(tried), TIE)
    return max(
        near, key=lambda result: (result.setting.ridge, result.kernel.width if result.setting.kernel else 0.0)
    )


def _losses(path: RidgePath, held_out: Likelihood, ridge: float) -> Array:
    return _scores(held_out, path.decisions(ridge))


def _scores(held_out: Likelihood, decisions: Array) -> Array:
    return by_group(held_out.scores(decisions), held_out.group_keys)


def _exact(
    folds: Sequence[Fold], setting: MachineSetting, max_rows: int, solve: Solve | None
) -> TriedMachine:
    """Train an exact machine on each fold; as in delivered cells, one sigmoid serves all held-out rows."""
    values: list[Array] = []
    size = 0, 0
    folds = [fold.of(setting) for fold in folds]
    for fold in folds:
        mapping, train, held_out = fold.mapped(setting.map, max_rows, is_final=True)
        kernel, size = setting.known_kernel.over(mapping), 2 * (train.n_rows,)
        if solve is None:
            values += values_over_all_rows(kernel, [setting.ridge], train, held_out)
        else:
            values += solve(kernel, [1.0 / setting.ridge], train, held_out)
    parts = [fold.held_out for fold in folds]
    losses = SampleRows.joined(parts).losses(np.concatenate(values), [part.n_rows for part in parts])
    return TriedMachine(replace(setting, size=size), losses)


def _mean_curvature(rows: SampleRows) -> float:
    """Return the mean second derivative of the delivered loss at the class shares."""
    if rows.codes is None:
        return 1.0
    shares: NDArray[np.float64] = np.bincount(rows.codes, weights=rows.weights) / rows.weights.sum()
    return float(np.mean(shares * (1.0 - shares)))
