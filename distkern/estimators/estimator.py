"""The base class of all estimators: a scikit-learn interface to a recipe and a fitted model.

``fit`` resolves the hyperparameters into a :class:`~distkern.runs.recipe.Recipe`, converts the rows to a
common form, and stores the :class:`~distkern.model.value.FittedModel` that :func:`~distkern.runs.fitting.run`
returns. The model's fields are the fitted attributes. To add an estimator, write a file in this folder with a
class that derives from :class:`~distkern.estimators.base.AbstractClassifier` or
:class:`~distkern.estimators.base.AbstractRegressor` and names its ``solver`` and ``kind`` of model, see
:class:`~distkern.estimators.declared.HyperparameterMixin`. The command line and the contract tests find it
there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from distkern.core.common_parameters import DTYPE, THRESHOLD
from distkern.core.errors import InputError
from distkern.core.python_words import in_python, warn
from distkern.data.scaling import Scaling
from distkern.data.store.places import Location, place_of
from distkern.estimators.declared import HyperparameterMixin
from distkern.model.settings import Settings
from distkern.model.value import FittedModel
from distkern.runs.given import described, rows_for

if TYPE_CHECKING:
    from distkern.data.dataset import Split
    from distkern.engine.ending import Callback
    from distkern.engine.events import Listener
    from distkern.engine.executors import AbstractExecutor
    from distkern.runs.recipe import Recipe


class AbstractEstimator(HyperparameterMixin, BaseEstimator):  # type: ignore[misc]
    """A model f(x) = basis(x) @ coefficients_ + constants_ fitted by a solver."""

    common_parameters: ClassVar = {"dtype": DTYPE}
    #: task of its data sets
    task: ClassVar[str]
    kind: ClassVar[type[FittedModel]] = FittedModel  # type: ignore[type-abstract]
    _model: FittedModel | None = None
    #: largest number of classes
    most_classes: ClassVar[float] = math.inf

    # -- fitting

    def _settings(self) -> Settings:
        """Return the hyperparameters, each cleaned once.

        Raises
        ------
        InputError
            Naming a hyperparameter and its range, or the setting that would give it an effect.
        """
        values = {name: getattr(self, name) for name in self.hyperparameters}
        return Settings.of(self.hyperparameters, values, self.solver_type(), self.left_open)

    def recipe(self) -> Recipe:
        """Return what a run learns by; raises as :meth:`check_parameters`."""
        # a loaded model predicts without this import
        from distkern.runs.recipe import Recipe

        own = self.name, type(self).__name__, self.task, self.kind, self._settings(), self.stored_params()
        return Recipe(*own)

    def check_parameters(self) -> None:
        """Raise :class:`InputError` for hyperparameters of the wrong type or out of range."""
        self.recipe().check()

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
            and missing values, which become numbers as ``distkern shard`` encodes them.
        y : array-like of shape (n_rows,), default=None
            Labels or targets; data sets have their own.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights s_i >= 0 of the losses. The objective divides by their sum.
        groups : array-like of shape (n_rows,), default=None
            Rows of one group are held out together wherever something is chosen on held-out rows.
        text : list of str, default=()
            Columns of a frame whose words become features.
        categorical : list of str or dict, default=()
            Columns of a frame to treat as categories although they hold numbers, with one feature for each
            value; or column name -> "onehot", "target" (target means), "signs" or "drop".
        id : str, default=None
            Column of a frame that names the rows. It is not a feature, and frames to predict may lack it.
        eval_set : tuple (X, y) or Split, default=None
            Rows to evaluate after every stage; ``history_`` has the result as ``test_error``.
        early_stopping : int, default=None
            Stop after this many stages without a lower error on ``eval_set``, and keep the model of the best
            stage.
        callbacks : callable or list of callables, default=()
            Called after every stage with its line of ``history_``. A callback that returns True ends the fit.
        verbose : bool, default=False
            Show a progress bar and a line for every stage in a terminal or notebook.

        Returns
        -------
        self : estimator
            The fitted estimator.

        Raises
        ------
        InputError or ValueError
            If a hyperparameter, a number or a label is invalid; the message names it.
        DivergenceError
            If the objective becomes NaN or infinite, or far exceeds the objective of the zero model.

        Warns
        -----
        ConvergenceWarning
            If the objective ended above that of the zero model or was still falling fast, or the model is no
            better than predicting one class for all rows.
        """
        from distkern.engine.ending import Stopping
        from distkern.show.terminal import progress_display

        stopping = Stopping.asked(eval_set, early_stopping, callbacks)
        with ExitStack() as stack:
            listeners = [stack.enter_context(progress_display())] if verbose else []
            how: dict[str, Any] = {"groups": groups, "test": eval_set, "stopping": stopping}
            X = described(X, text=text, categorical=categorical, id=id)
            self.fit_with(X, y, sample_weight, **how, memory_limit=self._limit(), listeners=listeners)
        for sentence in self._fitted().history[-1].get("warnings", ()):
            warn(sentence, ConvergenceWarning)
        return self

    def fit_with(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        test: Any = None,
        executor: AbstractExecutor | None = None,
        memory_limit: int | None = None,
        **how: Any,
    ) -> Self:
        """Fit on a given executor, or on the one that suits the rows.

        Parameters
        ----------
        test : Split, or what ``eval_set`` may be: rows to evaluate after each stage
        memory_limit : bytes that the process of a run may take; jobs plan their processes themselves
        how : the remaining fields of :class:`~distkern.runs.fitting.RunPlace`
        """
        from distkern.runs.fitting import RunPlace, run
        from distkern.runs.learned import training_rows

        recipe = self.recipe()
        recipe.check()
        with ExitStack() as stack:
            try:
                given, executor = training_rows(recipe, X, y, sample_weight, groups, executor, stack, test)
            except InputError as error:
                from distkern.runs.refusals import name_regressor

                name_regressor(error, recipe.estimator)
                raise
            place = RunPlace(executor, **how)
            if memory_limit is not None:
                from distkern.runs.run import within_limit

                tests = given.test_rows(given.columns) if given.has_test else None
                limited = within_limit(recipe, given.data, place, memory_limit, tests)
                recipe = stack.enter_context(limited)
            self._model = run(recipe, given, place)
        return self

    def named(self, split: Split) -> AbstractEstimator:
        """Return the estimator that ``tune`` tunes for a split: this one, or its choice for the rows."""
        return self

    @in_python
    def update(
        self,
        X: Any,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        old: Any = None,
        verbose: bool = False,
    ) -> Self:
        """Update the fitted model with new rows.

        Landmarks, gamma, scaling, maps, encodings, class weights and hyperparameters do not change. What the
        updated model minimises depends on the algorithm:

        - Newton with the square loss and at most 2,048 basis functions, if the fit used the matrix of all
          rows: its objective over old and new rows, exactly. The old rows are not needed.
        - Newton with other losses, RBCD, SVRG and CSVRG: the same objective. They read the old rows again.
        - Cells: machines of cells with new rows are solved again on their old and new rows. All other
          machines, the map, the kernel, C and the sigmoids of the probabilities keep their exact values.
        - DSG, Pegasos, AVM, NORMA and SBMD: the expected loss over the stream of all rows so far. They
          continue the steps of their papers over the new rows, and the step count continues too.

        Parameters
        ----------
        X, y, sample_weight : array-like, frame or Split
            The new rows in memory, as ``fit`` takes them, or a split of a data set.
        old : tuple (X, y), tuple (X, y, sample_weight), Split or list of these, default=None
            All rows that the model has learned from so far, if the algorithm reads them again.
        verbose : bool, default=False
            Show progress as ``fit`` does.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If the algorithm has no updates, old rows are missing, or a label is new to the model; the message
            says what to do instead.
        """
        from distkern.engine.executors import open_executor
        from distkern.runs.fitting import RunPlace
        from distkern.runs.updating import update_recipe_of
        from distkern.show.terminal import progress_display

        recipe = update_recipe_of(self._fitted(), X, y, sample_weight, old)
        with ExitStack() as stack:
            listeners: list[Listener] = [stack.enter_context(progress_display())] if verbose else []
            executor = stack.enter_context(open_executor("synchronous"))
            place = RunPlace(executor, listeners)
            if (limit := self._limit()) is not None:
                from distkern.runs.run import within_limit

                stack.enter_context(within_limit(recipe, recipe.rows.data, place, limit))
            self._model = recipe.update(None, place)
        return self

    def _limit(self) -> int | None:
        """Return the memory of a run in bytes, if this algorithm takes a limit and has one."""
        return self._settings().value("memory_limit") if "memory_limit" in self.hyperparameters else None

    # -- the model

    @in_python
    def _fitted(self) -> FittedModel:
        """Return the model with the current threshold; raise scikit-learn's error before ``fit``."""
        if self._model is None:
            check_is_fitted(self, "coefficients_")
        assert self._model is not None
        wanted = getattr(self, "threshold", None)
        if self._model.saved_params.get("threshold") != wanted:
            # set after the fit
            self._model = self._model.with_threshold(THRESHOLD.clean("threshold", wanted))
        return self._model

    @property
    def model_(self) -> FittedModel:
        """The fitted model as a value with the other attributes as fields, for ``distkern.runs``."""
        if self._model is None:
            raise AttributeError("the estimator is not fitted")
        return self._fitted()

    @property
    def width_(self) -> int:
        """Number of features in a row."""
        return self.model_.width

    @property
    def found_(self) -> Mapping[str, Any]:
        """Values chosen for hyperparameters that were "auto", by name."""
        return {} if self._model is None else self._model.found

    # -- weights of linear models

    @property
    def coef_(self) -> NDArray[np.float64]:
        """Weights of the columns of X in a linear model, (n_outputs, n_features), or (n_features,) for
        regressors with one output.

        f(x) = coef_ @ x + intercept_ with x in its own units, whatever scaling precedes the model. The
        attribute is missing for kernel machines, for models over features of a kernel, and for models of
        encoded columns (texts, dates). It is also missing if rows are scaled to norm 1, by ranks or by normal
        quantiles, which is not linear. The weights of the basis functions are ``coefficients_``.
        """
        model = self._fitted()
        weights = self._linear(model)[0].T
        return weights[0] if _is_flat(model) else np.ascontiguousarray(weights)

    @property
    def intercept_(self) -> Any:
        """Constant of f, (n_outputs,), or a NumPy float for regressors with one output; see ``coef_``."""
        model = self._fitted()
        constants = self._linear(model)[1] if hasattr(self, "coef_") else _lead(model, model.constants)
        return constants[0] if _is_flat(model) else constants

    def _linear(self, model: FittedModel) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return weights (n_features, n_outputs) and constants (n_outputs,) of columns in their own units."""
        if not model.is_linear:
            raise AttributeError(f"this {type(self).__name__} is not linear in the columns of X: no coef_")
        columns = () if model.columns.table is None else model.columns.table.columns
        if not all(column.is_identity for column in columns):
            raise AttributeError(
                "columns of X were encoded: the model has no coef_ for each; coefficients_ has the weights "
                "of table_.features"
            )
        scaling = model.columns.scaling or Scaling()
        # linear models take no metric, so a map transforms columns by their quantiles
        if model.map is not None or scaling.kind == "unit":
            raise AttributeError(
                "rows are transformed before the model in a way that is not linear: no coef_"
            )
        return scaling.pulled_back(_lead(model, model.coefficients), _lead(model, model.constants))

    def value(self, name: str) -> Any:
        """Return a hyperparameter's value as a plain Python object, after any search.

        A hyperparameter that is "auto" gives the value that was chosen, or the one that is used without a
        search.
        """
        return (self._settings() if self._model is None else self._model.settings.cleaned).value(name)

    def basis(self, dtype: Any = np.float32) -> Any:
        """Return the fitted basis, computing in ``dtype``."""
        return self._fitted().basis(dtype)

    @in_python
    def _map(self, X: Any, output: str, dtype: Any, n_columns: int | None) -> Any:
        model = self._fitted()
        # a caller with a data set has already imported its module
        if type(X).__module__.startswith("distkern.data"):
            from distkern.data.dataset import Dataset
            from distkern.engine.dask.arrays import map_blocks
            from distkern.runs.applied import answers_of

            if isinstance(X, Dataset):
                raise InputError(
                    "is a data set", where="X", hint="give one of its splits: data.test or data.train"
                )
            if (answers := answers_of(model, X, output)) is not None:
                return map_blocks(answers, X, dtype, n_columns)
        given = rows_for(model.columns, X)
        return given.map(model.predictor(given.preparation, output, given.dtype), n_columns, dtype)

    @in_python
    def save(self, path: Location, *, overwrite: bool = False) -> None:
        """Write a model folder that :func:`distkern.load_model` reads.

        An existing model is replaced only once the new one is complete.

        Parameters
        ----------
        path : folder or URL
        overwrite : also replace a model with the metrics and report of a run, which are then removed

        Raises
        ------
        InputError
            If the folder holds files that are not a model's, or a run and not ``overwrite``.
        """
        from distkern.runs.folder import save_over

        save_over(self._fitted(), place_of(path), overwrite=overwrite)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is_flat(model: FittedModel) -> bool:
    """Return whether scikit-learn's attributes have no axis for the outputs: regressors with one output."""
    return model.task == "regression" and len(model.constants) == 1


def _lead(model: FittedModel, outputs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return decisions along the last axis; for two competing classes, the second minus the first."""
    competing = model.classes is not None and outputs.shape[-1] == len(model.classes) == 2
    return outputs[..., 1:] - outputs[..., :1] if competing else outputs
