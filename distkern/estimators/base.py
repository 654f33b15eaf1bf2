"""The kinds of targets: what classifiers share, and what regressors do.

An estimator is made as ``class SVRGClassifier(AbstractExplicitClassifier, solver=SVRG)``, which gives it the
solver's name and hyperparameters. One that derives from :class:`AbstractClassifier` or
:class:`AbstractRegressor` alone, and not from the classes for a family of solvers in ``features.py``, must
give:

    _solver                       the solver with the estimator's hyperparameters
    basis                         the fitted basis
    _keep                         what it takes from the solver's last state
    objective_value               the objective at the fitted model
    problem, _keep_data, n_outputs    where it is for other targets than those of these classes

It may give:

    beside, loss_of, name_with    hyperparameters and name that the solver does not say
    task, draws_any_row           the task of its data sets; whether the order of rows does not matter
    check_parameters, memory_hint     refusals before a fit; what takes less memory
    _loss, risk, _chances, answer     its loss, and what it makes of decision values
    _begun                        the solver of an update
    _facts, _arrays, _restore     what a model's files hold beside the fitted attributes
    folders, _take_parts, _save_parts     what tasks store for it
    stored_params, _identity      hyperparameters of a model's file; what makes two runs the same
    choosing_bytes, named         where it chooses an algorithm itself
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length, column_or_1d

from distkern.common.errors import InputError
from distkern.common.labels import code_of, plain_labels
from distkern.common.parameters import NOT_NEGATIVE, Parameter
from distkern.common.python_words import in_python
from distkern.common.targets import plain_targets
from distkern.common.types import Floats
from distkern.estimators.available import available_if
from distkern.estimators.declared import fitted
from distkern.estimators.estimator import AbstractEstimator
from distkern.losses import find_loss
from distkern.runs.arrays import refuse_lazy
from distkern.runs.prediction import unweighted
from distkern.solvers.base import AbstractSolver, Problem
from distkern.solvers.hyperparameters import CLASS_WEIGHT, METRIC, RANDOM_STATE, SCALE, THRESHOLD, loss_for

if TYPE_CHECKING:
    from distkern.monitor.explanation import Explanation
    from distkern.runs.data import TrainingData


class Explainable:
    """What classifiers and regressors share."""

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
            self,
            X,
            y,
            features,
            grid_resolution=grid_resolution,
            n_repeats=n_repeats,
            max_samples=max_samples,
            random_state=random_state,
        )


def _goes_on(model: AbstractEstimator) -> bool:
    try:
        solver = model._solver(None, 1.0)
    except InputError:
        # fit says what is wrong
        return True
    rule = solver.updates
    if not rule.reads_old:
        return True
    hint = f"use {rule.alone_with}, or " if rule.alone_with else ""
    raise AttributeError(f"{model.name} reads the rows of before again: {hint}fit and update(X, y, old=...)")


class AbstractClassifier(ClassifierMixin, Explainable, AbstractEstimator):  # type: ignore[misc]
    """A classifier f(x) = basis(x) @ coefficients_ + constants_, binary or one-vs-rest."""

    beside: ClassVar[Mapping[str, Parameter | None]] = {
        "class_weight": CLASS_WEIGHT,
        "threshold": THRESHOLD,
        "scale": SCALE,
        "metric": METRIC,
        "random_state": RANDOM_STATE,
    }
    classes_: NDArray[Any] = fitted("(n_classes,) label values")
    coefficients_: NDArray[np.float64] = fitted(
        "(size, n_outputs) weights of the basis functions, in their order; n_outputs = 1 for two classes",
        array="coefficients",
    )

    #: how many it tells apart at most
    most_classes: ClassVar[float] = math.inf

    @classmethod
    def loss_of(cls, solver: type[AbstractSolver[Any]]) -> dict[str, Parameter]:
        loss = solver.choices.get("loss")
        return {} if loss is None else {"loss": loss_for(loss, ("binary", "classes"), loss.default)}

    def n_outputs(self, n_classes: int = 2) -> int:
        return self._loss().n_outputs(n_classes)

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
        if hasattr(self, "coefficients_"):
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
            np.unique(plain_targets(classes, "classes")), self.classes_
        ):
            raise InputError(
                "is not what the first call gave",
                where="classes",
                hint=f"leave it out: {plain_labels(self.classes_)}",
            )

    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        if len(data.classes) < 2:
            raise InputError(
                f"the training data has one class only ({plain_labels(data.classes)})",
                where="y",
                hint="a classifier needs at least 2 classes",
            )
        self._check_threshold(len(data.classes))
        begins = self._begins
        class_weights = self._class_weights(data) if begins is None else begins.class_weights
        self.class_weights_ = class_weights
        self.mean_weight_ = data.mean_weight(class_weights)
        totals = data.class_totals
        self.class_shares_ = totals / totals.sum()
        if begins is not None:
            self.mean_weight_ = begins.mean_of(self.mean_weight_)
            self.class_shares_ = begins.shares_of(totals)
        problem = data.problem(
            self.n_outputs(len(data.classes)),
            has_test,
            self._seed(),
            class_weights,
            # new rows may be of one class alone, which says nothing of the model
            class_shares=() if begins else tuple((data.class_totals / data.class_totals.sum()).tolist()),
            weighs_classes=class_weights is not None,
        )
        return self._solver(class_weights, self.mean_weight_), problem

    def check_parameters(self) -> None:
        super().check_parameters()
        if self._wanted_threshold is not None:
            try:
                self._has_probabilities()
            except AttributeError as error:
                raise InputError(str(error), where="threshold", hint="or leave it out") from None

    @property
    def _wanted_threshold(self) -> float | str | None:
        wanted: float | str | None = self.value("threshold") if "threshold" in self.hyperparameters else None
        return wanted

    def _check_threshold(self, n_classes: int) -> None:
        if self._wanted_threshold is not None and n_classes != 2:
            raise InputError(
                f"is for two classes, and there are {n_classes}", where="threshold", hint="leave it out"
            )

    @property
    def threshold_(self) -> float | None:
        wanted = self._wanted_threshold
        if wanted is None:
            weights = self._weights_of_predictions()
            is_binary = weights is not None and len(weights) == 2
            return float(weights[0] / weights.sum()) if weights is not None and is_binary else None
        self._check_threshold(len(self.classes_))
        if wanted != "balanced":
            return float(wanted)
        if self.class_shares_ is None:
            raise InputError("the model knows no shares of classes", where="threshold", hint="give a number")
        return float(self.class_shares_[1])

    def _cut(self) -> float | NDArray[np.float64] | None:
        threshold = self.threshold_
        return self._weights_of_predictions() if threshold is None else threshold

    def _weights_of_predictions(self) -> NDArray[np.float64] | None:
        """The weight of each class, (n_classes,), that probabilities do not count and labels do."""
        return None if self.class_weights_ is None or self._chances() is None else self.class_weights_

    def _keep_data(self, data: TrainingData) -> None:
        self.classes_ = data.classes

    def _classes(self) -> NDArray[Any]:
        labels: NDArray[Any] = self.classes_
        return labels

    def _class_weights(self, data: TrainingData) -> NDArray[np.float64] | None:
        weighting = getattr(self, "class_weight", None)
        if weighting is None:
            return None
        if isinstance(weighting, str):
            # a class without rows needs no weight, and the others balance among themselves
            totals, present = data.class_totals, data.class_totals > 0
            balanced = np.zeros(len(totals))
            balanced[present] = totals.sum() / (present.sum() * totals[present])
            return balanced
        return self._given_weights(weighting, data.classes, data.class_totals)

    @staticmethod
    def _given_weights(
        weighting: Mapping[Any, Any], classes: NDArray[Any], class_totals: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The weight of each class, (n_classes,), 1 where none is given; job files have labels as texts."""
        weights, labels = np.ones(len(classes)), plain_labels(classes)
        for label, weight in weighting.items():
            code = code_of(labels, label)
            if code is None:
                raise InputError(
                    f"class {label!r} is not in the data", where="class_weight", hint=f"classes: {labels}"
                )
            if not NOT_NEGATIVE.accepts(weight):
                raise InputError(
                    f"the weight of class {label!r} is {weight!r}",
                    where="class_weight",
                    hint=f"use {NOT_NEGATIVE.description}",
                )
            weights[code] = float(weight)
        if weights @ class_totals == 0:
            raise InputError(
                "every class that has rows weighs 0", where="class_weight", hint="give one of them a weight"
            )
        return weights

    # -- prediction

    def decision_function(self, X: Any) -> Any:
        """f(x): (n_rows,) for two classes, else (n_rows, n_classes); lazy for Dask arrays and splits."""
        n_classes = len(self._fitted().classes_)
        return self._map(X, "decision", np.float64, None if n_classes == 2 else n_classes)

    def predict(self, X: Any) -> Any:
        """Labels (n_rows,); lazy for Dask arrays and splits."""
        return self._map(X, "label", self._fitted().classes_.dtype, None)

    def _has_probabilities(self) -> bool:
        if self._is_calibrated or self._loss().has_probabilities:
            return True
        choices = self.hyperparameters["loss"].words if "loss" in self.hyperparameters else []
        likelihoods = [name for name in choices if find_loss(name).has_probabilities]
        hint = f": set loss={' or '.join(map(repr, likelihoods))}" if likelihoods else ""
        if "probability" in self.hyperparameters:
            hint = ": set probability=True"
        raise AttributeError(f"loss {self._loss().name!r} gives no probabilities{hint}")

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Probabilities (n_rows, n_classes), where the model has them; lazy as predict.

        They are those of rows as they are, weighted by ``sample_weight``, whatever ``class_weight`` is.
        """
        return self._map(X, "probability", np.float64, len(self._fitted().classes_))

    def _chances(self) -> Callable[[Floats], NDArray[np.float64]] | None:
        """The probabilities of decision values (n_rows, n_outputs), if there are any."""
        own, weights = self._own_chances(), self.class_weights_
        return own if own is None or weights is None else partial(unweighted, own, weights)

    def _own_chances(self) -> Callable[[Floats], NDArray[np.float64]] | None:
        """The loss's own probabilities, which include the class weights it was trained with."""
        loss = self._loss()
        return loss.probabilities if loss.has_probabilities else None

    @in_python
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy on arrays, or on a split of a data set, which has its own labels."""
        from sklearn.metrics import accuracy_score

        from distkern.engine.dask.arrays import accuracy
        from distkern.runs.evaluation import score_of

        return score_of(self._fitted(), X, y, sample_weight, "accuracy", accuracy, accuracy_score)


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

    def n_outputs(self, n_classes: int = 2) -> int:
        return 1

    @available_if(_goes_on)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from a batch of rows, see :meth:`AbstractClassifier.partial_fit`."""
        refuse_lazy(X)
        learn = self.update if hasattr(self, "coefficients_") else self.fit
        return learn(X, y, sample_weight)

    def problem(self, data: TrainingData, *, has_test: bool) -> tuple[AbstractSolver[Any], Problem]:
        self.mean_weight_ = data.mean_weight()
        if self._begins is not None:
            self.mean_weight_ = self._begins.mean_of(self.mean_weight_)
        problem = data.problem(self.n_outputs(), has_test, self._seed(), real_targets=True)
        return self._solver(None, self.mean_weight_), problem

    def _keep_data(self, data: TrainingData) -> None:
        """Real targets leave nothing to keep."""

    def predict(self, X: Any) -> Any:
        """Predictions (n_rows,), or (n_rows, n_quantiles); lazy for Dask arrays and splits."""
        outputs = self._fitted().n_outputs()
        return self._map(X, "decision", np.float64, None if outputs == 1 else outputs)

    @in_python
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R^2 on arrays, or on a split of a data set, which has its own targets."""
        from sklearn.metrics import r2_score

        from distkern.engine.dask.arrays import r2
        from distkern.runs.evaluation import score_of

        return score_of(self._fitted(), X, y, sample_weight, "r2", r2, r2_score)
