"""One cell's machine: its kernel matrix, its exact solution, its predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.types import Floats
from distkern.kernels.base import AbstractLandmarkKernel, AbstractTileKernel
from distkern.losses.conjugate import AbstractDualLoss
from distkern.solvers._cells.dual import solve_dual
from distkern.solvers._cells.ridge import solve_ridge

Array = NDArray[np.float64]

#: numbers of a tile of kernel values
_TILE = 2**20
#: of equal rows
_MOST_COST = 1e4


@dataclass(frozen=True)
class CellSettings:
    """What all cells have in common.

    Attributes
    ----------
    kernel : of the mapped rows
    loss : with a conjugate
    cost : C, of a row of weight 1; the objective is 1/2 f' K^-1 f + C sum_i weight_i l(f_i, y_i)
    tolerance : of the dual solver, in units of predictions
    """

    kernel: AbstractTileKernel
    loss: AbstractDualLoss
    cost: float
    tolerance: float = 0.05


@dataclass(frozen=True)
class CellMachine:
    """f(x) = constants + sum_i coefficients_i k(x, rows_i).

    Attributes
    ----------
    rows : (n_support, d), those with a coefficient that is not 0
    coefficients : (n_support, k), in the dtype of the rows
    constants : (k,) float64
    gap : largest share of an output's objective that may be above its minimum
    converged : of all outputs
    """

    rows: Floats
    coefficients: Floats
    constants: Array
    gap: float = 0.0
    converged: bool = True


def solve_cell(
    settings: CellSettings, rows: Floats, targets: Array, weights: Array | None, seed: int
) -> CellMachine:
    """The exact machine of a cell's rows.

    Several outputs (one-vs-rest) share the kernel matrix, and with the square loss its factorisation. An
    output whose targets are all equal is a constant. Real targets are centred.

    Parameters
    ----------
    rows : (m, d) mapped rows
    targets : (m, k): -1 and +1, or real numbers
    weights : (m,), or None for all ones; rows of weight 0 are left out
    seed : of the cell

    Notes
    -----
    Equal rows count as one. Where they cost more than 10^4 together they are taken to cost that much: f is
    then within 10^-4 of what it would be without a regulariser, and more would only lose digits.
    """
    importance = np.ones(len(rows)) if weights is None else weights
    if not importance.all():
        kept = importance > 0
        rows, targets, importance = rows[kept], targets[kept], importance[kept]
    rows, targets, importance, places = merged(rows, targets, importance)
    if not len(rows):
        return CellMachine(rows, np.zeros((0, targets.shape[1]), rows.dtype), np.zeros(targets.shape[1]))
    constants = np.zeros(targets.shape[1])
    if settings.loss.target_kind == "real":
        constants = importance @ targets / importance.sum()
    same = (targets == targets[0]).all(axis=0)
    constants[same] = targets[0, same]
    coefficients = np.zeros(targets.shape)
    gap, converged = 0.0, True
    if not same.all():
        costs = settings.cost * importance
        together = np.bincount(places, costs)[places]
        costs = costs * np.minimum(1.0, _MOST_COST / together)
        centred = targets - np.where(settings.loss.target_kind == "real", constants, 0.0)
        if settings.loss.is_quadratic:
            kernel = kernel_matrix(settings.kernel, rows, np.float64)
            coefficients[:, ~same] = solve_ridge(kernel, centred[:, ~same], costs)
        else:
            kernel = kernel_matrix(settings.kernel, rows, rows.dtype)
            for output in np.flatnonzero(~same):
                wanted = centred[:, output]
                found = solve_dual(
                    kernel, wanted, costs, settings.loss, seed=seed, tolerance=settings.tolerance,
                    start=_cancelled(settings.loss, wanted, costs, places),
                )  # fmt: skip
                coefficients[:, output] = found.coefficients
                gap, converged = max(gap, found.gap / found.primal), converged and found.converged
    support = coefficients.any(axis=1)
    return CellMachine(
        rows[support], coefficients[support].astype(rows.dtype), constants, gap, converged
    )  # fmt: skip


def predict_cell(settings: CellSettings, machine: CellMachine, rows: Floats) -> Array:
    """f of mapped rows (n, d): (n, k) float64."""
    values = np.tile(machine.constants, (len(rows), 1))
    if len(machine.rows) and len(rows):
        prepared = settings.kernel.prepare(machine.rows)
        step = max(1, _TILE // len(machine.rows))
        tile = np.empty((min(step, len(rows)), len(machine.rows)), rows.dtype)
        for start in range(0, len(rows), step):
            part = rows[start : start + step]
            prepared.scores(part, tile[: len(part)])
            settings.kernel.finish(tile[: len(part)])
            values[start : start + step] += tile[: len(part)] @ machine.coefficients
    return values


def kernel_matrix(kernel: AbstractTileKernel, rows: Floats, dtype: DTypeLike) -> Floats:
    """K of rows with each other, (m, m), tile by tile; symmetric but for rounding."""
    points = np.ascontiguousarray(rows, dtype=dtype)
    n_rows = len(points)
    matrix: Floats = np.empty((n_rows, n_rows), dtype=points.dtype)
    prepared = kernel.prepare(points)
    step = max(1, _TILE // n_rows)
    for start in range(0, n_rows, step):
        tile = matrix[start : start + step]
        prepared.scores(points[start : start + step], tile)
        kernel.finish(tile)
    if isinstance(kernel, AbstractLandmarkKernel):
        np.fill_diagonal(matrix, 1.0)
    return matrix


def merged(rows: Floats, targets: Array, weights: Array) -> tuple[Floats, Array, Array, NDArray[np.intp]]:
    """Rows that are equal and have equal targets, once, with the sum of their weights, in their first order.

    Returns
    -------
    rows, targets, weights, and the place of each row: a number that rows have in common which are equal, with
    whatever targets
    """
    both = np.hstack([rows.astype(np.float64), targets])
    first, inverse = _distinct(both)
    order = np.argsort(first)
    sums: Array = np.bincount(inverse, weights, minlength=len(first))[order].astype(np.float64)
    kept = rows[first[order]]
    _, places = _distinct(kept.astype(np.float64))
    return kept, targets[first[order]], sums, places


def _distinct(rows: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first of each set of equal rows, and the set of each row."""
    # a negative zero is a zero
    exact = np.ascontiguousarray(rows + 0.0)
    keys = exact.view(np.dtype((np.void, exact.shape[1] * exact.itemsize))).ravel()
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return first, inverse


def _cancelled(
    loss: AbstractDualLoss, targets: Array, costs: Array, places: NDArray[np.intp]
) -> Array | None:
    """Where to start if equal rows have opposite targets and each pulls as far as its cost allows.

    The side that costs less is at its bound then, as a rule, and the other makes up for it; single
    coordinates would take as many sweeps to get there.
    """
    if (
        loss.target_kind != "binary"
        or not np.isfinite(loss.conjugate.above)
        or places.max() + 1 == len(places)
    ):
        return None
    sides = [np.bincount(places, np.where(targets * sign > 0, costs, 0.0)) for sign in (1.0, -1.0)]
    own = np.where(targets > 0, sides[0][places], sides[1][places])
    return np.asarray(targets * costs * (np.minimum(*sides)[places] / own))
