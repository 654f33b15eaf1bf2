"""The ladder by which a machine is chosen: linear, over centres with maps in front, exact.

All are ridge machines in closed form over one sample (:mod:`distkern.choose.machines`), so what is compared
is which functions the data ask for, by a proper score of rows that are held out: log loss, squared error. The
choice depends on the rows and the seed alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from distkern.choose import finalists
from distkern.choose.choice import best as _best
from distkern.choose.choice import best_of_each, is_better, not_worse
from distkern.choose.finalists import Solve
from distkern.choose.folds import CENTRE_ROWS, CENTRES, RIDGES, Fold, MachineSetting, TriedMachine, joined
from distkern.choose.likelihoods import Likelihood
from distkern.choose.machines import Kernel, SampleRows
from distkern.core.choices import Compared
from distkern.core.progress import at_step
from distkern.core.types import Floats
from distkern.maths.maps.interactions import MOST_COLUMNS
from distkern.maths.maps.mapping import MapChoice, RowMap
from distkern.maths.maps.metric import MetricKind
from distkern.maths.maps.transform import TransformKind

#: pairs of rows to learn from and rows that are held out, all rows near some in the coordinates of a map
Around = Callable[[RowMap], Sequence[tuple[SampleRows, SampleRows]]]

#: exp(-|x - y| / b), the Laplacian of the Euclidean distance, is the Matern kernel of smoothness 1/2
MATERN = Kernel("matern", parameters=(("smoothness", 0.5),))
LAPLACIAN, GAUSSIAN = Kernel("laplacian"), Kernel("rbf")
#: kernels that are tried; the first ``_COARSE`` are tried with all maps, since the best map depends on them
KERNELS, _COARSE = (MATERN, GAUSSIAN, LAPLACIAN), 2
#: weights of |f|^2 for exact machines of real targets, which may have little noise
REAL_RIDGES = (1e-5, 1e-4, 1e-3, *RIDGES)
#: rounds of a metric but whole ones, which fit few rows too closely in more than one
_ROUNDS = 2
#: the map of linear machines, unless their columns are scaled already
STANDARD = MapChoice("standard")
#: rows of the exact machines, rows on which their settings are chosen, centres of machines on all rows
EXACT_ROWS, LADDER_ROWS, _LANDMARKS = 4000, 1000, 1024
#: most columns for whole metrics, for diagonal ones, and for distances in the 1-norm
_FULL_COLUMNS, _DIAGONAL_COLUMNS, _CITY_BLOCK_COLUMNS = 256, 1024, 128
#: widths that are tried, the widest first, of whose kernel values those of the others are powers
_WIDTHS = (3.0, 1.0, 1 / 3)
#: factors of the best width over centres (exact kernels are narrower) and of others, and of the best ridge
_NARROWER, _AROUND, _SHARPER = (1.0, 0.5), (3.0, 1.0, 0.5), (1.0, 0.1)
#: maps whose kernels and widths are tried, and maps that have the second kernel on all rows; rows by which
#: all maps are tried first
_BEST_MAPS, _SOME_MAPS, _FEW_ROWS = 2, 4, 1000
#: standard errors of a difference, and share of the loss, by which a rung that takes more work must be
#: better: more functions gain more from more rows than few do
_LIKELY, _WORTH = 1.0, 0.01
#: share of the constants' loss below which classes are nearly apart, and losses of margins may do better than
#: likelihoods; kernels whose machines over centres become finalists
_APART, _BEST_KERNELS = 0.2, 2
#: ratio to the loss over centres up to which exact machines on 1,000 rows become finalists; the same where
#: there are at most 5,000 rows; and that number of rows
_ABOUT, _GAINS, _NOT_MANY = 1.03, 0.995, 5000
#: settings of a rung with up to so many times its least loss become finalists
_NEAR = 1.1
#: rows that the rungs hold out, and most folds for it
_RUNG_ROWS, _RUNG_FOLDS = 600, 3
#: outputs from which on ridges are searched on fewer rows
_FEW_OUTPUTS = 2
#: ratio of rows from which the gain of more rows is measured
_MORE = 1.5
#: times the rows of a sample up to which what machines gain from all rows is known from the sample
_DENSE = 2
#: times the rows of a sample up to which a score on it is one of all rows
KNOWN = 6


@dataclass(frozen=True)
class LadderResult:
    """What the ladder chose, beside what else was tried.

    Attributes
    ----------
    chosen : the finalist that is delivered
    inexact : the best finalist that is no exact machine
    expected : the losses that the chosen one is expected to have when it has learned from all rows
    rungs : the best of each rung, the cheapest first, and the finalists
    """

    chosen: TriedMachine
    inexact: TriedMachine
    expected: TriedMachine
    rungs: tuple[TriedMachine, ...]

    @property
    def compared(self) -> tuple[Compared, ...]:
        """The rungs, as they are kept and told."""
        told = ((one.setting, one.score, one is self.chosen) for one in self.rungs)
        return tuple(Compared(of.description, loss, *of.size, chosen) for of, loss, chosen in told)


def climb(
    rows: SampleRows,
    parts: Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]],
    n_rows: int,
    seed: int,
    *,
    maps: Sequence[MapChoice] | None = None,
    straight_map: MapChoice = STANDARD,
    exact_rows: int = EXACT_ROWS,
    cell_rows: int = EXACT_ROWS,
    solve: Solve | None = None,
    around: Around | None = None,
) -> LadderResult:
    """Choose for ``n_rows`` rows, of which ``rows`` are a sample, by the given parts of it.

    1. Linear machines.
    2. Machines over centres: every transform of the columns with every metric, that of interactions where
       columns show some, and two kernels on 1,000 rows of the first part. What leads goes on to all parts,
       3,000 rows and 384 centres, then the best two of these maps with all kernels and widths. Nothing goes
       on that is worse than the best by more than chance.
    3. On the first part, exact machines of 1,000 rows with the best of these maps (and with the best diagonal
       metric, if that is one of interactions) and, where they are about as good, with the others. Beside them
       stand the best machines over as few of their rows as 1,024 centres are of all rows, in the root: what
       more functions gain. Where all rows may be centres, this rung is left out. Exact machines that gain
       nothing here are no finalists where all rows are up to 5,000.
    4. Finalists, trained as they would be delivered (:mod:`distkern.choose.finalists`): linear machines and
       those over centres, on all rows of all parts, and the best two exact machines. These learn from the
       same rows if one cell has room for them. More rows are divided into cells, in which rows are nearer to
       each other than in a sample: exact machines then learn from all rows ``around`` some rows, and are
       compared with the machine over centres on rows held out there. Without these rows, exact ridge
       machines of the sample stand for them. Only settings with up to 1.1 times the least loss of their rung
       become finalists. Settings are searched on up to ``exact_rows``.

    The exact machine is taken where it is better by more than chance and by a hundredth of the loss. Where
    the sample has more rows of a rare class than their share, a cell of as many rows will have fewer, and a
    machine over centres has all there are: an exact one must be better by the root of that factor times a
    hundredth.

    Parameters
    ----------
    parts : pairs of rows to learn from and rows that are held out; what is lost is joined over the pairs.
        The rungs take as many of them, up to 3, as hold out 600 rows
    maps : those that are tried, the simplest first; None: all that suit so many columns
    straight_map : of linear machines
    exact_rows : of the exact machines whose settings are searched, at most
    cell_rows : of the exact machines that would be delivered
    solve : see :func:`~distkern.choose.finalists.exact`
    around : makes pairs of rows to learn from and held-out rows, all rows near some of the sample
    """
    everything = _folds(rows, parts, seed)
    folds = everything[: max(1, min(_RUNG_FOLDS, math.ceil(_RUNG_ROWS / everything[0].asked.n_rows)))]
    n_learned = folds[0].learned.n_rows
    at_step("linear machines", 0, 5)
    straight = _best(joined([fold.straight(straight_map) for fold in folds]))
    at_step("kernels at centres", 1, 5)
    tried, leading = _over_centres(folds, maps or _maps_that_differ(rows.features), KERNELS)
    smooth = _best(tried)
    rungs, kinds = [straight, smooth], list[TriedMachine]()
    some, n_outputs = finalists.walked(everything), rows.targets.shape[1]
    walk_rows = max(LADDER_ROWS, exact_rows * _FEW_OUTPUTS // max(n_outputs, _FEW_OUTPUTS))

    def walked_at(setting: MachineSetting, n_centres: int = _LANDMARKS) -> TriedMachine:
        return finalists.over_centres(some, setting, n_centres, walk_rows)

    at_step("finalists at centres", 2, 5)
    # ridge machines do not say which kernel is the best with another loss
    kernels = not_worse(best_of_each(tried, lambda one: one.kernel.name), _LIKELY)[:_BEST_KERNELS]
    least = _NEAR * min(straight.score, smooth.score)
    wanted = [finalists.as_delivered(one.setting, rows) for one in (straight, *kernels) if one.score <= least]
    fewer = [walked_at(one, CENTRES) for one in wanted]
    walks = [one for one in fewer if one.setting.kernel is None]
    goes_on = False
    if len(walks) < len(fewer):
        few = _best(one for one in fewer if one.setting.kernel is not None)
        walks.append(walked_at(few.setting) if n_learned > CENTRES else few)
        # exact machines have all functions, of which more must be worth something, and another loss
        goes_on = _is_worth(walks[-1], few) or walks[-1].score < _APART * _of_constants(some)
    first = _first_exact(leading)
    if goes_on and _n_centres(min(n_learned, LADDER_ROWS), n_rows) < n_learned:
        alone = folds[:1]
        at_step("exact machines", 3, 5)
        found = _exact(alone, first, KERNELS, smooth.kernel.width, _NARROWER)
        exact, few = _best(found), _over_few(alone, smooth, _best(found), LADDER_ROWS, n_rows)
        if all((one.map, one.kernel) != (few.setting.map, few.kernel) for one in (w.setting for w in walks)):
            walks.append(walked_at(finalists.as_delivered(few.setting, rows)))
        if exact.score <= _ABOUT * few.score:
            others = [choice for choice in leading if choice not in first]
            found += _exact(alone, others, KERNELS, smooth.kernel.width, _NARROWER)
        # 1,000 rows say little of many more
        enough = _GAINS if n_rows <= _NOT_MANY else _ABOUT
        if _best(found).score <= enough * few.score:
            kinds = _best_of_each_kind(found)
        rungs += [few, _best(found)]
    # the simpler one of those that cannot be told apart
    walked = finalists.first_near(walks)
    is_dense = _is_dense(everything[0], rows, n_rows, cell_rows)
    arena = everything
    if not is_dense:
        arena = _neighbourhoods(everything[0], kinds[0], exact_rows, around) if kinds and around else []
    near = [] if is_dense else [one.asked for one in arena]
    n_known = len(some) if n_learned <= walk_rows and not near else 0
    inexact, there = finalists.on_more(everything, walked, n_known, _LANDMARKS, near)
    expected = _of_all(walked, inexact, n_rows)
    worth = _WORTH * math.sqrt(_enrichment(rows))
    finalist: TriedMachine | None = None
    gained = False
    at_step("exact finalists", 4, 5)
    if kinds and arena:
        some = finalists.walked(arena)
        compared = walked if is_dense else joined([[one] for one in there[: len(some)]])[0]
        few = finalist = finalists.exact(some, _near(kinds, is_dense=is_dense), exact_rows, solve, compared)
        if not is_better(compared, finalist):
            finalist = finalists.exact_on(arena, finalist, cell_rows, solve)
            if is_dense:
                # both will learn from more rows, of which one may gain more than the other
                gained = _is_worth(_of_all(few, finalist, n_rows), expected, worth)
            else:
                gained = _is_worth(finalist, joined([[one] for one in there])[0], worth)
        if gained and not is_dense:
            # rows near some are no sample of all rows
            expected = finalists.exact_on(everything[:1], finalist, cell_rows, solve)
            if expected.setting.size[0] >= _MORE * walk_rows:
                few = finalists.exact_on(everything[:1], finalist, walk_rows, solve)
                expected = _of_all(few, expected, n_rows)
        elif gained:
            expected = _of_all(few, finalist, n_rows)
    elif kinds:
        finalist = _best(_of_more_rows(alone, found, exact_rows))
        over_few = _over_few(alone, smooth, finalist, exact_rows, n_rows)
        gained = _is_worth(finalist, _best([over_few, smooth, straight]), worth)
        expected = finalist if gained else expected
    rungs += [inexact] if finalist is None else [finalist, inexact]
    return LadderResult(finalist if finalist and gained else inexact, inexact, expected, tuple(rungs))


def _near(kinds: Sequence[TriedMachine], *, is_dense: bool) -> list[MachineSetting]:
    """The kinds that may become finalists: the first ones, and the best one of each other kernel.

    Where cells are denser than the sample, kernels that are poor on few rows may be the best.
    """
    near = [one for one in kinds if one.score <= _NEAR * kinds[0].score]
    of_kernels = best_of_each(near if is_dense else kinds, lambda one: one.kernel.name)
    return list(dict.fromkeys(one.setting for one in [*near[:_BEST_MAPS], *of_kernels]))


def _of_constants(folds: Sequence[Fold]) -> float:
    """The mean loss of constants on classes; 0 of real targets, which all machines have the same loss of."""
    if folds[0].learned.codes is None:
        return 0.0
    constants = Likelihood(folds[0].learned).constants
    return float(
        np.mean(
            [
                Likelihood(fold.asked).scores(constants + np.zeros((fold.asked.n_rows, 1))).mean()
                for fold in folds
            ]
        )
    )


def _folds(
    rows: SampleRows, parts: Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]], seed: int
) -> list[Fold]:
    found: list[Fold] = []
    for learned, asked in parts:
        order = np.random.default_rng(seed).permutation(learned)
        found.append(Fold(rows.part(order), rows.part(asked), found[0] if found else None))
    return found


def _first_exact(leading: Sequence[MapChoice]) -> list[MapChoice]:
    """The maps whose exact machines say whether these are worth more rows: the first.

    Narrow kernels of a few columns are as good over centres as exact, which says nothing of kernels of all
    columns: a metric of interactions has the first diagonal one beside it.
    """
    first, *others = leading
    beside = [one for one in others if one.metric == "diagonal"] if first.metric == "interactions" else []
    return [first, *beside[:1]]


def _of_more_rows(folds: Sequence[Fold], found: list[TriedMachine], most: int) -> list[TriedMachine]:
    """The exact machines of few rows that lead, with up to so many rows where there are more."""
    if folds[0].learned.n_rows <= LADDER_ROWS:
        return found
    own = [
        (one.setting.map, one.kernel, [one.setting.ridge * share for share in _SHARPER])
        for one in _leaders(found)
    ]
    return [one for setting in own for one in joined([fold.over_all_rows(*setting, most) for fold in folds])]


def _over_few(
    folds: Sequence[Fold], smooth: TriedMachine, exact: TriedMachine, most: int, n_rows: int
) -> TriedMachine:
    """The best machine over as few of so many rows as 1,024 centres are of all, with the map of ``exact``."""
    n_centres = _n_centres(min(folds[0].learned.n_rows, most), n_rows)
    around = [(exact.setting.map, one) for one in dict.fromkeys((smooth.kernel, exact.kernel))]
    return _best(joined([fold.over_centres(around, most, n_centres) for fold in folds]))


def _n_centres(n_learned: int, n_rows: int) -> int:
    # the complexity that data bear grows about as the root of the number of rows
    return int(_LANDMARKS * math.sqrt(n_learned / max(n_rows, 1)))


def choose_exact(
    rows: SampleRows,
    parts: Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]],
    n_rows: int,
    seed: int,
    *,
    maps: Sequence[MapChoice],
    kernels: Sequence[Kernel],
    ridges: Sequence[float] | None,
    is_wide: bool,
    exact_rows: int = EXACT_ROWS,
    cell_rows: int = EXACT_ROWS,
    solve: Solve | None = None,
    around: Around | None = None,
) -> TriedMachine:
    """Choose an exact machine, by the given parts of a sample and the rows around some of its rows.

    Ridge machines over 1,000 rows find the best two maps, the best one of each kind of metric, and kernels
    for these. The best two of them are searched further as they would be delivered, as in :func:`climb`.

    Parameters
    ----------
    maps, kernels : that are tried
    ridges : that are tried; None: those that suit the targets, and others beside the best
    is_wide : whether the kernels' widths are searched, or else as they are
    parts, n_rows, exact_rows, cell_rows, solve, around : as of :func:`climb`
    """
    everything = _folds(rows, parts, seed)
    fold, leaders, width = everything[0], list(maps), 1.0
    if len(maps) > 1 or is_wide:
        tried, leaders = _over_centres([fold], maps, kernels, _WIDTHS if is_wide else (1.0,))
        width = _best(tried).kernel.width if is_wide else 1.0
    factors = _AROUND if is_wide else (1.0,)
    kinds = _best_of_each_kind(_exact([fold], leaders, kernels, width, factors, ridges))
    arena, is_dense = (
        everything,
        fold.learned.n_rows <= cell_rows and n_rows <= _DENSE * rows.n_rows + _FEW_ROWS,
    )
    if around is not None and not is_dense:
        arena = _neighbourhoods(fold, kinds[0], exact_rows, around) or everything
    some = finalists.walked(arena)
    kinds_left, has_costs = _near(kinds, is_dense=is_dense), ridges is None
    found = finalists.exact(some, kinds_left, exact_rows, solve, is_wide=is_wide, has_costs=has_costs)
    return finalists.exact_on(arena, found, cell_rows, solve)


def _is_dense(fold: Fold, rows: SampleRows, n_rows: int, cell_rows: int) -> bool:
    """Whether rows of the sample are about as near each other as those of a cell."""
    return fold.learned.n_rows <= cell_rows and n_rows <= _DENSE * rows.n_rows + _FEW_ROWS


def _neighbourhoods(fold: Fold, best: TriedMachine, exact_rows: int, around: Around) -> list[Fold]:
    """The rows around some, in the coordinates of the best map."""
    mapping, *_ = fold.mapped(best.setting.map, exact_rows)
    return [fold.beside(*pair) for pair in around(mapping)]


def best_map(
    rows: SampleRows, part: tuple[NDArray[np.intp], NDArray[np.intp]], maps: Sequence[MapChoice]
) -> MapChoice:
    """The map of the best machine over centres, or the first of those that are not worse by more than chance.

    Parameters
    ----------
    part : rows to learn from, in random order, and rows that are held out
    maps : those that are tried, the simplest first
    """
    learned, asked = part
    tried, _ = _over_centres([Fold(rows.part(learned), rows.part(asked))], maps, KERNELS[:1])
    found = best_of_each(tried, lambda one: one.setting.map)
    return min((one.setting.map for one in not_worse(found)), key=maps.index)


def _over_centres(
    folds: Sequence[Fold],
    maps: Sequence[MapChoice],
    kernels: Sequence[Kernel],
    widths: Sequence[float] = _WIDTHS,
) -> tuple[list[TriedMachine], list[MapChoice]]:
    """The second rung: of many maps those that lead with one kernel on few rows, of these the best two with
    two kernels, and these with all kernels and widths, on all folds.

    With many maps the best one of each kind of metric goes on too. Metrics of interactions are left out where
    no columns show any.

    Returns
    -------
    the machines on all folds; and the maps that lead on the first fold, and the best one of each metric
    """
    first, *others = folds
    if any(choice.metric == "interactions" for choice in maps) and not len(first.interacting):
        maps = [choice for choice in maps if choice.metric != "interactions"] or maps
    if len(maps) > _SOME_MAPS and (first.learned.n_rows > 2 * _FEW_ROWS or others):
        of_one = [(choice, kernels[:_COARSE][-1]) for choice in maps]
        maps = _of_every_metric(first.over_centres(of_one, _FEW_ROWS), _SOME_MAPS)
    coarse = [(choice, kernel) for choice in maps for kernel in kernels[:_COARSE]]
    tried = first.over_centres(coarse)
    leading = _of_every_metric(tried)
    best_maps = leading_maps(tried)
    if others:
        coarse = [pair for pair in coarse if pair[0] in best_maps]
        known = [one for one in tried if one.setting.map in best_maps]
        tried = joined([known, *(fold.over_centres(coarse) for fold in others)])
    fine = [
        (choice, kernel)
        for choice in best_maps
        for kernel in _suited(first.learned.features.shape[1], choice, kernels, widths)
        if (choice, kernel) not in coarse
    ]
    tried += joined([fold.over_centres(fine) for fold in folds])
    return tried, leading


def _exact(
    folds: Sequence[Fold],
    maps: Sequence[MapChoice],
    kernels: Sequence[Kernel],
    width: float,
    factors: Sequence[float],
    ridges: Sequence[float] | None = None,
) -> list[TriedMachine]:
    """Exact machines on few rows with multiples of one width.

    The first of each kind of kernel takes all ridges, and each other those beside the best one of the
    machine before it.
    """
    first = folds[0].learned
    given = ridges or (REAL_RIDGES if first.codes is None else RIDGES)
    found: list[TriedMachine] = []
    beside: dict[str, Sequence[float]] = {}
    for choice in maps:
        for kernel in _suited(first.features.shape[1], choice, kernels, [width * one for one in factors]):
            some = beside.get(kernel.name, given)
            tried = joined([fold.over_all_rows(choice, kernel, some, LADDER_ROWS) for fold in folds])
            found += tried
            place = given.index(_best(tried).setting.ridge)
            beside[kernel.name] = given[max(place - 1, 0) : place + 2]
    return found


def maps_of(n_features: int, full_columns: int = _FULL_COLUMNS) -> list[MapChoice]:
    """The maps that suit ``n_features`` columns, the simplest first."""
    metrics: list[MetricKind] = ["none"]
    if n_features <= _DIAGONAL_COLUMNS:
        metrics.append("diagonal")
    if n_features <= min(full_columns, MOST_COLUMNS):
        metrics.append("interactions")
    if n_features <= full_columns:
        metrics.append("full")
    transforms: list[TransformKind] = ["none", "standard", "normal"]
    if n_features > _FULL_COLUMNS:
        transforms.pop()
    return [
        MapChoice(transform, metric, 1 if metric == "full" else _ROUNDS)
        for metric in metrics
        for transform in transforms
    ]


def _maps_that_differ(features: Floats) -> list[MapChoice]:
    """The maps that suit the columns: of two values, "normal" makes what "standard" does but for the unit."""
    known = maps_of(features.shape[1])
    is_end = (features == features.min(axis=0)) | (features == features.max(axis=0))
    return [one for one in known if one.transform != "normal"] if is_end.all() else known


def _suited(
    n_features: int, choice: MapChoice, kernels: Sequence[Kernel], widths: Sequence[float]
) -> list[Kernel]:
    """Kernels of these times their own width; of several none in the 1-norm of mixed or of many columns."""
    is_slow = n_features > _CITY_BLOCK_COLUMNS or choice.is_full
    kinds = [kind for kind in kernels if kind.name != LAPLACIAN.name or not is_slow] or list(kernels)
    return [replace(kind, width=kind.width * width) for kind in kinds for width in widths]


def leading_maps(tried: Sequence[TriedMachine], n_maps: int = _BEST_MAPS) -> list[MapChoice]:
    """The maps of the best settings, without those that are worse than the first by more than chance."""
    return [one.setting.map for one in _leaders(tried, n_maps)]


def _of_every_metric(tried: Sequence[TriedMachine], n_maps: int = _BEST_MAPS) -> list[MapChoice]:
    """The leading maps, and the best one of each kind of metric, as few rows do not tell these apart."""
    of_metrics = best_of_each(tried, lambda one: one.setting.map.metric)
    return list(dict.fromkeys([*leading_maps(tried, n_maps), *(one.setting.map for one in of_metrics)]))


def _best_of_each_kind(tried: Sequence[TriedMachine]) -> list[TriedMachine]:
    """The best setting of each map and kernel, the best first."""
    return best_of_each(tried, lambda one: (one.setting.map, one.kernel.name))


def _leaders(tried: Sequence[TriedMachine], n_maps: int = _BEST_MAPS) -> list[TriedMachine]:
    """The best settings of each of these maps."""
    return not_worse(best_of_each(tried, lambda one: one.setting.map)[:n_maps])


def _of_all(few: TriedMachine, more: TriedMachine, n_rows: int) -> TriedMachine:
    """A machine with the losses that are expected once it has learned from all rows, and not from ``more``.

    A power law goes through the losses with fewer rows and with more, on the held-out rows that both have.
    """
    return replace(more, losses=more.losses * _gain(few, more, n_rows))


def _gain(few: TriedMachine, more: TriedMachine, n_rows: int) -> float:
    n_few, n_more = few.setting.size[0], more.setting.size[0]
    if n_more < _MORE * n_few or n_rows <= n_more:
        return 1.0
    before, after = few.score, float(more.losses[: len(few.losses)].mean())
    if not 0.0 < after < before:
        return 1.0
    return float((n_rows / n_more) ** (math.log(after / before) / math.log(n_more / n_few)))


def _is_worth(costly: TriedMachine, cheap: TriedMachine, worth: float = _WORTH) -> bool:
    """Whether the costlier rung is better by a standard error and this share of the loss."""
    return is_better(costly, cheap, _LIKELY) and costly.score < (1.0 - worth) * cheap.score


def _enrichment(rows: SampleRows) -> float:
    """How many times its share of the rows the sample has of the class of which it has most so, at least 1.

    Rows of such a class weigh less than the mean, which is 1.
    """
    if rows.codes is None:
        return 1.0
    counts = np.bincount(rows.codes)
    sums = np.bincount(rows.codes, weights=rows.weights)
    return max(1.0, float(np.max(counts[counts > 0] / sums[counts > 0])))


def memory_of(n_rows: int, n_features: int, exact_rows: int) -> int:
    """Bytes that :func:`climb` takes for a sample of so many rows, which it holds and maps."""
    # a matrix of pairs, what it is made of and its factor; kernel values over centres
    pairs = 24 * min(n_rows, exact_rows) ** 2
    centres = 24 * min(n_rows, 2 * CENTRE_ROWS) * _LANDMARKS
    # tiles, and what is loaded of linear algebra
    return 32 * n_rows * n_features + max(pairs, centres) + 48 * 2**20
