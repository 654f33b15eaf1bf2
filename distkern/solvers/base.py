"""What a solver is.

To add one, write a file in this folder with a frozen dataclass of hyperparameters that derives from
:class:`AbstractSolver`; the driver (``engine/drive.py``) owns the loop, checkpoints, events and stopping.

``init`` and ``stage`` are generators: they ``yield`` passes, are sent the results, and return the next state.
They read like the paper's pseudo-code and know nothing of files, tasks or workers. A state is a frozen
dataclass of arrays and numbers; all that the next stage depends on is in it, so a checkpoint is the state.
What all stages need and is too large for that is yielded as ``Derived``.

A solver must give:

    name, cost_of_pass, memory    its name, and what a pass and the model cost, in words
    init, stage                   the state before the first stage; a stage, from one state to the next
    finished, measures            whether a state is the last one; what it achieves
    state_type                    the dataclass of states
    outline                       the passes of a run, for the planner

It may give:

    choices                       parameters of its parts: loss, kernel, features
    settled, found                the solver with what ``init`` has chosen; hyperparameters so chosen
    starts_at_zero, explosion     which objectives show that a run diverges
    hints, hint, step_hint        what a user can do about a trouble
    updates                       how its models are updated: which rows are read, what a model keeps
    further, counts_on            what a model keeps beside; whether its steps count on in an update
    draws_any_row, identity       whether it does not matter where rows are; what makes two runs the same
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

import numpy as np

from distkern.core.choices import Compared
from distkern.core.errors import InputError
from distkern.core.parameters import NOTHING, POSITIVE, Declared, Parameter, Whole, Words, parameter
from distkern.core.registry import Family
from distkern.core.sparse import Rows
from distkern.core.stores import Workplace
from distkern.core.types import Array
from distkern.maths.landmarks.base import RowLayout
from distkern.passes import Derived, Message, Pass, Visit, epoch_visits
from distkern.passes import Outline as Outline

State = TypeVar("State")
Result = TypeVar("Result")

Steps: TypeAlias = Generator[Pass | Message | Derived, Any, Result]


@dataclass(frozen=True)
class UpdateRule:
    """How the models of a solver are updated.

    Attributes
    ----------
    reads_old : the old rows are read again, since the mean loss over all rows is minimised; else the run goes
        on from what the model keeps
    keeps : fields of the last state that a model keeps; none of them where the first is empty
    refusal : why there is no update, a clause; else empty
    alone_with : settings whose updates do not read the old rows, where there are some, a clause
    """

    reads_old: bool = True
    keeps: tuple[str, ...] = ()
    refusal: str = ""
    alone_with: str = ""

    def saved(self, state: Any) -> dict[str, Any]:
        """The kept fields of the last state by name."""
        fields = {name: getattr(state, name) for name in self.keeps}
        return {} if fields and np.shape(fields[self.keeps[0]]) == (0,) else fields

    def needs_old(self, saved: Mapping[str, Any]) -> bool:
        """Whether the update of a model that has saved these fields reads the old rows."""
        return self.reads_old or not saved.keys() >= set(self.keeps)


@dataclass(frozen=True, kw_only=True)
class Problem(RowLayout):
    """The sizes of a training problem: all that a solver knows before its first pass.

    Attributes
    ----------
    n_outputs : k: 1 for binary, the number of classes for one-vs-rest
    has_test : whether there is a test split to measure
    max_relative_weight : largest row weight divided by the mean row weight
    real_targets : targets are real numbers and not classes: they are centred and scaled, and errors are mean
        squared errors
    class_shares : share of each class code in the weight of all rows; empty for real targets
    weighs_classes : whether the losses of some classes count more than others
    test_block_rows : rows of each block of the test split, where it has been opened
    workplace : where an :class:`~distkern.passes.Each` stores; the driver gives it to the problem of a run
    has_groups : rows of one group are held out together
    error_name : name of the error, where it is not the share of wrong labels
    notes : choices made before the run, reported and kept with the choices of the solver
    candidates : what was compared before the run, reported and kept like ``notes``
    """

    n_outputs: int
    has_test: bool
    max_relative_weight: float = 1.0
    real_targets: bool = False
    class_shares: tuple[float, ...] = ()
    weighs_classes: bool = False
    test_block_rows: tuple[int, ...] = ()
    workplace: Workplace | None = None
    has_groups: bool = False
    error_name: str = "error"
    notes: tuple[str, ...] = ()
    candidates: tuple[Compared, ...] = ()

    @property
    def beside_bytes(self) -> int:
        """Bytes of a row's target, weight and, where there are groups, key."""
        return 16 + 8 * self.has_groups

    def rows_of(self, wanted: int | float | None, default: float) -> int:
        """Rows of a stage: ``wanted`` itself if it is an int, passes over the rows if a float, else
        ``default``.
        """
        rows = wanted * self.n_rows if isinstance(wanted, float) else default if wanted is None else wanted
        return max(1, math.ceil(rows))

    def visits(self, n_rows: int, stage: int, order: str) -> tuple[Visit, ...]:
        """The sampled rows of a stage, in an order of :func:`order_of_rows`."""
        return epoch_visits(self.block_rows, n_rows, seed=self.seed, stage=stage, replace=order == "iid")


@dataclass(frozen=True)
class Measures:
    """What a stage achieved (one line of ``metrics.jsonl``); ``extra`` holds the solver's own figures.

    ``accesses`` are two counts of the features that the run has read so far: n_features for a row and n_rows
    for a column, and the nonzero ones; None stands for the training rows that its passes have read.
    ``converged``: a bound shows that the objective is within the solver's tolerance of its minimum.
    ``stopped``: the rule by which the solver has ended where no bound shows that, in the words of ``ended_``.
    ``shortfall``: what it could not do, with a hint.
    ``notes``: what it chose for its user, in short lines, each reported once and kept with the model.
    """

    objective: float
    train_error: float
    test_error: float | None
    model_size: int
    extra: dict[str, float]
    accesses: tuple[int, int] | None = None
    converged: bool = False
    stopped: str = ""
    shortfall: str = ""
    notes: tuple[str, ...] = ()


class Trouble(Enum):
    """Possible faults of the result of a run."""

    #: the objective is above that of the model 0
    DIVERGED = "diverged"
    #: the last stage was not to be the last
    UNFINISHED = "unfinished"
    #: one class predicted for all rows would be as good
    IDLE = "idle"


def piece_rows(size: int, itemsize: int, *, least: int = 128) -> int:
    """Rows of a piece whose prepared numbers take about 8 MiB; it depends on no worker."""
    return int(np.clip(2**23 // (size * itemsize), least, 4096))


def rows_of_stage(default: str) -> Any:
    """The parameter ``steps_per_stage``."""
    text = f"int: rows; float: passes over the rows; none: {default}"
    return parameter(None, Whole(), POSITIVE, NOTHING, help=text)


def order_of_rows() -> Any:
    """The parameter ``order``."""
    return parameter(
        "shuffled",
        Words("shuffled", "iid"),
        help="shuffled: every row once, then again in another order; iid: draws with replacement, block by "
        "block, which leave out some rows and take others twice",
    )


class AbstractSolver(Declared, ABC, Generic[State]):
    """The mathematics of one algorithm."""

    name: ClassVar[str]
    #: parameters of its parts (loss, kernel, features), beside its own fields
    choices: ClassVar[Mapping[str, Parameter]] = {}
    #: operations of a pass and memory, for n rows of d columns, r landmarks or features and k outputs
    cost_of_pass: ClassVar[str]
    memory: ClassVar[str]
    #: whether ``init`` gives the model 0, whose objective the others are compared with
    starts_at_zero: ClassVar[bool] = True
    #: what to do about some troubles, with the hyperparameters by name; the others have the usual hints
    hints: ClassVar[Mapping[Trouble, str]] = {}
    #: an objective this many times the objective of the model 0 shows divergence; infinite where first
    #: steps are so large on purpose that any rise may be followed by a fall
    explosion: ClassVar[float] = 10.0
    #: whether it goes on with steps of a run before, which end with the rows and not at a minimum
    counts_on: ClassVar[bool] = False
    #: whether single rows are drawn from all of them at any time, so that it is all one where they are
    draws_any_row: ClassVar[bool] = False
    #: how its models are updated
    updates: ClassVar[UpdateRule] = UpdateRule(refusal="its solver begins anew")

    def further(self, state: State) -> dict[str, Any]:
        """Arrays and numbers of the last state that are kept with a model, by name."""
        return self.updates.saved(state)

    @property
    def identity(self) -> dict[str, Any]:
        """What makes two of its runs the same, beside hyperparameters and rows."""
        return {}

    @abstractmethod
    def init(self, problem: Problem) -> Steps[State]:
        """Everything before the first stage (landmarks, first gradient)."""

    @abstractmethod
    def stage(self, problem: Problem, state: State) -> Steps[State]:
        """One stage: a state to the next."""

    @abstractmethod
    def finished(self, state: State) -> bool:
        """Whether this state is the last one."""

    @abstractmethod
    def measures(self, state: State) -> Measures:
        """What the state achieves."""

    def settled(self, state: State) -> AbstractSolver[State]:
        """The solver with what ``init`` has chosen."""
        return self

    def found(self, state: State) -> dict[str, Any]:
        """Hyperparameters that ``init`` has chosen, by name."""
        return {}

    def step_hint(self) -> str:
        """What to try when the solver diverges."""
        size = getattr(self, "step_size", None)
        return "a tenth of the present one" if size is None else f"step_size={size / 10:.3g}"

    def hint(self, trouble: Trouble) -> str:
        """What the user can do about a trouble, with the names of the hyperparameters."""
        if trouble in self.hints:
            return self.hints[trouble].format_map(vars(self))
        if trouble is Trouble.DIVERGED:
            hint = self.step_hint()
            if "=" in hint:
                return f"set {hint}"
            return f"set a smaller step_size ({hint})" if hasattr(self, "step_size") else "set a larger nu"
        if trouble is Trouble.UNFINISHED:
            return f"set more stages than {getattr(self, 'stages', 1)}"
        return "set class_weight='balanced', scale the features, or choose another gamma"

    @abstractmethod
    def state_type(self) -> type[State]:
        """The dataclass of states, to restore one from a checkpoint."""

    @abstractmethod
    def outline(self, problem: Problem) -> list[Outline]:
        """The passes of a run, for the planner: nothing is read."""


@dataclass(frozen=True)
class PreviousModel:
    """The model with which an update of a solver over explicit features begins.

    Attributes
    ----------
    landmarks, gamma, coefficients, center, target_scale : as in the states of these solvers
    solver_state : the fields of the last state that the model keeps, see :class:`UpdateRule`
    n_rows : rows that it has learned from and that are not read again
    """

    landmarks: Rows
    gamma: float
    coefficients: Array
    center: Array
    target_scale: float
    solver_state: Mapping[str, Any] = field(default_factory=dict)
    n_rows: int = 0


def cannot_go_on(name: str, why: str) -> InputError:
    """The refusal to update a model, for a reason, a clause."""
    return InputError(
        f"{name} cannot go on from a model: {why}",
        where="update",
        hint="shard the old and the new files as one data set, and train on that",
    )


SOLVERS = Family("distkern.solvers", AbstractSolver)  # type: ignore[type-abstract]
