"""What lies before a model as graphs: scaling of columns, transforms and metrics."""

from __future__ import annotations

import numpy as np

from distkern.core.types import Array
from distkern.data.scaling import Scaling
from distkern.maths.maps.mapping import RowMap
from distkern.maths.maps.transform import Transform
from distkern.maths.samplers.normal import CENTRE, MIDDLE
from distkern.model.export.graph import Value


def scaled(rows: Value, scaling: Scaling | None) -> Value:
    """Rows as :meth:`Scaling.apply` makes them."""
    if scaling is None or scaling.kind == "none":
        return rows
    if scaling.kind == "unit":
        norms = (rows * rows).reduced("Sum", 1, keep=True).sqrt()
        return rows / norms.where(norms.apply("Greater", 0.0), 1.0)
    assert scaling.shift is not None
    assert scaling.factor is not None
    return (rows - scaling.shift) * scaling.factor


def mapped(rows: Value, row_map: RowMap | None) -> Value:
    """Rows as :meth:`RowMap.apply` makes them."""
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
    """Shares of numbers (n, d) between the quantiles (d, K) of their columns, as ``np.interp`` gives them."""
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
    # between equal quantiles all of the share is reached, below the first nothing
    within = within.where(is_wide, 1.0)
    share: Value = (panel.cast("DOUBLE") + within) / float(n_levels - 1)
    return share.where(reached.apply("Greater", 0.0), 0.0)


def normal_quantile(shares: Value) -> Value:
    """The normal distribution's quantiles of shares in [0.001, 0.999] (Wichura 1988, AS 241)."""
    q = shares - 0.5
    in_middle = 0.180625 - q * q
    middle = q * _ratio(CENTRE, in_middle)
    nearer = shares.at_most(1.0 - shares)
    far = (-(nearer.log())).sqrt()
    tail = _ratio(MIDDLE, far - 1.6)
    signed = tail * q.apply("Sign")
    return middle.where(in_middle.apply("GreaterOrEqual", 0.0), signed)


def _ratio(coefficients: tuple[tuple[float, float], ...], x: Value) -> Value:
    """The quotient of two polynomials, by Horner's rule."""
    parts: list[Value] = []
    for powers in zip(*coefficients, strict=True):
        total = x * 0.0 + powers[0]
        for coefficient in powers[1:]:
            total = total * x + coefficient
        parts.append(total)
    return parts[0] / parts[1]
