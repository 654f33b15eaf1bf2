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

from distkern.choose import finalists, rungs
from distkern.choose.choice import best, best_of_each, is_better, not_worse
from distkern.choose.finalists import Solve
from distkern.choose.folds import CENTRE_ROWS, CENTRES, Fold, MachineSetting, TriedMachine, joined
from distkern.choose.likelihoods import Likelihood
from distkern.choose.machines import Kernel, SampleRows
from distkern.core.choices import Compared
from distkern.core.progress import at_step
from distkern.maths.maps.mapping import MapChoice, RowMap

#: pairs of rows to learn from and rows that are held out, all rows near some in the coordinates of a map
Around = Callable[[RowMap], Sequence[tuple[SampleRows, SampleRows]]]

#: the map of linear machines, unless their columns are scaled already
STANDARD = MapChoice("standard")
#: rows of the exact machines, centres of machines on all rows
EXACT_ROWS, _LANDMARKS = 4000, 1024
#: factors of the best width over centres (exact kernels are narrower) and of others, and of the best ridge
_NARROWER, _AROUND, _SHARPER = (1.0, 0.5), (3.0, 1.0, 0.5), (1.0, 0.1)
#: standard errors of a difference, and share of the loss, by which a rung that takes more work must be
#: better: more functions gain more from more rows than few do
_LIKELY, _WORTH = 1.0, 0.01
#: share of the constants' loss below which classes are nearly apart, and losses of margins may do better than
#: likelihoods
_APART = 0.2
#: ratio to the loss over centres up to which exact machines on 1,000 rows become finalists; the same where
#: there are at most 5,000 rows; and that number of rows
_ABOUT, _GAINS, _NOT_MANY = 1.03, 0.995, 5000
#: factor of a rung's least loss up to which its settings become finalists, and factor of another's loss up to
#: which an exact finalist is trained on as many rows as the delivered machine
_NEAR, _FAR = 1.1, 1.3
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
    expected : the losses that this one is expected to have when it has learned from all rows
    rungs : the best of each rung, the cheapest first, and the finalists
    """

    chosen: TriedMachine
    inexact: TriedMachine
    expected: TriedMachine
    rungs: tuple[TriedMachine, ...]

    @property
    def compared(self) -> tuple[Compared, ...]:
        """The rungs as the model keeps them."""
        rows = ((one.setting, one.score, one is self.chosen) for one in self.rungs)
        return tuple(Compared(of.description, loss, *of.size, chosen) for of, loss, chosen in rows)


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
    2. Ridge machines over centres: every transform of the columns with every metric (interactions where
       columns show some) on 1,000 rows of the first part, then the maps that lead with two kernels on 3,000
       rows and 384 centres, then the best two of these with all kernels and widths on all parts. Nothing goes
       on that is worse than the best by more than chance.
    3. Linear machines and those over centres, with the loss that is delivered
       (:mod:`distkern.choose.finalists`): the kernels over 384 centres, and the best one over
       1,024. Exact machines follow only if they can be better: if the same machine over fewer centres loses
       more, by a standard error and a hundredth, here or exact on 1,000 rows; or if classes are nearly apart,
       where margins may do better than likelihoods. Where noise rules they would take half of all work and
       gain nothing. Nor do they follow where all rows may be centres, or for more than 1,024 columns.
    4. On the first part, exact ridge machines of 1,000 rows with the best map (and with the best diagonal
       metric, if that is one of interactions) and, where they are about as good, with the others. Beside them
       stand machines over as few of their rows as 1,024 centres are of all rows, in the root: what more
       functions gain. Exact machines that gain nothing here are no finalists where all rows are up to 5,000.
    5. Finalists on all rows of all parts: the best machine over centres, and the best exact machines. These
       learn from the same rows if one cell has room for them. More rows are divided into cells, in which rows
       are nearer to each other than in a sample: exact machines then learn from all rows ``around`` some
       rows, and are compared with the machine over centres on rows held out there. Without these rows, exact
       ridge machines of the sample stand for them. Only settings with up to 1.1 times the least loss of their
       rung become finalists. Settings are searched on up to ``exact_rows``.

    The exact machine is taken where it is better by more than chance and by a hundredth of the loss. Where
    the sample has more rows of a rare class than their share, a cell of as many rows will have fewer, and a
    machine over centres has all there are: an exact one must be better by the root of that factor times a
    hundredth.

    Parameters
    ----------
    parts : pairs of rows to learn from and rows that are held out; what is lost is joined over the pairs.
        The rungs take as many of them, up to 3, as hold out 600 rows
    maps : those that are tried, the simplest first; None: all that suit the number of columns
    straight_map : of linear machines
    exact_rows : of the exact machines whose settings are searched, at most
    cell_rows : of the exact machines that would be delivered
    solve : see :func:`~distkern.choose.finalists.exact`
    around : makes pairs of rows to learn from and held-out rows, all rows near some of the sample
    """
    everything = _folds(rows, parts, seed)
    folds = everything[: max(1, min(_RUNG_FOLDS, math.ceil(_RUNG_ROWS / everything[0].asked.n_rows)))]
    n_learned, n_outputs = folds[0].learned.n_rows, rows.targets.shape[1]
    walk_rows = max(rungs.LADDER_ROWS, exact_rows * _FEW_OUTPUTS // max(n_outputs, _FEW_OUTPUTS))
    at_step("linear machines", 0, 5)
    straight = best(joined([fold.straight(straight_map) for fold in folds]))
    at_step("kernels at centres", 1, 5)
    tried, leading = rungs.over_centres(folds, maps or rungs.maps_that_differ(rows.features), rungs.KERNELS)
    smooth = best(tried)
    at_step("finalists at centres", 2, 5)
    some = finalists.walked(everything)
    walks, goes_on = _walks(some, straight, tried, walk_rows, n_rows)
    leaders, kinds = [straight, smooth], list[TriedMachine]()
    are_few = _n_centres(min(n_learned, rungs.LADDER_ROWS), n_rows) < n_learned
    is_narrow = rows.features.shape[1] <= rungs.DIAGONAL_COLUMNS
    if is_narrow and are_few and (goes_on or _is_worth(*_probe(folds[0], smooth, n_rows))):
        at_step("exact machines", 3, 5)
        found, few = _exact_rung(folds[0], leading, smooth, n_rows)
        if (few.setting.map, few.setting.kernel) not in [(w.setting.map, w.setting.kernel) for w in walks]:
            begun = finalists.as_delivered(few.setting, folds[0].learned)
            walks.append(finalists.over_centres(some, begun, _LANDMARKS, walk_rows))
        # 1,000 rows say little of many more
        enough = _GAINS if n_rows <= _NOT_MANY else _ABOUT
        if best(found).score <= enough * few.score:
            kinds = rungs.best_of_each_kind(found)
        leaders += [few, best(found)]
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
    finalist, gained = inexact, False
    at_step("exact finalists", 4, 5)
    if kinds and arena:
        some = finalists.walked(arena)
        compared = walked if is_dense else joined([[one] for one in there[: len(some)]])[0]
        few = finalist = finalists.exact(some, _near(kinds, is_dense=is_dense), exact_rows, solve, compared)
        if finalist.score < _FAR * compared.score:
            finalist = finalists.exact_on(arena, finalist, cell_rows, solve)
            if is_dense:
                # both will learn from more rows, of which one may gain more than the other
                gained = _is_worth(_of_all(few, finalist, n_rows), expected, worth)
            else:
                gained = _is_worth(finalist, joined([[one] for one in there])[0], worth)
    elif kinds:
        finalist = best(_of_more_rows(folds[:1], found, exact_rows))
        over_few = _over_few(folds[0], smooth, finalist, exact_rows, n_rows)
        gained = _is_worth(finalist, best([over_few, smooth, straight]), worth)
    leaders += [inexact] if finalist is inexact else [finalist, inexact]
    return LadderResult(finalist if gained else inexact, inexact, expected, tuple(leaders))


def _walks(
    folds: Sequence[Fold], straight: TriedMachine, tried: Sequence[TriedMachine], walk_rows: int, n_rows: int
) -> tuple[list[TriedMachine], bool]:
    """The finalists that are no exact machines, and whether exact machines may be better.

    Kernels are compared over few centres with the loss that is delivered, and the best one gets all centres.
    Exact machines have all functions. So more of them must be worth something: all centres beside 384, or as
    few as they are of all rows. Or another loss must be, which may do better where classes are nearly apart.
    """
    kernels = best_of_each(tried, lambda one: one.kernel.name)
    least = _NEAR * min(straight.score, kernels[0].score)

    def walked(one: TriedMachine) -> TriedMachine:
        begun = finalists.as_delivered(one.setting, folds[0].learned)
        return finalists.over_centres(folds, begun, CENTRES, walk_rows)

    walks = [walked(straight)] if straight.score <= least else []
    if kernels[0].score > least:
        return walks, False
    first = best([walked(one) for one in kernels if one.score <= least])
    n_few = min(CENTRES, _n_centres(first.setting.size[0], n_rows))
    more, few = finalists.beside_fewer(folds, first.setting, _LANDMARKS, walk_rows, n_few)
    return [*walks, more], _is_worth(more, few) or more.score < _APART * _of_constants(folds)


def _probe(fold: Fold, smooth: TriedMachine, n_rows: int) -> tuple[TriedMachine, TriedMachine]:
    """The exact machine of few rows with the best map and kernel over centres, and that over few of them."""
    kinds = [replace(smooth.kernel, width=1.0)]
    found = rungs.exact([fold], [smooth.setting.map], kinds, smooth.kernel.width, _NARROWER)
    return best(found), _over_few(fold, smooth, smooth, rungs.LADDER_ROWS, n_rows)


def _exact_rung(
    fold: Fold, leading: Sequence[MapChoice], smooth: TriedMachine, n_rows: int
) -> tuple[list[TriedMachine], TriedMachine]:
    """Exact machines of few rows, and the best one over as few of these as there will be of all rows."""
    first = rungs.first_exact(leading)
    found = rungs.exact([fold], first, rungs.KERNELS, smooth.kernel.width, _NARROWER)
    few = _over_few(fold, smooth, best(found), rungs.LADDER_ROWS, n_rows)
    if best(found).score <= _ABOUT * few.score:
        others = [choice for choice in leading if choice not in first]
        found += rungs.exact([fold], others, rungs.KERNELS, smooth.kernel.width, _NARROWER)
    return found, few


def _near(kinds: Sequence[TriedMachine], *, is_dense: bool) -> list[MachineSetting]:
    """The kinds that may become finalists: the first ones, and the best one of each other kernel.

    Where cells are denser than the sample, kernels that are poor on few rows may be the best.
    """
    near = [one for one in kinds if one.score <= _NEAR * kinds[0].score]
    of_kernels = best_of_each(near if is_dense else kinds, lambda one: one.kernel.name)
    return list(dict.fromkeys(one.setting for one in [*near[: rungs.BEST_MAPS], *of_kernels]))


def _of_constants(folds: Sequence[Fold]) -> float:
    """The mean loss of constants on classes; 0 for real targets, since all machines share their loss."""
    if folds[0].learned.codes is None:
        return 0.0
    asked = Likelihood(SampleRows.joined([fold.asked for fold in folds]))
    return float(asked.scores(asked.constants + np.zeros_like(asked.wanted)).mean())


def _folds(
    rows: SampleRows, parts: Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]], seed: int
) -> list[Fold]:
    found: list[Fold] = []
    for learned, asked in parts:
        order = np.random.default_rng(seed).permutation(learned)
        found.append(Fold(rows.part(order), rows.part(asked), found[0] if found else None))
    return found


def _of_more_rows(folds: Sequence[Fold], found: list[TriedMachine], most: int) -> list[TriedMachine]:
    """Return the leading exact machines, trained on up to ``most`` rows."""
    if folds[0].learned.n_rows <= rungs.LADDER_ROWS:
        return found
    own = [
        (one.setting.map, one.kernel, [one.setting.ridge * share for share in _SHARPER])
        for one in rungs.leaders(found)
    ]
    return [one for setting in own for one in joined([fold.over_all_rows(*setting, most) for fold in folds])]


def _over_few(fold: Fold, smooth: TriedMachine, exact: TriedMachine, most: int, n_rows: int) -> TriedMachine:
    """Return the best machine with the map of ``exact`` and centres as scarce as 1,024 among all rows."""
    n_centres = _n_centres(min(fold.learned.n_rows, most), n_rows)
    around = [(exact.setting.map, one) for one in dict.fromkeys((smooth.kernel, exact.kernel))]
    return best(fold.over_centres(around, most, n_centres))


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
    fold, leading, width = everything[0], list(maps), 1.0
    if len(maps) > 1 or is_wide:
        tried, leading = rungs.over_centres([fold], maps, kernels, rungs.WIDTHS if is_wide else (1.0,))
        width = best(tried).kernel.width if is_wide else 1.0
    factors = _AROUND if is_wide else (1.0,)
    kinds = rungs.best_of_each_kind(rungs.exact([fold], leading, kernels, width, factors, ridges))
    arena, is_dense = everything, _is_dense(fold, rows, n_rows, cell_rows)
    if around is not None and not is_dense:
        arena = _neighbourhoods(fold, kinds[0], exact_rows, around) or everything
    some = finalists.walked(arena)
    kinds_left, has_costs = _near(kinds, is_dense=is_dense), ridges is None
    found = finalists.exact(some, kinds_left, exact_rows, solve, is_wide=is_wide, has_costs=has_costs)
    return finalists.exact_on(arena, found, cell_rows, solve)


def _is_dense(fold: Fold, rows: SampleRows, n_rows: int, cell_rows: int) -> bool:
    """Whether rows of the sample are about as near each other as those of a cell."""
    return fold.learned.n_rows <= cell_rows and n_rows <= _DENSE * rows.n_rows + rungs.LADDER_ROWS


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
    tried, _ = rungs.over_centres([Fold(rows.part(learned), rows.part(asked))], maps, rungs.KERNELS[:1])
    found = best_of_each(tried, lambda one: one.setting.map)
    return min((one.setting.map for one in not_worse(found)), key=maps.index)


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
    """Return the bytes that :func:`climb` needs for a sample of ``n_rows`` rows."""
    # a matrix of pairs, what it is made of and its factor; kernel values over centres
    pairs = 24 * min(n_rows, exact_rows) ** 2
    centres = 24 * min(n_rows, 2 * CENTRE_ROWS) * _LANDMARKS
    # tiles, and what is loaded of linear algebra
    return 32 * n_rows * n_features + max(pairs, centres) + 48 * 2**20
