"""What machines in cells achieve on rows that they have not seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.core.held_out import Keys, groups_of
from distkern.core.types import Block
from distkern.maths.bases.routing import RoutedAnswers
from distkern.solvers.measuring import Model, Sums, sums_and_slopes

#: folds of a cell's rows, of which one at a time is held out
HELD_OUT = 5


def folds_of(keys: Keys) -> NDArray[np.intp]:
    """The fold (n_rows,) of each row of a cell: one after the other, and rows of one key in the same."""
    return groups_of(keys) % HELD_OUT


@dataclass(frozen=True)
class Asked:
    """A model whose places were asked about the rows, as an operand."""

    found: RoutedAnswers
    model: Model


def measure_asked(block: Block, operand: Asked) -> Sums:
    """The sums of a block."""
    found, model = operand.found, operand.model
    values = found.combine(block.index, block.n_rows, model.coefficients)
    return sums_and_slopes(model.risk, block, values, slopes=False)[0]
