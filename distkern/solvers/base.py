"""The contract of solvers.

To add a solver, write a file in this folder with a frozen dataclass of hyperparameters that derives from
:class:`AbstractSolver`. The driver (``engine/drive.py``) owns the loop, checkpoints, events and stopping.

``init`` and ``stage`` are generators: they ``yield`` passes, are sent the results, and return the next state.
They read like the paper's pseudo-code and know nothing of files, tasks or workers. A state is a frozen
dataclass of arrays and numbers that holds everything the next stage depends on, so a checkpoint is the state.
Large values that all stages share are yielded as ``Derived``.

A solver must give:

    name, cost_of_pass, memory    its name, and the cost of a pass and of the model, in words
    init, stage                   the state before the first stage; the next state from one state
    finished, measures            whether a state is the last one; its figures
    state_type                    the dataclass of states
    outline                       the passes of a run, for the planner

It may give:

    choices                       parameters of its parts: loss, kernel, features
    settled, found                the solver with the values chosen by ``init``; those values by name
    starts_at_zero, explosion     which objectives indicate divergence
    hints, hint, step_hint        advice on a failed run
    updates                       how its models are updated: rows read, fields kept
    further, counts_on            fields saved with a model; whether an update continues its step count
    draws_any_row, identity       whether the order of rows is irrelevant; what makes two runs equal
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
    """How a solver's models are updated.

    Attributes
    ----------
    reads_old : the update minimises the mean loss over old and new rows, so it reads the old rows again;
        otherwise it continues from the saved fields
    keeps : fields of the last state that are saved with the model; none is saved if the first is empty
    refusal : why models cannot be updated, a clause; empty if they can
    alone_with : settings whose updates do not read the old rows, a clause; empty if there are none
    """

    reads_old: bool = True
    keeps: tuple[str, ...] = ()
    refusal: str = ""
    alone_with: str = ""

    def saved(self, state: Any) -> dict[str, Any]:
        """Return the saved fields of the last state by name."""
        fields = {name: getattr(state, name) for name in self.keeps}
        return {} if fields and np.shape(fields[self.keeps[0]]) == (0,) else fields

    def needs_old(self, saved: Mapping[str, Any]) -> bool:
        """Whether updating a model with these saved fields reads the old rows."""
        return self.reads_old or not saved.keys() >= set(self.keeps)


@dataclass(frozen=True, kw_only=True)
class Problem(RowLayout):
    """The sizes of a training problem: everything a solver knows before its first pass.

    Attributes
    ----------
    n_outputs : k: 1 for binary, the number of classes for one-vs-rest
    has_test : whether a test split is measured
    max_relative_weight : largest row weight divided by the mean row weight
    real_targets : targets are real numbers: they are centred and scaled, and errors are mean squared errors
    class_shares : share of each class code in the total row weight; empty for real targets
    weighs_classes : whether classes have different weights
    test_block_rows : rows of each block of the test split, if it has been opened
    workplace : where an :class:`~distkern.passes.Each` stores its results; set by the driver
    has_groups : rows of one group are held out together
    multiplicity : see :class:`~distkern.maths.maps.transform.Transform`
    error_name : name of the error if it is not the share of wrong labels
    notes : choices made before the run, reported and saved with the solver's own
    candidates : candidates compared before the run, reported and saved like ``notes``
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
    multiplicity: tuple[int, ...] = ()
    error_name: str = "error"
    notes: tuple[str, ...] = ()
    candidates: tuple[Compared, ...] = ()

    @property
    def beside_bytes(self) -> int:
        """Bytes of a row's target, weight and group key."""
        return 16 + 8 * self.has_groups

    def rows_of(self, wanted: int | float | None, default: float) -> int:
        """Rows of a stage: ``wanted`` if it is an int, ``wanted`` passes if a float, else ``default``."""
        rows = wanted * self.n_rows if isinstance(wanted, float) else default if wanted is None else wanted
        return max(1, math.ceil(rows))

    def visits(self, n_rows: int, stage: int, order: str) -> tuple[Visit, ...]:
        """The sampled rows of a stage, in the order named by :func:`order_of_rows`."""
        return epoch_visits(self.block_rows, n_rows, seed=self.seed, stage=stage, replace=order == "iid")


@dataclass(frozen=True)
class Measures:
    """Figures of a stage (one line of ``metrics.jsonl``); ``extra`` holds the solver's own.

    ``accesses`` counts all and the nonzero features read so far (n_features for a row, n_rows for a column);
    None counts the training rows read by passes.
    ``converged``: a bound shows that the objective is within the solver's tolerance of its minimum.
    ``stopped``: the rule that ended the run without such a bound, in the words of ``ended_``.
    ``shortfall``: a goal that was not reached, with a hint.
    ``notes``: automatic choices in short lines, each reported once and saved with the model.
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
    """Faults of a finished run."""

    #: the objective is above the objective of the model 0
    DIVERGED = "diverged"
    #: the run ended before its last stage
    UNFINISHED = "unfinished"
    #: the model is no better than predicting one class
    IDLE = "idle"


def piece_rows(size: int, itemsize: int, *, least: int = 128) -> int:
    """Rows of a piece whose prepared numbers take about 8 MiB; independent of the workers."""
    return int(np.clip(2**23 // (size * itemsize), least, 4096))


def rows_of_stage(default: str) -> Any:
    """Declare ``steps_per_stage``."""
    text = f"int: rows; float: passes over the rows; none: {default}"
    return parameter(None, Whole(), POSITIVE, NOTHING, help=text)


def order_of_rows() -> Any:
    """Declare ``order``."""
    return parameter(
        "shuffled",
        Words("shuffled", "iid"),
        help="shuffled: every row once, then again in another order; iid: draws with replacement within each "
        "block",
    )


def averaged_iterates() -> Any:
    """Declare ``averaging``."""
    text = "k: the model is the mean of the iterates weighted with step^k; none: the last iterate"
    return parameter(3, Whole(0, 8), NOTHING, help=text)


class AbstractSolver(Declared, ABC, Generic[State]):
    """The mathematics of one algorithm."""

    name: ClassVar[str]
    #: parameters of its parts (loss, kernel, features)
    choices: ClassVar[Mapping[str, Parameter]] = {}
    #: operations of a pass and memory, for n rows of d columns, r landmarks or features and k outputs
    cost_of_pass: ClassVar[str]
    memory: ClassVar[str]
    #: whether ``init`` returns the model 0, the reference for later objectives
    starts_at_zero: ClassVar[bool] = True
    #: advice on troubles, formatted with the hyperparameters; other troubles have default hints
    hints: ClassVar[Mapping[Trouble, str]] = {}
    #: an objective this many times that of the model 0 indicates divergence; infinite if first steps are
    #: deliberately so large that the objective may rise and fall again
    explosion: ClassVar[float] = 10.0
    #: whether an update continues earlier steps, which end with the rows and not at a minimum
    counts_on: ClassVar[bool] = False
    #: whether steps draw single rows from the whole data set, so that the order of rows is irrelevant
    draws_any_row: ClassVar[bool] = False
    #: how its models are updated
    updates: ClassVar[UpdateRule] = UpdateRule(refusal="its solver begins anew")

    def further(self, state: State) -> dict[str, Any]:
        """Arrays and numbers of the last state that are saved with a model, by name."""
        return self.updates.saved(state)

    @property
    def identity(self) -> dict[str, Any]:
        """What makes two runs equal, besides hyperparameters and rows."""
        return {}

    @abstractmethod
    def init(self, problem: Problem) -> Steps[State]:
        """Everything before the first stage (landmarks, first gradient)."""

    @abstractmethod
    def stage(self, problem: Problem, state: State) -> Steps[State]:
        """Make one stage: return the next state."""

    @abstractmethod
    def finished(self, state: State) -> bool:
        """Whether this state is the last one."""

    @abstractmethod
    def measures(self, state: State) -> Measures:
        """The figures of a state."""

    def settled(self, state: State) -> AbstractSolver[State]:
        """The solver with the values chosen by ``init``."""
        return self

    def found(self, state: State) -> dict[str, Any]:
        """Hyperparameters chosen by ``init``, by name."""
        return {}

    def step_hint(self) -> str:
        """What to try when the solver diverges."""
        size = getattr(self, "step_size", None)
        return "a tenth of the present one" if size is None else f"step_size={size / 10:.3g}"

    def hint(self, trouble: Trouble) -> str:
        """Advice on a trouble that names the hyperparameters."""
        if trouble in self.hints:
            return self.hints[trouble].format_map(vars(self))
        if trouble is Trouble.DIVERGED:
            hint = self.step_hint()
            if "=" in hint:
                return f"set {hint}"
            return f"set a smaller step_size ({hint})" if hasattr(self, "step_size") else "set a larger nu"
        if trouble is Trouble.UNFINISHED:
            return f"set more stages than {getattr(self, 'stages', 1)}"
        return "give --set class_weight=balanced, scale the features, or choose another gamma"

    @abstractmethod
    def state_type(self) -> type[State]:
        """The dataclass of states, to restore one from a checkpoint."""

    @abstractmethod
    def outline(self, problem: Problem) -> list[Outline]:
        """The passes of a run, for the planner: nothing is read."""


@dataclass(frozen=True)
class PreviousModel:
    """The model that an update starts from, for solvers over explicit features.

    Attributes
    ----------
    landmarks, gamma, coefficients, center, target_scale : as in the states of these solvers
    solver_state : the saved fields of the last state, see :class:`UpdateRule`
    n_rows : rows the model was trained on that are not read again
    """

    landmarks: Rows
    gamma: float
    coefficients: Array
    center: Array
    target_scale: float
    solver_state: Mapping[str, Any] = field(default_factory=dict)
    n_rows: int = 0


def cannot_go_on(name: str, why: str) -> InputError:
    """Return the error that refuses an update; ``why`` is a clause."""
    return InputError(
        f"{name} cannot go on from a model: {why}",
        where="update",
        hint="shard the old and the new files as one data set, and train on that",
    )


SOLVERS = Family("distkern.solvers", AbstractSolver)  # type: ignore[type-abstract]
