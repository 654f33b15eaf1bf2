"""What the estimators over explicit features share: which features, and how a model of them is kept."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from distkern.bases.base import AbstractBasis
from distkern.bases.random_features import RandomFeatureBasis
from distkern.core.errors import InputError
from distkern.core.sparse import from_arrays, to_arrays
from distkern.estimators.base import AbstractClassifier
from distkern.estimators.estimator import AbstractEstimator
from distkern.kernels import find_kernel, kernel_names
from distkern.kernels.bandwidth import RULES
from distkern.landmarks import find_landmark_rule, landmark_rule_names
from distkern.losses import find_loss
from distkern.losses.base import AbstractLoss
from distkern.samplers import sampler_names
from distkern.solvers.feature_choice import FeatureChoice
from distkern.solvers.kernel_choice import KernelChoice

_DEFAULT_LANDMARKS = 512

#: of the parameters that say which features; an estimator has those that it needs
FEATURE_CONSTRAINTS: dict[str, list[Any]] = {
    "features": [StrOptions({"linear", "random", "landmarks"})],
    "kernel": [StrOptions(set(kernel_names()))],
    "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions(set(RULES))],
    "smoothness": [Interval(Real, 0.5, 9.5, closed="both")],
    "n_features": [Interval(Integral, 1, None, closed="left")],
    "sampler": [StrOptions(set(sampler_names()))],
    "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
    "landmarks": [StrOptions(set(landmark_rule_names()))],
}

#: the parameters that each kind of features takes
_USED = {
    "linear": (),
    "random": ("kernel", "gamma", "smoothness", "kernel_params", "n_features", "sampler"),
    "nystroem": ("kernel", "gamma", "smoothness", "kernel_params", "n_landmarks", "landmarks"),
    "landmarks": ("kernel", "gamma", "smoothness", "n_landmarks", "landmarks"),
}


class AbstractFeatureEstimator(AbstractEstimator):
    """A model that is linear in features of the rows: the rows themselves, random features, or landmarks.

    Subclasses have a parameter ``features`` and those parameters of :data:`FEATURE_CONSTRAINTS` that their
    kinds of features take.

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
        kind = self.features
        self._refuse_unused(kind)
        if kind == "linear":
            return FeatureChoice("linear")
        kernel = KernelChoice(find_kernel(self.kernel), self.gamma, self._kernel_parameters())
        if kind == "random":
            choice = FeatureChoice(kind, kernel, int(self.n_features), self.sampler)
            # refuses a kernel without random features and a number or a sampler that does not suit it
            choice.basis(1, np.dtype(np.float32), np.empty((0, 1)), 1.0, 0)
            return choice
        n_landmarks = _DEFAULT_LANDMARKS if self.n_landmarks is None else int(self.n_landmarks)
        return FeatureChoice(
            kind, kernel, landmarks=find_landmark_rule(self.landmarks)(n_landmarks=n_landmarks)
        )

    def _kernel_parameters(self) -> dict[str, Any]:
        """Parameters of the kernel beside gamma."""
        return {"smoothness": float(self.smoothness)} if self.kernel == "matern" else {}

    def _refuse_unused(self, kind: str) -> None:
        defaults = type(self)().get_params()
        for name in {name for names in _USED.values() for name in names} & set(defaults):
            value = getattr(self, name)
            if name not in _USED[kind] and value != defaults[name]:
                takers = " or ".join(repr(other) for other in self._kinds() if name in _USED[other])
                raise InputError(
                    f"{name}={value!r} has no effect with features={kind!r}", where=name,
                    mend=f"leave {name} out, or set features to {takers}",
                )  # fmt: skip

    def _kinds(self) -> list[str]:
        """The kinds of features that this estimator can have."""
        (choice,) = self._parameter_constraints["features"]
        return [kind for kind in _USED if kind in choice.options]

    def memory_knob(self) -> str:
        if self.features == "linear":
            return "random features (--set features=random) if the columns are many"
        return (
            "fewer landmarks (--set n_landmarks=...)"
            if "n_landmarks" in _USED[self.features]
            else ("fewer features (--set n_features=...)")
        )

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

    def _loss(self) -> AbstractLoss:
        return find_loss(self.loss).from_parameters(theta=float(self.theta), mu=float(self.mu))
