"""What machines in cells achieve on rows that they have not seen, and what they start from."""

from __future__ import annotations

from dataclasses import dataclass

from distkern.bases.routing import Found
from distkern.common.types import Block
from distkern.solvers._cells.below import Below
from distkern.solvers._cells.moving import first_sums
from distkern.solvers.measuring import Model, Sums, sums_and_slopes
from distkern.solvers.risk import Risk

#: every so manyth row that lies in a cell is held out
HELD_OUT = 5


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
