"""The metric of SVRG's steps: a bound of the Hessian from a sample of rows, factorised once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.rng import Purpose, stream
from distkern.features import Footprint
from distkern.solvers.base import Problem, Steps
from distkern.solvers.gram import Grams, Sample, Solve, inverted
from distkern.solvers.measuring import Model
from distkern.solvers.risk import Risk

Array = NDArray[np.float64]

_LEAST_BLOCKS = 16
_LEAST_SAMPLE = 8192
#: all rows are taken if there are at most so many times those of a sample
_ALL_ROWS = 4
#: sampled rows for each feature: where all directions count alike, the sampled Gram matrix is then at least
#: (1 - 1/sqrt(8))^2 = 0.42 of the true one, so that steps of 1/2 are stable
_ROWS_PER_FEATURE = 8
#: first index of the stream of the sample's blocks
_BLOCKS = 10


def sampled_blocks(problem: Problem, size: int) -> tuple[tuple[int, ...], int]:
    """Which blocks the sample S is of, and how many rows of each (or all that it has).

    |S| is about max(8192, 8 r), from 16 random blocks, or more where they are small; all rows of a problem
    that has no more than four times as many.
    """
    wanted = max(_LEAST_SAMPLE, _ROWS_PER_FEATURE * size)
    if problem.n_rows <= _ALL_ROWS * wanted:
        # rows that no sample foretells cost little then
        wanted = problem.n_rows
    order = stream(problem.seed, Purpose.SAMPLE, _BLOCKS).permutation(len(problem.block_rows))
    chosen: list[int] = []
    found = 0
    for block in order:
        if found >= wanted and len(chosen) >= _LEAST_BLOCKS:
            break
        chosen.append(int(block))
        found += problem.block_rows[block]
    # blocks with fewer rows than their share leave the rest to the others
    share, left = 1, wanted
    for number, rows in enumerate(sorted(problem.block_rows[block] for block in chosen)):
        share = max(share, -(-left // (len(chosen) - number)))
        left -= min(rows, share)
    return tuple(sorted(chosen)), share


def sampled_grams(problem: Problem, size: int) -> Grams:
    """The passes over the sample."""
    blocks, rows_per_block = sampled_blocks(problem, size)
    return Grams(sample=Sample(blocks, rows_per_block, problem.seed))


def preconditioner(
    problem: Problem, basis: AbstractBasis, risk: Risk, footprint: Footprint, curvature: float, shift: float
) -> Steps[Solve]:
    """The map by P^-1, P = c Z_S' diag(s) Z_S / |S| + shift I, in float64.

    The Gram matrix is made in strips of columns below the diagonal, each a pass over the sampled rows, and
    inverted (by Cholesky) in its own memory, so that the driver holds one (r, r) matrix and no second one.
    """
    model = Model(basis, np.zeros((basis.size, 0)), risk)
    (gram,), sums = yield from sampled_grams(problem, basis.size).matrices(problem, model, footprint)
    gram *= curvature / sums.n_rows
    return inverted(gram, shift)
