"""A recipe: an algorithm with its settings, which turns rows into a problem for a solver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.core.choices import Compared
from distkern.core.errors import InputError, invalid_value
from distkern.core.names import code_of, plain_labels
from distkern.core.parameters import NOT_NEGATIVE
from distkern.core.types import AbstractSource
from distkern.data.dataset import Split
from distkern.data.feature_major import no_columns
from distkern.data.scaling import Scaling
from distkern.data.store.places import Place
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.events import CHOOSING, CHOOSING_ANNOUNCED, EventLog, Listener, steps_heard
from distkern.model.settings import ChosenBy, SavedAs, Settings
from distkern.model.value import FittedModel, check_threshold
from distkern.passes import Extent, Machine, Outline
from distkern.runs.data import TrainingData, from_split
from distkern.runs.scaled import as_planned, map_choices, mapping, spreading
from distkern.runs.sources import ScaledSource
from distkern.solvers.base import AbstractSolver, Problem

if TYPE_CHECKING:
    from distkern.maths.maps.mapping import MapChoice
    from distkern.runs.updating import UpdateRun


@dataclass(frozen=True)
class Posed:
    """A problem and its solver.

    Attributes
    ----------
    settings : settings with the values that the size of the problem decides
    mean_weight, class_weights, class_shares : see :class:`FittedModel`
    runner : solver that first searches open hyperparameters, or None
    """

    settings: Settings
    solver: AbstractSolver[Any]
    problem: Problem
    mean_weight: float
    class_weights: NDArray[np.float64] | None = None
    class_shares: NDArray[np.float64] | None = None
    runner: AbstractSolver[Any] | None = None

    @property
    def run_by(self) -> AbstractSolver[Any]:
        """The solver that yields the passes of a run."""
        return self.solver if self.runner is None else self.runner


@dataclass(frozen=True)
class Recipe(SavedAs):
    """An algorithm with its settings.

    Attributes
    ----------
    name : name of the algorithm
    estimator : name of its class
    task : "classification", "regression" or "none"
    kind : class of its models
    settings : hyperparameters
    params : hyperparameters as files store them
    chosen : which estimator chose the algorithm, if one did
    notes, candidates : reported by that estimator, see :class:`~distkern.solvers.base.Problem`
    update_run : rows of an update, or None
    """

    name: str
    estimator: str
    task: str
    kind: type[FittedModel]
    settings: Settings
    params: Mapping[str, Any]
    chosen: ChosenBy | None = None
    notes: tuple[str, ...] = ()
    candidates: tuple[Compared, ...] = ()
    update_run: UpdateRun | None = None
    #: whether :meth:`chosen_for` may choose anything
    chooses: ClassVar[bool] = False

    @cached_property
    def solver(self) -> AbstractSolver[Any]:
        """The solver before any rows are known; :class:`InputError` for incompatible settings."""
        return self.kind.solver_of(self.settings, self.kind.risk_of(self.settings))

    def check(self) -> None:
        """Refuse incompatible settings; :class:`InputError` names the hyperparameter."""
        self.settings.row_scale()
        self.solver  # noqa: B018

    def seeded(self) -> Recipe:
        return self.with_value("random_state", self.settings.seed())

    def settled(self, data: TrainingData, listeners: Iterable[Listener] = (), *, has_test: bool) -> Recipe:
        """Return the recipe with a seed, and with what it chooses by these rows; choosing is reported."""
        recipe = self.seeded()
        if not self.chooses:
            return recipe
        with steps_heard(EventLog(listeners), CHOOSING, CHOOSING_ANNOUNCED):
            return recipe.chosen_for(data, has_test=has_test)

    def chosen_for(self, data: TrainingData, *, has_test: bool) -> Recipe:
        """Return the recipe for these rows, if it chooses an algorithm or searches settings by them."""
        return self

    def choosing_bytes(self, data: TrainingData) -> tuple[int, bool]:
        """Return the memory of choosing before the first pass, besides the process itself, and whether it
        loads compiled loops.
        """
        return 0, False

    @property
    def choosing_limit(self) -> int | None:
        """Bytes that a process may take while it chooses, or None."""
        return None

    def memory_hint(self, solver: AbstractSolver[Any]) -> str:
        hint = self.kind.memory_hint(self.settings, solver)
        if self.chosen is None:
            return hint
        # options of the chosen algorithm need its name
        return hint.replace("--set ", f"--algorithm {self.name.removesuffix('_regressor')} --set ")

    def with_value(self, name: str, value: Any) -> Recipe:
        """Return the recipe with another value of a hyperparameter, which must be clean."""
        return replace(self, settings=replace(self.settings, given={**self.settings.given, name: value}))

    # -- the rows

    @property
    def draws_any_row(self) -> bool:
        """Whether single rows are drawn from all rows at any time, so that their order does not matter."""
        return self.settings.solver is not None and bool(self.settings.solver.draws_any_row)

    @property
    def reads_columns(self) -> bool:
        return self.draws_any_row and self.kind.features_of(self.settings).reads_columns

    def data_of(self, split: Split) -> TrainingData:
        if self.reads_columns and not split.has_columns:
            raise no_columns(split.dataset.path)
        return from_split(split, self.task)

    def map_choices(self, data: TrainingData) -> tuple[MapChoice, ...]:
        """Return the maps to choose from in front of the model."""
        return map_choices(self.settings.row_scale(), self.settings.row_metric(), data)

    def own_scale(self, data: TrainingData) -> str:
        """Return the scaling of the columns in front of the model; "none" if a map scales them."""
        return "none" if self.map_choices(data) else self.settings.row_scale()

    def preparing(self, data: TrainingData, problem: Problem) -> list[Outline]:
        """Return the passes before those of the solver, for a plan."""
        return [*spreading(data, self.own_scale(data)), *mapping(self.map_choices(data), problem)]

    def measuring(
        self, solver: AbstractSolver[Any], problem: Problem, machine: Machine
    ) -> tuple[list[Outline], list[Outline], dict[str, Extent]]:
        """Return the passes before and after a run that measure its rows, and their extents, for a plan."""
        return [], [], {}

    def as_read(self, data: TrainingData, split: AbstractSource) -> AbstractSource:
        """Return how a run may read a split of the data, for a plan."""
        read = as_planned(data, self.own_scale(data))(split)
        return ScaledSource(read, Scaling()) if self.map_choices(data) else read

    # -- the problem

    def pose(self, data: TrainingData, *, has_test: bool) -> Posed:
        """Return the solver and the problem for these rows.

        Raises
        ------
        InputError
            If the algorithm cannot learn from them.
        """
        weights = shares = None
        if self.task == "classification":
            self.check_classes(data)
            weights, shares = self.class_weights(data), data.class_totals / data.class_totals.sum()
        return self.posed(data, weights, shares, data.mean_weight(weights), has_test=has_test)

    def check_classes(self, data: TrainingData) -> None:
        """Refuse labels that the algorithm cannot learn."""
        if len(data.classes) < 2:
            raise InputError(
                f"the training data has only one class ({plain_labels(data.classes)})",
                where="y",
                hint="a classifier needs at least 2 classes",
            )
        params = self.settings.given if self.chosen is None else self.chosen.params
        if params.get("threshold") is not None:
            check_threshold(len(data.classes))

    def posed(
        self,
        data: TrainingData,
        class_weights: NDArray[np.float64] | None,
        class_shares: NDArray[np.float64] | None,
        mean_weight: float,
        *,
        has_test: bool,
        tells_shares: bool = True,
    ) -> Posed:
        """Return the problem with these weights; ``tells_shares``: whether the rows show the class shares."""
        n_classes = len(data.classes) or 2
        if self.task == "classification" and class_shares is not None:
            shares = tuple(class_shares.tolist()) if tells_shares else ()
            sizes: dict[str, Any] = {"class_shares": shares, "weighs_classes": class_weights is not None}
        else:
            sizes = {"real_targets": True} if self.task == "regression" else {"error_name": "outliers"}
        risk = self.kind.risk_of(self.settings, n_classes, class_weights, mean_weight)
        n_outputs = risk.loss.n_outputs(n_classes)
        problem = data.problem(n_outputs, has_test, self.settings.seed(), class_weights, **sizes)
        known: Any = self.solver
        continued = self.continued(replace(known, risk=risk), problem)
        settings, solver, problem = self.kind.posed(self.settings, *continued, mean_weight)
        notes = (*self.notes, *problem.notes)
        problem = replace(problem, notes=notes, candidates=self.candidates)
        return Posed(settings, solver, problem, mean_weight, class_weights, class_shares)

    def continued(self, solver: AbstractSolver[Any], problem: Problem) -> tuple[AbstractSolver[Any], Problem]:
        """Return solver and problem as they start: anew, or from a model in an update."""
        return solver, problem

    def class_weights(self, data: TrainingData) -> NDArray[np.float64] | None:
        return class_weights_of(self.settings.given.get("class_weight"), data)

    def searched(self, posed: Posed) -> AbstractSolver[Any]:
        """Return the solver of a run, which first searches the open hyperparameters, if any."""
        if not self.settings.searched:
            return posed.solver
        from distkern.choose.values import searched

        return searched(posed.solver, self.settings.searched, posed.problem)

    def checkpoints(self, folder: Place | None, data: TrainingData, posed: Posed) -> CheckpointFolder | None:
        """Return the checkpoints of a run in ``folder``, if there is one."""
        return None if folder is None else CheckpointFolder(folder, self.identity(data, posed))

    def identity(self, data: TrainingData, posed: Posed) -> dict[str, Any]:
        """Return the facts that identify a run."""
        problem = posed.problem
        own = {name: value for name, value in self.params.items() if name != "random_state"}
        return {
            "algorithm": self.name,
            "data set": data.source.fingerprint,
            "seed": problem.seed,
            "test split": problem.has_test,
            **own,
            **posed.solver.identity,
        }


def class_weights_of(weighting: Any, data: TrainingData) -> NDArray[np.float64] | None:
    """Return the weight of each class, (n_classes,): given weights, or "balanced"; None without weights."""
    if weighting is None:
        return None
    if isinstance(weighting, str):
        # classes without rows get no weight; the others are balanced among themselves
        totals, present = data.class_totals, data.class_totals > 0
        balanced = np.zeros(len(totals))
        balanced[present] = totals.sum() / (present.sum() * totals[present])
        return balanced
    return given_weights(weighting, data.classes, data.class_totals)


def given_weights(
    weighting: Mapping[Any, Any], classes: NDArray[Any], class_totals: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of each class, (n_classes,), 1 unless given; job files name labels as strings."""
    weights, labels = np.ones(len(classes)), plain_labels(classes)
    for label, weight in weighting.items():
        code = code_of(labels, label)
        if code is None:
            raise InputError(
                f"class {label!r} is not in the data", where="class_weight", hint=f"classes: {labels}"
            )
        if not NOT_NEGATIVE.accepts(weight):
            raise invalid_value(f"class_weight of {label!r}", weight, NOT_NEGATIVE.description)
        weights[code] = float(weight)
    if weights @ class_totals == 0:
        raise InputError(
            "every class with rows has weight 0",
            where="class_weight",
            hint="give one of them a positive weight",
        )
    return weights
