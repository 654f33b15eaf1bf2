"""The sequential inner loops, compiled for a loss and a dtype."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from distkern.common.compiled import argument_types, compile_loop, derivative, parameters_type
from distkern.losses.base import AbstractElementwiseLoss


def _csvrg(values, nearest, products, signs, weights, v, a, b, eta, lam, parameters, start, stop):  # type: ignore[no-untyped-def]
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


def _avm(values, nearest, signs, weights, u, early, inverse_sum, step, offset, tail_start, lam, parameters):  # type: ignore[no-untyped-def]
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
    text = "x[:, :] p[:] x[:, :] x[:, :] f8[:] f8[:, :]! f8 f8[:]! f8 f8 parameters i8 i8"
    arguments = argument_types(text, x=dtype, parameters=parameters_type(len(loss.parameters)))
    return compile_loop(_csvrg, arguments, helpers={"derivative": type(loss).derivative})


@cache
def avm_loop(loss: AbstractElementwiseLoss, dtype: np.dtype[Any]) -> Callable[..., float]:
    """The inner loop of :class:`distkern.solvers.avm.AVM` on the rows of a piece.

    The compiled function takes ``values`` (n, r), ``nearest`` (n,), ``signs`` (n, k), ``weights`` (n,), then
    the state ``u`` (k, r), ``early`` (k, r), both of which it changes, and returns the new ``inverse_sum``.
    """
    text = "x[:, :] p[:] x[:, :] f8[:] f8[:, :]! f8[:, :]! f8 i8 f8 i8 f8 parameters"
    arguments = argument_types(text, x=dtype, parameters=parameters_type(len(loss.parameters)))
    return compile_loop(_avm, arguments, helpers={"derivative": type(loss).derivative})
