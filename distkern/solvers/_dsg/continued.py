"""Training on batches that come one after the other: ``partial_fit`` of the functional gradients."""

from __future__ import annotations

from dataclasses import dataclass, replace

from distkern.solvers._dsg.settings import DSGState
from distkern.solvers.base import AbstractSolver, Measures, Outline, Problem, Steps
from distkern.solvers.dsg import DSG


@dataclass(frozen=True)
class ContinuedDSG(AbstractSolver[DSGState]):
    """The steps of DSG over one more batch of rows, from the state that the batches before have left.

    The step number, and with it the step size, counts on. Once there are ``n_features``, steps go to blocks
    drawn from all of them.

    Parameters
    ----------
    solver : with ``stages`` 1 and nothing to polish
    before : the state, None for the first batch
    """

    solver: DSG
    before: DSGState | None

    name = "dsg"
    starts_at_zero = False

    def init(self, problem: Problem) -> Steps[DSGState]:
        if self.before is None:
            state = yield from self.solver.init(problem)
        else:
            state = replace(self.before, cursor=self.solver.batches(problem).first(), stage=0)
        rows = min(self.solver.batch_size, problem.n_rows)
        return replace(state, n_steps=state.step + -(-problem.n_rows // rows))

    def stage(self, problem: Problem, state: DSGState) -> Steps[DSGState]:
        return self.solver.stage(problem, state)

    def finished(self, state: DSGState) -> bool:
        return state.step >= state.n_steps

    def measures(self, state: DSGState) -> Measures:
        return self.solver.measures(state)

    def step_hint(self) -> str:
        return self.solver.step_hint()

    def state_type(self) -> type[DSGState]:
        return DSGState

    def outline(self, problem: Problem) -> list[Outline]:
        return self.solver.outline(problem)
