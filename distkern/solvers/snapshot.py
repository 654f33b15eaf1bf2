"""The full gradient over landmarks, the objective and the errors, in one pass."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from distkern.bases.base import STRIP_NUMBERS, multiply
from distkern.common.tiles import scratch
from distkern.common.types import Block
from distkern.features import Footprint
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Problem
from distkern.solvers.measuring import Model, Sums, held_out, sums_and_slopes


def snapshot(block: Block, model: Model) -> Sums:
    """One block's share of the objective and of its full gradient.

    The gradient is that of Tan et al. 2019, (7), without lambda: (r, n_outputs) sums of s_i dl/df at the
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


def snapshot_pass(problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
    """The full gradient, the objective and the training error, in one pass."""
    return Reduce("snapshot", snapshot, Sums.add, model, cost=pass_cost(problem, footprint))


def held_out_pass(problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
    """The error on the test split."""
    return held_out(model, pass_cost(problem, footprint))


def pass_cost(problem: Problem, footprint: Footprint) -> Cost:
    """Cost of a pass that evaluates the kernel at the landmarks at every row."""
    size, outputs = footprint.size, problem.n_outputs
    cost = footprint.cost(footprint.operations + 2.0 * size * outputs)
    strip = {"predictions and slopes of a strip": (STRIP_NUMBERS, 64), "sums": (2, size, outputs, 8)}
    return cost.holding(task=strip, result={"gradient": (size, outputs, 8)})
