"""SBMD's steps: a batch of rows and a block of coefficients each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import add_transposed, product
from distkern.common.sparse import SparseRows
from distkern.common.types import Floats
from distkern.solvers._pegasos.pieces import Piece
from distkern.solvers.gram import Solve
from distkern.solvers.risk import Risk

Array = NDArray[np.float64]


@dataclass
class Iterates:
    """w and the weighted sum of the iterates so far, brought up to date block by block.

    Attributes
    ----------
    w : (r, k) after ``step`` steps
    banked : (r, k), of block j the sum of the iterates until their weights added up to ``stamps[j]``
    stamps : (n_blocks,)
    total : sum of the weights of all iterates
    step : t
    """

    w: Array
    banked: Array
    stamps: Array
    total: float
    step: int

    def average(self, runs: list[slice]) -> Array:
        """The weighted average of the iterates; w itself before the first one."""
        if self.total == 0.0:
            return self.w
        found = self.banked.copy()
        for run, stamp in zip(runs, self.stamps, strict=True):
            found[run] += (self.total - stamp) * self.w[run]
        return found / self.total


@dataclass(frozen=True)
class Rule:
    """Steps of first / (1 + decay t), over ``batch`` rows; iterate t has weight t^power."""

    first: float
    decay: float
    batch: int
    power: int


class BlockSteps:
    """The steps of a stage, one for each batch, in blocks drawn uniformly from ``generator``.

    ``solves`` are g -> P_j^-1 g of each block, empty where P_j = I.
    """

    def __init__(
        self,
        risk: Risk,
        nu: float,
        rule: Rule,
        runs: list[slice],
        solves: Sequence[Solve],
        iterates: Iterates,
        generator: np.random.Generator,
        dtype: np.dtype[np.floating],
    ) -> None:
        self._risk, self._nu, self._rule, self._runs = risk, nu, rule, runs
        self._solves, self._iterates, self._generator = solves, iterates, generator
        self._narrow: Floats = iterates.w.astype(dtype)

    def consume(self, piece: Piece) -> None:
        """The steps of a piece, whose last batch may be smaller."""
        for start in range(0, len(piece.weights), self._rule.batch):
            rows = slice(start, min(start + self._rule.batch, len(piece.weights)))
            self._step(Piece(piece.values[rows], piece.signs[rows], piece.weights[rows], 0))

    def _step(self, batch: Piece) -> None:
        values, now, rule = batch.values, self._iterates, self._rule
        block = int(self._generator.integers(len(self._runs)))
        run, dtype = self._runs[block], self._narrow.dtype
        if not isinstance(values, SparseRows):
            # what a worker has sent may lie at odd addresses
            values = np.require(values, requirements=("C", "A"))
        predictions = np.empty(batch.signs.shape, dtype=dtype)
        product(values, self._narrow, predictions)
        slopes = self._risk.slopes(predictions, batch.signs, batch.weights) / len(batch.weights)
        gradient = self._nu * now.w[run]
        if isinstance(values, SparseRows):
            total = np.zeros_like(now.w)
            add_transposed(values, slopes.astype(dtype), total)
            gradient += total[run]
        else:
            gradient += values[:, run].T @ slopes.astype(dtype)
        now.banked[run] += (now.total - now.stamps[block]) * now.w[run]
        now.stamps[block] = now.total
        if self._solves:
            gradient = self._solves[block](gradient)
        now.w[run] -= rule.first / (1.0 + rule.decay * now.step) * gradient
        self._narrow[run] = now.w[run]
        now.step += 1
        now.total += float(now.step) ** rule.power
