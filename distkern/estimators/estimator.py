"""What all estimators share: scikit-learn's shell around a recipe and the model that a run makes of it.

``fit`` resolves the hyperparameters once into a :class:`~distkern.runs.recipe.Recipe`, brings the rows to one
form and keeps what :func:`~distkern.runs.fitting.run` returns: a :class:`~distkern.model.value.FittedModel`,
whose fields are the estimator's fitted attributes. To add an estimator, write a file in this folder with a
class that derives from :class:`~distkern.estimators.base.AbstractClassifier` or
:class:`~distkern.estimators.base.AbstractRegressor` and says its ``solver`` and its ``kind`` of model, see
:class:`~distkern.estimators.declared.HyperparameterMixin`; the command line and the contract tests pick it
up.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from distkern.core.errors import InputError
from distkern.core.python_words import in_python, warn
from distkern.data.store.places import Location, place_of
from distkern.estimators.declared import HyperparameterMixin
from distkern.estimators.weighted import Weighted
from distkern.model.settings import Settings
from distkern.model.value import FittedModel
from distkern.runs.given import described, rows_for
from distkern.solvers.hyperparameters import DTYPE

if TYPE_CHECKING:
    from distkern.data.dataset import Split
    from distkern.engine.ending import Callback
    from distkern.engine.events import Listener
    from distkern.engine.executors import AbstractExecutor
    from distkern.runs.recipe import Recipe


class AbstractEstimator(Weighted, HyperparameterMixin, BaseEstimator):  # type: ignore[misc]
    """A model f(x) = basis(x) @ coefficients_ + constants_ that a solver fits."""

    everywhere: ClassVar = {"dtype": DTYPE}
    #: of the data sets it learns from
    task: ClassVar[str]
    kind: ClassVar[type[FittedModel]] = FittedModel  # type: ignore[type-abstract]
    _model: FittedModel | None = None
    #: how many classes it tells apart at most
    most_classes: ClassVar[float] = math.inf

    # -- fitting

    def _settings(self) -> Settings:
        """The hyperparameters, each cleaned once.

        Raises
        ------
        InputError
            Naming a hyperparameter and its range, or the setting with which it would have an effect.
        """
        values = {name: getattr(self, name) for name in self.hyperparameters}
        return Settings.of(self.hyperparameters, values, self.solver_type, self.left_open)

    def recipe(self) -> Recipe:
        """What a run learns by; raises as :meth:`check_parameters`."""
        # what fits is imported by who fits: predictions of a loaded model do without
        from distkern.runs.recipe import Recipe

        own = self.name, type(self).__name__, self.task, self.kind, self._settings(), self.stored_params()
        return Recipe(*own)

    def check_parameters(self) -> None:
        """Refuse hyperparameters of the wrong kind or out of range; :class:`InputError` names them."""
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
        from distkern.show.terminal import progress_display

        stopping = Stopping.asked(eval_set, early_stopping, callbacks)
        with ExitStack() as stack:
            listeners = [stack.enter_context(progress_display())] if verbose else []
            how: dict[str, Any] = {"groups": groups, "test": eval_set, "stopping": stopping}
            X = described(X, text=text, categorical=categorical, id=id)
            self.fit_with(X, y, sample_weight, **how, listeners=listeners)
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
        **how: Any,
    ) -> Self:
        """Fit to rows as ``fit`` takes them, on an executor or on the one that suits the rows.

        Parameters
        ----------
        test : rows that are measured after each stage: a split, or what ``eval_set`` may be
        how : the rest of a :class:`~distkern.runs.fitting.RunPlace`
        """
        from distkern.runs.fitting import RunPlace, run
        from distkern.runs.learned import training_rows

        recipe = self.recipe()
        recipe.check()
        with ExitStack() as stack:
            given, executor = training_rows(recipe, X, y, sample_weight, groups, executor, stack, test)
            self._model = run(recipe, given, RunPlace(executor, **how))
        return self

    def named(self, split: Split) -> AbstractEstimator:
        """What ``tune`` tunes for a split: the estimator itself, or the one that it chooses for the rows."""
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
        """Learn from new rows, going on from what has been learned.

        Landmarks, gamma, scaling, maps, encodings and weights of classes stay what they are, and so do the
        hyperparameters. What the updated model minimises depends on the algorithm:

        - Newton with the square loss, where it has made the matrix of all rows for up to 2,048 functions: of
          its objective over old and new rows, exactly. The old rows are not needed.
        - Newton with other losses, RBCD, SVRG and CSVRG: likewise, and they read the old rows again.
        - Cells: the machines of cells that get new rows are solved again from their old and new rows, all
          others stay to the bit, and so do map, kernel, C and the sigmoids of probabilities.
        - DSG, Pegasos, AVM, NORMA and SBMD go on with the steps of their papers over the new rows, counting
          on: the expected loss over the stream of all rows so far.

        Parameters
        ----------
        X, y, sample_weight : the new rows, as ``fit`` takes them in memory; or a split of a data set
        old : the rows that it has learned from so far, where they are to be read again: a tuple (X, y) or
            (X, y, sample_weight), a split, or a list of those
        verbose : show progress, as ``fit`` does

        Returns
        -------
        self

        Raises
        ------
        InputError
            If the algorithm cannot go on from a model, old rows are missing, or there is a label that the
            model does not know; the message says what to do instead.
        """
        from distkern.engine.executors import open_executor
        from distkern.runs.fitting import RunPlace
        from distkern.runs.updating import begun_with
        from distkern.show.terminal import progress_display

        recipe = begun_with(self._fitted(), X, y, sample_weight, old)
        with ExitStack() as stack:
            listeners: list[Listener] = [stack.enter_context(progress_display())] if verbose else []
            executor = stack.enter_context(open_executor("synchronous"))
            self._model = recipe.update(None, RunPlace(executor, listeners))
        return self

    # -- the model

    def _fitted(self) -> FittedModel:
        """The model, with the threshold as it is now; raises scikit-learn's error if there is none."""
        if self._model is None:
            check_is_fitted(self, "coefficients_")
        assert self._model is not None
        wanted = getattr(self, "threshold", None)
        if self._model.told_params.get("threshold") != wanted:
            # set after the fit
            self._model = self._model.with_threshold(wanted)
        return self._model

    @property
    def model_(self) -> FittedModel:
        """The fitted model as a value, whose fields are the other attributes: what functions of runs take."""
        if self._model is None:
            raise AttributeError("there is no model before fit")
        return self._fitted()

    @property
    def width_(self) -> int:
        """Features of a row."""
        return self.model_.width

    @property
    def found_(self) -> Mapping[str, Any]:
        """The values chosen for hyperparameters that were "auto", by name."""
        return {} if self._model is None else self._model.found

    def value(self, name: str) -> Any:
        """A hyperparameter's value as plain Python has it, after the search if it is one that is searched.

        For one that can be searched and is "auto", it is what was found, or else what is taken where nothing
        is tried.
        """
        return (self._settings() if self._model is None else self._model.settings).value(name)

    def basis(self, dtype: Any = np.float32) -> Any:
        """The fitted basis, computing in ``dtype``."""
        return self._fitted().basis(dtype)

    @in_python
    def _map(self, X: Any, output: str, dtype: Any, n_columns: int | None) -> Any:
        model = self._fitted()
        # whoever has a data set has imported what it is
        if type(X).__module__.startswith("distkern.data"):
            from distkern.data.dataset import Dataset
            from distkern.engine.dask.arrays import map_blocks
            from distkern.runs.routed import answers_of

            if isinstance(X, Dataset):
                raise InputError("a data set has splits", where="X", hint="give data.test, or data.train")
            if (answers := answers_of(model, X, output)) is not None:
                return map_blocks(answers, X, dtype, n_columns)
        given = rows_for(model.columns, X)
        return given.map(model.predictor(given.preparation, output, given.dtype), n_columns, dtype)

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
