"""Gram matrices of features, summed over rows in passes, and their factorisations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

import numpy as np

from distkern.core.errors import InputError
from distkern.core.types import Array, Block, Floats
from distkern.maths.bases.base import Tile, multiply
from distkern.maths.bases.gram import GRAM_ROWS, column_blocks, fill_columns
from distkern.maths.features import Footprint
from distkern.passes import Cost, Reduce
from distkern.solvers.base import Outline, Problem, Steps
from distkern.solvers.measuring import Model, Sums, sums_and_slopes
from distkern.solvers.sample import RowSample

#: g -> P^-1 g for (r, k) arrays
Solve: TypeAlias = Callable[[Array], Array]

#: a pass returns at most this much of the Gram matrix
STRIP_BYTES = 16 * 2**20
#: most outputs for which separate symmetric products are faster
_FEW_OUTPUTS = 8
#: smallest shift of an inverse and of a factor, as a share of the diagonal; less is rounding
_LEAST_INVERTED, _LEAST_FACTORISED = 1e-10, 1e-13


@dataclass(frozen=True)
class Weighed:
    """Weights and sums of some rows.

    Attributes
    ----------
    weights : (n_rows,) >= 0 for each matrix, or None for 1
    sums : losses, errors, rows
    slopes : (n_rows, k), G of Z' G; (n_rows, 0) if not needed
    more : (n_rows, m) further columns of G, or None
    """

    weights: tuple[Array | None, ...]
    sums: Sums
    slopes: Floats
    more: Floats | None = None


#: function of a model, some rows and the read-only values of its functions there (n_rows, r)
Weigh: TypeAlias = Callable[[Model, Block, Floats], Weighed]


def by_rows(model: Model, rows: Block, values: Floats) -> Weighed:
    """Return the weights s of the rows, for Z' S Z."""
    sums = replace(Sums.none(model.risk), n_rows=rows.n_rows)
    return Weighed((model.risk.weights(rows),), sums, values[:, :0])


def with_slopes(model: Model, rows: Block, values: Floats) -> Weighed:
    """Return the weights s for Z' S Z, the slopes G = s dl/df for Z' G, and losses and errors."""
    balance = bool(model.basis.n_constant)
    sums, slopes = sums_and_slopes(model.risk, rows, _predictions(model, values), balance=balance)
    return Weighed((model.risk.weights(rows),), sums, slopes)


def with_ones(model: Model, rows: Block, values: Floats) -> Weighed:
    """Return :func:`with_slopes` with the weights s as a column of G."""
    found = with_slopes(model, rows, values)
    weights = found.weights[0]
    ones = np.ones(rows.n_rows) if weights is None else weights
    return replace(found, more=ones[:, None].astype(values.dtype))


def with_curvatures(model: Model, rows: Block, values: Floats) -> Weighed:
    """Return the weights s d2l/df_j2 for Z' S_j Z of each output j, with slopes, losses and errors.

    If fewer matrices than outputs are needed, they belong to the first outputs.
    """
    predictions = _predictions(model, values)
    balance = bool(model.basis.n_constant)
    sums, slopes = sums_and_slopes(model.risk, rows, predictions, balance=balance)
    bends = model.risk.curvatures(predictions, model.risk.targets(rows), model.risk.weights(rows))
    return Weighed(tuple(bends.T), sums, slopes)


def _predictions(model: Model, values: Floats) -> Floats:
    coefficients = model.coefficients.astype(values.dtype, copy=False)
    predictions: Floats = np.empty((len(values), coefficients.shape[1]), dtype=values.dtype)
    multiply(values, coefficients, predictions)
    return predictions


@dataclass(frozen=True)
class GramSums:
    """Sums over rows for :class:`Grams`.

    Attributes
    ----------
    parts : the strip's columns of each matrix, see :class:`~distkern.maths.bases.gram.GramSum`
    border : (n_matrices, r + 1), the last column of each matrix if the basis has a constant function, or None
    sums : with Z' G (r, k) or (r + 1, k) as ``gradient``
    """

    parts: tuple[tuple[Array, ...], ...]
    border: Array | None
    sums: Sums

    @staticmethod
    def add(first: GramSums, second: GramSums) -> GramSums:
        """The sums over the rows of both."""
        parts = tuple(
            tuple(one + other for one, other in zip(own, others, strict=True))
            for own, others in zip(first.parts, second.parts, strict=True)
        )
        border = None if first.border is None or second.border is None else first.border + second.border
        return GramSums(parts, border, Sums.add(first.sums, second.sums))


@dataclass(frozen=True)
class _Operand:
    model: Model
    grams: Grams
    strip: tuple[int, int]


@dataclass(frozen=True)
class Grams:
    """Gram matrices Z' diag(w) Z, and Z' G, over all rows or a sample.

    A pass sums as many columns, on and below the diagonal, as fit into ``strip_bytes``.

    Attributes
    ----------
    weigh : module-level function that returns the weights w of each matrix and the slopes G
    n_matrices : 1, or one for each output
    constant : whether the last function is the constant 1, so that matrices are (r + 1, r + 1)
    sample : None for all rows
    strip_bytes : approximate bytes of a pass's result
    name : name of the passes
    """

    weigh: Weigh = by_rows
    n_matrices: int = 1
    constant: bool = False
    sample: RowSample | None = None
    strip_bytes: int = STRIP_BYTES
    name: str = "Gram matrix"

    def strips(self, size: int) -> list[tuple[int, int]]:
        """First and end column of each pass."""
        found, start = [], 0
        while start < size:
            stop, left = start, self.strip_bytes // (8 * self.n_matrices)
            for own in column_blocks(start, size):
                fitting = left // (size - own.start)
                if fitting < own.stop - own.start:
                    stop = stop if stop > start else start + max(fitting, 1)
                    break
                stop, left = own.stop, left - (size - own.start) * (own.stop - own.start)
            found.append((start, stop))
            start = stop
        return found

    def cost(self, problem: Problem, footprint: Footprint) -> Cost:
        """Cost of a pass, the largest where they differ."""
        size, itemsize, outputs = footprint.size, problem.dtype.itemsize, problem.n_outputs
        strips = self.strips(size)
        areas = [
            sum((size - own.start) * (own.stop - own.start) for own in column_blocks(*strip))
            for strip in strips
        ]
        widest = max(own.stop - own.start for strip in strips for own in column_blocks(*strip))
        rows, share, sampled = problem.most_rows, 1.0, 0
        if self.sample is not None:
            rows = sampled = self.sample.rows_per_block
            share = min(1.0, rows / problem.most_rows)
        operations = footprint.operations + 2.0 * self.n_matrices * max(areas)
        strip, matrices = replace(footprint, tile_rows=min(GRAM_ROWS, rows)), self.n_matrices
        return strip.cost(share * operations).holding(
            task={
                "a tile, weighted": (strip.tile_rows, size, itemsize),
                "a product": (size, widest, itemsize),
                "rows of the sample": (sampled, problem.row_bytes),
                "coefficients and their sums": (2, size, outputs + (self.weigh is with_ones), 8 + itemsize),
            },
            result={
                "matrices and their borders": (matrices, max(areas) + size + 1, 8),
                "gradient": (size + 1, outputs + (self.weigh is with_ones), 8),
            },
            driver={
                "matrices, filled strip by strip": (matrices, size + self.constant, size + self.constant, 8),
                "the features": (footprint.driver_bytes,),
            },
        )

    def outline(self, problem: Problem, footprint: Footprint) -> Outline:
        """The passes of :meth:`matrices`."""
        strips = self.strips(footprint.size)
        return Outline(self._pass(problem, None, footprint, strips[0]), len(strips))

    def matrices(
        self, problem: Problem, model: Model, footprint: Footprint
    ) -> Steps[tuple[list[Array], Sums]]:
        """Return the matrices (r, r), (r + 1, r + 1) with a constant, in Fortran order, and other sums."""
        size, sums = model.basis.size, None
        whole = [np.empty((size + self.constant,) * 2, order="F") for _ in range(self.n_matrices)]
        for strip in self.strips(size):
            found: GramSums = yield self._pass(problem, model, footprint, strip)
            sums = found.sums if sums is None else sums
            for number, matrix in enumerate(whole):
                fill_columns(matrix, *strip, found.parts[number])
                if found.border is not None:
                    matrix[-1] = matrix[:, -1] = found.border[number]
        assert sums is not None, "a basis has functions"
        return whole, sums

    def _pass(
        self, problem: Problem, model: Model | None, footprint: Footprint, strip: tuple[int, int]
    ) -> Reduce[GramSums]:
        return Reduce(
            self.name,
            gram_sums,
            GramSums.add,
            None if model is None else _Operand(model, self, strip),
            blocks=None if self.sample is None else self.sample.blocks,
            cost=self.cost(problem, footprint),
        )


def gram_sums(block: Block, operand: _Operand) -> GramSums:
    """The sums of a block."""
    model, grams = operand.model, operand.grams
    rows = block if grams.sample is None else grams.sample.rows(block)
    sums, gradient, border = Sums.none(model.risk), None, None

    def weigh(tile: Tile) -> tuple[Array | None, ...]:
        nonlocal sums, gradient, border
        found = grams.weigh(model, rows.take(tile.rows), tile.values)
        sums, right = Sums.add(sums, found.sums), found.slopes
        share = (tile.values.T @ right).astype(np.float64)
        if found.more is not None:
            # a separate product, so that the bits of the others do not depend on it
            share = np.hstack([share, (tile.values.T @ found.more).astype(np.float64)])
        if grams.constant:
            ones = np.ones(len(tile.values))
            weights = np.array([ones if own is None else own for own in found.weights[: grams.n_matrices]])
            share = np.vstack([share, right.sum(axis=0, dtype=np.float64)])
            edges = np.column_stack([weights.astype(tile.values.dtype) @ tile.values, weights.sum(axis=1)])
            border = edges if border is None else border + edges
        gradient = share if gradient is None else gradient + share
        return found.weights[: grams.n_matrices]

    found = model.basis.gram(rows.features, weigh, grams.n_matrices, operand.strip)
    return GramSums(tuple(one.parts for one in found), border, replace(sums, gradient=gradient))


def factorised(gram: Array, shift: float, least: float = _LEAST_FACTORISED) -> Array:
    """Return the factor of :func:`shifted_factor`."""
    return shifted_factor(gram, shift, least)[0]


def shifted_factor(gram: Array, shift: float, least: float) -> tuple[Array, float]:
    """Return the lower Cholesky factor of gram + shift I in the memory of ``gram`` (Fortran order).

    Each diagonal entry grows by ``shift``, or by ``least`` times itself if that is more, so that functions in
    very different units lose the same share. The additions are raised until the matrix is positive definite,
    since matrices of single-precision features are definite only up to rounding.

    Returns
    -------
    the factor, and the largest addition

    Raises
    ------
    InputError
        If the matrix has entries that are not finite.
    """
    from scipy.linalg.lapack import dpotrf

    size = len(gram)
    places = np.arange(size)
    diagonal = gram[places, places]
    if not np.isfinite(diagonal).all():
        raise InputError(
            "features are too large to be squared",
            where="features",
            hint="scale the data, or use another kernel",
        )
    # a function that is 0 at all rows has no unit
    own = np.where(diagonal > 0, diagonal, diagonal.mean())
    added = np.maximum(least * own, max(shift, np.finfo(float).tiny))
    while True:
        gram[places, places] = diagonal + added
        factor, info = dpotrf(gram, lower=1, clean=0, overwrite_a=1)
        if info == 0:
            return np.asarray(factor), float(added.max())
        # only the lower triangle has been written
        for column in range(size):
            gram[column + 1 :, column] = gram[column, column + 1 :]
        added *= 10.0


def solved(gram: Array, shift: float) -> Solve:
    """Return b -> (gram + shift I)^-1 b by a Cholesky factor, for few b."""
    from scipy.linalg import cho_solve

    return partial(cho_solve, (factorised(np.array(gram, order="F"), shift), True))


def inverted(gram: Array, shift: float) -> Solve:
    """Return b -> (gram + shift I)^-1 b by the inverse, for many b; overwrites ``gram`` (Fortran order).

    A product takes a sixth of the time of two triangular solves.
    """
    from scipy.linalg.blas import dsymm, dsymv
    from scipy.linalg.lapack import dpotri

    inverse, _ = dpotri(factorised(gram, shift, _LEAST_INVERTED), lower=1, overwrite_c=1)

    def solve(right: Array) -> Array:
        if right.shape[1] > _FEW_OUTPUTS:
            return np.ascontiguousarray(dsymm(1.0, inverse, right, lower=1))
        columns = [dsymv(1.0, inverse, right[:, column], lower=1) for column in range(right.shape[1])]
        return np.ascontiguousarray(np.transpose(columns))

    return solve
