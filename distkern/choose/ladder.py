"""The ladder that chooses a machine: linear machines, machines over centres of mapped rows, exact machines.

The rungs compare ridge machines in closed form on one sample (:mod:`distkern.choose.machines`), by log loss
or squared error on held-out rows. They show which functions the data need. The choice depends on the rows and
the seed alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from distkern.choose import finalists, rungs
from distkern.choose.choice import TIE, best, best_of_each, is_better
from distkern.choose.finalists import Solve
from distkern.choose.folds import CENTRES, LANDMARKS, Around, Fold, MachineSetting, TriedMachine, joined
from distkern.choose.likelihoods import Likelihood
from distkern.choose.machines import Kernel, SampleRows
from distkern.core.choices import Compared
from distkern.core.progress import at_step
from distkern.core.scores import mean_difference
from distkern.maths.maps.mapping import MapChoice

#: numbers of training and held-out rows
Parts = Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]]
#: a machine with its losses on the folds, and near each anchor
Retrained = tuple[TriedMachine, list[TriedMachine]]

#: the map of linear machines, unless the columns are already scaled
STANDARD = MapChoice("standard")
#: training rows of exact machines
EXACT_ROWS = 4000
#: factors of the best width over centres at which exact machines are tried; exact kernels are narrower
_EXACT_WIDTHS = (1.0, 0.5)
#: factors of a width at which exact machines are tried where they are all that is compared
_ALL_WIDTHS = (3.0, 1.0, 0.5)
#: factors of the best ridge at which exact machines are tried on more rows
_EXACT_RIDGES = (1.0, 0.1)
#: a costlier machine must be better by this number of standard errors and this share of the loss
_GAIN_ERRORS, _LEAST_GAIN = 1.0, 0.01
#: loss up to which a machine makes no errors: a log loss, or a share of the targets' variance
_NO_LOSS = 1e-6
#: share of the constants' loss below which classes count as nearly separable
_SEPARABLE = 0.2
#: exact machines of 1,000 rows become finalists up to this multiple of the loss over centres: usually, and
#: if the source has at most ``_FEW_ROWS`` rows
_EXACT_NEAR, _EXACT_NEAR_OF_FEW, _FEW_ROWS = 1.03, 0.995, 5000
#: all centres are enough if a third of them changes the loss by at most this share, standard error included
_FEWER_CENTRES, _FLAT = 3, 0.003
#: rows near an anchor, and anchors, that show whether rows have neighbours which a sample lacks; factors of
#: the width and ridges of the narrow machines that use them
_NEAR_ROWS, _NEAR_ANCHORS, _NARROW_WIDTHS, _NARROW_RIDGES = 1500, 8, (1 / 3, 0.1), (0.3,)
#: exact finalists train on more rows up to this multiple of the rival's loss
_FAR = 1.3
#: held-out rows that suffice for the rungs, and most folds that provide them
_RUNG_ROWS, _RUNG_FOLDS = 600, 3
#: with more outputs, ridges are searched and maps are learned on fewer rows
_FEW_OUTPUTS = 2
#: up to this multiple of the sample's rows, the sample shows what exact machines gain from all rows
_DENSE = 2
#: up to this multiple of the sample's rows, its score is reported as the score to expect
SCORED_UP_TO = 6


@dataclass(frozen=True)
class LadderResult:
    """The machine chosen by the ladder, and the machines tried.

    Attributes
    ----------
    chosen : the finalist that is delivered
    inexact : the best finalist that is not exact
    expected : the losses to expect of ``inexact`` once it is trained on all rows
    rungs : the best machine of each rung, cheapest first, then the finalists
    """

    chosen: TriedMachine
    inexact: TriedMachine
    expected: TriedMachine
    rungs: tuple[TriedMachine, ...]

    def compared(self, unit: float = 1.0) -> tuple[Compared, ...]:
        """Return the rungs as the model stores them, with losses times ``unit``."""
        return tuple(
            Compared(
                tried.setting.description,
                unit * tried.score,
                *tried.setting.size,
                chosen=tried is self.chosen,
                near=tried.near,
            )
            for tried in self.rungs
        )


def climb(
    rows: SampleRows,
    parts: Parts,
    n_rows: int,
    seed: int,
    *,
    maps: Sequence[MapChoice] | None = None,
    linear_map: MapChoice = STANDARD,
    exact_rows: int = EXACT_ROWS,
    cell_rows: int = EXACT_ROWS,
    solve: Solve | None = None,
    around: Around | None = None,
) -> LadderResult:
    """Choose a machine for ``n_rows`` rows from a sample of them.

    1. Try linear machines.
    2. Try ridge machines over centres: every transform and metric on 1,000 rows of the first part, then the
       leading maps with two kernels on 3,000 rows and 384 centres, then the best two maps with all kernels
       and widths on all parts. Drop settings that are significantly worse than the best.
    3. Train linear machines and machines over centres with their delivered loss
       (:mod:`distkern.choose.finalists`): each kernel over 384 centres, then the best one over 1,024, unless
       a third of the 384 hardly changes it.
    4. Try exact ridge machines on 1,000 rows of the first part, with the best map (and the best diagonal
       metric, if the best map has a metric of interactions); of real targets also around a linear trend.
       Compare them with machines over few centres, 1,024 times the root of the share of rows that they train
       on, to see what more functions gain. If they score about as well or better, try the other maps too.
    5. Train the best machine of step 3 and the best exact machines on all rows of all parts. Search their
       settings on up to ``exact_rows`` rows. Settings with more than 1.1 times the least loss of their rung
       do not take part.

    Step 4 is expensive, so it runs only if exact machines may win: if the machine of step 3 gains a standard
    error and a hundredth of its loss from more centres, or has the narrowest kernel; if an exact machine of
    1,000 rows gains as much over few centres; if a narrow one of the 1,500 rows nearest to each of 8 anchors
    gains half an error and a hundredth over the machine of step 3; or if classes are nearly separable, where
    margins may beat likelihoods. It never runs if all rows may be centres, or for more than 1,024 columns.
    With up to 5,000 rows, exact machines that gain nothing in step 4 do not become finalists.

    Exact finalists train on the same rows as machines over centres if one cell can hold all rows. Otherwise
    cells divide the rows, and rows are closer to each other in a cell than in the sample. Exact machines then
    train on all rows ``around`` a few anchors and are compared on held-out rows there. Without ``around``,
    exact ridge machines of the sample take their place.

    The exact machine is chosen if it is better by a standard error and a hundredth of the loss. If the sample
    contains more rows of a rare class than their share, cells will have fewer of them than the sample, while
    a machine over centres has all. The hundredth is then multiplied by the root of this factor.

    Parameters
    ----------
    rows : the sample
    parts : pairs of training and held-out rows of the sample; losses are joined over the pairs. The rungs use
        the first pairs that hold out 600 rows, at most 3
    n_rows : number of all rows
    seed : orders the training rows
    maps : maps to try, simplest first; None: all that suit the number of columns
    linear_map : map of linear machines
    exact_rows : most training rows of exact machines while settings are searched
    cell_rows : most training rows of delivered exact machines
    solve : see :func:`~distkern.choose.finalists.exact`
    around : see :class:`Around`
    """
    ladder = _Ladder(
        rows, _folds(rows, parts, seed, exact_rows), n_rows, exact_rows, cell_rows, solve, around
    )
    at_step("linear machines", 0, 5)
    linear = best(joined([fold.linear(linear_map) for fold in ladder.rung_folds]))
    at_step("kernels at centres", 1, 5)
    maps = maps or rungs.maps_that_differ(rows.features)
    tried, leading = rungs.over_centres(ladder.rung_folds, maps, rungs.KERNELS)
    centred = best(tried)
    at_step("finalists at centres", 2, 5)
    candidates, exact_may_win = ladder.inexact_candidates(linear, tried)
    shown, exact, kinds = [linear, centred], list[TriedMachine](), list[TriedMachine]()
    may_gain = ladder.has_few_centres and linear.score > _NO_LOSS
    is_open = may_gain and (exact_may_win or _is_worth(*ladder.exact_probe(centred)))
    trained: Retrained | None = None
    has_neighbours = False
    if may_gain and not is_open and not ladder.is_dense and around is not None:
        trained, narrow = ladder.neighbour_probe(finalists.simplest(candidates), centred)
        # so few rows are a handicap that a cell will not have
        has_neighbours = _is_worth(narrow, _joined(trained[1]), n_errors=TIE)
    if is_open or has_neighbours:
        at_step("exact machines", 3, 5)
        exact, few = ladder.exact_rung(maps, leading, centred)
        shown += [few, best(exact)]
        if not any(_same_features(few, candidate) for candidate in candidates):
            candidates.append(ladder.delivered(few))
        # 1,000 rows say little about many more
        limit = _EXACT_NEAR_OF_FEW if n_rows <= _FEW_ROWS else _EXACT_NEAR
        if has_neighbours or best(exact).score <= limit * few.score:
            kinds = rungs.best_of_each_kind(exact)
    candidate = finalists.simplest(candidates)
    exact_folds = ladder.exact_folds(kinds[0]) if kinds else []
    near = [] if ladder.is_dense else [fold.held_out for fold in exact_folds]
    inexact, on_near = ladder.retrained(candidate, near) if kinds or trained is None else trained
    expected = finalists.on_all_rows(candidate, inexact, n_rows)
    least_gain = _LEAST_GAIN * math.sqrt(rows.oversampling)
    at_step("exact finalists", 4, 5)
    finalist: TriedMachine | None = None
    wins = False
    if exact_folds:
        search = finalists.search_folds(exact_folds)
        rival = candidate if ladder.is_dense else _joined(on_near[: len(search)])
        settings = rungs.exact_settings(kinds, is_dense=ladder.is_dense)
        found = finalist = finalists.exact(
            search, settings, exact_rows, solve, rival, is_dense=ladder.is_dense
        )
        if found.score < _FAR * rival.score:
            finalist = finalists.exact_on(exact_folds, found, cell_rows, solve)
            if ladder.is_dense:
                # both will train on more rows, from which one may gain more than the other
                wins = _is_worth(finalists.on_all_rows(found, finalist, n_rows), expected, least_gain)
            else:
                finalist, beside = replace(finalist, near=True), replace(_joined(on_near), near=True)
                shown.append(beside)
                wins = _is_worth(finalist, beside, least_gain)
    elif kinds:
        finalist = best(ladder.exact_on_more_rows(exact))
        few = ladder.over_few_centres(centred, finalist, exact_rows)
        wins = _is_worth(finalist, best([few, centred, linear]), least_gain)
    shown += [inexact] if finalist is None else [finalist, inexact]
    return LadderResult(finalist if finalist and wins else inexact, inexact, expected, tuple(shown))


@dataclass(frozen=True)
class _Ladder:
    """A sample in folds, and the sizes of the delivered machines; see :func:`climb`."""

    rows: SampleRows
    folds: list[Fold]
    n_rows: int
    exact_rows: int
    cell_rows: int
    solve: Solve | None
    around: Around | None

    @property
    def first(self) -> Fold:
        """The first fold."""
        return self.folds[0]

    @property
    def rung_folds(self) -> list[Fold]:
        """The folds of the rungs."""
        n_folds = min(_RUNG_FOLDS, math.ceil(_RUNG_ROWS / self.first.held_out.n_rows))
        return self.folds[: max(1, n_folds)]

    @cached_property
    def search_folds(self) -> Sequence[Fold]:
        """The folds that score the ridges of finalists."""
        return finalists.search_folds(self.folds)

    @property
    def search_rows(self) -> int:
        """Most training rows while ridges of finalists are searched."""
        n_outputs = int(self.rows.targets.shape[1])
        return max(rungs.LADDER_ROWS, self.exact_rows * _FEW_OUTPUTS // max(n_outputs, _FEW_OUTPUTS))

    @property
    def has_few_centres(self) -> bool:
        """Whether exact machines have more functions than centres, and not too many columns."""
        n_train = self.first.train.n_rows
        are_few = self.n_centres(min(n_train, rungs.LADDER_ROWS)) < n_train
        return are_few and self.rows.features.shape[1] <= rungs.DIAGONAL_COLUMNS

    @property
    def is_dense(self) -> bool:
        """Whether rows of the sample are about as close to each other as rows of a cell."""
        fits = self.first.train.n_rows <= self.cell_rows
        return fits and self.n_rows <= _DENSE * self.rows.n_rows + rungs.LADDER_ROWS

    def n_centres(self, n_train: int) -> int:
        """Return the number of centres for ``n_train`` rows that corresponds to 1,024 for all rows."""
        # the complexity that data support grows about as the root of the number of rows
        return int(LANDMARKS * math.sqrt(n_train / max(self.n_rows, 1)))

    def delivered(self, tried: TriedMachine) -> TriedMachine:
        """Train a ridge machine with its delivered loss."""
        setting = finalists.as_delivered(tried.setting, self.first.train)
        return finalists.over_centres(self.search_folds, setting, self.search_rows)

    def over_few(
        self, setting: MachineSetting, n_centres: int, n_few: int, start: TriedMachine | None = None
    ) -> tuple[TriedMachine, TriedMachine]:
        """Train a machine with its delivered loss over centres, and over the first few of them."""
        setting = replace(setting, n_centres=n_centres)
        return finalists.with_fewer_centres(self.search_folds, setting, self.search_rows, n_few, start)

    def inexact_candidates(
        self, linear: TriedMachine, tried: Sequence[TriedMachine]
    ) -> tuple[list[TriedMachine], bool]:
        """Train the finalists that are not exact; return them and whether exact machines may win.

        Kernels are compared over 384 centres with their delivered loss. If a third of them hardly changes
        the best one, more centres would not either, and it is delivered with 384. Otherwise it gets 1,024, as
        does the kernel with the least extrapolated score, and the better one is delivered.
        Exact machines have all functions, so they may win if all centres gain over 384 (or over the number
        that corresponds to 1,024 of all rows), if its kernel is the narrowest that was tried, or if classes
        are nearly separable.
        """
        kernels = best_of_each(tried, lambda result: result.kernel.name)
        limit = rungs.NEAR * min(linear.score, kernels[0].score)
        candidates = [self.delivered(linear)] if linear.score <= limit else []
        if kernels[0].score > limit:
            return candidates, False
        starts = [
            finalists.as_delivered(kernel.setting, self.first.train)
            for kernel in kernels
            if kernel.score <= limit
        ]
        pairs = [self.over_few(setting, CENTRES, CENTRES // _FEWER_CENTRES) for setting in starts]
        more, few = min(pairs, key=lambda pair: pair[0].score)
        change, error = mean_difference(few.losses, more.losses)
        if is_open := abs(change) + error > _FLAT * more.score:
            n_few = min(CENTRES, self.n_centres(more.setting.size[0]))
            # another kernel may gain more by more centres
            leaders = {id(one): one for one in (more, min(pairs, key=finalists.extrapolated_score)[0])}
            pairs = [self.over_few(one.setting, LANDMARKS, n_few, one) for one in leaders.values()]
            more, few = min(pairs, key=lambda pair: pair[0].score)
        is_separable = more.score < _SEPARABLE * _loss_of_constants(self.search_folds)
        # narrower kernels need more functions
        is_narrow = more.kernel.width <= min(rungs.WIDTHS)
        return [*candidates, more], (is_open and _is_worth(more, few)) or is_separable or is_narrow

    def exact_probe(self, centred: TriedMachine) -> tuple[TriedMachine, TriedMachine]:
        """Return the best exact machine of 1,000 rows with the map, and the best one over few centres.

        The kernels are that of the machine over centres and the Laplacian, which gains most by more centres.
        """
        kernels = dict.fromkeys([replace(centred.kernel, width=1.0), rungs.LAPLACIAN])
        choice, width = centred.setting.map, centred.kernel.width
        exact = self._exact_of_few_rows([choice], width, list(kernels))
        if self.rows.codes is None:
            exact += rungs.around_trend(self.first, [choice], list(kernels), width, _EXACT_WIDTHS)
        return best(exact), self.over_few_centres(centred, best(exact), rungs.LADDER_ROWS)

    def neighbour_probe(
        self, candidate: TriedMachine, centred: TriedMachine
    ) -> tuple[Retrained, TriedMachine]:
        """Return the candidate as :meth:`retrained` near anchors, and the best narrow exact machine there.

        Rows that resemble a few others, such as those of one person, have these neighbours among all rows and
        seldom in a sample. Narrow machines find them.
        """
        folds = self.near_folds(centred, min(_NEAR_ROWS, self.cell_rows), _NEAR_ANCHORS)
        kernels = [replace(centred.kernel, width=1.0)]
        how = centred.kernel.width, _NARROW_WIDTHS, _NARROW_RIDGES
        narrow = rungs.exact(folds, [centred.setting.map], kernels, *how)
        return self.retrained(candidate, [fold.held_out for fold in folds]), best(narrow)

    def exact_rung(
        self, maps: Sequence[MapChoice], leading: Sequence[MapChoice], centred: TriedMachine
    ) -> tuple[list[TriedMachine], TriedMachine]:
        """Return exact machines of 1,000 rows, and the best machine over few centres of the same rows.

        ``maps`` : all; and the maps that lead over centres
        """
        first = rungs.first_exact(leading)
        exact = self._exact_of_few_rows(first, centred.kernel.width)
        few = self.over_few_centres(centred, best(exact), rungs.LADDER_ROWS)
        if best(exact).score <= _EXACT_NEAR * few.score:
            others = [choice for choice in leading if choice not in first]
            exact += self._exact_of_few_rows(others, centred.kernel.width)
        if self.rows.codes is None:
            exact += rungs.around_trend(self.first, maps, rungs.KERNELS, centred.kernel.width, _EXACT_WIDTHS)
        return exact, few

    def _exact_of_few_rows(
        self, maps: Sequence[MapChoice], width: float, kernels: Sequence[Kernel] = rungs.KERNELS
    ) -> list[TriedMachine]:
        return rungs.exact([self.first], maps, kernels, width, _EXACT_WIDTHS)

    def over_few_centres(self, centred: TriedMachine, exact: TriedMachine, max_rows: int) -> TriedMachine:
        """Return the best machine with the map of ``exact`` and few centres, see :meth:`n_centres`."""
        n_centres = self.n_centres(min(self.first.train.n_rows, max_rows))
        kernels = dict.fromkeys((centred.kernel, exact.kernel))
        pairs = [(exact.setting.map, kernel) for kernel in kernels]
        return best(self.first.over_centres(pairs, max_rows, n_centres))

    def exact_on_more_rows(self, exact: list[TriedMachine]) -> list[TriedMachine]:
        """Train the leading exact machines on up to ``exact_rows`` rows."""
        if self.first.train.n_rows <= rungs.LADDER_ROWS:
            return exact
        tried: list[TriedMachine] = []
        for leader in rungs.leaders(exact):
            ridges = [leader.setting.ridge * factor for factor in _EXACT_RIDGES]
            tried += self.first.over_all_rows(leader.setting.map, leader.kernel, ridges, self.exact_rows)
        return tried

    def exact_folds(self, best: TriedMachine) -> list[Fold]:
        """Return the folds of exact finalists: of the sample, or of rows around anchors in the best map."""
        return self.folds if self.is_dense else self.near_folds(best, self.cell_rows)

    def near_folds(self, best: TriedMachine, n_near: int, n_anchors: int | None = None) -> list[Fold]:
        """Return folds of the rows around anchors in a machine's map; none without ``around``."""
        if self.around is None:
            return []
        mapping, *_ = self.first.of(best.setting).mapped(best.setting.map, self.exact_rows)
        return [self.first.with_rows(*pair) for pair in self.around(mapping, n_near, n_anchors)]

    def retrained(self, candidate: TriedMachine, near: Sequence[SampleRows]) -> Retrained:
        """Train a candidate on all training rows; return its losses on the folds and near anchors."""
        is_done = self.first.train.n_rows <= self.search_rows and not near
        n_done = len(self.search_folds) if is_done else 0
        return finalists.retrained(self.folds, candidate, n_done, near)


def choose_exact(
    rows: SampleRows,
    parts: Parts,
    n_rows: int,
    seed: int,
    *,
    maps: Sequence[MapChoice],
    kernels: Sequence[Kernel],
    ridges: Sequence[float] | None,
    trend: str | None = None,
    is_wide: bool,
    exact_rows: int = EXACT_ROWS,
    cell_rows: int = EXACT_ROWS,
    solve: Solve | None = None,
    around: Around | None = None,
) -> TriedMachine:
    """Choose an exact machine for ``n_rows`` rows from a sample of them.

    Ridge machines over centres choose the maps, and ridge machines over 1,000 rows the kernels. The best of
    them are searched with their delivered loss, as in :func:`climb`.

    Parameters
    ----------
    maps, kernels : maps, simplest first, and kernels to try
    ridges : ridges to try; None: the ridges that suit the targets, and others next to the best
    trend : "linear": around a linear trend of real targets; "auto": if that is better; None: never
    is_wide : whether to search the kernels' widths
    rows, parts, n_rows, seed, exact_rows, cell_rows, solve, around : as in :func:`climb`
    """
    ladder = _Ladder(
        rows, _folds(rows, parts, seed, exact_rows), n_rows, exact_rows, cell_rows, solve, around
    )
    leading, width = list(maps), 1.0
    if len(maps) > 1 or is_wide:
        widths = rungs.WIDTHS if is_wide else (1.0,)
        tried, leading = rungs.over_centres([ladder.first], maps, kernels, widths)
        width = best(tried).kernel.width if is_wide else 1.0
    factors = _ALL_WIDTHS if is_wide else (1.0,)
    exact: list[TriedMachine] = []
    if trend != "linear":
        exact = rungs.exact([ladder.first], leading, kernels, width, factors, ridges)
    if trend is not None:
        exact += rungs.around_trend(ladder.first, maps, kernels, width, factors, ridges)
    kinds = rungs.best_of_each_kind(exact)
    folds = ladder.exact_folds(kinds[0]) or ladder.folds
    found = finalists.exact(
        finalists.search_folds(folds),
        rungs.exact_settings(kinds, is_dense=ladder.is_dense),
        exact_rows,
        solve,
        is_wide=is_wide,
        has_costs=ridges is None,
        is_dense=ladder.is_dense,
    )
    return finalists.exact_on(folds, found, cell_rows, solve)


def _folds(rows: SampleRows, parts: Parts, seed: int, exact_rows: int) -> list[Fold]:
    """Return the parts as folds, with training rows in random order."""
    folds: list[Fold] = []
    # a metric costs as much again for each output
    final_rows = exact_rows if rows.targets.shape[1] <= _FEW_OUTPUTS else 0
    for train, held_out in parts:
        order = np.random.default_rng(seed).permutation(train)
        first = folds[0] if folds else None
        folds.append(Fold(rows.part(order), rows.part(held_out), first, final_rows))
    return folds


def _joined(tried: Sequence[TriedMachine]) -> TriedMachine:
    """Join the losses of one machine on several sets of rows."""
    return joined([[result] for result in tried])[0]


def _same_features(first: TriedMachine, second: TriedMachine) -> bool:
    return (first.setting.map, first.setting.kernel) == (second.setting.map, second.setting.kernel)


def _loss_of_constants(folds: Sequence[Fold]) -> float:
    """Return the mean loss of constants for classes; 0 for real targets, whose machines share one loss."""
    if folds[0].train.codes is None:
        return 0.0
    return float(Likelihood(SampleRows.joined([fold.held_out for fold in folds])).constant_losses().mean())


def _is_worth(
    costly: TriedMachine, cheap: TriedMachine, least_gain: float = _LEAST_GAIN, n_errors: float = _GAIN_ERRORS
) -> bool:
    """Whether the costlier machine is better by ``n_errors`` standard errors and this share of the loss.

    No machine is worth more than one that makes no errors.
    """
    gains = cheap.score > _NO_LOSS and costly.score < (1.0 - least_gain) * cheap.score
    return gains and is_better(costly, cheap, n_errors)
