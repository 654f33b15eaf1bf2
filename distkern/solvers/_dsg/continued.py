"""Training on batches that come one after the other: ``partial_fit`` of the functional gradients."""

from __future__ import annotations

from dataclasses import dataclass, replace

from distkern.solvers._dsg.settings import DSGState
from distkern.solvers.base import Problem, Steps
from distkern.solvers.dsg import DSG


@dataclass(frozen=True)
class ContinuedDSG(DSG):
    """The steps of DSG over one more batch of rows, from the state that the batches before have left.

    The step number, and with it the step size, counts on. Once there are ``n_features``, steps go to blocks
    drawn from all of them.

    Parameters
    ----------
    before : the state, None for the first batch
    those of :class:`~distkern.solvers.dsg.DSG`, with ``stages`` 1 and nothing to polish
    """

    before: DSGState | None = None

    starts_at_zero = False

    def init(self, problem: Problem) -> Steps[DSGState]:
        if self.before is None:
            state = yield from super().init(problem)
        else:
            state = replace(self.before, cursor=self.batches(problem).first(), stage=0)
        rows = min(self.batch_size, problem.n_rows)
        return replace(state, n_steps=state.step + -(-problem.n_rows // rows))

    def _completed(self, problem: Problem, state: DSGState) -> Steps[DSGState]:
        # constants are those of all rows, and not of one batch of them
        yield from ()
        return state

    def finished(self, state: DSGState) -> bool:
        return state.step >= state.n_steps
