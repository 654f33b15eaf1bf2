"""The public names of distkern, as type checkers and editors see them.

Written by ``python tests/stub.py``: change the hyperparameters, not this file.
"""

from collections.abc import Sequence
from typing import Any, Literal

from numpy.random import RandomState

from distkern.common.errors import InputError as InputError
from distkern.estimators.auto import KernelClassifier as _KernelClassifier
from distkern.estimators.auto import KernelRegressor as _KernelRegressor
from distkern.estimators.avm import AVMClassifier as _AVMClassifier
from distkern.estimators.cells import CellClassifier as _CellClassifier
from distkern.estimators.cells import CellRegressor as _CellRegressor
from distkern.estimators.csvrg import CSVRGClassifier as _CSVRGClassifier
from distkern.estimators.density_ratio import DSGDensityRatio as _DSGDensityRatio
from distkern.estimators.dsg import DSGClassifier as _DSGClassifier
from distkern.estimators.dsg import DSGRegressor as _DSGRegressor
from distkern.estimators.gaussian_process import DSGGaussianProcessRegressor as _DSGGaussianProcessRegressor
from distkern.estimators.loading import load_model as load_model
from distkern.estimators.newton import NewtonClassifier as _NewtonClassifier
from distkern.estimators.newton import NewtonRegressor as _NewtonRegressor
from distkern.estimators.norma import NORMAClassifier as _NORMAClassifier
from distkern.estimators.norma import NORMARegressor as _NORMARegressor
from distkern.estimators.novelty import DSGNoveltyDetector as _DSGNoveltyDetector
from distkern.estimators.pegasos import PegasosClassifier as _PegasosClassifier
from distkern.estimators.random_features import RandomFeatures as _RandomFeatures
from distkern.estimators.rbcd import RBCDClassifier as _RBCDClassifier
from distkern.estimators.rbcd import RBCDRegressor as _RBCDRegressor
from distkern.estimators.sbmd import SBMDClassifier as _SBMDClassifier
from distkern.estimators.sbmd import SBMDRegressor as _SBMDRegressor
from distkern.estimators.sdca import SDCAClassifier as _SDCAClassifier
from distkern.estimators.sdca import SDCARegressor as _SDCARegressor
from distkern.estimators.simba import SIMBAClassifier as _SIMBAClassifier
from distkern.estimators.svrg import SVRGClassifier as _SVRGClassifier
from distkern.estimators.svrg import SVRGRegressor as _SVRGRegressor
from distkern.kernels import kernel_matrix as kernel_matrix
from distkern.runs.writing import write_dataset as write_dataset
from distkern.search.tuning.search import tune as tune
from distkern.storage.dataset import Dataset as Dataset
from distkern.storage.dataset import open_dataset as open_dataset

__version__: str

__all__ = [
    "AVMClassifier",
    "CSVRGClassifier",
    "CellClassifier",
    "CellRegressor",
    "DSGClassifier",
    "DSGDensityRatio",
    "DSGGaussianProcessRegressor",
    "DSGNoveltyDetector",
    "DSGRegressor",
    "Dataset",
    "InputError",
    "KernelClassifier",
    "KernelRegressor",
    "NORMAClassifier",
    "NORMARegressor",
    "NewtonClassifier",
    "NewtonRegressor",
    "PegasosClassifier",
    "RBCDClassifier",
    "RBCDRegressor",
    "RandomFeatures",
    "SBMDClassifier",
    "SBMDRegressor",
    "SDCAClassifier",
    "SDCARegressor",
    "SIMBAClassifier",
    "SVRGClassifier",
    "SVRGRegressor",
    "__version__",
    "kernel_matrix",
    "load_model",
    "open_dataset",
    "tune",
    "write_dataset",
]

class AVMClassifier(_AVMClassifier):
    """Approximation vector machine: gradients moved to landmarks (Le et al. 2017; Tan et al. 2019)."""

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "squared_hinge"] = 'hinge',
        kernel: Literal["cauchy", "laplacian", "matern", "rbf"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'auto',
        n_landmarks: int | None = None,
        diameter: float | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        lam: Literal["auto"] | float = 'auto',
        stages: int = 10,
        steps_per_stage: int | float | None = None,
        order: Literal["shuffled", "iid"] = 'shuffled',
        projection: bool = True,
        average: bool = True,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        smoothness: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class CSVRGClassifier(_CSVRGClassifier):
    """Kernel machine trained by coreset variance-reduced stochastic gradients (Tan et al. 2019, Algorithm 1)."""

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "squared_hinge"] = 'odm',
        kernel: Literal["cauchy", "laplacian", "matern", "rbf"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'auto',
        n_landmarks: int | None = None,
        diameter: float | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        lam: Literal["auto"] | float = 'auto',
        stages: int = 5,
        steps_per_stage: int | float | None = None,
        step_size: float | None = None,
        option: Literal["mean", "I", "II"] = 'mean',
        order: Literal["shuffled", "iid"] = 'shuffled',
        projection: Literal["span"] | bool = 'span',
        tol: float = 0.01,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        smoothness: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class CellClassifier(_CellClassifier):
    """An exact kernel machine in each cell of the rows, several classes by one-vs-rest."""

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "odm", "squared_hinge"] = 'squared_hinge',
        kernel: Literal["auto", "cauchy", "laplacian", "matern", "rbf"] = 'auto',
        gamma: Literal["median", "scale", "auto"] | float | str = 'auto',
        smoothness: float = 0.5,
        probability: bool = True,
        C: Literal["auto"] | float = 'auto',
        scale: Literal["auto", "none", "standard", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = 'auto',
        search: Literal["full", "quick"] | None = 'full',
        max_cell_rows: Literal["auto"] | int = 'auto',
        overlap: Literal["auto"] | float = 'auto',
        tol: float = 0.05,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class CellRegressor(_CellRegressor):
    """An exact kernel machine in each cell of the rows: f = target_center_ + target_scale_ g, see
    :class:`CellClassifier` for what g minimises."""

    def __init__(
        self,
        *,
        loss: Literal["absolute", "epsilon_insensitive", "huber", "square"] = 'square',
        kernel: Literal["auto", "cauchy", "laplacian", "matern", "rbf"] = 'auto',
        gamma: Literal["median", "scale", "auto"] | float | str = 'auto',
        smoothness: float = 0.5,
        C: Literal["auto"] | float = 'auto',
        scale: Literal["auto", "none", "standard", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = 'auto',
        search: Literal["full", "quick"] | None = 'full',
        max_cell_rows: Literal["auto"] | int = 'auto',
        overlap: Literal["auto"] | float = 'auto',
        tol: float = 0.05,
        random_state: int | RandomState | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class DSGClassifier(_DSGClassifier):
    """Kernel classifier by doubly stochastic gradients (Dai et al. 2014; variants of Li and Poczos 2016)."""

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"] = 'logistic',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        step_size: float | None = None,
        step_decay: float = 0.02,
        n_features: int = 16384,
        block_size: int = 512,
        batch_size: int = 4096,
        nu: Literal["auto"] | float = 1e-06,
        variant: Literal["dsg", "udsg", "cdsg"] = 'dsg',
        udsg_pattern: float | Sequence[float] = (1, 1),
        largest_reuse: float = 4.0,
        feature_variance: float = 1.0,
        precondition: bool = True,
        damping: float | None = None,
        average: bool = True,
        polish: Literal["exact"] | None = None,
        stages: int = 10,
        steps_per_stage: int | float | None = None,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class DSGDensityRatio(_DSGDensityRatio):
    """f = log(p/q) of two samples by doubly stochastic functional gradients (Dai et al. 2014, Section 4)."""

    def __init__(
        self,
        *,
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale"] | float | str = 'scale/0.5',
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        step_size: float | None = None,
        step_decay: float = 0.02,
        cap: float = 8.0,
        n_features: int = 2048,
        block_size: int = 256,
        batch_size: int = 4096,
        nu: float = 0.0001,
        variant: Literal["dsg", "udsg", "cdsg"] = 'dsg',
        udsg_pattern: float | Sequence[float] = (1, 1),
        largest_reuse: float = 4.0,
        feature_variance: float = 1.0,
        precondition: bool = True,
        damping: float | None = None,
        average: bool = True,
        stages: int = 10,
        steps_per_stage: int | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        random_state: int | RandomState | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class DSGGaussianProcessRegressor(_DSGGaussianProcessRegressor):
    """Gaussian process regressor over random features, whose predictions have standard deviations."""

    def __init__(
        self,
        *,
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'auto',
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'quasi_monte_carlo',
        step_size: float | None = None,
        step_decay: float = 0.02,
        n_features: int = 2048,
        block_size: int = 256,
        batch_size: int = 4096,
        variant: Literal["dsg", "udsg", "cdsg"] = 'dsg',
        udsg_pattern: float | Sequence[float] = (1, 1),
        largest_reuse: float = 4.0,
        feature_variance: float = 1.0,
        precondition: bool = True,
        damping: float | None = None,
        average: bool = True,
        stages: int = 10,
        steps_per_stage: int | float | None = None,
        noise: float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class DSGNoveltyDetector(_DSGNoveltyDetector):
    """Novelty detector by doubly stochastic functional gradients (Dai et al. 2014, Section 4)."""

    def __init__(
        self,
        *,
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale"] | float | str = 'scale',
        sampler: Literal["auto", "fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'auto',
        step_size: float | None = None,
        step_decay: float = 0.02,
        n_features: int | None = None,
        block_size: int = 256,
        batch_size: int = 4096,
        nu: float = 0.1,
        variant: Literal["dsg", "udsg", "cdsg"] = 'dsg',
        udsg_pattern: float | Sequence[float] = (1, 1),
        largest_reuse: float = 4.0,
        feature_variance: float = 1.0,
        precondition: bool = True,
        damping: float | None = None,
        average: bool = True,
        polish: Literal["auto", "exact"] | None = 'auto',
        stages: int = 10,
        steps_per_stage: int | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        random_state: int | RandomState | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class DSGRegressor(_DSGRegressor):
    """Kernel regressor by doubly stochastic gradients (Dai et al. 2014; variants of Li and Poczos 2016)."""

    def __init__(
        self,
        *,
        loss: Literal["absolute", "epsilon_insensitive", "huber", "quantile", "square"] = 'square',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        step_size: float | None = None,
        step_decay: float = 0.02,
        n_features: int = 16384,
        block_size: int = 512,
        batch_size: int = 4096,
        nu: Literal["auto"] | float = 1e-06,
        variant: Literal["dsg", "udsg", "cdsg"] = 'dsg',
        udsg_pattern: float | Sequence[float] = (1, 1),
        largest_reuse: float = 4.0,
        feature_variance: float = 1.0,
        precondition: bool = True,
        damping: float | None = None,
        average: bool = True,
        polish: Literal["exact"] | None = None,
        stages: int = 10,
        steps_per_stage: int | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        quantiles: float | Sequence[float] | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class KernelClassifier(_KernelClassifier):
    """The classifier that suits the data: the package chooses the algorithm and says which and why."""

    def __init__(
        self,
        *,
        algorithm: Literal["auto", "cells", "newton", "svrg", "dsg"] = 'auto',
        search: Literal["full", "quick"] | None = 'full',
        memory_limit: int | None = None,
        settings: dict[Any, Any] | None = None,
        probability: bool = True,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class KernelRegressor(_KernelRegressor):
    """The regressor that suits the data, see :class:`KernelClassifier`."""

    def __init__(
        self,
        *,
        algorithm: Literal["auto", "cells", "newton", "svrg", "dsg"] = 'auto',
        search: Literal["full", "quick"] | None = 'full',
        memory_limit: int | None = None,
        settings: dict[Any, Any] | None = None,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class NORMAClassifier(_NORMAClassifier):
    """Kernel classifier by stochastic functional gradients (Dai et al. 2014, Table 2: NORMA)."""

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"] = 'logistic',
        features: Literal["kernel", "landmarks", "linear", "nystroem", "random"] = 'kernel',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        max_support: int = 20000,
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        nu: Literal["auto"] | float = 'auto',
        step_size: float | None = None,
        step_decay: float | None = None,
        batch_size: int = 1,
        stages: int = 4,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class NORMARegressor(_NORMARegressor):
    """Kernel regressor by stochastic functional gradients."""

    def __init__(
        self,
        *,
        loss: Literal["absolute", "epsilon_insensitive", "huber", "quantile", "square"] = 'square',
        features: Literal["kernel", "landmarks", "linear", "nystroem", "random"] = 'kernel',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        max_support: int = 20000,
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        nu: Literal["auto"] | float = 'auto',
        step_size: float | None = None,
        step_decay: float | None = None,
        batch_size: int = 1,
        stages: int = 4,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        quantiles: float | Sequence[float] | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class NewtonClassifier(_NewtonClassifier):
    """Linear classifier over features of a kernel, by Newton's method on summed Gram matrices."""

    def __init__(
        self,
        *,
        loss: Literal["least_squares", "logistic", "odm", "softmax", "squared_hinge"] = 'logistic',
        features: Literal["nystroem", "landmarks", "linear", "random"] = 'nystroem',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'auto',
        n_landmarks: int = 1024,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        nu: Literal["auto"] | float = 'auto',
        stages: int = 10,
        tol: float = 0.001,
        hessian: Literal["auto", "matrix", "products"] = 'auto',
        memory_limit: int | None = None,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class NewtonRegressor(_NewtonRegressor):
    """Linear regressor over features of a kernel, by Newton's method on summed Gram matrices."""

    def __init__(
        self,
        *,
        loss: Literal["huber", "square"] = 'square',
        features: Literal["nystroem", "landmarks", "linear", "random"] = 'nystroem',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'auto',
        n_landmarks: int = 1024,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        nu: Literal["auto"] | float = 'auto',
        stages: int = 10,
        tol: float = 0.001,
        hessian: Literal["auto", "matrix", "products"] = 'auto',
        memory_limit: int | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        delta: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class PegasosClassifier(_PegasosClassifier):
    """Linear support vector machine on rows, random features or landmarks, by Pegasos."""

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "squared_hinge"] = 'hinge',
        features: Literal["linear", "landmarks", "nystroem", "random"] = 'linear',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        lam: Literal["auto"] | float = 0.0001,
        batch_size: int = 1,
        stages: int = 5,
        steps_per_stage: int | float | None = None,
        projection: bool = True,
        averaging: int | None = 3,
        fit_intercept: bool = True,
        order: Literal["shuffled", "iid"] = 'shuffled',
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class RBCDClassifier(_RBCDClassifier):
    """Linear classifier over features of a kernel, by random block coordinate descent (Dai et al. 2014)."""

    def __init__(
        self,
        *,
        loss: Literal["least_squares", "logistic", "odm", "softmax", "squared_hinge"] = 'logistic',
        features: Literal["random", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: float = 1e-06,
        block_size: int = 256,
        precondition: bool = True,
        stages: int = 30,
        tol: float = 0.0001,
        order: Literal["shuffled", "iid"] = 'shuffled',
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class RBCDRegressor(_RBCDRegressor):
    """Linear regressor over features of a kernel, by block coordinate descent."""

    def __init__(
        self,
        *,
        loss: Literal["huber", "square"] = 'square',
        features: Literal["random", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: float = 1e-06,
        block_size: int = 256,
        precondition: bool = True,
        stages: int = 30,
        tol: float = 0.0001,
        order: Literal["shuffled", "iid"] = 'shuffled',
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        delta: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class RandomFeatures(_RandomFeatures):
    """Explicit features z(x) with E[z(x) . z(y)] = k(x, y), for any linear model."""

    def __init__(
        self,
        *,
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        n_features: int = 1024,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        random_state: int | RandomState | None = 0,
        gamma: Literal["median", "scale"] | float | str | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
    ) -> None: ...


class SBMDClassifier(_SBMDClassifier):
    """Linear classifier on a kernel's features by stochastic block mirror descent (Dai et al. 2014, Table 2)."""

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"] = 'logistic',
        features: Literal["random", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: Literal["auto"] | float = 'auto',
        batch_size: int | None = None,
        block_size: int = 512,
        step_size: float | None = None,
        precondition: bool | None = None,
        stages: int = 20,
        steps_per_stage: int | float | None = None,
        averaging: int | None = 3,
        order: Literal["shuffled", "iid"] = 'shuffled',
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class SBMDRegressor(_SBMDRegressor):
    """Linear regressor over features of a kernel, by stochastic block mirror descent."""

    def __init__(
        self,
        *,
        loss: Literal["absolute", "epsilon_insensitive", "huber", "quantile", "square"] = 'square',
        features: Literal["random", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: Literal["auto"] | float = 'auto',
        batch_size: int | None = None,
        block_size: int = 512,
        step_size: float | None = None,
        precondition: bool | None = None,
        stages: int = 20,
        steps_per_stage: int | float | None = None,
        averaging: int | None = 3,
        order: Literal["shuffled", "iid"] = 'shuffled',
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        quantiles: float | Sequence[float] | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class SDCAClassifier(_SDCAClassifier):
    """Linear classifier on features of a kernel by dual coordinate ascent (Dai et al. 2014, Table 2)."""

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "squared_hinge"] = 'logistic',
        features: Literal["random", "kernel", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        max_support: int = 20000,
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: Literal["auto"] | float = 'auto',
        stages: int = 20,
        tol: float = 0.001,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class SDCARegressor(_SDCARegressor):
    """Linear regressor over features of a kernel, by stochastic dual coordinate ascent."""

    def __init__(
        self,
        *,
        loss: Literal["absolute", "epsilon_insensitive", "huber", "square"] = 'square',
        features: Literal["random", "kernel", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        max_support: int = 20000,
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: Literal["auto"] | float = 'auto',
        stages: int = 20,
        tol: float = 0.001,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class SIMBAClassifier(_SIMBAClassifier):
    """Linear support vector machine learned from single rows and columns (Hazan et al. 2011, Algorithm 1)."""

    def __init__(
        self,
        *,
        features: Literal["linear", "random"] = 'linear',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        nu: Literal["auto"] | float = 'auto',
        fit_intercept: bool = True,
        max_rounds: int = 20000,
        max_feature_accesses: float | None = None,
        rows_per_round: int = 4,
        columns_per_round: int = 1,
        selection_every: int = 16,
        averaging: int = 2,
        stages: int = 10,
        validation_fraction: float = 0.1,
        patience: int | None = 5,
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        random_state: int | RandomState | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class SVRGClassifier(_SVRGClassifier):
    """Linear classifier on a kernel's features by variance-reduced gradients (Li and Poczos 2016, Section 5)."""

    def __init__(
        self,
        *,
        loss: Literal["hinge", "least_squares", "logistic", "odm", "softmax", "squared_hinge"] = 'logistic',
        features: Literal["random", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: Literal["auto"] | float = 'auto',
        batch_size: int | None = None,
        steps_per_stage: int | float | None = None,
        step_size: float | None = None,
        precondition: bool | None = None,
        damping: float | None = None,
        stages: int = 10,
        tol: float = 0.001,
        order: Literal["shuffled", "iid"] = 'shuffled',
        class_weight: Literal["balanced"] | dict[Any, Any] | None = None,
        threshold: Literal["balanced"] | float | None = None,
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        theta: float | None = None,
        mu: float | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...


class SVRGRegressor(_SVRGRegressor):
    """Linear regressor over features of a kernel, by variance-reduced stochastic gradients."""

    def __init__(
        self,
        *,
        loss: Literal["absolute", "epsilon_insensitive", "huber", "quantile", "square"] = 'square',
        features: Literal["random", "landmarks", "linear", "nystroem"] = 'random',
        kernel: Literal["arc_cosine", "cauchy", "chi2", "dot_product", "exponential_semigroup", "hellinger", "intersection", "jensen_shannon", "laplacian", "matern", "polynomial", "rbf", "reciprocal_semigroup", "skewed_chi2", "skewed_intersection"] = 'rbf',
        gamma: Literal["median", "scale", "auto"] | float | str = 'scale',
        n_features: int = 2048,
        sampler: Literal["fastfood", "monte_carlo", "orthogonal", "quasi_monte_carlo"] = 'monte_carlo',
        n_landmarks: int | None = None,
        landmarks: Literal["coverage", "uniform"] = 'uniform',
        nu: Literal["auto"] | float = 'auto',
        batch_size: int | None = None,
        steps_per_stage: int | float | None = None,
        step_size: float | None = None,
        precondition: bool | None = None,
        damping: float | None = None,
        stages: int = 10,
        tol: float = 0.001,
        order: Literal["shuffled", "iid"] = 'shuffled',
        scale: Literal["auto", "none", "standard", "minmax", "maxabs", "normal", "ranks"] = 'auto',
        metric: Literal["auto", "diagonal", "interactions", "full"] | None = None,
        random_state: int | RandomState | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        quantiles: float | Sequence[float] | None = None,
        degree: int | None = None,
        coefficients: Sequence[float] | None = None,
        rate: float | None = None,
        smoothness: float | None = None,
        offset: float | None = None,
        dtype: Literal["auto", "float32", "float64"] = 'auto',
    ) -> None: ...
