"""The driver's part of the doubly stochastic gradient steps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from distkern.core.errors import DivergenceError
from distkern.core.rng import Purpose, stream
from distkern.maths.bases.random_features import RandomFeatureBasis
from distkern.passes import Message
from distkern.solvers._dsg.rounds import BatchMessage, BatchSums, add_parts
from distkern.solvers._dsg.settings import DSGSettings, DSGState, average_weight, reusable_steps
from distkern.solvers.base import Problem, Steps
from distkern.solvers.gram import solved
from distkern.solvers.measuring import Sums
from distkern.solvers.risk import Risk

#: first index of the streams that draw old blocks
_OLD = 2
#: below this the scale is multiplied out, so that coefficients keep their digits
_LEAST_SCALE = 1e-4
#: losses beyond this multiple of the first are not just noise
_EXPLOSION = 1e4


class Growth:
    """The steps of a stage; ``now`` is the state after the last one."""

    def __init__(
        self, settings: DSGSettings, problem: Problem, basis: RandomFeatureBasis, state: DSGState
    ) -> None:
        self._settings, self._basis, self._problem = settings, basis, problem
        # the arrays are updated in place
        self.now = replace(
            state,
            coefficients=state.coefficients.copy(),
            average=state.average.copy(),
            betas=state.betas.copy(),
        )
        self._seen = Sums.none(settings.risk)
        # a new risk for the followers, sent with the next message
        self._risk: Risk | None = None
        # followers may have just been opened and know no block
        self._changed = set(range(state.n_blocks))

    @property
    def rows_read(self) -> int:
        """Rows of the batches of these steps."""
        return self._seen.n_rows

    def step(self) -> Steps[None]:
        """Make a step: draw a batch and a block, update its coefficients."""
        settings, t = self._settings, self.now.step + 1
        gamma = settings.step_rule(t)
        self._draws, cursor = settings.batches(self._problem).next(self.now.cursor)
        block = self._next_block(t)
        yield from self._prepare(t)
        sums = yield from self._ask(t, block, gram=settings.precondition)
        self._watch(t, sums)
        chosen, eta = self._choose(block, sums, gamma)
        if chosen != block:
            sums = yield from self._ask(t, chosen, gram=settings.precondition)
        self._update(chosen, eta, sums)
        seen = self._seen
        self.now = now = replace(
            self.now,
            step=t,
            cursor=cursor,
            batch_loss=seen.losses / seen.n_rows,
            batch_error=float(seen.mean_errors[0]),
        )
        if settings.average:
            used = now.n_blocks * settings.block_size
            current, weight = now.average[:used], average_weight(t)
            current += weight * (now.scale * now.coefficients[:used] - current)

    def _prepare(self, t: int) -> Steps[None]:
        """Compute what the slopes of the batch depend on."""
        yield from ()

    def _ask(
        self, t: int, wanted: int | None, *, gram: bool = False, values: bool = False
    ) -> Steps[BatchSums]:
        dtype = self._basis.dtype
        changes = tuple((block, self._rows_of(block).astype(dtype)) for block in sorted(self._changed))
        self._changed.clear()
        message = BatchMessage(
            t, changes, self.now.scale, self.now.n_blocks, wanted, gram, values, self._risk
        )
        self._risk = None
        return add_parts((yield Message((message, self._draws))))

    def _rows_of(self, block: int) -> NDArray[np.float64]:
        width = self._settings.block_size
        return self.now.coefficients[block * width : (block + 1) * width]

    def _watch(self, t: int, sums: BatchSums) -> None:
        loss = sums.sums.losses / sums.sums.n_rows
        if t == 1:
            self.now = replace(self.now, first_loss=loss)
        self._seen = Sums.add(self._seen, sums.sums)
        # a possibly negative loss has no natural zero
        least = 1e-12 if self._settings.risk.loss.is_non_negative else 1.0
        if not math.isfinite(loss) or loss > _EXPLOSION * max(self.now.first_loss, least):
            raise DivergenceError(
                f"at step {t} the mean loss is {loss:.3g}, up from {self.now.first_loss:.3g} at first: the "
                f"steps are too large; set {self._settings.step_rule.hint()}"
            )

    def _next_block(self, t: int) -> int:
        """The block of step t before CDSG considers the others: a new or a drawn one."""
        settings, n_blocks = self._settings, self.now.n_blocks
        draw = stream(self._problem.seed, Purpose.VISIT_ORDER, _OLD, t)
        full = n_blocks == settings.most_blocks
        new, reused = settings.udsg_pattern if settings.variant == "udsg" else (1, 0)
        if not full and (n_blocks == 0 or (t - 1) % (new + reused) < new):
            return n_blocks
        return int(draw.integers(n_blocks))

    def _choose(self, block: int, sums: BatchSums, gamma: float) -> tuple[int, float]:
        """The block to change, and the step."""
        settings = self._settings
        if settings.variant == "cdsg" and self.now.n_blocks:
            variance = sums.squares / sums.sums.n_rows * settings.feature_variance / sums.sums.n_rows
            slope = sums.slopes / sums.sums.n_rows
            steps = reusable_steps(self.now.betas[: self.now.n_blocks], slope, gamma, variance)
            best = int(steps.argmax())
            if steps[best] > gamma:
                # a reused block's step must not reverse the sign of its coefficients
                most = math.inf if settings.nu == 0 else 0.5 / settings.nu
                return best, min(float(steps[best]), settings.largest_reuse * gamma, most)
        return block, gamma

    def _update(self, block: int, eta: float, sums: BatchSums) -> None:
        settings = self._settings
        assert sums.products is not None, "a block was requested"
        direction = sums.products / sums.sums.n_rows
        if sums.gram is not None:
            # a Newton step for the objective in this block; no other block changes, so nothing shrinks
            c, shrinkage = settings.curvature, 1.0
            direction += settings.strength * self._rows_of(block)
            curvature = c / sums.sums.n_rows * sums.gram
            damping = c * settings.damping_for(self._problem.n_rows)
            direction = solved(curvature, damping + settings.strength)(direction)
        else:
            shrinkage = 1.0 - eta * settings.nu
        self.now = now = replace(
            self.now, n_blocks=max(self.now.n_blocks, block + 1), scale=self.now.scale * shrinkage
        )
        now.betas[:] *= shrinkage
        now.betas[block] -= eta * sums.slopes / sums.sums.n_rows
        rows = self._rows_of(block)
        rows -= eta / now.scale * direction
        self._changed.add(block)
        if now.scale < _LEAST_SCALE:
            now.coefficients[:] *= now.scale
            self.now = replace(now, scale=1.0)
            self._changed = set(range(now.n_blocks))
