"""What a run learns by: an algorithm with its settings, asked how rows become a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from distkern.core.choices import Compared
from distkern.core.errors import InputError
from distkern.core.names import code_of, plain_labels
from distkern.core.parameters import NOT_NEGATIVE
from distkern.core.types import AbstractSource
from distkern.data.dataset import Split
from distkern.data.feature_major import no_columns
from distkern.data.scaling import Scaling
from distkern.model.settings import Settings
from distkern.model.value import ChosenBy, FittedModel, Told, check_threshold
from distkern.passes import Outline
from distkern.runs.data import TrainingData, from_split
from distkern.runs.mapped import map_choices, mapping
from distkern.runs.scaled import ScaledSource, as_planned, spreading
from distkern.solvers.base import AbstractSolver, Problem

if TYPE_CHECKING:
    from distkern.maths.maps.mapping import MapChoice
    from distkern.runs.update import UpdateRun


@dataclass(frozen=True)
class Posed:
    """A problem with the solver for it.

    Attributes
    ----------
    settings : with what the sizes of the problem have decided
    mean_weight, class_weights, class_shares : of the rows, see :class:`FittedModel`
    runner : the solver that first searches what is open, where it is another one
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
        """The solver that a run asks for its passes."""
        return self.solver if self.runner is None else self.runner


@dataclass(frozen=True)
class Recipe(Told):
    """An algorithm with its settings.

    Attributes
    ----------
    name : of the algorithm
    estimator : name of its class
    task : "classification", "regression" or "none"
    kind : of the models that it gives
    settings : its hyperparameters
    params : the same as files have them
    chosen : who chose it, if it was not asked for
    notes, candidates : what that one tells, see :class:`~distkern.solvers.base.Problem`
    begins : the rows of an update, where it is one
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
    begins: UpdateRun | None = None

    @cached_property
    def solver(self) -> AbstractSolver[Any]:
        """The solver before rows are known; :class:`InputError` for settings that do not go together."""
        return self.kind.solver_of(self.settings, self.kind.risk_of(self.settings))

    def check(self) -> None:
        """Refuse settings that do not go together; :class:`InputError` names the hyperparameter."""
        self.settings.row_scale()
        self.solver  # noqa: B018

    def seeded(self) -> Recipe:
        """With the seed of all choices, drawn where none was given."""
        return self.with_value("random_state", self.settings.seed())

    def chosen_for(self, data: TrainingData, *, has_test: bool) -> Recipe:
        """The recipe for these rows, of one that chooses an algorithm or searches settings by them."""
        return self

    def choosing_bytes(self, data: TrainingData) -> int:
        """What the driver takes to choose before the first pass, for a plan."""
        return 0

    def memory_hint(self, solver: AbstractSolver[Any]) -> str:
        """What makes the model take less memory, for those who are told that it takes too much."""
        hint = self.kind.memory_hint(self.settings, solver)
        if self.chosen is None:
            return hint
        # what is of the algorithm alone is taken where it is named
        return hint.replace("--set ", f"--algorithm {self.name.removesuffix('_regressor')} --set ")

    def with_value(self, name: str, value: Any) -> Recipe:
        """The same with another value of a hyperparameter, which is clean."""
        return replace(self, settings=replace(self.settings, given={**self.settings.given, name: value}))

    # -- the rows

    @property
    def draws_any_row(self) -> bool:
        """Whether single rows are drawn from all of them at any time, so that their order is all one."""
        return self.settings.solver is not None and bool(self.settings.solver.draws_any_row)

    @property
    def reads_columns(self) -> bool:
        """Whether single columns are read."""
        return self.draws_any_row and self.kind.features_of(self.settings).reads_columns

    def data_of(self, split: Split) -> TrainingData:
        """A split of a data set as training data."""
        if self.reads_columns and not split.has_columns:
            raise no_columns(split.dataset.path)
        return from_split(split, self.task)

    def map_choices(self, data: TrainingData) -> tuple[MapChoice, ...]:
        """The maps that are wanted in front of the model."""
        return map_choices(self.settings.row_scale(), self.settings.row_metric(), data.source)

    def own_scale(self, data: TrainingData) -> str:
        """The scaling of columns that is wanted before a map, which scales by itself."""
        return "none" if self.map_choices(data) else self.settings.row_scale()

    def preparing(self, data: TrainingData, problem: Problem) -> list[Outline]:
        """The passes before those of the solver, for a plan."""
        return [*spreading(data, self.own_scale(data)), *mapping(self.map_choices(data), problem)]

    def as_read(self, data: TrainingData, split: Split) -> AbstractSource:
        """How a run may read a split of the data, for its plan."""
        read = as_planned(data, self.own_scale(data))(split)
        return ScaledSource(read, Scaling()) if self.map_choices(data) else read

    # -- the problem

    def pose(self, data: TrainingData, *, has_test: bool) -> Posed:
        """The solver and the sizes of the problem it is given.

        Raises
        ------
        InputError
            If the data are none that the algorithm can learn from.
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
                f"the training data has one class only ({plain_labels(data.classes)})",
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
        """The problem with these weights; ``tells_shares``: whether the rows tell those of the classes."""
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
        begun = self.begun(replace(known, risk=risk), problem)
        settings, solver, problem = self.kind.posed(self.settings, *begun, mean_weight)
        notes = (*self.notes, *problem.notes)
        problem = replace(problem, notes=notes, candidates=self.candidates)
        return Posed(settings, solver, problem, mean_weight, class_weights, class_shares)

    def begun(self, solver: AbstractSolver[Any], problem: Problem) -> tuple[AbstractSolver[Any], Problem]:
        """The solver and the problem as they begin: anew, or from a model in an update."""
        return solver, problem

    def class_weights(self, data: TrainingData) -> NDArray[np.float64] | None:
        """The weight of each class, (n_classes,), or None."""
        return class_weights_of(self.settings.given.get("class_weight"), data)

    def searched(self, posed: Posed) -> AbstractSolver[Any]:
        """The solver of a run, which first chooses the hyperparameters that are to be searched, if any."""
        from distkern.choose.values import searched

        return searched(posed.solver, self.settings.searched, posed.problem)

    def identity(self, data: TrainingData, posed: Posed) -> dict[str, Any]:
        """What makes two runs the same."""
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
    """The weight of each class, (n_classes,): as given, or "balanced"; None for none."""
    if weighting is None:
        return None
    if isinstance(weighting, str):
        # a class without rows needs no weight, and the others balance among themselves
        totals, present = data.class_totals, data.class_totals > 0
        balanced = np.zeros(len(totals))
        balanced[present] = totals.sum() / (present.sum() * totals[present])
        return balanced
    return given_weights(weighting, data.classes, data.class_totals)


def given_weights(
    weighting: Mapping[Any, Any], classes: NDArray[Any], class_totals: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The weight of each class, (n_classes,), 1 where none is given; job files have labels as texts."""
    weights, labels = np.ones(len(classes)), plain_labels(classes)
    for label, weight in weighting.items():
        code = code_of(labels, label)
        if code is None:
            raise InputError(
                f"class {label!r} is not in the data", where="class_weight", hint=f"classes: {labels}"
            )
        if not NOT_NEGATIVE.accepts(weight):
            raise InputError(
                f"the weight of class {label!r} is {weight!r}",
                where="class_weight",
                hint=f"use {NOT_NEGATIVE.description}",
            )
        weights[code] = float(weight)
    if weights @ class_totals == 0:
        raise InputError(
            "every class that has rows weighs 0", where="class_weight", hint="give one of them a weight"
        )
    return weights
