"""The paper's data of two dimensions, and how fast errors fall on them (Figure 4)."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from distkern.data.ingest import write_dataset
from workflows.pool import Question
from workflows.records import Record
from workflows.training import trained

Array = NDArray[Any]
#: theta nu of steps theta / (t + OFFSET), as the theorem allows
THETA_NU, OFFSET = 1.5, 10.0
#: weights of |f|^2 / 2 whose minimiser is known; the paper's, whose steps theta / t exceed all bounds
KNOWN, PAPERS = (0.1, 0.01), 1e-6
#: of the median distance, the width of the kernel
WIDTH = 0.1
_PAIRS, _TEST_ROWS = 4000, 1024


def drawn(n_rows: int, seed: int) -> tuple[Array, Array]:
    """Rows in [-5, 5]^2 and y = cos(pi/2 |x|) exp(-pi/10 |x|) + 0.1 e."""
    generator = np.random.default_rng([seed, 1])
    X = generator.uniform(-5.0, 5.0, (n_rows, 2)).astype(np.float32)
    return X, function(X) + 0.1 * generator.standard_normal(n_rows)


def function(X: Array) -> Array:
    """What the targets are drawn around."""
    distance = np.linalg.norm(X.astype(float), axis=1)
    values: Array = np.cos(0.5 * math.pi * distance) * np.exp(-0.1 * math.pi * distance)
    return values


def gamma_of(X: Array, width: float) -> float:
    """1 / (2 sigma^2), sigma ``width`` times the median distance of rows."""
    left, right = np.random.default_rng(0).integers(len(X), size=(2, _PAIRS))
    return float(0.5 / (width * np.median(np.linalg.norm(X[left] - X[right], axis=1))) ** 2)


def kernel(X: Array, Y: Array, gamma: float) -> Array:
    """exp(-gamma |x - y|^2)."""
    squares = np.square(X.astype(float)).sum(1)[:, None] + np.square(Y.astype(float)).sum(1)
    values: Array = np.exp(-gamma * np.maximum(squares - 2.0 * X.astype(float) @ Y.T.astype(float), 0.0))
    return values


def ridge(X: Array, y: Array, fresh: Array, gamma: float, nu: float) -> Array:
    """Predictions of the minimiser of mean 1/2 (f - y)^2 + nu/2 |f|^2, of targets that are centred."""
    matrix = kernel(X, X, gamma)
    matrix[np.diag_indices_from(matrix)] += nu * len(X)
    predicted: Array = y.mean() + kernel(fresh, X, gamma) @ np.linalg.solve(matrix, y - y.mean())
    return predicted


def run(
    *, algorithm: str, settings: dict[str, Any], seed: int, n_rows: int, exact: bool, job: str = ""
) -> Record:
    """Train on drawn rows; "test_rmse" is the distance to the exact solution, or to :func:`function`.

    Parameters
    ----------
    exact : whether the held-out targets are predictions of the minimiser
    """
    X, y = drawn(n_rows, seed)
    fresh, _ = drawn(_TEST_ROWS, 10_000 + seed)
    gamma = gamma_of(X, WIDTH)
    truth = ridge(X, y, fresh, gamma, settings["nu"]) if exact else function(fresh)
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder, "synthetic.zarr"))
        rows, test = iter([(X, y)]), iter([(fresh, truth)])
        write_dataset(rows, data, test, scale="none", task="regression")
        given = {**settings, "gamma": gamma}
        return trained(algorithm=algorithm, settings=given, seed=seed, data=data, job=job)


def rate_settings(nu: float, n_steps: int, theta_nu: float | None = THETA_NU) -> dict[str, Any]:
    """Algorithm 1 with 64 rows and 64 features a step; without ``theta_nu`` steps of 5 / (1 + t / 50)."""
    steps = {"step_size": 5.0, "step_decay": 0.02}
    if theta_nu is not None:
        steps = {"step_size": theta_nu / nu / OFFSET, "step_decay": 1.0 / OFFSET}
    return {
        "loss": "square",
        "nu": nu,
        "precondition": False,
        "average": True,
        "batch_size": 64,
        "block_size": 64,
        "n_features": 64 * n_steps,
        "stages": 8,
        **steps,
    }


def methods(n_rows: int) -> dict[str, tuple[str, dict[str, Any]]]:
    """Machines for kernel ridge regression at the paper's nu (Figure 4 (3)); rank 2^8."""
    batch = 1024 if n_rows >= 2**17 else 64
    rank = {"loss": "square", "nu": PAPERS, "n_features": 256}
    landmarks = {"loss": "square", "nu": PAPERS, "features": "nystroem", "n_landmarks": 256}
    grown = {"loss": "square", "nu": PAPERS, "batch_size": batch, "block_size": batch, "stages": 8}
    # four passes
    grown["n_features"] = 4 * n_rows
    block = {"batch_size": batch, "block_size": 256, "precondition": False}
    divided = {"step_size": 0.5, "damping": min(max(10.0 / n_rows, 1e-5), 1e-2)}
    return {
        "DSG, Algorithm 1": ("dsg", {**grown, "precondition": False, "step_size": 10.0}),
        "DSG, preconditioned": ("dsg", {**grown, **divided, "block_size": batch // 4, "n_features": n_rows}),
        "NORMA": ("norma", {"loss": "square", "nu": PAPERS, "batch_size": 4, "step_decay": 1.0, "stages": 4}),
        "k-SDCA": ("sdca", {"loss": "square", "nu": PAPERS, "features": "kernel", "stages": 8, "tol": 0.0}),
        "r-SDCA": ("sdca", {**rank, "features": "random", "stages": 16, "tol": 0.0}),
        "n-SDCA": ("sdca", {**landmarks, "stages": 16, "tol": 0.0}),
        "r-SBMD": ("sbmd", {**rank, **block, "features": "random", "stages": 16}),
        "n-SBMD": ("sbmd", {**landmarks, **block, "stages": 16}),
        "r-RBCD": ("rbcd", {**rank, "block_size": 64, "features": "random", "stages": 16, "tol": 0.0}),
        "n-RBCD": ("rbcd", {**landmarks, "block_size": 64, "stages": 16, "tol": 0.0}),
    }


def questions(seeds: int, quick: bool, n_rows: int, jobs: Path) -> list[Question]:
    """Rates and machines."""
    asked: list[Question] = []
    n_steps = 256 if quick else 2048
    settings = {f"nu={nu:g}": (rate_settings(nu, n_steps), True) for nu in KNOWN}
    settings["nu=0.001, bounded steps"] = (rate_settings(1e-3, n_steps, None), True)
    settings["nu=1e-06, bounded steps"] = (rate_settings(PAPERS, n_steps, None), False)
    for seed in range(seeds):
        for name, (own, exact) in settings.items():
            key = f"rates/{name}/{seed}"
            fixed = {"algorithm": "dsg", "settings": own, "seed": seed, "n_rows": 4096, "exact": exact}
            asked.append(Question(key, run, fixed, {"job": str(jobs / f"{key}.toml")}))
        for name, (algorithm, own) in methods(n_rows).items():
            key = f"ridge/{name}/{seed}"
            fixed = {"algorithm": algorithm, "settings": own, "seed": seed, "n_rows": n_rows, "exact": False}
            asked.append(Question(key, run, fixed, {"job": str(jobs / f"{key}.toml")}))
    return asked
