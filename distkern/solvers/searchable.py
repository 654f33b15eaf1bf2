"""A solver some of whose hyperparameters may be chosen on a sample of the rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

from distkern.common.choices import Choices, with_values
from distkern.solvers.base import AbstractSolver, Problem
from distkern.solvers.measuring import MeasuredState, Model

State = TypeVar("State", bound=MeasuredState)


class AbstractSearchable(AbstractSolver[State]):
    """A frozen dataclass with the hyperparameters of ``searched`` among its fields or those of its parts.

    The passes of what is run in trials are sums, streams and rounds, so that few rows are learned from in a
    process alone.
    """

    #: what may be chosen, in the order in which it is
    searched: ClassVar[Mapping[str, Choices]] = {}
    #: other values of its fields for trials, so that the same is chosen under any limit of memory
    in_trials: ClassVar[Mapping[str, Any]] = {}
    #: rows need not be in random order: a sample is of all blocks, of which some may have one class alone
    rows_in_any_order: ClassVar[bool] = False

    def stand_in(self) -> AbstractSearchable[Any]:
        """What is run in trials, with the names of ``searched``: the solver itself, or one whose model is
        about that of the run with fewer functions than the run makes."""
        return with_values(self, self.in_trials)

    @abstractmethod
    def model(self, problem: Problem, state: State) -> Model:
        """f of a state, and what is lost by it."""
