"""Kernel ridge machines in closed form on few rows: linear, over centres, and over all rows.

Each minimises sum_i s_i (f(x_i) - t_i)^2 + ridge |f|^2 over the training rows, for all outputs at once, with
targets t of -1 and +1 or standardised numbers. Their losses on held-out rows show which map, kernel and width
suit the data, and how many functions they need, in a hundredth of the time of the package's own machines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import DistkernError
from distkern.core.ridge import raised_factor, solve_ridge
from distkern.core.scores import by_group, log_losses
from distkern.core.sparse import SparseRows
from distkern.core.types import Array, Block, Floats
from distkern.maths.kernels.base import AbstractTileKernel, Powers
from distkern.maths.kernels.product import Laplacian
from distkern.maths.maps.mapping import RowMap, pulled_targets
from distkern.maths.maps.trend import LinearTrend

#: shares of the mean diagonal and of the ridge, added so that the matrix stays definite for equal centres
_JITTER, _RIDGE_JITTER = 1e-8, 3e-3
#: share of the mean diagonal added to the kernel matrix of centres before it is factored
_CENTRE_JITTER = 1e-6
#: relative residual of exact machines; smaller ones change no compared loss
_TOLERANCE = 1e-6
#: rows predicted at a time
_STRIP = 512
#: subtractions of city-block distances up to which SciPy's loop is faster than loading a compiled one
FEW_DIFFERENCES = 2**24


@dataclass(frozen=True)
class SampleRows:
    """Rows of a sample.

    Attributes
    ----------
    features : (n, d)
    targets : (n, k): -1 and +1, or standardised real numbers
    codes : (n,) class codes; None for real targets
    weights : (n,) s_i, mean 1
    group_keys : (n,) as in :class:`~distkern.core.types.Block`
    multiplicity : see :class:`~distkern.maths.maps.transform.Transform`
    """

    features: Floats
    targets: Array
    codes: NDArray[Any] | None
    weights: Array
    group_keys: NDArray[np.uint64] | None = None
    multiplicity: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        rows: Block,
        n_classes: int,
        class_weights: Array | None,
        unit: NDArray[Any] | None = None,
        multiplicity: tuple[int, ...] = (),
    ) -> SampleRows:
        """Take the rows of a block, dense or sparse, with their class codes or real targets.

        Parameters
        ----------
        class_weights : (n_classes,), or None
        unit : real targets are divided by the standard deviation of these targets, after their mean is
            subtracted; None: of their own
        """
        features, targets = rows.features, np.asarray(rows.targets)
        features = features.toarray() if isinstance(features, SparseRows) else np.asarray(features)
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights.astype(np.float64)
        if class_weights is not None:
            weights = weights * class_weights[targets]
        codes = targets if n_classes else None
        standardised = pulled_targets(targets, n_classes)
        if unit is not None and not n_classes:
            standardised = ((targets - unit.mean()) / (unit.std() or 1.0))[:, None]
        return cls(features, standardised, codes, weights / weights.mean(), rows.group_keys, multiplicity)

    def part(self, numbers: NDArray[np.intp]) -> SampleRows:
        """Return the rows with these numbers."""
        codes = None if self.codes is None else self.codes[numbers]
        keys = None if self.group_keys is None else self.group_keys[numbers]
        own = (self.features[numbers], self.targets[numbers], codes, self.weights[numbers], keys)
        return SampleRows(*own, self.multiplicity)

    def without(self, trend: LinearTrend | None) -> SampleRows:
        """Return the rows with what a trend leaves of their real targets."""
        if trend is None:
            return self
        return replace(self, targets=self.targets - trend.at(self.features)[:, None])

    @classmethod
    def joined(cls, parts: Sequence[SampleRows]) -> SampleRows:
        """Join parts of the same sample."""
        if len(parts) == 1:
            return parts[0]
        names = ("features", "targets", "codes", "weights", "group_keys")
        columns: list[list[Any]] = [[getattr(part, name) for part in parts] for name in names]
        features, *others = (None if each[0] is None else np.concatenate(each) for each in columns)
        values: list[Any] = [features, *others, parts[0].multiplicity]
        return cls(*values)

    @property
    def n_rows(self) -> int:
        return len(self.features)

    @property
    def oversampling(self) -> float:
        """The largest ratio of a class's share of the sample to its share of all rows, at least 1.

        Rows of an oversampled class weigh less than the mean, which is 1.
        """
        if self.codes is None:
            return 1.0
        counts = np.bincount(self.codes)
        sums = np.bincount(self.codes, weights=self.weights)
        return max(1.0, float(np.max(counts[counts > 0] / sums[counts > 0])))

    def losses(self, values: Array, n_rows: Sequence[int] = ()) -> Array:
        """Return the log loss or squared error of each row or group, for predictions (n, k).

        A group that is in several of the joined parts, which have ``n_rows`` rows, counts once in each.
        """
        if self.codes is None:
            losses = np.asarray(self.weights * np.square(values - self.targets).sum(axis=1))
            # as in log_losses, an undefined value is the worst
            losses[np.isnan(losses)] = np.inf
        else:
            losses = log_losses(values, self.codes, self.weights)
        if self.group_keys is None:
            return losses
        ends = np.cumsum(n_rows)[:-1]
        parts = zip(np.split(losses, ends), np.split(self.group_keys, ends), strict=True)
        return np.concatenate([by_group(*part) for part in parts])


@dataclass(frozen=True)
class Kernel:
    """A kernel's name, its width in median distances, and its parameters other than gamma."""

    name: str
    width: float = 1.0
    parameters: tuple[tuple[str, Any], ...] = ()

    def over(self, mapping: RowMap) -> AbstractTileKernel:
        """Return the kernel of mapped rows."""
        return mapping.kernel(self.name, self.width, **dict(self.parameters))


def over_centres(
    kernel: AbstractTileKernel,
    n_centres: int,
    ridges: Sequence[float],
    train: SampleRows,
    held_out: SampleRows,
    powers: tuple[Powers, Powers],
) -> Iterator[Array]:
    """Yield held-out losses (n_held_out,) for each ridge, with f = sum_j a_j k(c_j, .), |f|^2 = a' K_cc a.

    The centres are the first rows.

    Parameters
    ----------
    train, held_out : mapped rows
    powers : previous kernel values of the training rows and of the held-out rows
    """
    from scipy.linalg import cho_solve

    centres = train.features[:n_centres]
    train_values, held_out_values = (
        values.of(kernel, partial(_values, kernel, centres, part.features))
        for values, part in zip(powers, (train, held_out), strict=True)
    )
    roots = np.sqrt(train.weights)[:, None]
    weighted = train_values * roots
    # a matrix times its own transpose takes half the time of a product of two matrices
    gram, right = weighted.T @ weighted, weighted.T @ (roots * train.targets)
    norm = 0.5 * (train_values[:n_centres] + train_values[:n_centres].T)
    jitter = _JITTER * float(np.trace(gram)) / n_centres
    coefficients = []
    for ridge in ridges:
        matrix = ridge * norm
        matrix += gram
        factor = raised_factor(matrix, jitter + _RIDGE_JITTER * ridge)
        coefficients.append(cho_solve(factor, right, check_finite=False))
    # one product for all ridges reads the kernel values once
    values = held_out_values @ np.hstack(coefficients)
    for own in np.split(values, len(ridges), axis=1):
        yield held_out.losses(own)


def centre_features(
    kernel: AbstractTileKernel, n_centres: int, train: SampleRows, held_out: SampleRows
) -> list[Floats]:
    """Return Nystroem features L^-1 k(c, .) of training and held-out rows, (n, m), with L L' = K_cc.

    The centres are the first training rows. All rows are mapped.
    """
    from scipy.linalg import get_blas_funcs
    from scipy.linalg.lapack import dtrtri

    # rounding to single precision is far below the noise of classes, but perhaps not of real targets
    precision = np.float64 if train.codes is None else np.float32
    centres = np.asarray(train.features[:n_centres], dtype=np.float64)
    matrix = _values(kernel, centres, centres)
    matrix = 0.5 * (matrix + matrix.T)
    factor, _ = raised_factor(matrix, _CENTRE_JITTER * float(np.trace(matrix)) / len(matrix), lower=True)
    # multiplying by the inverse is much faster than solving
    inverse = dtrtri(factor, lower=True)[0].astype(precision, order="F")
    (multiply,) = get_blas_funcs(("trmm",), (inverse,))
    features: list[Floats] = []
    for part in (train, held_out):
        values = np.empty((part.n_rows, len(centres)), np.float32)
        for start in range(0, part.n_rows, _STRIP):
            strip = slice(start, start + _STRIP)
            kernels = _values(kernel, centres, part.features[strip].astype(np.float64))
            right = kernels.astype(precision, copy=False).T
            values[strip] = multiply(1.0, inverse, right, lower=True, overwrite_b=True).T
        features.append(values)
    return features


def over_all_rows(
    kernel: AbstractTileKernel, ridges: Sequence[float], train: SampleRows, held_out: SampleRows
) -> Iterator[Array]:
    """Yield held-out losses (n_held_out,) for each ridge, with f = sum_j a_j k(x_j, .) + b."""
    return map(held_out.losses, values_over_all_rows(kernel, ridges, train, held_out))


def values_over_all_rows(
    kernel: AbstractTileKernel, ridges: Sequence[float], train: SampleRows, held_out: SampleRows
) -> Iterator[Array]:
    """Yield the held-out values f(x) (n_held_out, k) of the machines of :func:`over_all_rows`."""
    if not train.weights.all():
        train = train.part(np.flatnonzero(train.weights))
    rows = train.features.astype(np.float64)
    matrix = _values(kernel, rows, rows)
    center = np.average(train.targets, axis=0, weights=train.weights)
    n_outputs = train.targets.shape[1]
    # one tile of kernel values serves all ridges
    coefficients = np.hstack(
        [_solved(matrix, train.targets - center, train.weights / ridge) for ridge in ridges]
    )
    values = np.empty((held_out.n_rows, coefficients.shape[1]))
    for start in range(0, held_out.n_rows, _STRIP):
        strip = slice(start, start + _STRIP)
        values[strip] = _values(kernel, rows, held_out.features[strip].astype(np.float64)) @ coefficients
    for first in range(0, values.shape[1], n_outputs):
        yield values[:, first : first + n_outputs] + center


def _solved(matrix: Array, targets: Array, costs: Array) -> Array:
    """Return the coefficients of an exact machine; 0, so that it is a constant, if rounding hides them."""
    try:
        return solve_ridge(matrix, targets, costs, tolerance=_TOLERANCE)
    except DistkernError:
        return np.zeros(targets.shape)


def in_row_span(train: SampleRows, held_out: SampleRows) -> tuple[SampleRows, SampleRows]:
    """Express the rows in an orthonormal basis of the training rows' span, if it has fewer dimensions.

    The weights of a linear machine lie in this span for every ridge, so its predictions do not change.
    """
    if train.n_rows >= train.features.shape[1]:
        return train, held_out
    basis = np.linalg.qr(train.features.T)[0]
    return replace(train, features=train.features @ basis), replace(
        held_out, features=held_out.features @ basis
    )


def linear(ridges: Sequence[float], train: SampleRows, held_out: SampleRows) -> Iterator[Array]:
    """Yield held-out losses (n_held_out,) for each ridge, with f = w' x + b and |f|^2 = |w|^2."""
    from scipy.linalg import cho_solve

    mean = np.average(train.features, axis=0, weights=train.weights)
    center = np.average(train.targets, axis=0, weights=train.weights)
    centred = train.features.astype(np.float64) - mean
    weighted = centred * train.weights[:, None]
    gram, right = weighted.T @ centred, weighted.T @ (train.targets - center)
    jitter = _JITTER * float(np.trace(gram)) / len(gram) or 1.0
    held_out_centred = held_out.features.astype(np.float64) - mean
    for ridge in ridges:
        factor = raised_factor(gram.copy(), ridge + jitter)
        yield held_out.losses(held_out_centred @ cho_solve(factor, right, check_finite=False) + center)


def _values(kernel: AbstractTileKernel, centres: Floats, rows: Floats) -> Array:
    """Return kernel values (n, n_centres), computed in the precision of the rows."""
    if isinstance(kernel, Laplacian) and rows.size * len(centres) <= FEW_DIFFERENCES:
        from scipy.spatial.distance import cdist

        return np.asarray(np.exp(-kernel.gamma * cdist(rows, centres, "cityblock")))
    values = np.empty((len(rows), len(centres)), dtype=rows.dtype)
    kernel.prepare(centres).scores(rows, values)
    kernel.finish(values)
    return values.astype(np.float64, copy=False)
