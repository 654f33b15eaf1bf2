"""Models over explicit features, and over landmarks chosen before training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.core.sparse import Rows
from distkern.maths.bases.base import AbstractBasis
from distkern.maths.bases.landmarks import LandmarkBasis, NystroemBasis
from distkern.maths.features import AbstractFeatures, find_features
from distkern.maths.losses import find_loss
from distkern.maths.losses.base import AbstractLoss
from distkern.model.fields import fitted
from distkern.model.settings import AbstractSettings, Settings
from distkern.model.value import FittedModel

if TYPE_CHECKING:
    from distkern.maths.features.landmarks import AbstractLandmarkFeatures
    from distkern.solvers.base import Problem
    from distkern.solvers.newton import Newton
    from distkern.solvers.risk import Risk


_SPOKEN = "conjugate gradients over passes"
#: most features of a matrix without a memory limit: a larger one takes over 512 MiB and minutes to factor
_MOST_OF_MATRICES = 8192


@dataclass(frozen=True, eq=False, kw_only=True)
class GammaModel(FittedModel):
    """A model over a kernel with a given or chosen gamma, from which an update can start."""

    gamma: float = fitted(
        "gamma of the kernel; 1 for linear features and for kernels without gamma",
        fact="gamma",
        write=float,
        read=float,
    )
    landmarks: Rows = fitted(
        "(n_landmarks, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the training rows "
        "were sparse; empty unless the features use landmarks",
        rows="landmarks",
    )

    def continued(self, solver: Any, problem: Problem, update_run: Any) -> tuple[Any, Problem]:
        if solver.updates.refusal:
            return super().continued(solver, problem, update_run)
        from distkern.solvers.base import PreviousModel

        own = dict(update_run.further.solver_state)
        coefficients = own.pop("coefficients", None)
        if coefficients is None:
            coefficients = np.ascontiguousarray(self.own_coefficients())
        before = PreviousModel(
            self.landmarks, self.gamma, coefficients, *self.unit, own, update_run.n_earlier
        )
        features = solver.features.at_known(len(self.landmarks))
        return replace(solver, features=features, before=before), replace(problem, seed=self.seed)


@dataclass(frozen=True, eq=False, kw_only=True)
class FeatureModel(GammaModel):
    """A linear model over features of the rows: the rows themselves, random features, or landmarks."""

    seed: int = fitted(
        "seed of the random features and of every other random choice", fact="seed", write=int, read=int
    )

    @classmethod
    def features_of(cls, settings: AbstractSettings) -> AbstractFeatures:
        """Return the features before any row is read.

        Raises
        ------
        InputError
            If a given parameter does not apply to these features, or the kernel does not suit them.
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
        return self.features_of(self.settings)

    @property
    def is_linear(self) -> bool:
        return bool(self.settings.value("features") == "linear")

    def basis(self, dtype: DTypeLike = np.float32) -> AbstractBasis:
        from distkern.maths.landmarks.base import RowLayout

        # rows may be dense or sparse; only the seed and the columns matter
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
    """A model found by a solver over explicit features; a constant feature is added to the intercept."""

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
    def features_of(cls, settings: AbstractSettings) -> AbstractFeatures:
        choice = super().features_of(settings)
        if not settings.has("block_size"):
            return choice
        solver = settings.cleaned.solver
        makes_blocks = solver is not None and solver.makes_blocks
        return choice.in_blocks(settings.value("block_size")) if makes_blocks else choice

    @classmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        last = len(state.coefficients) - _n_constant(solver)
        own = cls.unit_parts(state.coefficients[:last], state, is_real=solver.risk.is_real)
        own["constants"] += state.target_scale * state.coefficients[last:].sum(axis=0)
        return {"landmarks": state.landmarks, "gamma": state.gamma, **own}

    @cached_property
    def _solver(self) -> Any:
        return self.solver_of(self.settings.cleaned, self.risk_of(self.settings, max(self.n_outputs, 2)))

    def own_coefficients(self) -> NDArray[np.float64]:
        center, scale = self.unit
        own, solver = self.coefficients, self._solver
        saved = self.further.loaded().solver_state
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
    if solver.before is not None and "center" not in solver.before.solver_state:
        return int(not solver.features.spans_constant)
    return int(solver.n_constant)


@dataclass(frozen=True, eq=False, kw_only=True)
class NewtonModel(ExplicitModel):
    """A model found by Newton's method."""

    hessian: str = fitted('"matrix" or "products"', fact="hessian", read=str)
    coefficients: NDArray[np.float64] = fitted(
        "(r, n_outputs); for Nystroem features the coefficients of the kernels at ``landmarks_``",
        array="coefficients",
    )

    @classmethod
    def features_of(cls, settings: AbstractSettings) -> AbstractFeatures:
        return super().features_of(settings).spanning()

    @classmethod
    def posed(
        cls, settings: Settings, solver: Any, problem: Problem, mean_weight: float
    ) -> tuple[Settings, Any, Problem]:
        settings, solver, problem = super().posed(settings, solver, problem, mean_weight)
        chosen = fitting_in_memory(solver, problem)
        if chosen is solver:
            return settings, solver, problem
        size = chosen.expected_size(problem) - chosen.n_constant
        why = "are large" if chosen.memory_limit is None else "do not fit the memory limit"
        note = f"matrices of {size:,} features {why}: {_SPOKEN} (hessian=products)"
        return settings, chosen, replace(problem, notes=(*problem.notes, note))

    @classmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        hessian = "products" if solver.takes_products else "matrix"
        return super().of_state(settings, solver, state) | {"hessian": hessian}

    @classmethod
    def memory_hint(cls, settings: Settings, solver: Any) -> str:
        hint = super().memory_hint(settings, solver)
        # "auto" has tried products
        if settings.given["hessian"] != "matrix" or solver.features.needs_matrix:
            return hint
        return f"{hint}, or {_SPOKEN} instead of matrices (--set hessian=products)"


def fitting_in_memory(solver: Newton, problem: Problem) -> Newton:
    """Return the solver with products if matrices do not fit.

    Matrices must fit a process that does everything; without a memory limit they have at most 8,192 features.
    If neither matrices nor products fit, workers and driver are counted separately.
    """
    # a loaded model predicts without these imports
    from distkern.engine.plan import bytes_alone
    from distkern.passes import Extent

    limit = solver.memory_limit
    if solver.hessian != "auto" or solver.features.needs_matrix:
        return solver
    if limit is None:
        is_large = solver.expected_size(problem) - solver.n_constant > _MOST_OF_MATRICES
        return replace(solver, hessian="products") if is_large else solver
    extent = Extent(problem.block_rows, problem.row_bytes)
    solvers = (solver, replace(solver, hessian="products"))
    taken = [0, 0]
    for kind in ("synchronous", "distributed"):
        for number, candidate in enumerate(solvers):
            outlines = candidate.outline(problem)
            made = max(outline.step.cost.driver_bytes for outline in outlines)
            taken[number] = max(made, bytes_alone(outlines, extent, kind, limit))
            if taken[number] <= limit:
                return candidate
    # the run is refused with the memory of the smaller one
    return solvers[taken[1] < taken[0]]


@dataclass(frozen=True, eq=False, kw_only=True)
class PegasosModel(FeatureModel):
    """A model found by Pegasos."""

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
        """Return |w|^2 + b^2, summed over the outputs."""
        constants = self.constants - self.unit[0]
        return float(np.square(self.coefficients).sum() + np.square(constants).sum())


@dataclass(frozen=True, eq=False, kw_only=True)
class LandmarkModel(GammaModel):
    """A model f(x) = sum_k coef_k k(x, c_k) over landmarks chosen before training."""

    landmarks: Rows = fitted(
        "(r, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if the training rows were "
        "sparse",
        rows="landmarks",
        needed=True,
    )

    @classmethod
    def kind_of_solver(cls, settings: Settings) -> tuple[type[Any], type[AbstractLandmarkFeatures]]:
        """Return the class of the solver and the class of its landmark functions."""
        from distkern.maths.features.landmarks import Landmarks

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
        """Return 1/2 |w|^2, summed over the outputs."""
        return float(0.5 * self.basis(np.float64).squared_norms(self.coefficients).sum())


@dataclass(frozen=True, eq=False, kw_only=True)
class CSVRGModel(LandmarkModel):
    """A model found by CSVRG."""

    @classmethod
    def kind_of_solver(cls, settings: Settings) -> tuple[type[Any], type[AbstractLandmarkFeatures]]:
        if settings.value("projection") == "span":
            from distkern.maths.features.landmarks import Nystroem
            from distkern.solvers.csvrg import SpanCSVRG

            return SpanCSVRG, Nystroem
        return super().kind_of_solver(settings)

    @classmethod
    def of_state(cls, settings: Settings, solver: Any, state: Any) -> dict[str, Any]:
        found = super().of_state(settings, solver, state)
        if settings.value("projection") == "span":
            # the same model over the kernels themselves predicts faster
            kernel = settings.kernel_choice().with_gamma(state.gamma)
            basis = NystroemBasis(kernel, state.landmarks)
            found["coefficients"] = basis.landmark_coefficients(state.coefficients)
        return found


@dataclass(frozen=True, eq=False, kw_only=True)
class SIMBAModel(FeatureModel):
    """A model found by SIMBA; its objective is the mean weighted hinge loss, summed over the outputs."""

    @classmethod
    def loss_of(cls, settings: AbstractSettings) -> AbstractLoss:
        return find_loss("hinge")()

    @classmethod
    def risk_of(
        cls,
        settings: AbstractSettings,
        n_classes: int = 2,
        class_weights: NDArray[np.float64] | None = None,
        mean_weight: float = 1.0,
    ) -> Risk:
        from distkern.solvers.risk import Risk

        return Risk(cls.loss_of(settings), 1, class_weights, mean_weight)

    @classmethod
    def solver_of(cls, settings: Settings, risk: Risk) -> Any:
        assert settings.solver is not None
        return settings.solver(cls.features_of(settings), risk, **settings.values_of(settings.solver))

    def penalty(self) -> float:
        return 0.0
