"""SIMBA as a scikit-learn classifier."""

from __future__ import annotations

from contextlib import ExitStack
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from distkern.engine.executors import AbstractExecutor
from distkern.engine.executors.arrays import DaskArraySource
from distkern.estimators.data import TrainingData
from distkern.estimators.features import FEATURE_CONSTRAINTS, AbstractFeatureClassifier
from distkern.estimators.spooled import spooled
from distkern.losses import find_loss
from distkern.losses.base import AbstractLoss
from distkern.solvers.simba import SEARCHED, SIMBA
from distkern.storage.columns import no_columns
from distkern.storage.dataset import Split

_COUNT = [Interval(Integral, 1, None, closed="left")]


class SIMBAClassifier(AbstractFeatureClassifier):
    """Linear support vector machine that learns from single rows and columns (simba.txt, Algorithm 1).

    Maximises the margin gamma of <w, x> + b with |w| <= 1 where rows may fall short of it by nu in the
    mean, all in units of the largest norm of a row; ``coef_`` and ``intercept_`` are scaled so that the
    margin is 1. Several classes one-vs-rest, with one nu for all. Data sets need a feature-major copy
    (``distkern shard --columns``) unless ``features`` are random. Dask arrays are written to a temporary one.
    ``rows_read`` and ``bytes_read`` are of the passes; what the rounds look at is in ``feature_accesses``.

    Parameters
    ----------
    nu : 0 to 1, how far rows may fall short, in the mean; the best is about (hinge loss) / (|w| largest norm)
        of a good model, mostly .0003 to .03; "search" tries nine values of that range at once and takes the
        one with the fewest mistakes on held-out rows
    features : "linear" (the rows themselves, dense or sparse) or "random" (random features of ``kernel``)
    kernel, gamma, n_features, sampler : of "random"; gamma is a number, "scale" or "median"
    fit_intercept : learn b in [-1, 1] (in units of the largest norm)
    max_rounds : rounds
    max_feature_accesses : stop after so many, counted as n_features a row and n_rows a column; None: no limit
    rows_per_round, columns_per_round : read in a round (times the outputs) and averaged; 1 of each in the
        paper
    selection_every : rounds after which it is chosen anew which rows may fall short
    averaging : the model is the mean of the iterates weighted with round^averaging; 0: the paper's
    stages : the model is measured after each
    validation_fraction : of the training rows, held out where ``nu`` is searched or ``patience`` is not None;
        at least one row of each group of shards
    patience : stop after so many stages without fewer mistakes on them and keep the best stage's model; None:
        go on, and without a search keep the last
    random_state : int, RandomState or None

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(400, 40, class_sep=2.0, random_state=0)
    >>> model = SIMBAClassifier(max_rounds=2000, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    name = "simba"
    draws_any_row = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "nu": [Interval(Real, 0, 1, closed="both"), StrOptions({"search"})],
        "features": [StrOptions({"linear", "random"})],
        **{name: FEATURE_CONSTRAINTS[name] for name in ("kernel", "gamma", "n_features", "sampler")},
        "fit_intercept": ["boolean"],
        "max_rounds": _COUNT,
        "max_feature_accesses": [Interval(Real, 0, None, closed="neither"), None],
        "rows_per_round": _COUNT,
        "columns_per_round": _COUNT,
        "selection_every": _COUNT,
        "averaging": [Interval(Integral, 0, 8, closed="both")],
        "stages": _COUNT,
        "validation_fraction": [Interval(Real, 0, 1, closed="left")],
        "patience": [*_COUNT, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self, *, nu: float | str = "search", features: str = "linear", kernel: str = "rbf",
        gamma: float | str = "scale", n_features: int = 1024, sampler: str = "monte_carlo",
        fit_intercept: bool = True, max_rounds: int = 20_000, max_feature_accesses: float | None = None,
        rows_per_round: int = 4, columns_per_round: int = 1, selection_every: int = 16, averaging: int = 2,
        stages: int = 10, validation_fraction: float = 0.1, patience: int | None = 3,
        random_state: Any = None,
    ) -> None:  # fmt: skip
        self.nu = nu
        self.features = features
        self.kernel = kernel
        self.gamma = gamma
        self.n_features = n_features
        self.sampler = sampler
        self.fit_intercept = fit_intercept
        self.max_rounds = max_rounds
        self.max_feature_accesses = max_feature_accesses
        self.rows_per_round = rows_per_round
        self.columns_per_round = columns_per_round
        self.selection_every = selection_every
        self.averaging = averaging
        self.stages = stages
        self.validation_fraction = validation_fraction
        self.patience = patience
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike | None = None) -> Self:  # type: ignore[override]
        """As every estimator's, but rows have no weights."""
        return self.fit_with(X, y)

    def _data_of_lazy(
        self, raw: DaskArraySource, executor: AbstractExecutor, stack: ExitStack
    ) -> TrainingData:  # fmt: skip
        return self._data_of_split(spooled(raw, executor, stack, columns=self.features == "linear"))

    def _data_of_split(self, split: Split) -> TrainingData:
        if self.features == "linear" and not split.has_columns:
            raise no_columns(split.dataset.path)
        return super()._data_of_split(split)

    def objective_value(self, losses: float, n_rows: int) -> float:
        """Mean hinge loss, added up over the outputs."""
        return losses / n_rows

    def _loss(self) -> AbstractLoss:
        return find_loss("hinge")()

    def _solver(self, class_weights: NDArray[np.float64] | None, mean_weight: float) -> SIMBA:
        return SIMBA(
            self.feature_choice(),
            SEARCHED if isinstance(self.nu, str) else (float(self.nu),),
            fit_intercept=self.fit_intercept,
            max_rounds=int(self.max_rounds),
            max_feature_accesses=self.max_feature_accesses,
            rows_per_round=int(self.rows_per_round),
            columns_per_round=int(self.columns_per_round),
            selection_every=int(self.selection_every),
            averaging=int(self.averaging),
            stages=int(self.stages),
            validation_fraction=float(self.validation_fraction),
            patience=None if self.patience is None else int(self.patience),
        )
