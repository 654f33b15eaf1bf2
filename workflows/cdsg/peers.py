"""scikit-learn's LIBSVM and neural net on the same rows (Tables 3, 5 and 6)."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

import distkern
from distkern.maths.kernels import find_kernel
from distkern.maths.kernels.bandwidth import gamma_by_rule
from workflows.cdsg.variants import WEIGHT
from workflows.pool import Question
from workflows.records import Record
from workflows.subsets import Subset, gathered

#: rows of LIBSVM at most: its time grows with their square at least
MOST_EXACT = 10_000
#: rows that the width of the kernel is read off
_SAMPLE = 4000
#: two layers, as the paper puts on top of the features of a convolutional net
LAYERS = (128, 128)


def _rows(data: str) -> tuple[Any, ...]:
    dataset = distkern.open_dataset(data)
    return (*gathered(dataset.train), *gathered(dataset.test))


def libsvm(*, data: str, gamma: str, fingerprint: str) -> Record:
    """The errors of the exact kernel machine, hinge loss, C = 1 / (nu n), and its CPU seconds."""
    from sklearn.svm import SVC

    X, y, fresh, truth = _rows(data)
    number = gamma_by_rule(gamma, find_kernel("rbf"), X[:_SAMPLE])
    start = time.process_time()
    machine = SVC(C=1.0 / (WEIGHT * len(y)), gamma=number, cache_size=1000).fit(X, y)
    seconds = time.process_time() - start
    return {
        "cpu_seconds": seconds,
        "train_error": float(np.mean(machine.predict(X) != y)),
        "test_error": float(np.mean(machine.predict(fresh) != truth)),
        "support": int(machine.n_support_.sum()),
    }


def neural_net(*, data: str, seed: int, passes: int, fingerprint: str) -> Record:
    """Fit MLPClassifier or MLPRegressor; ``curve`` has held-out errors after each pass, as for jobs."""
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.preprocessing import StandardScaler

    X, y, fresh, truth = _rows(data)
    scaler = StandardScaler().fit(X)
    X, fresh = scaler.transform(X), scaler.transform(fresh)
    regression = distkern.open_dataset(data).task == "regression"
    level, unit = (float(y.mean()), float(y.std())) if regression else (0.0, 1.0)
    kind = MLPRegressor if regression else MLPClassifier
    net = kind(hidden_layer_sizes=LAYERS, random_state=seed, early_stopping=False)
    order, seconds, curve = np.random.default_rng(seed), 0.0, []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(1, passes + 1):
            start, rows = time.process_time(), order.permutation(len(y))
            if regression:
                net.partial_fit(X[rows], (y[rows] - level) / unit)
            else:
                net.partial_fit(X[rows], y[rows], classes=np.unique(y))
            seconds += time.process_time() - start
            wrong = net.predict(fresh)
            if regression:
                error = {"test_rmse": float(np.sqrt(np.mean((level + unit * wrong - truth) ** 2)))}
            else:
                error = {"test_error": float(np.mean(wrong != truth))}
            curve.append({"passes": number, "cpu_seconds": seconds, **error})
    return {"curve": curve}


def questions(data: Subset, seeds: int, gamma: str, passes: int) -> list[Question]:
    """LIBSVM, once, for it has no seed, and the neural net."""
    fixed: dict[str, Any] = {"fingerprint": data.fingerprint}
    given = {"data": data.path}
    asked = []
    if data.n_classes and data.n_rows <= MOST_EXACT:
        asked.append(Question(f"libsvm/{data.name}", libsvm, {**fixed, "gamma": gamma}, given))
    for seed in range(seeds):
        own = {**fixed, "seed": seed, "passes": passes}
        asked.append(Question(f"net/{data.name}/{seed}", neural_net, own, given))
    return asked
