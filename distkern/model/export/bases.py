"""Bases as graphs: phi(x) @ coefficients."""

from __future__ import annotations

import numpy as np

from distkern.core.sparse import converted
from distkern.core.types import Array
from distkern.maths.bases.base import AbstractBasis, MappedBasis
from distkern.maths.bases.constant import ConstantBasis
from distkern.maths.bases.landmarks import LandmarkBasis
from distkern.maths.bases.linear import LinearBasis
from distkern.maths.bases.nystroem import NystroemBasis
from distkern.maths.bases.placed import AbstractPlacedBasis
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.maps.mapping import RowMap
from distkern.model.export.graph import Value
from distkern.model.export.kernels import block_values, kernel_values, refusal
from distkern.model.export.rows import mapped


def combined(basis: AbstractBasis, rows: Value, coefficients: Array) -> Value:
    """Phi coef (n, n_outputs) of rows, as ``basis.combine``; coefficients are (size, n_outputs).

    Raises
    ------
    InputError
        If the basis has no formula in ONNX.
    """
    if isinstance(basis, MappedBasis):
        assert isinstance(basis.mapping, RowMap)
        return combined(basis.inner, mapped(rows, basis.mapping), coefficients)
    if isinstance(basis, ConstantBasis):
        return combined(basis.inner, rows, coefficients[:-1]) + coefficients[-1:]
    if isinstance(basis, LinearBasis):
        if not basis.constant:
            return rows @ coefficients
        return rows @ coefficients[:-1] + coefficients[-1:]
    if isinstance(basis, NystroemBasis):
        return combined(basis.kernel_values, rows, basis.landmark_coefficients(coefficients))
    if isinstance(basis, LandmarkBasis):
        landmarks = np.asarray(converted(basis.landmarks, sparse=False), dtype=np.float64)
        return kernel_values(basis.kernel, rows, landmarks) @ coefficients
    if isinstance(basis, RandomFeatureBasis):
        parts = []
        for number in range(basis.n_blocks):
            block, scale = basis.block(number)
            values = block_values(basis.kernel, block, rows, basis.n_input, scale)
            parts.append(values @ coefficients[basis.columns_of(number)])
        return sum(parts[1:], start=parts[0])
    if isinstance(basis, AbstractPlacedBasis):
        raise refusal("machines in cells have no formula in ONNX, as each cell has a machine of its own")
    raise refusal(f"functions of kind {type(basis).__name__} have no formula in ONNX")
