"""Trials of hyperparameters: runs on a sample of the rows, judged on its held-out rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.common.choices import with_values
from distkern.common.scores import by_group, log_losses, row_log_losses
from distkern.common.tiles import release
from distkern.common.types import Block
from distkern.passes import AbstractResident, Derived, Message
from distkern.solvers.base import AbstractSolver, Problem, Steps
from distkern.solvers.measuring import Model
from distkern.solvers.searchable import AbstractSearchable

Array = NDArray[np.float64]

#: most that a row can lose, so that trials that diverge can be compared
_MOST_LOST = 1e6


@dataclass(frozen=True)
class Trials:
    """The operand of :func:`try_values`.

    Attributes
    ----------
    solver : with fewer functions than the run's
    problem : of the rows that are learned from
    """

    solver: AbstractSearchable[Any]
    problem: Problem
    learned: Block
    held_out: Block


def try_values(
    values: Mapping[str, Any], _: Iterator[Block], operand: Trials
) -> tuple[dict[str, float], dict[str, Array]]:
    """A run with some values.

    Returns
    -------
    a record without anything in it, and an array: "losses" (n_held_out,) or of groups, see :func:`losses_of`
    """
    with np.errstate(all="ignore"):
        solver = with_values(operand.solver, values)
        state = run_alone(solver, operand.problem, operand.learned)
        losses = losses_of(solver.model(operand.problem, state), operand.held_out)
        losses = by_group(losses, operand.held_out.group_keys)
    release()
    return {}, {"losses": losses}


def losses_of(model: Model, rows: Block) -> Array:
    """Score of each row, (n_rows,): its log loss, or, for real targets, the loss of the model.

    Losses that are likelihoods score -s_i log p(y_i | f_i) of the model's own probabilities, so that
    overconfidence counts. Others are compared by :func:`~distkern.common.scores.log_losses`.
    """
    risk, loss = model.risk, model.risk.loss
    found, weights = [], []
    for strip in model.strips(rows):
        predictions, shares = model.predictions(strip.features), risk.weights(strip)
        if risk.is_real:
            found.append(risk.values(predictions, risk.targets(strip), shares))
            continue
        exact = predictions.astype(np.float64)
        found.append(loss.probabilities(exact) if loss.has_probabilities else exact)
        weights.append(np.ones(strip.n_rows) if shares is None else shares)
    losses = np.concatenate(found)
    if not risk.is_real:
        assert rows.targets is not None
        factors = np.concatenate(weights)
        if not loss.has_probabilities:
            return log_losses(losses, rows.targets, factors)
        losses = row_log_losses(losses, rows.targets) * (factors / factors.mean())
    return np.nan_to_num(losses, nan=_MOST_LOST, posinf=_MOST_LOST).clip(max=_MOST_LOST)


def run_alone(solver: AbstractSolver[Any], problem: Problem, rows: Block) -> Any:
    """The last state of a run over the only block of a problem, by a solver without batches."""
    derived: dict[str, Any] = {}
    residents: dict[str, AbstractResident] = {}

    def complete(steps: Steps[Any]) -> Any:
        answer: Any = None
        resident: AbstractResident | None = None
        try:
            while True:
                step = steps.send(answer)
                if isinstance(step, Derived):
                    if step.name not in derived:
                        derived[step.name] = complete(step.make())
                    answer = derived[step.name]
                elif isinstance(step, Message):
                    assert resident is not None, "Rounds come before a Message"
                    answer = resident.answer(step.content)
                else:
                    answer = step.alone(rows, residents)
                    if isinstance(answer, AbstractResident):
                        resident = answer
        except StopIteration as stop:
            return stop.value

    state = complete(solver.init(problem))
    while not solver.finished(state):
        state = complete(solver.stage(problem, state))
    return state
