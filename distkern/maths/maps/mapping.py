"""Maps from rows to coordinates in which kernels measure distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from distkern.maths.maps.interactions import emphasising_metric, interacting_columns, interaction_bytes
from distkern.maths.maps.metric import MetricKind, learn_metric, learning_bytes, root, times
from distkern.maths.maps.transform import N_QUANTILES, TRANSFORMS, Transform, TransformKind


@dataclass(frozen=True)
class MapChoice:
    """The choice of a map: a transform of the columns, then a metric learned in ``rounds`` with a ridge.

    If interactions are searched, the first of several rounds learns them.
    """

    transform: TransformKind = "standard"
    metric: MetricKind = "none"
    rounds: int = 1
    ridge: float = 0.1

    @property
    def is_full(self) -> bool:
        """Whether the metric mixes columns."""
        return self.metric == "full"

    @property
    def has_quantiles(self) -> bool:
        """Whether the map stores quantiles of the columns."""
        return self.transform in ("normal", "ranks")


@dataclass(frozen=True)
class RowMap:
    """x -> T(x) L, so that Euclidean distances are distances of transformed rows in the metric L L'.

    Attributes
    ----------
    transform : T
    factors : L (d, d), or its diagonal (d,)
    width : median distance of mapped rows of the sample
    column_variances : (d,) of T(x) over the sample
    """

    transform: Transform
    factors: Array
    width: float
    column_variances: Array

    @classmethod
    def fit(
        cls,
        choice: MapChoice,
        sample: Floats,
        targets: Array,
        interacting: NDArray[np.intp] | None = None,
        multiplicity: Sequence[int] = (),
    ) -> RowMap:
        """Fit a map to sampled rows (n, d) in random order and targets (n, k), standardised or -1 and +1.

        Parameters
        ----------
        interacting : the columns from which a metric of interactions starts; None to search them
        multiplicity : see :class:`~distkern.maths.maps.transform.Transform`
        """
        transform = Transform.fit(choice.transform, sample, multiplicity)
        rows = transform.apply(sample, np.float64)
        start, rounds = None, choice.rounds
        if choice.metric == "interactions":
            columns = interacting_columns(sample, targets) if interacting is None else interacting
            if len(columns):
                start, rounds = emphasising_metric(rows.var(axis=0), columns), max(rounds - 1, 1)
        metric = learn_metric(rows, targets, choice.metric, ridge=choice.ridge, rounds=rounds, start=start)
        factors = root(metric)
        mapping = cls(transform, factors, 1.0, rows.var(axis=0))
        width = median_width(mapping.apply(sample)) / np.sqrt(2.0)
        return replace(mapping, width=width if width > 0 else 1.0)

    def apply(self, rows: Floats, out_dtype: DTypeLike = np.float32) -> Floats:
        """Return mapped rows (n, d)."""
        values = self.transform.apply(rows, out_dtype)
        return times(values, self.factors.astype(values.dtype))

    def apply_rows(self, rows: Rows, out_dtype: DTypeLike = np.float32) -> Rows:
        """Return mapped rows of any kind; sparse rows would not stay sparse, so they become dense."""
        return self.apply(np.asarray(rows), out_dtype)

    def apply_columns(self, columns: Rows, numbers: NDArray[np.intp], out_dtype: DTypeLike) -> Floats:
        """Map some columns of rows, (n_columns, n), by a diagonal L.

        Parameters
        ----------
        numbers : (n_columns,) their column numbers
        """
        transform = self.transform
        quantiles = None if transform.quantiles is None else transform.quantiles[:, numbers]
        part = Transform(transform.kind, transform.shift[numbers], transform.factor[numbers], quantiles)
        values = part.apply(np.asarray(columns).T, np.float64) * self.factors[numbers]
        return np.ascontiguousarray(values.T, dtype=out_dtype)

    @cached_property
    def kind(self) -> str:
        """A unique name of this map."""
        parts = sha256()
        for name, array in map_to_arrays(self).items():
            parts.update(name.encode() + np.ascontiguousarray(array).tobytes())
        return f"map-{parts.hexdigest()[:16]}"

    def kernel(self, name: str, width: float, **parameters: Any) -> AbstractTileKernel:
        """Return a kernel with a width of ``width`` median distances and other parameters as given."""
        kind = find_kernel(name)
        if issubclass(kind, AbstractScaledKernel):
            gamma = kind.gamma_from_width(width * self.width, len(self.factors))
            parameters = {"gamma": gamma, **parameters}
        return require(kind.from_parameters(**parameters), AbstractTileKernel)  # type: ignore[type-abstract]

    @property
    def has_metric(self) -> bool:
        """Whether the metric differs from the identity."""
        return self.factors.ndim == 2 or bool((self.factors != 1.0).any())

    def importance(self) -> Array:
        """Return the share (d,) of each column in the average squared distance of two mapped rows.

        It is proportional to var(T(x)_j) (L L')_jj.
        """
        squares = self.factors**2 if self.factors.ndim == 1 else np.square(self.factors).sum(axis=1)
        shares = squares * self.column_variances
        total = float(shares.sum())
        return shares / total if total > 0 else np.full(len(shares), 1.0 / len(shares))


def as_rows(weights: Floats | None, most: int) -> NDArray[np.intp] | slice:
    """Return positions of the first ``most`` rows, repeated by weight, at most ``most`` in total.

    Maps are learned from unweighted rows. A small integer weight repeats its row that often; otherwise the
    share of a row approximates that of its weight.

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
    """Return the targets of a metric, (n_rows, k).

    Class codes become -1 and +1, for the second of two classes or for each of several. Real targets are
    standardised.
    """
    if n_classes:
        is_class = targets[:, None] == (np.arange(n_classes) if n_classes > 2 else 1)
        return np.where(is_class, 1.0, -1.0)
    numbers = targets.astype(np.float64)
    spread = float(numbers.std())
    centred: Array = numbers - numbers.mean()
    return (centred / (spread if spread > 0 else 1.0))[:, None]


def map_bytes(choice: MapChoice, n_features: int) -> int:
    """Return the bytes of a map of rows with ``n_features`` columns."""
    # quantiles are stored in three orders
    rows = 4 + 3 * N_QUANTILES * choice.has_quantiles + (n_features if choice.is_full else 1)
    return 8 * n_features * rows


def fitting_bytes(choice: MapChoice, n_rows: int, n_features: int, n_outputs: int) -> int:
    """Return the bytes that :meth:`RowMap.fit` needs besides its rows and the map."""
    exact = 8 * n_rows * n_features
    # the transformed sample, its differences from the mean, and their squares; quantiles while they are
    # computed
    transforming = 3 * exact + 3 * 8 * N_QUANTILES * n_features * choice.has_quantiles
    searching = interaction_bytes(n_rows, n_features) if choice.metric == "interactions" else 0
    learning = exact + learning_bytes(n_rows, n_features, n_outputs, choice.metric)
    return max(transforming, learning, searching)


def map_to_arrays(mapping: RowMap) -> dict[str, NDArray[Any]]:
    """Return the arrays of a map, for :func:`map_from_arrays`."""
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
    """Return the map with the arrays of :func:`map_to_arrays`.

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
