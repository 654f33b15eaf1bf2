"""What all estimators share: validation, fitting through the driver, prediction, saving.

An estimator is a model f(x) = basis(x) @ coefficients_ + constants_. To add one, write a file in this folder
with a class that derives from :class:`~distkern.estimators.base.AbstractClassifier` or
:class:`~distkern.estimators.base.AbstractRegressor`, says its ``solver`` (see
:class:`~distkern.estimators.declared.HyperparameterMixin`), declares what ``fit`` leaves and which of it a
model's files hold, and implements ``_solver``, ``basis``, ``_keep`` and ``objective_value``; the command line
and the contract tests pick it up.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from distkern.bases.base import AbstractBasis, MappedBasis
from distkern.common.errors import InputError
from distkern.common.python_words import in_python, warn
from distkern.common.types import AbstractSource, Block, Floats
from distkern.estimators.declared import HyperparameterMixin, fitted
from distkern.estimators.kept import kept
from distkern.estimators.pickled import Pickled
from distkern.estimators.updatable import Updatable
from distkern.estimators.weighted import Weighted
from distkern.maps.mapping import RowMap, map_from_arrays, map_to_arrays
from distkern.monitor.explanation import Explanation
from distkern.monitor.history import History
from distkern.runs.framed import described
from distkern.runs.given import rows_for
from distkern.runs.prediction import answer_of, predict_rows
from distkern.solvers.hyperparameters import DTYPE
from distkern.solvers.risk import Risk
from distkern.storage.places import Location, Place, place_of
from distkern.storage.scaling import Scaling
from distkern.storage.table import Table

if TYPE_CHECKING:
    from distkern.engine.checkpoint import RunWorkplace
    from distkern.engine.ending import Callback
    from distkern.maps.mapping import MapChoice
    from distkern.passes import Outline
    from distkern.runs.data import TrainingData
    from distkern.solvers.base import AbstractSolver, Problem
    from distkern.storage.dataset import Split
    from distkern.storage.preparation import Preparation

#: of the arrays of a model that are its map's
_OF_MAP = "map."


class AbstractEstimator(Updatable, Weighted, Pickled, HyperparameterMixin, BaseEstimator):  # type: ignore[misc]
    """A model f(x) = basis(x) @ coefficients_ + constants_ that a solver fits."""

    everywhere: ClassVar = {"dtype": DTYPE}
    #: of the data sets it learns from
    task: ClassVar[str] = "classification"
    #: single rows are drawn from all of them at any time, so it does not matter where they are
    draws_any_row: ClassVar[bool] = False
    folders: ClassVar[tuple[str, ...]] = ()

    coefficients_: NDArray[np.float64] = fitted(
        "(size, n_outputs) weights of the basis functions, in their order", array="coefficients"
    )
    constants_: NDArray[np.float64] = fitted("(n_outputs,) what is added to them", array="intercept")
    n_features_in_: int = fitted("columns of what it was fitted on")
    feature_names_in_: NDArray[Any] = fitted("(n_features_in_,) their names, where it had some")
    table_: Table | None = fitted(
        "how they became features, where they were not mere numbers, see "
        ":class:`~distkern.storage.table.Table`; else None",
        default=None,
    )
    target_name_: str | None = fitted(
        "of the column that held the target, where it was fitted on a data set of a table"
    )
    zero_based_: bool | None = fitted(
        "whether indices of svmlight files start at 0, where it was fitted on a data set", default=None
    )
    seed_: int = fitted("of every random choice that was made", fact="seed", write=int, read=int)
    n_iter_: int = fitted("stages done, of the model that is kept")
    history_: History = fitted(
        ":class:`~distkern.monitor.history.History`, a list of dict, a line of figures for each stage"
    )
    found_: Mapping[str, Any] = fitted(
        'what was chosen for hyperparameters that were "auto", by name', default=MappingProxyType({})
    )
    importances_: Explanation | None = fitted(
        ":class:`~distkern.monitor.explanation.Explanation` of a model that ``distkern train`` has made, "
        "or None",
        default=None,
    )
    ended_: str = fitted(
        'why: "converged" (a bound shows that the objective is within ``tol`` (f(0) - f) of its minimum), '
        '"stages used up", "diverged", "stopped early", "stopped by a callback", or the rule by which the '
        'solver stopped otherwise: "patience: ..." or "settled: ..."'
    )
    updates_: tuple[dict[str, Any], ...] = fitted(
        "of each of the last hundred updates its ``number``, its ``rows``, the error on them ``before`` and "
        "``after``, and their ``drift``: how many columns have numbers outside the ranges of before, "
        "and which most; None where these are not known",
        default=(),
    )
    map_: RowMap | None = fitted(
        "of rows that are scaled, in front of the basis, where ``metric`` or ``scale`` ask for one, or None",
        default=None,
    )
    scaling_: Scaling | None = fitted(
        "of the data set it was fitted on, or what ``scale`` has chosen; applied to what is given to "
        "``predict``. ``coefficients_`` apply to scaled rows. None where nothing is scaled"
    )
    dtype_: np.dtype[Any] | None = fitted(
        "of the rows that it was fitted to, which those that are given to ``predict`` are brought to; None "
        "for a stored model that does not say, whose rows are predicted in their own precision",
        default=None,
    )
    mean_weight_: float = fitted("mean of the rows' weights, which the weights of the losses are divided by")
    class_weights_: NDArray[np.float64] | None = fitted(
        "(n_classes,) weight of each class, or None", default=None
    )
    class_shares_: NDArray[np.float64] | None = fitted(
        "(n_classes,) of the training rows by ``sample_weight``, or None", default=None
    )

    # -- what an estimator is made of

    @abstractmethod
    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> AbstractSolver[Any]:
        """The solver with this estimator's hyperparameters; refuses those that do not go together."""

    @abstractmethod
    def n_outputs(self, n_classes: int = 2) -> int:
        """Outputs of the model, of a classifier those of so many classes."""

    @abstractmethod
    def basis(self, dtype: DTypeLike = np.float32) -> AbstractBasis:
        """The fitted basis, computing in ``dtype``."""

    @abstractmethod
    def _keep(self, state: Any) -> None:
        """Take ``coefficients_``, ``constants_`` and what the basis needs from the solver's last state.

        ``n_features_in_``, ``seed_`` and what is known of the targets have been set.
        """

    def _take_parts(self, state: Any, workplace: RunWorkplace) -> None:
        """Take what the tasks of the run stored, before the workplace closes, where that is the model's."""

    def _save_parts(self, folder: Place) -> None:
        """Write that to :attr:`folders` in the folder of a model, if it is not there."""

    def map_arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that a model folder holds of the map."""
        parts = {} if self.map_ is None else map_to_arrays(self.map_)
        return {f"{_OF_MAP}{name}": array for name, array in parts.items()}

    def take_map(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what :meth:`map_arrays` gave."""
        parts = {key.removeprefix(_OF_MAP): array for key, array in arrays.items() if key.startswith(_OF_MAP)}
        self.map_ = map_from_arrays(parts) if parts else None

    def risk(self) -> Risk:
        """The risk of the fitted model."""
        return Risk(self._loss(), self.coefficients_.shape[1], self.class_weights_, self.mean_weight_)

    def losses(self) -> Callable[[Floats, Block], float]:
        """A picklable function of predictions (n_rows, n_outputs) and their rows: the sum of s_i l_i."""
        return self.risk().losses

    def check_restored(self) -> None:
        """Check what was read from a model's folder against each other.

        Raises
        ------
        ValueError
            If it has other classes, features or outputs in one place than in another.
        """
        classes = self._classes()
        if classes is not None and len(classes) < 2:
            raise ValueError("a classifier of one class")
        n_outputs = self.n_outputs() if classes is None else self.n_outputs(len(classes))
        for name, one in self.fitted_attributes.items():
            if one.rows is not None and np.shape(getattr(self, name))[1:] != (self.width_,):
                raise ValueError(f"{one.rows} {np.shape(getattr(self, name))} for {self.width_} features")
            if one.array is not None and np.asarray(one.write(getattr(self, name))).dtype.kind not in "fiu":
                raise ValueError(f"array {one.array!r} is not of real numbers")
        if self.map_ is not None and len(self.map_.factors) != self.width_:
            raise ValueError(f"a map of {len(self.map_.factors)} features for {self.width_}")
        size = self.basis(np.float32).size
        if self.coefficients_.shape != (size, n_outputs) or self.constants_.shape != (n_outputs,):
            raise ValueError(
                f"coefficients {self.coefficients_.shape} and constants {self.constants_.shape} of {size} "
                f"functions and {n_outputs} outputs"
            )
        if not (np.isfinite(self.coefficients_).all() and np.isfinite(self.constants_).all()):
            raise ValueError("coefficients that are no numbers")

    @abstractmethod
    def objective_value(self, losses: float, n_rows: int) -> float:
        """The objective at the fitted model on rows whose losses add up to ``losses``."""

    def _data_of_split(self, split: Split) -> TrainingData:
        """A split of a data set as training data; in an update, all rows that are read."""
        return self._data_as_given(split) if self._begins is None else self._begins.data

    def _data_as_given(self, split: Split) -> TrainingData:
        """A split of a data set as training data."""
        from distkern.runs.data import from_split

        return from_split(split, self.task)

    @abstractmethod
    def _keep_data(self, data: TrainingData) -> None:
        """Take what is known of the targets."""

    @abstractmethod
    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        """The solver and the sizes of the problem it is given.

        Raises
        ------
        InputError
            If the data are none that this estimator can learn from.
        """

    def run_of(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        """The solver of a run and the sizes of the problem it is given; raises as :meth:`problem`.

        The solver first chooses the hyperparameters that are to be searched, if there are any.
        """
        from distkern.search.values import searched

        solver, problem = self.problem(data, has_test=has_test)
        if self._begins is not None:
            return solver, problem
        return searched(solver, self.open_names(), problem), problem

    def named(self, split: Split) -> AbstractEstimator:
        """What ``tune`` tunes for a split: the estimator itself, or the one that it chooses for the rows."""
        return self

    def memory_hint(self) -> str:
        """What makes the model take less memory, for those who are told that it takes too much."""
        if "n_landmarks" in self.hyperparameters:
            return "fewer landmarks (--set n_landmarks=...)"
        return "fewer features (--set n_features=...)"

    # -- fitting

    @in_python
    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        text: Sequence[str] = (),
        categorical: Mapping[str, str] | Sequence[str] = (),
        id: str | None = None,
        eval_set: Any = None,
        early_stopping: int | None = None,
        callbacks: Callback | Sequence[Callback] = (),
        verbose: bool = False,
    ) -> Self:
        """Fit to arrays, frames, Dask collections or the training split of a data set.

        Parameters
        ----------
        X : array-like, sparse matrix, frame, Dask array, Dask frame, Dataset, Split or list of dict
            Rows (n_rows, n_features) in any order. Frames (pandas, Polars, Arrow, Dask) may hold texts, dates
            and missing values, which become numbers as ``distkern shard`` makes them.
        y : array-like of shape (n_rows,), default=None
            Labels or targets; data sets have their own.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights s_i >= 0 of the losses, whose sum the objective divides by.
        groups : array-like of shape (n_rows,), default=None
            Rows of one group are held out together wherever something is chosen on held-out rows.
        text : list of str, default=()
            Columns of a frame whose words become features.
        categorical : list of str or dict, default=()
            Columns of a frame that are categories though they hold numbers, with a feature for each value;
            or column name -> "onehot", "target" (target means) or "drop".
        id : str, default=None
            Column of a frame that names the rows and is not a feature; frames to predict may lack it.
        eval_set : tuple (X, y) or Split, default=None
            Rows that are measured after every stage, as ``test_error`` in ``history_``.
        early_stopping : int, default=None
            End after this many stages without a lower error on ``eval_set`` and keep the best stage's model.
        callbacks : callable or list of callables, default=()
            Called after every stage with its line of ``history_``; one that returns True ends the fit.
        verbose : bool, default=False
            Show a bar and a line for every stage, in a terminal or a notebook.

        Returns
        -------
        self : estimator
            Fitted.

        Raises
        ------
        InputError or ValueError
            If a hyperparameter, a number or a label is not usable; the message names it.
        DivergenceError
            If the objective becomes NaN or infinite, or far exceeds the objective of the zero model.

        Warns
        -----
        ConvergenceWarning
            If the objective ended above that of the zero model or still fell much, or the model is no better
            than one class for all rows.
        """
        from distkern.engine.ending import Stopping
        from distkern.monitor.terminal import progress_display

        stopping = Stopping.asked(eval_set, early_stopping, callbacks)
        with ExitStack() as stack:
            listeners = [stack.enter_context(progress_display())] if verbose else []
            how: dict[str, Any] = {"groups": groups, "eval_set": eval_set, "stopping": stopping}
            X = described(X, text=text, categorical=categorical, id=id)
            self.fit_with(X, y, sample_weight, **how, listeners=listeners)
        for sentence in self.history_[-1].get("warnings", ()):
            warn(sentence, ConvergenceWarning)
        return self

    def fit_with(self, X: Any, y: Any = None, sample_weight: Any = None, **how: Any) -> Self:
        """Fit with all that a run may be given, see :func:`~distkern.estimators.fitting.fit_estimator`."""
        # what fits is imported by who fits: predictions of a loaded model do without
        from distkern.estimators.fitting import fit_estimator

        fit_estimator(self, X, y, sample_weight, **how)
        return self

    def _map_choices(self, data: TrainingData) -> tuple[MapChoice, ...]:
        if self._begins is not None:
            return ()
        from distkern.estimators.fitting import map_choices

        return map_choices(self.row_scale(), self.row_metric(), data.source)

    def _own_scale(self, data: TrainingData) -> str:
        """The scaling of columns that is wanted before a map, which scales by itself."""
        if self._begins is not None:
            return "none"
        return "none" if self._map_choices(data) else self.row_scale()

    def preparing(self, data: TrainingData, problem: Problem) -> list[Outline]:
        """The passes before those of the solver, for a plan."""
        from distkern.estimators.fitting import mapping
        from distkern.runs.scaled import spreading

        return [*spreading(data, self._own_scale(data)), *mapping(self._map_choices(data), problem)]

    def choosing_bytes(self, data: TrainingData) -> int:
        """What the driver takes to choose before the first pass, for a plan."""
        return 0

    def as_read(self, data: TrainingData, split: Split) -> AbstractSource:
        """How a run may read a split of the data, for its plan."""
        from distkern.runs.scaled import ScaledSource, as_planned

        if self._begins is not None:
            from distkern.estimators.updating import mapped_source

            return mapped_source(self, data.source if split.name == "train" else self._as_own(split))

        read = as_planned(data, self._own_scale(data))(split)
        return ScaledSource(read, Scaling()) if self._map_choices(data) else read

    def check_parameters(self) -> None:
        """Refuse hyperparameters of the wrong kind or out of range.

        Raises
        ------
        InputError
            Naming the hyperparameter and its range.
        """
        self.check_values()
        self.row_scale()
        self._solver(None, 1.0)

    def _identity(self, data: TrainingData, problem: Problem) -> dict[str, Any]:
        return {
            "algorithm": self.name,
            "data set": data.source.fingerprint,
            "seed": problem.seed,
            "test split": problem.has_test,
            **({} if self._begins is None else {"model": self._begins.fingerprint}),
            **{name: value for name, value in self.stored_params().items() if name != "random_state"},
        }

    # -- prediction

    def _classes(self) -> NDArray[Any] | None:
        """The labels that predictions are turned into; None for real predictions."""
        return None

    def _chances(self) -> Callable[[Floats], NDArray[np.float64]] | None:
        """Probabilities of decision values, if the loss is a likelihood."""
        return None

    def predictor(
        self, preparation: Preparation | None, output: str, dtype: np.dtype[Any] | None = None
    ) -> partial[NDArray[Any]]:
        """A picklable function of features (n, d), which it prepares: "decision" values or a "label" each.

        ``dtype`` is that of the features, where it is known.
        """
        answer = kept(self, output, partial(self.answer, output))
        bases = self._bases(preparation, dtype)
        return partial(predict_rows, bases, self.coefficients_, self.width_, preparation, answer)

    def _bases(
        self, preparation: Preparation | None, dtype: np.dtype[Any] | None
    ) -> tuple[AbstractBasis, ...]:
        """The basis in each of the precisions that rows of a dtype may have once they are prepared."""
        known = dtype if preparation is None or preparation.dtype is None else preparation.dtype
        names = ("float32", "float64") if known is None else (known.name,)
        return tuple(kept(self, name, partial(self.applied_basis, name)) for name in names)

    def applied_basis(self, dtype: DTypeLike = np.float32) -> AbstractBasis:
        """The fitted basis over rows as they are after their scaling: it maps them itself."""
        basis = self.basis(dtype)
        return basis if self.map_ is None else MappedBasis(basis, self.map_)

    @property
    def _is_calibrated(self) -> bool:
        """Whether probabilities are to be fitted to decision values."""
        return "probability" in self.hyperparameters and bool(self.value("probability"))

    @property
    def threshold_(self) -> float | None:
        """The probability from which on the second of two classes is predicted: the one that was given, or
        w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value says the class."""
        return None

    def _cut(self) -> float | NDArray[np.float64] | None:
        """What labels go by, see :func:`~distkern.runs.prediction.codes_of`."""
        return None

    def answer(self, output: str) -> partial[NDArray[Any]]:
        """A picklable function of Phi coef (n, n_outputs): "decision" values, a "label" or probabilities."""
        cut = self._cut() if output == "label" else None
        return partial(answer_of, self.constants_, self._classes(), output, self._chances(), cut)

    @in_python
    def _map(self, X: Any, output: str, dtype: Any, n_columns: int | None) -> Any:
        self._fitted()
        # whoever has a data set has imported what it is
        if type(X).__module__.startswith("distkern.storage"):
            from distkern.engine.dask.arrays import map_blocks
            from distkern.runs.routed import answers_of
            from distkern.storage.dataset import Dataset

            if isinstance(X, Dataset):
                raise InputError("a data set has splits", where="X", hint="give data.test, or data.train")
            if (answers := answers_of(self, X, output)) is not None:
                return map_blocks(answers, X, dtype, n_columns)
        given = rows_for(self, X)
        return given.map(self.predictor(given.preparation, output, given.dtype), n_columns, dtype)

    @property
    def width_(self) -> int:
        """Features of a row."""
        return int(self.n_features_in_) if self.table_ is None else self.table_.n_features

    def _fitted(self) -> Self:
        check_is_fitted(self, "coefficients_")
        return self

    def save(self, path: Location) -> None:
        """Write a model folder that :func:`distkern.load_model` reads; see there for what it holds.

        A model that is there stays until this one is whole.
        """
        from distkern.runs.folder import save_over

        save_over(self._fitted(), place_of(path))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
