"""Maps from rows to the coordinates in which kernels measure distances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.sparse import Rows
from distkern.core.stores import indexed, shaped
from distkern.core.types import Array, Floats
from distkern.maths.kernels import find_kernel, require
from distkern.maths.kernels.bandwidth import median_width
from distkern.maths.kernels.base import AbstractScaledKernel, AbstractTileKernel
from distkern.maths.maps.interactions import heavier, interacting_columns, looking_bytes
from distkern.maths.maps.metric import MetricKind, learn_metric, learning_bytes, root, times
from distkern.maths.maps.transform import N_QUANTILES, TRANSFORMS, Transform, TransformKind


@dataclass(frozen=True)
class MapChoice:
    """Which map: a transform of the columns, then a metric learned in ``rounds`` rounds with a ridge.

    The first of several rounds learns the interactions, where they are searched.
    """

    transform: TransformKind = "standard"
    metric: MetricKind = "none"
    rounds: int = 1
    ridge: float = 0.1

    @property
    def is_full(self) -> bool:
        """Whether it mixes columns."""
        return self.metric == "full"

    @property
    def is_transform(self) -> bool:
        """Whether it is a transform of the columns alone, and not the identity."""
        return self.metric == "none" != self.transform

    @property
    def has_quantiles(self) -> bool:
        """Whether it keeps quantiles of the columns."""
        return self.transform in ("normal", "ranks")


@dataclass(frozen=True)
class RowMap:
    """x -> T(x) L, with Euclidean distances equal to the distances of transformed rows in the metric L L'.

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
    def fit(
        cls, choice: MapChoice, sample: Floats, targets: Array, interacting: NDArray[np.intp] | None = None
    ) -> RowMap:
        """Fit to a sample of rows (n, d) in random order and targets (n, k), standardised or -1 and +1.

        Parameters
        ----------
        interacting : the columns from which a metric of interactions starts; None: they are searched
        """
        transform = Transform.fit(choice.transform, sample)
        rows = transform.apply(sample, np.float64)
        start, rounds = None, choice.rounds
        if choice.metric == "interactions":
            columns = interacting_columns(sample, targets) if interacting is None else interacting
            if len(columns):
                start, rounds = heavier(rows.var(axis=0), columns), max(rounds - 1, 1)
        metric = learn_metric(rows, targets, choice.metric, ridge=choice.ridge, rounds=rounds, start=start)
        factors = root(metric)
        found = cls(transform, factors, 1.0, rows.var(axis=0))
        width = median_width(found.apply(sample)) / np.sqrt(2.0)
        return replace(found, width=width if width > 0 else 1.0)

    def apply(self, rows: Floats, out_dtype: DTypeLike = np.float32) -> Floats:
        """Mapped rows (n, d)."""
        values = self.transform.apply(rows, out_dtype)
        return times(values, self.factors.astype(values.dtype))

    def apply_rows(self, rows: Rows, out_dtype: DTypeLike = np.float32) -> Rows:
        """Mapped rows as of :meth:`apply`; sparse rows are not taken, as their zeros would become numbers."""
        return self.apply(np.asarray(rows), out_dtype)

    def apply_columns(self, columns: Rows, wanted: NDArray[np.intp], out_dtype: DTypeLike) -> Floats:
        """Some columns of mapped rows, (n_columns, n), from columns of rows, (n_columns, n), for a diagonal
        L."""
        transform = self.transform
        quantiles = None if transform.quantiles is None else transform.quantiles[:, wanted]
        some = Transform(transform.kind, transform.shift[wanted], transform.factor[wanted], quantiles)
        values = some.apply(np.asarray(columns).T, np.float64) * self.factors[wanted]
        return np.ascontiguousarray(values.T, dtype=out_dtype)

    @cached_property
    def kind(self) -> str:
        """A name that no other map has."""
        parts = sha256()
        for name, array in map_to_arrays(self).items():
            parts.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return f"map-{parts.hexdigest()[:16]}"

    def kernel(self, name: str, width: float, **parameters: Any) -> AbstractTileKernel:
        """The kernel whose width is ``width`` median distances; its other parameters as given."""
        kind = find_kernel(name)
        if issubclass(kind, AbstractScaledKernel):
            gamma = kind.gamma_from_width(width * self.width, len(self.factors))
            parameters = {"gamma": gamma, **parameters}
        return require(kind.from_parameters(**parameters), AbstractTileKernel)  # type: ignore[type-abstract]

    @property
    def has_metric(self) -> bool:
        """Whether the metric is another than the identity."""
        return self.factors.ndim == 2 or bool((self.factors != 1.0).any())

    def importance(self) -> Array:
        """How much each column counts in distances, (d,), their sum 1: var(T(x)_j) (L L')_jj.

        That is what the column alone adds to the average squared distance of two mapped rows.
        """
        squares = self.factors**2 if self.factors.ndim == 1 else np.square(self.factors).sum(axis=1)
        shares = squares * self.column_variances
        total = float(shares.sum())
        return shares / total if total > 0 else np.full(len(shares), 1.0 / len(shares))


def as_rows(weights: Floats | None, most: int) -> NDArray[np.intp] | slice:
    """Positions of the first ``most`` rows, each as often as its weight says, no more than ``most`` in all.

    A map is learned from unweighted rows. A small whole weight repeats its row that many times; otherwise the
    share of a row is about the share of its weight.

    Parameters
    ----------
    weights : (n_rows,), not negative; None for 1
    """
    if weights is None or np.all(weights == 1.0):
        return slice(most)
    ends = np.cumsum(weights[:most], dtype=np.float64)
    n_rows = min(most, max(len(ends), round(float(ends[-1]))))
    counts = np.diff(np.round(ends * (n_rows / ends[-1])), prepend=0.0)
    return np.repeat(np.arange(len(ends)), counts.astype(np.intp))


def pulled_targets(targets: NDArray[Any], n_classes: int) -> Array:
    """What a metric is to tell apart, (n_rows, k): of class codes -1 and +1 of the second class, or of each
    of several; of real targets, which have no classes, standardised numbers."""
    if n_classes:
        own = targets[:, None] == (np.arange(n_classes) if n_classes > 2 else 1)
        return np.where(own, 1.0, -1.0)
    numbers = targets.astype(np.float64)
    spread = float(numbers.std())
    centred: Array = numbers - numbers.mean()
    return (centred / (spread if spread > 0 else 1.0))[:, None]


def map_bytes(choice: MapChoice, n_features: int) -> int:
    """Bytes of a map of rows with ``n_features`` columns."""
    # quantiles lie in memory in three orders
    rows = 4 + 3 * N_QUANTILES * choice.has_quantiles + (n_features if choice.is_full else 1)
    return 8 * n_features * rows


def fitting_bytes(choice: MapChoice, n_rows: int, n_features: int, n_outputs: int) -> int:
    """What :meth:`RowMap.fit` takes, beside its rows and the map."""
    exact = 8 * n_rows * n_features
    # the transformed sample, its differences from the mean, and their squares; quantiles as they are found
    transforming = 3 * exact + 3 * 8 * N_QUANTILES * n_features * choice.has_quantiles
    looking = looking_bytes(n_rows, n_features) if choice.metric == "interactions" else 0
    learning = exact + learning_bytes(n_rows, n_features, n_outputs, choice.metric)
    return max(transforming, learning, looking)


def map_to_arrays(mapping: RowMap) -> dict[str, NDArray[Any]]:
    """The arrays of a map, for :func:`map_from_arrays`."""
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


def map_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> RowMap:
    """Return the map whose arrays :func:`map_to_arrays` gave.

    Raises
    ------
    KeyError
        If an array is missing.
    ValueError
        If they have different columns.
    """
    kind = TRANSFORMS[int(indexed(arrays, "transform", 1, below=len(TRANSFORMS))[0])]
    n_columns = len(shaped(arrays, "shift", None))
    n_quantiles = (None, n_columns) if kind in ("normal", "ranks") else (0, 0)
    quantiles = shaped(arrays, "quantiles", *n_quantiles)
    transform = Transform(
        kind, arrays["shift"], shaped(arrays, "factor", n_columns), quantiles if quantiles.size else None
    )
    factors = shaped(arrays, "factors", *[n_columns] * min(max(arrays["factors"].ndim, 1), 2))
    width = float(shaped(arrays, "width", 1)[0])
    return RowMap(transform, factors, width, shaped(arrays, "column_variances", n_columns))
