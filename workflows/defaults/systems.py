"""The systems of :mod:`workflows.defaults.beside`: the package's own choice and its peers.

All take the same frame, array or sparse matrix. Peers whose package is not installed are skipped.
"""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

Array = NDArray[Any]

OURS, LIGHTGBM, CATBOOST, PERPETUAL, XRFM = "distkern", "lightgbm", "catboost", "perpetual", "xrfm"
LABELS = {OURS: OURS, LIGHTGBM: "LightGBM", CATBOOST: "CatBoost", PERPETUAL: "perpetual", XRFM: "xRFM"}
#: beside LightGBM, where their packages are installed
PEERS = (CATBOOST, PERPETUAL, XRFM)

_LEAVES, _RATES, _MOST_ROUNDS, _PATIENCE = (15, 63, 255), (0.05, 0.1), 2000, 30
_HELD_OUT = 0.2
#: categories of a column that xRFM has an indicator of, the most frequent ones
_MOST_INDICATORS = 100
_MISSING = "missing"
#: how the package's message names a column that is to become one of categories
_ADVICE = re.compile(r"X\[('[^']*'|\"[^\"]*\")\]\.astype\('category'\)")


def is_installed(system: str) -> bool:
    """Whether the package of a system is."""
    return importlib.util.find_spec(system) is not None


@dataclass(frozen=True)
class Columns:
    """Columns of training rows that are not numbers, by place, with their values, the most frequent first.

    Arrays and sparse matrices have none and pass through unchanged.
    """

    values: dict[int, pandas.Index]

    @classmethod
    def of(cls, X: Any) -> Columns:
        """Read the values of a frame's columns."""
        if not hasattr(X, "iloc"):
            return cls({})
        found = {}
        for place in range(X.shape[1]):
            column = X.iloc[:, place]
            if not pandas.api.types.is_numeric_dtype(column):
                found[place] = _texts(column).value_counts().index
        return cls(found)

    def native(self, X: Any) -> Any:
        """Return a frame of numbers and pandas' categories of the training rows, with plain names."""
        return self._frame(X, _categories)

    def texts(self, X: Any) -> Any:
        """Return a frame of numbers and of texts, a word where one is missing."""
        return self._frame(X, lambda column, _: _texts(column).fillna(_MISSING).astype(object))

    def indicators(self, X: Any) -> Any:
        """Return a frame of numbers and of indicators of frequent values."""

        def columns(column: pandas.Series, known: pandas.Index) -> pandas.DataFrame:
            values = _categories(column, known[:_MOST_INDICATORS])
            return pandas.get_dummies(pandas.Series(values), dtype=float)

        return self._frame(X, columns)

    def _frame(self, X: Any, made: Callable[[pandas.Series, pandas.Index], Any]) -> Any:
        if not hasattr(X, "iloc"):
            return X
        parts = []
        for place in range(X.shape[1]):
            column = X.iloc[:, place].reset_index(drop=True)
            if place in self.values:
                part = made(column, self.values[place])
                frame = part if isinstance(part, pandas.DataFrame) else pandas.DataFrame({"": part})
                frame.columns = [f"c{place}_{number}" for number in range(frame.shape[1])]
            else:
                frame = pandas.DataFrame({f"c{place}": column.astype(float)})
            parts.append(frame)
        return pandas.concat(parts, axis=1)


def _texts(column: pandas.Series) -> pandas.Series:
    return column.astype("string")


def _categories(column: pandas.Series, known: pandas.Index) -> pandas.Categorical:
    """Values that are not known are missing."""
    values = _texts(column)
    return pandas.Categorical(values.where(values.isin(known)), categories=known)


@dataclass(frozen=True)
class Peer:
    """A fitted model of others, which predicts for raw rows.

    Attributes
    ----------
    prepared : from raw rows to the model's
    classes_ : labels, in the order of the probabilities; None of real targets
    rounds : trees, or None
    """

    model: Any
    prepared: Callable[[Any], Any]
    classes_: Array | None
    rounds: int | None = None

    def predict_proba(self, X: Any) -> Array:
        """Probabilities (n, number of classes)."""
        chances = np.asarray(self.model.predict_proba(self.prepared(X)), dtype=float)
        if chances.ndim == 1:
            chances = np.stack([1.0 - chances, chances], axis=1)
        return chances / chances.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Array:
        """Real targets, or the most probable labels."""
        if self.classes_ is None:
            return np.asarray(self.model.predict(self.prepared(X)), dtype=float).ravel()
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def chosen(X: Any, y: Array, seed: int, *, is_real: bool) -> Any:
    """Fit the default choice of the package.

    Columns that it refuses because only some of their values are numbers become categories, as its message
    advises; ``remedied_`` of the model names them.
    """
    import dask

    import distkern
    from distkern.core.errors import InputError

    kind = distkern.KernelRegressor if is_real else distkern.KernelClassifier
    with dask.config.set(scheduler="synchronous"):
        try:
            return kind(n_jobs=1, random_state=seed).fit(X, y)
        except InputError as error:
            columns = [ast.literal_eval(name) for name in _ADVICE.findall(str(error))]
            if not columns:
                raise
        model = kind(n_jobs=1, random_state=seed).fit(X.astype(dict.fromkeys(columns, "category")), y)
        model.remedied_ = columns
        return model


def boosted(X: Any, y: Array, seed: int, *, is_real: bool) -> Peer:
    """Fit six LightGBM models with native categories, and keep the best on common held-out rows."""
    import lightgbm

    kind = lightgbm.LGBMRegressor if is_real else lightgbm.LGBMClassifier
    columns, (classes, targets) = Columns.of(X), _codes(y, is_real)
    rows, asked, targets, truth = _held_out(columns.native(X), targets, seed, is_real)
    models = []
    for leaves in _LEAVES:
        for rate in _RATES:
            model = kind(
                n_estimators=_MOST_ROUNDS,
                num_leaves=leaves,
                learning_rate=rate,
                n_jobs=1,
                verbose=-1,
                random_state=seed,
            )
            patience = lightgbm.early_stopping(_PATIENCE, verbose=False)
            models.append(model.fit(rows, targets, eval_set=[(asked, truth)], callbacks=[patience]))
    best = min(models, key=lambda model: next(iter(model.best_score_["valid_0"].values())))
    known = None if classes is None else classes[best.classes_]
    return Peer(best, columns.native, known, best.best_iteration_)


def catboost(X: Any, y: Array, seed: int, *, is_real: bool) -> Peer:
    """Fit CatBoost with default settings; it refuses text columns unless they are named."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind = CatBoostRegressor if is_real else CatBoostClassifier
    columns, (classes, targets) = Columns.of(X), _codes(y, is_real)
    rows = columns.texts(X)
    model = kind(random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False)
    model.fit(rows, targets, cat_features=list(columns.values))
    return Peer(model, columns.texts, classes, model.tree_count_)


def perpetual(X: Any, y: Array, seed: int, *, is_real: bool) -> Peer:
    """Fit perpetual with default settings; it stops on its own."""
    from perpetual import PerpetualBooster

    columns, (classes, targets) = Columns.of(X), _codes(y, is_real)
    model = PerpetualBooster(objective="SquaredLoss" if is_real else "LogLoss", num_threads=1, seed=seed)
    model.fit(columns.native(X), targets.astype(float))
    return Peer(model, columns.native, classes)


def xrfm(X: Any, y: Array, seed: int, *, is_real: bool) -> Peer:
    """Fit xRFM as its README does, on standardised numbers and indicators of categories."""
    import torch
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from xrfm import xRFM

    torch.set_num_threads(1)
    columns, (classes, targets) = Columns.of(X), _codes(y, is_real)
    raw, raw_asked, targets, truth = _held_out(columns.indicators(X), targets, seed, is_real)
    numbers = make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler())
    rows = numbers.fit_transform(raw).astype(np.float32)
    asked = numbers.transform(raw_asked).astype(np.float32)
    if is_real:
        mean, size = targets.mean(), targets.std()
        targets, truth = ((one[:, None] - mean) / size for one in (targets, truth))
        targets, truth = targets.astype(np.float32), truth.astype(np.float32)
    metric = "mse" if is_real else "brier"
    model = xRFM(device="cpu", tuning_metric=metric, n_threads=1, random_state=seed, verbose=False)
    model.fit(rows, targets, asked, truth)
    scaled = _Scaled(model, mean, size) if is_real else model
    return Peer(scaled, lambda raw: numbers.transform(columns.indicators(raw)).astype(np.float32), classes)


@dataclass(frozen=True)
class _Scaled:
    """A model of standardised targets."""

    model: Any
    mean: float
    size: float

    def predict(self, X: Any) -> Array:
        return np.asarray(self.model.predict(X)) * self.size + self.mean


SYSTEMS: dict[str, Callable[..., Any]] = {
    OURS: chosen,
    LIGHTGBM: boosted,
    CATBOOST: catboost,
    PERPETUAL: perpetual,
    XRFM: xrfm,
}


def _codes(y: Array, is_real: bool) -> tuple[Array | None, Array]:
    """Classes and their numbers by row; real targets as they are."""
    return (None, y) if is_real else np.unique(y, return_inverse=True)


def _held_out(X: Any, y: Array, seed: int, is_real: bool) -> tuple[Any, Any, Array, Array]:
    """Return training rows, a held-out fifth, and the targets of both."""
    shares = None if is_real or np.unique(y, return_counts=True)[1].min() < 2 else y
    rows, asked, targets, truth = train_test_split(
        X, y, test_size=_HELD_OUT, random_state=seed, stratify=shares
    )
    if not is_real:
        # of few rows a class may be among those that are held out alone, which LightGBM refuses
        known = np.flatnonzero(np.isin(truth, targets))
        asked, truth = asked.iloc[known] if hasattr(asked, "iloc") else asked[known], truth[known]
    return rows, asked, targets, truth
