"""A whole run of a solver over few rows, in one process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from distkern.common.types import ArrayGroup, Block
from distkern.passes import AbstractResident, Derived, Message, Reduce, Rounds, Stream, pieces
from distkern.solvers.base import AbstractSolver, Problem, Steps


def run_alone(solver: AbstractSolver[Any], problem: Problem, rows: Block) -> Any:
    """The last state of a run over the only block of a problem, by a solver without batches."""
    derived: dict[str, Any] = {}
    residents: dict[str, AbstractResident] = {}
    group = ArrayGroup(rows, slice(None), (rows.n_rows,), 0)

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
                elif isinstance(step, Reduce):
                    answer = step.map(rows, step.operand)
                elif isinstance(step, Stream):
                    answer = _prepared(step, rows)
                elif isinstance(step, Rounds):
                    if step.name not in residents:
                        residents[step.name] = step.open({0: lambda: group}, step.operand, {})
                    resident = residents[step.name]
                elif isinstance(step, Message) and resident is not None:
                    answer = resident.answer(step.content)
                else:
                    raise TypeError(f"{step} is not for a process alone")
        except StopIteration as stop:
            return stop.value

    state = complete(solver.init(problem))
    while not solver.finished(state):
        state = complete(solver.stage(problem, state))
    return state


def _prepared(step: Stream[Any], rows: Block) -> Iterator[Any]:
    for visit in step.visits:
        for piece in pieces(rows.take(visit.rows(rows.n_rows)), step.piece_rows):
            yield step.prepare(piece, step.operand)
