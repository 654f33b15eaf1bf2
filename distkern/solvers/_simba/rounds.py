"""The rounds of SIMBA (Hazan et al. 2011, Algorithm 1), as the driver sees them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from distkern.passes import Message
from distkern.solvers._simba.messages import Answer, Ask, Slacks, Update, shifted
from distkern.solvers._simba.primal import Primal
from distkern.solvers._simba.selection import select
from distkern.solvers.base import Steps

#: rounds after which q is brought back to a sum of about n; in these it changes by less than 2^102
RESCALE_EVERY = 64


@dataclass(frozen=True)
class Schedule:
    """What a run's rounds have in common.

    Attributes
    ----------
    nu : of all outputs
    n_active : rows that take part
    units : what they weigh
    n_rows : of all groups
    radius : the largest norm of a row, which all rows are divided by
    n_columns : of a round
    selection_every : rounds that slacks are kept
    averaging : a_t = t^averaging
    fit_intercept : whether there is b
    seed : of the draws
    """

    nu: float
    n_active: int
    units: int
    n_rows: int
    radius: float
    n_columns: int
    selection_every: int
    averaging: int
    fit_intercept: bool
    seed: int


@dataclass(frozen=True)
class Done:
    """The last round; features that were looked at, size a row and n a column, and their own numbers.

    A column that a round draws several times is looked at once.
    """

    round: int
    accesses: int
    entries: int


def rounds(schedule: Schedule, primal: Primal, first: int, last: int, most_accesses: float) -> Steps[Done]:
    """Rounds ``first`` to ``last``, or until so many features have been looked at; each is one exchange.

    The residents draw rows by p = q / |q|_1 and change q; the driver has the lines between, for all outputs.
    """
    n_outputs, size = primal.u.shape
    n_active = schedule.n_active
    # slack 2 for the rows of largest q, and what is left of nu times all weights for one more
    budgets = np.full(n_outputs, schedule.nu * schedule.units / 2.0)
    slacks: Slacks | None = None
    accesses = entries = 0
    answer: Answer = yield Message(Ask(None, first))
    for t in range(first, last + 1):
        # xi: who may fall short, kept for some rounds
        fresh = (t - first) % schedule.selection_every == 0
        if fresh:
            slacks = yield from select(budgets, schedule.n_rows, slacks)
        chosen = slacks if fresh else None
        # b = sign(p' y)
        b = primal.signs_of(answer.drawn.sums, signed=schedule.fit_intercept)
        # u += y x / sqrt(2 t), w = u / max(1, |u|), of rows divided by the radius
        step = 1.0 / (math.sqrt(2.0 * t) * len(answer.rows) * schedule.radius)
        entries += primal.add(t, answer, step, float(t) ** schedule.averaging, b)
        # a column j by w_j^2
        columns, coefficients = primal.draw(
            t, schedule.seed, schedule.n_columns, 1.0 / (schedule.n_columns * schedule.radius)
        )
        factors = None
        if t % RESCALE_EVERY == 0:
            # powers of two change no bit of q
            factors = np.exp2(np.round(np.log2(n_active / primal.totals)))
            slacks = None if slacks is None else shifted(slacks, factors)
        accesses += len(answer.rows) * size + len(set(columns.tolist())) * schedule.n_rows
        goes_on = t < last and accesses < most_accesses
        # q *= 1 - eta v + eta^2 v^2, then the rows of the next round
        eta = math.sqrt(math.log(n_active) / t)
        update = Update(columns, coefficients, b, eta, factors, chosen)
        answer = yield Message(Ask(update, t + 1 if goes_on else None))
        entries += answer.entries
        if not goes_on:
            break
    return Done(t, accesses, entries)
