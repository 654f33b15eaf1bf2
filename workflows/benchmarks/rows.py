"""The rows that every method is given: arrays on disk, cut in the same places for all."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import distkern
from workflows.subsets import gathered

#: of the training rows, what settings are chosen on, at most
_VALIDATION_SHARE, _MOST_VALIDATION = 0.1, 20_000
_PAIRS = 4000


@dataclass(frozen=True)
class Facts:
    """A data set.

    Attributes
    ----------
    task : "classification" or "regression"
    n_train, n_valid, n_test : rows; settings are chosen on the validation rows
    n_classes : 0 for regression
    gamma : 1 / the median squared distance of two rows, the unit of widths
    """

    name: str
    task: str
    n_train: int
    n_valid: int
    n_test: int
    n_features: int
    n_classes: int
    sparse: bool
    gamma: float


@dataclass(frozen=True)
class Part:
    """Rows (n, d), dense float32 or CSR, and codes of classes or real targets."""

    X: Any
    y: np.ndarray

    def first(self, n_rows: int | None) -> Part:
        """So many rows: they are in random order."""
        return self if n_rows is None else Part(self.X[:n_rows], self.y[:n_rows])


def export(data: Path, folder: Path, most_rows: int | None = None) -> Facts:
    """Write the rows of a sharded data set as arrays, if they are missing."""
    name = data.name.removesuffix(".zarr")
    facts = folder / "facts.json"
    if facts.exists():
        return Facts(**json.loads(facts.read_text()))
    dataset = distkern.open_dataset(data)
    if dataset.test is None:
        raise SystemExit(f"{data}: it has no test rows; shard it with --test or --test-fraction")
    folder.mkdir(parents=True, exist_ok=True)
    X, y = gathered(dataset.train, most_rows)
    order = np.random.default_rng(0).permutation(len(y))
    n_valid = min(int(_VALIDATION_SHARE * len(y)), _MOST_VALIDATION)
    # test rows lie as the file had them, by class perhaps
    test = gathered(dataset.test, most_rows)
    parts = {
        "valid": (X[order[:n_valid]], y[order[:n_valid]]),
        "train": (X[order[n_valid:]], y[order[n_valid:]]),
        "test": test,
    }
    for part, (features, targets) in parts.items():
        if sp.issparse(features):
            sp.save_npz(folder / f"{part}.npz", features, compressed=False)
        else:
            np.save(folder / f"{part}.npy", features)
        np.save(folder / f"{part}_y.npy", targets)
    regression = dataset.task == "regression"
    found = Facts(
        name,
        "regression" if regression else "classification",
        len(y) - n_valid,
        n_valid,
        len(test[1]),
        X.shape[1],
        0 if regression else int(y.max()) + 1,
        sp.issparse(X),
        1.0 / _median_square(parts["train"][0]),
    )
    facts.write_text(json.dumps(asdict(found)))
    return found


def load(folder: Path, part: str) -> Part:
    """The rows of a part, in memory."""
    sparse = folder / f"{part}.npz"
    X = sp.load_npz(sparse).tocsr() if sparse.exists() else np.load(folder / f"{part}.npy")
    return Part(X, np.load(folder / f"{part}_y.npy"))


def _median_square(X: Any) -> float:
    generator = np.random.default_rng(1)
    left, right = generator.integers(X.shape[0], size=(2, _PAIRS))
    difference = X[left] - X[right]
    squares = difference.multiply(difference) if sp.issparse(difference) else np.square(difference)
    return float(np.median(np.asarray(squares.sum(axis=1)).ravel())) or 1.0
