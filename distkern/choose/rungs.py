"""The rungs of the ladder: ridge machines in closed form that compare maps, kernels and widths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from distkern.choose import machines
from distkern.choose.choice import best, best_of_each, not_worse
from distkern.choose.folds import RIDGES, Fold, MachineSetting, TriedMachine, joined
from distkern.choose.machines import Kernel, SampleRows
from distkern.core.types import Floats
from distkern.maths.maps.interactions import MOST_COLUMNS
from distkern.maths.maps.mapping import MapChoice
from distkern.maths.maps.metric import MetricKind
from distkern.maths.maps.transform import TransformKind

#: exp(-|x - y| / b), the Laplacian of the Euclidean distance, is the Matern kernel with smoothness 1/2
MATERN = Kernel("matern", parameters=(("smoothness", 0.5),))
LAPLACIAN, GAUSSIAN = Kernel("laplacian"), Kernel("rbf")
#: kernels tried; all maps are tried with the Gaussian, the leading maps with the first ``_COARSE`` kernels,
#: since the best map depends on the kernel
KERNELS, _COARSE = (MATERN, GAUSSIAN, LAPLACIAN), 2
#: ridges of exact machines for real targets, which may have little noise
REAL_RIDGES = (1e-5, 1e-4, 1e-3, *RIDGES)
#: rounds of diagonal metrics; full ones overfit few rows in more than one round
_ROUNDS = 2
#: training rows of exact machines on their rung
LADDER_ROWS = 1000
#: most columns for full metrics, for diagonal metrics, and for kernels of the 1-norm
_FULL_COLUMNS, DIAGONAL_COLUMNS, _CITY_BLOCK_COLUMNS = 256, 1024, 128
#: widths tried, widest first, so that kernel values of the others are powers of the first
WIDTHS = (3.0, 1.0, 1 / 3)
#: maps tried with all kernels and widths, and maps tried with two kernels
BEST_MAPS, _LEADING_MAPS = 2, 4
#: settings become finalists up to this multiple of the least loss of their rung
NEAR = 1.1
#: training rows on which all maps are tried
_FEW_ROWS = 1000


def over_centres(
    folds: Sequence[Fold],
    maps: Sequence[MapChoice],
    kernels: Sequence[Kernel],
    widths: Sequence[float] = WIDTHS,
) -> tuple[list[TriedMachine], list[MapChoice]]:
    """Try machines over centres with fewer and fewer maps.

    1. If there are more than four maps, all with the Gaussian kernel on 1,000 rows of the first fold. The
       best four continue, and the best of each kind of metric.
    2. The remaining maps with two kernels on 3,000 rows of the first fold.
    3. The best two maps with two kernels on the other folds.
    4. The best two maps with all kernels and widths on all folds, and the best map for a kernel that suits
       neither.

    Maps of interactions are skipped if the columns show none.

    Returns
    -------
    the machines tried on all folds; and the leading maps of step 2 with the best of each kind of metric
    """
    first, *others = folds
    maps = _possible(first, maps)
    if len(maps) > _LEADING_MAPS and (first.train.n_rows > 2 * _FEW_ROWS or others):
        pairs = [(choice, kernels[:_COARSE][-1]) for choice in maps]
        maps = _of_every_metric(first.over_centres(pairs, _FEW_ROWS), _LEADING_MAPS)
    coarse = [(choice, kernel) for choice in maps for kernel in kernels[:_COARSE]]
    tried = first.over_centres(coarse)
    leading = _of_every_metric(tried)
    best_maps = leading_maps(tried)
    if others:
        coarse = [pair for pair in coarse if pair[0] in best_maps]
        on_first = [result for result in tried if result.setting.map in best_maps]
        tried = joined([on_first, *(fold.over_centres(coarse) for fold in others)])
    n_features = first.train.features.shape[1]
    suitable = {choice: _suitable(n_features, choice, kernels, widths) for choice in leading}
    fine = [(choice, kernel) for choice in best_maps for kernel in suitable[choice]]
    for kernel in kernels:
        if all(suited.name != kernel.name for _, suited in fine):
            pairs = [
                (choice, one) for choice in leading for one in suitable[choice] if one.name == kernel.name
            ]
            fine += pairs[: len(widths)]
    fine = [pair for pair in fine if pair not in coarse]
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
    """Try exact machines on 1,000 rows, with ``width`` times each factor.

    The first machine of each kernel tries all ridges, the next ones the previous best and its neighbours.

    Parameters
    ----------
    ridges : None: the ridges that suit the targets
    """
    train = folds[0].train
    all_ridges = ridges or (REAL_RIDGES if train.codes is None else RIDGES)
    tried: list[TriedMachine] = []
    neighbours: dict[str, Sequence[float]] = {}
    for choice in maps:
        for kernel in _suitable(train.features.shape[1], choice, kernels, [width * one for one in factors]):
            some = neighbours.get(kernel.name, all_ridges)
            results = joined([fold.over_all_rows(choice, kernel, some, LADDER_ROWS) for fold in folds])
            tried += results
            place = all_ridges.index(best(results).setting.ridge)
            neighbours[kernel.name] = all_ridges[max(place - 1, 0) : place + 2]
    return tried


def around_trend(
    fold: Fold,
    maps: Sequence[MapChoice],
    kernels: Sequence[Kernel],
    width: float,
    factors: Sequence[float],
    ridges: Sequence[float] | None = None,
) -> list[TriedMachine]:
    """Try the machines of :func:`exact` on what a linear trend leaves, with the two maps that suit it best.

    The maps are compared over centres with the first kernel on 1,000 rows.
    """
    rest = fold.around_trend
    leading = leading_maps(rest.over_centres([(one, kernels[0]) for one in _possible(rest, maps)], _FEW_ROWS))
    tried = exact([rest], leading, kernels, width, factors, ridges)
    return [replace(one, setting=replace(one.setting, has_trend=True)) for one in tried]


def _possible(fold: Fold, maps: Sequence[MapChoice]) -> Sequence[MapChoice]:
    """Return the maps without those of interactions if the columns show none."""
    if any(choice.metric == "interactions" for choice in maps) and not len(fold.interacting):
        return [choice for choice in maps if choice.metric != "interactions"] or maps
    return maps


def maps_of(n_features: int, full_columns: int = _FULL_COLUMNS) -> list[MapChoice]:
    """Return the maps that suit ``n_features`` columns, simplest first."""
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
    """Return the maps that suit the columns.

    If every column is binary, "normal" is left out, since it equals "standard" up to the unit.
    """
    maps = maps_of(features.shape[1])
    is_extreme = (features == features.min(axis=0)) | (features == features.max(axis=0))
    return [choice for choice in maps if choice.transform != "normal"] if is_extreme.all() else maps


def _suitable(
    n_features: int, choice: MapChoice, kernels: Sequence[Kernel], widths: Sequence[float]
) -> list[Kernel]:
    """Return the kernels with each width.

    Mixed or many columns drop the Laplacian of the 1-norm, unless it is the only kernel.
    """
    is_slow = n_features > _CITY_BLOCK_COLUMNS or choice.is_full
    fast = [kernel for kernel in kernels if kernel.name != LAPLACIAN.name or not is_slow] or list(kernels)
    return [replace(kernel, width=kernel.width * width) for kernel in fast for width in widths]


def compiles_city_block(n_centres: int, n_features: int) -> bool:
    """Return whether Laplacians of that many rows and centres may load compiled loops."""
    return n_features <= _CITY_BLOCK_COLUMNS and n_centres**2 * n_features > machines.FEW_DIFFERENCES


def leading_maps(tried: Sequence[TriedMachine], n_maps: int = BEST_MAPS) -> list[MapChoice]:
    """Return the maps of the best settings that are not significantly worse than the first."""
    return [result.setting.map for result in leaders(tried, n_maps)]


def _of_every_metric(tried: Sequence[TriedMachine], n_maps: int = BEST_MAPS) -> list[MapChoice]:
    """Return the leading maps and the best of each kind of metric, which few rows cannot rank."""
    of_metrics = best_of_each(tried, lambda result: result.setting.map.metric)
    maps = [*leading_maps(tried, n_maps), *(result.setting.map for result in of_metrics)]
    return list(dict.fromkeys(maps))


def best_of_each_kind(tried: Sequence[TriedMachine]) -> list[TriedMachine]:
    """Return the best setting of each map and kernel, with and without a trend, best first."""
    return best_of_each(tried, lambda result: result.setting.kind_of_features)


def exact_settings(kinds: Sequence[TriedMachine], *, is_dense: bool) -> list[MachineSetting]:
    """Return the settings that may become finalists: the best two kinds, the best of each kernel, and the
    best with and without a trend.

    Settings far from the best are dropped, except the best of each kernel where cells are denser than the
    sample: a kernel that is poor on few rows may be the best there.
    """
    near = [kind for kind in kinds if kind.score <= NEAR * kinds[0].score]
    of_kernels = best_of_each(near if is_dense else kinds, lambda kind: kind.kernel.name)
    of_trends = best_of_each(near, lambda kind: kind.setting.has_trend)
    return list(dict.fromkeys(kind.setting for kind in [*near[:BEST_MAPS], *of_kernels, *of_trends]))


def leaders(tried: Sequence[TriedMachine], n_maps: int = BEST_MAPS) -> list[TriedMachine]:
    """Return the best setting of each leading map, see :func:`leading_maps`."""
    return not_worse(best_of_each(tried, lambda result: result.setting.map)[:n_maps])


def first_exact(leading: Sequence[MapChoice]) -> list[MapChoice]:
    """Return the maps whose exact machines decide whether exact machines are worth more rows.

    It is the best map. If its metric is one of interactions, the first diagonal metric is added: with narrow
    kernels of a few columns, exact machines gain nothing over centres, but with all columns they may.
    """
    first, *others = leading
    diagonal = [choice for choice in others if choice.metric == "diagonal"]
    return [first, *diagonal[:1]] if first.metric == "interactions" else [first]


def best_map(
    rows: SampleRows, part: tuple[NDArray[np.intp], NDArray[np.intp]], maps: Sequence[MapChoice]
) -> MapChoice:
    """Return the first map that is not significantly worse than the map of the best machine over centres.

    Parameters
    ----------
    part : training rows in random order, and held-out rows
    maps : maps to try, simplest first
    """
    train, held_out = part
    tried, _ = over_centres([Fold(rows.part(train), rows.part(held_out))], maps, KERNELS[:1])
    of_maps = best_of_each(tried, lambda result: result.setting.map)
    return min((result.setting.map for result in not_worse(of_maps)), key=maps.index)
