"""Rows prepared for a sequential loop over landmarks: what workers or threads make and the loop consumes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis, multiply
from distkern.common.compiled import aligned
from distkern.common.types import Block, Floats
from distkern.features import Footprint
from distkern.passes import Cost
from distkern.solvers.base import Problem
from distkern.solvers.risk import Risk
from distkern.solvers.snapshot import pass_cost


@dataclass(frozen=True)
class Piece:
    """Prepared rows of a stream.

    Attributes
    ----------
    values : (n, r) kernel rows
    nearest : (n,) nearest landmark of each row; empty where it was not asked for
    products : (n, n_columns) values @ operand.columns
    signs : (n, n_outputs), of the values' dtype
    weights : (n,) float64
    """

    values: Floats
    nearest: NDArray[np.intp]
    products: Floats
    signs: Floats
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.weights)

    def loop_arguments(self, rows: slice = slice(None)) -> tuple[NDArray[Any], ...]:
        """The arrays of some rows as compiled loops take them."""
        arrays = (self.values, self.nearest, self.products, self.signs, self.weights)
        return aligned(*(array[rows] for array in arrays))


@dataclass(frozen=True)
class PieceOperand:
    """Basis, risk, and the columns (r, n_columns) that every row of values is multiplied with."""

    basis: AbstractBasis
    risk: Risk
    columns: Floats
    finds_nearest: bool = True


def prepare_piece(block: Block, operand: PieceOperand) -> Piece:
    """Kernel rows of a piece and what the sequential loop needs beside them."""
    basis, risk = operand.basis, operand.risk
    columns = operand.columns.astype(basis.dtype)
    values = np.empty((block.n_rows, basis.size), dtype=basis.dtype)
    nearest = np.empty(block.n_rows if operand.finds_nearest else 0, dtype=np.intp)
    products = np.empty((block.n_rows, columns.shape[1]), dtype=basis.dtype)
    for tile in basis.tiles(block.features, values, nearest if operand.finds_nearest else None):
        multiply(tile.values, columns, products[tile.rows])
    signs, weights = risk.targets(block).astype(basis.dtype, copy=False), risk.weights(block)
    return Piece(values, nearest, products, signs, np.ones(block.n_rows) if weights is None else weights)


def piece_rows(size: int, itemsize: int) -> int:
    """Rows of a piece: about 8 MiB of kernel values, whatever the workers."""
    return int(np.clip(2**23 // (size * itemsize), 128, 4096))


def stream_cost(problem: Problem, footprint: Footprint, *, n_columns: int) -> Cost:
    """Cost of a stream of kernel rows into a sequential loop that takes O(r) a step for each output."""
    size, itemsize = footprint.size, problem.dtype.itemsize
    cost = replace(
        pass_cost(problem, footprint),
        result_bytes=0,
        operations=footprint.operations + 2.0 * size * n_columns,
        driver_compiled=True,
    )
    numbers = size + n_columns + problem.n_outputs
    return cost.holding(result={"kernel values, products and signs": (numbers, itemsize), "others": (2, 8)})
