"""The metric of SVRG's steps: a bound of the Hessian from a sample of rows, factorised once."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.core.errors import InputError
from distkern.core.rng import Purpose, stream
from distkern.core.types import Block
from distkern.core.workspace import buffer
from distkern.features import Footprint
from distkern.passes import Cost, Reduce
from distkern.solvers._svrg.snapshot import tile_bytes
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.risk import Risk

Array = NDArray[np.float64]
#: (r, k) -> P^-1 of it
Solve = Callable[[Array], Array]

#: of the columns of the Gram matrix that a pass makes
_STRIP_BYTES = 16 * 2**20
_TILE_ROWS = 1024
_LEAST_BLOCKS = 16
_LEAST_SAMPLE = 8192
#: all rows are taken if there are at most so many times those of a sample
_ALL_ROWS = 4
#: sampled rows for each feature: where all directions count alike, the sampled Gram matrix is then at least
#: (1 - 1/sqrt(8))^2 = 0.42 of the true one, so that steps of 1/2 are stable
_ROWS_PER_FEATURE = 8
#: of the mean of the diagonal: below it the inverse is mostly rounding
_LEAST_SHIFT = 1e-10
#: outputs up to which a symmetric product is faster for each by itself
_FEW_OUTPUTS = 8
#: first index of the streams of the sample
_BLOCKS, _ROWS = 10, 11


@dataclass(frozen=True)
class GramSample:
    """The operand: columns ``start`` .. ``stop`` - 1 of Z_S' diag(s) Z_S, from row ``start`` on."""

    basis: AbstractBasis
    risk: Risk
    seed: int
    rows_per_block: int
    start: int
    stop: int


@dataclass(frozen=True)
class GramStrip:
    """Sums over sampled rows: columns of the Gram matrix (r - start, stop - start), and the rows."""

    columns: Array
    n_rows: int

    @staticmethod
    def add(first: GramStrip, second: GramStrip) -> GramStrip:
        """The sums over the rows of both."""
        return GramStrip(first.columns + second.columns, first.n_rows + second.n_rows)


def gram_strip(block: Block, operand: GramSample) -> GramStrip:
    """A block's share of some columns of the Gram matrix."""
    sample = block
    if operand.rows_per_block < block.n_rows:
        drawn = stream(operand.seed, Purpose.SAMPLE, _ROWS, block.index).permutation(block.n_rows)
        sample = block.take(np.sort(drawn[: operand.rows_per_block]))
    basis, weights = operand.basis, operand.risk.weights(sample)
    own = slice(operand.start, operand.stop)
    total = np.zeros((basis.size - operand.start, operand.stop - operand.start))
    for part in basis.tiles(sample.features, tile_rows=_TILE_ROWS):
        tile = part.values
        if weights is not None:
            tile *= np.sqrt(weights[part.rows]).astype(tile.dtype)[:, None]
        share = buffer("svrg gram", total.shape, basis.dtype)
        np.matmul(tile[:, operand.start :].T, tile[:, own], out=share)
        total += share
    return GramStrip(total, sample.n_rows)


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


def strip_width(size: int) -> int:
    """Columns of the Gram matrix that a pass makes."""
    return max(1, min(size, _STRIP_BYTES // (8 * size)))


def gram_pass(
    problem: Problem, basis: AbstractBasis | None, risk: Risk, footprint: Footprint, start: int
) -> Reduce[GramStrip]:
    """The columns from ``start`` on that fit into one result."""
    size, itemsize = footprint.size, problem.dtype.itemsize
    blocks, rows_per_block = sampled_blocks(problem, size)
    stop = min(start + strip_width(size), size)
    share = rows_per_block / max(problem.block_rows)
    cost = Cost(
        workspace_bytes=tile_bytes(problem, footprint, _TILE_ROWS)
        + size * (stop - start) * itemsize
        + rows_per_block * problem.row_numbers * itemsize
        + footprint.operand_bytes,
        result_bytes=(size - start) * (stop - start) * 8,
        flops_per_row=min(1.0, share) * (footprint.flops_per_row + 2.0 * (size - start) * (stop - start)),
        entries_per_row=min(1.0, share) * footprint.entries_per_row,
        process_bytes=footprint.process_bytes,
        compiled=footprint.is_compiled,
    )
    operand = None
    if basis is not None:
        operand = GramSample(basis, risk, problem.seed, rows_per_block, start, stop)
    return Reduce("Gram matrix", gram_strip, GramStrip.add, operand, blocks=blocks, cost=cost)


def gram_outline(problem: Problem, risk: Risk, footprint: Footprint) -> Outline:
    """The passes of :func:`preconditioner`; the first is the largest."""
    times = -(-footprint.size // strip_width(footprint.size))
    return Outline(gram_pass(problem, None, risk, footprint, 0), times)


def preconditioner(
    problem: Problem, basis: AbstractBasis, risk: Risk, footprint: Footprint, curvature: float, shift: float
) -> Steps[Solve]:
    """The map by P^-1, P = c Z_S' diag(s) Z_S / |S| + shift I, in float64.

    The Gram matrix is made in strips of columns below the diagonal, each a pass over the sampled rows, and
    inverted (by Cholesky) in its own memory, so that the driver holds one (r, r) matrix and no second one.
    """
    size = basis.size
    gram = np.empty((size, size), order="F")
    width = strip_width(size)
    for start in range(0, size, width):
        strip: GramStrip = yield gram_pass(problem, basis, risk, footprint, start)
        own = slice(start, min(start + width, size))
        columns = strip.columns
        columns *= curvature / strip.n_rows
        gram[start:, own] = columns
        gram[own, start:] = columns.T
    return inverted(gram, shift)


def inverted(gram: Array, shift: float) -> Solve:
    """b -> (gram + shift I)^-1 b; ``gram``, in Fortran order, is overwritten.

    Single-precision features leave a Gram matrix that is positive to their rounding only: the shift is raised
    until the factorisation succeeds.

    Raises
    ------
    InputError
        If the matrix is not of finite numbers.
    """
    from scipy.linalg.blas import dsymm, dsymv
    from scipy.linalg.lapack import dpotrf, dpotri

    size = len(gram)
    places = np.arange(size)
    diagonal = gram[places, places]
    if not np.isfinite(diagonal).all():
        raise InputError(
            "features are too large for their squares to be numbers", where="features",
            mend="scale the data, or use another kernel",
        )  # fmt: skip
    added = max(shift, _LEAST_SHIFT * float(diagonal.mean()), np.finfo(float).tiny)
    while True:
        gram[places, places] = diagonal + added
        factor, info = dpotrf(gram, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            break
        # only the lower triangle has been written
        for column in range(size):
            gram[column + 1 :, column] = gram[column, column + 1 :]
        added *= 10.0
    # the lower triangle of the inverse: a product reads half of what two triangular solutions do, and takes a
    # sixth of their time
    inverse, _ = dpotri(factor, lower=1, overwrite_c=1)

    def solve(right: Array) -> Array:
        if right.shape[1] > _FEW_OUTPUTS:
            return np.ascontiguousarray(dsymm(1.0, inverse, right, lower=1))
        columns = [dsymv(1.0, inverse, right[:, column], lower=1) for column in range(right.shape[1])]
        return np.ascontiguousarray(np.transpose(columns))

    return solve


@dataclass(frozen=True)
class Derived:
    """What is made of a state's landmarks and of the data, and is too large for checkpoints."""

    basis: AbstractBasis
    solve: Solve | None = None


class Kept:
    """What was derived last in this process, for as long as the run's states live.

    It belongs to a state's ``marker`` array and is a function of what that state is of: a resumed run derives
    it again.
    """

    _held: tuple[weakref.ref[Array], Derived] | None = None

    @classmethod
    def find(cls, marker: Array) -> Derived | None:
        """What was kept with this very array."""
        held = cls._held
        return held[1] if held is not None and held[0]() is marker else None

    @classmethod
    def keep(cls, marker: Array, derived: Derived) -> None:
        """Keep it until the array is gone, or something else is kept."""

        def gone(reference: weakref.ref[Array]) -> None:
            if cls._held is not None and cls._held[0] is reference:
                cls._held = None

        cls._held = weakref.ref(marker, gone), derived
