"""Scalings, maps and bases as ONNX graphs: phi(x) @ coefficients."""

from __future__ import annotations

import numpy as np

from distkern.core.sparse import converted
from distkern.core.types import Array
from distkern.data.scaling import Scaling
from distkern.maths.bases.base import AbstractBasis, MappedBasis
from distkern.maths.bases.constant import ConstantBasis
from distkern.maths.bases.landmarks import LandmarkBasis, NystroemBasis
from distkern.maths.bases.linear import LinearBasis
from distkern.maths.bases.placed import AbstractPlacedBasis
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.maths.maps.mapping import RowMap
from distkern.maths.maps.transform import Transform
from distkern.maths.samplers.normal import CENTRE, MIDDLE
from distkern.model.export.graph import Value
from distkern.model.export.kernels import block_values, kernel_values, refusal


def combined(basis: AbstractBasis, rows: Value, coefficients: Array) -> Value:
    """Return Phi coef (n, n_outputs) of rows, as ``basis.combine``; coefficients are (size, n_outputs).

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
        raise refusal("machines in cells have no formula in ONNX, because each cell has its own machine")
    raise refusal(f"functions of kind {type(basis).__name__} have no formula in ONNX")


def scaled(rows: Value, scaling: Scaling | None) -> Value:
    """Return rows after :meth:`Scaling.apply`."""
    if scaling is None or scaling.kind == "none":
        return rows
    if scaling.kind == "unit":
        norms = (rows * rows).reduced("Sum", 1, keep=True).sqrt()
        return rows / norms.where(norms.apply("Greater", 0.0), 1.0)
    assert scaling.shift is not None
    assert scaling.factor is not None
    return (rows - scaling.shift) * scaling.factor


def mapped(rows: Value, row_map: RowMap | None) -> Value:
    """Return rows after :meth:`RowMap.apply`."""
    if row_map is None:
        return rows
    values = _transformed(rows, row_map.transform)
    return values @ row_map.factors if row_map.factors.ndim == 2 else values * row_map.factors


def _transformed(rows: Value, transform: Transform) -> Value:
    if transform.quantiles is None:
        return (rows - transform.shift) * transform.factor
    rising = np.ascontiguousarray(transform.quantiles.T)
    falling = np.ascontiguousarray(-rising[:, ::-1])
    shares: Value = (_shares(rows, rising) + 1.0 - _shares(-rows, falling)) * 0.5
    if transform.kind == "normal":
        end = 0.5 / rising.shape[1]
        shares = normal_quantile(shares.at_least(end).at_most(1.0 - end))
    return (shares - transform.shift) * transform.factor


def _shares(rows: Value, quantiles: Array) -> Value:
    """Return shares of numbers (n, d) between the quantiles (d, K) of their columns, as ``np.interp``."""
    graph, (n_columns, n_levels) = rows.graph, quantiles.shape
    reached = rows.with_axis(2).apply("GreaterOrEqual", quantiles[None]).cast("DOUBLE").reduced("Sum", 2)
    panel = (reached - 1.0).at_least(0.0).at_most(float(n_levels - 2)).cast("INT64")
    first = graph.op("Add", panel, graph.whole(np.arange(n_columns) * n_levels))
    flat = graph.constant(quantiles.ravel())
    low = graph.op("Gather", flat, first)
    high = graph.op("Gather", flat, graph.op("Add", first, graph.whole(1)))
    width = high - low
    is_wide = width.apply("Greater", 0.0)
    within: Value = ((rows - low) / width.where(is_wide, 1.0)).at_least(0.0).at_most(1.0)
    # equal quantiles give the full share, numbers below the first give none
    within = within.where(is_wide, 1.0)
    share: Value = (panel.cast("DOUBLE") + within) / float(n_levels - 1)
    return share.where(reached.apply("Greater", 0.0), 0.0)


def normal_quantile(shares: Value) -> Value:
    """Return normal quantiles of shares in [0.001, 0.999] (Wichura 1988, AS 241)."""
    q = shares - 0.5
    in_middle = 0.180625 - q * q
    middle = q * _ratio(CENTRE, in_middle)
    nearer = shares.at_most(1.0 - shares)
    far = (-(nearer.log())).sqrt()
    tail = _ratio(MIDDLE, far - 1.6)
    signed = tail * q.apply("Sign")
    return middle.where(in_middle.apply("GreaterOrEqual", 0.0), signed)


def _ratio(coefficients: tuple[tuple[float, float], ...], x: Value) -> Value:
    """Return the quotient of two polynomials by Horner's rule."""
    parts: list[Value] = []
    for powers in zip(*coefficients, strict=True):
        total = x * 0.0 + powers[0]
        for coefficient in powers[1:]:
            total = total * x + coefficient
        parts.append(total)
    return parts[0] / parts[1]
