"""The ladder by which a machine is chosen: linear, over centres with maps in front, exact.

All are ridge machines in closed form over one sample (:mod:`distkern.search.machines`), so what is compared
is which functions the data ask for, by a proper score of rows that are held out: log loss, squared error. The
choice depends on the rows and the seed alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from distkern.common.choices import Compared
from distkern.common.types import Array, Floats
from distkern.kernels.base import Powers
from distkern.maps.interactions import MOST_COLUMNS, interacting_columns
from distkern.maps.mapping import MapChoice, RowMap
from distkern.maps.metric import MetricKind
from distkern.maps.transform import TransformKind
from distkern.search.choice import Tried as Judged
from distkern.search.choice import best as _best
from distkern.search.choice import best_of_each, is_better, not_worse
from distkern.search.machines import Kernel, Rows, linear, over_all_rows, over_centres

#: exp(-|x - y| / b), the Laplacian of the Euclidean distance, is the Matern kernel of smoothness 1/2
MATERN = Kernel("matern", parameters=(("smoothness", 0.5),))
LAPLACIAN, GAUSSIAN = Kernel("laplacian"), Kernel("rbf")
#: kernels that are tried; the first ``_COARSE`` are tried with all maps, since the best map depends on them
KERNELS, _COARSE = (MATERN, GAUSSIAN, LAPLACIAN), 2
#: weights of |f|^2 against the sum of the losses of rows of weight 1
RIDGES = (0.01, 0.1, 1.0, 10.0, 100.0)
#: weights of |f|^2 for exact machines of real targets, which may have little noise
REAL_RIDGES = (1e-5, 1e-4, 1e-3, *RIDGES)
#: rows of machines over centres, rows of metrics, number of centres, rounds of a metric
_CENTRE_ROWS, _METRIC_ROWS, _CENTRES, _ROUNDS = 3000, 1500, 384, 2
_LEAST_CENTRES = 64
#: rows of the exact machines, and rows on which their settings are chosen
EXACT_ROWS, LADDER_ROWS = 4000, 1000
#: most columns for whole metrics, and for distances in the 1-norm
_FULL_COLUMNS, _CITY_BLOCK_COLUMNS = 256, 128
#: widths that are tried, the widest first, of whose kernel values those of the others are powers
_WIDTHS = (3.0, 1.0, 1 / 3)
#: factors of the best width over centres; exact machines are better with narrower kernels
_NARROWER = (1.0, 0.5)
#: factors of the best ridge on few rows, tried on more rows
_SHARPER = (1.0, 0.1)
_AROUND = (3.0, 1.0, 0.5)
#: maps whose kernels and widths are tried, and maps that have the second kernel on all rows; rows by which
#: all maps are tried first
_BEST_MAPS, _SOME_MAPS, _FEW_ROWS = 2, 4, 1000
#: centres of the machines that are trained on all rows
_LANDMARKS = 1024
#: standard errors of a difference, and share of the loss, by which a rung that takes more work must be
#: better: more functions gain more from more rows than few do
_LIKELY, _WORTH = 1.0, 0.01
#: the same share for exact machines of few rows to be tried on more, where they gain more
_WORTH_MORE_ROWS = 0.005


@dataclass(frozen=True)
class Setting:
    """A machine of the ladder.

    Attributes
    ----------
    kind : "linear", "centres" or "exact"
    map : in front
    kernel : None of the linear one
    ridge : weight of |f|^2 against the sum of the losses
    size : rows that it learned from, and functions: what it cost
    """

    kind: str
    map: MapChoice
    kernel: Kernel | None
    ridge: float
    size: tuple[int, int] = field(default=(0, 0), compare=False)

    @property
    def description(self) -> str:
        """The machine in words."""
        if self.kernel is None:
            return "linear"
        metric = "" if self.map.metric == "none" else f", {self.map.metric} metric"
        columns = "unscaled" if self.map.transform == "none" else self.map.transform
        functions = "exact" if self.kind == "exact" else "over centres"
        return f"{self.kernel.name} {functions}, {columns}{metric}, width {self.kernel.width:.3g}"


@dataclass(frozen=True)
class Tried(Judged[Setting]):
    """A setting, and its losses on the held-out rows."""

    @property
    def kernel(self) -> Kernel:
        """The kernel of a setting that has one."""
        assert self.setting.kernel is not None
        return self.setting.kernel


@dataclass(frozen=True)
class Found:
    """What the ladder chose, beside the best of each rung.

    Attributes
    ----------
    chosen : the setting
    rungs : the best of each kind, the cheapest first
    exact : the best exact machine of 1,000 rows with each map and kernel, the best first
    """

    chosen: Setting
    rungs: tuple[Tried, ...]
    exact: tuple[Tried, ...] = ()

    @property
    def inexact(self) -> Setting:
        """The best setting that is no exact machine."""
        straight, smooth, *_ = self.rungs
        return (smooth if _is_worth(smooth, straight) else straight).setting

    @property
    def compared(self) -> tuple[Compared, ...]:
        """The rungs, as they are kept and told."""
        return tuple(Compared(one.setting.description, one.score, *one.setting.size) for one in self.rungs)


def climb(
    rows: Rows,
    parts: Iterable[tuple[NDArray[np.intp], NDArray[np.intp]]],
    n_rows: int,
    seed: int,
    *,
    maps: Sequence[MapChoice] | None = None,
    exact_rows: int = EXACT_ROWS,
) -> Found:
    """Choose for ``n_rows`` rows, of which ``rows`` are a sample, by the given parts of it.

    1. Linear machines.
    2. Machines over centres: every transform of the columns with every metric, that of interactions where
       columns show some, and two kernels on 1,000 rows of the first part. What leads goes on to all parts,
       3,000 rows and 384 centres, then the best two of these maps with all kernels and widths. Nothing goes
       on that is worse than the best by more than chance.
    3. Exact machines of 1,000 rows with the best of these maps (and with the best diagonal metric, if that is
       one of interactions) and, where they gain half a hundredth, with the others, of which those that lead
       in the same way learn from up to ``exact_rows``. Beside them stand the best machines over as few of
       their rows as 1,024 centres are of all rows, in the root: what more functions gain. Where all rows may
       be centres, this rung is left out.

    A costlier machine is taken where it is better by more than a standard error of the difference and by a
    hundredth of the loss. Where the sample has more rows of a rare class than their share, a cell of as many
    rows will have fewer, and a machine over centres has all there are: an exact one must be better by the
    root of that factor times a hundredth.

    Parameters
    ----------
    parts : pairs of rows to learn from and rows that are held out; what is lost is joined over the pairs
    maps : those that are tried, the simplest first; None: all that suit so many columns
    exact_rows : of the exact machines, at most
    """
    folds = [_Fold(rows.part(_shuffled(one, seed)), rows.part(other)) for one, other in parts]
    n_learned = folds[0].learned.n_rows
    straight = _best(_joined([fold.straight() for fold in folds]))
    tried = _over_centres(folds, maps or _maps_that_differ(rows.features), KERNELS)
    smooth = _best(tried)
    rungs, chosen, kinds = [straight, smooth], smooth, []
    leading = _of_every_metric(tried)
    first = _first_exact(leading)
    if _n_centres(min(n_learned, LADDER_ROWS), n_rows) < n_learned:
        found = _exact(folds, first, KERNELS, smooth.kernel.width, _NARROWER)
        exact = _best(found)
        few = _over_few(folds, smooth, exact, LADDER_ROWS, n_rows)
        if _is_worth(exact, few, _WORTH_MORE_ROWS):
            others = [choice for choice in leading if choice not in first]
            found += _exact(folds, others, KERNELS, smooth.kernel.width, _NARROWER)
            kinds = _best_of_each_kind(found)
            exact = _best(_of_more_rows(folds, found, exact_rows))
            few = _over_few(folds, smooth, exact, exact_rows, n_rows)
            # more rows and centres may ask for another kernel and width
            chosen = _best([few, smooth])
            chosen = exact if _is_worth(exact, chosen, _WORTH * math.sqrt(_enrichment(rows))) else chosen
        rungs += [few, exact]
    chosen = chosen if _is_worth(chosen, straight) else straight
    return Found(chosen.setting, tuple(rungs), tuple(kinds))


def _first_exact(leading: Sequence[MapChoice]) -> list[MapChoice]:
    """The maps whose exact machines say whether these are worth more rows: the first.

    Narrow kernels of a few columns are as good over centres as exact, which says nothing of kernels of all
    columns: a metric of interactions has the first diagonal one beside it.
    """
    first, *others = leading
    beside = [one for one in others if one.metric == "diagonal"] if first.metric == "interactions" else []
    return [first, *beside[:1]]


def _of_more_rows(folds: Sequence[_Fold], found: list[Tried], most: int) -> list[Tried]:
    """The exact machines of few rows that lead, with up to so many rows where there are more."""
    if folds[0].learned.n_rows <= LADDER_ROWS:
        return found
    own = [
        (one.setting.map, one.kernel, [one.setting.ridge * share for share in _SHARPER])
        for one in _leaders(found)
    ]
    return [one for setting in own for one in _joined([fold.over_all_rows(*setting, most) for fold in folds])]


def _over_few(folds: Sequence[_Fold], smooth: Tried, exact: Tried, most: int, n_rows: int) -> Tried:
    """The best machine over as few of so many rows as 1,024 centres are of all, with the map of ``exact``."""
    n_centres = _n_centres(min(folds[0].learned.n_rows, most), n_rows)
    around = [(exact.setting.map, one) for one in dict.fromkeys((smooth.kernel, exact.kernel))]
    return _best(_joined([fold.over_centres(around, most, n_centres) for fold in folds]))


def _n_centres(n_learned: int, n_rows: int) -> int:
    # the complexity that data bear grows about as the root of the number of rows
    return int(_LANDMARKS * math.sqrt(n_learned / max(n_rows, 1)))


def exact_machines(
    rows: Rows,
    part: tuple[NDArray[np.intp], NDArray[np.intp]],
    *,
    maps: Sequence[MapChoice],
    kernels: Sequence[Kernel],
    ridges: Sequence[float] | None = None,
    is_wide: bool,
) -> list[Tried]:
    """Exact machines on up to 1,000 rows with the best two maps and the best one of each kind of metric.

    Parameters
    ----------
    part : rows to learn from, in random order, and rows that are held out
    maps, kernels, ridges : that are tried; of ridges those that suit the targets, if there are none
    is_wide : whether the kernels' widths are searched, or else as they are

    Returns
    -------
    for each of these maps and kernels the best width and ridge, the best first
    """
    learned, asked = part
    fold, leaders, width = _Fold(rows.part(learned), rows.part(asked)), list(maps), 1.0
    if len(maps) > 1 or is_wide:
        tried = _over_centres([fold], maps, kernels, _WIDTHS if is_wide else (1.0,))
        leaders = _of_every_metric(tried)
        width = _best(tried).kernel.width if is_wide else 1.0
    return _best_of_each_kind(_exact([fold], leaders, kernels, width, _AROUND if is_wide else (1.0,), ridges))


def best_map(
    rows: Rows, part: tuple[NDArray[np.intp], NDArray[np.intp]], maps: Sequence[MapChoice]
) -> MapChoice:
    """The map of the best machine over centres, or the first of those that are not worse by more than chance.

    Parameters
    ----------
    part : rows to learn from, in random order, and rows that are held out
    maps : those that are tried, the simplest first
    """
    learned, asked = part
    tried = _over_centres([_Fold(rows.part(learned), rows.part(asked))], maps, KERNELS[:1])
    found = best_of_each(tried, lambda one: one.setting.map)
    return min((one.setting.map for one in not_worse(found)), key=maps.index)


def _over_centres(
    folds: Sequence[_Fold],
    maps: Sequence[MapChoice],
    kernels: Sequence[Kernel],
    widths: Sequence[float] = _WIDTHS,
) -> list[Tried]:
    """The second rung: all maps with two kernels of their own width, then the best with all.

    With many maps the best one of each kind of metric goes on too. Metrics of interactions are left out where
    no columns show any.
    """
    n_features = folds[0].learned.features.shape[1]
    if any(choice.metric == "interactions" for choice in maps) and not len(folds[0].interacting):
        maps = [choice for choice in maps if choice.metric != "interactions"] or maps
    coarse = [(choice, kernel) for choice in maps for kernel in kernels[:_COARSE]]
    if len(maps) > _SOME_MAPS and (folds[0].learned.n_rows > 2 * _FEW_ROWS or len(folds) > 1):
        some = _of_every_metric(folds[0].over_centres(coarse, _FEW_ROWS), _SOME_MAPS)
        coarse = [(choice, kernel) for choice in some for kernel in kernels[:_COARSE]]
    tried = _joined([fold.over_centres(coarse) for fold in folds])
    fine = [
        (choice, kernel)
        for choice in leading_maps(tried)
        for kernel in _suited(n_features, choice, kernels, widths)
        if (choice, kernel) not in coarse
    ]
    return tried + _joined([fold.over_centres(fine) for fold in folds])


def _exact(
    folds: Sequence[_Fold],
    maps: Sequence[MapChoice],
    kernels: Sequence[Kernel],
    width: float,
    factors: Sequence[float],
    ridges: Sequence[float] | None = None,
) -> list[Tried]:
    """Exact machines on few rows with multiples of one width.

    The first of each kind of kernel takes all ridges, and each other those beside the best one of the
    machine before it.
    """
    first = folds[0].learned
    given = ridges or (REAL_RIDGES if first.codes is None else RIDGES)
    found: list[Tried] = []
    beside: dict[str, Sequence[float]] = {}
    for choice in maps:
        for kernel in _suited(first.features.shape[1], choice, kernels, [width * one for one in factors]):
            some = beside.get(kernel.name, given)
            tried = _joined([fold.over_all_rows(choice, kernel, some, LADDER_ROWS) for fold in folds])
            found += tried
            place = given.index(_best(tried).setting.ridge)
            beside[kernel.name] = given[max(place - 1, 0) : place + 2]
    return found


class _Fold:
    """Rows to learn from and rows that are held out, with the maps that were learned from the first."""

    def __init__(self, learned: Rows, asked: Rows) -> None:
        self.learned, self.asked = learned, asked
        self._maps: dict[MapChoice, RowMap] = {}
        # settings of one map follow each other
        self._last: tuple[tuple[MapChoice, int], tuple[RowMap, Rows, Rows]] | None = None

    @cached_property
    def interacting(self) -> NDArray[np.intp]:
        """The columns that metrics of interactions start from."""
        return interacting_columns(self.learned.features, self.learned.targets)

    def straight(self) -> list[Tried]:
        """Linear machines of standardised columns."""
        choice = MapChoice("standard")
        _, learned, asked = self._mapped(choice, self.learned.n_rows)
        size = learned.n_rows, learned.features.shape[1]
        settings = [Setting("linear", choice, None, ridge, size) for ridge in RIDGES]
        return _tried(settings, linear(RIDGES, learned, asked))

    def over_centres(
        self,
        pairs: Sequence[tuple[MapChoice, Kernel]],
        n_rows: int = _CENTRE_ROWS,
        n_centres: int | None = None,
    ) -> list[Tried]:
        """Machines over the first rows as centres; without ``n_centres``, a quarter of the rows."""
        n_learned = min(n_rows, self.learned.n_rows)
        size = min(n_centres or max(_LEAST_CENTRES, min(_CENTRES, n_learned // 4)), n_learned)
        found: list[Tried] = []
        for choice, kernels in groupby(pairs, lambda pair: pair[0]):
            mapping, learned, asked = self._mapped(choice, n_rows)
            values = Powers(), Powers()
            for _, kernel in kernels:
                settings = [Setting("centres", choice, kernel, ridge, (n_learned, size)) for ridge in RIDGES]
                losses = over_centres(kernel.over(mapping), size, RIDGES, learned, asked, values)
                found += _tried(settings, losses)
        return found

    def over_all_rows(
        self, choice: MapChoice, kernel: Kernel, ridges: Sequence[float], n_rows: int
    ) -> list[Tried]:
        """Exact machines on ``n_rows`` rows."""
        mapping, learned, asked = self._mapped(choice, n_rows)
        settings = [Setting("exact", choice, kernel, ridge, 2 * (learned.n_rows,)) for ridge in ridges]
        return _tried(settings, over_all_rows(kernel.over(mapping), ridges, learned, asked))

    def _mapped(self, choice: MapChoice, n_rows: int) -> tuple[RowMap, Rows, Rows]:
        if self._last is not None and self._last[0] == (choice, n_rows):
            return self._last[1]
        learned = self.learned
        if choice not in self._maps:
            part = slice(_METRIC_ROWS)
            columns = self.interacting if choice.metric == "interactions" else None
            self._maps[choice] = RowMap.fit(choice, learned.features[part], learned.targets[part], columns)
        mapping = self._maps[choice]
        some = learned.part(np.arange(min(n_rows, learned.n_rows)))
        mapped = [replace(part, features=mapping.apply(part.features)) for part in (some, self.asked)]
        self._last = (choice, n_rows), (mapping, mapped[0], mapped[1])
        return self._last[1]


def _shuffled(numbers: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    return np.random.default_rng(seed).permutation(numbers)


def maps_of(n_features: int, full_columns: int = _FULL_COLUMNS) -> list[MapChoice]:
    """The maps that suit ``n_features`` columns, the simplest first."""
    metrics: list[MetricKind] = ["none"]
    if n_features <= full_columns:
        metrics += (
            ["diagonal", "interactions", "full"] if n_features <= MOST_COLUMNS else ["diagonal", "full"]
        )
    transforms: list[TransformKind] = ["none", "standard", "normal"]
    if n_features > _FULL_COLUMNS:
        transforms.pop()
    return [MapChoice(transform, metric, _ROUNDS) for metric in metrics for transform in transforms]


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


def _tried(settings: Sequence[Setting], losses: Iterable[Array]) -> list[Tried]:
    return [Tried(setting, found) for setting, found in zip(settings, losses, strict=True)]


def _joined(folds: Sequence[list[Tried]]) -> list[Tried]:
    """The settings with their losses on the held-out rows of all folds."""
    return [
        Tried(same[0].setting, np.concatenate([one.losses for one in same]))
        for same in zip(*folds, strict=True)
    ]


def leading_maps(tried: Sequence[Tried], n_maps: int = _BEST_MAPS) -> list[MapChoice]:
    """The maps of the best settings, without those that are worse than the first by more than chance."""
    return [one.setting.map for one in _leaders(tried, n_maps)]


def _of_every_metric(tried: Sequence[Tried], n_maps: int = _BEST_MAPS) -> list[MapChoice]:
    """The leading maps, and the best one of each kind of metric, as few rows do not tell these apart."""
    of_metrics = best_of_each(tried, lambda one: one.setting.map.metric)
    return list(dict.fromkeys([*leading_maps(tried, n_maps), *(one.setting.map for one in of_metrics)]))


def _best_of_each_kind(tried: Sequence[Tried]) -> list[Tried]:
    """The best setting of each map and kernel, the best first."""
    return best_of_each(tried, lambda one: (one.setting.map, one.kernel.name))


def _leaders(tried: Sequence[Tried], n_maps: int = _BEST_MAPS) -> list[Tried]:
    """The best settings of each of these maps."""
    return not_worse(best_of_each(tried, lambda one: one.setting.map)[:n_maps])


def _is_worth(costly: Tried, cheap: Tried, worth: float = _WORTH) -> bool:
    """Whether the costlier rung is better by a standard error and this share of the loss."""
    return is_better(costly, cheap, _LIKELY) and costly.score < (1.0 - worth) * cheap.score


def _enrichment(rows: Rows) -> float:
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
    centres = 24 * min(n_rows, 2 * _CENTRE_ROWS) * _LANDMARKS
    # tiles, and what is loaded of linear algebra
    return 32 * n_rows * n_features + max(pairs, centres) + 48 * 2**20
