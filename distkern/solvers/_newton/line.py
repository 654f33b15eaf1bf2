"""Losses at several points of a line, in one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from distkern.common.types import Block
from distkern.features import Footprint
from distkern.passes import Reduce
from distkern.solvers.base import Problem
from distkern.solvers.explicit import pass_cost
from distkern.solvers.measuring import Model, Sums, sums_and_slopes

#: lengths of a step that are tried: from twice the full one on, by powers of two
LENGTHS = tuple(2.0**-power for power in range(-1, 11))


@dataclass(frozen=True)
class Line:
    """The models w + t d for lengths t.

    Attributes
    ----------
    model : its coefficients are [w, d], (r, 2 k)
    lengths : t
    """

    model: Model
    lengths: tuple[float, ...]


@dataclass(frozen=True)
class LineSums:
    """The sums at each of the lengths."""

    sums: tuple[Sums, ...]

    @staticmethod
    def add(first: LineSums, second: LineSums) -> LineSums:
        """Over the rows of both."""
        return LineSums(
            tuple(Sums.add(one, other) for one, other in zip(first.sums, second.sums, strict=True))
        )


def measure_line(block: Block, line: Line) -> LineSums:
    """The losses and errors of a block: features are made once, predictions are Z w + t Z d."""
    model, found = line.model, [Sums.none(line.model.risk)] * len(line.lengths)
    outputs = model.risk.n_outputs
    for strip in model.strips(block):
        both = model.predictions(strip.features)
        for place, length in enumerate(line.lengths):
            predictions = both[:, :outputs] + both.dtype.type(length) * both[:, outputs:]
            share, _ = sums_and_slopes(model.risk, strip, predictions, slopes=False)
            found[place] = Sums.add(found[place], share)
    return LineSums(tuple(found))


def line_pass(
    problem: Problem,
    model: Model | None,
    footprint: Footprint,
    direction: NDArray[np.float64] | None = None,
    lengths: tuple[float, ...] = LENGTHS,
) -> Reduce[LineSums]:
    """The pass from the coefficients of the model along a direction (r, k)."""
    line = None
    if model is not None:
        assert direction is not None, "a line has a direction"
        line = Line(replace(model, coefficients=np.hstack([model.coefficients, direction])), lengths)
    wider = replace(problem, n_outputs=2 * problem.n_outputs)
    cost = replace(pass_cost(wider, footprint, 1), result_bytes=256 * len(lengths))
    return Reduce("line search", measure_line, LineSums.add, line, cost=cost)
