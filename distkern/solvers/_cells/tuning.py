"""Width and C, tried on whole cells: the rows of a sample are farther apart than those of a cell."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.types import Block
from distkern.solvers._cells.buckets import Solving, by_leaf, cells_of, gathered
from distkern.solvers._cells.machine import predict_cell, solve_costs

#: cells that are tried, of as many buckets
N_CELLS = 4
#: what the gamma and the C that the sample gave are multiplied with; as they were first
GAMMAS, COSTS = (1.0, 3.0, 9.0, 1 / 3), (1.0, 3.0, 10.0, 1 / 3)
#: every so manyth row of a cell is held out
_HELD_OUT = 5
#: of the dual solver: a ranking needs no more
_TOLERANCE, _TURNS = 0.1, 1


@dataclass(frozen=True)
class Tuning:
    """The operand of :func:`try_cell`: machines of these gammas and costs."""

    solving: Solving
    gammas: tuple[float, ...]
    costs: tuple[float, ...]


def try_cell(
    item: tuple[int, int], _: Iterator[Block], operand: Tuning
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Errors of held-out rows of a cell of a bucket, (n_gammas, n_costs); zeros if none has two targets."""
    solving, (number, n_rows) = operand.solving, item
    errors = np.zeros((len(operand.gammas), len(operand.costs)))
    rows = gathered(solving, number, n_rows)
    leaves, n_leaves = cells_of(rows, solving, number)
    for inside in by_leaf(leaves, n_leaves):
        assert rows.targets is not None
        if len(inside) <= solving.cell_rows and len(np.unique(rows.targets[inside])) > 1:
            errors = _errors(rows.take(inside), operand)
            break
    return {"errors": errors.tolist()}, {"errors": errors}


def _errors(rows: Block, operand: Tuning) -> NDArray[np.float64]:
    risk, settings = operand.solving.risk, operand.solving.settings
    held_out = np.arange(rows.n_rows) % _HELD_OUT == 0
    learned, asked = rows.take(np.flatnonzero(~held_out)), rows.take(np.flatnonzero(held_out))
    targets, weights = risk.targets(learned).astype(np.float64), risk.weights(learned)
    errors = np.zeros((len(operand.gammas), len(operand.costs)))
    for place, gamma in enumerate(operand.gammas):
        kernel: Any = settings.kernel
        tried = replace(settings, kernel=replace(kernel, gamma=gamma), tolerance=_TOLERANCE, turns=_TURNS)
        machines = solve_costs(
            tried, np.asarray(learned.features), targets, weights, operand.solving.seed, operand.costs
        )
        for column, machine in enumerate(machines):
            predictions = predict_cell(tried, machine, np.asarray(asked.features))
            errors[place, column] = risk.errors(predictions, asked)[0]
    return errors
