"""A fold of a sample: rows to learn from, rows that are held out, and the machines that are tried on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from distkern.choose.choice import TriedSetting
from distkern.choose.likelihoods import Likelihood, RidgePath
from distkern.choose.machines import (
    Kernel,
    SampleRows,
    centre_features,
    in_few_coordinates,
    linear,
    over_all_rows,
    over_centres,
)
from distkern.core.types import Array
from distkern.maths.kernels.base import Powers
from distkern.maths.maps.interactions import interacting_columns
from distkern.maths.maps.mapping import MapChoice, RowMap

#: weights of |f|^2 against the sum of the losses of rows of weight 1
RIDGES = (0.01, 0.1, 1.0, 10.0, 100.0)
#: rows of machines over centres, rows of metrics, number of centres
CENTRE_ROWS, _METRIC_ROWS, CENTRES = 3000, 1500, 384
_LEAST_CENTRES = 64


@dataclass(frozen=True)
class MachineSetting:
    """A machine.

    Attributes
    ----------
    kind : "linear", "centres" or "exact"
    map : in front
    kernel : None of the linear one
    ridge : weight of |f|^2 against the sum of the losses, which are squares, or those of the machine that
        would be delivered: see :mod:`~distkern.choose.finalists`
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

    @property
    def known_kernel(self) -> Kernel:
        """The kernel of a machine that has one."""
        assert self.kernel is not None
        return self.kernel


@dataclass(frozen=True)
class TriedMachine(TriedSetting[MachineSetting]):
    """A setting, and its losses on the held-out rows."""

    @property
    def kernel(self) -> Kernel:
        """The kernel of a setting that has one."""
        return self.setting.known_kernel


class Fold:
    """Rows to learn from and rows that are held out, with the maps that were learned from the first.

    Parameters
    ----------
    first : another fold of the same rows, which has looked for interactions
    """

    def __init__(self, learned: SampleRows, asked: SampleRows, first: Fold | None = None) -> None:
        self.learned, self.asked, self._first = learned, asked, first
        self._maps: dict[MapChoice, RowMap] = {}
        # settings of one map follow each other
        self._last: tuple[tuple[MapChoice, int], tuple[RowMap, SampleRows, SampleRows]] | None = None

    @cached_property
    def interacting(self) -> NDArray[np.intp]:
        """The columns that metrics of interactions start from, those of the first fold on others too."""
        if self._first is not None:
            return self._first.interacting
        return interacting_columns(self.learned.features, self.learned.targets)

    def beside(self, learned: SampleRows, asked: SampleRows) -> Fold:
        """Other rows, with the maps that were learned here."""
        fold = Fold(learned, asked, self)
        fold._maps = self._maps
        return fold

    def straight(self, choice: MapChoice) -> list[TriedMachine]:
        """Linear machines of mapped columns; their ridges are in the units of delivered columns."""
        mapping, learned, asked = self.mapped(choice, self.learned.n_rows)
        size = learned.n_rows, learned.features.shape[1]
        learned, asked = in_few_coordinates(learned, asked)
        weight = self._unit(mapping) ** 2
        settings = [MachineSetting("linear", choice, None, ridge * weight, size) for ridge in RIDGES]
        return _tried(settings, linear(RIDGES, learned, asked))

    @staticmethod
    def _unit(mapping: RowMap) -> float:
        """The number by which the map "none" divides all columns, which no delivered scaling does; else 1."""
        factor = float(mapping.transform.factor.max())
        return 1.0 / factor if mapping.transform.kind == "none" and factor > 0 else 1.0

    def over_centres(
        self,
        pairs: Sequence[tuple[MapChoice, Kernel]],
        n_rows: int = CENTRE_ROWS,
        n_centres: int | None = None,
    ) -> list[TriedMachine]:
        """Machines over the first rows as centres; without ``n_centres``, a quarter of the rows."""
        n_learned = min(n_rows, self.learned.n_rows)
        size = min(n_centres or max(_LEAST_CENTRES, min(CENTRES, n_learned // 4)), n_learned)
        found: list[TriedMachine] = []
        for choice, kernels in groupby(pairs, lambda pair: pair[0]):
            mapping, learned, asked = self.mapped(choice, n_rows)
            values = Powers(), Powers()
            for _, kernel in kernels:
                settings = [
                    MachineSetting("centres", choice, kernel, ridge, (n_learned, size)) for ridge in RIDGES
                ]
                losses = over_centres(kernel.over(mapping), size, RIDGES, learned, asked, values)
                found += _tried(settings, losses)
        return found

    def over_all_rows(
        self, choice: MapChoice, kernel: Kernel, ridges: Sequence[float], n_rows: int
    ) -> list[TriedMachine]:
        """Exact machines on ``n_rows`` rows."""
        mapping, learned, asked = self.mapped(choice, n_rows)
        settings = [MachineSetting("exact", choice, kernel, ridge, 2 * (learned.n_rows,)) for ridge in ridges]
        return _tried(settings, over_all_rows(kernel.over(mapping), ridges, learned, asked))

    def delivered(
        self, setting: MachineSetting, n_centres: int, n_rows: int | None = None
    ) -> tuple[RidgePath, Likelihood]:
        """Machines with their own loss over the features of a setting, and the losses of held-out rows."""
        mapping, learned, asked = self.mapped(setting.map, n_rows or self.learned.n_rows)
        if setting.kernel is None:
            parts, unit = in_few_coordinates(learned, asked), self._unit(mapping)
            features = [np.asarray(part.features * unit, dtype=np.float32) for part in parts]
        else:
            features = centre_features(setting.kernel.over(mapping), n_centres, learned, asked)
        here, there = (np.hstack([part, np.ones((len(part), 1), part.dtype)]) for part in features)
        return RidgePath(here, there, Likelihood(learned)), Likelihood(asked)

    def mapped(self, choice: MapChoice, n_rows: int) -> tuple[RowMap, SampleRows, SampleRows]:
        """The map, and up to ``n_rows`` rows to learn from and the held-out rows in its coordinates."""
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


def _tried(settings: Sequence[MachineSetting], losses: Iterable[Array]) -> list[TriedMachine]:
    return [TriedMachine(setting, found) for setting, found in zip(settings, losses, strict=True)]


def joined(folds: Iterable[list[TriedMachine]]) -> list[TriedMachine]:
    """The settings with their losses on the held-out rows of all folds."""
    return [
        TriedMachine(same[0].setting, np.concatenate([one.losses for one in same]))
        for same in zip(*folds, strict=True)
    ]
