"""The full gradient over explicit features, the objective and the errors, in one pass."""

from __future__ import annotations

from distkern.bases.random_features import STRIP_ROWS, tile_is_large
from distkern.common.types import Block
from distkern.features import Footprint
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Problem
from distkern.solvers.measuring import Model, Sums, measure, measure_gradient, with_largest


def first_snapshot(block: Block, model: Model) -> Sums:
    """The sums, the gradient, and the largest s_i |z(x_i)|^2."""
    return with_largest(measure_gradient(block, model), block, model)


def snapshot_pass(
    problem: Problem, model: Model | None, footprint: Footprint, *, first: bool = False
) -> Reduce[Sums]:
    """The full gradient, the objective and the training error; the ``first`` one finds the largest norm."""
    if first:
        return Reduce(
            "first snapshot", first_snapshot, Sums.add, model, cost=pass_cost(problem, footprint, 4)
        )
    return Reduce("snapshot", measure_gradient, Sums.add, model, cost=pass_cost(problem, footprint, 2))


def held_out_pass(problem: Problem, model: Model | None, footprint: Footprint) -> Reduce[Sums]:
    """The error on the test split."""
    return Reduce(
        "held out",
        measure,
        Sums.add,
        model,
        split="test",
        cost=pass_cost(problem, footprint, 1),
        measures_only=True,
    )


def pass_cost(problem: Problem, footprint: Footprint, uses: int) -> Cost:
    """Of a pass in which the features are multiplied or summed ``uses`` times."""
    size, itemsize, outputs = footprint.size, problem.dtype.itemsize, problem.n_outputs
    # where a tile of all features is too large they are made for every use
    times = max(1, uses) if tile_is_large(size, itemsize) else max(1, uses // 2)
    return Cost(
        workspace_bytes=footprint.summing_bytes
        + STRIP_ROWS * outputs * 48
        + 2 * size * outputs * (8 + itemsize)
        + footprint.operand_bytes,
        result_bytes=size * outputs * 8,
        flops_per_row=times * footprint.flops_per_row + 2.0 * uses * size * outputs,
        entries_per_row=times * footprint.entries_per_row,
        process_bytes=footprint.process_bytes,
        compiled=footprint.is_compiled,
    )
