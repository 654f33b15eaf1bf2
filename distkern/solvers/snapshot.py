"""The full gradient over landmarks, the objective and the errors, in one pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from distkern.bases.base import STRIP_NUMBERS, multiply
from distkern.core.sparse import comparing_bytes
from distkern.core.tiles import scratch
from distkern.core.types import Block
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Problem
from distkern.solvers.measuring import Model, Sums, measure, sums_and_slopes


def snapshot(block: Block, model: Model) -> Sums:
    """One block's share of the objective and of its full gradient.

    The gradient is that of csvrg.txt, equation (7), without lambda: (r, n_outputs) sums of s_i dl/df at the
    landmark nearest to x_i.
    """
    basis, risk, sums = model.basis, model.risk, Sums.none(model.risk)
    coefficients = model.coefficients.astype(basis.dtype)
    gradient = np.zeros(coefficients.shape)
    for strip in model.strips(block):
        predictions = scratch("predictions", (strip.n_rows, risk.n_outputs), basis.dtype)
        nearest = scratch("nearest", (strip.n_rows,), np.intp)
        for tile in basis.tiles(strip.features, nearest=nearest):
            multiply(tile.values, coefficients, predictions[tile.rows])
        share, slopes = sums_and_slopes(risk, strip, predictions)
        for output in range(risk.n_outputs):
            gradient[:, output] += np.bincount(nearest, weights=slopes[:, output], minlength=basis.size)
        sums = Sums.add(sums, share)
    return replace(sums, gradient=gradient)


def snapshot_pass(problem: Problem, model: Model | None, size: int, compiled: bool) -> Reduce[Sums]:
    """The full gradient, the objective and the training error, in one pass."""
    return Reduce("snapshot", snapshot, Sums.add, model, cost=pass_cost(problem, size, compiled))


def held_out_pass(problem: Problem, model: Model | None, size: int, compiled: bool) -> Reduce[Sums]:
    """The error on the test split."""
    return Reduce(
        "held out", measure, Sums.add, model, split="test", cost=pass_cost(problem, size, compiled),
        measures_only=True,
    )  # fmt: skip


def pass_cost(problem: Problem, size: int, compiled: bool) -> Cost:
    """Of a pass that evaluates ``size`` kernels at every row, in compiled loops or not."""
    itemsize, outputs = problem.dtype.itemsize, problem.n_outputs
    tile_rows = int(np.clip(512 * 1024 // (size * itemsize), 128, 1024))
    return Cost(
        workspace_bytes=tile_rows * (2 * size + problem.row_numbers + 2) * itemsize
        + STRIP_NUMBERS * 64
        + 2 * size * problem.row_numbers * itemsize
        + (0 if problem.sparse_numbers is None else comparing_bytes(problem.n_features))
        + size * outputs * 16,
        result_bytes=size * outputs * 8,
        flops_per_row=2.0 * size * (problem.row_numbers + 2 + outputs),
        entries_per_row=float(size),
        compiled=compiled,
    )
