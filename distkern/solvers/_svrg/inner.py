"""SVRG's inner loop: prepared rows, and steps over batches of them."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis, add_transposed, product
from distkern.common.sparse import Rows, SparseRows
from distkern.common.types import Block, Floats
from distkern.features import Footprint
from distkern.passes import Stream, Visit
from distkern.solvers.base import Problem
from distkern.solvers.gram import Solve
from distkern.solvers.measuring import Model
from distkern.solvers.risk import Risk

Array = NDArray[np.float64]
_PIECE_BYTES = 8 * 2**20


@dataclass(frozen=True)
class Piece:
    """Prepared rows of a batch.

    Attributes
    ----------
    values : (n, r) functions that the features are made of, see
        :meth:`~distkern.bases.base.AbstractBasis.cheap_values`
    predictions : (n, k) at the snapshot
    targets : (n, k)
    weights : (n,) float64
    """

    values: Rows
    predictions: Floats
    targets: Floats
    weights: Array

    def take(self, rows: slice) -> Piece:
        """Some of the rows."""
        return Piece(self.values[rows], self.predictions[rows], self.targets[rows], self.weights[rows])


def prepare_piece(block: Block, model: Model) -> Piece:
    """Features of a piece and what the steps need beside them; ``model`` is the snapshot."""
    values, dtype = model.basis.cheap_values(block.features), model.basis.dtype
    predictions = np.empty((block.n_rows, model.coefficients.shape[1]), dtype=dtype)
    product(values, model.basis.outward(model.coefficients.astype(np.float64)).astype(dtype), predictions)
    weights = model.risk.weights(block)
    return Piece(
        values, predictions, model.risk.targets(block), np.ones(block.n_rows) if weights is None else weights
    )


def piece_rows(problem: Problem, numbers: int) -> int:
    """Rows of a piece: about 8 MiB of features, whatever the workers; fewer where a row has very many."""
    return int(np.clip(_PIECE_BYTES // (numbers * problem.dtype.itemsize), 1, 4096))


def batch_ends(n_rows: int, batch_size: int) -> list[int]:
    """Where the batches of a stage end: all of about ``batch_size`` rows, as short ones are mostly noise."""
    n_batches = max(1, round(n_rows / batch_size))
    return [(batch + 1) * n_rows // n_batches for batch in range(n_batches)]


def inner_pass(
    problem: Problem,
    model: Model | None,
    footprint: Footprint,
    visits: tuple[Visit, ...],
    *,
    numbers: int,
    preconditioned: bool,
) -> Stream[Piece]:
    """The rows of a stage, with their features, which take up so many ``numbers`` a row."""
    size, outputs, itemsize = footprint.size, problem.n_outputs, problem.dtype.itemsize
    rows = piece_rows(problem, numbers)
    operations = footprint.operations - footprint.factor_operations + 4.0 * numbers * outputs
    cost = footprint.cost(operations).holding(
        task={"coefficients and gradient": (2, size, outputs, 8 + itemsize)},
        result={"features, predictions and signs": (numbers + 2 * outputs, itemsize), "weight": (8,)},
        driver={"metric": (size, size, 8 * preconditioned), "the basis": (footprint.operand_bytes,)},
    )
    return Stream("inner loop", visits, prepare_piece, model, piece_rows=rows, cost=cost)


class InnerLoop:
    """w during a stage, from the snapshot w~ = ``start`` with mu = ``gradient`` on.

    At the end of each batch of B rows, with f = f~ + Z (w - w~),

        v = Z' (s (l'(f) - l'(f~))) / B + mu + nu w,    w <- w - eta P^-1 v.

    Where features are products with a matrix, Z = K F, rows have K alone and F is in the steps, so that it
    takes r^2 operations a batch and not a row. Slopes are taken in float64 at f~ and at f~ plus the change,
    so that their difference vanishes with w - w~ whatever the precision of the features.
    """

    def __init__(
        self,
        risk: Risk,
        start: Array,
        gradient: Array,
        nu: float,
        eta: float,
        solve: Solve | None,
        basis: AbstractBasis,
        ends: Sequence[int],
    ) -> None:
        self._risk, self._start, self._gradient = risk, start, gradient
        self._nu, self._eta, self._solve, self._basis = float(nu), float(eta), solve, basis
        self._dtype = basis.dtype
        self._ends = deque(ends)
        self._rows = self._in_batch = 0
        self._sum = np.zeros_like(start)
        self.coefficients = start.copy()
        self._moved = np.zeros(start.shape, dtype=self._dtype)

    def consume(self, piece: Piece) -> None:
        """Do the steps that a piece completes."""
        start, n_rows = 0, len(piece.weights)
        while start < n_rows:
            stop = min(n_rows, start + self._ends[0] - self._rows)
            self._add(piece.take(slice(start, stop)))
            self._rows += stop - start
            start = stop
            if self._rows == self._ends[0]:
                self._ends.popleft()
                self._step()

    def _add(self, part: Piece) -> None:
        values = part.values
        if not isinstance(values, SparseRows):
            # what a worker has sent may lie at odd addresses
            values = np.require(values, requirements=("C", "A"))
        changes = np.empty(part.predictions.shape, dtype=self._dtype)
        product(values, self._moved, changes)
        before = part.predictions.astype(np.float64)
        targets = part.targets.astype(np.float64)
        slopes = self._risk.slopes(before + changes, targets, part.weights)
        slopes -= self._risk.slopes(before, targets, part.weights)
        add_transposed(values, slopes.astype(self._dtype), self._sum)
        self._in_batch += len(part.weights)

    def _step(self) -> None:
        change = self._basis.inward(self._sum) / self._in_batch
        direction = change + self._gradient + self._nu * self.coefficients
        if self._solve is not None:
            direction = self._solve(direction)
        self.coefficients -= self._eta * direction
        self._moved = self._basis.outward(self.coefficients - self._start).astype(self._dtype)
        self._sum[...] = 0.0
        self._in_batch = 0
