"""The driver's part of SIMBA's rounds (Hazan et al. 2011, Algorithm 1) and its variables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.rng import Purpose
from distkern.core.sparse import Rows, SparseRows, stacked
from distkern.core.tiles import aligned
from distkern.core.types import Array
from distkern.maths.bases.base import AbstractBasis
from distkern.passes import Message
from distkern.solvers._simba import primal_loop as loops
from distkern.solvers._simba.messages import Answer, RoundMessage, Slacks, Update, shifted
from distkern.solvers._simba.selection import select
from distkern.solvers.base import Problem, Steps

if TYPE_CHECKING:
    from distkern.solvers._simba.measuring import SIMBAState
    from distkern.solvers.simba import SIMBA


#: rounds between rescalings of q to a sum of about n; meanwhile it changes by less than 2^102
RESCALE_EVERY = 64


class Primal:
    """The variables that the rounds of a stage change.

    Parameters
    ----------
    basis : maps the rows
    u, behind : (n_outputs, size), and ``scale_sum`` (n_outputs,): sum_t a_t w_t = scale_sum u - behind
    sums_of_b : (n_outputs,) sum_t a_t b_t
    weight : sum_t a_t

    The arrays are copied, and updated in every round together with ``totals`` (n_outputs,), the sums of q.
    """

    def __init__(
        self, basis: AbstractBasis, u: Array, behind: Array, scale_sum: Array, sums_of_b: Array, weight: float
    ) -> None:
        outputs, size = u.shape
        n_chunks, n_spans = -(-size // loops.CHUNK), -(-size // loops.CHUNK**2)
        self.u, self.behind, self.scale_sum = u.copy(), behind.copy(), scale_sum.copy()
        self.sums_of_b, self.weight, self.totals = sums_of_b.copy(), weight, np.empty(outputs)
        self._basis, self._all_columns = basis, np.arange(size, dtype=np.int32)
        self._vectors = loops.Vectors(
            self.u,
            self.behind,
            self.scale_sum,
            np.empty(outputs),
            np.empty((outputs, n_chunks)),
            np.empty((outputs, n_spans)),
            np.zeros(n_chunks, np.int64),
            np.empty(n_chunks, np.int64),
        )
        loops.refresh_loop()(self._vectors)
        self._add_rows = loops.add_rows_loop(basis.dtype)

    @property
    def fields(self) -> dict[str, Any]:
        """The corresponding fields of the next state."""
        variables = {"u": self.u, "behind": self.behind, "scale_sum": self.scale_sum}
        return {**variables, "sums_of_b": self.sums_of_b, "weight": self.weight}

    def averaged(self) -> tuple[Array, Array]:
        """The means of w, (n_outputs, size), and b, (n_outputs,)."""
        w = (self.scale_sum[:, None] * self.u - self.behind) / self.weight
        return w, self.sums_of_b / self.weight

    def signs_of(self, sums: Array, *, signed: bool) -> Array:
        """Update the totals of q and return b = sign(q'y), (n_outputs,), or 0."""
        b = np.empty(len(self.totals))
        loops.biases_loop()(*aligned(sums), self.totals, b)
        return b if signed else np.zeros_like(b)

    def add(self, t: int, answer: Answer, step: float, weight: float, b: Array) -> int:
        """Add step y x, summed over the drawn rows, to u, and then ``weight`` w and b to the averages.

        Outputs share the rows, weighted by their probabilities of drawing them. Returns how many numbers the
        rows have.
        """
        data, indices, indptr = self._compressed([row for row in answer.rows if row is not None])
        self._add_rows(
            self._vectors,
            data,
            indices,
            indptr,
            *aligned(answer.drawn.masses, answer.drawn.signs),
            self.totals,
            t,
            step,
            weight,
        )
        self.sums_of_b += weight * b
        self.weight += weight
        return int(indptr[-1])

    def draw(self, t: int, seed: int, n_columns: int, scale: float) -> tuple[NDArray[np.int64], Array]:
        """Draw columns j by w_j^2; return them and scale |w|^2 / w_j, (n_outputs, n_columns); none if w = 0.

        Outputs share the columns as they share the rows.
        """
        columns, coefficients = np.empty(n_columns, np.int64), np.empty((len(self.u), n_columns))
        n_drawn = loops.draw_columns_loop()(
            self._vectors, seed, int(Purpose.COLUMN_DRAWS), t, scale, columns, coefficients
        )
        return (columns, coefficients) if n_drawn else (columns[:0], np.empty((len(self.u), 0)))

    def _compressed(self, rows: list[Rows]) -> tuple[NDArray[Any], ...]:
        """The features of the rows as data, columns and ends of rows."""
        together = self._basis.values(rows[0] if len(rows) == 1 else stacked(rows))
        if isinstance(together, SparseRows):
            data = together.data.astype(self._basis.dtype, copy=False)
            return aligned(data, together.indices, together.indptr)
        n_rows, size = together.shape
        indices = self._all_columns if n_rows == 1 else np.tile(self._all_columns, n_rows)
        indptr = np.arange(n_rows + 1, dtype=np.int64) * size
        return np.ascontiguousarray(together, dtype=self._basis.dtype).reshape(-1), indices, indptr


def rounds(solver: SIMBA, problem: Problem, state: SIMBAState, primal: Primal) -> Steps[dict[str, Any]]:
    """Make the rounds of the stage after ``state``, until its share of features has been read.

    Each round is one exchange: the residents draw rows by p = q / |q|_1 and update q; the driver executes the
    lines between, for all outputs.

    Returns
    -------
    the fields of the next state that count rounds and features: size a row and n a column, and their actual
    numbers; a column that a round draws several times is read once
    """
    n_outputs, size = primal.u.shape
    n_active = problem.n_rows - state.n_held_out
    n_columns = solver.columns_per_round * n_outputs
    # slack 2 for the rows of largest q, and the rest of nu times all weights for one more
    budgets = np.full(n_outputs, solver.nu * (state.units or n_active) / 2.0)
    slacks: Slacks | None = None
    first, last = state.round + 1, min(state.round + solver.rounds_per_stage, solver.max_rounds)
    accesses, entries = state.accesses, state.accesses_nonzero
    answer: Answer = yield Message(RoundMessage(None, first))
    for t in range(first, last + 1):
        # xi: the rows with slack, kept for some rounds
        fresh = (t - first) % solver.selection_every == 0
        if fresh:
            slacks = yield from select(budgets, problem.n_rows, slacks)
        chosen = slacks if fresh else None
        # b = sign(p' y)
        b = primal.signs_of(answer.drawn.sums, signed=solver.fit_intercept)
        # u += y x / sqrt(2 t), w = u / max(1, |u|), of rows divided by the radius
        step = 1.0 / (math.sqrt(2.0 * t) * len(answer.rows) * state.radius)
        entries += primal.add(t, answer, step, float(t) ** solver.averaging, b)
        # a column j by w_j^2
        columns, coefficients = primal.draw(t, problem.seed, n_columns, 1.0 / (n_columns * state.radius))
        factors = None
        if t % RESCALE_EVERY == 0:
            # powers of two change no bit of q
            factors = np.exp2(np.round(np.log2(n_active / primal.totals)))
            slacks = None if slacks is None else shifted(slacks, factors)
        accesses += len(answer.rows) * size + len(set(columns.tolist())) * problem.n_rows
        goes_on = t < last and accesses < solver.most_accesses
        # q *= 1 - eta v + eta^2 v^2, then the rows of the next round
        eta = math.sqrt(math.log(n_active) / t)
        update = Update(columns, coefficients, b, eta, factors, chosen)
        answer = yield Message(RoundMessage(update, t + 1 if goes_on else None))
        entries += answer.entries
        if not goes_on:
            break
    return {"round": t, "accesses": accesses, "accesses_nonzero": entries}
