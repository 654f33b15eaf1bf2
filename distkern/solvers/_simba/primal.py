"""The driver's side of SIMBA's rounds: primal variables, messages, and what has been looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.bases.base import AbstractBasis
from distkern.core.rng import Purpose
from distkern.core.sparse import Rows, SparseRows, stacked
from distkern.passes import Message
from distkern.solvers._simba import primal_loop as loops
from distkern.solvers._simba.messages import Answer, Ask, Slacks, Update, aligned, shifted
from distkern.solvers._simba.selection import select
from distkern.solvers.base import Steps

#: rounds after which q is brought back to a sum of about n; in these it changes by less than 2^102
RESCALE_EVERY = 64


@dataclass
class Primal:
    """w in every lane as u / max(1, |u|), with weighted sums of w and b over the rounds.

    Attributes
    ----------
    u : (n_lanes, size) float64, changed in place, as are the following
    behind : (n_lanes, size), and ``banked`` (n_lanes,): sum_t a_t w_t = banked u - behind
    sums_of_b : (n_lanes,) sum_t a_t b_t
    weight : sum_t a_t
    """

    u: NDArray[np.float64]
    behind: NDArray[np.float64]
    banked: NDArray[np.float64]
    sums_of_b: NDArray[np.float64]
    weight: float

    def averaged(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(n_lanes, size) and (n_lanes,) means of w and b."""
        w = (self.banked[:, None] * self.u - self.behind) / self.weight
        return w, self.sums_of_b / self.weight


@dataclass(frozen=True)
class Schedule:
    """What a run's rounds have in common.

    Attributes
    ----------
    nus : (n_lanes,)
    n_active : rows that take part
    n_rows : of all groups
    radius : the largest norm of a row, which all rows are divided by
    columns_per_round : of a round
    selection_every : rounds that slacks are kept
    averaging : a_t = t^averaging
    fit_intercept : whether there is b
    seed : of the draws
    basis : rows are mapped by it
    """

    nus: NDArray[np.float64]
    n_active: int
    n_rows: int
    radius: float
    columns_per_round: int
    selection_every: int
    averaging: int
    fit_intercept: bool
    seed: int
    basis: AbstractBasis

    @property
    def full_slacks(self) -> NDArray[np.int64]:
        """(n_lanes,) rows with slack 2."""
        return np.floor(self.nus * self.n_active / 2.0).astype(np.int64)


class RoundRunner:
    """Runs rounds, each one exchange and, when slacks are chosen anew, a few more.

    Parameters
    ----------
    schedule : of the run
    primal : changed in place
    """

    def __init__(self, schedule: Schedule, primal: Primal) -> None:
        self._schedule, self._primal = schedule, primal
        self._size = size = schedule.basis.size
        self._dtype = schedule.basis.dtype
        lanes = len(schedule.nus)
        n_chunks, n_spans = -(-size // loops.CHUNK), -(-size // loops.CHUNK**2)
        self._chunks, self._spans = np.empty((lanes, n_chunks)), np.empty((lanes, n_spans))
        self._norms = np.empty(lanes)
        self._stamps, self._touched = np.zeros(n_chunks, np.int64), np.empty(n_chunks, np.int64)
        self._totals = np.empty(lanes)
        self._slacks: Slacks | None = None
        self._columns = np.arange(size, dtype=np.int32)
        loops.refresh_loop()(primal.u, self._chunks, self._spans, self._norms)
        self._step = loops.step_loop(self._dtype)
        self.accesses = self.entries = 0

    def run(self, first: int, stop: int, most_accesses: float) -> Steps[int]:
        """Rounds ``first`` to ``stop - 1``, or until so many features have been looked at; the next round."""
        schedule = self._schedule
        answer: Answer = yield Message(Ask(None, first))
        t = first
        while t < stop and self.accesses < most_accesses:
            slacks = None
            if (t - first) % schedule.selection_every == 0:
                slacks = yield from self._selected()
            update = self._advance(t, answer, slacks)
            self.accesses += len(answer.rows) * self._size + len(update.columns) * schedule.n_rows
            t += 1
            goes_on = t < stop and self.accesses < most_accesses
            answer = yield Message(Ask(update, t if goes_on else None))
            self.entries += answer.entries
        return t

    def _selected(self) -> Steps[Slacks]:
        schedule = self._schedule
        full = schedule.full_slacks
        rests = schedule.nus * schedule.n_active - 2.0 * full
        self._slacks = yield from select(full, rests, schedule.n_rows, self._slacks)
        return self._slacks

    def _advance(self, t: int, answer: Answer, slacks: Slacks | None) -> Update:
        schedule, primal = self._schedule, self._primal
        lanes, n_columns = len(schedule.nus), schedule.columns_per_round
        data, indices, indptr = self._compressed([row for row in answer.rows if row is not None])
        n_draws = len(indptr) - 1
        columns, coefficients = np.empty(n_columns, np.int64), np.empty((lanes, n_columns))
        b = np.empty(lanes)
        weight = float(t) ** schedule.averaging
        drawn = self._step(
            primal.u, primal.behind, primal.banked, self._chunks, self._spans, self._norms, self._stamps,
            self._touched, aligned(answer.sums), data, indices, indptr, aligned(answer.masses),
            aligned(answer.signs), schedule.seed,
            int(Purpose.COLUMN_DRAWS), t, 1.0 / (math.sqrt(2.0 * t) * n_draws * schedule.radius), weight,
            schedule.fit_intercept, 1.0 / (n_columns * schedule.radius), primal.sums_of_b, columns,
            coefficients, b, self._totals,
        )  # fmt: skip
        primal.weight += weight
        self.entries += int(indptr[-1])
        if drawn < n_columns:
            columns, coefficients = columns[:0], np.empty((lanes, 0))
        factors = None
        if t % RESCALE_EVERY == 0:
            # powers of two change no bit of q
            factors = np.exp2(np.round(np.log2(schedule.n_active / self._totals)))
            if self._slacks is not None:
                self._slacks = shifted(self._slacks, factors)
        eta = math.sqrt(math.log(schedule.n_active) / t)
        return Update(columns, coefficients, b, eta, factors, slacks)

    def _compressed(self, rows: list[Rows]) -> tuple[Any, NDArray[np.int32], NDArray[np.int64]]:
        """The features of the rows as data, columns and ends of rows."""
        together = self._schedule.basis.values(rows[0] if len(rows) == 1 else stacked(rows))
        if isinstance(together, SparseRows):
            return (
                aligned(together.data.astype(self._dtype, copy=False)), aligned(together.indices),
                aligned(together.indptr),
            )  # fmt: skip
        n_rows = together.shape[0]
        indices = self._columns if n_rows == 1 else np.tile(self._columns, n_rows)
        indptr = np.arange(n_rows + 1, dtype=np.int64) * self._size
        return np.ascontiguousarray(together, dtype=self._dtype).reshape(-1), indices, indptr
