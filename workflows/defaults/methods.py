"""The methods to fit: every algorithm with default settings, and scikit-learn's alternatives."""

from __future__ import annotations

import functools
import inspect
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dask
import numpy as np
import scipy.sparse as sp

import distkern
from distkern.estimators.base import AbstractClassifier, AbstractRegressor
from workflows.pool import Question
from workflows.processes import at_most
from workflows.records import Record
from workflows.subsets import gathered

#: rows that a draw is of, and test rows, at most
_MOST_ROWS, TEST_ROWS = 60_000, 10_000
#: rows of the fit that has the compiled loops made before seconds are counted
FEW_ROWS = 400
#: of sparse rows with many columns: linear machines and kernels at landmarks
_OF_SPARSE = ("auto", "pegasos", "simba", "csvrg", "avm")
#: linear with default settings
LINEAR = ("pegasos", "simba")
AUTO = "auto"
#: scikit-learn's, as they come and on standardised columns (and targets)
LINEAR_PEER = "LR"
EXACT_PEERS = ("SVC", "SVC, standardised")
PEERS = (LINEAR_PEER, *EXACT_PEERS, "HGB")
_PREPARED: set[tuple[str, bool, bool]] = set()


@dataclass(frozen=True)
class Source:
    """A data set that rows are drawn of."""

    name: str
    path: str
    fingerprint: str
    is_real: bool
    is_sparse: bool

    @classmethod
    def of(cls, path: Path) -> Source:
        """What is needed to know of a ``.zarr``."""
        dataset = distkern.open_dataset(path)
        return cls(
            path.name.removesuffix(".zarr"),
            str(path),
            dataset.fingerprint,
            dataset.task == "regression",
            sp.issparse(gathered(dataset.train, 16)[0]),
        )


def algorithms(*, is_real: bool) -> dict[str, type[Any]]:
    """Return estimators by algorithm, `auto` first, without those for two samples."""
    base = AbstractRegressor if is_real else AbstractClassifier
    found = {}
    for name in distkern.__all__:
        kind = getattr(distkern, name)
        if inspect.isclass(kind) and issubclass(kind, base) and kind is not distkern.DSGDensityRatio:
            found[kind.name.removesuffix("_regressor")] = kind
    return {AUTO: found.pop(AUTO), **found}


def scored(*, method: str, seed: int, rows: int, fingerprint: str, data: str, limit: float) -> Record:
    """Fit to rows that the seed draws; score on the same test rows for all.

    Returns
    -------
    score : the accuracy, or R2 of real targets
    cpu_seconds : of the fit
    chosen : of ``auto``, the algorithm
    """
    X, y, fresh, truth, is_real = _rows(data)
    drawn = np.random.default_rng(seed).permutation(len(y))[:rows]
    with at_most(limit):
        return _fitted(method, seed, {}, X[drawn], y[drawn], fresh, truth, is_real)


def of_loss(
    *, method: str, loss: str, seed: int, rows: int, fingerprint: str, data: str, limit: float
) -> Record:
    """The same with a loss, of columns in their own units, as they were before they were scaled."""
    X, y, fresh, truth, is_real = _rows(data)
    scaling = distkern.open_dataset(data).scaling
    if scaling.factor is not None:
        X, fresh = (part / scaling.factor + scaling.shift for part in (X, fresh))
    drawn = np.random.default_rng(seed).permutation(len(y))[:rows]
    with at_most(limit):
        return _fitted(method, seed, {"loss": loss}, X[drawn], y[drawn], fresh, truth, is_real)


def questions(
    sources: Sequence[Source], seeds: int, rows: int, limit: float, names: Sequence[str] = ()
) -> Iterator[Question]:
    """Yield all fits: every data set with the first seed before any with the second.

    Losses are those of the first data set of real targets; ``limit`` is in CPU seconds of a fit.
    """
    for seed in range(seeds):
        for source in sources:
            for method in methods(source):
                if names and method not in names:
                    continue
                asked = {"method": method, "seed": seed, "rows": rows, "fingerprint": source.fingerprint}
                key = f"scores/{source.name}/{method.replace(', ', '-')}/{seed}"
                yield Question(key, scored, asked, {"data": source.path, "limit": limit})
        if seed == 0:
            real = [source for source in sources if source.is_real]
            yield from _losses(real[:1], rows, limit, names)


def methods(source: Source) -> list[str]:
    """scikit-learn's methods, and ours."""
    if source.is_sparse:
        return ["LR", "SVC", *_OF_SPARSE]
    return [*PEERS, *algorithms(is_real=source.is_real)]


def losses(method: str) -> list[str]:
    """That a regressor can minimise."""
    kind = algorithms(is_real=True)[method]
    return kind.hyperparameters["loss"].words if "loss" in kind.hyperparameters else []


def _losses(sources: Sequence[Source], rows: int, limit: float, names: Sequence[str]) -> Iterator[Question]:
    for source in sources:
        for method in algorithms(is_real=True):
            for loss in losses(method) if not names or method in names else ():
                asked = {"method": method, "loss": loss, "seed": 0, "rows": rows}
                asked["fingerprint"] = source.fingerprint
                given = {"data": source.path, "limit": limit}
                yield Question(f"losses/{source.name}/{method}/{loss}", of_loss, asked, given)


@functools.lru_cache(maxsize=1)
def _rows(data: str) -> tuple[Any, np.ndarray, Any, np.ndarray, bool]:
    """Rows to draw from, test rows, and whether targets are real."""
    dataset = distkern.open_dataset(data)
    X, y = gathered(dataset.train, _MOST_ROWS)
    fresh, truth = gathered(dataset.test)
    tested = np.random.default_rng(9).permutation(len(truth))[:TEST_ROWS]
    return X, y, fresh[tested], truth[tested], dataset.task == "regression"


def _fitted(
    method: str,
    seed: int,
    settings: dict[str, Any],
    X: Any,
    y: np.ndarray,
    fresh: Any,
    truth: np.ndarray,
    is_real: bool,
) -> Record:
    with warnings.catch_warnings(), dask.config.set(scheduler="synchronous"):
        warnings.simplefilter("ignore")
        key = method, is_real, sp.issparse(X)
        if key not in _PREPARED:
            _PREPARED.add(key)
            _made(method, seed, settings, is_real).fit(X[:FEW_ROWS], y[:FEW_ROWS])
        start = time.process_time()
        model = _made(method, seed, settings, is_real).fit(X, y)
        seconds = time.process_time() - start
        found: Record = {"score": float(model.score(fresh, truth)), "cpu_seconds": seconds}
    if method == AUTO:
        found["chosen"] = model.algorithm_
    return found


def _made(method: str, seed: int, settings: dict[str, Any], is_real: bool) -> Any:
    if method in PEERS:
        return _peer(method, seed, is_real)
    return algorithms(is_real=is_real)[method](random_state=seed, **settings)


def _peer(method: str, seed: int, is_real: bool) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    if method == LINEAR_PEER:
        return Ridge() if is_real else LogisticRegression(max_iter=500)
    if method == "HGB":
        kind = HistGradientBoostingRegressor if is_real else HistGradientBoostingClassifier
        return kind(random_state=seed)
    machine = SVR() if is_real else SVC()
    if method == "SVC":
        return machine
    standardised = make_pipeline(StandardScaler(), machine)
    return TransformedTargetRegressor(standardised, transformer=StandardScaler()) if is_real else standardised
