"""Kernel ridge machines over few rows in closed form: linear, over centres, and over all rows.

Each minimises sum_i s_i (f(x_i) - t_i)^2 + ridge |f|^2 over the rows that are learned from, for all outputs
at once, with targets t of -1 and +1 or standardised numbers. What they lose on other rows says which map,
kernel and width suit the data, and how many functions that takes, in a hundredth of the time of the machines
that the package would train.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.ridge import solve_ridge
from distkern.core.scores import by_group, log_losses
from distkern.core.sparse import SparseRows
from distkern.core.types import Array, Block, Floats
from distkern.maths.kernels.base import AbstractTileKernel, Powers
from distkern.maths.kernels.product import Laplacian
from distkern.maths.maps.mapping import RowMap, pulled_targets

#: shares of the mean diagonal, and of the ridge, added so that equal centres leave a definite matrix
_LEAST, _LEAST_OF_RIDGE = 1e-8, 3e-3
#: share of the mean diagonal below which features of centres are rounding
_EQUAL = 1e-6
#: share of the targets that an exact machine may leave unsolved, which changes no loss that is compared
_TOLERANCE = 1e-6
#: rows that are predicted at a time
_STRIP = 512
#: subtractions of city-block distances up to which SciPy's loop is faster than loading a compiled one
_FEW_DIFFERENCES = 2**24


@dataclass(frozen=True)
class SampleRows:
    """Rows of a sample.

    Attributes
    ----------
    features : (n, d)
    targets : (n, k): -1 and +1, or standardised real numbers
    codes : (n,) of classes; None for real targets
    weights : (n,) s_i, of mean 1
    group_keys : (n,) as in :class:`~distkern.core.types.Block`
    """

    features: Floats
    targets: Array
    codes: NDArray[Any] | None
    weights: Array
    group_keys: NDArray[np.uint64] | None = None

    @classmethod
    def of(
        cls, rows: Block, n_classes: int, class_weights: Array | None, unit: NDArray[Any] | None = None
    ) -> SampleRows:
        """Rows of a block, dense or sparse, with class codes, or real targets standardised as ``unit``."""
        given, targets = rows.features, np.asarray(rows.targets)
        features = given.toarray() if isinstance(given, SparseRows) else np.asarray(given)
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights.astype(np.float64)
        if class_weights is not None:
            weights = weights * class_weights[targets]
        codes = targets if n_classes else None
        pulled = pulled_targets(targets, n_classes)
        if unit is not None and not n_classes:
            pulled = ((targets - unit.mean()) / (unit.std() or 1.0))[:, None]
        return cls(features, pulled, codes, weights / weights.mean(), rows.group_keys)

    def part(self, numbers: NDArray[np.intp]) -> SampleRows:
        """The rows with these numbers."""
        codes = None if self.codes is None else self.codes[numbers]
        keys = None if self.group_keys is None else self.group_keys[numbers]
        return SampleRows(self.features[numbers], self.targets[numbers], codes, self.weights[numbers], keys)

    @classmethod
    def joined(cls, parts: Sequence[SampleRows]) -> SampleRows:
        """All rows of some parts of the same rows."""
        if len(parts) == 1:
            return parts[0]
        names = ("features", "targets", "codes", "weights", "group_keys")
        columns: list[list[Any]] = [[getattr(part, name) for part in parts] for name in names]
        values: list[Any] = [None if each[0] is None else np.concatenate(each) for each in columns]
        return cls(*values)

    @property
    def n_rows(self) -> int:
        return len(self.features)

    def losses(self, values: Array) -> Array:
        """A proper score of each row or group, for predictions (n, k): its log loss or its squared error."""
        if self.codes is None:
            losses = np.asarray(self.weights * np.square(values - self.targets).sum(axis=1))
        else:
            losses = log_losses(values, self.codes, self.weights)
        return by_group(losses, self.group_keys)


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
    kernel: AbstractTileKernel,
    n_centres: int,
    ridges: Sequence[float],
    learned: SampleRows,
    asked: SampleRows,
    before: tuple[Powers, Powers],
) -> Iterator[Array]:
    """Losses (n_asked,) for each ridge of f = sum_j a_j k(c_j, .) over mapped rows, |f|^2 = a' K_cc a.

    The centres are the first rows. ``before`` has kernel values of the same rows that were used last.
    """
    from scipy.linalg import cho_solve

    centres = learned.features[:n_centres]
    here, there = (
        powers.of(kernel, partial(_values, kernel, centres, part.features))
        for powers, part in zip(before, (learned, asked), strict=True)
    )
    roots = np.sqrt(learned.weights)[:, None]
    weighted = here * roots
    # a matrix times its own transpose takes half of what two matrices do
    gram, wanted = weighted.T @ weighted, weighted.T @ (roots * learned.targets)
    own = 0.5 * (here[:n_centres] + here[:n_centres].T)
    least = _LEAST * float(np.trace(gram)) / n_centres
    for ridge in ridges:
        matrix = gram + ridge * own
        matrix[np.diag_indices(n_centres)] += least + _LEAST_OF_RIDGE * ridge
        yield asked.losses(there @ cho_solve(_factor(matrix, least), wanted))


def _factor(matrix: Array, least: float) -> tuple[Array, bool]:
    """The Cholesky factor, of a matrix with more on its diagonal where rounding leaves it indefinite."""
    from scipy.linalg import LinAlgError, cho_factor

    while True:
        try:
            return cho_factor(matrix)  # type: ignore[no-any-return]
        except LinAlgError:
            least *= 10.0
            matrix[np.diag_indices(len(matrix))] += least


def centre_features(
    kernel: AbstractTileKernel, n_centres: int, learned: SampleRows, asked: SampleRows
) -> list[Floats]:
    """Nystroem features L^-1 k(c, .), (n, m), of mapped rows, L L' = K_cc; centres are the first rows."""
    from scipy.linalg import cholesky, get_blas_funcs
    from scipy.linalg.lapack import dtrtri

    # the noise of classes is far above what single precision loses; real targets may have little
    precision = np.float64 if learned.codes is None else np.float32
    centres = np.asarray(learned.features[:n_centres], dtype=np.float64)
    own = _values(kernel, centres, centres)
    own = 0.5 * (own + own.T)
    own[np.diag_indices(len(own))] += _EQUAL * float(np.trace(own)) / len(own)
    # to multiply takes a fraction of what to solve does
    inverse = dtrtri(cholesky(own, lower=True), lower=True)[0].astype(precision, order="F")
    (multiply,) = get_blas_funcs(("trmm",), (inverse,))
    found: list[Floats] = []
    for part in (learned, asked):
        values = np.empty((part.n_rows, len(centres)), np.float32)
        for start in range(0, part.n_rows, _STRIP):
            strip = slice(start, start + _STRIP)
            kernels = _values(kernel, centres, part.features[strip].astype(np.float64))
            right = kernels.astype(precision, copy=False).T
            values[strip] = multiply(1.0, inverse, right, lower=True, overwrite_b=True).T
        found.append(values)
    return found


def over_all_rows(
    kernel: AbstractTileKernel, ridges: Sequence[float], learned: SampleRows, asked: SampleRows
) -> Iterator[Array]:
    """Losses (n_asked,) for each ridge of f = sum_j a_j k(x_j, .) + b over all learned rows."""
    return map(asked.losses, values_over_all_rows(kernel, ridges, learned, asked))


def values_over_all_rows(
    kernel: AbstractTileKernel, ridges: Sequence[float], learned: SampleRows, asked: SampleRows
) -> Iterator[Array]:
    """The values f(x), (n_asked, k), of these machines."""
    if not learned.weights.all():
        learned = learned.part(np.flatnonzero(learned.weights))
    exact = learned.features.astype(np.float64)
    matrix = _values(kernel, exact, exact)
    center = np.average(learned.targets, axis=0, weights=learned.weights)
    n_outputs = learned.targets.shape[1]
    # one tile of kernel values serves all ridges
    coefficients = np.hstack(
        [
            solve_ridge(matrix, learned.targets - center, learned.weights / ridge, tolerance=_TOLERANCE)
            for ridge in ridges
        ]
    )
    values = np.empty((asked.n_rows, coefficients.shape[1]))
    for start in range(0, asked.n_rows, _STRIP):
        strip = slice(start, start + _STRIP)
        values[strip] = _values(kernel, exact, asked.features[strip].astype(np.float64)) @ coefficients
    for first in range(0, values.shape[1], n_outputs):
        yield values[:, first : first + n_outputs] + center


def in_few_coordinates(learned: SampleRows, asked: SampleRows) -> tuple[SampleRows, SampleRows]:
    """The rows in an orthonormal basis of the span of ``learned``, where that has fewer rows than columns.

    The weights w of a linear machine lie in this span for every ridge, so its predictions stay the same.
    """
    if learned.n_rows >= learned.features.shape[1]:
        return learned, asked
    basis = np.linalg.qr(learned.features.T)[0]
    return replace(learned, features=learned.features @ basis), replace(
        asked, features=asked.features @ basis
    )


def linear(ridges: Sequence[float], learned: SampleRows, asked: SampleRows) -> Iterator[Array]:
    """Losses (n_asked,) for each ridge of f = w' x + b over unmapped features, |f|^2 = |w|^2."""
    from scipy.linalg import cho_factor, cho_solve

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


def _values(kernel: AbstractTileKernel, centres: Floats, rows: Floats) -> Array:
    """Kernel values (n, n_centres), evaluated in the precision of the rows."""
    if isinstance(kernel, Laplacian) and rows.size * len(centres) <= _FEW_DIFFERENCES:
        from scipy.spatial.distance import cdist

        return np.asarray(np.exp(-kernel.gamma * cdist(rows, centres, "cityblock")))
    values = np.empty((len(rows), len(centres)), dtype=rows.dtype)
    kernel.prepare(centres).scores(rows, values)
    kernel.finish(values)
    return values.astype(np.float64, copy=False)
