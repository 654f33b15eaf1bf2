"""What conjugate gradients divide by: the Hessian of a few rows, without a matrix of all functions."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.types import Block
from distkern.features import Footprint
from distkern.landmarks.base import rows_cost
from distkern.passes import Reduce, bytes_of
from distkern.solvers.base import Problem, Steps
from distkern.solvers.gram import Solve, factorised
from distkern.solvers.risk import Risk
from distkern.solvers.sample import Sample, sample_of

Array = NDArray[np.float64]

#: rows, at most, and for each root of the number of all of them: their products then take about as long as a
#: pass
_MOST_ROWS, _ROWS_PER_ROOT = 4096, 10
_ROWS_PER_FUNCTION = 4
#: of the memory limit, what matrices of the rows may take; and without one
_SHARE, _BYTES = 0.1, 2**29
#: numbers of the functions' coefficients that are multiplied at once
_PANEL_NUMBERS, _PANEL_ROWS = 2**20, 256
#: of the mean bent |z|^2 by the rows: what is added for directions that the rows do not show
_DAMPING = 0.03


def rows_of(problem: Problem, size: int, n_outputs: int, limit: int | None) -> int:
    """q: by the number of rows, and by what products of q rows and a factor for each output may take.

    Four times as many as there are functions see all their directions.
    """
    left = _BYTES if limit is None else int(limit * _SHARE)
    fitting = int((left / (8 * (n_outputs + 2))) ** 0.5)
    wanted = int(_ROWS_PER_ROOT * problem.n_rows**0.5)
    return max(min(_MOST_ROWS, wanted, problem.n_rows, _ROWS_PER_FUNCTION * size, fitting), 1)


def preconditioner_bytes(problem: Problem, footprint: Footprint, n_outputs: int, n_rows: int) -> int:
    """Bytes of the preconditioner: its rows, their products and factors, and the functions being made."""
    panel = _panel(footprint.size)
    # of the functions that are made at a time
    tile = footprint.row_bytes - 2 * (footprint.size - footprint.block_size) * problem.dtype.itemsize
    return bytes_of(
        {
            "products and factors": (n_outputs + 2, n_rows, n_rows, 8),
            "rows, also in double precision": (n_rows, problem.row_bytes + 8 * problem.row_numbers),
            "a panel of products, and vectors": (n_rows, panel + 4 * n_outputs, 8),
            "coefficients of a panel, and vectors": (footprint.size, 2 * panel + 4 * n_outputs, 8),
            "a tile in double precision": (2, footprint.tile_rows, tile),
            "the basis in double precision": (2, footprint.operand_bytes),
        }
    )


def _panel(size: int) -> int:
    return int(np.clip(_PANEL_NUMBERS // size, 1, _PANEL_ROWS))


def sampled_pass(problem: Problem, n_rows: int) -> Reduce[Block]:
    """About so many rows, drawn."""
    sample = sample_of(problem, n_rows)
    rows = sum(min(problem.block_rows[block], sample.rows_per_block) for block in sample.blocks)
    return Reduce(
        "rows of the preconditioner",
        _drawn,
        _joined,
        sample,
        blocks=sample.blocks,
        cost=rows_cost(problem, rows),
    )


def _drawn(block: Block, sample: Sample) -> Block:
    return sample.rows(block)


def _joined(first: Block, second: Block) -> Block:
    return Block.joined([first, second])


@dataclass(frozen=True)
class Sampled:
    """Some rows and the products Z Z' of their functions, (q, q).

    Attributes
    ----------
    basis : in double precision
    """

    rows: Block
    basis: AbstractBasis
    products: Array

    def inverse(self, coefficients: Array, risk: Risk, nu: float) -> Solve:
        """g -> P^-1 g with P_j = Z' diag(s l_jj'') Z / q + (nu + damping) I, of each output j, at a model.

        By Woodbury's formula: for A = diag(s l_jj'' / q)^(1/2) and m = nu + damping

            P^-1 g = (g - Z' A (m I + A Z Z' A)^-1 A Z g) / m,

        whose products with Z make the functions of the rows anew.
        """
        features, basis = self.rows.features, self.basis
        predictions = basis.combine(features, coefficients)
        bends = risk.curvatures(predictions, risk.targets(self.rows), risk.weights(self.rows))
        roots = np.sqrt(bends / len(bends))
        squares = np.square(roots) * self.products.diagonal()[:, None]
        shifts = nu + _DAMPING * squares.sum(axis=0) / len(roots)
        shifts = np.maximum(shifts, np.finfo(float).tiny)
        factors, is_shared = [], risk.loss.target_kind == "classes"
        for root, shift in zip(roots.T, shifts, strict=True):
            inner = np.asfortranarray(self.products * root[:, None] * root)
            factors.append(factorised(inner, shift))

        def solve(right: Array) -> Array:
            from scipy.linalg import cho_solve

            along = roots * basis.combine(features, right)
            for output, factor in enumerate(factors):
                along[:, output] = cho_solve((factor, True), along[:, output])
            found: Array = (right - basis.transposed(features, roots * along)) / shifts
            # what all outputs share changes no loss of classes, and is 0 at the minimum
            if is_shared:
                found -= found.mean(axis=1, keepdims=True)
            return found

        return solve


def sampled_rows(problem: Problem, basis: AbstractBasis, n_rows: int) -> Steps[Sampled]:
    """Draw the rows, in one pass, and multiply their functions.

    Parameters
    ----------
    basis : in double precision
    """
    drawn: Block = yield sampled_pass(problem, n_rows)
    rows = replace(drawn, features=drawn.features.astype(basis.dtype))
    found, panel = rows.n_rows, _panel(basis.size)
    products = np.empty((found, found))
    for start in range(0, found, panel):
        own = slice(start, min(start + panel, found))
        columns = basis.transposed(rows.features[own], np.eye(own.stop - start))
        products[:, own] = basis.combine(rows.features, columns)
    return Sampled(rows, basis, 0.5 * (products + products.T))
