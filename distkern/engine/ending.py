"""How a run ends, and whether its user has to be told: decided here alone, from the objectives of its stages.

A run has ``converged`` where the solver's own tolerance is met, or has its ``stages used up``; it has
``diverged`` where it ended above the objective of the model 0, and was stopped where it came far above. What
ends well can still be of no use, so there are warnings, each with a mend.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from distkern.solvers.base import AbstractSolver, Measures, Problem, Trouble

CONVERGED, USED_UP, DIVERGED, INTERRUPTED = "converged", "stages used up", "diverged", "interrupted"

#: of all that a run has lowered the objective by, what its last stage may still have done; with the defaults
#: .11 and less were measured, of all algorithms on ten data sets
_UNFINISHED = 0.2
#: of the errors of always giving the same answer, what a model makes that has learnt nothing
_IDLE = 0.99


@dataclass(frozen=True)
class Ending:
    """Why a run ended, and what its user should know."""

    reason: str
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """What the last line of ``metrics.jsonl`` says of it."""
        return {"ended": self.reason, **({"warnings": list(self.warnings)} if self.warnings else {})}


def explosion(
    solver: AbstractSolver[Any], measures: Measures, history: Sequence[Mapping[str, Any]], stage: int
) -> str | None:
    """Why the run has to be stopped after this stage; None if it may go on."""
    now, mend = measures.objective, solver.mend(Trouble.DIVERGED)
    if not math.isfinite(now):
        return f"the objective is not a finite number after stage {stage}: {mend}"
    zero = _of_zero(solver, history)
    if zero is None or now <= solver.explosion * zero:
        return None
    return f"the objective is {now:.4g} after stage {stage}, and {zero:.4g} at the model 0: {mend}"


def ending(
    solver: AbstractSolver[Any],
    problem: Problem,
    measures: Measures,
    history: Sequence[Mapping[str, Any]],
    early: str | None = None,
) -> Ending:
    """How a run of these stages has ended; the last line of ``history`` is of ``measures``.

    ``early``: why it did before the solver had finished, if it was told to; then nobody is told that it could
    have gone on.
    """
    reason, warnings = early or (CONVERGED if measures.converged else USED_UP), []
    zero = _of_zero(solver, history)
    if measures.shortfall and early is None:
        warnings.append(measures.shortfall)
    share = _of_last_stage(history)
    if zero is not None and measures.objective > zero * (1 + 1e-6):
        if early is None and share <= _UNFINISHED:
            reason = DIVERGED
        warnings.append(
            f"the objective ended at {measures.objective:.4g}, above the {zero:.4g} of the model 0: "
            f"{solver.mend(Trouble.DIVERGED)}"
        )
    elif early is None and not (measures.converged or measures.shortfall) and share > _UNFINISHED:
        warnings.append(
            f"the last stage still made {100 * share:.0f} % of the way that the objective has come: "
            f"{solver.mend(Trouble.UNFINISHED)}"
        )
    idle = _idle(problem, measures.train_error)
    if idle is not None:
        warnings.append(
            f"the model errs on {100 * measures.train_error:.3g} % of the training rows, and to predict one "
            f"class for all of them errs on {100 * idle:.3g} %: {solver.mend(Trouble.IDLE)}"
        )
    return Ending(reason, tuple(warnings))


def _of_zero(solver: AbstractSolver[Any], history: Sequence[Mapping[str, Any]]) -> float | None:
    """The objective of the model 0, if it is known and can be compared with."""
    if not solver.starts_at_zero or not history:
        return None
    return float(history[0]["objective"]) if history[0]["objective"] > 0 else None


def _of_last_stage(history: Sequence[Mapping[str, Any]]) -> float:
    """What the last of several stages did of all that the objective fell by from its highest."""
    objectives = [float(line["objective"]) for line in history]
    if len(objectives) < 3:
        return 0.0
    fallen = max(objectives) - objectives[-1]
    return max(0.0, objectives[-2] - objectives[-1]) / fallen if fallen > 0 else 0.0


def _idle(problem: Problem, error: float) -> float | None:
    """The error of the constant answer that the model is no better than, if it is no better than one."""
    errors = [1.0 - share for share in problem.class_shares]
    if not errors:
        return None
    if not problem.weighs_classes:
        return min(errors) if error >= _IDLE * min(errors) else None
    # with weights of the classes more rows may well be mistaken, but hardly as many as a class does not hold
    return next((other for other in errors if abs(error - other) <= 1e-9), None)
