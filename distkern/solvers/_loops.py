"""The sequential inner loops, compiled for a loss and a dtype."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from distkern.common.compiled import array_type, compile_loop
from distkern.losses.base import AbstractElementwiseLoss


def derivative(prediction: Any, target: Any, parameters: Any) -> Any:
    """Stands for the loss's own, which :func:`distkern.common.compiled.compile_loop` puts in its place."""
    raise NotImplementedError


def _csvrg(
    values: Any,
    nearest: Any,
    products: Any,
    signs: Any,
    weights: Any,
    v: Any,
    a: float,
    b: Any,
    eta: float,
    lam: float,
    parameters: Any,
    start: int,
    stop: int,
) -> float:
    size = values.shape[1]
    outputs = signs.shape[1]
    differences = np.empty(outputs)
    for t in range(start, stop):
        for j in range(outputs):
            dot = 0.0
            for i in range(size):
                dot += values[t, i] * v[j, i]
            y = np.float64(signs[t, j])
            prediction = a * dot + b[j] * products[t, outputs + j]
            at_snapshot = np.float64(products[t, j])
            differences[j] = derivative(prediction, y, parameters) - derivative(at_snapshot, y, parameters)
            b[j] = (1.0 - eta) * b[j] - eta
        a *= 1.0 - eta
        # before the division: eta = 1 makes a zero, and a large step on a heavy row makes it negative
        if abs(a) < 1e-4:
            for j in range(outputs):
                for i in range(size):
                    v[j, i] *= a
            a = 1.0
        landmark = nearest[t]
        for j in range(outputs):
            v[j, landmark] -= eta * lam * weights[t] * differences[j] / a
    return a


def _avm(
    values: Any,
    nearest: Any,
    signs: Any,
    weights: Any,
    u: Any,
    early: Any,
    inverse_sum: float,
    step: int,
    offset: float,
    tail_start: int,
    lam: float,
    parameters: Any,
) -> float:
    size = values.shape[1]
    for t in range(values.shape[0]):
        landmark = nearest[t]
        shrink = 1.0 / max(offset + step, 1.0)
        step += 1
        for j in range(signs.shape[1]):
            dot = 0.0
            for i in range(size):
                dot += values[t, i] * u[j, i]
            change = -lam * weights[t] * derivative(shrink * dot, np.float64(signs[t, j]), parameters)
            u[j, landmark] += change
            early[j, landmark] += change * inverse_sum
        if step > tail_start:
            inverse_sum += 1.0 / (offset + step)
    return inverse_sum


@cache
def csvrg_loop(loss: AbstractElementwiseLoss, dtype: np.dtype[Any]) -> Callable[..., float]:
    """Steps ``start`` .. ``stop`` - 1 of the inner loop of csvrg.txt, Algorithm 1, on the rows of a piece.

    The compiled function takes ``values`` (n, r), ``nearest`` (n,), ``products`` (n, 2 k) with the
    predictions of w~ and of mu, ``signs`` (n, k), ``weights`` (n,), then w = a v + b mu as ``v`` (k, r),
    ``a``, ``b`` (k,), of which it changes v and b, and returns the new a.
    """
    import numba

    number, count, rows = numba.float64, numba.int64, array_type(dtype, 2)
    arguments = (
        rows,
        array_type(np.intp, 1),
        rows,
        rows,
        array_type(np.float64, 1),
        array_type(np.float64, 2, writable=True),
        number,
        array_type(np.float64, 1, writable=True),
        number,
        number,
        _parameters(loss),
        count,
        count,
    )
    return compile_loop(_csvrg, arguments, helpers={"derivative": type(loss).derivative})


@cache
def avm_loop(loss: AbstractElementwiseLoss, dtype: np.dtype[Any]) -> Callable[..., float]:
    """The inner loop of :class:`distkern.solvers.avm.AVM` on the rows of a piece.

    The compiled function takes ``values`` (n, r), ``nearest`` (n,), ``signs`` (n, k), ``weights`` (n,), then
    the state ``u`` (k, r), ``early`` (k, r), both of which it changes, and returns the new ``inverse_sum``.
    """
    import numba

    number, count = numba.float64, numba.int64
    rows, written = array_type(dtype, 2), array_type(np.float64, 2, writable=True)
    arguments = (
        rows,
        array_type(np.intp, 1),
        rows,
        array_type(np.float64, 1),
        written,
        written,
        number,
        count,
        number,
        count,
        number,
        _parameters(loss),
    )
    return compile_loop(_avm, arguments, helpers={"derivative": type(loss).derivative})


def _parameters(loss: AbstractElementwiseLoss) -> Any:
    import numba

    return numba.types.UniTuple(numba.float64, len(loss.parameters))
