"""What runs ask of an estimator; :class:`distkern.estimators.estimator.AbstractEstimator` explains it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from distkern.bases.base import AbstractBasis
from distkern.common.types import AbstractSource
from distkern.engine.events import Listener
from distkern.engine.executors import AbstractExecutor
from distkern.passes import Outline
from distkern.runs.data import TrainingData
from distkern.solvers.base import AbstractSolver, Problem
from distkern.storage.dataset import Split
from distkern.storage.places import Place
from distkern.storage.preparation import Preparation
from distkern.storage.scaling import Scaling
from distkern.storage.table import Table


class Estimator(Protocol):
    """An estimator that trains on data sets, and predicts once it is fitted."""

    name: ClassVar[str]
    task: ClassVar[str]
    coefficients_: NDArray[np.float64]
    n_features_in_: int
    width_: int
    table_: Table | None
    zero_based_: bool | None
    target_name_: str | None
    scaling_: Scaling | None
    ended_: str
    history_: list[dict[str, Any]]

    # -- to be trained

    def check_parameters(self) -> None: ...

    def memory_hint(self) -> str: ...

    def open_names(self) -> list[str]: ...

    def preparing(self, data: TrainingData, problem: Problem) -> list[Outline]: ...

    def choosing_bytes(self, data: TrainingData) -> int: ...

    def as_read(self, data: TrainingData, split: Split) -> AbstractSource: ...

    def _data_of_split(self, split: Split) -> TrainingData: ...

    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]: ...

    def run_of(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]: ...

    def _identity(self, data: TrainingData, problem: Problem) -> dict[str, Any]: ...

    def fit_with(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        test: Split | None = None,
        executor: AbstractExecutor | None = None,
        listeners: Sequence[Listener] = (),
        checkpoints: Place | None = None,
        resume: bool = False,
    ) -> Any: ...

    # -- to predict

    def basis(self, dtype: DTypeLike = np.float32) -> AbstractBasis: ...

    def applied_basis(self, dtype: DTypeLike = np.float32) -> AbstractBasis: ...

    def predictor(
        self, preparation: Preparation | None, output: str, dtype: np.dtype[Any] | None = None
    ) -> Callable[..., NDArray[Any]]: ...

    def answer(self, output: str) -> Callable[..., NDArray[Any]]: ...
