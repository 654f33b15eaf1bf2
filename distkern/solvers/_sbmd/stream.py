"""The rows of SBMD's and NORMA's steps over explicit features."""

from __future__ import annotations

from distkern.features import Footprint
from distkern.passes import Cost, Stream, Visit
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
    cost = Cost(
        workspace_bytes=footprint.tile_bytes + footprint.operand_bytes + 2 * size * outputs * itemsize,
        result_bytes=(numbers + outputs) * itemsize + 8,
        operations=footprint.operations + 4.0 * numbers * outputs,
        process_bytes=footprint.process_bytes,
        compiled=footprint.is_compiled,
        # the iterate, sums of it and the model, before the stage and now
        driver_bytes=64 * size * outputs,
    )
    return Stream("inner loop", visits, prepare_piece, model, piece_rows=rows, cost=cost)
