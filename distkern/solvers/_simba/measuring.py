"""The passes in which SIMBA measures, and what follows: the best model so far."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from distkern.common.held_out import STIRRED_BYTES
from distkern.features import Footprint
from distkern.passes import Cost, Reduce
from distkern.solvers._simba.measure import (
    BINS,
    LinearModel,
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
    """Passes over the rows of a problem; without a model, outlines."""

    problem: Problem
    footprint: Footprint
    hold_out: HoldOut

    def norms(self, model: LinearModel | None) -> Reduce[Norms]:
        """What is known of the rows before the first round."""
        cost = self._cost(1, 64 + 9 * self.problem.n_outputs)
        return Reduce("norms", measure_norms, Norms.join, model, cost=cost)

    def margins(self, model: LinearModel | None) -> Reduce[Margins]:
        """Histograms of margins."""
        outputs = self.problem.n_outputs
        cost = self._cost(outputs, outputs * BINS * 16)
        return Reduce(
            "margins",
            measure_margins,
            Margins.add,
            model,
            cost=cost,
            measures_only=not self.hold_out.fraction,
        )

    def errors(self, model: LinearModel | None, split: str) -> Reduce[Mistakes]:
        """Mistakes on the training rows, or on those of the test split."""
        train = split == "train"
        return Reduce(
            "errors" if train else "held out",
            measure_mistakes,
            Mistakes.add,
            model,
            split=split,
            cost=self._cost(self.problem.n_outputs, 16),
            measures_only=not (train and self.hold_out.fraction),
        )

    def _cost(self, outputs: int, result_bytes: int) -> Cost:
        problem, footprint = self.problem, self.footprint
        stirred = STIRRED_BYTES if self.hold_out.fraction else 0
        cost = footprint.cost(footprint.operations + 2.0 * problem.row_numbers * outputs)
        return replace(cost, compiled=True).holding(
            task={
                "coefficients": (footprint.size, outputs, 16 + problem.dtype.itemsize),
                "f in both precisions, margins and bins of a strip": (2**16 + 256 * outputs, 48),
                "held out": (stirred,),
                "sums": (result_bytes,),
            },
            result={"sums": (result_bytes,)},
        )


def measured(measuring: Measuring, unscaled: LinearModel, nu: float, state: SIMBAState) -> Steps[SIMBAState]:
    """The state with the best model so far and its figures.

    Parameters
    ----------
    unscaled : the model after the rounds of the stage
    """
    problem, n_held_out, outputs = measuring.problem, state.n_held_out, unscaled.n_outputs
    weight = state.units / UNIT if state.units else float(problem.n_rows - n_held_out)
    found: Margins = yield measuring.margins(unscaled)
    gammas = np.array([found.best_margin(output, nu * weight) for output in range(outputs)])
    scales = np.where(gammas > 0, gammas, 1.0)
    model = replace(
        unscaled, coefficients=unscaled.coefficients / scales, intercept=unscaled.intercept / scales
    )
    mistakes = found.mistakes
    if outputs > 1:
        mistakes = yield measuring.errors(model, "train")
    validation_error = mistakes.held_out / mistakes.n_held_out if n_held_out else math.nan
    if n_held_out and state.stage > 1 and validation_error > state.validation_error:
        return replace(state, stale=state.stale + 1)
    improved = not n_held_out or state.stage == 1 or validation_error < state.validation_error
    test_error = None
    if problem.has_test:
        test: Mistakes = yield measuring.errors(replace(model, hold_out=None), "test")
        test_error = test.active / test.n_active
    hinge = sum(found.hinge(output, scale) / scale for output, scale in enumerate(scales.tolist()))
    return replace(
        state,
        stale=0 if improved else state.stale + 1,
        coefficients=np.ascontiguousarray(model.coefficients),
        intercept=model.intercept,
        margins=gammas,
        validation_error=validation_error,
        objective=hinge / weight,
        train_error=mistakes.active / mistakes.n_active,
        test_error=test_error,
    )
