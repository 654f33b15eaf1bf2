"""The kinds of targets: what classifiers share, and what regressors do.

An estimator is made as ``class SVRGClassifier(AbstractExplicitClassifier, solver=SVRG)``, which gives it the
solver's name and hyperparameters. One that derives from :class:`AbstractClassifier` or
:class:`AbstractRegressor` alone, and not from the classes for a family of solvers in ``features.py``, must
give:

    kind                          the kind of its models, see :mod:`distkern.model.value`
    name, hyperparameters         where no solver says them

It may give:

    beside, loss_of, name_with    hyperparameters and name that the solver does not say
    left_open                     hyperparameters that the rows decide
    task, most_classes            the task of its data sets; classes that it tells apart at most
    recipe                        how it learns, where that is more than its settings
    stored_params, changed        hyperparameters of a model's file; those that were set
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length, column_or_1d

from distkern.core.errors import InputError
from distkern.core.names import plain_labels
from distkern.core.parameters import Parameter
from distkern.core.python_words import in_python
from distkern.core.targets import plain_targets
from distkern.estimators.declared import available_if
from distkern.estimators.estimator import AbstractEstimator
from distkern.maths.losses import find_loss
from distkern.model.settings import Settings
from distkern.model.value import FittedModel
from distkern.runs.arrays import refuse_lazy
from distkern.solvers.base import AbstractSolver
from distkern.solvers.hyperparameters import CLASS_WEIGHT, METRIC, RANDOM_STATE, SCALE, THRESHOLD, loss_for

if TYPE_CHECKING:
    from distkern.show.explanation import Explanation


class Explainable:
    """What classifiers and regressors share."""

    _fitted: Callable[[], FittedModel]

    @in_python
    def explain(
        self,
        X: Any,
        y: Any = None,
        *,
        features: Sequence[str | int] | None = None,
        grid_resolution: int = 20,
        n_repeats: int = 5,
        max_samples: int = 2000,
        random_state: int = 0,
    ) -> Explanation:
        """Permutation importances of the columns and partial dependence on them, on a sample of rows.

        A column of a table is permuted as a whole, and set to a value of the table. Only the sample is held.

        Parameters
        ----------
        X, y : rows and labels or targets as ``fit`` takes them, best such as it has not seen; of a data set
            its test rows, if it has some
        features : names or positions of the columns that are looked at; None: up to 30, those of the largest
            weight in a learned metric, else of the largest variance, and for partial dependence the five
            that cost most
        grid_resolution : values of a column for partial dependence, at most: quantiles from 5 to 95 %, or the
            categories of most rows
        n_repeats : permutations of each column
        max_samples : rows, at most, and at most 8 MiB of them
        random_state : seed of the sample and of the permutations

        Raises
        ------
        InputError or ValueError
            If an argument is not usable or nothing can be measured; the message says why.
        """
        from distkern.estimators.explained import explanation_of

        return explanation_of(
            self._fitted(),
            X,
            y,
            features,
            grid_resolution=grid_resolution,
            n_repeats=n_repeats,
            max_samples=max_samples,
            random_state=random_state,
        )


def _goes_on(estimator: AbstractEstimator) -> bool:
    try:
        rule = estimator.recipe().solver.updates
    except InputError:
        # fit says what is wrong
        return True
    if not rule.reads_old:
        return True
    hint = f"use {rule.alone_with}, or " if rule.alone_with else ""
    why = f"no partial_fit, as {estimator.name} reads the old rows again"
    raise AttributeError(f"{why}: {hint}fit and update(X, y, old=...)")


class AbstractClassifier(ClassifierMixin, Explainable, AbstractEstimator):  # type: ignore[misc]
    """A classifier f(x) = basis(x) @ coefficients_ + constants_, binary or one-vs-rest."""

    task = "classification"
    beside: ClassVar[Mapping[str, Parameter | None]] = {
        "class_weight": CLASS_WEIGHT,
        "threshold": THRESHOLD,
        "scale": SCALE,
        "metric": METRIC,
        "random_state": RANDOM_STATE,
    }

    @classmethod
    def loss_of(cls, solver: type[AbstractSolver[Any]]) -> dict[str, Parameter]:
        loss = solver.choices.get("loss")
        return {} if loss is None else {"loss": loss_for(loss, ("binary", "classes"), loss.default)}

    @available_if(_goes_on)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from a batch of rows: ``fit`` on the first one, ``update`` on later ones.

        What a fit chooses (scaling, landmarks, hyperparameters that are "auto") is chosen on the first batch.
        :meth:`update` says what the model then minimises: Newton with the square loss and up to 2,048
        functions ends where a fit to all rows with the choices of the first batch does.

        Parameters
        ----------
        X, y, sample_weight : rows in memory, as ``update`` takes them
        classes : all labels there are; None: those of the first batch, which has rows of each of them

        Raises
        ------
        InputError
            If the first batch has other labels than the classes, or a later one has a label that is not among
            them; if Newton has more functions; as :meth:`fit` and :meth:`update` do.
        """
        refuse_lazy(X)
        if self._model is not None:
            self._check_known(classes)
            return self.update(X, y, sample_weight)
        if classes is not None:
            labels = column_or_1d(plain_targets(y))
            if sample_weight is not None:
                check_consistent_length(labels, sample_weight)
                labels = labels[np.asarray(sample_weight) > 0]
            known = np.unique(plain_targets(classes, "classes"))
            missing = plain_labels(np.setdiff1d(known, labels))
            unknown = plain_labels(np.setdiff1d(labels, known))
            if missing:
                raise InputError(
                    f"the first batch has no row of class {missing[0]!r}",
                    where="classes",
                    hint="begin with a batch that has rows of every class",
                )
            if unknown:
                raise InputError(
                    f"label {unknown[0]!r} is not among the classes",
                    where="y",
                    hint=f"correct it, or give it too: {plain_labels(known)}",
                )
        return self.fit(X, y, sample_weight)

    def _check_known(self, classes: Any) -> None:
        """Refuse classes of a later batch that are not those of the model."""
        if classes is not None and not np.array_equal(
            np.unique(plain_targets(classes, "classes")), self._classes()
        ):
            raise InputError(
                "is not what the first call gave",
                where="classes",
                hint=f"leave it out: {plain_labels(self._classes())}",
            )

    def _settings(self) -> Settings:
        found = super()._settings()
        if found.given.get("threshold") is not None:
            try:
                self._has_probabilities()
            except AttributeError as error:
                raise InputError(str(error), where="threshold", hint="or leave it out") from None
        return found

    @property
    def threshold_(self) -> float | None:
        """The probability from which on the second of two classes is predicted: the one that was given, or
        w_0 / (w_0 + w_1) with class weights w; None where the sign of the decision value says the class."""
        return self.model_.threshold

    # -- prediction

    def decision_function(self, X: Any) -> Any:
        """f(x): (n_rows,) for two classes, else (n_rows, n_classes); lazy for Dask arrays and splits."""
        n_classes = len(self._classes())
        return self._map(X, "decision", np.float64, None if n_classes == 2 else n_classes)

    def predict(self, X: Any) -> Any:
        """Labels (n_rows,); lazy for Dask arrays and splits."""
        return self._map(X, "label", self._classes().dtype, None)

    def _classes(self) -> NDArray[Any]:
        classes = self._fitted().classes
        assert classes is not None, "it is a classifier"
        return classes

    def _has_probabilities(self) -> bool:
        loss = self.kind.loss_of(super()._settings())
        if getattr(self, "probability", False) or loss.has_probabilities:
            return True
        choices = self.hyperparameters["loss"].words if "loss" in self.hyperparameters else []
        likelihoods = [name for name in choices if find_loss(name).has_probabilities]
        hint = f": set loss={' or '.join(map(repr, likelihoods))}" if likelihoods else ""
        if "probability" in self.hyperparameters:
            hint = ": set probability=True"
        raise AttributeError(f"loss {loss.name!r} gives no probabilities{hint}")

    @available_if(lambda estimator: estimator._has_probabilities())
    def predict_proba(self, X: Any) -> Any:
        """Probabilities (n_rows, n_classes), where the model has them; lazy as predict.

        They are those of rows as they are, weighted by ``sample_weight``, whatever ``class_weight`` is.
        """
        return self._map(X, "probability", np.float64, len(self._classes()))

    @in_python
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy on arrays, or on a split of a data set, which has its own labels."""
        from sklearn.metrics import accuracy_score

        from distkern.engine.dask.arrays import accuracy
        from distkern.runs.evaluation import score_of

        how = sample_weight, "accuracy", accuracy, accuracy_score
        return score_of(self._fitted(), self.predict, X, y, *how)


class AbstractRegressor(RegressorMixin, Explainable, AbstractEstimator):  # type: ignore[misc]
    """A regressor f(x) = basis(x) @ coefficients_ + constants_; several quantiles have one output each."""

    task = "regression"
    beside: ClassVar[Mapping[str, Parameter | None]] = {
        "scale": SCALE,
        "metric": METRIC,
        "random_state": RANDOM_STATE,
    }

    @classmethod
    def name_with(cls, solver: type[AbstractSolver[Any]]) -> str:
        return f"{solver.name}_regressor"

    @classmethod
    def loss_of(cls, solver: type[AbstractSolver[Any]]) -> dict[str, Parameter]:
        loss = solver.choices.get("loss")
        return {} if loss is None else {"loss": loss_for(loss, ("real",), "square")}

    @available_if(_goes_on)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a batch of rows, see :meth:`AbstractClassifier.partial_fit`."""
        refuse_lazy(X)
        learn = self.fit if self._model is None else self.update
        return learn(X, y, sample_weight)

    def predict(self, X: Any) -> Any:
        """Predictions (n_rows,), or (n_rows, n_quantiles); lazy for Dask arrays and splits."""
        outputs = self._fitted().n_outputs
        return self._map(X, "decision", np.float64, None if outputs == 1 else outputs)

    @in_python
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R^2 on arrays, or on a split of a data set, which has its own targets."""
        from sklearn.metrics import r2_score

        from distkern.engine.dask.arrays import r2
        from distkern.runs.evaluation import score_of

        return score_of(self._fitted(), self.predict, X, y, sample_weight, "r2", r2, r2_score)
