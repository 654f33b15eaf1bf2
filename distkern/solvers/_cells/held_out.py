"""What machines in cells achieve on rows that they have not seen, and what they start from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.bases.routing import Found
from distkern.common.held_out import groups_of_equal
from distkern.common.types import Block, Floats
from distkern.solvers._cells.below import Below
from distkern.solvers._cells.moving import first_sums
from distkern.solvers.measuring import Model, Sums, sums_and_slopes
from distkern.solvers.risk import Risk

#: folds of a cell's rows, of which one at a time is held out
HELD_OUT = 5


def folds_of(rows: Floats) -> NDArray[np.intp]:
    """The fold (n_rows,) of each row of a cell: one after the other, and equal rows in the same."""
    return groups_of_equal(rows) % HELD_OUT


@dataclass(frozen=True)
class Zero:
    """The model 0, or the one below, as an operand."""

    risk: Risk
    below: Below | None = None


@dataclass(frozen=True)
class Asked:
    """A model whose places were asked about the rows, as an operand."""

    found: Found
    model: Model


def measure_asked(block: Block, operand: Asked) -> Sums:
    """The sums of a block."""
    found, model = operand.found, operand.model
    values = found.combine(block.index, block.n_rows, block.features, model.coefficients)
    return sums_and_slopes(model.risk, block, values, slopes=False)[0]


def measure_zero(block: Block, operand: Zero) -> Sums:
    """The sums of a block at the model 0, or at the one below."""
    below = None if operand.below is None else operand.below(block.features)
    return first_sums(block, operand.risk, below)
