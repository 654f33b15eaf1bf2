"""Classifiers and regressors: the base classes of the estimators by the kind of their targets.

A line such as ``class SVRGClassifier(AbstractExplicitClassifier, solver="svrg")`` makes an estimator with the
solver's name and hyperparameters. A class that derives directly from :class:`AbstractClassifier` or
:class:`AbstractRegressor` must give:

    kind                          class of its fitted models, see :mod:`distkern.model.value`
    name, hyperparameters         if no solver declares them

It may give:

    extra_parameters, loss_of, name_with    hyperparameters and name that the solver does not declare
    left_open                     hyperparameters that depend on the rows
    task, most_classes            task of its data sets; largest number of classes
    recipe                        how it learns, if that is more than its settings
    stored_params, changed        hyperparameters in a model's file; those that differ from their defaults
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import check_consistent_length, column_or_1d

from distkern.core.common_parameters import CLASS_WEIGHT, METRIC, RANDOM_STATE, SCALE, THRESHOLD
from distkern.core.errors import InputError
from distkern.core.names import plain_labels
from distkern.core.parameters import Parameter
from distkern.core.python_words import in_python
from distkern.estimators.declared import Elsewhere, available_if
from distkern.estimators.estimator import AbstractEstimator
from distkern.maths.losses import find_loss
from distkern.model.features import ExplicitModel
from distkern.model.settings import Settings
from distkern.model.value import FittedModel
from distkern.runs.given import refuse_lazy

if TYPE_CHECKING:
    from distkern.show.explanation import Explanation
    from distkern.solvers.base import AbstractSolver


class Explainable:
    """Adds :meth:`explain` to classifiers and regressors."""

    _fitted: Callable[[], FittedModel]
    feature_importances_ = Elsewhere("model.explain(X, y).importances_mean")

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
        """Compute permutation importances and partial dependence on a sample of rows.

        The columns of a table are permuted as a whole, and partial dependence sets them to values of the
        table. Only the sample is held in memory.

        Parameters
        ----------
        X, y : array-like, frame, Dask collection, Split or Dataset
            Rows with labels or targets, as ``fit`` takes them; preferably rows that were not used to fit. The
            test rows of a data set are used if it has any.
        features : list of str or int, default=None
            Names or positions of the columns to measure. None: up to 30 columns, those with the largest
            weight in the learned metric or else the largest variance; partial dependence for the five most
            important.
        grid_resolution : int, default=20
            Largest number of values in a partial dependence curve: quantiles from 5 to 95 %, or the most
            frequent categories.
        n_repeats : int, default=5
            Permutations of each column.
        max_samples : int, default=2000
            Largest number of rows; the sample also takes at most 8 MiB.
        random_state : int, default=0
            Seed of the sample and the permutations.

        Returns
        -------
        explanation : Explanation

        Raises
        ------
        InputError or ValueError
            If an argument is invalid or nothing can be measured; the message says why.
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


def _supports_partial_fit(estimator: AbstractEstimator) -> bool:
    try:
        rule = estimator.recipe().solver.updates
    except InputError:
        # fit reports what is wrong
        return True
    if not rule.reads_old:
        return True
    hint = f"use {rule.alone_with}, or " if rule.alone_with else ""
    why = f"no partial_fit, because updates of {estimator.name} read the old rows again"
    raise AttributeError(f"{why}: {hint}fit and update(X, y, old=...)")


class AbstractClassifier(ClassifierMixin, Explainable, AbstractEstimator):  # type: ignore[misc]
    """A binary or one-vs-rest classifier f(x) = basis(x) @ coefficients_ + constants_."""

    task = "classification"
    extra_parameters: ClassVar[Mapping[str, Parameter | None]] = {
        "class_weight": CLASS_WEIGHT,
        "threshold": THRESHOLD,
        "scale": SCALE,
        "metric": METRIC,
        "random_state": RANDOM_STATE,
    }

    @classmethod
    def loss_of(cls, solver: type[AbstractSolver[Any]]) -> dict[str, Parameter]:
        from distkern.solvers.hyperparameters import loss_for

        loss = solver.choices.get("loss")
        return {} if loss is None else {"loss": loss_for(loss, ("binary", "classes"), loss.default)}

    @available_if(_supports_partial_fit)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Fit on a batch of rows: the first call is ``fit``, later calls are ``update``.

        The first batch decides everything that a fit chooses: scaling, landmarks, and hyperparameters set to
        "auto". :meth:`update` describes what the model then minimises. Newton with the square loss and at
        most 2,048 basis functions reaches the same model as a fit on all rows with the choices of the first
        batch.

        Parameters
        ----------
        X, y, sample_weight : array-like
            Rows in memory, as ``update`` takes them.
        classes : array-like, default=None
            All labels; None: the labels of the first batch, which must contain rows of every class.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If the labels of the first batch differ from ``classes``, a later batch has an unknown label, or
            Newton has more basis functions; also as :meth:`fit` and :meth:`update` do.
        """
        refuse_lazy(X)
        if self._model is not None:
            self._check_known(classes)
            return self.update(X, y, sample_weight)
        if classes is not None:
            from distkern.core.targets import plain_targets

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
                    hint="give a first batch with rows of every class",
                )
            if unknown:
                raise InputError(
                    f"label {unknown[0]!r} is not among the classes",
                    where="y",
                    hint=f"correct it, or add it to classes: {plain_labels(known)}",
                )
        return self.fit(X, y, sample_weight)

    def _check_known(self, classes: Any) -> None:
        """Refuse ``classes`` of a later batch that differ from the model's."""
        from distkern.core.targets import plain_targets

        if classes is not None and not np.array_equal(
            np.unique(plain_targets(classes, "classes")), self._classes()
        ):
            raise InputError(
                "differs from the classes of the first call",
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
        """Probability from which the second of two classes is predicted: the given threshold, or w_0 / (w_0 +
        w_1) with class weights w; None if the sign of the decision value decides.
        """
        return self.model_.threshold

    # -- prediction

    def decision_function(self, X: Any) -> Any:
        """Compute f(x): (n_rows,) for two classes, otherwise (n_rows, n_classes).

        The result is lazy for Dask collections and splits.
        """
        n_classes = len(self._classes())
        return self._map(X, "decision", np.float64, None if n_classes == 2 else n_classes)

    def predict(self, X: Any) -> Any:
        """Predict labels, (n_rows,); lazy for Dask collections and splits."""
        return self._map(X, "label", self._classes().dtype, None)

    def _classes(self) -> NDArray[Any]:
        classes = self._fitted().classes
        assert classes is not None, "it is a classifier"
        return classes

    def _has_probabilities(self) -> bool:
        if self._model is not None and self._model.chances is not None:
            return True
        loss = self.kind.loss_of(super()._settings())
        if getattr(self, "probability", False) or loss.has_probabilities:
            return True
        choices = self.hyperparameters["loss"].words if "loss" in self.hyperparameters else []
        likelihoods = [name for name in choices if find_loss(name).has_probabilities]
        hint = ": fit sklearn.calibration.CalibratedClassifierCV(model)"
        if likelihoods:
            hint = f": set loss={' or '.join(map(repr, likelihoods))}"
        if "probability" in self.hyperparameters:
            hint = ": set probability=True"
        raise AttributeError(f"loss {loss.name!r} gives no probabilities{hint}")

    @available_if(lambda estimator: estimator._has_probabilities())
    def predict_proba(self, X: Any) -> Any:
        """Predict class probabilities, (n_rows, n_classes), if the model has them; lazy as :meth:`predict`.

        The probabilities are for rows as they occur, weighted by ``sample_weight``; ``class_weight`` does not
        change them.
        """
        return self._map(X, "probability", np.float64, len(self._classes()))

    @in_python
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy on arrays, or on a split of a data set, which has its own labels."""
        from sklearn.metrics import accuracy_score

        from distkern.engine.dask.arrays import accuracy
        from distkern.runs.evaluation import score_of

        how = sample_weight, "accuracy", accuracy, accuracy_score
        return score_of(self._fitted(), self.predict, X, y, *how)


class AbstractRegressor(RegressorMixin, Explainable, AbstractEstimator):  # type: ignore[misc]
    """A regressor f(x) = basis(x) @ coefficients_ + constants_ with one output for each quantile."""

    task = "regression"
    extra_parameters: ClassVar[Mapping[str, Parameter | None]] = {
        "scale": SCALE,
        "metric": METRIC,
        "random_state": RANDOM_STATE,
    }

    @classmethod
    def name_with(cls, solver: str) -> str:
        return f"{solver}_regressor"

    @classmethod
    def loss_of(cls, solver: type[AbstractSolver[Any]]) -> dict[str, Parameter]:
        from distkern.solvers.hyperparameters import loss_for

        loss = solver.choices.get("loss")
        return {} if loss is None else {"loss": loss_for(loss, ("real",), "square")}

    @available_if(_supports_partial_fit)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit on a batch of rows, see :meth:`AbstractClassifier.partial_fit`."""
        refuse_lazy(X)
        learn = self.fit if self._model is None else self.update
        return learn(X, y, sample_weight)

    def predict(self, X: Any) -> Any:
        """Predict targets, (n_rows,) or (n_rows, n_quantiles); lazy for Dask collections and splits."""
        outputs = self._fitted().n_outputs
        return self._map(X, "decision", np.float64, None if outputs == 1 else outputs)

    @in_python
    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return R^2 on arrays, or on a split of a data set, which has its own targets."""
        from sklearn.metrics import r2_score

        from distkern.engine.dask.arrays import r2
        from distkern.runs.evaluation import score_of

        return score_of(self._fitted(), self.predict, X, y, sample_weight, "r2", r2, r2_score)


class AbstractExplicitClassifier(AbstractClassifier):
    """A linear classifier over explicit features."""

    kind = ExplicitModel


class AbstractFunctionalRegressor(AbstractRegressor):
    """A regressor f = target_center_ + target_scale_ g, where g minimises the unitless objective

    mean_i s_i l(g(x_i), (y_i - target_center_) / target_scale_) + nu/2 |g|^2.

    Loss constants that are residuals are given in the units of the targets and divided by target_scale_. The
    first term is therefore the mean loss in those units, divided by target_scale_^2 for the square and Huber
    losses and by target_scale_ for the others.

    Predicted quantiles are sorted in each row so that they do not cross, see
    :func:`~distkern.model.prediction.rearranged`; the objective uses g unsorted.
    """


class AbstractExplicitRegressor(AbstractFunctionalRegressor):
    """A linear regressor over explicit features.

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g, so its meaning does not depend on the
    unit of the targets.
    """

    kind = ExplicitModel
