"""Models over explicit features, and over landmarks that are chosen before training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.sparse import Rows
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.bases.landmarks import LandmarkBasis
from distkern.maths.features import AbstractFeatures, find_features
from distkern.maths.features.landmarks import AbstractLandmarkFeatures, Landmarks
from distkern.maths.features.linear import Linear
from distkern.maths.landmarks.base import RowLayout
from distkern.model.fields import fitted
from distkern.model.settings import Settings
from distkern.model.value import FittedModel
from distkern.solvers.base import PreviousModel, Problem
from distkern.solvers.risk import Risk


@dataclass(frozen=True, eq=False, kw_only=True)
class GammaModel(FittedModel):
    """A model over a kernel whose gamma was given or found, that an update may begin from."""

    gamma: float = fitted(
        "the kernel's gamma; 1 for linear features and for kernels without one",
        fact="gamma",
        write=float,
        read=float,
    )
    landmarks: Rows = fitted(
        "(n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was fitted on "
        "sparse rows; without rows unless the features are made of landmarks",
        rows="landmarks",
    )

    def begun(self, solver: Any, problem: Problem, begins: Any) -> tuple[Any, Problem]:
        if solver.updates.refusal:
            return super().begun(solver, problem, begins)
        own = dict(begins.further.solver_state)
        coefficients = own.pop("coefficients", None)
        if coefficients is None:
            coefficients = np.ascontiguousarray(self.own_coefficients())
        before = PreviousModel(self.landmarks, self.gamma, coefficients, *self.unit, own, begins.n_earlier)
        features = solver.features.at_known(len(self.landmarks))
        return replace(solver, features=features, before=before), replace(problem, seed=self.seed)


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureModel(GammaModel):
    """A model that is linear in features of the rows: the rows themselves, random features, or landmarks."""

    seed: int = fitted("of the random features, and of every other choice", fact="seed", write=int, read=int)

    @classmethod
    def features_of(cls, settings: Settings) -> AbstractFeatures:
        """The features, before any row is read.

        Raises
        ------
        InputError
            If a parameter has been given that features of this kind do not take, or the kernel does not suit.
        """
        kind = find_features(settings.value("features"))
        parts = {"kernel": settings.kernel_choice()} if "kernel" in kind.choices else {}
        return kind(**parts, **settings.values_of(kind))

    @classmethod
    def memory_hint(cls, settings: Settings, solver: Any) -> str:
        return str(solver.features.memory_hint)

    @classmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        own = {"coefficients": state.coefficients, "constants": state.intercept}
        return {"landmarks": state.landmarks, "gamma": state.gamma, **own}

    @cached_property
    def features(self) -> AbstractFeatures:
        """What the rows become."""
        return self.features_of(self.settings)

    @property
    def is_linear(self) -> bool:
        return issubclass(find_features(self.settings.value("features")), Linear)

    def basis(self, dtype: DTypeLike = np.float32) -> AbstractBasis:
        # rows of either form may come, so the seed and the columns are all that matters of them
        rows = RowLayout((), self.width, np.dtype(dtype), self.seed, sparse_numbers=0)
        return self.features.basis(rows, self.landmarks, self.gamma)

    def facts(self) -> dict[str, Any]:
        return super().facts() | {"features": self.basis(np.float32).digest()}

    def check(self, facts: Mapping[str, Any], where: str) -> None:
        super().check(facts, where)
        basis = self.basis(np.float32)
        basis.check_digest(facts["features"], written_with=facts["numpy-version"], where=where)


@dataclass(frozen=True, eq=False, kw_only=True)
class ExplicitModel(FeatureModel):
    """A model that a solver over explicit features finds; a constant one becomes part of the intercept."""

    @classmethod
    def solver_of(cls, settings: Settings, risk: Risk) -> Any:
        features, kind = cls.features_of(settings), settings.solver
        assert kind is not None
        return kind.kind_for(features)(risk, features, **settings.values_of(kind))

    @classmethod
    def posed(
        cls, settings: Settings, solver: Any, problem: Problem, mean_weight: float
    ) -> tuple[Settings, Any, Problem]:
        return settings, solver, replace(problem, notes=(*problem.notes, *solver.notes(problem)))

    @classmethod
    def features_of(cls, settings: Settings) -> AbstractFeatures:
        choice, solver = super().features_of(settings), settings.solver
        if solver is None or not solver.makes_blocks:
            return choice
        return choice.in_blocks(settings.value("block_size"))

    @classmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        last = len(state.coefficients) - _n_constant(solver)
        own = cls.unit_parts(state.coefficients[:last], state, is_real=solver.risk.is_real)
        own["constants"] += state.target_scale * state.coefficients[last:].sum(axis=0)
        return {"landmarks": state.landmarks, "gamma": state.gamma, **own}

    @cached_property
    def _solver(self) -> Any:
        return self.solver_of(self.settings, self.risk_of(self.settings, max(self.n_outputs, 2)))

    def own_coefficients(self) -> NDArray[np.float64]:
        center, scale = self.unit
        own, solver = self.coefficients, self._solver
        saved = {} if self.further is None else self.further.loaded().solver_state
        if solver.n_constant if "center" in saved else not solver.features.spans_constant:
            own = np.vstack([own, self.constants - center])
        return own / scale

    def squared_norm(self) -> float:
        own = self.coefficients
        norm = float(np.einsum("ij,ij->", own, self.basis(np.float64).metric_product(own)))
        if self._solver.regularises_all and self._solver.n_constant:
            norm += float(np.square(self.constants - self.unit[0]).sum())
        return norm


def _n_constant(solver: Any) -> int:
    """How many of the solver's functions are constant."""
    if solver.before is not None and "center" not in solver.before.solver_state:
        return int(not solver.features.spans_constant)
    return int(solver.n_constant)


@dataclass(frozen=True, eq=False, kw_only=True)
class PegasosModel(FeatureModel):
    """A model that Pegasos finds."""

    @classmethod
    def solver_of(cls, settings: Settings, risk: Risk) -> Any:
        assert settings.solver is not None
        return settings.solver(risk, cls.features_of(settings), **settings.values_of(settings.solver))

    @classmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        return super().of_state(settings, solver, state) | {"constants": state.center + state.intercept}

    @property
    def penalty_weight(self) -> float:
        return float(self.settings.value("lam"))

    def squared_norm(self) -> float:
        """|w|^2 + b^2, summed over the outputs."""
        constants = self.constants - self.unit[0]
        return float(np.square(self.coefficients).sum() + np.square(constants).sum())


@dataclass(frozen=True, eq=False, kw_only=True)
class LandmarkModel(GammaModel):
    """A model f(x) = sum_k coef_k k(x, c_k) over landmarks chosen before training."""

    landmarks: Rows = fitted(
        "(r, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was fitted on sparse rows",
        rows="landmarks",
        needed=True,
    )

    @classmethod
    def kind_of_solver(cls, settings: Settings) -> tuple[type[Any], type[AbstractLandmarkFeatures]]:
        """The solver, and the functions of landmarks that it works on."""
        assert settings.solver is not None
        return settings.solver, Landmarks

    @classmethod
    def solver_of(cls, settings: Settings, risk: Risk) -> Any:
        kind, features = cls.kind_of_solver(settings)
        n_landmarks, diameter = settings.value("n_landmarks"), settings.value("diameter")
        if n_landmarks is None and diameter is None:
            n_landmarks = kind.usual_landmarks
        made = features(settings.kernel_choice(), n_landmarks, settings.value("landmarks"), diameter)
        assert settings.solver is not None
        return kind(risk, made, **settings.values_of(settings.solver))

    @classmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        own = {"coefficients": state.coefficients, "constants": state.center}
        return {"landmarks": state.landmarks, "gamma": state.gamma, **own}

    def basis(self, dtype: DTypeLike = np.float32) -> LandmarkBasis:
        kernel = self.settings.kernel_choice().with_gamma(self.gamma)
        return LandmarkBasis(kernel, self.landmarks.astype(dtype))

    @property
    def weight(self) -> float:
        return float(self.settings.value("lam"))

    def penalty(self) -> float:
        """1/2 |w|^2, summed over the outputs."""
        return float(0.5 * self.basis(np.float64).squared_norms(self.coefficients).sum())
