"""The rungs of the ladder: ridge machines in closed form, which compare maps, kernels and widths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from distkern.choose.choice import best, best_of_each, not_worse
from distkern.choose.folds import RIDGES, Fold, TriedMachine, joined
from distkern.choose.machines import Kernel
from distkern.core.types import Floats
from distkern.maths.maps.interactions import MOST_COLUMNS
from distkern.maths.maps.mapping import MapChoice
from distkern.maths.maps.metric import MetricKind
from distkern.maths.maps.transform import TransformKind

#: exp(-|x - y| / b), the Laplacian of the Euclidean distance, is the Matern kernel of smoothness 1/2
MATERN = Kernel("matern", parameters=(("smoothness", 0.5),))
LAPLACIAN, GAUSSIAN = Kernel("laplacian"), Kernel("rbf")
#: kernels that are tried; the first ``_COARSE`` are tried with the maps that lead, since the best map depends
#: on them, and of these the last one with all maps
KERNELS, _COARSE = (MATERN, GAUSSIAN, LAPLACIAN), 2
#: weights of |f|^2 for exact machines of real targets, which may have little noise
REAL_RIDGES = (1e-5, 1e-4, 1e-3, *RIDGES)
#: rounds of a metric but whole ones, which fit few rows too closely in more than one
_ROUNDS = 2
#: rows of exact machines in this rung
LADDER_ROWS = 1000
#: most columns for whole metrics, for diagonal ones, and for distances in the 1-norm
_FULL_COLUMNS, DIAGONAL_COLUMNS, _CITY_BLOCK_COLUMNS = 256, 1024, 128
#: widths that are tried, the widest first, of whose kernel values those of the others are powers
WIDTHS = (3.0, 1.0, 1 / 3)
#: maps whose kernels and widths are tried, and maps that have two kernels on all rows; rows by which all maps
#: are tried first
BEST_MAPS, _SOME_MAPS, _FEW_ROWS = 2, 4, 1000


def over_centres(
    folds: Sequence[Fold],
    maps: Sequence[MapChoice],
    kernels: Sequence[Kernel],
    widths: Sequence[float] = WIDTHS,
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


def exact(
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
            place = given.index(best(tried).setting.ridge)
            beside[kernel.name] = given[max(place - 1, 0) : place + 2]
    return found


def maps_of(n_features: int, full_columns: int = _FULL_COLUMNS) -> list[MapChoice]:
    """The maps that suit ``n_features`` columns, the simplest first."""
    metrics: list[MetricKind] = ["none"]
    if n_features <= DIAGONAL_COLUMNS:
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


def maps_that_differ(features: Floats) -> list[MapChoice]:
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


def leading_maps(tried: Sequence[TriedMachine], n_maps: int = BEST_MAPS) -> list[MapChoice]:
    """The maps of the best settings, without those that are worse than the first by more than chance."""
    return [one.setting.map for one in leaders(tried, n_maps)]


def _of_every_metric(tried: Sequence[TriedMachine], n_maps: int = BEST_MAPS) -> list[MapChoice]:
    """The leading maps, and the best one of each kind of metric, as few rows do not tell these apart."""
    of_metrics = best_of_each(tried, lambda one: one.setting.map.metric)
    return list(dict.fromkeys([*leading_maps(tried, n_maps), *(one.setting.map for one in of_metrics)]))


def best_of_each_kind(tried: Sequence[TriedMachine]) -> list[TriedMachine]:
    """The best setting of each map and kernel, the best first."""
    return best_of_each(tried, lambda one: (one.setting.map, one.kernel.name))


def leaders(tried: Sequence[TriedMachine], n_maps: int = BEST_MAPS) -> list[TriedMachine]:
    """The best settings of each of these maps."""
    return not_worse(best_of_each(tried, lambda one: one.setting.map)[:n_maps])


def first_exact(leading: Sequence[MapChoice]) -> list[MapChoice]:
    """The maps whose exact machines say whether these are worth more rows: the first.

    Narrow kernels of a few columns are as good over centres as exact, which says nothing of kernels of all
    columns: a metric of interactions has the first diagonal one beside it.
    """
    first, *others = leading
    beside = [one for one in others if one.metric == "diagonal"] if first.metric == "interactions" else []
    return [first, *beside[:1]]
