"""Measure costs of a step, sizes of models and memory for growing rows and features (Tables 2, 3).

Rows are generated, and every method makes one pass over n of them with n / 8 features, or a feature for four
rows in DSG: so t, n and 1 / epsilon of the tables grow together. What is drawn through the measurements is
a x n^b; b is beside the paper's.
"""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from distkern.data.ingest import write_dataset
from workflows.pool import Question
from workflows.records import Record
from workflows.training import trained

#: columns of the rows; of a second measurement, which tells what grows with them
N_COLUMNS, MANY_COLUMNS = 16, 64
_TEST_ROWS = 1000
#: the paper's exponents of 1 / epsilon: computation of training, of a prediction, memory of training and of
#: the model, and whether models grow with the columns
PAPER: dict[str, tuple[str, int, int, int, int, bool]] = {
    "DSG": ("O(d/ε²)", 2, 1, 1, 1, False),
    "NORMA": ("O(d/ε²)", 2, 1, 1, 1, True),
    "k-SDCA": ("O(d/ε² log 1/ε)", 2, 1, 1, 1, True),
    "r-SDCA": ("O(d/ε² log 1/ε)", 2, 1, 1, 1, False),
    "n-SDCA": ("O(d/ε² log 1/ε)", 2, 1, 1, 1, False),
    "r-Pegasos": ("O(d/ε²)", 2, 1, 1, 1, False),
    "r-SBMD": ("O(d/ε²)", 2, 1, 1, 1, False),
    "r-RBCD": ("O(d/ε² log 1/ε)", 2, 1, 1, 1, False),
}
#: Table 3: of an iteration, exponent of t or n
PER_STEP = {
    "DSG": ("Θ(dt)", 1),
    "NORMA": ("", 1),
    "k-SDCA": ("", 1),
    "r-SDCA": ("Θ(dn)", 1),
    "n-SDCA": ("", 1),
    "r-Pegasos": ("Θ(dn)", 1),
    "r-SBMD": ("Θ(dn)", 1),
    "r-RBCD": ("Θ(dn²)", 2),
}


def settings(name: str, n_rows: int) -> tuple[str, dict[str, Any]]:
    """Algorithm and settings for one pass."""
    rank = n_rows // 8
    fixed = {"loss": "hinge", "gamma": "median", "nu": 1e-4}
    random = {"features": "random", "n_features": rank}
    batch = {"batch_size": 64, "steps_per_stage": 1.0, "stages": 1}
    pegasos = {name: value for name, value in fixed.items() if name != "nu"} | {"lam": 1e-4}
    every: dict[str, tuple[str, dict[str, Any]]] = {
        "DSG": ("dsg", {**fixed, "batch_size": 64, "block_size": 16, "n_features": n_rows // 4, "stages": 1}),
        "NORMA": ("norma", {**fixed, "batch_size": 64, "step_decay": 1.0, "stages": 1}),
        "k-SDCA": ("sdca", {**fixed, "features": "kernel", "stages": 1}),
        "r-SDCA": ("sdca", {**fixed, **random, "stages": 1}),
        # of two passes, the first makes the features as well
        "n-SDCA": ("sdca", {**fixed, "features": "nystroem", "n_landmarks": rank, "stages": 2, "tol": 0.0}),
        "r-Pegasos": ("pegasos", {**pegasos, **random, **batch}),
        "r-SBMD": ("sbmd", {**fixed, **random, **batch, "block_size": 64, "precondition": False}),
        "r-RBCD": ("rbcd", {**fixed, **random, "loss": "squared_hinge", "block_size": 64, "stages": 1}),
    }
    return every[name]


def measured(*, name: str, n_rows: int, n_columns: int, seed: int) -> Record:
    """One pass over generated rows.

    Returns
    -------
    what :func:`~workflows.training.trained` does, but for the curve
    train_seconds : of the processor, for a pass; preparing_seconds : before it, where features are learnt
    steps : of the pass
    """
    generator = np.random.default_rng([seed, n_columns])
    X = generator.standard_normal((n_rows + _TEST_ROWS, n_columns)).astype(np.float32)
    y = (np.sin(2.0 * X[:, 0]) + X[:, 1] > 0).astype(int)
    algorithm, given = settings(name, n_rows)
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder, "generated.zarr"))
        train, test = (X[:n_rows], y[:n_rows]), (X[n_rows:], y[n_rows:])
        write_dataset(iter([train]), data, iter([test]), scale="none")
        found = trained(algorithm=algorithm, settings=given, seed=seed, data=data, predicting=True)
    if "failed" in found:
        return found
    seconds = np.diff([point["cpu_seconds"] for point in found.pop("curve")])
    steps = {"DSG": math.ceil(n_rows / 64), "NORMA": math.ceil(n_rows / 64)}
    steps |= {"r-Pegasos": math.ceil(n_rows / 64), "r-SBMD": math.ceil(n_rows / 64)}
    steps |= {"r-RBCD": math.ceil(n_rows / 8 / 64)}
    return {
        **found,
        "train_seconds": float(seconds[-1]),
        "preparing_seconds": float(max(seconds[0] - seconds[-1], 0.0)),
        "steps": steps.get(name, n_rows),
    }


def sizes(name: str, quick: bool) -> tuple[int, ...]:
    """Rows: fewer of the method that factorises a matrix of landmarks."""
    least = (2**11 if name == "n-SDCA" else 2**12) * (1 if quick else 2)
    return least, 2 * least, 4 * least


def questions(seeds: int, quick: bool) -> list[Question]:
    """All measurements."""
    asked = []
    for seed in range(seeds):
        for name in PAPER:
            least, *_ = every = sizes(name, quick)
            for n_rows, n_columns in [*((size, N_COLUMNS) for size in every), (least, MANY_COLUMNS)]:
                fixed = {"name": name, "n_rows": n_rows, "n_columns": n_columns, "seed": seed}
                asked.append(Question(f"costs/{name}/{n_rows}-{n_columns}/{seed}", measured, fixed))
    return asked
