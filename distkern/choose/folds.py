"""Folds of a sample: training rows, held-out rows, and the machines tried on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from distkern.choose import machines
from distkern.choose.choice import TriedSetting
from distkern.choose.likelihoods import Likelihood, RidgePath
from distkern.choose.machines import Kernel, SampleRows
from distkern.core.types import Array
from distkern.maths.kernels.base import Powers
from distkern.maths.maps.interactions import interacting_columns
from distkern.maths.maps.mapping import MapChoice, RowMap
from distkern.maths.maps.trend import LinearTrend

#: weights of |f|^2 against the sum of the losses, for rows of weight 1
RIDGES = (0.01, 0.1, 1.0, 10.0, 100.0)
#: training rows of machines over centres, and most and least centres
CENTRE_ROWS, CENTRES, _LEAST_CENTRES = 3000, 384, 64
#: most landmarks of delivered machines over centres
LANDMARKS = 1024
#: rows from which maps are learned, but for those of exact finalists
_MAP_ROWS = 1500


@dataclass(frozen=True)
class MachineSetting:
    """A machine of the ladder.

    Attributes
    ----------
    kind : "linear", "centres" or "exact"
    map : applied to the rows first
    kernel : None for a linear machine
    ridge : weight of |f|^2 against the sum of the losses: squared errors, or the delivered machine's losses
        for finalists (:mod:`~distkern.choose.finalists`)
    size : training rows and functions, which are the machine's cost
    n_centres : most centres of the delivered machine
    has_trend : the machine learns what a linear trend leaves
    """

    kind: str
    map: MapChoice
    kernel: Kernel | None
    ridge: float
    size: tuple[int, int] = field(default=(0, 0), compare=False)
    n_centres: int = LANDMARKS
    has_trend: bool = False

    @property
    def description(self) -> str:
        """The machine in words."""
        if self.kernel is None:
            return "linear"
        metric = "" if self.map.metric == "none" else f", {self.map.metric} metric"
        columns = "unscaled" if self.map.transform == "none" else self.map.transform
        functions = "exact" if self.kind == "exact" else "over centres"
        trend = ", around a linear trend" if self.has_trend else ""
        return f"{self.kernel.name} {functions}, {columns}{metric}, width {self.kernel.width:.3g}{trend}"

    @property
    def kind_of_features(self) -> tuple[MapChoice, str, bool]:
        """What distinguishes the machine, besides numbers, from others of its kind."""
        return self.map, self.known_kernel.name, self.has_trend

    @property
    def known_kernel(self) -> Kernel:
        """The kernel of a machine that is not linear."""
        assert self.kernel is not None
        return self.kernel


@dataclass(frozen=True)
class TriedMachine(TriedSetting[MachineSetting]):
    """A machine's setting with its losses on held-out rows.

    Attributes
    ----------
    coefficients : of the machine on the leading folds, where machines with more rows or centres start
    near : the held-out rows are those near anchors, see :class:`Around`
    """

    coefficients: tuple[Array, ...] = field(default=(), repr=False, compare=False)
    near: bool = False

    def coefficients_on(self, fold: int) -> Array | None:
        """Return the coefficients on a fold, None if they are unknown."""
        return self.coefficients[fold] if fold < len(self.coefficients) else None

    @property
    def kernel(self) -> Kernel:
        """The kernel of a machine that is not linear."""
        return self.setting.known_kernel


class Around(Protocol):
    """Finds rows near some anchors among all rows."""

    def __call__(
        self, mapping: RowMap, n_near: int, n_anchors: int | None = None
    ) -> Sequence[tuple[SampleRows, SampleRows]]:
        """Return training and held-out rows among the ``n_near`` rows nearest to each anchor, by a map.

        ``n_anchors`` : None: as many as are needed to compare finalists
        """


class Fold:
    """Training and held-out rows of a sample, with the maps learned from the training rows.

    Parameters
    ----------
    first : another fold of the same sample, whose interacting columns are reused
    final_rows : rows from which maps of exact finalists are learned; metrics of many columns need many
    """

    def __init__(
        self, train: SampleRows, held_out: SampleRows, first: Fold | None = None, final_rows: int = _MAP_ROWS
    ) -> None:
        self.train, self.held_out, self._first, self._final_rows = train, held_out, first, final_rows
        self._maps: dict[tuple[MapChoice, int], RowMap] = {}
        # the fold that learns the maps and the trend, and the trend that these targets are without
        self._owner: Fold = self
        self._trend: LinearTrend | None = None
        # settings with the same map follow each other, so the last mapped rows are kept
        self._last: tuple[tuple[MapChoice, int, int], tuple[RowMap, SampleRows, SampleRows]] | None = None

    @cached_property
    def interacting(self) -> NDArray[np.intp]:
        """The columns from which metrics of interactions start, found on the first fold."""
        if self._first is not None:
            return self._first.interacting
        return interacting_columns(self.train.features, self.train.targets)

    def with_rows(self, train: SampleRows, held_out: SampleRows) -> Fold:
        """Return a fold of other rows that shares the maps of this one."""
        fold = Fold(train.without(self._trend), held_out.without(self._trend), self, self._final_rows)
        fold._maps, fold._owner, fold._trend = self._maps, self._owner, self._trend
        return fold

    def of(self, setting: MachineSetting) -> Fold:
        """Return the fold of the targets that a machine learns."""
        return self.around_trend if setting.has_trend else self

    @cached_property
    def around_trend(self) -> Fold:
        """A fold whose targets are what a linear trend leaves of those of this fold."""
        if self._owner is not self:
            return self._owner.around_trend.with_rows(self.train, self.held_out)
        train = self.train
        trend = LinearTrend.of(train.features, train.targets[:, 0], train.weights)
        first = None if self._first is None else self._first.around_trend
        fold = Fold(train.without(trend), self.held_out.without(trend), first, self._final_rows)
        fold._trend = trend
        return fold

    def linear(self, choice: MapChoice) -> list[TriedMachine]:
        """Try linear machines of mapped columns; their ridges are in the units of delivered columns."""
        mapping, train, held_out = self.mapped(choice, self.train.n_rows)
        size = train.n_rows, train.features.shape[1]
        train, held_out = machines.in_row_span(train, held_out)
        unit = self._column_unit(mapping) ** 2
        settings = [MachineSetting("linear", choice, None, ridge * unit, size) for ridge in RIDGES]
        return _tried(settings, machines.linear(RIDGES, train, held_out))

    @staticmethod
    def _column_unit(mapping: RowMap) -> float:
        """Return the number by which the map "none" divides all columns; 1 for other maps.

        Columns of a delivered linear machine are not divided.
        """
        factor = float(mapping.transform.factor.max())
        return 1.0 / factor if mapping.transform.kind == "none" and factor > 0 else 1.0

    def over_centres(
        self,
        pairs: Sequence[tuple[MapChoice, Kernel]],
        n_rows: int = CENTRE_ROWS,
        n_centres: int | None = None,
    ) -> list[TriedMachine]:
        """Try machines over the first rows as centres, for pairs of a map and a kernel, with all ridges.

        Parameters
        ----------
        n_rows : most training rows
        n_centres : None: a quarter of the training rows, between 64 and 384
        """
        n_train = min(n_rows, self.train.n_rows)
        size = min(n_centres or max(_LEAST_CENTRES, min(CENTRES, n_train // 4)), n_train)
        tried: list[TriedMachine] = []
        for choice, kernels in groupby(pairs, lambda pair: pair[0]):
            mapping, train, held_out = self.mapped(choice, n_rows)
            powers = Powers(), Powers()
            for _, kernel in kernels:
                settings = [
                    MachineSetting("centres", choice, kernel, ridge, (n_train, size)) for ridge in RIDGES
                ]
                losses = machines.over_centres(kernel.over(mapping), size, RIDGES, train, held_out, powers)
                tried += _tried(settings, losses)
        return tried

    def over_all_rows(
        self, choice: MapChoice, kernel: Kernel, ridges: Sequence[float], n_rows: int
    ) -> list[TriedMachine]:
        """Try exact machines of up to ``n_rows`` rows for each ridge."""
        mapping, train, held_out = self.mapped(choice, n_rows)
        settings = [MachineSetting("exact", choice, kernel, ridge, 2 * (train.n_rows,)) for ridge in ridges]
        return _tried(settings, machines.over_all_rows(kernel.over(mapping), ridges, train, held_out))

    def ridge_path(
        self, setting: MachineSetting, n_rows: int | None = None, start: Array | None = None
    ) -> tuple[RidgePath, Likelihood]:
        """Return the machines with the delivered loss over a setting's features, and the held-out losses."""
        mapping, train, held_out = self.mapped(setting.map, n_rows or self.train.n_rows)
        if setting.kernel is None:
            parts, unit = machines.in_row_span(train, held_out), self._column_unit(mapping)
            features = [np.asarray(part.features * unit, dtype=np.float32) for part in parts]
        else:
            kernel = setting.kernel.over(mapping)
            features = machines.centre_features(kernel, setting.n_centres, train, held_out)
        with_one, held_out_with_one = (
            np.hstack([part, np.ones((len(part), 1), part.dtype)]) for part in features
        )
        return RidgePath(with_one, held_out_with_one, Likelihood(train), start), Likelihood(held_out)

    def mapped(
        self, choice: MapChoice, n_rows: int, *, is_final: bool = False
    ) -> tuple[RowMap, SampleRows, SampleRows]:
        """Return a map, up to ``n_rows`` training rows and the held-out rows in its coordinates.

        ``is_final`` : whether the map is that of an exact finalist
        """
        map_rows = max(self._final_rows, _MAP_ROWS) if is_final else _MAP_ROWS
        if self._last is not None and self._last[0] == (choice, n_rows, map_rows):
            return self._last[1]
        if (choice, map_rows) not in self._maps:
            train = self._owner.train
            columns = self.interacting if choice.metric == "interactions" else None
            some = train.features[:map_rows], train.targets[:map_rows], columns, train.multiplicity
            self._maps[choice, map_rows] = RowMap.fit(choice, *some)
        mapping = self._maps[choice, map_rows]
        train = self.train.part(np.arange(min(n_rows, self.train.n_rows)))
        mapped = [replace(part, features=mapping.apply(part.features)) for part in (train, self.held_out)]
        self._last = (choice, n_rows, map_rows), (mapping, mapped[0], mapped[1])
        return self._last[1]


def _tried(settings: Sequence[MachineSetting], losses: Iterable[Array]) -> list[TriedMachine]:
    return [TriedMachine(setting, own) for setting, own in zip(settings, losses, strict=True)]


def joined(folds: Iterable[list[TriedMachine]]) -> list[TriedMachine]:
    """Join the losses of each setting over all folds."""
    return [
        TriedMachine(results[0].setting, np.concatenate([result.losses for result in results]))
        for results in zip(*folds, strict=True)
    ]


def memory_of(n_rows: int, n_features: int, n_outputs: int = 1) -> int:
    """Return the bytes that comparing machines over centres needs for a sample of ``n_rows`` rows.

    Linear algebra's code is included; :class:`~distkern.estimators.arena.ArenaSizes` adds exact machines.
    """
    n_centres = min(n_rows, LANDMARKS)
    # features before and after the intercept is added; the centres' matrix, its factor and its inverse
    finalists = 8 * n_rows * n_centres + 24 * n_centres**2
    # kernel values, their powers and weighted values, which the allocator keeps
    rungs = 32 * min(n_rows, CENTRE_ROWS) * min(CENTRES, max(n_rows // 4, _LEAST_CENTRES))
    # rows and decision values with their copies
    copies = 48 * n_rows * n_features + 64 * n_rows * n_outputs
    return copies + rungs + finalists + 20 * 2**20
