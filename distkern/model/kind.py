"""Kinds of models: how settings become a solver, and its last state a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from distkern.maths.losses.base import AbstractLoss
from distkern.model.settings import Settings
from distkern.solvers.risk import Risk

if TYPE_CHECKING:
    from distkern.engine.checkpoint import RunWorkplace
    from distkern.maths.features import AbstractFeatures
    from distkern.solvers.base import AbstractSolver, Problem


class AbstractModelKind(ABC):
    """What a class of models knows before there is one; :mod:`distkern.model.value` lists its hooks."""

    #: of a model's folder, what tasks store
    folders: ClassVar[tuple[str, ...]] = ()

    @classmethod
    @abstractmethod
    def solver_of(cls, settings: Settings, risk: Risk) -> AbstractSolver[Any]:
        """The solver with these hyperparameters; refuses those that do not go together."""

    @classmethod
    @abstractmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        """``coefficients``, ``constants`` and the kind's own fields of the solver's last state."""

    @classmethod
    def loss_of(cls, settings: Settings) -> AbstractLoss:
        """The loss, with its constants."""
        return settings.loss()

    @classmethod
    def risk_of(
        cls,
        settings: Settings,
        n_classes: int = 2,
        class_weights: NDArray[np.float64] | None = None,
        mean_weight: float = 1.0,
    ) -> Risk:
        """Return the risk that the solver minimises for ``n_classes`` classes."""
        loss = cls.loss_of(settings)
        return Risk(loss, loss.n_outputs(n_classes), class_weights, mean_weight)

    @classmethod
    def posed(
        cls, settings: Settings, solver: Any, problem: Problem, mean_weight: float
    ) -> tuple[Settings, Any, Problem]:
        """Settings, solver and problem, with what the sizes of the problem decide."""
        return settings, solver, problem

    @classmethod
    def features_of(cls, settings: Settings) -> AbstractFeatures:
        """The features of a model over explicit ones, before any row is read."""
        raise NotImplementedError

    @classmethod
    def memory_hint(cls, settings: Settings, solver: Any) -> str:
        """What makes the model take less memory, for those who are told that it takes too much."""
        if "n_landmarks" in settings.given:
            return "fewer landmarks (--set n_landmarks=...)"
        return "fewer features (--set n_features=...)"

    @classmethod
    def taken(cls, state: Any, workplace: RunWorkplace) -> dict[str, Any]:
        """The fields that tasks of the run have stored, before their folder closes."""
        return {}

    @staticmethod
    def unit_parts(coefficients: NDArray[np.float64], state: Any, *, is_real: bool) -> dict[str, Any]:
        """Coefficients and constants of a state of scaled targets, in the targets' own unit."""
        if not is_real:
            return {"coefficients": np.ascontiguousarray(coefficients), "constants": state.center.copy()}
        scaled = np.ascontiguousarray(state.target_scale * coefficients)
        unit = {"target_center": state.center, "target_scale": state.target_scale}
        return {"coefficients": scaled, "constants": state.center.copy(), **unit}
