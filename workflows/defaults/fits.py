"""One fit of :mod:`workflows.defaults.beside`: what the package chooses, or boosted trees with a search."""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any

import dask
import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

import distkern
from workflows.defaults import scores
from workflows.defaults.methods import FEW_ROWS, at_most
from workflows.defaults.sets import Set
from workflows.records import Record

Array = NDArray[Any]

OURS, THEIRS = "distkern", "LightGBM"
WHO = (OURS, THEIRS)

_LEAVES, _RATES, _MOST_ROUNDS, _PATIENCE = (15, 63, 255), (0.05, 0.1), 2000, 30
#: of what a model has for each test row, what pairs are made of
_KEPT = ("squared", "loss", "wrong", "score", "positive")


def boosted(X: Any, y: Array, seed: int, *, is_real: bool) -> Any:
    """The best of six LightGBM models on rows that are held out of their own."""
    import lightgbm

    kind = lightgbm.LGBMRegressor if is_real else lightgbm.LGBMClassifier
    shares = None if is_real or np.unique(y, return_counts=True)[1].min() < 2 else y
    rows, asked, targets, truth = train_test_split(X, y, test_size=0.2, random_state=seed, stratify=shares)
    if not is_real:
        # of few rows a class may be among those that are held out alone, which LightGBM refuses
        known = np.flatnonzero(np.isin(truth, targets))
        asked, truth = _taken(asked, known), truth[known]
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
    return min(models, key=lambda model: next(iter(model.best_score_["valid_0"].values())))


def chosen(X: Any, y: Array, seed: int, *, is_real: bool) -> Any:
    """The machine that the package chooses."""
    kind = distkern.KernelRegressor if is_real else distkern.KernelClassifier
    return kind(random_state=seed).fit(X, y)


def measured(
    *,
    name: str,
    who: str,
    seed: int,
    rows: int,
    positives: float | None,
    fingerprint: str,
    path: str,
    out: str,
    limit: float,
) -> Record:
    """Fit to rows that the seed draws of a set, and score on test rows that are the same for all.

    Parameters
    ----------
    path : of the set's ``.zarr``; "" of a generated one
    out : of what is kept for each test row, see :func:`kept_at`
    limit : CPU seconds of the fit, at most

    Returns
    -------
    cpu_seconds : of the fit with its search, after one to a few rows has made what is compiled once
    chosen : the package's algorithm
    log loss, error, calibration, AUC; or RMSE
    """
    one = Set(name, path, positives, fingerprint)
    table = one.rows(seed)
    X, fresh = table.cleaned if who == THEIRS and table.cleaned is not None else (table.X, table.fresh)
    numbers = np.random.default_rng(seed).permutation(len(table.y))[:rows]
    X, y = _taken(X, numbers), table.y[numbers]
    fit = chosen if who == OURS else boosted
    with warnings.catch_warnings(), dask.config.set(scheduler="synchronous"):
        warnings.simplefilter("ignore")
        fit(_taken(X, slice(FEW_ROWS)), y[:FEW_ROWS], seed, is_real=table.is_real)
        start = time.process_time()
        with at_most(limit):
            model = fit(X, y, seed, is_real=table.is_real)
        seconds = time.process_time() - start
        by_row = scores.by_row(model, fresh, table.truth, is_real=table.is_real)
    _keep(kept_at(Path(out), name, seed, who), {key: by_row[key] for key in _KEPT if key in by_row})
    said = getattr(model, "algorithm_", None)
    told = {} if said is None else {"chosen": said}
    return {"cpu_seconds": seconds, **told, **scores.figures(by_row)}


def kept_at(out: Path, name: str, seed: int, who: str) -> Path:
    """Where the losses of each test row lie."""
    return out / "rows" / name / str(seed) / f"{who}.npz"


def _taken(X: Any, numbers: Array | slice) -> Any:
    return X.iloc[numbers] if hasattr(X, "iloc") else X[numbers]


def _keep(path: Path, arrays: dict[str, Array]) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
    os.replace(partial, path)
