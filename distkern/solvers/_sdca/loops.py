"""The sequential loop of SDCA, compiled for a loss, a dtype and a form of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from distkern.common.compiled import argument_types, compile_loop, parameters_type
from distkern.losses.coordinate import AbstractCoordinateLoss
from distkern.solvers._pegasos.loops import column_of, dense_column, sparse_column


def dual_cost(dual: Any, target: Any, cost: Any, parameters: Any) -> Any:
    """Stands for a loss's own."""
    raise NotImplementedError


def dual_minimum(prediction: Any, square: Any, dual: Any, target: Any, cost: Any, parameters: Any) -> Any:
    """Stands for a loss's own."""
    raise NotImplementedError


def _turn(data, indices, indptr, targets, costs, scale, duals, w, parameters):  # type: ignore[no-untyped-def]
    n_rows, outputs = targets.shape
    total = squares = 0.0
    # a row in the precision of w, once for all outputs
    row = np.empty(max(1, np.diff(indptr).max()) if n_rows else 1)
    for t in range(n_rows):
        first, n_entries = indptr[t], indptr[t + 1] - indptr[t]
        for entry in range(n_entries):
            row[entry] = data[first + entry]
        # apart: where a loop also stores, the order of its sum depends on where arrays lie
        square = 0.0
        for entry in range(n_entries):
            square += row[entry] * row[entry]
        squares += square
        for j in range(outputs):
            target, cost, before = np.float64(targets[t, j]), costs[t], duals[t, j]
            if cost <= 0.0:
                continue
            prediction = 0.0
            for entry in range(n_entries):
                prediction += row[entry] * w[j, column_of(indices, first, first + entry)]
            after = dual_minimum(prediction, square * scale, before, target, cost, parameters)
            total += dual_cost(after, target, cost, parameters)
            if after != before:
                duals[t, j] = after
                change = scale * (after - before)
                for entry in range(n_entries):
                    w[j, column_of(indices, first, first + entry)] += change * row[entry]
    return total, squares


@cache
def turn_loop(
    loss: AbstractCoordinateLoss, dtype: np.dtype[Any], is_dense: bool
) -> Callable[..., tuple[float, float]]:
    """One exact step in the dual variables of each of some rows, in their order.

    The compiled function takes the arrays of a :class:`~distkern.solvers._pegasos.pieces.Piece` (with its
    weights as costs), the factor of a_i z(x_i) in w, the dual variables (n, k) and w (k, r), both of which it
    changes, and the loss's dual parameters; it returns the sum of the conjugates and that of |z(x_i)|^2.
    """
    names = {"x": dtype, "parameters": parameters_type(len(loss.dual_parameters))}
    arguments = argument_types("x[:] i4[:] i8[:] x[:, :] f8[:] f8 f8[:, :]! f8[:, :]! parameters", **names)
    helpers: dict[str, Callable[..., Any]] = {
        "dual_minimum": type(loss).dual_minimum,
        "dual_cost": type(loss).dual_cost,
        "column_of": dense_column if is_dense else sparse_column,
    }
    return compile_loop(_turn, arguments, helpers=helpers)


def _kernel_turn(kernels, predictions, targets, costs, scale, duals, parameters):  # type: ignore[no-untyped-def]
    n_rows, outputs = targets.shape
    total = 0.0
    for t in range(n_rows):
        cost = costs[t]
        if cost <= 0.0:
            continue
        for j in range(outputs):
            before = duals[t, j]
            square = scale * np.float64(kernels[t, t])
            after = dual_minimum(predictions[t, j], square, before, targets[t, j], cost, parameters)
            total += dual_cost(after, targets[t, j], cost, parameters)
            if after != before:
                duals[t, j] = after
                change = scale * (after - before)
                for s in range(t, n_rows):
                    predictions[s, j] += change * np.float64(kernels[t, s])
    return total


@cache
def kernel_turn_loop(loss: AbstractCoordinateLoss, dtype: np.dtype[Any]) -> Callable[..., float]:
    """One exact step in the dual variables of each of some rows, by the matrix of their kernels.

    The compiled function takes the matrix (n, n), f at the rows (n, k) and targets (n, k), costs (n,),
    1 / (nu n), the dual variables (n, k) and the loss's dual parameters; it changes f and the variables.
    """
    names = {"x": dtype, "parameters": parameters_type(len(loss.dual_parameters))}
    arguments = argument_types("x[:, :] f8[:, :]! f8[:, :] f8[:] f8 f8[:, :]! parameters", **names)
    helpers: dict[str, Callable[..., Any]] = {
        "dual_minimum": type(loss).dual_minimum,
        "dual_cost": type(loss).dual_cost,
    }
    return compile_loop(_kernel_turn, arguments, helpers=helpers)
