"""The sequential inner loops, compiled for a loss and a dtype."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from distkern.common.compiled import argument_types, compile_loop, derivative, parameters_type, tuple_type
from distkern.losses.base import AbstractElementwiseLoss


class Iterate(NamedTuple):
    """CSVRG's w = a v + b mu, with ``v`` (k, r), ``a`` (1,) and ``b`` (k,)."""

    v: NDArray[np.float64]
    a: NDArray[np.float64]
    b: NDArray[np.float64]

    def coefficients(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """w (r, k), of mu (r, k)."""
        return self.a * self.v.T + self.b * gradient

    def scale(self, factors: NDArray[np.float64]) -> None:
        """w <- factor w, for every output."""
        self.v[...] *= factors[:, None]
        self.b[...] *= factors


class Average(NamedTuple):
    """AVM's w = u / (offset + step), and the sum of the averaged iterates, inverse_sum u - early.

    Attributes
    ----------
    u, early : (k, r)
    inverse_sum, step : (1,)
    """

    u: NDArray[np.float64]
    early: NDArray[np.float64]
    inverse_sum: NDArray[np.float64]
    step: NDArray[np.int64]

    def add(self, change: NDArray[np.float64]) -> None:
        """u <- u + change."""
        self.u[...] += change
        self.early[...] += change * self.inverse_sum


def _csvrg(values, nearest, products, signs, weights, w, eta, lam, spans, parameters):  # type: ignore[no-untyped-def]
    v, b, a = w.v, w.b, w.a[0]
    size = values.shape[1]
    outputs = signs.shape[1]
    differences = np.empty(outputs)
    for t in range(values.shape[0]):
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
        for j in range(outputs):
            change = eta * lam * weights[t] * differences[j] / a
            if spans:
                for i in range(size):
                    v[j, i] -= change * values[t, i]
            else:
                v[j, nearest[t]] -= change
    w.a[0] = a


def _avm(values, nearest, products, signs, weights, w, offset, tail_start, lam, parameters):  # type: ignore[no-untyped-def]
    u, early, inverse_sum, step = w.u, w.early, w.inverse_sum[0], w.step[0]
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
    w.inverse_sum[0] = inverse_sum
    w.step[0] = step


@cache
def csvrg_loop(loss: AbstractElementwiseLoss, dtype: np.dtype[Any]) -> Callable[..., None]:
    """The inner loop of Tan et al. 2019, Algorithm 1, on the rows of a piece.

    The compiled function takes the arrays of a :class:`~distkern.solvers.coreset.KernelPiece`, whose
    ``products`` (n, 2 k) are the predictions of w~ and of mu, an :class:`Iterate`, which it changes, eta,
    lam, whether the directions are the rows of values themselves and not those at the nearest landmarks, and
    the loss's parameters.
    """
    return _compiled(_csvrg, tuple_type(Iterate, "f8[:, :]! f8[:]! f8[:]!"), "f8 f8 b1", loss, dtype)


@cache
def avm_loop(loss: AbstractElementwiseLoss, dtype: np.dtype[Any]) -> Callable[..., None]:
    """The inner loop of :class:`distkern.solvers.avm.AVM` on the rows of a piece.

    The compiled function takes the arrays of a :class:`~distkern.solvers.coreset.KernelPiece`, an
    :class:`Average`, which it changes, t0, the step after which iterates are averaged, lam and the loss's
    parameters.
    """
    w = tuple_type(Average, "f8[:, :]! f8[:, :]! f8[:]! i8[:]!")
    return _compiled(_avm, w, "f8 i8 f8", loss, dtype)


def _compiled(
    function: Callable[..., Any], w: Any, rule: str, loss: AbstractElementwiseLoss, dtype: np.dtype[Any]
) -> Callable[..., None]:
    names = {"x": dtype, "p": np.intp, "w": w, "parameters": parameters_type(len(loss.parameters))}
    arguments = argument_types(f"x[:, :] p[:] x[:, :] x[:, :] f8[:] w {rule} parameters", **names)
    return compile_loop(function, arguments, helpers={"derivative": type(loss).derivative})
