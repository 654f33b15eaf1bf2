"""Doubly stochastic functional gradients as a scikit-learn classifier and regressor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from distkern.core.errors import InputError
from distkern.core.names import plain_labels
from distkern.core.parameters import AUTO
from distkern.core.sparse import Rows, SparseRows, converted
from distkern.core.targets import plain_targets
from distkern.data.scaling import Preparation
from distkern.estimators.base import AbstractClassifier, AbstractFunctionalRegressor
from distkern.estimators.estimator import AbstractEstimator
from distkern.model.parts import Columns, History, SavedForUpdate
from distkern.model.random import RandomModel
from distkern.model.value import FittedModel
from distkern.runs.given import column_check, columns_of
from distkern.solvers.base import Problem
from distkern.solvers.dsg import ContinuedDSG


@dataclass(frozen=True)
class RowBatch:
    """Validated rows of a call of ``partial_fit``.

    Attributes
    ----------
    targets : class codes or real targets
    weights : (n_rows,), or None
    classes : labels of the codes; None for real targets
    class_weights : (n_classes,) factors already applied to the weights, or None
    """

    columns: Columns
    rows: Rows
    targets: NDArray[Any]
    weights: NDArray[np.float64] | None
    classes: NDArray[Any] | None = None
    class_weights: NDArray[np.float64] | None = None

    @property
    def class_shares(self) -> tuple[float, ...]:
        if self.classes is None:
            return ()
        totals = np.bincount(self.targets, self.weights, minlength=len(self.classes))
        return tuple((totals / totals.sum()).tolist())


class AbstractBatchLearner(AbstractEstimator):
    """An estimator that learns from batches of rows."""

    kind = RandomModel

    def _batch(self, X: Any, y: Any, sample_weight: Any) -> RowBatch:
        from distkern.runs.data import of_positive_weight
        from distkern.runs.learned import validated

        settings = self.recipe().settings
        metric = settings.row_metric()
        if self._model is None and (metric or settings.row_scale() not in (AUTO, "none")):
            raise InputError(
                "a single batch shows neither the spread of the columns nor their relation to the targets",
                where="scale" if metric is None else "metric",
                hint="scale the rows first, or call fit on the first batch",
            )
        if settings.given.get("class_weight") == "balanced":
            raise InputError(
                "'balanced' needs all labels at once", where="class_weight", hint="give {label: weight}"
            )
        name, known = type(self).__name__, None if self._model is None else self._model.columns
        given = X, y if y is None else plain_targets(y), sample_weight
        check = column_check(name, known)
        rows, targets, weights = validated(check, self.task, *given, reset=known is None)
        rows, targets, weights = of_positive_weight(rows, targets, weights)
        if known is None:
            wanted = settings.value("dtype")
            dtype = rows.dtype if wanted == AUTO else np.dtype(wanted)
            known = replace(columns_of(name, X, rows.shape[1]), dtype=dtype)
        return RowBatch(known, rows, targets, weights)

    def _continue(self, batch: RowBatch) -> Self:
        from distkern.engine.drive import Driver
        from distkern.engine.executors import open_executor
        from distkern.runs.sources import ArraySource

        known, before, earlier = self._model, None, SavedForUpdate()
        settings = self._settings() if known is None else known.settings.cleaned
        if known is not None:
            assert isinstance(known, RandomModel)
            earlier = known.further.loaded()
            before = known.stored_state() if known.state is None else known.state
        columns = batch.columns
        rows = Preparation(scaling=columns.scaling, dtype=columns.dtype).apply_rows(batch.rows)
        if known is not None and known.map is not None:
            rows = known.map.apply_rows(rows, rows.dtype)
        mean = 1.0 if batch.weights is None else float(batch.weights.mean())
        is_sparse = isinstance(rows, SparseRows)
        source = ArraySource(converted(rows, sparse=is_sparse), batch.targets, batch.weights)
        n_classes = 2 if batch.classes is None else len(batch.classes)
        risk = self.kind.risk_of(settings, n_classes, None, mean)
        solver: Any = replace(self.kind.solver_of(settings, risk), stages=1, polish=None)
        problem = Problem(
            source.block_rows,
            source.n_features,
            source.dtype,
            settings.seed() if known is None else known.seed,
            n_outputs=risk.n_outputs,
            has_test=False,
            sparse_numbers=source.row_numbers if source.is_sparse else None,
            real_targets=self.task == "regression",
            class_shares=batch.class_shares,
        )
        with open_executor("synchronous") as executor:
            driver = Driver({"train": source}, executor)
            outcome = driver.run(ContinuedDSG(**vars(solver), before=before), problem)
        kept, weight = solver.further(outcome.state), earlier.weight + mean * source.n_rows
        prints = (*earlier.sources, source.fingerprint)
        changed: dict[str, Any] = {
            "n_iter": 1 if known is None else known.n_iter + 1,
            "history": History([*(() if known is None else known.history), *outcome.history]),
            "ended": outcome.ending.reason,
            "mean_weight": mean,
            "class_weights": batch.class_weights,
            "further": SavedForUpdate(kept, earlier.n_rows + source.n_rows, weight, prints),
            **self.kind.of_state(settings, solver, outcome.state),
        }
        if known is None:
            own: dict[str, Any] = {
                "name": self.name,
                "task": self.task,
                "params": self.stored_params(),
                "settings": settings,
            }
            found: FittedModel = self.kind(
                **own, columns=columns, classes=batch.classes, seed=problem.seed, **changed
            )
            self._model = found
        else:
            self._model = replace(known, **changed)
        return self


class DSGClassifier(AbstractBatchLearner, AbstractClassifier, solver="dsg"):
    """Kernel classifier by doubly stochastic gradients (Dai et al. 2014; variants of Li and Poczos 2016).

    Minimises mean_i s_i l(f(x_i), y_i) + nu/2 |f|^2 over the kernel's function space. Each step draws a batch
    of rows and a new block of random features. The features are computed from the seed and never stored.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> DSGClassifier(gamma=4.0, n_features=512, block_size=64, random_state=0).fit(X, y).score(X, y) > 0.98
    True
    """

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue with a batch of rows: one step for every ``batch_size`` rows, and at least one.

        The step count carries over from batch to batch, and the first batch decides the bandwidth. Nothing is
        searched: ``nu`` and ``gamma`` set to "auto" keep the values of an earlier ``fit``, or else their
        defaults. Columns are scaled only as in an earlier ``fit``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_rows, n_features)
            Rows in memory.
        y : array-like of shape (n_rows,)
            Labels.
        classes : array-like, default=None
            All labels; required in the first call.
        sample_weight : array-like of shape (n_rows,), default=None
            Weights of the losses.

        Returns
        -------
        self

        Raises
        ------
        InputError
            If a label is not in ``classes``, or the first call lacks them.
        """
        from distkern.runs.data import of_positive_weight
        from distkern.runs.recipe import given_weights

        batch = self._batch(X, y, sample_weight)
        rows, labels, weights, factors = batch.rows, batch.targets, batch.weights, None
        check_classification_targets(labels)
        if self._model is not None:
            self._check_known(classes)
            known = self._classes()
        elif classes is None:
            raise InputError("is missing", where="classes", hint="give all labels in the first call")
        else:
            known = np.unique(plain_targets(classes, "classes"))
            if len(known) < 2:
                raise InputError("holds one label only", where="classes", hint="give at least two")
        places = np.searchsorted(known, labels)
        codes = np.minimum(places, len(known) - 1).astype(np.int32)
        unseen = plain_labels(labels[known[codes] != labels])
        if unseen:
            raise InputError(
                f"label {unseen[0]!r} is not among the classes",
                where="y",
                hint=f"the classes of the first call are {plain_labels(known)}",
            )
        if weighting := getattr(self, "class_weight", None):
            factors = given_weights(weighting, known, np.ones(len(known)))
            weights = factors[codes] if weights is None else weights * factors[codes]
            rows, codes, weights = of_positive_weight(rows, codes, weights)
        return self._continue(RowBatch(batch.columns, rows, codes, weights, known, factors))


class DSGRegressor(AbstractBatchLearner, AbstractFunctionalRegressor, solver="dsg"):
    """Kernel regressor by doubly stochastic gradients (Dai et al. 2014; variants of Li and Poczos 2016).

    ``nu`` weighs |g|^2 / 2, where f = target_center_ + target_scale_ g, so its meaning does not depend on the
    unit of the targets.

    Examples
    --------
    >>> X = np.linspace(0, 6, 400)[:, None]
    >>> DSGRegressor(n_features=512, random_state=0).fit(X, np.sin(X[:, 0])).score(X, np.sin(X[:, 0])) > 0.99
    True
    """

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Continue with a batch of rows, see :meth:`DSGClassifier.partial_fit`."""
        batch = self._batch(X, y, sample_weight)
        return self._continue(replace(batch, targets=np.asarray(batch.targets, dtype=np.float64)))
