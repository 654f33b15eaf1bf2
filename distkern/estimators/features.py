"""What the estimators over explicit features share: which features, and how a model of them is kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from distkern.bases.base import AbstractBasis
from distkern.bases.random_features import RandomFeatureBasis
from distkern.core.sparse import from_arrays, to_arrays
from distkern.estimators.base import AbstractClassifier
from distkern.estimators.estimator import AbstractEstimator
from distkern.landmarks import find_landmark_rule
from distkern.solvers.feature_choice import FeatureChoice
from distkern.solvers.hyperparameters import (
    DEFAULT_LANDMARKS,
)


class AbstractFeatureEstimator(AbstractEstimator):
    """A model that is linear in features of the rows: the rows themselves, random features, or landmarks.

    Subclasses have the hyperparameters of :func:`feature_parameters`.

    Fitted attributes
    -----------------
    gamma_ : the kernel's gamma; 1 for linear features and for kernels without one
    landmarks_ : (n_landmarks, n_features), without rows unless ``features`` are made of landmarks
    seed_ : of the random features
    """

    def feature_choice(self) -> FeatureChoice:
        """The features, before any row is read.

        Raises
        ------
        InputError
            If a parameter has been given that features of this kind do not take, or the kernel does not suit.
        """
        kind = self.value("features")
        if kind == "linear":
            return FeatureChoice("linear")
        kernel = self.kernel_choice()
        if kind == "random":
            choice = FeatureChoice(kind, kernel, self.value("n_features"), self.value("sampler"))
            # refuses a kernel without random features and a number or a sampler that does not suit it
            choice.basis(1, np.dtype(np.float32), np.empty((0, 1)), 1.0, 0)
            return choice
        count = self.value("n_landmarks") or DEFAULT_LANDMARKS
        return FeatureChoice(kind, kernel, landmarks=find_landmark_rule(self.landmarks)(n_landmarks=count))

    def memory_knob(self) -> str:
        if self.features == "linear":
            return "random features (--set features=random) if the columns are many"
        return super().memory_knob() if self.features != "random" else "fewer features (--set n_features=...)"

    def basis(self, dtype: DTypeLike = np.float32) -> AbstractBasis:
        return self.feature_choice().basis(
            self.n_features_in_, np.dtype(dtype), self.landmarks_, self.gamma_, self.seed_, sparse_rows=True
        )

    def _keep(self, state: Any) -> None:
        self.landmarks_, self.gamma_ = state.landmarks, state.gamma
        self.coef_, self.intercept_ = state.coefficients, state.intercept

    def _arrays(self) -> dict[str, NDArray[Any]]:
        arrays = super()._arrays()
        return to_arrays("landmarks", self.landmarks_) | arrays if len(self.landmarks_) else arrays

    def _facts(self) -> dict[str, Any]:
        basis = self.basis(np.float32)
        digest = basis.digest() if isinstance(basis, RandomFeatureBasis) else None
        return {"gamma": float(self.gamma_), "seed": int(self.seed_), "features": digest}

    def _restore(self, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], where: str) -> None:
        super()._restore(arrays, facts, where)
        self.gamma_, self.seed_ = float(facts["gamma"]), int(facts["seed"])
        has_landmarks = any(name.startswith("landmarks") for name in arrays)
        self.landmarks_ = (
            from_arrays("landmarks", arrays) if has_landmarks else np.empty((0, self.n_features_in_))
        )
        basis = self.basis(np.float32)
        if isinstance(basis, RandomFeatureBasis):
            basis.check_digest(facts["features"], written_with=facts["numpy-version"], where=where)


class AbstractFeatureClassifier(AbstractFeatureEstimator, AbstractClassifier):
    """A classifier that is linear in features of the rows."""
