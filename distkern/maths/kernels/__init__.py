"""Kernels, found by name in the files of this folder."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from distkern.core.errors import InputError
from distkern.core.registry import Family
from distkern.core.types import Array
from distkern.maths.kernels.base import (
    AbstractKernel,
    AbstractLandmarkKernel,
    AbstractScaledKernel,
    AbstractTileKernel,
    require,
)
from distkern.maths.kernels.features import AbstractFeatureKernel

__all__ = [
    "FEATURE_KERNELS",
    "KERNELS",
    "LANDMARK_KERNELS",
    "TILE_KERNELS",
    "AbstractFeatureKernel",
    "AbstractKernel",
    "AbstractLandmarkKernel",
    "AbstractScaledKernel",
    "AbstractTileKernel",
    "find_kernel",
    "kernel_matrix",
    "require",
]


KERNELS = Family("distkern.maths.kernels", AbstractKernel)  # type: ignore[type-abstract]
#: the kernel of a name
find_kernel = KERNELS.find
#: kernels that decrease with the distance from k(x, x) = 1, for landmarks
LANDMARK_KERNELS = KERNELS.where(lambda kind: issubclass(kind, AbstractLandmarkKernel))
#: kernels with tiles of values against given rows, for Nystroem features
TILE_KERNELS = KERNELS.where(lambda kind: issubclass(kind, AbstractTileKernel))
#: kernels with random features
FEATURE_KERNELS = KERNELS.where(lambda kind: issubclass(kind, AbstractFeatureKernel))


def kernel_matrix(
    X: ArrayLike, Y: ArrayLike | None = None, *, kernel: str = "rbf", **parameters: Any
) -> Array:
    """Return the kernel's closed form between all rows of ``X`` and ``Y`` (default ``X``), in float64.

    Parameters
    ----------
    X : (n, d) array
    Y : (m, d) array, optional
    kernel : name of the kernel
    **parameters : the kernel's own parameters, for instance ``gamma=0.5``

    Returns
    -------
    (n, m) float64 array

    Raises
    ------
    InputError
        If the kernel or a parameter is unknown, a parameter is out of range, the widths differ, or the kernel
        is undefined for a row.

    Examples
    --------
    >>> kernel_matrix([[0.0], [1.0]], kernel="laplacian", gamma=0.5).round(3)
    array([[1.   , 0.607],
           [0.607, 1.   ]])
    """
    left = np.ascontiguousarray(X, dtype=np.float64)
    right = left if Y is None else np.ascontiguousarray(Y, dtype=np.float64)
    if left.ndim != 2 or right.ndim != 2 or left.shape[1] != right.shape[1]:
        raise InputError(
            f"shapes {left.shape} and {right.shape} do not match",
            where="kernel_matrix",
            hint="pass two-dimensional arrays with the same number of columns",
        )
    found = find_kernel(kernel).from_parameters(**parameters)
    found.check_domain(left)
    if Y is not None:
        found.check_domain(right, where="Y")
    return found.closed_form(left, right)
