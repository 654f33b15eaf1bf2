"""What a kernel is.

To add one, write a file in this folder with a frozen dataclass that derives from
:class:`AbstractKernel` (or from one of its two halves here), gives itself a ``name`` and implements
``closed_form``, ``prepare``, ``prepare_sparse`` and ``finish``; the contract tests pick it up.

A tile of kernel values is made in two steps so that one product serves both the values and the nearest
landmark: ``scores`` (larger is closer, 0 at distance 0 up to rounding, to either side), then ``finish``, an
increasing map of the scores to kernel values, in place.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import InputError, unknown_name
from distkern.core.sparse import Rows, SparseRows
from distkern.core.types import Floats


class AbstractPrepared(ABC):
    """Landmarks in the form in which a kernel compares rows with them (picklable)."""

    @abstractmethod
    def scores(self, features: Any, out: Floats) -> None:
        """Fill ``out`` (n_rows, n_landmarks) with the scores of ``features`` (n_rows, n_features).

        The rows are of the landmarks' form: an array, or :class:`~distkern.core.sparse.SparseRows`.
        """


@dataclass(frozen=True)
class AbstractKernel(ABC):
    """A positive definite kernel with k(x, x) = 1 that falls with the distance of its arguments.

    Parameters
    ----------
    gamma : float > 0
        Inverse width; every kernel's formula says how it enters.
    """

    gamma: float = 1.0

    name: ClassVar[str]

    def __post_init__(self) -> None:
        if not (np.isfinite(self.gamma) and self.gamma > 0):
            raise InputError(
                f"gamma must be a positive number, got {self.gamma!r}", where=f"kernel {self.name}"
            )

    @classmethod
    def from_parameters(cls, **parameters: Any) -> Self:
        """Build the kernel, refusing parameters it does not have."""
        known = [field.name for field in dataclasses.fields(cls)]
        for name in parameters:
            if name not in known:
                raise unknown_name(f"parameter of kernel {cls.name}", name, known)
        return cls(**parameters)

    @classmethod
    def gamma_from_width(cls, width: float, n_features: int) -> float:
        """The gamma for which the kernel is about as wide as exp(-|x - y|^2 / width^2)."""
        return 1.0 / width**2

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, as :meth:`from_parameters` takes them."""
        return dataclasses.asdict(self)

    @abstractmethod
    def closed_form(self, left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
        """k between all rows of ``left`` (n, d) and ``right`` (m, d), accurate in float64."""

    @abstractmethod
    def prepare(self, landmarks: Floats) -> AbstractPrepared:
        """Landmarks (r, d) in the form that the tiles of a pass need, in the landmarks' dtype."""

    def prepare_sparse(self, landmarks: SparseRows) -> AbstractPrepared:
        """Sparse landmarks in such a form; kernels that have none for sparse rows leave this out."""
        raise InputError(
            f"kernel {self.name} compares dense rows only", where="kernel",
            mend="shard the data with --dense, or choose another kernel",
        )  # fmt: skip

    def prepare_rows(self, landmarks: Rows) -> AbstractPrepared:
        """Landmarks of either form, prepared."""
        if isinstance(landmarks, SparseRows):
            return self.prepare_sparse(landmarks)
        return self.prepare(landmarks)

    @abstractmethod
    def finish(self, scores: Floats) -> None:
        """Turn scores into kernel values, in place."""


@dataclass(frozen=True)
class SquaredDistanceScores(AbstractPrepared):
    """Scores -scale |x - c|^2 as one augmented product [x, |x|^2, 1] [2 scale c; -scale; -scale |c|^2].

    Rows and landmarks are first shifted by the landmarks' mean: the distances stay the same and the
    cancellation in the product loses fewer digits.
    """

    center: Floats
    augmented: Floats

    @classmethod
    def of(cls, landmarks: Floats, scale: float) -> SquaredDistanceScores:
        exact = landmarks.astype(np.float64)
        center = exact.mean(axis=0).astype(landmarks.dtype)
        shifted = exact - center
        augmented = np.empty((landmarks.shape[1] + 2, landmarks.shape[0]), dtype=landmarks.dtype)
        augmented[:-2] = (2.0 * scale * shifted).T
        augmented[-2] = -scale
        augmented[-1] = -scale * np.einsum("ij,ij->i", shifted, shifted)
        return cls(center, augmented)

    def scores(self, features: Floats, out: Floats) -> None:
        from distkern.core.workspace import buffer

        n_rows, n_features = features.shape
        rows = buffer("augmented rows", (n_rows, n_features + 2), features.dtype)
        shifted = rows[:, :-2]
        np.subtract(features, self.center, out=shifted)
        np.einsum("ij,ij->i", shifted, shifted, out=rows[:, -2])
        rows[:, -1] = 1.0
        np.matmul(rows, self.augmented, out=out)


def squared_distances(left: NDArray[np.float64], right: NDArray[np.float64]) -> NDArray[np.float64]:
    """|x - y|^2 between all rows, (n, m), by differences: exact where the augmented product cancels."""
    distances = np.zeros((left.shape[0], right.shape[0]))
    for column in range(left.shape[1]):
        distances += (left[:, column, None] - right[None, :, column]) ** 2
    return distances
