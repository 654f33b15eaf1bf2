"""When a run ends before its solver has finished, and which of its models is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from distkern.common.errors import InputError
from distkern.solvers.base import AbstractSolver

#: called with the figures of each finished stage from the first on; True ends the run
Callback: TypeAlias = Callable[[dict[str, Any]], Any]

STOPPED, CALLED = "stopped early", "stopped by a callback"


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
        """What the user of a fit asks for.

        Raises
        ------
        InputError
            If a callback is no function, or there is nothing to be patient with.
        """
        called = (callbacks,) if callable(callbacks) else tuple(callbacks)
        if not all(map(callable, called)):
            raise InputError("not functions", where="callbacks", mend="give functions of a dict")
        if patience is None:
            return cls(None, called)
        if not isinstance(patience, int | np.integer) or isinstance(patience, bool) or patience < 1:
            raise InputError(
                f"is {patience!r}", where="early_stopping", mend="give a number of stages from 1 on, or None"
            )
        if held_out is None:
            raise InputError(
                "there are no rows to stop by", where="early_stopping", mend="give them as eval_set"
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
            mend="let all of them be made",
        )


def _best(history: Sequence[Mapping[str, Any]]) -> int:
    """The stage of the lowest error on held-out rows, of several the first."""
    learnt = [line for line in history if line["stage"] > 0]
    best: int = min(learnt, key=lambda line: float(line["test_error"]))["stage"]
    return best
