"""Rows in other orders, settings by folds of the training rows, and diameters of coverages."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dask
import numpy as np
from numpy.typing import NDArray

import distkern
from distkern.data.ingest import write_dataset
from workflows.records import Record
from workflows.subsets import gathered

#: the paper's ranges; lam up to 2^15, because the best was often at the paper's largest, 2^11
RANGES: dict[str, list[float]] = {
    "gamma": [2.0**power for power in (-4, -2, 0, 2, 4)],
    "lam": [2.0**power for power in range(1, 16)],
}
OF_ODM = {"theta": [0.2, 0.4, 0.6, 0.8], "mu": [0.2, 0.4, 0.6, 0.8]}
_HELD_OUT = 0.2
#: rows that diameters are found on, and the fewest landmarks of Figure 1
_SAMPLE, _FEWEST = 20_000, 16
_HALVINGS = 10


def reordered(*, seed: int, rows: int, test_rows: int, of: str, source: str, out: str) -> Record:
    """Write the training rows of a data set in an order drawn by ``seed``, the first ``rows`` of it."""
    dataset = distkern.open_dataset(source)
    if dataset.test is None:
        raise ValueError(f"{dataset.path}: no test rows; shard it with --test or --test-fraction")
    if dataset.task != "classification":
        raise ValueError("the paper's machines are of classes; this data set has real targets")
    X, y = gathered(dataset.train)
    order = np.random.default_rng(seed).permutation(len(y))[:rows]
    fresh, truth = gathered(dataset.test, test_rows)
    made = write_dataset(
        iter([(X[order], y[order])]),
        out,
        iter([(fresh, truth)]),
        scale="none",
        shuffle=False,
        overwrite=True,
        seed=seed,
    )
    return {
        "fingerprint": made.fingerprint,
        "rows": len(order),
        "all_rows": len(y),
        "test_rows": len(truth),
        "features": X.shape[1],
    }


def searched(
    *,
    algorithm: str,
    settings: Mapping[str, Any],
    rows: int,
    candidates: int,
    folds: int,
    data: str,
    fingerprint: str,
) -> Record:
    """Settings of least error over folds of the training rows, of some drawn from the paper's ranges."""
    X, y = gathered(distkern.open_dataset(data).train, rows)
    kind = {"csvrg": distkern.CSVRGClassifier, "avm": distkern.AVMClassifier}[algorithm]
    # fewer landmarks than a fold has rows
    number = min(settings["n_landmarks"], len(y) // 4)
    model = kind(**{**settings, "n_landmarks": number}, random_state=0)
    ranges = RANGES | (OF_ODM if algorithm == "csvrg" else {})
    with tempfile.TemporaryDirectory() as folder, dask.config.set(scheduler="synchronous"):
        part = distkern.write_dataset(X, y, Path(folder, "part.zarr"), scale="none")
        held_out = _HELD_OUT if folds < 2 else folds
        found = distkern.tune(
            model, part, ranges, method="random", candidates=candidates, validation=held_out
        )
    return {"settings": found.settings, "error": found.value, "rows": len(y)}


def diameters(*, number: int, most: int, data: str, fingerprint: str) -> Record:
    """Return diameters that cover a sample by 16 to ``most`` landmarks, in a geometric sequence."""
    X, _ = gathered(distkern.open_dataset(data).train, _SAMPLE)
    dense = np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=np.float32)
    ends = [diameter_of(dense, min(landmarks, len(dense) // 3)) for landmarks in (_FEWEST, most)]
    return {"diameters": [float(f"{value:.4g}") for value in np.geomspace(*ends, number)]}


def diameter_of(X: NDArray[Any], landmarks: int) -> float:
    """Return nearly the least diameter for which a scan finds at most ``landmarks`` landmarks."""
    low, high = 0.0, 2.0 * float(np.linalg.norm(X - X[0], axis=1).max())
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if covering(X, middle, landmarks) <= landmarks else (middle, high)
    return high


def covering(X: NDArray[Any], diameter: float, most: int) -> int:
    """Landmarks of the sequential scan, as far as one more than ``most``."""
    found = 0
    uncovered = X
    while len(uncovered) and found <= most:
        # the first row that no ball holds becomes the next one: the same as row by row
        farther = np.square(uncovered - uncovered[0]).sum(axis=1) > (diameter / 2) ** 2
        uncovered, found = uncovered[farther], found + 1
    return found
