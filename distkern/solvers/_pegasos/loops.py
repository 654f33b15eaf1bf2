"""The sequential loop of Pegasos, compiled for a loss, a dtype and a form of rows.

Rows of both forms are added up in the same order, so they give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distkern.common.compiled import argument_types, compile_loop, derivative, parameters_type, tuple_type
from distkern.losses.base import AbstractElementwiseLoss


class Iterates(NamedTuple):
    """w = scale v for every output, and the weighted sum of the iterates, banked v - early.

    Attributes
    ----------
    v, early : (r + 1, k), the last row is the intercept's
    scale, banked : (k,)
    norms : (k,) |v|^2
    total : (1,) sum of the weights
    """

    v: NDArray[np.float64]
    early: NDArray[np.float64]
    scale: NDArray[np.float64]
    banked: NDArray[np.float64]
    norms: NDArray[np.float64]
    total: NDArray[np.float64]


class Rule(NamedTuple):
    """Steps of 1 / (lam (offset + t)) over ``batch`` rows, iterates in a ball with weights t^power.

    ``power`` is negative without averaging, ``bias`` the value of the constant feature.
    """

    offset: float
    lam: float
    radius: float
    power: int
    batch: int
    bias: float


def shrink(factor: float, w: Any) -> None:
    """w <- factor w, for all outputs, in O(1) but for a rare flush."""
    v, early, scale, banked, norms, _ = w
    for j in range(scale.shape[0]):
        scale[j] *= factor
        # the first step of the hinge has factor 0, and what is divided by the scale would overflow
        if scale[j] < 1e-6:
            norms[j] = 0.0
            for i in range(v.shape[0]):
                early[i, j] -= banked[j] * v[i, j]
                v[i, j] *= scale[j]
                norms[j] += v[i, j] * v[i, j]
            scale[j] = 1.0
            banked[j] = 0.0


def close(step: int, radius: float, power: int, w: Any) -> None:
    """Project on the ball and count the iterate into the average, with weight step^power."""
    _, _, scale, banked, norms, total = w
    weight = 0.0
    if power >= 0:
        weight = 1.0
        for _ in range(power):
            weight *= step
    for j in range(scale.shape[0]):
        square = scale[j] * scale[j] * norms[j]
        if square > radius * radius:
            scale[j] *= radius / np.sqrt(square)
        banked[j] += weight * scale[j]
    total[0] += weight


def column_of(indices: Any, first: int, entry: int) -> int:
    """The column of an entry of a row that begins with entry ``first``."""
    raise NotImplementedError


def dense_column(indices: Any, first: int, entry: int) -> int:
    """:func:`column_of` rows that are written out."""
    return entry - first


def sparse_column(indices: Any, first: int, entry: int) -> int:
    """:func:`column_of` sparse rows."""
    return np.int64(indices[entry])  # type: ignore[return-value]


def _steps(data, indices, indptr, targets, weights, w, rule, step, parameters):  # type: ignore[no-untyped-def]
    v, early, scale, banked, norms, _ = w
    offset, lam, radius, power, batch, bias = rule
    n_rows, outputs = targets.shape
    size = v.shape[0] - 1
    dots, moves = np.empty(outputs), np.empty((min(batch, n_rows), outputs))
    for start in range(0, n_rows, batch):
        stop = min(start + batch, n_rows)
        step += 1
        for t in range(start, stop):
            first, last = indptr[t], indptr[t + 1]
            if outputs == 1:
                dot = np.float64(0.0)
                for entry in range(first, last):
                    dot += np.float64(data[entry]) * v[column_of(indices, first, entry), 0]
                dots[0] = dot
            else:
                for j in range(outputs):
                    dots[j] = 0.0
                for entry in range(first, last):
                    i, x = column_of(indices, first, entry), np.float64(data[entry])
                    for j in range(outputs):
                        dots[j] += x * v[i, j]
            for j in range(outputs):
                prediction = scale[j] * (dots[j] + bias * v[size, j])
                slope = derivative(prediction, np.float64(targets[t, j]), parameters)
                moves[t - start, j] = -weights[t] * slope / (lam * (offset + step) * (stop - start))
        shrink(1.0 - 1.0 / (offset + step), w)
        for t in range(start, stop):
            moved = False
            for j in range(outputs):
                dots[j] = moves[t - start, j] / scale[j]
                moved |= dots[j] != 0.0
            if moved:
                first, last = indptr[t], indptr[t + 1]
                # the entry after the last is the constant feature
                for entry in range(first, last + 1):
                    i, x = size, bias
                    if entry < last:
                        i, x = column_of(indices, first, entry), np.float64(data[entry])
                    if x != 0.0:
                        for j in range(outputs):
                            change = dots[j] * x
                            before = v[i, j]
                            v[i, j] = before + change
                            norms[j] += change * (before + v[i, j])
                            early[i, j] += banked[j] * change
        close(step, radius, power, w)
    return step


@cache
def steps_loop(loss: AbstractElementwiseLoss, dtype: np.dtype[Any], is_dense: bool) -> Callable[..., int]:
    """Steps of Pegasos on the rows of a piece, ``batch`` rows a step.

    The compiled function takes the arrays of a :class:`~distkern.solvers._pegasos.pieces.Piece`,
    :class:`Iterates`, which it changes, the :class:`Rule`, the last ``step`` and the loss's parameters; it
    returns the new step.
    """
    w = tuple_type(Iterates, "f8[:, :]! f8[:, :]! f8[:]! f8[:]! f8[:]! f8[:]!")
    rule = tuple_type(Rule, "f8 f8 f8 i8 i8 f8")
    names = {"x": dtype, "w": w, "rule": rule, "parameters": parameters_type(len(loss.parameters))}
    arguments = argument_types("x[:] i4[:] i8[:] x[:, :] f8[:] w rule i8 parameters", **names)
    helpers: dict[str, Callable[..., Any]] = {
        "derivative": type(loss).derivative,
        "shrink": shrink,
        "close": close,
        "column_of": dense_column if is_dense else sparse_column,
    }
    return compile_loop(_steps, arguments, helpers=helpers, exact=True)
