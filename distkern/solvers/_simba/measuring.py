"""The passes in which SIMBA measures, and what follows: the best model, and the candidates that go on."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from distkern.common.types import groups_of
from distkern.features import Footprint
from distkern.passes import Cost, Reduce
from distkern.solvers._simba.measure import (
    BINS,
    LaneModel,
    Margins,
    Mistakes,
    Norms,
    measure_margins,
    measure_mistakes,
    measure_norms,
)
from distkern.solvers._simba.messages import UNIT, HoldOut
from distkern.solvers._simba.state import SIMBAState
from distkern.solvers.base import Problem, Steps


@dataclass(frozen=True)
class Measuring:
    """Passes over the rows of a problem, at models of some candidates of nu; without a model, outlines."""

    problem: Problem
    footprint: Footprint
    n_candidates: int
    hold_out: HoldOut

    @property
    def n_held_out(self) -> int:
        """Training rows that never take part."""
        rows = self.problem.block_rows
        return sum(self.hold_out.count(sum(rows[block] for block in group)) for group in groups_of(rows))

    def norms(self, model: LaneModel | None) -> Reduce[Norms]:
        """What is known of the rows before the first round."""
        cost = self._cost(1, 64 + 8 * self.problem.n_outputs)
        return Reduce("norms", measure_norms, Norms.join, model, cost=cost)

    def margins(self, model: LaneModel | None) -> Reduce[Margins]:
        """Histograms of margins."""
        lanes = self.n_candidates * self.problem.n_outputs
        cost = self._cost(lanes, lanes * BINS * 16)
        return Reduce(
            "margins",
            measure_margins,
            Margins.add,
            model,
            cost=cost,
            measures_only=not self.hold_out.fraction,
        )

    def errors(self, model: LaneModel | None, split: str) -> Reduce[Mistakes]:
        """Mistakes of all candidates on the training rows, or of one on held-out ones."""
        train = split == "train"
        candidates = self.n_candidates if train else 1
        return Reduce(
            "errors" if train else "held out",
            measure_mistakes,
            Mistakes.add,
            model,
            split=split,
            cost=self._cost(self.problem.n_outputs * candidates, 16 * candidates),
            measures_only=not (train and self.hold_out.fraction),
        )

    def _cost(self, lanes: int, result_bytes: int) -> Cost:
        footprint = self.footprint
        operand = footprint.size * lanes * (16 + self.problem.dtype.itemsize)
        # f in both precisions, margins and their bins, of a strip
        strip = 2**16 * 48 + 256 * lanes * 48
        return Cost(
            workspace_bytes=footprint.tile_bytes + operand + strip + result_bytes,
            result_bytes=result_bytes,
            flops_per_row=footprint.flops_per_row + 2.0 * self.problem.row_numbers * lanes,
            entries_per_row=footprint.entries_per_row,
            process_bytes=footprint.process_bytes,
            compiled=True,
        )


def measured(
    measuring: Measuring, unscaled: LaneModel, nus: NDArray[np.float64], state: SIMBAState
) -> Steps[SIMBAState]:
    """The state with the best model so far, its figures, and half of the candidates.

    The best on the held-out rows goes on, with its neighbours: halving (Jamieson and Talwalkar 2016) for a
    range, of which too few rows are held out to rank the others. Without any there is one candidate.

    Parameters
    ----------
    unscaled : the models of the candidates after the rounds of the stage
    nus : (n_candidates,)
    """
    problem, n_held, outputs = measuring.problem, measuring.n_held_out, unscaled.n_outputs
    weight = state.units / UNIT if state.units else float(problem.n_rows - n_held)
    found: Margins = yield measuring.margins(unscaled)
    slacks = np.repeat(nus, outputs) * weight
    gammas = np.array([found.best_margin(lane, slack) for lane, slack in enumerate(slacks.tolist())])
    scales = np.where(gammas > 0, gammas, 1.0)
    model = replace(
        unscaled, coefficients=unscaled.coefficients / scales, intercepts=unscaled.intercepts / scales
    )
    mistakes = found.mistakes
    if outputs > 1:
        mistakes = yield measuring.errors(model, "train")
    held = mistakes.held / mistakes.n_held if n_held else np.full(len(nus), math.nan)
    # of candidates that do as well, those with smaller norms
    best = int(np.flatnonzero(mistakes.held == mistakes.held.min())[-1])
    state = state.cut(_half_around(best, len(nus)), outputs)
    if n_held and state.stage > 1 and held[best] > state.held_error:
        return replace(state, stale=state.stale + 1)
    improved = not n_held or state.stage == 1 or held[best] < state.held_error
    lanes = slice(best * outputs, (best + 1) * outputs)
    chosen = replace(
        model,
        coefficients=np.ascontiguousarray(model.coefficients[:, lanes]),
        intercepts=model.intercepts[lanes],
        hold_out=None,
    )
    test_error = None
    if problem.has_test:
        test: Mistakes = yield measuring.errors(chosen, "test")
        test_error = float(test.active[0]) / test.n_active
    hinge = sum(found.hinge(lane, scales[lane]) / scales[lane] for lane in range(lanes.start, lanes.stop))
    return replace(
        state,
        stale=0 if improved else state.stale + 1,
        coefficients=chosen.coefficients,
        intercept=chosen.intercepts,
        margins=gammas[lanes],
        nu=float(nus[best]),
        held_error=float(held[best]),
        objective=hinge / weight,
        train_error=float(mistakes.active[best]) / mistakes.n_active,
        test_error=test_error,
    )


def _half_around(best: int, n: int) -> NDArray[np.intp]:
    """The best of n in order and its neighbours."""
    half = -(-n // 2)
    start = min(max(best - half // 2, 0), n - half)
    return np.arange(start, start + half)
