"""The ladder by which a machine is chosen: linear, over centres with maps in front, exact.

All are ridge machines in closed form over one sample (:mod:`distkern.search.machines`), so what is compared
is which functions the data ask for, by a proper score of rows that are held out: log loss, squared error. The
choice depends on the rows and the seed alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from distkern.common.scores import mean_difference
from distkern.maps.mapping import MapChoice, RowMap
from distkern.maps.metric import MetricKind
from distkern.maps.transform import TransformKind
from distkern.search.machines import Kernel, Rows, linear, over_all_rows, over_centres

Array = NDArray[np.float64]

#: exp(-|x - y| / b), the Laplacian of the Euclidean distance, is the Matern kernel of smoothness 1/2
MATERN = Kernel("matern", parameters=(("smoothness", 0.5),))
LAPLACIAN, GAUSSIAN = Kernel("laplacian"), Kernel("rbf")
#: of the sum of the losses of rows of weight 1
RIDGES = (0.01, 0.1, 1.0, 10.0, 100.0)
#: rows that machines over centres learn from, rows that metrics do, and centres; rounds of a metric
_CENTRE_ROWS, _METRIC_ROWS, _CENTRES, _ROUNDS = 3000, 1500, 384, 2
_LEAST_CENTRES = 64
#: rows of the exact machines, whose settings are those of the best one of a quarter of them
EXACT_ROWS, _TUNING_ROWS = 4000, 1000
#: columns up to which metrics are whole matrices, and distances are no matrix products
_FULL_COLUMNS, _CITY_BLOCK_COLUMNS = 256, 128
_WIDTHS = (0.3, 1.0, 3.0)
#: of the best width over centres: exact machines are better with narrower kernels
_NARROWER = (1.0, 0.5)
#: maps whose kernels and widths are tried
_BEST_MAPS = 2
#: centres of the machines that are trained on all rows
_LANDMARKS = 1024
#: standard errors of a difference that are not chance
_CERTAIN = 2.0


@dataclass(frozen=True)
class Setting:
    """A machine of the ladder.

    Attributes
    ----------
    kind : "linear", "centres" or "exact"
    map : in front
    kernel : None of the linear one
    ridge : weight of |f|^2 against the sum of the losses
    """

    kind: str
    map: MapChoice
    kernel: Kernel | None
    ridge: float

    @property
    def spoken(self) -> str:
        """In words."""
        if self.kernel is None:
            return "linear"
        metric = "" if self.map.metric == "none" else f", {self.map.metric} metric"
        columns = "unscaled" if self.map.transform == "none" else self.map.transform
        functions = "exact" if self.kind == "exact" else "over centres"
        return f"{self.kernel.name} {functions}, {columns}{metric}, width {self.kernel.width:g}"


@dataclass(frozen=True)
class Tried:
    """A setting, and what it lost on the rows that were held out."""

    setting: Setting
    losses: Array

    @property
    def kernel(self) -> Kernel:
        """That of a setting which has one."""
        assert self.setting.kernel is not None
        return self.setting.kernel

    @property
    def score(self) -> float:
        """The mean loss."""
        return float(self.losses.mean())


@dataclass(frozen=True)
class Found:
    """What the ladder chose, beside the best of each rung.

    Attributes
    ----------
    chosen : the setting
    rungs : the best of each kind, the cheapest first
    """

    chosen: Setting
    rungs: tuple[Tried, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """A line for each of them with its score on the rows that were held out."""
        return tuple(f"tried: {one.setting.spoken}: {one.score:.4g}" for one in self.rungs)


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
    2. Machines over 384 centres that learn from up to 3,000 rows: every transform of the columns with every
       metric and two kernels, then the best two of these maps with all kernels and widths.
    3. Exact machines on up to ``exact_rows`` with these maps, and beside the best machines over as few of its
       rows as 1,024 centres are of all rows, in the root: what more functions gain. Where all rows may be
       centres, this rung is left out.

    A costlier machine is taken where it is better by more than two standard errors of the difference.

    Parameters
    ----------
    parts : pairs of rows to learn from and rows that are held out; what is lost is joined over the pairs
    maps : those that are tried, the simplest first; None: all that suit so many columns
    exact_rows : of the exact machines, at most
    """
    folds = [_Fold(rows.part(_shuffled(one, seed)), rows.part(other), seed) for one, other in parts]
    n_features, n_learned = rows.features.shape[1], folds[0].learned.n_rows
    straight = _best(_joined([fold.straight() for fold in folds]))
    coarse = [(choice, kernel) for choice in maps or _maps(n_features) for kernel in (MATERN, GAUSSIAN)]
    tried = _joined([fold.over_centres(coarse) for fold in folds])
    fine = [
        (choice, kernel)
        for choice in _leading(tried)
        for kernel in _kernels(n_features, choice)
        if (choice, kernel) not in coarse
    ]
    tried += _joined([fold.over_centres(fine) for fold in folds])
    smooth = _best(tried)
    # the complexity that data bear grows about as the root of the number of rows
    n_centres = int(_LANDMARKS * math.sqrt(min(n_learned, exact_rows) / max(n_rows, 1)))
    rungs, chosen = [straight, smooth], smooth
    if n_centres < n_learned:
        few, exact = _exact(folds, _leading(tried), smooth.kernel, n_centres, exact_rows)
        rungs += [few, exact]
        # more rows and centres may ask for another kernel and width
        chosen = exact if _is_better(exact, few) else _best([few, smooth])
    chosen = chosen if _is_better(chosen, straight) else straight
    return Found(chosen.setting, tuple(rungs))


def _exact(
    folds: Sequence[_Fold], maps: Sequence[MapChoice], kernel: Kernel, n_centres: int, exact_rows: int
) -> tuple[Tried, Tried]:
    """The best machines of the third rung, over so many centres and exact, with the maps of the second."""
    n_features, n_learned = folds[0].learned.features.shape[1], folds[0].learned.n_rows
    tried = []
    for choice in maps:
        kinds = dict.fromkeys(replace(one, width=kernel.width) for one in _kernels(n_features, choice))
        kernels = [replace(kind, width=kind.width * share) for kind in kinds for share in _NARROWER]
        one = _best(_joined([fold.over_all_rows(choice, kernels, RIDGES, _TUNING_ROWS) for fold in folds]))
        if n_learned > _TUNING_ROWS:
            own = [one.kernel], [one.setting.ridge]
            one = _best(_joined([fold.over_all_rows(choice, *own, exact_rows) for fold in folds]))
        tried.append(one)
    exact = _best(tried)
    around = [(exact.setting.map, one) for one in dict.fromkeys((kernel, exact.kernel))]
    return _best(_joined([fold.over_centres(around, exact_rows, n_centres) for fold in folds])), exact


class _Fold:
    """Rows to learn from and rows that are held out, with the maps that were learned from the first."""

    def __init__(self, learned: Rows, asked: Rows, seed: int) -> None:
        self.learned, self.asked, self._seed = learned, asked, seed
        self._maps: dict[MapChoice, RowMap] = {}
        # settings of one map follow each other
        self._last: tuple[tuple[MapChoice, int], tuple[RowMap, Rows, Rows]] | None = None

    def straight(self) -> list[Tried]:
        """Linear machines of standardised columns."""
        choice = MapChoice("standard")
        _, learned, asked = self._mapped(choice, self.learned.n_rows)
        settings = [Setting("linear", choice, None, ridge) for ridge in RIDGES]
        return _tried(settings, linear(RIDGES, learned, asked))

    def over_centres(
        self,
        pairs: Sequence[tuple[MapChoice, Kernel]],
        n_rows: int = _CENTRE_ROWS,
        n_centres: int | None = None,
    ) -> list[Tried]:
        """Machines over the first rows as centres: a quarter of few rows, if nothing is said."""
        n_learned = min(n_rows, self.learned.n_rows)
        size = min(n_centres or max(_LEAST_CENTRES, min(_CENTRES, n_learned // 4)), n_learned)
        found: list[Tried] = []
        for choice, kernel in pairs:
            mapping, learned, asked = self._mapped(choice, n_rows)
            settings = [Setting("centres", choice, kernel, ridge) for ridge in RIDGES]
            losses = over_centres(kernel.over(mapping), size, RIDGES, learned, asked)
            found += _tried(settings, losses)
        return found

    def over_all_rows(
        self, choice: MapChoice, kernels: Sequence[Kernel], ridges: Sequence[float], n_rows: int
    ) -> list[Tried]:
        """Exact machines."""
        mapping, learned, asked = self._mapped(choice, n_rows)
        settings = [Setting("exact", choice, kernel, ridge) for kernel in kernels for ridge in ridges]
        return _tried(settings, over_all_rows(mapping, kernels, ridges, learned, asked, self._seed))

    def _mapped(self, choice: MapChoice, n_rows: int) -> tuple[RowMap, Rows, Rows]:
        if self._last is not None and self._last[0] == (choice, n_rows):
            return self._last[1]
        learned = self.learned
        if choice not in self._maps:
            part = slice(_METRIC_ROWS)
            self._maps[choice] = RowMap.fit(choice, learned.features[part], learned.targets[part])
        mapping = self._maps[choice]
        some = learned.part(np.arange(min(n_rows, learned.n_rows)))
        mapped = [replace(part, features=mapping.apply(part.features)) for part in (some, self.asked)]
        self._last = (choice, n_rows), (mapping, mapped[0], mapped[1])
        return self._last[1]


def _shuffled(numbers: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    return np.random.default_rng(seed).permutation(numbers)


def _maps(n_features: int) -> list[MapChoice]:
    """The simplest first."""
    metrics: list[MetricKind] = ["none", "diagonal", "full"] if n_features <= _FULL_COLUMNS else ["none"]
    transforms: list[TransformKind] = ["none", "standard", "normal"]
    if n_features > _FULL_COLUMNS:
        transforms.pop()
    return [MapChoice(transform, metric, _ROUNDS) for metric in metrics for transform in transforms]


def _kernels(n_features: int, choice: MapChoice) -> list[Kernel]:
    kinds = [MATERN, GAUSSIAN]
    if n_features <= _CITY_BLOCK_COLUMNS and not choice.is_full:
        kinds.append(LAPLACIAN)
    return [replace(kind, width=width) for kind in kinds for width in _WIDTHS]


def _tried(settings: Sequence[Setting], losses: Iterable[Array]) -> list[Tried]:
    return [Tried(setting, found) for setting, found in zip(settings, losses, strict=True)]


def _joined(folds: Sequence[list[Tried]]) -> list[Tried]:
    """What the same settings lost on the held-out rows of all folds."""
    return [
        Tried(same[0].setting, np.concatenate([one.losses for one in same]))
        for same in zip(*folds, strict=True)
    ]


def _best(tried: Sequence[Tried]) -> Tried:
    return min(tried, key=lambda one: one.score)


def _leading(tried: Sequence[Tried]) -> list[MapChoice]:
    """The maps of the best settings."""
    order = sorted(tried, key=lambda one: one.score)
    return list(dict.fromkeys(one.setting.map for one in order))[:_BEST_MAPS]


def _is_better(costly: Tried, cheap: Tried) -> bool:
    """Whether it loses less on the same rows by more than chance."""
    mean, error = mean_difference(cheap.losses, costly.losses)
    return mean > _CERTAIN * error


def memory_of(n_rows: int, n_features: int, exact_rows: int) -> int:
    """Bytes that :func:`climb` takes for a sample of so many rows, which it holds and maps."""
    # a matrix of pairs in single precision, and its factor in double; kernel values over centres
    pairs = 12 * min(n_rows, exact_rows) ** 2
    centres = 24 * min(n_rows, 2 * _CENTRE_ROWS) * _LANDMARKS
    # tiles, and what is loaded of linear algebra
    return 32 * n_rows * n_features + max(pairs, centres) + 48 * 2**20
