"""When and how a run ends, and which model is kept, decided from the figures of its stages.

A run has ``converged`` if a bound shows that the objective is within the solver's tolerance of its minimum;
otherwise its ``stages`` are ``used up``, unless the solver has its own rule. It has ``diverged`` if it ends
above the objective of the zero model, and is stopped far above it. Warnings, each with a hint, report other
problems. A callback, or held-out errors that no longer fall, may end a run early.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from distkern.core.errors import InputError, invalid_value
from distkern.solvers.base import AbstractSolver, Measures, Problem, Trouble

CONVERGED, USED_UP, DIVERGED, INTERRUPTED = "converged", "stages used up", "diverged", "interrupted"
STOPPED, CALLED = "stopped early", "stopped by a callback"

#: called with the figures of each finished stage; True ends the run
Callback: TypeAlias = Callable[[dict[str, Any]], Any]

#: largest share of the last stage in the decrease of the objective without a warning; with the defaults, all
#: algorithms had at most .11 on ten data sets
_UNFINISHED = 0.2
#: share of a constant prediction's error from which a model counts as useless
_IDLE = 0.99


@dataclass(frozen=True)
class Ending:
    """Why a run ended, and warnings for its user."""

    reason: str
    warnings: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for the last line of ``metrics.jsonl``."""
        return {"ended": self.reason, **({"warnings": list(self.warnings)} if self.warnings else {})}


def explosion(
    solver: AbstractSolver[Any], measures: Measures, history: Sequence[Mapping[str, Any]], stage: int
) -> str | None:
    """Return why the run must stop after this stage; None if it may continue."""
    now, hint = measures.objective, solver.hint(Trouble.DIVERGED)
    if not math.isfinite(now):
        return f"the objective is not a finite number after stage {stage}: {hint}"
    zero = _of_zero(solver, history)
    if zero is None or now <= solver.explosion * zero:
        return None
    return f"the objective is {now:.4g} after stage {stage}, and {zero:.4g} for the zero model: {hint}"


def ending(
    solver: AbstractSolver[Any],
    problem: Problem,
    measures: Measures,
    history: Sequence[Mapping[str, Any]],
    early: str | None = None,
) -> Ending:
    """Return how a run with these stages ended; the last line of ``history`` belongs to ``measures``.

    ``early`` is the reason why it was stopped before the solver had finished; then no hint suggests more
    stages.
    """
    by_solver = CONVERGED if measures.converged else measures.stopped or USED_UP
    reason, warnings = early or by_solver, []
    zero, counts_on = _of_zero(solver, history), solver.counts_on
    if measures.shortfall and early is None:
        warnings.append(measures.shortfall)
    share = _of_last_stage(history)
    if zero is not None and measures.objective > zero * (1 + 1e-6):
        if early is None and share <= _UNFINISHED:
            reason = DIVERGED
        warnings.append(
            f"the objective ended at {measures.objective:.4g}, above the {zero:.4g} of the zero model: "
            f"{solver.hint(Trouble.DIVERGED)}"
        )
    elif (
        early is None
        and share > _UNFINISHED
        and by_solver == USED_UP
        and not (measures.shortfall or counts_on)
    ):
        warnings.append(
            f"the last stage still made {100 * share:.0f} % of the decrease of the objective: "
            f"{solver.hint(Trouble.UNFINISHED)}"
        )
    idle = _idle(problem, measures.train_error)
    if idle is not None:
        error, constant = f"{100 * measures.train_error:.3g} %", f"{100 * idle:.3g} %"
        if _has_probabilities(solver):
            # thresholds are for two classes
            is_binary = len(problem.class_shares) == 2
            what = "hardly any row reaches probability 0.5" if is_binary else "one class has nearly every row"
            instead = "the log loss with the base rate"
            if is_binary:
                instead = "log loss and AUC with the base rate, and choose a threshold, for instance "
                instead += "--threshold balanced"
            warnings.append(
                f"{what}, so the training error ({error}) is about that of predicting one class for all rows "
                f"({constant}). The probabilities may still be good: compare {instead}"
            )
        else:
            warnings.append(
                f"the training error ({error}) is about that of predicting one class for all rows "
                f"({constant}): {solver.hint(Trouble.IDLE)}"
            )
    return Ending(reason, tuple(warnings))


def _of_zero(solver: AbstractSolver[Any], history: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the objective of the zero model, if it is known and comparable."""
    if not solver.starts_at_zero or not history:
        return None
    return float(history[0]["objective"]) if history[0]["objective"] > 0 else None


def _of_last_stage(history: Sequence[Mapping[str, Any]]) -> float:
    """Return the share of the last stage in the decrease of the objective from its highest value."""
    objectives = [float(line["objective"]) for line in history]
    if len(objectives) < 3:
        return 0.0
    fallen = max(objectives) - objectives[-1]
    return max(0.0, objectives[-2] - objectives[-1]) / fallen if fallen > 0 else 0.0


def _has_probabilities(solver: AbstractSolver[Any]) -> bool:
    # a search stands in front of the solver
    solver = getattr(solver, "solver", solver)
    loss = getattr(getattr(solver, "risk", None), "loss", None) or getattr(solver, "margin_loss", None)
    return bool(getattr(loss, "has_probabilities", False) or getattr(solver, "is_calibrated", False))


def _idle(problem: Problem, error: float) -> float | None:
    """Return the error of a constant prediction that the model does not beat, or None."""
    errors = [1.0 - share for share in problem.class_shares]
    if not errors:
        return None
    if not problem.weighs_classes:
        return min(errors) if error >= _IDLE * min(errors) else None
    # class weights may well cost accuracy, but exactly the error of one class means a constant prediction
    return next((other for other in errors if abs(error - other) <= 1e-9), None)


@dataclass(frozen=True)
class Stopping:
    """Rules that may end a run after a stage.

    Attributes
    ----------
    patience : consecutive stages without a lower error on held-out rows after which the run ends; the first
        model with the lowest error is kept. None: no early stopping, and the last model is kept
    callbacks : see :data:`Callback`
    """

    patience: int | None = None
    callbacks: tuple[Callback, ...] = ()

    @classmethod
    def asked(cls, held_out: Any, patience: Any, callbacks: Callback | Sequence[Callback]) -> Self:
        """Return the stopping rules of a fit.

        Raises
        ------
        InputError
            If a callback is not a function, or ``patience`` has no held-out rows.
        """
        called = (callbacks,) if callable(callbacks) else tuple(callbacks)
        if not all(map(callable, called)):
            raise invalid_value("callbacks", callbacks, "functions that take a dict")
        if patience is None:
            return cls(None, called)
        if not isinstance(patience, int | np.integer) or isinstance(patience, bool) or patience < 1:
            raise invalid_value("early_stopping", patience, "a number of stages >= 1, or None")
        if held_out is None:
            raise InputError("needs held-out rows", where="early_stopping", hint="give them as eval_set")
        return cls(int(patience), called)

    def check(self, solver: AbstractSolver[Any]) -> None:
        """Refuse early stopping of a solver with a model only after its last stage."""
        if self.patience is not None:
            check_stages(solver, "early_stopping")

    def reason(self, history: Sequence[Mapping[str, Any]]) -> str | None:
        """Call the callbacks and return why the run ends with the last line's stage; None if it continues.

        A run never ends with stage 0, the model before training.
        """
        if history[-1]["stage"] == 0:
            return None
        answers = [callback(dict(history[-1])) for callback in self.callbacks]
        # only True counts: callbacks may return other values, such as a number of written characters
        if any(isinstance(answer, bool | np.bool_) and answer for answer in answers):
            return CALLED
        if self.patience is None or history[-1]["stage"] - _best(history) < self.patience:
            return None
        return STOPPED

    def is_best(self, history: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether the model of the last line is the best so far."""
        return self.patience is not None and 0 < history[-1]["stage"] == _best(history)


def check_stages(solver: AbstractSolver[Any], where: str) -> None:
    """Refuse to stop a solver with a model only after its last stage."""
    if not hasattr(solver, "stages"):
        raise InputError(
            f"{solver.name} has a model only after its last stage", where=where, hint="leave it out"
        )


def _best(history: Sequence[Mapping[str, Any]]) -> int:
    """Return the first stage with the lowest error on held-out rows."""
    trained = [line for line in history if line["stage"] > 0]
    best: int = min(trained, key=lambda line: float(line["test_error"]))["stage"]
    return best
