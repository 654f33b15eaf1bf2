"""Gram matrices and Newton steps for blocks of consecutive coefficients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import numpy as np

from distkern.core.types import Array, Block
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.bases.gram import GramSum, fill_columns
from distkern.maths.features import Footprint
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Problem
from distkern.solvers.gram import Solve, solved
from distkern.solvers.risk import Risk


def runs_of(size: int, block_size: int) -> list[slice]:
    """The blocks of coefficients; the last may be narrower."""
    edges = [*range(0, size, block_size), size]
    return [slice(*edge) for edge in pairwise(edges)]


@dataclass(frozen=True)
class GramOperand:
    """Operand of :func:`gram_pass`."""

    basis: AbstractBasis
    risk: Risk
    block_size: int


@dataclass(frozen=True)
class BlockGrams:
    """Z_j' S Z_j for each block j over some rows."""

    matrices: tuple[Array, ...]

    @staticmethod
    def add(first: BlockGrams, second: BlockGrams) -> BlockGrams:
        """The matrices over the rows of both."""
        pairs = zip(first.matrices, second.matrices, strict=True)
        return BlockGrams(tuple(one + other for one, other in pairs))


def block_grams(block: Block, operand: GramOperand) -> BlockGrams:
    """Return the Gram matrices over a block of rows."""
    basis, weights = operand.basis, operand.risk.weights(block)
    runs = runs_of(basis.size, operand.block_size)
    sums = [GramSum(run.stop - run.start) for run in runs]
    for number, tile in basis.column_tiles(block.features, runs):
        sums[number].add(tile.values, None if weights is None else weights[tile.rows])
    matrices = []
    for run, total in zip(runs, sums, strict=True):
        matrix = np.empty((run.stop - run.start,) * 2)
        fill_columns(matrix, 0, len(matrix), total.parts)
        matrices.append(matrix)
    return BlockGrams(tuple(matrices))


def gram_pass(
    problem: Problem, footprint: Footprint, block_size: int, operand: GramOperand | None
) -> Reduce[BlockGrams]:
    """The pass that sums the Gram matrices of all blocks, r c numbers for blocks of c."""
    size, itemsize = footprint.size, problem.dtype.itemsize
    width = min(block_size, size)
    numbers = size * width
    cost = tiles_cost(problem, footprint, width, footprint.operations + float(numbers)).holding(
        task={"sums": (numbers, 8), "a matrix of them": (width, width, 8 + itemsize)},
        result={"matrices": (numbers, 8)},
        driver={
            "sums and factors": (2, numbers, 8),
            "a block's": (2, width, width, 8),
            "the features": (footprint.driver_bytes,),
        },
    )
    return Reduce("block Gram matrices", block_grams, BlockGrams.add, operand, cost=cost)


def tiles_cost(problem: Problem, footprint: Footprint, width: int, operations: float = 0.0) -> Cost:
    """Cost of a thread that visits tiles of ``width`` functions."""
    rows, itemsize = min(problem.most_rows, 1024), problem.dtype.itemsize
    tiles = {
        "a tile of a run, also weighted, and one in the other precision": (rows, 3 * width, itemsize),
        "rows": (rows, 2 * problem.row_numbers, itemsize),
    }
    return footprint.cost(operations).holding(task=tiles)


def block_solves(grams: BlockGrams, curvature: float, shift: float | Array, *, whole: bool) -> list[Solve]:
    """Return, for each block j, the map g -> H^-1 g, where H = curvature Z_j' S Z_j + shift I.

    Unless ``whole``, H is replaced by its largest eigenvalue times I. ``shift`` is a number or one for each
    block. The matrices are overwritten.
    """
    solves: list[Solve] = []
    shifts = np.broadcast_to(shift, len(grams.matrices)).tolist()
    for gram, own in zip(grams.matrices, shifts, strict=True):
        gram *= curvature
        if whole:
            solves.append(solved(gram, own))
            continue
        largest = float(np.linalg.eigvalsh(gram)[-1]) + own
        solves.append(partial(np.multiply, 1.0 / max(largest, np.finfo(float).tiny)))
    return solves
