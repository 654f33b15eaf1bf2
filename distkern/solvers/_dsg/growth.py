"""The steps of the doubly stochastic gradient methods, as the driver makes them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from distkern.bases.random_features import RandomFeatureBasis
from distkern.core.errors import DivergenceError
from distkern.core.rng import Purpose, stream
from distkern.passes import Message
from distkern.solvers._dsg.rounds import Ask, Part, add_parts
from distkern.solvers._dsg.rules import average_weight, reusable_steps
from distkern.solvers.base import Problem, Steps
from distkern.solvers.gram import solved
from distkern.solvers.measuring import Sums

if TYPE_CHECKING:
    from distkern.solvers.dsg import DSG, DSGState

#: first index of the streams that old blocks are drawn from
_OLD = 2
#: below this the scale is multiplied out, so that coefficients keep their digits
_LEAST_SCALE = 1e-4
#: losses beyond this multiple of the first are no longer a matter of noise
_EXPLOSION = 1e4


class Growth:
    """The working copy of a state during a stage."""

    def __init__(self, solver: DSG, problem: Problem, basis: RandomFeatureBasis, state: DSGState) -> None:
        self._solver, self._basis = solver, basis
        self._rule, self._damping = solver.step_rule, solver.damping_for(problem.n_rows)
        self._seed, self._batches = problem.seed, solver.batches(problem)
        self._before, self._width = state, solver.block_size
        self._coefficients, self._average = state.coefficients.copy(), state.average.copy()
        self._betas, self._cursor = state.betas.copy(), state.cursor
        self._scale, self._n_blocks, self._step = state.scale, state.n_blocks, state.step
        self._first_loss = state.first_loss
        self._seen = Sums.none(solver.risk)
        # whoever answers may have been opened just now
        self._changed = set(range(state.n_blocks))

    def state(self) -> DSGState:
        """The state after the steps made."""
        return replace(
            self._before, coefficients=self._coefficients, average=self._average, betas=self._betas,
            cursor=self._cursor, scale=self._scale, n_blocks=self._n_blocks, step=self._step,
            first_loss=self._first_loss, batch_loss=self._seen.losses / self._seen.n_rows,
            batch_error=float(self._seen.mean_errors[0]),
        )  # fmt: skip

    @property
    def rows_read(self) -> int:
        """Rows of the batches of these steps."""
        return self._seen.n_rows

    def step(self) -> Steps[None]:
        """One step: a batch, a block, new coefficients."""
        solver, t = self._solver, self._step + 1
        gamma = self._rule(t)
        self._draws, self._cursor = self._batches.next(self._cursor)
        candidates = self._candidates(t)
        sums = yield from self._ask(t, candidates, gram=solver.precondition and len(candidates) == 1)
        self._watch(t, sums)
        chosen, eta = self._choose(candidates, sums, gamma)
        if chosen not in sums.columns or (solver.precondition and len(candidates) > 1):
            sums = yield from self._ask(t, (chosen,), gram=solver.precondition)
        self._update(chosen, eta, sums)
        self._step = t
        if solver.average:
            used = self._n_blocks * self._width
            current, weight = self._average[:used], average_weight(t)
            current += weight * (self._scale * self._coefficients[:used] - current)

    def _ask(self, t: int, candidates: tuple[int, ...], *, gram: bool) -> Steps[Part]:
        dtype = self._basis.dtype
        changes = tuple((block, self._rows_of(block).astype(dtype)) for block in sorted(self._changed))
        self._changed.clear()
        message = Ask(t, changes, self._scale, self._n_blocks, candidates, gram)
        return add_parts((yield Message(message, self._draws)))

    def _rows_of(self, block: int) -> NDArray[np.float64]:
        return self._coefficients[block * self._width : (block + 1) * self._width]

    def _watch(self, t: int, sums: Part) -> None:
        loss = sums.sums.losses / sums.sums.n_rows
        if t == 1:
            self._first_loss = loss
        self._seen = Sums.add(self._seen, sums.sums)
        if not math.isfinite(loss) or loss > _EXPLOSION * max(self._first_loss, 1e-12):
            raise DivergenceError(
                f"at step {t} the mean loss is {loss:.3g}, after {self._first_loss:.3g} at the first: the "
                f"steps are too large; set {self._solver.step_hint()}"
            )

    def _candidates(self, t: int) -> tuple[int, ...]:
        """Blocks whose gradient is asked for with the first message: the new one first, if there is one."""
        solver, n_blocks = self._solver, self._n_blocks
        draw = stream(self._seed, Purpose.VISIT_ORDER, _OLD, t)
        full = n_blocks == solver.most_blocks
        if solver.variant == "gdsg":
            old = draw.permutation(n_blocks)[: solver.n_candidates].tolist()
            return tuple(old) if full else (n_blocks, *old)
        new, reused = solver.udsg_pattern if solver.variant == "udsg" else (1, 0)
        if not full and (n_blocks == 0 or (t - 1) % (new + reused) < new):
            return (n_blocks,)
        return (int(draw.integers(n_blocks)),)

    def _choose(self, candidates: tuple[int, ...], sums: Part, gamma: float) -> tuple[int, float]:
        """The block to change, and the step."""
        solver = self._solver
        if solver.variant == "gdsg":
            # the earlier of equals, so a new block before an old one
            return max(candidates, key=lambda block: float(np.square(sums.columns[block]).sum())), gamma
        if solver.variant == "cdsg" and self._n_blocks:
            variance = sums.squares / sums.sums.n_rows * solver.feature_variance / sums.sums.n_rows
            slope = sums.slopes / sums.sums.n_rows
            steps = reusable_steps(self._betas[: self._n_blocks], slope, gamma, variance)
            best = int(steps.argmax())
            if steps[best] > gamma:
                return best, min(float(steps[best]), solver.largest_reuse * gamma, self._most_step())
        return candidates[0], gamma

    def _most_step(self) -> float:
        """A reused block's step must not turn the sign of what was learnt either."""
        return math.inf if self._solver.nu == 0 else 0.5 / self._solver.nu

    def _update(self, block: int, eta: float, sums: Part) -> None:
        solver = self._solver
        direction = sums.columns[block] / sums.sums.n_rows
        if sums.gram is not None:
            # a Newton step for the objective in this block; no other block changes, so nothing shrinks
            c, shrinkage = solver.curvature, 1.0
            direction += solver.strength * self._rows_of(block)
            curvature = c / sums.sums.n_rows * sums.gram
            direction = solved(curvature, c * self._damping + solver.strength)(direction)
        else:
            shrinkage = 1.0 - eta * solver.nu
        self._n_blocks = max(self._n_blocks, block + 1)
        self._scale *= shrinkage
        self._betas *= shrinkage
        self._betas[block] -= eta * sums.slopes / sums.sums.n_rows
        rows = self._rows_of(block)
        rows -= eta / self._scale * direction
        self._changed.add(block)
        if self._scale < _LEAST_SCALE:
            self._coefficients *= self._scale
            self._scale = 1.0
            self._changed = set(range(self._n_blocks))
