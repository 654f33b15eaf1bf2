"""What the estimators over explicit features and over landmarks share: which, and how a model is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.bases.base import AbstractBasis
from distkern.bases.landmarks import LandmarkBasis
from distkern.common.sparse import Rows
from distkern.estimators.base import AbstractClassifier
from distkern.estimators.declared import fitted
from distkern.estimators.estimator import AbstractEstimator
from distkern.estimators.functional import AbstractFunctionalEstimator, AbstractFunctionalRegressor
from distkern.features import AbstractFeatures, find_features
from distkern.features.landmarks import DEFAULT_LANDMARKS, AbstractLandmarkFeatures, Landmarks
from distkern.features.linear import Linear
from distkern.landmarks.base import RowLayout
from distkern.solvers.base import AbstractSolver, PreviousModel, Problem
from distkern.solvers.coreset import AbstractCoresetSolver
from distkern.solvers.explicit import AbstractExplicit
from distkern.solvers.targets import Scaled


def unit_of(model: Any) -> tuple[NDArray[np.float64], float]:
    """Centre (k,) and scale of a fitted model's targets; of classes the offset that it began with, and 1."""
    if model.task == "regression":
        return model.target_center_, model.target_scale_
    further = model._further if model._begins is None else model._begins.further
    own = {} if further is None else further.loaded().solver_state
    return np.asarray(own.get("center", np.zeros(model.coefficients_.shape[1]))), 1.0


def begun_over_features(
    model: Any, solver: AbstractSolver[Any], problem: Problem
) -> tuple[AbstractSolver[Any], Problem]:
    """A solver over explicit features that begins from a fitted model, and its problem."""
    begins, explicit = model._begins, cast("AbstractExplicit[Any]", solver)
    own = dict(begins.further.solver_state)
    coefficients = own.pop("coefficients", None)
    if coefficients is None:
        coefficients = np.ascontiguousarray(model._own_coefficients())
    landmarks: Rows = model.landmarks_
    before = PreviousModel(landmarks, model.gamma_, coefficients, *unit_of(model), own, begins.n_earlier)
    features = explicit.features.at_known(len(landmarks))
    seed = problem.seed if begins.seed is None else begins.seed
    return replace(explicit, features=features, before=before), replace(problem, seed=seed)


class AbstractFeatureEstimator(AbstractEstimator):
    """A model that is linear in features of the rows: the rows themselves, random features, or landmarks.

    Subclasses have the hyperparameters of :func:`feature_parameters`.
    """

    gamma_: float = fitted(
        "the kernel's gamma; 1 for linear features and for kernels without one",
        fact="gamma",
        write=float,
        read=float,
    )
    landmarks_: Rows = fitted(
        "(n_landmarks, n_features), without rows unless ``features`` are made of landmarks", rows="landmarks"
    )
    seed_: int = fitted("of the random features, and of every other choice", fact="seed", write=int, read=int)

    def feature_choice(self) -> AbstractFeatures:
        """The features, before any row is read.

        Raises
        ------
        InputError
            If a parameter has been given that features of this kind do not take, or the kernel does not suit.
        """
        kind = find_features(self.value("features"))
        parts = {"kernel": self.kernel_choice()} if "kernel" in kind.choices else {}
        return kind(**parts, **self.values_of(kind))

    @property
    def _is_linear(self) -> bool:
        return issubclass(find_features(self.value("features")), Linear)

    def memory_hint(self) -> str:
        return self.feature_choice().memory_hint

    def basis(self, dtype: DTypeLike = np.float32) -> AbstractBasis:
        # rows of either form may come, so the seed and the columns are all that matters of them
        rows = RowLayout((), self.width_, np.dtype(dtype), self.seed_, sparse_numbers=0)
        return self.feature_choice().basis(rows, self.landmarks_, self.gamma_)

    def _keep(self, state: Any) -> None:
        self.landmarks_, self.gamma_ = state.landmarks, state.gamma
        self.coefficients_, self.constants_ = state.coefficients, state.intercept

    def _begun(self, solver: AbstractSolver[Any], problem: Problem) -> tuple[AbstractSolver[Any], Problem]:
        return begun_over_features(self, solver, problem)

    def _own_coefficients(self) -> NDArray[np.float64]:
        """Coefficients (r, k) of the solver's functions, of which the last may be a constant one."""
        return self.coefficients_

    def _facts(self) -> dict[str, Any]:
        return super()._facts() | {"features": self.basis(np.float32).digest()}

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        self.landmarks_ = np.empty((0, self.width_))
        super()._restore(arrays, facts, where)
        self.basis(np.float32).check_digest(
            facts["features"], written_with=facts["numpy-version"], where=where
        )


class AbstractExplicitEstimator(AbstractFeatureEstimator, AbstractFunctionalEstimator):
    """A model that is linear in features, found by a solver over explicit ones.

    A constant feature becomes part of the intercept.
    """

    solver_type: ClassVar[type[AbstractExplicit[Any]]]
    #: the same solver of a model over kernels at training rows that it finds, if it has such models
    solver_of_rows: ClassVar[type[AbstractExplicit[Any]] | None] = None

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> AbstractExplicit[Any]:
        features = self.feature_choice()
        kind = self.solver_of_rows if features.finds_rows and self.solver_of_rows else self.solver_type
        risk = self._risk_for(class_weights, mean_weight)
        return kind(risk, features, **self.values_of(self.solver_type))

    def feature_choice(self) -> AbstractFeatures:
        choice = super().feature_choice()
        if not self.solver_type.makes_blocks:
            return choice
        return choice.in_blocks(self.values_of(self.solver_type)["block_size"])

    def _keep(self, state: Any) -> None:
        self.landmarks_, self.gamma_ = state.landmarks, state.gamma
        self._keep_coefficients(state.coefficients, state)

    def _keep_coefficients(self, coefficients: NDArray[np.float64], state: Scaled) -> None:
        last = len(coefficients) - self._n_constant()
        super()._keep_coefficients(coefficients[:last], state)
        self.constants_ += state.target_scale * coefficients[last:].sum(axis=0)

    def _own_coefficients(self) -> NDArray[np.float64]:
        center, scale = unit_of(self)
        own = self.coefficients_
        if self._n_constant():
            own = np.vstack([own, self.constants_ - center])
        return own / scale

    def _n_constant(self) -> int:
        """How many of the solver's functions are constant."""
        solver = self._solver(None, 1.0)
        if self._begins is not None and "center" not in self._begins.further.solver_state:
            return int(not solver.features.spans_constant)
        return solver.n_constant

    def _squared_norm(self) -> float:
        norm = float(
            np.einsum(
                "ij,ij->", self.coefficients_, self.basis(np.float64).metric_product(self.coefficients_)
            )
        )
        if self.solver_type.regularises_all and self._n_constant():
            norm += float(np.square(self.constants_ - unit_of(self)[0]).sum())
        return norm


class AbstractExplicitClassifier(AbstractExplicitEstimator, AbstractClassifier):
    """A classifier of that kind."""


class AbstractExplicitRegressor(AbstractExplicitEstimator, AbstractFunctionalRegressor):
    """A regressor of that kind.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g: it means the same for targets in any
    unit.
    """


class AbstractCoresetClassifier(AbstractFunctionalEstimator, AbstractClassifier):
    """A classifier f(x) = sum_k coef_k k(x, c_k) over landmarks chosen before training."""

    landmarks_: Rows = fitted(
        "(r, n_features) array, or :class:`~distkern.common.sparse.SparseRows` if it was fitted on sparse "
        "rows",
        rows="landmarks",
    )
    gamma_: float = fitted("the kernel's gamma", fact="gamma", write=float)
    #: landmarks where neither their number nor a diameter is given
    usual_landmarks: ClassVar[int] = DEFAULT_LANDMARKS

    def basis(self, dtype: DTypeLike = np.float32) -> LandmarkBasis:
        return LandmarkBasis(self.kernel_choice().with_gamma(self.gamma_), self.landmarks_.astype(dtype))

    def objective_value(self, losses: float, n_rows: int) -> float:
        """f = 1/2 |w|^2 + (lam / n_rows) sum_i s_i l_i."""
        norms = self.basis(np.float64).squared_norms(self.coefficients_)
        return float(0.5 * norms.sum() + float(self.value("lam")) * losses / n_rows)

    def _keep(self, state: Any) -> None:
        self.landmarks_, self.coefficients_, self.gamma_ = state.landmarks, state.coefficients, state.gamma
        self.constants_ = state.center

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        super()._restore(arrays, facts, where)
        if self.landmarks_.shape[1] != self.width_:
            raise ValueError(f"landmarks of {self.landmarks_.shape[1]} features for {self.width_}")

    def _solver(
        self, class_weights: NDArray[np.float64] | None, mean_weight: float
    ) -> AbstractCoresetSolver[Any]:
        kind, features = self.kind_of_solver()
        risk = self._risk_for(class_weights, mean_weight)
        n_landmarks, diameter = self.value("n_landmarks"), self.value("diameter")
        if n_landmarks is None and diameter is None:
            n_landmarks = self.usual_landmarks
        made = features(self.kernel_choice(), n_landmarks, self.landmarks, diameter)
        return kind(risk, made, **self.values_of(self.solver_type))

    def _begun(self, solver: AbstractSolver[Any], problem: Problem) -> tuple[AbstractSolver[Any], Problem]:
        return begun_over_features(self, solver, problem)

    def _own_coefficients(self) -> NDArray[np.float64]:
        """Coefficients (r, k) of the kernels at the landmarks."""
        return self.coefficients_

    def kind_of_solver(self) -> tuple[type[AbstractCoresetSolver[Any]], type[AbstractLandmarkFeatures]]:
        """The solver, and the functions of landmarks that it works on."""
        return self.solver_type, Landmarks
