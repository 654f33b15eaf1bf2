"""A peer in a process of its own: ``python -m workflows.scale.peers NAME TRAIN.npy TEST.npy TARGET``.

The answer is the last line that it prints, a JSON object with the error and the peak of memory.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from workflows.processes import peak_bytes
from workflows.scale.rows import N_FEATURES, PIECE, Array

Predict = Callable[[Array], Array]

_EPOCHS, _TREES, _LEAVES = 3, 200, 63
NAMES = ("lightgbm", "sgd")
#: peers whose time does not depend on threads
OF_ONE_THREAD = ("sgd",)


def read(path: Path) -> Iterator[tuple[Array, Array]]:
    """Rows and targets, a piece at a time, which the file is not mapped for."""
    n_rows = len(np.load(path, mmap_mode="r"))
    for start in range(0, n_rows, PIECE):
        part = np.array(np.load(path, mmap_mode="r")[start : start + PIECE])
        yield part[:, :N_FEATURES], part[:, N_FEATURES]


def lightgbm(path: Path, target: str) -> Predict:
    """200 trees of 63 leaves, on as many threads as OpenMP may take.

    Rows come in pieces, twice: for the bins, then into them.
    """
    import lightgbm

    rows = np.load(path, mmap_mode="r")
    n_rows, start, row_bytes = len(rows), rows.offset, rows.strides[0]
    del rows
    file = os.open(path, os.O_RDONLY)

    class Rows(lightgbm.Sequence):
        batch_size = PIECE

        def __getitem__(self, index: Any) -> Any:
            # 200,000 rows are asked for one by one: they are read, as pages that are mapped count as memory
            is_one = not isinstance(index, slice)
            first, stop = (int(index), int(index) + 1) if is_one else index.indices(n_rows)[:2]
            found = os.pread(file, (stop - first) * row_bytes, start + first * row_bytes)
            table = np.frombuffer(found, np.float32).reshape(-1, N_FEATURES + 1)
            wanted = table[:, :N_FEATURES].astype(np.float64)
            return wanted[0] if is_one else wanted

        def __len__(self) -> int:
            return n_rows

    targets = np.concatenate([targets for _, targets in read(path)])
    settings = {
        "objective": "binary" if target == "class" else "regression",
        "num_leaves": _LEAVES,
        "learning_rate": 0.1,
        "verbose": -1,
        "seed": 0,
    }
    model = lightgbm.train(settings, lightgbm.Dataset(Rows(), label=targets), _TREES)
    return lambda X: model.predict(X) > 0.5 if target == "class" else model.predict(X)


def sgd(path: Path, target: str) -> Predict:
    """scikit-learn's linear machine of the logistic or square loss: one thread, three times over the rows."""
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    is_real = target == "real"
    model: Any = SGDRegressor(random_state=0) if is_real else SGDClassifier("log_loss", random_state=0)
    for _ in range(_EPOCHS):
        for rows, targets in read(path):
            model.partial_fit(rows, targets, **({} if is_real else {"classes": np.array([0.0, 1.0])}))
    return model.predict


def error(predict: Predict, path: Path, target: str) -> float:
    """The share of wrong labels, or the root of the mean squared error."""
    losses = []
    for rows, targets in read(path):
        found = predict(rows)
        losses.append(found != targets if target == "class" else (found - targets) ** 2)
    mean = float(np.concatenate(losses).mean())
    return mean if target == "class" else mean**0.5


if __name__ == "__main__":
    name, train, test, target = sys.argv[1:]
    predict = {"lightgbm": lightgbm, "sgd": sgd}[name](Path(train), target)
    print(json.dumps({"error": error(predict, Path(test), target), "peak": peak_bytes()}))
