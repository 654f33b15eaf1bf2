"""The measuring passes of solvers over explicit features, and their cost."""

from __future__ import annotations

from dataclasses import replace

from distkern.maths.bases.base import STRIP_ROWS, tile_is_large
from distkern.maths.features import Footprint
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Problem
from distkern.solvers.measuring import Model, Sums, held_out, measure, measure_gradient
from distkern.solvers.sample import RowSample, SampledModel, measure_sampled_gradient


def gradient_pass(
    problem: Problem, model: Model | None, footprint: Footprint, name: str = "gradient"
) -> Reduce[Sums]:
    """The pass that sums losses, errors and the gradient."""
    return Reduce(name, measure_gradient, Sums.add, model, cost=pass_cost(problem, footprint, 2))


def sampled_gradient_pass(
    problem: Problem, model: Model | None, footprint: Footprint, sample: RowSample
) -> Reduce[Sums]:
    """The pass that sums losses, errors and the gradient over a sample."""
    cost, rows = pass_cost(problem, footprint, 2), sample.rows_per_block
    share = min(1.0, rows / problem.most_rows)
    return Reduce(
        "gradient of the sample",
        measure_sampled_gradient,
        Sums.add,
        None if model is None else SampledModel(model, sample),
        blocks=sample.blocks,
        cost=replace(cost, operations=share * cost.operations).holding(
            task={"rows of the sample": (rows, problem.row_bytes)}
        ),
    )


def measuring_pass(problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
    """The pass that sums losses and errors."""
    return Reduce("measure", measure, Sums.add, model, cost=pass_cost(problem, footprint, 1))


def held_out_pass(problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
    """The pass that measures the held-out rows."""
    return held_out(model, pass_cost(problem, footprint, 1))


def pass_cost(problem: Problem, footprint: Footprint, uses: int) -> Cost:
    """Cost of a pass that multiplies or sums the features ``uses`` times."""
    size, itemsize, outputs = footprint.size, problem.dtype.itemsize, problem.n_outputs
    # features with large tiles are built again for each use
    times = max(1, uses) if tile_is_large(size, itemsize) else max(1, uses // 2)
    cost = footprint.cost(times * footprint.operations + 2.0 * uses * size * outputs, summed=True)
    # the driver builds the features of landmarks
    cost = replace(cost, driver_compiled=footprint.is_compiled and footprint.driver_bytes > 0)
    return cost.holding(
        task={
            "predictions and slopes of a strip": (STRIP_ROWS, outputs, 48),
            "coefficients and their sums": (2, size, outputs, 8 + itemsize),
        },
        result={"gradient": (size, outputs, 8)},
        driver={"the features": (footprint.driver_bytes,)},
    )
