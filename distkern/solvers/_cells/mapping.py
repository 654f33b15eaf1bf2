"""From rows to the coordinates in which cells measure distances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.common.types import Floats
from distkern.kernels import find_kernel, require
from distkern.kernels.bandwidth import median_width
from distkern.kernels.base import AbstractScaledKernel, AbstractTileKernel
from distkern.solvers._cells.metric import MetricKind, learn_metric, root
from distkern.solvers._cells.transform import TRANSFORMS, Transform, TransformKind

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MapChoice:
    """Which map: a transform of the columns, then a metric learned in so many rounds with such a ridge.

    ``more_rows``: in the last round from up to 9,216 of them.
    """

    transform: TransformKind = "standard"
    metric: MetricKind = "none"
    rounds: int = 1
    ridge: float = 0.1
    more_rows: bool = False

    @property
    def is_full(self) -> bool:
        """Whether it mixes columns."""
        return self.metric in ("full", "mixed")


@dataclass(frozen=True)
class CellMap:
    """x -> T(x) L, whose Euclidean distances are those of the metric L L' between transformed rows.

    Attributes
    ----------
    transform : T
    factors : L (d, d), or its diagonal (d,)
    width : median distance of two mapped rows of the sample
    column_variances : (d,) of T(x) over the sample
    """

    transform: Transform
    factors: Array
    width: float
    column_variances: Array

    @classmethod
    def fit(cls, choice: MapChoice, sample: Floats, targets: Array) -> CellMap:
        """From a sample of rows (n, d) in random order and its targets (n, k), standardised or -1 and +1."""
        transform = Transform.fit(choice.transform, sample)
        rows = transform.apply(sample, np.float64)
        metric = learn_metric(rows, targets, choice.metric, ridge=choice.ridge, rounds=choice.rounds)
        factors = root(metric)
        if not choice.is_full:
            factors = np.diagonal(factors).copy()
        found = cls(transform, factors, 1.0, rows.var(axis=0))
        width = median_width(found.apply(sample)) / np.sqrt(2.0)
        return replace(found, width=width if width > 0 else 1.0)

    def apply(self, rows: Floats, out_dtype: DTypeLike = np.float32) -> Floats:
        """Mapped rows (n, d)."""
        values = self.transform.apply(rows, out_dtype)
        factors = self.factors.astype(values.dtype)
        return values * factors if factors.ndim == 1 else values @ factors

    def kernel(self, name: str, width: float, **parameters: Any) -> AbstractTileKernel:
        """The kernel whose width is so many times the median distance; its other parameters as given."""
        kind = find_kernel(name)
        if issubclass(kind, AbstractScaledKernel):
            gamma = kind.gamma_from_width(width * self.width, len(self.factors))
            parameters = {"gamma": gamma, **parameters}
        return require(kind.from_parameters(**parameters), AbstractTileKernel)  # type: ignore[type-abstract]

    def importance(self) -> Array:
        """How much each column counts in distances, (d,), their sum 1: var(T(x)_j) (L L')_jj.

        That is what the column alone adds to the average squared distance of two mapped rows. Where a metric
        was learned it says by how much the targets change along the column; without one it says nothing of
        them: columns that T standardises count alike, others by their variance.
        """
        squares = self.factors**2 if self.factors.ndim == 1 else np.square(self.factors).sum(axis=1)
        shares = squares * self.column_variances
        total = float(shares.sum())
        return shares / total if total > 0 else np.full(len(shares), 1.0 / len(shares))


def map_to_arrays(mapping: CellMap) -> dict[str, NDArray[Any]]:
    """The arrays of which :func:`map_from_arrays` makes the same."""
    transform = mapping.transform
    return {
        "transform": np.array([TRANSFORMS.index(transform.kind)]),
        "shift": transform.shift,
        "factor": transform.factor,
        "quantiles": np.empty((0, 0)) if transform.quantiles is None else transform.quantiles,
        "factors": mapping.factors,
        "width": np.array([mapping.width]),
        "column_variances": mapping.column_variances,
    }


def map_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> CellMap:
    """From what :func:`map_to_arrays` gave."""
    quantiles = arrays["quantiles"] if arrays["quantiles"].size else None
    kind = TRANSFORMS[int(arrays["transform"][0])]
    transform = Transform(kind, arrays["shift"], arrays["factor"], quantiles)
    return CellMap(transform, arrays["factors"], float(arrays["width"][0]), arrays["column_variances"])
