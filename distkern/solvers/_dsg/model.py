"""A model over blocks of random features: evaluating it, and measuring it in a pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import multiply, rows_of_tile
from distkern.bases.random_features import RandomFeatureBasis
from distkern.common.sparse import Rows
from distkern.common.tiles import scratch
from distkern.common.types import Floats
from distkern.features.random import footprint_of_random
from distkern.passes import Reduce
from distkern.solvers.base import Problem, Steps
from distkern.solvers.explicit import pass_cost
from distkern.solvers.measuring import Drawn, Figures, Model, Sums, measure_drawn, measured

#: about so many rows are measured, drawn from all blocks: in the end, and while steps are under way
MEASURED_ROWS, WATCHED_ROWS = 2**14, 2**12


def tiles(basis: RandomFeatureBasis, rows: Rows, block: int) -> Iterator[tuple[slice, Floats]]:
    """z_block of all rows, a tile at a time, in a buffer that the next tile overwrites."""
    return basis.block_tiles(rows, block, rows_of_tile(basis.block_size, basis.dtype.itemsize))


def predict(
    basis: RandomFeatureBasis, parts: Sequence[Rows], table: Floats, n_blocks: int
) -> list[NDArray[np.float64]]:
    """sum_j z_j A_j over the first ``n_blocks`` blocks, (n_rows, n_outputs) for each of several sets of rows.

    A block's frequencies are made once for all of them; the sums over blocks are in float64.
    """
    width, n_outputs = basis.block_size, table.shape[1]
    totals = [np.zeros((rows.shape[0], n_outputs)) for rows in parts]
    for block in range(n_blocks):
        coefficients = table[block * width : (block + 1) * width]
        for rows, total in zip(parts, totals, strict=True):
            for part, values in tiles(basis, rows, block):
                shares = scratch("dsg shares", (len(values), n_outputs), basis.dtype)
                multiply(values, coefficients, shares)
                total[part] += shares
    return totals


def measuring_pass(
    problem: Problem, operand: Drawn | None, basis: RandomFeatureBasis, split: str, share: float = 1.0
) -> Reduce[Sums]:
    """Objective and errors on a split, of ``share`` of its rows; memory is for the most that are drawn."""
    cost = pass_cost(problem, footprint_of_random(problem, basis), 1)
    drawn = _drawn_rows(problem, MEASURED_ROWS)
    cost = replace(cost, result_bytes=0, operations=share * cost.operations)
    # a block of which all rows are drawn is not copied
    copied = drawn if drawn < problem.most_rows else 0
    cost = cost.holding(task={"drawn rows": (copied, problem.row_bytes)})
    name = "held out" if split == "test" else "objective"
    return Reduce(name, measure_drawn, Sums.add, operand, split=split, cost=cost, measures_only=True)


def _drawn_rows(problem: Problem, wanted: int) -> int:
    """How many rows of a block are measured, of about so many in all."""
    return max(256, -(-wanted // len(problem.block_rows)))


def figures_of(problem: Problem, model: Model, strength: float, *, finished: bool) -> Steps[Figures]:
    """A pass over training rows and, where there are any, one over held-out rows: in the end all of them.

    The objective is the mean loss + strength/2 |A|^2.
    """
    assert isinstance(model.basis, RandomFeatureBasis)
    rows = _drawn_rows(problem, MEASURED_ROWS if finished else WATCHED_ROWS)
    drawn = Drawn(model, rows, problem.seed)
    held_out = replace(drawn, rows_per_block=None) if finished else drawn
    a = model.coefficients.astype(np.float64)
    return (
        yield from measured(
            problem,
            measuring_pass(problem, drawn, model.basis, "train"),
            measuring_pass(problem, held_out, model.basis, "test"),
            0.5 * strength * float(np.einsum("ij,ij->", a, a)),
        )
    )
