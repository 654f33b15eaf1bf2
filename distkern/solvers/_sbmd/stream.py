"""The rows of SBMD's and NORMA's steps over explicit features."""

from __future__ import annotations

from distkern.features import Footprint
from distkern.passes import Stream, Visit
from distkern.solvers._pegasos.pieces import Piece, prepare_piece
from distkern.solvers.base import Problem
from distkern.solvers.measuring import Model
from distkern.solvers.pieces import piece_rows


def batch_stream(
    problem: Problem,
    outputs: int,
    footprint: Footprint,
    numbers: int,
    batch_size: int,
    visits: tuple[Visit, ...],
    model: Model | None,
) -> Stream[Piece]:
    """Rows with their features, ``numbers`` a row, in pieces of whole batches."""
    size, itemsize = footprint.size, problem.dtype.itemsize
    # a batch does not cross pieces
    rows = -(-piece_rows(numbers, itemsize) // batch_size) * batch_size
    cost = footprint.cost(footprint.operations + 4.0 * numbers * outputs).holding(
        task={"coefficients": (2, size, outputs, itemsize)},
        result={"features and signs": (numbers + outputs, itemsize), "weight": (8,)},
        driver={"iterate, sums of it and the model, before the stage and now": (size, outputs, 64)},
    )
    return Stream("inner loop", visits, prepare_piece, model, piece_rows=rows, cost=cost)
