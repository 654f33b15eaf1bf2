"""Mean and variance of a Gaussian process, against the closed form (Figure 5)."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg

import distkern
from distkern.data.ingest import write_dataset
from workflows.dsg.synthetic import Array, drawn, gamma_of, kernel
from workflows.pool import Question
from workflows.records import Record
from workflows.training import trained

#: rows, rows that are predicted, sigma^2
N_ROWS, N_TEST, VARIANCE = 2**11, 2**10, 0.1
#: the median distance itself
_WIDTH = 1.0


def problem(seed: int) -> tuple[Array, Array, Array, float]:
    """Rows, targets of mean 0 and variance 1, rows to predict, gamma."""
    X, y = drawn(N_ROWS, seed)
    fresh, _ = drawn(N_TEST, 10_000 + seed)
    return X, (y - y.mean()) / y.std(), fresh, gamma_of(X, _WIDTH)


def closed_form(X: Array, y: Array, fresh: Array, gamma: float) -> tuple[Array, Array]:
    """Mean, variance at ``fresh``: k' (K + s^2 I)^-1 y, 1 - k' (K + s^2 I)^-1 k (Dai et al. 2014, (9))."""
    matrix = kernel(X, X, gamma)
    matrix[np.diag_indices_from(matrix)] += VARIANCE
    factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True)
    across = kernel(fresh, X, gamma)
    mean = across @ scipy.linalg.cho_solve(factor, y)
    return mean, 1.0 - np.einsum("ij,ji->i", across, scipy.linalg.cho_solve(factor, across.T))


def process(*, n_features: int, seed: int) -> Record:
    """Distances of a fit's mean and variance to the closed form.

    Returns
    -------
    mean_rms, variance_rms : root mean squares over the rows that are predicted
    mean_spread, variance_mean : of the closed form, to compare with
    """
    X, y, fresh, gamma = problem(seed)
    mean, variance = closed_form(X, y, fresh, gamma)
    start = time.process_time()
    model = distkern.DSGGaussianProcessRegressor(
        gamma=gamma,
        noise=VARIANCE**0.5,
        n_features=n_features,
        block_size=min(256, n_features),
        random_state=seed,
        scale="none",
    ).fit(X, y)
    seconds = time.process_time() - start
    ours, deviations = model.predict(fresh, return_std=True)
    return {
        "mean_rms": float(np.sqrt(np.mean((ours - mean) ** 2))),
        "variance_rms": float(np.sqrt(np.mean((deviations**2 - variance) ** 2))),
        "mean_spread": float(mean.std()),
        "variance_mean": float(variance.mean()),
        "cpu_seconds": seconds,
    }


def mean_of(*, algorithm: str, settings: dict[str, Any], seed: int, job: str = "") -> Record:
    """A job whose "test_rmse" is the distance to the mean in closed form."""
    X, y, fresh, gamma = problem(seed)
    mean, _ = closed_form(X, y, fresh, gamma)
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder, "process.zarr"))
        write_dataset(iter([(X, y)]), data, iter([(fresh, mean)]), scale="none", task="regression")
        given = {**settings, "gamma": gamma}
        return trained(algorithm=algorithm, settings=given, seed=seed, data=data, job=job)


def means(quick: bool) -> dict[str, tuple[str, dict[str, Any]]]:
    """Algorithms whose steps approach the mean: 64 rows and 512 features a step, as in the paper."""
    fixed = {"loss": "square", "nu": VARIANCE / N_ROWS, "batch_size": 64}
    steps = 64 if quick else 512
    growing = {"block_size": 512, "n_features": 512 * steps, "stages": 8}
    plain = {"precondition": False, "step_size": 2.0, "step_decay": 0.02}
    return {
        "DSG, Algorithm 1": ("dsg", {**fixed, **growing, **plain}),
        "DSG, preconditioned": ("dsg", {**fixed, **growing, "step_size": 0.5, "damping": 10.0 / N_ROWS}),
        "NORMA": ("norma", {**fixed, "step_size": 8.0, "step_decay": 1.0, "stages": 8 if quick else 32}),
    }


def questions(seeds: int, quick: bool, jobs: Path) -> list[Question]:
    """All fits."""
    sizes = (64, 256, 1024, 2048) if quick else (64, 128, 256, 512, 1024, 2048, 4096)
    asked = []
    for seed in range(seeds):
        for size in sizes:
            fixed: dict[str, Any] = {"n_features": size, "seed": seed}
            asked.append(Question(f"process/{size}/{seed}", process, fixed))
        for name, (algorithm, settings) in means(quick).items():
            key, fixed = f"mean/{name}/{seed}", {"algorithm": algorithm, "settings": settings, "seed": seed}
            asked.append(Question(key, mean_of, fixed, {"job": str(jobs / f"{key}.toml")}))
    return asked
