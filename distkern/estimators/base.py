"""What the estimators share: validation, fitting through the driver, prediction.

To add an estimator, write a file in this folder with a class that derives from
:class:`AbstractKernelClassifier`, gives itself a ``name`` (what ``--algorithm`` takes), and implements
``_solver``; the command line and the contract tests pick it up.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from distkern.bases.landmarks import LandmarkBasis
from distkern.core import blas
from distkern.core.errors import InputError
from distkern.core.sparse import Rows, SparseRows, converted
from distkern.core.types import Floats
from distkern.engine.checkpoint import CheckpointFolder
from distkern.engine.drive import Driver
from distkern.engine.events import EventLog, Listener
from distkern.engine.executors import AbstractExecutor, open_executor
from distkern.engine.executors.arrays import DaskArraySource, is_dask, map_rows, map_source
from distkern.engine.plan import Extent, plan_reduce
from distkern.estimators.data import (
    DESCRIBE,
    TrainingData,
    from_arrays,
    from_described,
    from_split,
)
from distkern.kernels import find_kernel
from distkern.solvers.base import AbstractSolver, Problem
from distkern.storage.dataset import Split
from distkern.storage.scaling import Scaling

_FEW_BYTES = 16 * 2**20


class AbstractKernelClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier f(x) = sum_k coef_k k(x, c_k), binary or one-vs-rest.

    Fitted attributes
    -----------------
    classes_ : (n_classes,) label values
    landmarks_ : (r, n_features) array, or :class:`~distkern.core.sparse.SparseRows` if it was fitted on
    sparse rows coef_ : (r, n_outputs) float64, n_outputs = 1 for two classes
    gamma_ : the kernel's gamma
    n_features_in_ : d
    n_iter_ : stages done
    history_ : list of dict, one line of figures for each stage
    scaling_ : of the data set it was fitted on, applied to arrays given to ``predict``; None for arrays
    """

    name: ClassVar[str]
    _parameter_constraints: ClassVar[dict[str, list[Any]]]

    @abstractmethod
    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> AbstractSolver[Any]:
        """The solver with this estimator's hyperparameters."""

    def fit(self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to arrays, Dask arrays or the training split of a data set.

        Parameters
        ----------
        X : (n_rows, n_features) array, sparse matrix of SciPy or Dask array, or
        ``open_dataset(path).train``, which has its own labels y : (n_rows,) labels, for arrays
        sample_weight : (n_rows,) weights s_i >= 0 of the losses, for arrays; the objective divides by their
        sum

        Returns
        -------
        self

        Raises
        ------
        InputError or ValueError
            If a hyperparameter, a number or a label is not usable; the message names it.
        """
        return self.fit_with(X, y, sample_weight)

    def fit_with(
        self, X: Any, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, *,
        test: Split | None = None, executor: AbstractExecutor | None = None, listeners: Sequence[Listener] =
        (), checkpoints: Path | None = None, resume: bool = False,
    ) -> Self:  # fmt: skip
        """Fit, with a test split to measure after each stage, a given executor, listeners and checkpoints."""
        self.check_parameters()
        with ExitStack() as stack:
            stack.enter_context(blas.single_threaded())
            data, executor = self._prepare(X, y, sample_weight, executor, stack)
            if len(data.classes) < 2:
                raise InputError(
                    f"the training data has one class only ({data.classes.tolist()})", where="y",
                    mend="a classifier needs at least 2 classes",
                )  # fmt: skip
            solver, problem = self.problem(data, has_test=test is not None)
            sources = {"train": data.source} | ({} if test is None else {"test": test})
            folder = None
            if checkpoints is not None:
                folder = CheckpointFolder(checkpoints, self._identity(data, problem))
            driver = Driver(sources, executor, EventLog(listeners), folder)
            outcome = driver.run(solver, problem, resume=resume)
        state = outcome.state
        self.classes_ = data.classes
        self.n_features_in_ = problem.n_features
        self.landmarks_, self.coef_, self.gamma_ = state.landmarks, state.coefficients, state.gamma
        self.n_iter_, self.history_, self.scaling_ = state.stage, outcome.history, data.scaling
        return self

    def check_parameters(self) -> None:
        """Refuse hyperparameters of the wrong kind or out of range.

        Raises
        ------
        InputError
            Naming the hyperparameter and its range.
        """
        try:
            self._validate_params()
        except InvalidParameterError as error:
            raise InputError(str(error).rstrip(".")) from None
        self._solver(None, 1.0)

    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        """The solver and the sizes of the problem it is given."""
        class_weights = self.class_weights_ = self._class_weights(data)
        factors = np.ones(len(data.classes)) if class_weights is None else class_weights
        mean_weight = float(data.class_totals @ factors) / data.source.n_rows
        self.mean_weight_ = mean_weight
        solver = self._solver(class_weights, mean_weight)
        problem = Problem(
            block_rows=data.source.block_rows,
            n_features=data.source.n_features,
            n_outputs=1 if len(data.classes) == 2 else len(data.classes),
            dtype=data.source.dtype,
            has_test=has_test,
            seed=self._seed(),
            max_relative_weight=float((data.class_largest * factors).max()) / mean_weight,
            sparse_numbers=data.source.row_numbers if data.source.is_sparse else None,
        )
        return solver, problem

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, executor: AbstractExecutor | None, stack: ExitStack
    ) -> tuple[TrainingData, AbstractExecutor]:
        if isinstance(X, Split):
            if y is not None or sample_weight is not None:
                raise InputError(
                    "a data set's split has its own labels", where="fit", mend="give the split alone"
                )
            return from_split(X), executor or stack.enter_context(open_executor())
        if is_dask(X, y, sample_weight):
            self._check_dask(X, y)
            executor = executor or stack.enter_context(open_executor())
            raw = DaskArraySource(X, y, sample_weight)
            plan = plan_reduce(DESCRIBE, Extent.of(raw), executor.machine)
            described = executor.reduce(DESCRIBE, plan, raw, lambda done: None).value
            return from_described(raw, described), executor
        raw, labels = validate_data(
            self, X, y, dtype=[np.float64, np.float32], order="C", accept_sparse="csr"
        )
        features: Rows = SparseRows.of_scipy(raw) if issparse(raw) else raw
        check_classification_targets(labels)
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, raw, dtype=np.float64)
        data = from_arrays(features, labels, weights)
        # rows in this process are not worth sending to another one
        few = features.nbytes < _FEW_BYTES
        return data, executor or stack.enter_context(open_executor("synchronous" if few else "threads"))

    def _check_dask(self, X: Any, y: Any) -> None:
        if y is None:
            raise InputError("y is missing", where="fit", mend="give labels with Dask arrays")
        if hasattr(X, "columns"):
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)

    def _class_weights(self, data: TrainingData) -> NDArray[np.float64] | None:
        weighting = getattr(self, "class_weight", None)
        if weighting is None:
            return None
        if isinstance(weighting, str):
            balanced: NDArray[np.float64] = data.class_totals.sum() / (len(data.classes) * data.class_totals)
            return balanced
        weights = np.ones(len(data.classes))
        labels = data.classes.tolist()
        for label, weight in weighting.items():
            if label not in labels:
                raise InputError(
                    f"class {label!r} is not in the data", where="class_weight", mend=f"classes: {labels}"
                )
            weights[labels.index(label)] = float(weight)
        return weights

    def _seed(self) -> int:
        random_state = getattr(self, "random_state", None)
        if isinstance(random_state, (int, np.integer)):
            return int(random_state)
        return int(check_random_state(random_state).randint(2**31))

    def _identity(self, data: TrainingData, problem: Problem) -> dict[str, Any]:
        return {
            "algorithm": self.name,
            "data set": data.source.fingerprint,
            "seed": problem.seed,
            "test split": problem.has_test,
            **{name: value for name, value in self.get_params().items() if name != "random_state"},
        }

    # -- prediction

    def decision_function(self, X: Any) -> Any:
        """f(x): (n_rows,) for two classes, else (n_rows, n_classes); lazy for Dask arrays and splits."""
        n_outputs = None if len(self._fitted().classes_) == 2 else len(self.classes_)
        return self._map(X, "decision", np.float64, n_outputs)

    def predict(self, X: Any) -> Any:
        """Labels (n_rows,); lazy for Dask arrays and splits."""
        return self._map(X, "label", self._fitted().classes_.dtype, None)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy on arrays, or on a split of a data set, which has its own labels."""
        if isinstance(X, Split):
            from distkern.estimators.evaluation import evaluate_split

            with open_executor() as executor:
                return float(evaluate_split(self._fitted(), X, executor)["accuracy"])
        predicted = self.predict(X)
        if is_dask(predicted, y):
            matches = predicted == y
            if sample_weight is None:
                return float(matches.mean())
            return float((matches * sample_weight).sum() / sample_weight.sum())
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, predicted, sample_weight=sample_weight))

    def basis(self, dtype: Any = np.float32) -> LandmarkBasis:
        """The fitted basis, computing in ``dtype``."""
        kernel = find_kernel(self.kernel).from_parameters(gamma=self.gamma_, **self.kernel_parameters())
        return LandmarkBasis(kernel, self.landmarks_.astype(dtype))

    def kernel_parameters(self) -> dict[str, Any]:
        """Parameters of the kernel beside gamma."""
        return {"smoothness": self.smoothness} if self.kernel == "matern" else {}

    def predictor(self, scaling: Scaling | None, output: str) -> partial[NDArray[Any]]:
        """A picklable function of features (n, d): scales them, gives "decision" values or a "label" each."""
        return partial(
            predict_rows,
            self.basis(np.float32),
            self.basis(np.float64),
            self.coef_,
            self.classes_,
            scaling,
            output,
        )

    def scaling_for(self, split: Split) -> Scaling | None:
        """What is still to be done to a split's stored rows: nothing if it was scaled as the training rows
        were.

        Raises
        ------
        InputError
            If the split has another number of features or was scaled in another way.
        """
        if split.n_features != self.n_features_in_:
            raise InputError(
                f"{split.n_features} features where the model has {self.n_features_in_}",
                where=str(split.dataset.path), mend="predict on data with the columns of the training data",
            )  # fmt: skip
        own: Scaling | None = self.scaling_
        stored = split.dataset.scaling
        if own is None or stored == own:
            return None
        if stored.kind == "none":
            return own
        raise InputError(
            f"its rows are stored scaled ({stored.kind}), not as the model's training rows were ({own.kind})",
            where=str(split.dataset.path), mend="shard it with --scale none: the model will scale them",
        )  # fmt: skip

    def _map(self, X: Any, output: str, dtype: Any, n_columns: int | None) -> Any:
        self._fitted()
        if isinstance(X, Split):
            return map_source(self.predictor(self.scaling_for(X), output), X, dtype, n_columns)
        function = self.predictor(self.scaling_, output)
        if is_dask(X):
            return map_rows(function, X, dtype, n_columns)
        features = validate_data(
            self, X, dtype=[np.float64, np.float32], order="C", reset=False, accept_sparse="csr"
        )
        return function(SparseRows.of_scipy(features) if issparse(features) else features)

    def _fitted(self) -> Self:
        check_is_fitted(self, "coef_")
        return self

    def save(self, path: str | Path) -> None:
        """Write a model folder that :func:`distkern.load_model` reads; see there for what it holds."""
        from distkern.estimators.persistence import save_model

        save_model(self._fitted(), Path(path))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def predict_rows(
    single: LandmarkBasis, double: LandmarkBasis, coefficients: Floats, classes: NDArray[Any],
    scaling: Scaling | None, output: str, features: Any,
) -> NDArray[Any]:  # fmt: skip
    """Decision values or labels of rows, computed in the rows' own precision, threads pinned."""
    values: Rows = features if isinstance(features, SparseRows) else np.asarray(features)
    dtype = values.dtype if values.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    if values.ndim != 2 or values.shape[1] != single.landmarks.shape[1]:
        raise InputError(
            f"X has {values.shape[-1]} features, but the model expects {single.landmarks.shape[1]} features",
            where="X",
        )
    if scaling is not None:
        values = scaling.apply_rows(values, dtype)
    basis = single if dtype == np.float32 else double
    with blas.single_threaded():
        rows = converted(values.astype(dtype), sparse=isinstance(values, SparseRows))
        decision = basis.combine(rows, coefficients).astype(np.float64)
    if len(classes) == 2:
        decision = decision[:, 0]
    if output == "decision":
        return decision
    codes = (decision > 0).astype(np.intp) if len(classes) == 2 else decision.argmax(axis=1)
    labels: NDArray[Any] = classes[codes]
    return labels
