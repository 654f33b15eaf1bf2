"""The base classes of kernels.

To add a kernel, write a file in this folder with a frozen dataclass that derives from one or more of the
abstract classes here and in ``features.py``. The contract tests find it and require its formula in
``tests/contracts/formulas.py``. Code that needs one of the classes calls :func:`require`.

A kernel (:class:`AbstractKernel`) must give:

    name                          its name
    closed_form                   k between all rows of two arrays, in float64

It may give:

    lower_bound                   the numbers for which it is defined
    is_compiled                   whether compiled loops compare dense rows
    power_of                      whether it is a power of another kernel

A kernel with a width (:class:`AbstractScaledKernel`) may give:

    gamma_from_width, is_exponential    the role of gamma

A kernel at landmarks (:class:`AbstractTileKernel`: Nystroem features) must give:

    prepare                       landmarks in a form that compares fast with rows

It may give:

    prepare_sparse                the same for sparse rows
    prepared_bytes                bytes of that form
    finish                        kernel values from the scores of ``prepare``

:class:`AbstractLandmarkKernel` decreases with the distance from k(x, x) = 1 (CSVRG, AVM, cells).
``features.AbstractFeatureKernel`` has random features: ``feature_block``.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from distkern.core.errors import InputError, unknown_name
from distkern.core.parameters import POSITIVE, Declared, parameter
from distkern.core.registry import Family
from distkern.core.sparse import Rows, SparseRows, first_place
from distkern.core.tiles import apply, matmul, raised, scratch, squared_lengths
from distkern.core.types import Array, Floats

Capability = TypeVar("Capability", bound="AbstractKernel")

_STRIP_NUMBERS = 2**16
#: largest power of kernel values, which multiplies their rounding, and relative tolerance of gammas
_MOST_POWER, _ROUNDING = 100, 1e-9


@dataclass(frozen=True)
class AbstractKernel(Declared, ABC):
    """A positive definite kernel."""

    name: ClassVar[str]
    #: whether compiled loops compare dense rows with landmarks; sparse rows always use them
    is_compiled: ClassVar[bool] = False

    @classmethod
    def parameter_names(cls) -> list[str]:
        """Return the names of the parameters."""
        return [field.name for field in dataclasses.fields(cls)]

    @classmethod
    def from_parameters(cls, **parameters: Any) -> Self:
        """Build the kernel; refuse unknown parameters."""
        known = cls.parameter_names()
        for name in parameters:
            if name not in known:
                raise unknown_name(f"parameter of kernel {cls.name}", name, known)
        return cls(**parameters)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, as :meth:`from_parameters` takes them."""
        return dataclasses.asdict(self)

    @abstractmethod
    def closed_form(self, left: Array, right: Array) -> Array:
        """Return k between all rows of ``left`` (n, d) and ``right`` (m, d), accurate in float64."""

    @property
    def lower_bound(self) -> float:
        """The kernel is defined for numbers > this bound, or for numbers >= 0 if it is 0."""
        return -math.inf

    def power_of(self, other: AbstractKernel) -> int:
        """Return n > 0 with k = other^n, or 0."""
        return 0

    def check_domain(self, rows: Rows, *, first_row: int = 0, where: str = "X") -> None:
        """Refuse rows for which the kernel is undefined.

        Parameters
        ----------
        rows : (n_rows, n_features)
        first_row : number of the first row, from 0
        where : file or argument of the rows

        Raises
        ------
        InputError
            If there is such a row. The message names the first one and its column.
        """
        bound = self.lower_bound
        if bound == -math.inf:
            return
        numbers = rows.data if isinstance(rows, SparseRows) else rows
        smallest = numbers.min(initial=np.inf)
        if smallest > bound or smallest == bound == 0.0:
            return
        # NaN fails either comparison
        place = first_place(rows, ~(numbers >= 0.0) if bound == 0.0 else ~(numbers > bound))
        assert place is not None
        row, column, value = place
        domain = ">= 0" if bound == 0.0 else f"> {bound:g}"
        raise InputError(
            f"kernel {self.name} needs numbers {domain}, got {value:g}",
            where=f"{where}, row {first_row + row}, column {column}",
            hint="scale the data to [0, 1] (shard with --scale minmax) or choose another kernel",
        )


@dataclass(frozen=True)
class AbstractNonNegativeKernel(AbstractKernel):
    """A kernel for nonnegative rows."""

    lower_bound = 0.0


@dataclass(frozen=True)
class AbstractScaledKernel(AbstractKernel):
    """A kernel with a width or a scale."""

    gamma: float = parameter(1.0, POSITIVE, help="inverse width, see the kernel's formula")

    @classmethod
    def gamma_from_width(cls, width: float, n_features: int) -> float:
        """Return the gamma that makes the kernel about as wide as exp(-|x - y|^2 / width^2)."""
        return 1.0 / width**2

    @property
    def is_exponential(self) -> bool:
        """Whether k = exp(-gamma D), so that k^n has n times the gamma."""
        return False

    def power_of(self, other: AbstractKernel) -> int:
        if not self.is_exponential or not isinstance(other, type(self)):
            return 0
        ratio = self.gamma / other.gamma
        power = round(ratio)
        is_power = abs(ratio - power) < _ROUNDING * ratio and replace(self, gamma=other.gamma) == other
        return power if is_power and power <= _MOST_POWER else 0


class AbstractPrepared(ABC):
    """Landmarks prepared for comparisons with rows by a kernel (picklable)."""

    @abstractmethod
    def scores(self, features: Any, out: Floats) -> None:
        """Fill ``out`` (n_rows, n_landmarks) with the scores of ``features`` (n_rows, n_features).

        The rows have the landmarks' form: an array, or :class:`~distkern.core.sparse.SparseRows`.
        """


@dataclass(frozen=True)
class AbstractTileKernel(AbstractKernel):
    """A kernel whose values between rows and landmarks are computed in tiles.

    A tile takes two steps: ``scores``, then ``finish``, which increases with the scores and turns them into
    kernel values in place. Kernels whose scores are the values need not implement ``finish``.
    """

    @abstractmethod
    def prepare(self, landmarks: Floats) -> AbstractPrepared:
        """Prepare landmarks (r, d) for the tiles of a pass, in the landmarks' dtype."""

    def prepared_bytes(self, n_columns: int, itemsize: int) -> int:
        """Return the bytes of :meth:`prepare` per landmark with ``n_columns`` numbers."""
        return (n_columns + 2) * itemsize

    def prepare_sparse(self, landmarks: SparseRows) -> AbstractPrepared:
        """Prepare sparse landmarks; kernels for dense rows need not implement it."""
        raise InputError(
            f"kernel {self.name} compares dense rows only",
            where="kernel",
            hint="shard the data with --dense, or choose another kernel",
        )

    def finish(self, scores: Floats) -> None:
        """Turn scores into kernel values, in place."""


@dataclass(frozen=True)
class ClosedFormScores(AbstractPrepared):
    """Kernel values by the closed form in float64."""

    kernel: AbstractTileKernel
    landmarks: Array

    def scores(self, features: Floats, out: Floats) -> None:
        out[...] = self.kernel.closed_form(features.astype(np.float64), self.landmarks)


@dataclass(frozen=True)
class AbstractClosedFormTiles(AbstractTileKernel):
    """A kernel that fills its tiles by the closed form."""

    def prepare(self, landmarks: Floats) -> ClosedFormScores:
        return ClosedFormScores(self, landmarks.astype(np.float64))

    def prepared_bytes(self, n_columns: int, itemsize: int) -> int:
        return n_columns * 8


@dataclass(frozen=True)
class AbstractLandmarkKernel(AbstractScaledKernel, AbstractTileKernel):
    """A kernel with k(x, x) = 1 that decreases with the distance of its arguments.

    Its scores increase with closeness and are 0 at distance 0, up to rounding of either sign. One product
    therefore gives both the values and the nearest landmark.
    """


def require(kernel: AbstractKernel, capability: type[Capability]) -> Capability:
    """Return the kernel if it has a capability.

    Raises
    ------
    InputError
        If it lacks the capability. The message names the kernels that have it.
    """
    if isinstance(kernel, capability):
        return kernel
    able = ", ".join(Family("distkern.maths.kernels", capability))
    raise InputError(
        f"kernel {kernel.name} cannot be used here: it {_LACKS[capability.__name__]}",
        where="kernel",
        hint=f"use one of {able}",
    )


_LACKS = {
    "AbstractLandmarkKernel": "is not a function of the distance of two rows with k(x, x) = 1",
    "AbstractTileKernel": "has no tiles of values",
    "AbstractFeatureKernel": "has no random features",
    "AbstractScaledKernel": "has no gamma",
}


class Powers:
    """Values of the same rows with successive kernels, as powers of the previous ones if possible."""

    def __init__(self) -> None:
        self._last: tuple[AbstractKernel, Floats] | None = None

    def of(self, kernel: AbstractKernel, make: Callable[[], Floats]) -> Floats:
        """Return the kernel's values (n_rows, n_landmarks): a power of the last values, or ``make()``.

        The next call overwrites them. The last values are freed before ``make()``.
        """
        last, self._last = self._last, None
        power = 0 if last is None else kernel.power_of(last[0])
        values = None if last is None or not power else raised(last[1], power)
        del last
        values = make() if values is None else values
        self._last = kernel, values
        return values


@dataclass(frozen=True)
class SquaredDistanceScores(AbstractPrepared):
    """Scores -scale |x - c|^2 as one augmented product [x, |x|^2, 1] [2 scale c; -scale; -scale |c|^2].

    Rows and landmarks are first shifted by the landmarks' mean, which preserves the distances and reduces
    cancellation.
    """

    center: Floats
    augmented: Floats

    @classmethod
    def of(cls, landmarks: Floats, scale: float) -> SquaredDistanceScores:
        center = landmarks.mean(axis=0, dtype=np.float64).astype(landmarks.dtype)
        augmented = np.empty((landmarks.shape[1] + 2, landmarks.shape[0]), dtype=landmarks.dtype)
        augmented[-2] = -scale
        # in strips, since double precision takes three times the memory of the result
        for strip in _strips(landmarks):
            shifted = landmarks[strip].astype(np.float64) - center
            augmented[-1, strip] = -scale * np.einsum("ij,ij->i", shifted, shifted)
            augmented[:-2, strip] = (2.0 * scale * shifted).T
        return cls(center, augmented)

    def spread(self, landmarks: Floats) -> Floats:
        """Return the largest distance of landmarks from the centre in each column, (n_features,) float64."""
        largest = np.zeros(landmarks.shape[1])
        for strip in _strips(landmarks):
            distances = np.abs(landmarks[strip].astype(np.float64) - self.center)
            apply(np.maximum, largest, distances.max(axis=0), into=largest)
        return largest

    def scores(self, features: Floats, out: Floats) -> None:
        n_rows, n_features = features.shape
        rows = scratch("augmented rows", (n_rows, n_features + 2), features.dtype)
        shifted = rows[:, :-2]
        apply(np.subtract, features, self.center, into=shifted)
        squared_lengths(shifted, into=rows[:, -2])
        rows[:, -1] = 1.0
        matmul(rows, self.augmented, into=out)


def _strips(rows: Floats) -> list[slice]:
    """Return strips of up to 2^16 numbers, or of one row."""
    step = max(1, _STRIP_NUMBERS // rows.shape[1])
    return [slice(start, start + step) for start in range(0, len(rows), step)]


def over_columns(
    combine: np.ufunc, term: Callable[[Array, Array], Array], left: Array, right: Array
) -> Array:
    """Combine one term for each column, between all rows, (n, m), by ``np.add`` or ``np.multiply``."""
    total = np.full((len(left), len(right)), combine.identity, dtype=np.float64)
    for x, y in zip(left.T, right.T, strict=True):
        apply(combine, total, term(x[:, None], y), into=total)
    return total


def squared_distances(left: Array, right: Array) -> Array:
    """Return |x - y|^2 between all rows, (n, m), by differences, without the product's cancellation."""
    return over_columns(np.add, lambda x, y: (x - y) ** 2, left, right)
