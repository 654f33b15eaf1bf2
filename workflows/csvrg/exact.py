"""What CSVRG is compared with: exact machines, a linear one, and a neural network of fixed size."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import dask
import numpy as np

import distkern
from workflows.benchmarks.methods import grid
from workflows.records import Record
from workflows.subsets import gathered

#: training rows in the folds that choose settings
SEARCH_ROWS = 2000
_GAMMAS, _COSTS = (2**-6, 2**-4, 2**-2, 1.0, 4.0), (1.0, 10.0, 100.0)
#: fixed: nothing of it is searched
_NETWORK: dict[str, Any] = {"hidden_layer_sizes": (100,), "early_stopping": True, "max_iter": 50}


def _cells(loss: str) -> Any:
    def make(settings: Mapping[str, Any], n_rows: int, seed: int) -> Any:
        # one cell that holds all rows: the machine itself, nothing approximated or searched
        own = {"loss": loss, "kernel": "rbf", "search": None, "scale": "none", "metric": None}
        most = max(2, 2 * n_rows)
        return distkern.CellClassifier(**own, max_cell_rows=most, tol=0.01, random_state=seed, **settings)

    return make


def _svc(settings: Mapping[str, Any], n_rows: int, seed: int) -> Any:
    from sklearn.svm import SVC

    return SVC(cache_size=500, **settings)


def _linear(settings: Mapping[str, Any], n_rows: int, seed: int) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(random_state=seed, **settings)


def _network(settings: Mapping[str, Any], n_rows: int, seed: int) -> Any:
    from sklearn.neural_network import MLPClassifier

    return MLPClassifier(random_state=seed, **settings)


#: name -> factory, search space, and whether it is too expensive for all rows
METHODS: dict[str, tuple[Any, list[dict[str, Any]], bool]] = {
    "exact ODM": (_cells("odm"), grid(gamma=_GAMMAS, C=(0.01, 0.1, 1.0, 10.0)), True),
    "exact SVM": (_cells("hinge"), grid(gamma=_GAMMAS, C=_COSTS), True),
    "SVC of scikit-learn": (_svc, grid(gamma=_GAMMAS, C=_COSTS), True),
    "LinearSVC": (_linear, grid(C=(0.01, 0.1, 1.0, 10.0)), False),
    "MLPClassifier": (_network, [_NETWORK], False),
}


def searched(
    *, method: str, candidates: Sequence[dict[str, Any]], rows: int, folds: int, data: str, fingerprint: str
) -> Record:
    """The settings of least error over folds of the training rows."""
    make = METHODS[method][0]
    if len(candidates) == 1:
        return {"settings": candidates[0]}
    X, y = gathered(distkern.open_dataset(data).train, rows)
    errors = []
    for settings in candidates:
        wrong = 0
        for fold in range(folds):
            # rows lie in random order
            held_out = np.arange(len(y)) % folds == fold
            model = _fit(make(settings, len(y), 0), X[~held_out], y[~held_out])
            wrong += int(np.sum(model.predict(X[held_out]) != y[held_out]))
        errors.append(wrong / len(y))
    best = int(np.argmin(errors))
    return {"settings": candidates[best], "error": errors[best], "rows": len(y)}


def fitted(
    *, method: str, settings: Mapping[str, Any], rows: int, seed: int, data: str, fingerprint: str
) -> Record:
    """The error on the test rows, and how many rows the model consists of (None: it has none)."""
    make, _, dear = METHODS[method]
    dataset = distkern.open_dataset(data)
    X, y = gathered(dataset.train, rows if dear else None)
    model = _fit(make(settings, len(y), seed), X, y)
    fresh, truth = gathered(dataset.test)
    with dask.config.set(scheduler="synchronous"):
        wrong = float(np.mean(np.asarray(model.predict(fresh)) != truth))
    support = getattr(model, "n_support_", None)
    size = None if support is None else int(np.sum(support))
    return {"test_error": wrong, "model_size": size, "rows": len(y)}


def _fit(model: Any, X: Any, y: Any) -> Any:
    with dask.config.set(scheduler="synchronous"), warnings.catch_warnings():
        # iterations that end early are part of a method's settings here
        warnings.simplefilter("ignore")
        return model.fit(X, y)
