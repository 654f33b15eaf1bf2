"""Kernel ridge machines over few rows in closed form: linear, over centres, and over all rows.

Each minimises sum_i s_i (f(x_i) - t_i)^2 + ridge |f|^2 over the rows that are learned from, for all outputs
at once, with targets t of -1 and +1 or standardised numbers. What they lose on other rows says which map,
kernel and width suit the data, and how many functions that takes, in a hundredth of the time of the machines
that the package would train.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from distkern.common.scores import log_losses
from distkern.common.sparse import SparseRows
from distkern.common.types import Block, Floats
from distkern.kernels.base import AbstractTileKernel
from distkern.losses.square import Square
from distkern.maps.mapping import MapChoice, RowMap, pulled_targets
from distkern.solvers._cells.trials import KernelSpec, Trial, tried

Array = NDArray[np.float64]

#: of the mean of a matrix's diagonal, and of the ridge: what makes it definite where centres are equal in
#: single precision
_LEAST, _LEAST_OF_RIDGE = 1e-8, 3e-3


@dataclass(frozen=True)
class Rows:
    """Rows of a sample.

    Attributes
    ----------
    features : (n, d)
    targets : (n, k): -1 and +1, or standardised real numbers
    codes : (n,) of classes; None for real targets
    weights : (n,) s_i, of mean 1
    """

    features: Floats
    targets: Array
    codes: NDArray[Any] | None
    weights: Array

    @classmethod
    def of(cls, rows: Block, n_classes: int, class_weights: Array | None) -> Rows:
        """A block of rows, dense or sparse, with class codes, or with real targets and no classes."""
        given, targets = rows.features, np.asarray(rows.targets)
        features = given.toarray() if isinstance(given, SparseRows) else np.asarray(given)
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights.astype(np.float64)
        if class_weights is not None:
            weights = weights * class_weights[targets]
        codes = targets if n_classes else None
        return cls(features, pulled_targets(targets, n_classes), codes, weights / weights.mean())

    def part(self, numbers: NDArray[np.intp]) -> Rows:
        """Some of them."""
        codes = None if self.codes is None else self.codes[numbers]
        return Rows(self.features[numbers], self.targets[numbers], codes, self.weights[numbers])

    @property
    def n_rows(self) -> int:
        return len(self.features)

    def losses(self, values: Array) -> Array:
        """Of predictions (n, k), a proper score of each row, (n,): its log loss or its squared error."""
        if self.codes is None:
            return np.asarray(self.weights * np.square(values - self.targets).sum(axis=1))
        return log_losses(values, self.codes, self.weights)


@dataclass(frozen=True)
class Kernel:
    """A kernel by name, its parameters but for gamma, and its width in medians of the distances."""

    name: str
    width: float = 1.0
    parameters: tuple[tuple[str, Any], ...] = ()

    def over(self, mapping: RowMap) -> AbstractTileKernel:
        """The kernel of mapped rows."""
        return mapping.kernel(self.name, self.width, **dict(self.parameters))


def over_centres(
    kernel: AbstractTileKernel, n_centres: int, ridges: Sequence[float], learned: Rows, asked: Rows
) -> Iterator[Array]:
    """Losses (n_asked,) for each ridge of f = sum_j a_j k(c_j, .), |f|^2 = a' K_cc a, over the first rows as
    centres; the features are mapped already."""
    prepared = kernel.prepare(learned.features[:n_centres])
    here, there = (_values(kernel, prepared, part.features, n_centres) for part in (learned, asked))
    weighted = here * learned.weights[:, None]
    gram, wanted = weighted.T @ here, weighted.T @ learned.targets
    own = 0.5 * (here[:n_centres] + here[:n_centres].T)
    least = _LEAST * float(np.trace(gram)) / n_centres
    for ridge in ridges:
        matrix = gram + ridge * own
        matrix[np.diag_indices(n_centres)] += least + _LEAST_OF_RIDGE * ridge
        yield asked.losses(there @ cho_solve(cho_factor(matrix, overwrite_a=True), wanted))


def over_all_rows(
    mapping: RowMap, kernels: Sequence[Kernel], ridges: Sequence[float], learned: Rows, asked: Rows, seed: int
) -> Array:
    """The same with every row that is learned from as a centre, of some kernels and ridges: losses
    (n_kernels * n_ridges, n_asked), in the order of the pairs; the features are mapped already."""
    points = tuple((KernelSpec(kernel.name, kernel.parameters), kernel.width) for kernel in kernels)
    trial = Trial(MapChoice(), points, tuple(1.0 / ridge for ridge in ridges))
    given, other = ((part.features, part.targets, part.weights) for part in (learned, asked))
    return tried(trial, mapping, Square(), given, other, seed)[0]


def linear(ridges: Sequence[float], learned: Rows, asked: Rows) -> Iterator[Array]:
    """The same of f = w' x + b over the features as they are, |f|^2 = |w|^2."""
    mean = np.average(learned.features, axis=0, weights=learned.weights)
    center = np.average(learned.targets, axis=0, weights=learned.weights)
    here = learned.features.astype(np.float64) - mean
    weighted = here * learned.weights[:, None]
    gram, wanted = weighted.T @ here, weighted.T @ (learned.targets - center)
    least = _LEAST * float(np.trace(gram)) / len(gram) or 1.0
    there = asked.features.astype(np.float64) - mean
    for ridge in ridges:
        matrix = gram + (ridge + least) * np.eye(len(gram))
        yield asked.losses(there @ cho_solve(cho_factor(matrix), wanted) + center)


def _values(kernel: AbstractTileKernel, prepared: Any, rows: Floats, n_centres: int) -> Array:
    values = np.empty((len(rows), n_centres), dtype=rows.dtype)
    prepared.scores(rows, values)
    kernel.finish(values)
    return values.astype(np.float64)
