"""NORMA with the kernel itself: every process keeps the expansion, and the oldest rows leave it.

Kivinen, Smola and Williamson (2004) are on the left, our code, with batches of B rows, on the right:

    f_1 <- 0                                      AbstractExplicit.init
    for t = 1, 2, ...                             KernelNORMA.steps: a turn for each group of rows
        draw a row (x_t, y_t)                     AbstractTurns.order; AbstractTurns.pieces, of 256 rows
        f_t(x_t) <- sum_i a_i k(x_i, x_t)         _ExpansionSteps.take; Expansion.at: rows of earlier pieces
        gamma_t <- gamma_1 / sqrt(t)              FallingSteps.__call__
        a_i <- (1 - gamma_t nu) a_i, for i < t    _ExpansionSteps.take; Change.factor: rows of earlier pieces
        a_t <- -gamma_t l'(f_t(x_t), y_t)         there
        drop a_(t - tau)                          Expansion.last, after every piece
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.sparse import Rows, stacked
from distkern.core.types import Array, Block, groups_of
from distkern.maths.bases.landmarks import LandmarkBasis
from distkern.maths.features import Footprint
from distkern.maths.features.landmarks import Support, support_cost
from distkern.maths.kernels.base import AbstractKernel
from distkern.passes import Message, Rounds
from distkern.solvers.base import Problem, Steps
from distkern.solvers.compare._residents import AbstractTurns, either, rows_of_groups
from distkern.solvers.compare.norma import NORMA, NORMAState
from distkern.solvers.explicit import Ended
from distkern.solvers.measuring import Model
from distkern.solvers.risk import Risk

#: rows of a kernel matrix, unless a batch has more
PIECE_ROWS = 256


@dataclass(frozen=True)
class Expansion:
    """f = sum_i c_i k(x_i, .), with the least recently changed rows first.

    Attributes
    ----------
    rows : (m, n_features)
    coefficients : (m, k)
    places : (m,) distinct positions of the rows among all rows
    """

    rows: Rows
    coefficients: Array
    places: NDArray[np.int64]

    def last(self, most: int) -> Expansion:
        """The expansion without its oldest rows, so that at most ``most`` remain."""
        surplus = max(len(self.places) - most, 0)
        return self._of(slice(surplus, None)) if surplus else self

    def without(self, places: NDArray[np.int64]) -> Expansion:
        """The expansion without the rows at these places."""
        others = ~np.isin(self.places, places)
        return self if others.all() else self._of(others)

    def of(self, places: NDArray[np.int64]) -> Array:
        """Coefficients (n, k) of the rows at these places, 0 for rows outside the expansion."""
        found = np.zeros((len(places), self.coefficients.shape[1]))
        _, mine, wanted = np.intersect1d(self.places, places, assume_unique=True, return_indices=True)
        found[wanted] = self.coefficients[mine]
        return found

    def grown(self, change: Change, most: int) -> Expansion:
        """The expansion after the change of a turn."""
        added = change.added
        kept = self.without(added.places)
        coefficients = change.factor * kept.coefficients
        if not len(added.places):
            return Expansion(kept.rows, coefficients, kept.places)
        rows = stacked([kept.rows, added.rows]) if len(kept.places) else added.rows
        coefficients = np.concatenate([coefficients, added.coefficients])
        return Expansion(rows, coefficients, np.concatenate([kept.places, added.places])).last(most)

    def _of(self, some: slice | NDArray[np.bool_]) -> Expansion:
        return Expansion(self.rows[some], self.coefficients[some], self.places[some])

    def at(self, features: Rows, kernel: AbstractKernel, dtype: np.dtype[Any]) -> Array:
        """f at some rows, (n_rows, k)."""
        if not len(self.places):
            return np.zeros((features.shape[0], self.coefficients.shape[1]))
        basis = LandmarkBasis(kernel, self.rows.astype(dtype))
        return basis.combine(features, self.coefficients).astype(np.float64)


@dataclass(frozen=True)
class Change:
    """The change by a turn: multiply coefficients by ``factor`` and add the rows ``added``; t is ``step``.

    Rows of the expansion that changed are among the added ones, with their full coefficients.
    """

    factor: float
    added: Expansion
    step: int


@dataclass(frozen=True)
class ExpansionTurn:
    """A round: one group takes its turn.

    Attributes
    ----------
    group, stage : the group and the stage
    step : t before the turn
    whole : the expansion, in the first round of a stage
    change : of the previous round, in later rounds
    """

    group: int
    stage: int
    step: int
    whole: Expansion | None
    change: Change | None


@dataclass(frozen=True)
class NORMAOperand:
    """The operand of every process.

    Attributes
    ----------
    kernel, risk, nu : the objective
    step_size : gamma_t as a function of t
    batch_size : B
    seed : seed of the order of rows
    block_rows : rows of the blocks of each group
    dtype : dtype of kernel values
    most : most rows of the expansion
    drops : whether the oldest rows leave a full expansion; otherwise no more rows enter it
    """

    kernel: AbstractKernel
    risk: Risk
    nu: float
    step_size: Callable[[int], float]
    batch_size: int
    seed: int
    block_rows: tuple[tuple[int, ...], ...]
    dtype: np.dtype[Any]
    most: int
    drops: bool


class ExpansionResident(AbstractTurns):
    """The resident that keeps the expansion, received at the start of each stage."""

    key = 8
    _expansion: Expansion

    def answer(self, message: ExpansionTurn) -> Change | None:
        self.replay(message)
        found: Change | None = super().answer(message)
        return found

    def replay(self, message: ExpansionTurn) -> None:
        if message.whole is not None:
            self._expansion = message.whole
        if message.change is not None:
            self._expansion = self._expansion.grown(message.change, self.operand.most)

    def turn(self, message: ExpansionTurn) -> Change:
        operand: NORMAOperand = self.operand
        steps = _ExpansionSteps(operand, self._expansion, message.step)
        first = sum(map(sum, operand.block_rows[: message.group]))
        whole_batches = max(1, PIECE_ROWS // operand.batch_size) * operand.batch_size
        for places, rows in self.pieces(message.group, message.stage, whole_batches):
            steps.take(first + places, rows)
        return Change(steps.factor, steps.added, steps.step)


class _ExpansionSteps:
    """The steps of a group's rows, piece by piece."""

    def __init__(self, operand: NORMAOperand, before: Expansion, step: int) -> None:
        self._operand, self._before, self.step = operand, before, step
        self.factor = 1.0
        self.added = before.last(0)

    def take(self, places: NDArray[np.int64], piece: Block) -> None:
        """Make the steps of some rows in batches, then drop the oldest rows of the expansion."""
        operand, risk, n_rows = self._operand, self._operand.risk, piece.n_rows
        kernel, dtype = operand.kernel, operand.dtype
        enters = self._entering(places)
        own = LandmarkBasis(kernel, piece.features.astype(dtype))
        kernels = np.asarray(own.values(own.landmarks))
        known, coefficients = np.zeros((2, n_rows, risk.n_outputs))
        factor = 1.0
        # f at other rows is not needed
        asked = piece.features if enters.all() else piece.features[enters]
        before, added = (expansion.at(asked, kernel, dtype) for expansion in (self._before, self.added))
        known[enters] = self.factor * before + added
        targets, weights = risk.targets(piece).astype(np.float64), risk.weights(piece)
        for start in range(0, n_rows, operand.batch_size):
            rows = slice(start, min(start + operand.batch_size, n_rows))
            self.step += 1
            size = operand.step_size(self.step)
            shrink = 1.0 - size * operand.nu
            if enters[rows].any():
                f = factor * known[rows] + kernels[rows, :start] @ coefficients[:start]
                slopes = risk.slopes(f, targets[rows], None if weights is None else weights[rows])
                coefficients[rows] = -size / (rows.stop - rows.start) * slopes * enters[rows, None]
            coefficients[:start] *= shrink
            factor *= shrink
        self.factor *= factor
        (kept,) = np.nonzero(coefficients.any(axis=1))
        if not len(kept) + len(self.added.places) + len(self._before.places):
            # a model without support keeps one row
            kept = np.zeros(1, np.intp)
        # a row takes its turn once a stage, so none of these was added
        coefficients += self.factor * self._before.of(places)
        fresh = Expansion(piece.features[kept], coefficients[kept], places[kept])
        self.added = self.added.grown(Change(factor, fresh, self.step), operand.most)
        self._before = self._before.without(fresh.places).last(operand.most - len(self.added.places))

    def _entering(self, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the rows at these places are in the expansion or may enter it, (n_rows,)."""
        if self._operand.drops:
            return np.ones(len(places), np.bool_)
        is_there = np.isin(places, np.concatenate([self._before.places, self.added.places]))
        room = self._operand.most - len(self._before.places) - len(self.added.places)
        return is_there | (np.cumsum(~is_there) <= room)


@dataclass(frozen=True)
class KernelNORMA(NORMA):
    """Stochastic gradient descent in the kernel's space, on f = sum_i c_i k(x_i, .).

    A step changes the coefficients of the rows of its batch whose slope is not 0. With the paper's steps
    (``step_decay``) and in updates, the least recently changed rows beyond ``max_support`` leave the
    expansion after every 256 rows, or a batch (the paper's truncation); little is lost if nu has shrunk their
    coefficients. With steps that fall to 0 all might be lost, so no rows enter an expansion of
    ``max_support`` rows: the first rows of the first stage stay. All processes keep the expansion. Groups
    take turns in random order, and within a group blocks and their rows are shuffled.
    """

    @property
    def drops(self) -> bool:
        """Whether the oldest rows leave a full expansion."""
        return self.step_decay is not None or self.before is not None

    def notes(self, problem: Problem) -> tuple[str, ...]:
        most, n_rows = self.features.max_support, problem.n_rows  # type: ignore[attr-defined]
        if self.drops or n_rows <= most:
            return ()
        return (f"learns from {most:,} (max_support) of {n_rows:,} rows; features='random' from all",)

    def steps(self, problem: Problem, state: NORMAState, basis: Any, preconditioner: Any) -> Steps[Ended]:
        features, risk = self.features, self.risk_of(state)
        assert isinstance(features, Support)
        operand = NORMAOperand(
            features.kernel.with_gamma(state.gamma),
            risk,
            self.nu,
            self.rule(problem),
            self.batch_size,
            problem.seed,
            rows_of_groups(problem),
            problem.dtype,
            features.max_support,
            self.drops,
        )
        footprint = self.footprint(problem, self.expected_size(problem))
        yield self.stage_pass(problem, footprint, state.stage, operand)
        expansion = Expansion(state.landmarks, state.coefficients, state.places)
        step, change = state.step, None
        whole: Expansion | None = expansion
        for group in ExpansionResident.order(problem, state.stage):
            change = yield Message(ExpansionTurn(group, state.stage, step, whole, change))
            assert isinstance(change, Change)
            expansion, step, whole = expansion.grown(change, features.max_support), change.step, None
        found = self.basis(problem, expansion.rows, state.gamma)
        model = Model(found, np.ascontiguousarray(expansion.coefficients), risk)
        places = np.ascontiguousarray(expansion.places)
        return Ended(model, problem.n_rows, {"landmarks": expansion.rows, "places": places, "step": step})

    def stage_pass(self, problem: Problem, footprint: Footprint, stage: int, operand: Any) -> Any:
        outputs, size = self.risk.n_outputs, footprint.size
        groups, piece = len(groups_of(problem.block_rows)), max(PIECE_ROWS, self.batch_size)
        return Rounds(
            "functional steps",
            ExpansionResident,
            either,
            operand,
            n_rounds=groups,
            state_bytes_per_row=0.0,
            # besides the support rows, the rows they are compared with
            cost=support_cost(problem, footprint, outputs, piece, groups).holding(
                task={"rows that are compared": (2, size, problem.row_bytes)}
            ),
        )
