"""The full gradient over explicit features, the objective and the errors, in one pass."""

from __future__ import annotations

from distkern.common.types import Block
from distkern.features import Footprint
from distkern.passes import Reduce
from distkern.solvers.base import Problem
from distkern.solvers.explicit import pass_cost
from distkern.solvers.measuring import Model, Sums, measure_gradient, with_largest


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
