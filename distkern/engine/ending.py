"""When a run ends, how, and which of its models is kept: decided here alone, from the figures of its stages.

A run has ``converged`` where a bound shows that the objective is within the solver's tolerance of its
minimum, or has its ``stages used up``; a solver that ends by another rule says which. It has ``diverged``
where it ended above the objective of the model 0, and was stopped where it came far above. What ends well
can still be of no use, so there are warnings, each with a hint. It may end before its solver has finished,
by a callback or because the errors on held-out rows no longer fall.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from distkern.core.errors import InputError
from distkern.solvers.base import AbstractSolver, Measures, Problem, Trouble

CONVERGED, USED_UP, DIVERGED, INTERRUPTED = "converged", "stages used up", "diverged", "interrupted"
STOPPED, CALLED = "stopped early", "stopped by a callback"

#: called with the figures of each finished stage from the first on; True ends the run
Callback: TypeAlias = Callable[[dict[str, Any]], Any]

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
    now, hint = measures.objective, solver.hint(Trouble.DIVERGED)
    if not math.isfinite(now):
        return f"the objective is not a finite number after stage {stage}: {hint}"
    zero = _of_zero(solver, history)
    if zero is None or now <= solver.explosion * zero:
        return None
    return f"the objective is {now:.4g} after stage {stage}, and {zero:.4g} at the model 0: {hint}"


def ending(
    solver: AbstractSolver[Any],
    problem: Problem,
    measures: Measures,
    history: Sequence[Mapping[str, Any]],
    early: str | None = None,
) -> Ending:
    """How a run of these stages has ended; the last line of ``history`` is of ``measures``.

    ``early``: why it ended before the solver had finished, if it was stopped; then no hint says that it could
    have gone on.
    """
    own = CONVERGED if measures.converged else measures.stopped or USED_UP
    reason, warnings = early or own, []
    zero, counts_on = _of_zero(solver, history), solver.counts_on
    if measures.shortfall and early is None:
        warnings.append(measures.shortfall)
    share = _of_last_stage(history)
    if zero is not None and measures.objective > zero * (1 + 1e-6):
        if early is None and share <= _UNFINISHED:
            reason = DIVERGED
        warnings.append(
            f"the objective ended at {measures.objective:.4g}, above the {zero:.4g} of the model 0: "
            f"{solver.hint(Trouble.DIVERGED)}"
        )
    elif early is None and share > _UNFINISHED and own == USED_UP and not (measures.shortfall or counts_on):
        warnings.append(
            f"the last stage still made {100 * share:.0f} % of the way that the objective has come: "
            f"{solver.hint(Trouble.UNFINISHED)}"
        )
    idle = _idle(problem, measures.train_error)
    if idle is not None:
        error, constant = f"{100 * measures.train_error:.3g} %", f"{100 * idle:.3g} %"
        if _has_probabilities(solver):
            warnings.append(
                f"hardly any row reaches probability 0.5, so the training error ({error}) is about that of "
                f"predicting one class for all rows ({constant}). The probabilities may still be good: "
                "compare log loss and AUC with the base rate, and choose a threshold, for instance "
                "--threshold balanced"
            )
        else:
            warnings.append(
                f"the training error is {error}, and predicting one class for all rows has {constant}: "
                f"{solver.hint(Trouble.IDLE)}"
            )
    return Ending(reason, tuple(warnings))


def _of_zero(solver: AbstractSolver[Any], history: Sequence[Mapping[str, Any]]) -> float | None:
    """The objective of the model 0, if it is known and comparable."""
    if not solver.starts_at_zero or not history:
        return None
    return float(history[0]["objective"]) if history[0]["objective"] > 0 else None


def _of_last_stage(history: Sequence[Mapping[str, Any]]) -> float:
    """The share of the last stage in the whole decrease of the objective from its highest value."""
    objectives = [float(line["objective"]) for line in history]
    if len(objectives) < 3:
        return 0.0
    fallen = max(objectives) - objectives[-1]
    return max(0.0, objectives[-2] - objectives[-1]) / fallen if fallen > 0 else 0.0


def _has_probabilities(solver: AbstractSolver[Any]) -> bool:
    loss = getattr(getattr(solver, "risk", None), "loss", None) or getattr(solver, "margin_loss", None)
    return bool(getattr(loss, "has_probabilities", False) or getattr(solver, "is_calibrated", False))


def _idle(problem: Problem, error: float) -> float | None:
    """The error of the constant answer that the model is no better than, if it is no better than one."""
    errors = [1.0 - share for share in problem.class_shares]
    if not errors:
        return None
    if not problem.weighs_classes:
        return min(errors) if error >= _IDLE * min(errors) else None
    # with weights of the classes more rows may well be mistaken, but hardly as many as a class does not hold
    return next((other for other in errors if abs(error - other) <= 1e-9), None)


@dataclass(frozen=True)
class Stopping:
    """What a run is asked after every stage.

    Attributes
    ----------
    patience : stages in a row without a lower error on held-out rows after which it ends; the model of the
        lowest one is kept, of several the first. None: it goes on, and the last one is kept
    callbacks : see :data:`Callback`
    """

    patience: int | None = None
    callbacks: tuple[Callback, ...] = ()

    @classmethod
    def asked(cls, held_out: Any, patience: Any, callbacks: Callback | Sequence[Callback]) -> Self:
        """The stopping rules that the user of a fit has set.

        Raises
        ------
        InputError
            If a callback is no function, or there is no score for ``patience``.
        """
        called = (callbacks,) if callable(callbacks) else tuple(callbacks)
        if not all(map(callable, called)):
            raise InputError("not functions", where="callbacks", hint="give functions of a dict")
        if patience is None:
            return cls(None, called)
        if not isinstance(patience, int | np.integer) or isinstance(patience, bool) or patience < 1:
            raise InputError(
                f"is {patience!r}", where="early_stopping", hint="give a number of stages from 1 on, or None"
            )
        if held_out is None:
            raise InputError(
                "there are no rows to stop by", where="early_stopping", hint="give them as eval_set"
            )
        return cls(int(patience), called)

    def check(self, solver: AbstractSolver[Any]) -> None:
        """Refuse to be patient with a solver whose stages are parts of one piece of work."""
        if self.patience is not None:
            check_stages(solver, "early_stopping")

    def reason(self, history: Sequence[Mapping[str, Any]]) -> str | None:
        """Why the run ends with the stage of the last line, if it does; the callbacks are called.

        Stage 0 is the model 0, before anything is learnt, which nobody wants.
        """
        if history[-1]["stage"] == 0:
            return None
        answers = [callback(dict(history[-1])) for callback in self.callbacks]
        # what happens to be true, as a number of characters that were written, means nothing
        if any(isinstance(answer, bool | np.bool_) and answer for answer in answers):
            return CALLED
        if self.patience is None or history[-1]["stage"] - _best(history) < self.patience:
            return None
        return STOPPED

    def is_best(self, history: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the model of the last line is to be kept, of all so far."""
        return self.patience is not None and 0 < history[-1]["stage"] == _best(history)


def check_stages(solver: AbstractSolver[Any], where: str) -> None:
    """Refuse to end a run of a solver that has a model only at its end."""
    if not hasattr(solver, "stages"):
        raise InputError(
            f"the stages of {solver.name} do not better a model, they make one",
            where=where,
            hint="let all of them be made",
        )


def _best(history: Sequence[Mapping[str, Any]]) -> int:
    """The stage of the lowest error on held-out rows, of several the first."""
    learnt = [line for line in history if line["stage"] > 0]
    best: int = min(learnt, key=lambda line: float(line["test_error"]))["stage"]
    return best
